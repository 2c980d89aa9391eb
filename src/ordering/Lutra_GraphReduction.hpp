// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GRAPHREDUCTION_HPP
#define LUTRA_GRAPHREDUCTION_HPP

#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra {

/// What `reduce_graph` does. The defaults leave out what cannot pay.
struct ReductionOptions {
  bool compress = true;         ///< vertices with the same neighbours become one
  bool eliminate = true;        ///< vertices with one or two neighbours are eliminated first
  double dense_factor = 10;     ///< a degree above max(16, dense_factor · √n) is dense
  double min_twin_share = 0.1;  ///< compression is left out where fewer vertices seem to have a twin
};

/// A graph of which an order of all vertices follows from an order of fewer.
template <class Index>
struct ReducedGraph {
  SymmetricGraph<Index> graph;      ///< what is left to be ordered; lists are sorted
  std::vector<Index> weights;       ///< [size] of the original vertices in each vertex
  std::vector<Index> eliminated;    ///< original vertices to be eliminated first, in this order
  std::vector<Index> first_member;  ///< [size + 1] where the original vertices of each vertex start
  std::vector<Index> members;       ///< [first_member[size]]
  std::vector<Index> dense;         ///< original vertices to be eliminated last
};

/// Makes a graph smaller before it is ordered, on one host thread:
/// - dense vertices, of degree above max(16, 10·√n), are ordered last and their edges left out;
/// - vertices with the same neighbours, adjacent or not, become one vertex, weighted by their number
///   (compression: C. Ashcraft, SIAM J. Sci. Comput. 16, 1995; by 64-bit hashes, compared in full);
/// - vertices with at most two neighbours are eliminated, again and again; the neighbours of one with two
///   become neighbours of each other, so that chains shrink to an edge (exact: W. Ost, C. Schulz and D.
///   Strash, ALENEX 2021). Vertices heavier than their neighbours allow stay.
/// O(n + edges) time; some 8·n indices of memory and a copy of the graph.
/// @param weights [n] positive, with a sum that fits in Index; empty: all 1
template <class Index>
ReducedGraph<Index> reduce_graph(const SymmetricGraph<Index>& graph, const ReductionOptions& options = {},
                                 const std::vector<Index>& weights = {});

/// The order of the original vertices that an order of the reduced graph's vertices stands for: what has been
/// eliminated, the members of each vertex, dense vertices.
/// @param order [reduced.graph.size()] vertex eliminated as k-th
template <class Index>
std::vector<Index> expand_order(const ReducedGraph<Index>& reduced, const std::vector<Index>& order);

}  // namespace lutra

#endif
