// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNOPTIONS_HPP
#define LUTRA_COLUMNOPTIONS_HPP

#include <cstddef>
#include <string_view>

#include "Lutra_Index.hpp"
#include "Lutra_Levelization.hpp"

namespace lutra {

/// How columns of the right-looking factorization are scheduled. A, B and C are the kernels of GLU 3.0 as
/// described in "End-to-End LU Factorization of Large Matrices on GPUs", section 2.2: level by level, where a
/// column k that column j updates is a sub-column of j.
enum class ColumnMode {
  flow,    ///< CUDA: one launch of data flow; portable kernels: level by level, a team per column
  levels,  ///< A, B or C, chosen for each level by its columns and sub-columns
  A,       ///< a small block per column, a warp per sub-column: many columns with few sub-columns
  B,       ///< a block of 1,024 threads per column, a warp per sub-column: many columns with many sub-columns
  C        ///< a kernel per column in a stream of its own, a block per sub-column: few columns
};

/// How the entry (i, k) is located from which L(i, j)·U(j, k) is subtracted.
enum class ColumnFormat {
  automatic,  ///< flow: maps if they fit, else search. Levels: dense, or search if too few dense columns fit
  map,        ///< CUDA: positions computed with the plan, 4 bytes per update
  search,     ///< binary search in sorted columns (Algorithm 6)
  dense       ///< L(:, j) in an array of n values per concurrent column; not with flow
};

/// Whether the factorization works by supernodes of type T3 (Lutra_SupernodalLu.hpp) instead of columns.
enum class ColumnSupernodes {
  off,
  on,        ///< on every execution space, hosts included
  automatic  ///< on devices, if there are enough flops per entry of L + U, memory for the panels, and no
             ///< options of columns; hosts work by rows
};

/// Names on the command line.
constexpr std::string_view name_of(ColumnMode mode) {
  constexpr std::string_view names[] = {"flow", "levels", "A", "B", "C"};
  return names[static_cast<int>(mode)];
}
constexpr std::string_view name_of(ColumnFormat format) {
  constexpr std::string_view names[] = {"auto", "map", "search", "dense"};
  return names[static_cast<int>(format)];
}

/// Options of the right-looking factorization, the simplicial engine of devices. The defaults are the fastest
/// measured; the others are the mechanisms of the paper (docs/end-to-end.md).
struct ColumnOptions {
  ColumnMode mode = ColumnMode::flow;
  ColumnFormat format = ColumnFormat::automatic;
  LevelizationMethod levels = LevelizationMethod::cooperative;  ///< how levels of columns are found
  bool portable = false;                                        ///< portable kernels, also on CUDA
  /// With `on` the options above are refused, except for `levels`.
  ColumnSupernodes supernodes = ColumnSupernodes::automatic;
  int supernode_size = 0;  ///< maximum number of columns of a supernode; 0: 128 on hosts, 32 on devices
  double supernode_zeros = 0.25;  ///< maximum fraction of zeros in what a supernode stores
  /// Kernels of LevelizationMethod::device_launches, from the library Lutra::device_launches. Has no name.
  const DeviceLaunches* launches = nullptr;

  bool operator==(const ColumnOptions&) const = default;
};

/// Whether options are set that only columns have.
constexpr bool asks_for_columns(const ColumnOptions& options) {
  const ColumnOptions defaults;
  return options.mode != defaults.mode || options.format != defaults.format || options.portable;
}
/// Whether options are set that only supernodes have.
constexpr bool asks_for_supernodes(const ColumnOptions& options) {
  const ColumnOptions defaults;
  return options.supernode_size != defaults.supernode_size ||
         options.supernode_zeros != defaults.supernode_zeros;
}

/// Dense columns that fit in memory at once: M = L/(n·sizeof(value)) of section 3.4.
/// @param limit_bytes L
constexpr std::size_t max_dense_columns(std::size_t limit_bytes, Ordinal n, std::size_t value_bytes) {
  const std::size_t each = static_cast<std::size_t>(n) * value_bytes;
  return each == 0 ? limit_bytes : limit_bytes / each;
}

/// Whether dense columns would leave blocks idle, so that sorted columns are searched instead:
/// n > L/(TBmax·sizeof(value)) of section 3.4.
/// @param max_blocks TBmax, the number of blocks that run at once
constexpr bool needs_sparse_columns(std::size_t limit_bytes, Ordinal n, std::size_t value_bytes,
                                    std::size_t max_blocks) {
  return static_cast<double>(n) * static_cast<double>(value_bytes) * static_cast<double>(max_blocks) >
         static_cast<double>(limit_bytes);
}

}  // namespace lutra

#endif
