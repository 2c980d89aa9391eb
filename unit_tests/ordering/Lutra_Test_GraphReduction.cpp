// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_GraphReduction.hpp"

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_MinimumDegree.hpp"
#include "Lutra_OrderingTestGraphs.hpp"

namespace {

using namespace lutra;
using Test::graph_of;
using Test::nnz_l;

template <class Index>
std::vector<Index> ordered(const ReducedGraph<Index>& reduced) {
  return expand_order(reduced, minimum_degree(reduced.graph, reduced.weights));
}

template <class Index>
ReducedGraph<Index> checked_reduction(const SymmetricGraph<Index>& graph,
                                      const ReductionOptions& options = {}) {
  const auto reduced = reduce_graph(graph, options);
  Test::check_graph(reduced.graph);
  const auto n = static_cast<std::size_t>(reduced.graph.size());
  REQUIRE(reduced.weights.size() == n);
  REQUIRE(reduced.first_member.size() == n + 1);
  for (std::size_t v = 0; v < n; ++v)
    CHECK(reduced.weights[v] == reduced.first_member[v + 1] - reduced.first_member[v]);
  return reduced;
}

TEMPLATE_TEST_CASE("reduction: trees and chains are eliminated without fill", "[ordering]", int,
                   std::int64_t) {
  const auto check = [](int n, const Test::Edges& edges) {
    const auto graph = graph_of<TestType>(n, edges);
    const auto reduced = checked_reduction(graph);
    CHECK(reduced.graph.size() == 0);
    CHECK(nnz_l(graph, ordered(reduced)) == graph.neighbours.size() / 2);
  };
  check(0, {});
  check(1, {});
  check(7, {});
  check(2, {{0, 1}});
  check(60, Test::path(60));
  check(500, Test::random_tree(500, 11));
  Test::Edges star;
  for (int v = 1; v < 100; ++v) star.emplace_back(0, v);
  check(100, star);
  check(40, Test::clique(40));  // one vertex of weight 40 without neighbours
  Test::Edges triangles;        // a chain of triangles that share vertices
  for (int k = 0; k < 20; ++k) {
    triangles.emplace_back(2 * k, 2 * k + 1);
    triangles.emplace_back(2 * k + 1, 2 * k + 2);
    triangles.emplace_back(2 * k, 2 * k + 2);
  }
  check(41, triangles);
}

TEMPLATE_TEST_CASE("reduction: long chains get a shallow tree and at most one fill edge per vertex",
                   "[ordering]", int, std::int64_t) {
  constexpr int n = 20000;
  Test::Edges cycle = Test::path(n), comb = Test::path(n);
  cycle.emplace_back(0, n - 1);
  for (int v = 0; v < n; v += 2) comb.emplace_back(v, n + v / 2);
  const auto check = [](int size, const Test::Edges& edges) {
    const auto graph = graph_of<TestType>(size, edges);
    const auto reduced = checked_reduction(graph);
    CHECK(reduced.graph.size() == 0);
    const auto forecast = forecast_fill(graph, ordered(reduced));
    CHECK(forecast.height < 100);
    CHECK(forecast.nnz_l <= 2 * size);
  };
  check(n, Test::path(n));
  check(n, cycle);
  check(n + n / 2, comb);
}

TEMPLATE_TEST_CASE("reduction: eliminating a vertex of degree two joins its neighbours", "[ordering]", int,
                   std::int64_t) {
  // A clique of four in which each edge is subdivided by four vertices.
  Test::Edges edges;
  int n = 4;
  for (const auto& [v, w] : Test::clique(4)) {
    edges.emplace_back(v, n);
    for (int k = 0; k < 3; ++k, ++n) edges.emplace_back(n, n + 1);
    edges.emplace_back(n++, w);
  }
  const auto graph = graph_of<TestType>(n, edges);
  ReductionOptions options;
  options.compress = false;
  const auto reduced = checked_reduction(graph, options);
  CHECK(reduced.graph.row_map == std::vector<TestType>{0, 3, 6, 9, 12});
  CHECK(reduced.graph.neighbours == std::vector<TestType>{1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2});
  CHECK(reduced.members == std::vector<TestType>{0, 1, 2, 3});
  CHECK(reduced.eliminated.size() == 24);
  // Each chain of four adds one fill edge per vertex.
  CHECK(nnz_l(graph, ordered(reduced)) == 30 + 24);
}

TEMPLATE_TEST_CASE("reduction: indistinguishable vertices are merged", "[ordering]", int, std::int64_t) {
  ReductionOptions options;
  options.eliminate = false;
  const Test::Edges edges = Test::random_edges(40, 90, 8);
  std::vector<TestType> weights;
  for (int v = 0; v < 40; ++v) weights.push_back(TestType(2 + v % 3));
  const auto plain = checked_reduction(graph_of<TestType>(40, edges), options);
  const auto graph = Test::expanded(40, edges, weights);
  const auto reduced = checked_reduction(graph, options);
  CHECK(reduced.graph.size() <= 40);
  CHECK(std::accumulate(reduced.weights.begin(), reduced.weights.end(), TestType(0)) == graph.size());
  CHECK(static_cast<double>(nnz_l(graph, ordered(reduced))) <= 1.05 * 1734);  // AMD 2.4
  // Not adjacent: the sides of a complete bipartite graph.
  Test::Edges bipartite;
  for (int v = 0; v < 5; ++v)
    for (int w = 5; w < 12; ++w) bipartite.emplace_back(v, w);
  const auto sides = checked_reduction(graph_of<TestType>(12, bipartite), options);
  CHECK(sides.weights == std::vector<TestType>{5, 7});
  CHECK(sides.graph.neighbours == std::vector<TestType>{1, 0});
  CHECK(sides.members == std::vector<TestType>{0, 4, 3, 2, 1, 5, 11, 10, 9, 8, 7, 6});
}

TEMPLATE_TEST_CASE("reduction: weights of merged vertices are added", "[ordering]", int, std::int64_t) {
  // Two triangles with a common edge, {0, 3}: 1 and 2 are twins, and so are 0 and 3.
  const auto graph = graph_of<TestType>(4, {{0, 1}, {1, 3}, {0, 2}, {2, 3}, {0, 3}});
  ReductionOptions options;
  options.eliminate = false;
  const std::vector<TestType> weights = {2, 3, 5, 7};
  CHECK(reduce_graph(graph, options, weights).weights == std::vector<TestType>{9, 8});
  options.compress = false;
  const auto same = reduce_graph(graph, options, weights);
  CHECK(same.weights == weights);
  CHECK(same.graph.neighbours == graph.neighbours);
  // A vertex between two heavy ones is kept, since the fill edge between them would cost more.
  options.eliminate = true;
  auto edges = Test::clique(4);
  edges.emplace_back(0, 4);
  edges.emplace_back(1, 4);
  const auto ear = graph_of<TestType>(5, edges);
  CHECK(reduce_graph(ear, options, {9, 9, 9, 9, 1}).graph.size() == 5);
  CHECK(reduce_graph(ear, options, {2, 2, 2, 2, 1}).eliminated == std::vector<TestType>{4});
}

TEMPLATE_TEST_CASE("reduction: dense vertices come last", "[ordering]", int, std::int64_t) {
  // A path of 2000 vertices, two vertices adjacent to all of them, and one of degree 300 that is not dense.
  Test::Edges edges = Test::path(2000);
  for (int v = 0; v < 2000; ++v) {
    edges.emplace_back(v, 2000);
    edges.emplace_back(v, 2001);
    if (v < 300) edges.emplace_back(v, 2002);
  }
  const auto graph = graph_of<TestType>(2003, edges);
  const auto reduced = checked_reduction(graph);
  CHECK(reduced.dense == std::vector<TestType>{2000, 2001});
  const auto permutation = ordered(reduced);
  CHECK(permutation[2001] == 2000);
  CHECK(permutation[2002] == 2001);
  CHECK(nnz_l(graph, permutation) <= 2 * 2001 + 1 + 2 * 2000);
}

TEMPLATE_TEST_CASE("reduction: a vertex that is dense in the reduced graph comes last", "[ordering]", int,
                   std::int64_t) {
  // A 55 × 55 grid adjacent to a hub, whose degree is below 10 √n because 48500 pairs enlarge n.
  constexpr int side = 55, hub = side * side, n = hub + 1 + 2 * 48500;
  Test::Edges edges = Test::grid(side);
  for (int v = 0; v < hub; ++v) edges.emplace_back(v, hub);
  for (int v = hub + 1; v < n; v += 2) edges.emplace_back(v, v + 1);
  const auto graph = graph_of<TestType>(n, edges);
  const auto reduced = checked_reduction(graph);
  CHECK(reduced.graph.size() == hub);
  CHECK(reduced.dense == std::vector<TestType>{hub});
  const auto permutation = ordered(reduced);
  CHECK_NOTHROW(check_permutation({permutation.begin(), permutation.end()}, n));
  CHECK(permutation.back() == hub);
}

TEMPLATE_TEST_CASE("reduction: fill does not exceed that of ordering the whole graph", "[ordering]", int,
                   std::int64_t) {
  const auto check = [](int n, const Test::Edges& edges) {
    const auto graph = graph_of<TestType>(n, edges);
    const auto reduced = checked_reduction(graph);
    CHECK(reduce_graph(graph).members == reduced.members);
    CHECK(static_cast<double>(nnz_l(graph, ordered(reduced))) <=
          1.1 * static_cast<double>(nnz_l(graph, minimum_degree(graph))));
  };
  check(400, Test::grid(20));
  check(600, Test::random_edges(600, 700, 2));
  check(600, Test::random_edges(600, 900, 3));
  auto mesh = Test::random_tree(1000, 4);  // a tree with some chords, like a power grid
  for (const auto& edge : Test::random_edges(1000, 150, 5)) mesh.push_back(edge);
  check(1000, mesh);
  Test::Edges many;
  for (int k = 0; k < 10000; ++k)
    for (const auto& [v, w] : Test::path(3)) many.emplace_back(3 * k + v, 3 * k + w);
  const auto graph = graph_of<TestType>(30000, many);
  CHECK(nnz_l(graph, ordered(checked_reduction(graph))) == 20000);
}

}  // namespace
