// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNCOUNTS_HPP
#define LUTRA_COLUMNCOUNTS_HPP

#include <cstdint>
#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra::Impl {

/// What the elimination of a symmetric pattern costs without pivoting, known before it is made. For an
/// unsymmetric matrix whose pattern is made symmetric these are upper bounds.
struct FillForecast {
  std::int64_t nnz_l = 0;  ///< entries of L below the diagonal; U has as many above it
  double flops = 0;        ///< multiplications, additions and divisions of an LU factorization
  std::int64_t height =
      0;  ///< vertices on the longest path of the elimination tree: steps that must follow each other
};

/// The elimination tree: parent of each column, -1 for a root. Columns are numbered by elimination.
///
/// Near linear: J. W. H. Liu, ACM Trans. Math. Software 12 (1986), with path compression.
/// @param permutation [n] permutation[k] is the vertex eliminated as k-th
template <class Index>
std::vector<Index> elimination_tree(const SymmetricGraph<Index>& graph,
                                    const std::vector<Index>& permutation);

/// Place of each column in a postorder of its elimination tree: children before parents, subtrees contiguous.
template <class Index>
std::vector<Index> postorder(const std::vector<Index>& parent);

/// Entries of each column of L below the diagonal, columns numbered by elimination.
///
/// Near linear in the entries of A: J. R. Gilbert, E. G. Ng and B. W. Peyton, SIAM J. Matrix Anal. Appl. 15
/// (1994).
template <class Index>
std::vector<Index> column_counts(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation,
                                 const std::vector<Index>& parent);

/// Fill, work and tree height of an ordering, exactly.
template <class Index>
FillForecast forecast_fill(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation);

}  // namespace lutra::Impl

#endif
