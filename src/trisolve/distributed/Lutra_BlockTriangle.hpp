// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKTRIANGLE_HPP
#define LUTRA_BLOCKTRIANGLE_HPP

#include <cstddef>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Index.hpp"

namespace lutra {

/// Pattern of a triangle whose rows and columns are partitioned into blocks, by columns and on the host.
/// Blocks are numbered in the order of the solve, so that every triangle is a lower one; an upper triangle
/// has its last block first.
struct BlockTriangle {
  std::vector<std::size_t> width;         ///< [n] rows of each diagonal block
  std::vector<std::size_t> column_begin;  ///< [n + 1] offsets in `row` and `entries`
  std::vector<std::size_t> row;           ///< block rows of each column, ascending, the diagonal first
  std::vector<double> entries;            ///< entries of each block
  bool reversed = false;                  ///< block k is block n − 1 − k of the matrix

  std::size_t size() const { return width.size(); }
  /// Owner of the block in row I and column K of this triangle.
  int owner(const ProcessGrid& grid, std::size_t I, std::size_t K) const {
    return reversed ? grid.rank_of(size() - 1 - I, size() - 1 - K) : grid.rank_of(I, K);
  }
};

/// Blocks of L as fronts store it.
/// @param max_width most rows of a block; the pivots of larger fronts are split
BlockTriangle block_triangle(const AssemblyTree& tree, std::size_t max_width = 64);

/// Blocks of a triangle by rows; entries on the other side of the diagonal are ignored.
/// @param begin [n + 1] first row of each block, ending with the number of rows
BlockTriangle block_triangle(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                             const std::vector<std::size_t>& begin);

/// The triangle of the second sweep, for U with the pattern of Lᵀ, in the order of its solve.
BlockTriangle reversed_transpose(const BlockTriangle& triangle);

}  // namespace lutra

#endif
