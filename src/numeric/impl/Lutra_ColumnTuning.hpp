// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNTUNING_HPP
#define LUTRA_COLUMNTUNING_HPP

#include <cstddef>

namespace lutra::Impl {

/// How the work of a column is shared out on CUDA, after GLU 3.0's types of levels.
enum class ColumnMode : unsigned char {
  by_level,  ///< the level's width decides
  a,         ///< many short columns: a warp a column
  b,         ///< up to eight warps a column, later columns shared out among them
  c          ///< few long columns: a warp a tile of rows of L(:, j) × entries of U(j, :)
};

/// How the entry (i, k) that an update changes is found on CUDA.
enum class ColumnFormat {
  automatic,  ///< maps where they fit, else search
  map,        ///< positions made with the plan
  search,     ///< binary search in sorted columns (CSC)
  dense       ///< L(:, j) spread out in a dense buffer, which entries of column k look up, as in GLU 3.0
};

/// What tests and measurements switch in the simplicial engine; not for users.
struct ColumnTuning {
  bool portable = false;  ///< the kernels for all execution spaces, also on CUDA
  ColumnMode mode = ColumnMode::by_level;
  ColumnFormat format = ColumnFormat::automatic;
  int blocks = 0;      ///< a multiprocessor in the merged launch; 0: by the tasks of a level
  bool merged = true;  ///< all levels in one launch; else a launch each
  std::size_t max_map_bytes = std::size_t(1) << 32;  ///< of maps, if the memory limit allows as much
  double watchdog_seconds = 10;                      ///< a column that waits longer ends the factorization
};

}  // namespace lutra::Impl

#endif
