// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ELIMINATIONTREE_HPP
#define LUTRA_ELIMINATIONTREE_HPP

#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// Elimination tree of a symmetrized pattern, in host memory: the parent of column j is the row of the first
/// entry of L(:, j) below the diagonal. A forest if the pattern is reducible.
///
///     A = x . . x .          4
///         . x . x .        3   2        parent = {3, 3, 4, 4, −1}:
///         . . x . x       0 1           3 and 2 are children of 4, 0 and 1 of 3
///         x x . x x
///         . . x x x
template <class Index>
struct EliminationTree {
  std::vector<Index> parent;  ///< [n] greater than the column's own number; −1 for a root
};

/// Elimination tree of a graph, by Liu's algorithm with path compression on one host thread (J. W. H. Liu,
/// ACM Trans. Math. Software 12, 1986). Time nearly linear in the edges; 3·n indices of memory. Columns are
/// numbered in elimination order.
/// @param permutation [n] permutation[k] is the vertex eliminated as k-th
template <class Index>
EliminationTree<Index> elimination_tree(const SymmetricGraph<Index>& graph,
                                        const std::vector<Index>& permutation);

/// Elimination tree of A + Aᵀ in the row order, by the same algorithm.
/// @param pattern square; rows need not be sorted
/// @param budget  for the workspace: one ordinal per entry right of the diagonal, one offset and one ordinal
/// per row
/// @throws OutOfMemoryError
EliminationTree<Ordinal> elimination_tree(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                          const MemoryBudget& budget = {});

/// Position of each column in a postorder of its tree: children precede parents, subtrees are contiguous,
/// siblings keep their order. O(n).
/// @param parent [n] −1 for a root; parents have greater numbers than their children
template <class Index>
std::vector<Index> postorder(const std::vector<Index>& parent);

}  // namespace lutra

#endif
