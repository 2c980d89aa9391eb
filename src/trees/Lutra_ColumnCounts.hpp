// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNCOUNTS_HPP
#define LUTRA_COLUMNCOUNTS_HPP

#include <cstdint>
#include <variant>
#include <vector>

#include "Lutra_EliminationTree.hpp"
#include "Lutra_Index.hpp"

namespace lutra {

/// Number of entries of each column of L below the diagonal, computed without the pattern of L: J. R.
/// Gilbert, E. G. Ng and B. W. Peyton, SIAM J. Matrix Anal. Appl. 15 (1994). Nearly linear in the entries of
/// A, on one host thread. Columns are numbered in elimination order. For an unsymmetric matrix with
/// symmetrized pattern the counts are upper bounds.
/// @param permutation [n] permutation[k] is the vertex eliminated as k-th
/// @param tree        elimination_tree(graph, permutation)
template <class Index>
std::vector<Index> column_counts(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation,
                                 const EliminationTree<Index>& tree);

/// Elimination tree of A + Aᵀ and column counts of L, in the memory of an execution space.
template <class MemorySpace>
struct ColumnCounts {
  Kokkos::View<const Ordinal*, MemorySpace> parent;  ///< [n] n for a root
  Kokkos::View<const Ordinal*, MemorySpace> count;   ///< [n + 1] entries below the diagonal; the last element
                                                     ///< is 0
  MemoryReservation reservation;
};

/// Elimination tree and column counts in the row order, on all threads of an execution space. All edges of
/// the graph propagate to the tree concurrently (Liu's algorithm without its order); then each row of L is
/// traversed as a subtree of the tree (J. W. H. Liu, SIAM J. Matrix Anal. Appl. 11, 1990). Work O(nnz(L)/64)
/// to O(nnz(L)) words; about 40 bytes of workspace per entry of A. Waits for the tree.
/// @param pattern square; rows need not be sorted; without duplicates
/// @throws OutOfMemoryError
template <class ExecutionSpace>
ColumnCounts<typename ExecutionSpace::memory_space> column_counts(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

/// Predicted cost of the elimination of a symmetric pattern without pivoting; upper bounds for an unsymmetric
/// matrix with symmetrized pattern.
struct FillForecast {
  std::int64_t nnz_l = 0;             ///< entries of L below the diagonal; U has as many above it
  double flops = 0;                   ///< multiplications, additions and divisions of an LU factorization
  std::int64_t height = 0;            ///< vertices on the longest path of the tree
  std::int64_t supernode_height = 0;  ///< maximum number of fundamental supernodes on a path from a leaf to a
                                      ///< root
};

/// Elimination of a symmetric graph in a given order. Columns are numbered in elimination order.
template <class Index>
struct Elimination {
  std::vector<Index> permutation;  ///< [n] vertex eliminated as k-th
  EliminationTree<Index> tree;
  std::vector<Index> count;  ///< [n] entries of each column of L below the diagonal
};

/// Graph with an elimination order.
template <class Index>
struct OrderedGraph {
  SymmetricGraph<Index> graph;
  Elimination<Index> elimination;  ///< tree and counts are empty until needed
};
/// OrderedGraph with the index type that fits the number of edges, or empty.
using AnyOrderedGraph = std::variant<std::monostate, OrderedGraph<int>, OrderedGraph<std::int64_t>>;

/// Elimination tree and column counts of an order; input of forecast_fill and make_assembly_tree.
/// @param permutation [n] permutation[k] is the vertex eliminated as k-th
template <class Index>
Elimination<Index> eliminate(const SymmetricGraph<Index>& graph, std::vector<Index> permutation);

/// Fill, flops and tree heights. O(n)
template <class Index>
FillForecast forecast_fill(const Elimination<Index>& elimination);

/// Overload for an ordering; also computes elimination tree and column counts.
template <class Index>
FillForecast forecast_fill(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation) {
  return forecast_fill(eliminate(graph, permutation));
}

}  // namespace lutra

#endif
