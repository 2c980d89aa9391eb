// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDERINGTESTGRAPHS_HPP
#define LUTRA_ORDERINGTESTGRAPHS_HPP

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "Lutra_OrderGraph.hpp"
#include "Lutra_Reference_Fill.hpp"

namespace lutra::Test {

using Edges = std::vector<std::pair<int, int>>;

template <class Index>
SymmetricGraph<Index> graph_of(int n, const Edges& edges) {
  std::vector<std::set<int>> lists(static_cast<std::size_t>(n));
  for (const auto& [v, w] : edges) {
    lists[static_cast<std::size_t>(v)].insert(w);
    lists[static_cast<std::size_t>(w)].insert(v);
  }
  SymmetricGraph<Index> graph;
  graph.row_map.push_back(0);
  for (const auto& list : lists) {
    graph.neighbours.insert(graph.neighbours.end(), list.begin(), list.end());
    graph.row_map.push_back(static_cast<Index>(graph.neighbours.size()));
  }
  return graph;
}

inline Edges path(int n) {
  Edges edges;
  for (int v = 0; v + 1 < n; ++v) edges.emplace_back(v, v + 1);
  return edges;
}

inline Edges clique(int n) {
  Edges edges;
  for (int v = 0; v < n; ++v)
    for (int w = 0; w < v; ++w) edges.emplace_back(v, w);
  return edges;
}

inline Edges grid(int n) {
  Edges edges;
  for (int v = 0; v < n * n; ++v) {
    if (v % n > 0) edges.emplace_back(v, v - 1);
    if (v >= n) edges.emplace_back(v, v - n);
  }
  return edges;
}

inline Edges random_tree(int n, unsigned seed) {
  std::mt19937 random(seed);
  Edges edges;
  for (int v = 1; v < n; ++v) edges.emplace_back(v, static_cast<int>(random() % static_cast<unsigned>(v)));
  return edges;
}

inline Edges random_edges(int n, int count, unsigned seed) {
  std::mt19937 random(seed);
  Edges edges;
  const auto vertex = [&] { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int k = 0; k < count; ++k) {
    const int v = vertex(), w = vertex();
    if (v != w) edges.emplace_back(v, w);
  }
  return edges;
}

/// Each vertex v of a graph becomes a clique of weights[v] vertices, numbered one after another, with the
/// edges of v.
template <class Index>
SymmetricGraph<Index> expanded(int n, const Edges& edges, const std::vector<Index>& weights) {
  std::vector<int> first(static_cast<std::size_t>(n) + 1, 0);
  for (std::size_t v = 0; v < weights.size(); ++v) first[v + 1] = first[v] + static_cast<int>(weights[v]);
  Edges all;
  const auto join = [&](std::size_t v, std::size_t w) {
    for (int a = first[v]; a < first[v + 1]; ++a)
      for (int b = first[w]; b < first[w + 1]; ++b)
        if (a != b) all.emplace_back(a, b);
  };
  for (std::size_t v = 0; v < weights.size(); ++v) join(v, v);
  for (const auto& [v, w] : edges) join(static_cast<std::size_t>(v), static_cast<std::size_t>(w));
  return graph_of<Index>(first.back(), all);
}

/// Entries of L below the diagonal, by the reference elimination.
template <class Index>
std::size_t nnz_l(const SymmetricGraph<Index>& graph, const std::vector<Index>& permutation) {
  REQUIRE_NOTHROW(check_permutation({permutation.begin(), permutation.end()}, graph.size()));
  struct {
    const std::vector<Index>&row_map, &entries;
  } const pattern{graph.row_map, graph.neighbours};
  std::size_t entries = 0;
  for (const auto& column : Reference::eliminate(pattern, permutation)) entries += column.size();
  return entries;
}

/// Checks that lists are sorted, symmetric and without loops.
template <class Index>
void check_graph(const SymmetricGraph<Index>& graph) {
  std::set<std::pair<Index, Index>> entries;
  for (Index v = 0; v < graph.size(); ++v) {
    for (Index k = graph.row_map[static_cast<std::size_t>(v)];
         k < graph.row_map[static_cast<std::size_t>(v) + 1]; ++k) {
      const Index u = graph.neighbours[static_cast<std::size_t>(k)];
      REQUIRE((u >= 0 && u < graph.size() && u != v));
      if (k > graph.row_map[static_cast<std::size_t>(v)])
        REQUIRE(graph.neighbours[static_cast<std::size_t>(k) - 1] < u);
      entries.emplace(v, u);
    }
  }
  for (const auto& [v, u] : entries) REQUIRE(entries.count({u, v}) == 1);
}

}  // namespace lutra::Test

#endif
