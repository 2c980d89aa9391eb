// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKTRIANGULARFORM_HPP
#define LUTRA_BLOCKTRIANGULARFORM_HPP

#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// Irreducible diagonal blocks of a matrix whose columns are matched to rows.
struct BlockTriangularForm {
  std::vector<Ordinal> block_of_column;  ///< [n] blocks in an order in which the matrix is upper triangular
  Ordinal count = 0;
  Ordinal largest = 0;  ///< columns of the largest block
};

/// Strong components of the directed graph with an edge from column j to each column of the row matched to
/// it: R. E. Tarjan, SIAM J. Comput. 1 (1972), without recursion, as A. Pothen and C.-J. Fan, ACM Trans.
/// Math. Software 16 (1990), find the fine decomposition. O(n + nnz), on one host thread.
/// @param pattern       square
/// @param row_of_column [n] a perfect matching; empty: of the diagonal
BlockTriangularForm block_triangular_form(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                          const std::vector<Ordinal>& row_of_column);

}  // namespace lutra

#endif
