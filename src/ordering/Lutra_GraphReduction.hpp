// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GRAPHREDUCTION_HPP
#define LUTRA_GRAPHREDUCTION_HPP

#include <vector>

#include "Lutra_RunControl.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// Options of `reduce_graph`. By default, steps that cannot pay off are skipped.
struct ReductionOptions {
  bool compress = true;         ///< merge vertices with the same neighbours
  bool eliminate = true;        ///< eliminate vertices with one or two neighbours first
  double dense_factor = 10;     ///< a degree above max(16, dense_factor · √n) is dense
  double min_twin_share = 0.1;  ///< compression is skipped if fewer vertices than this share seem to have a
                                ///< twin
};

/// Reduced graph; an order of its vertices determines an order of all original vertices.
template <class Index>
struct ReducedGraph {
  SymmetricGraph<Index> graph;      ///< remaining graph to order; lists are sorted
  std::vector<Index> weights;       ///< [size] total weight of the original vertices in each vertex
  std::vector<Index> eliminated;    ///< original vertices to eliminate first, in this order
  std::vector<Index> first_member;  ///< [size + 1] start of each vertex's original vertices in `members`
  std::vector<Index> members;       ///< [first_member[size]] original vertices
  std::vector<Index> dense;         ///< original vertices to eliminate last
};

/// Reduces a graph before it is ordered, on one host thread:
/// - dense vertices, of degree above max(16, dense_factor·√n), are ordered last, and their edges ignored;
/// - vertices with the same neighbours, adjacent or not, are merged into one vertex whose weight is their sum
///   (compression: C. Ashcraft, SIAM J. Sci. Comput. 16, 1995; by 64-bit hashes and full comparison);
/// - vertices with at most two neighbours are eliminated repeatedly; the two neighbours of one become
///   adjacent, so that chains shrink to an edge (exact: W. Ost, C. Schulz and D. Strash, ALENEX 2021), unless
///   the weights of the neighbours are too large for that.
///
/// O(n + edges) time; about 8·n indices of memory and a copy of the graph.
/// @param weights [n] positive, with a sum that fits in Index; empty: all 1
/// @param run     limits in time
/// @throws CancelledError by those limits
template <class Index>
ReducedGraph<Index> reduce_graph(const SymmetricGraph<Index>& graph, const ReductionOptions& options = {},
                                 const std::vector<Index>& weights = {}, const RunControl& run = {});

/// Order of the original vertices for a given order of the reduced graph: eliminated vertices, the members of
/// each vertex, dense vertices.
/// @param order [reduced.graph.size()] vertex eliminated as k-th
template <class Index>
std::vector<Index> expand_order(const ReducedGraph<Index>& reduced, const std::vector<Index>& order);

}  // namespace lutra

#endif
