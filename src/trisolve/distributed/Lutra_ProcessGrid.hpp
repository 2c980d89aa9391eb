// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PROCESSGRID_HPP
#define LUTRA_PROCESSGRID_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace lutra {

/// A P × Q grid of ranks over which the blocks of a matrix are distributed cyclically: block (I, K) belongs
/// to row I mod P and column K mod Q of the grid. In a triangular solve x(K) is broadcast down a column of
/// the grid, and partial sums of x(I) are reduced along a row of it: P × 1 has only broadcasts, 1 × P only
/// reductions.
///
///     2 × 2     K  0 1 2 3
///           I 0    0              ranks by rows of the grid
///             1    2 3
///             2    0 1 0
///             3    2 3 2 3
struct ProcessGrid {
  int rows = 1;
  int columns = 1;

  int size() const { return rows * columns; }
  /// The rank that owns block (I, K).
  int rank_of(std::size_t I, std::size_t K) const {
    const auto p = I % static_cast<std::size_t>(rows), q = K % static_cast<std::size_t>(columns);
    return static_cast<int>(p * static_cast<std::size_t>(columns) + q);
  }
  bool operator==(const ProcessGrid&) const = default;
};

/// "2x3"
inline std::string name_of(const ProcessGrid& grid) {
  return std::to_string(grid.rows) + "x" + std::to_string(grid.columns);
}

/// All grids of a number of ranks, the one with most rows first.
inline std::vector<ProcessGrid> grids_of(int ranks) {
  std::vector<ProcessGrid> grids;
  for (int columns = 1; columns <= ranks; ++columns) {
    if (ranks % columns == 0) grids.push_back({ranks / columns, columns});
  }
  return grids;
}

}  // namespace lutra

#endif
