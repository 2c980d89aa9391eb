// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NESTEDDISSECTION_HPP
#define LUTRA_NESTEDDISSECTION_HPP

#include <cstdint>
#include <vector>

#include "Lutra_GraphReduction.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

struct DissectionOptions {
  /// Subgraphs of at most so many vertices are not dissected but ordered by minimum degree.
  int leaf_vertices = 400;
  /// The most that the larger side of a bisection weighs, of the weight of the subgraph.
  double max_side_share = 0.57;
  /// Coarsening stops at so many vertices.
  int coarse_vertices = 60;
  /// Initial separators tried on the coarsest graph.
  int trials = 4;
  /// The same on devices, where trials run side by side.
  int team_trials = 8;
  /// There, few graphs are bisected so many times, side by side.
  int team_descents = 8;
  /// On devices, graphs of at most so many vertices are bisected by a team of threads each.
  int team_vertices = 4000;
  /// Graphs of at least so many vertices descend several times from a sixteenth of them on.
  int min_descents_vertices = 5000;
  int descents = 4;
  /// Sets what is drawn at random. The same graph and options give the same order.
  std::uint64_t seed = 1;
  ReductionOptions reduction;  ///< what is done before
};

/// An order by nested dissection, and the tree of its separators. Nodes are numbered so that children come
/// before their parent, and columns of a node are contiguous: node k has columns first_column[k] to
/// first_column[k + 1] − 1. Columns before first_column[0] were eliminated by the reduction and belong to no
/// node; what it puts last is a root above all others.
template <class Index>
struct Dissection {
  std::vector<Index> permutation;   ///< [n] the vertex eliminated as k-th
  std::vector<Index> parent;        ///< [nodes] -1 for a root
  std::vector<Index> first_column;  ///< [nodes + 1]
  Index n_leaves = 0;               ///< nodes ordered by minimum degree
  Index depth = 0;                  ///< nodes on the longest path of the tree
  Index n_degenerate = 0;           ///< subgraphs given whole to minimum degree since no separator was small
};

/// Nested dissection (A. George, SIAM J. Numer. Anal. 10, 1973) with multilevel vertex separators (Karypis
/// and Kumar, SIAM J. Sci. Comput. 20, 1998). Deterministic: the same graph and options give the same result
/// for any number of threads.
/// Vertices of small or dense rows and those with equal neighbours are set apart first (`reduce_graph`);
/// subgraphs that are small, or have no small separator, are ordered by minimum degree with their boundary
/// counted.
/// @param exec   whose threads dissect; the graph is on the host
/// @param graph  lists sorted, each edge in both, no loops
/// @param budget what the workspace is charged to
/// @param weights [n] positive weights of the vertices; empty: all 1
/// @throws InputError where the graph has 2³¹ vertices, or more entries than half of what Index counts
/// @throws OutOfMemoryError
template <class ExecutionSpace, class Index>
Dissection<Index> nested_dissection(const ExecutionSpace& exec, const SymmetricGraph<Index>& graph,
                                    const DissectionOptions& options = {}, const MemoryBudget& budget = {},
                                    const std::vector<Index>& weights = {});

}  // namespace lutra

#endif
