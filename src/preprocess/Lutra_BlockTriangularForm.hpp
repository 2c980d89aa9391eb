// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKTRIANGULARFORM_HPP
#define LUTRA_BLOCKTRIANGULARFORM_HPP

#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// Irreducible diagonal blocks of a matrix with matched columns and rows.
struct BlockTriangularForm {
  std::vector<Ordinal> block_of_column;  ///< [n] block of each column, numbered so that the matrix is block
                                         ///< upper triangular
  Ordinal count = 0;
  Ordinal largest = 0;  ///< number of columns of the largest block
};

/// Strongly connected components of the directed graph with an edge from column j to each column of the row
/// matched to j: R. E. Tarjan, SIAM J. Comput. 1 (1972), without recursion, as in the fine decomposition of
/// A. Pothen and C.-J. Fan, ACM Trans. Math. Software 16 (1990). O(n + nnz), on one host thread.
/// @param pattern       square
/// @param row_of_column [n] a perfect matching; empty: the diagonal
BlockTriangularForm block_triangular_form(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                          const std::vector<Ordinal>& row_of_column);

}  // namespace lutra

#endif
