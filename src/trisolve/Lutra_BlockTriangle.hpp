// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKTRIANGLE_HPP
#define LUTRA_BLOCKTRIANGLE_HPP

#include <cstddef>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ProcessGrid.hpp"

namespace lutra {

/// The pattern of a triangle that is cut into blocks by one partition of its rows and columns, by columns and
/// on the host. Blocks are numbered in the order in which they are solved, so that every triangle is a lower
/// one here; an upper one has its last block first.
struct BlockTriangle {
  std::vector<std::size_t> width;         ///< [n] rows of each diagonal block
  std::vector<std::size_t> column_begin;  ///< [n + 1] in `row` and `entries`
  std::vector<std::size_t> row;           ///< block rows of each column, ascending, its own first
  std::vector<double> entries;            ///< of each block
  bool reversed = false;                  ///< block k is the matrix' block n − 1 − k

  std::size_t size() const { return width.size(); }
  /// The owner of the block of this triangle in row I and column K.
  int owner(const ProcessGrid& grid, std::size_t I, std::size_t K) const {
    return reversed ? grid.rank_of(size() - 1 - I, size() - 1 - K) : grid.rank_of(I, K);
  }
};

/// Blocks of L as fronts store it. @param max_width pivots of larger fronts are cut into blocks of so many
BlockTriangle block_triangle(const AssemblyTree& tree, std::size_t max_width = 64);

/// Blocks of a triangle by rows; what is on the other side of the diagonal is left out.
/// @param begin [n + 1] first row of each block, the number of rows at the end
BlockTriangle block_triangle(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                             const std::vector<std::size_t>& begin);

/// The triangle of the second sweep: of U where U has the pattern of Lᵀ, in the order of its solve.
BlockTriangle reversed_transpose(const BlockTriangle& triangle);

}  // namespace lutra

#endif
