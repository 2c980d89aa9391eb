// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNCOUNTS_HPP
#define LUTRA_COLUMNCOUNTS_HPP

#include <cstdint>
#include <variant>
#include <vector>

#include "Lutra_EliminationTree.hpp"
#include "Lutra_Index.hpp"

namespace lutra {

/// Entries of each column of L below the diagonal, without its pattern: J. R. Gilbert, E. G. Ng and B. W.
/// Peyton, SIAM J. Matrix Anal. Appl. 15 (1994). Near linear in the entries of A, on one host thread. Columns
/// are numbered by elimination. For an unsymmetric matrix whose pattern is made symmetric the counts are
/// upper bounds.
/// @param permutation [n] permutation[k] is the vertex eliminated as k-th
/// @param tree        elimination_tree(graph, permutation)
template <class Index>
std::vector<Index> column_counts(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation,
                                 const EliminationTree<Index>& tree);

/// The elimination tree of A + Aᵀ and the entries of each column of L, in the memory of an execution space.
template <class MemorySpace>
struct ColumnCounts {
  Kokkos::View<const Ordinal*, MemorySpace> parent;  ///< [n] n for a root
  Kokkos::View<const Ordinal*, MemorySpace> count;   ///< [n + 1] below the diagonal; the last is 0
  MemoryReservation reservation;
};

/// Tree and counts in the order of the rows, by all threads of an execution space: edges of the graph
/// propagate to the tree all at once (Liu's algorithm without its order), then each row of L is walked as a
/// subtree of the tree (J. W. H. Liu, SIAM J. Matrix Anal. Appl. 11, 1990). Work O(nnz(L)/64) to O(nnz(L))
/// words; some 40 bytes an entry of A of workspace. Waits for the tree.
/// @param pattern square; rows sorted or not, no entry twice
/// @throws OutOfMemoryError
template <class ExecutionSpace>
ColumnCounts<typename ExecutionSpace::memory_space> column_counts(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget);

/// What the elimination of a symmetric pattern costs without pivoting, known before it is done. For an
/// unsymmetric matrix whose pattern is made symmetric these are upper bounds.
struct FillForecast {
  std::int64_t nnz_l = 0;             ///< entries of L below the diagonal; U has as many above it
  double flops = 0;                   ///< multiplications, additions and divisions of an LU factorization
  std::int64_t height = 0;            ///< vertices on the longest path of the tree, which follow one another
  std::int64_t supernode_height = 0;  ///< fundamental supernodes on such a path, the most on any
};

/// What the elimination of a symmetric graph in an order leads to. Columns are numbered by elimination.
template <class Index>
struct Elimination {
  std::vector<Index> permutation;  ///< [n] the vertex eliminated as k-th
  EliminationTree<Index> tree;
  std::vector<Index> count;  ///< [n] entries of each column of L below the diagonal
};

/// A graph and its elimination in an order.
template <class Index>
struct OrderedGraph {
  SymmetricGraph<Index> graph;
  Elimination<Index> elimination;  ///< tree and counts empty where they have not been needed yet
};
/// The same with the index type that counts the edges, or none.
using AnyOrderedGraph = std::variant<std::monostate, OrderedGraph<int>, OrderedGraph<std::int64_t>>;

/// Elimination tree and column counts of an order; forecasts and assembly trees go on from them.
/// @param permutation [n]
template <class Index>
Elimination<Index> eliminate(const SymmetricGraph<Index>& graph, std::vector<Index> permutation);

/// Fill, work and heights of the tree. O(n)
template <class Index>
FillForecast forecast_fill(const Elimination<Index>& elimination);

/// The same of an ordering. Cost: an elimination tree and its counts.
template <class Index>
FillForecast forecast_fill(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation) {
  return forecast_fill(eliminate(graph, permutation));
}

}  // namespace lutra

#endif
