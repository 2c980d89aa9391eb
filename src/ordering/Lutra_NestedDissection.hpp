// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NESTEDDISSECTION_HPP
#define LUTRA_NESTEDDISSECTION_HPP

#include <cstdint>
#include <functional>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_GraphReduction.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

struct DissectionOptions {
  /// Subgraphs with at most this many vertices are ordered by minimum degree instead.
  int leaf_vertices = 400;
  /// Maximum weight of the larger side of a bisection, relative to the subgraph.
  double max_side_share = 0.57;
  /// Number of vertices at which coarsening stops.
  int coarse_vertices = 60;
  /// Number of initial separators tried on the coarsest graph.
  int trials = 4;
  /// Graphs with at least this many vertices are coarsened to a sixteenth once and from there `descents`
  /// times.
  int min_descents_vertices = 5000;
  int descents = 4;
  /// Seed of pseudorandom choices. Equal graphs and options give equal orders.
  std::uint64_t seed = 1;
  ReductionOptions reduction;  ///< options of the preceding reduction
};

/// Order by nested dissection and its separator tree. Nodes are numbered with children before parents.
/// Columns of a node are contiguous: node k has columns first_column[k] to first_column[k + 1] − 1. Columns
/// before first_column[0] were eliminated by the reduction and belong to no node; the columns it orders last
/// form a root above all other nodes.
template <class Index>
struct Dissection {
  std::vector<Index> permutation;   ///< [n] vertex eliminated as k-th
  std::vector<Index> parent;        ///< [nodes] −1 for a root
  std::vector<Index> first_column;  ///< [nodes + 1]
  Index n_leaves = 0;               ///< number of nodes ordered by minimum degree
  Index depth = 0;                  ///< number of nodes on the longest path of the tree
  Index n_degenerate = 0;  ///< number of subgraphs ordered by minimum degree for lack of a small separator
};

/// Nested dissection (A. George, SIAM J. Numer. Anal. 10, 1973) with multilevel vertex separators (Karypis
/// and Kumar, SIAM J. Sci. Comput. 20, 1998). Deterministic: equal graphs and options give equal results for
/// any number of threads. First `reduce_graph` removes vertices of low and high degree and merges those with
/// equal neighbours. Small subgraphs, and those without a small separator, are ordered by minimum degree with
/// their boundary counted in degrees.
/// @param exec   space of the host threads that dissect
/// @param graph  sorted lists, each edge in both, no loops
/// @param budget charged with the workspace
/// @param weights [n] positive weights of the vertices; empty: all 1
/// @throws InputError if the reduced graph has 2³¹ or more vertices, or more entries than half the range of
/// Index
/// @throws OutOfMemoryError
template <Impl::HostExecution ExecutionSpace, class Index>
Dissection<Index> nested_dissection(const ExecutionSpace& exec, const SymmetricGraph<Index>& graph,
                                    const DissectionOptions& options = {}, const MemoryBudget& budget = {},
                                    const std::vector<Index>& weights = {});

/// Nested dissection of a reduced graph without its tree.
/// @return [reduced.graph.size()] vertex eliminated as k-th
/// @throws as nested_dissection
template <Impl::HostExecution ExecutionSpace, class Index>
std::vector<Index> dissect_reduced(const ExecutionSpace& exec, const ReducedGraph<Index>& reduced,
                                   const MemoryBudget& budget = {});

/// Calls from a dissection on host threads, each by one thread. What they throw stops it.
struct DissectionControl {
  /// Called once by one thread before it dissects, such as minimum degree, while the others dissect. False
  /// stops the dissection. Must not call Kokkos.
  std::function<bool()> other_work;
  /// Called at most once, with the weight of the separator after the first bisection of more than half of the
  /// vertices. False stops the dissection.
  std::function<bool(std::int64_t separator_weight)> goes_on;
};

/// Variant on all host threads. The order does not depend on what `control` does unless it stops.
/// @return empty if stopped, even if the dissection was complete by then
/// @throws what `control` throws; as nested_dissection
template <class Index>
std::vector<Index> dissect_reduced(const ReducedGraph<Index>& reduced, const DissectionControl& control,
                                   const MemoryBudget& budget = {});

}  // namespace lutra

#endif
