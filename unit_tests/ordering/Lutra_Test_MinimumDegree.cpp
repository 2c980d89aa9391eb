// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MinimumDegree.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_Error.hpp"
#include "Lutra_OrderingTestGraphs.hpp"
#include "Lutra_QuotientGraph.hpp"

namespace {

using namespace lutra;
using Test::graph_of;
using Test::nnz_l;

TEMPLATE_TEST_CASE("minimum degree: trees and chordal graphs get no fill", "[ordering]", int, std::int64_t) {
  const auto check = [](int n, const Test::Edges& edges) {
    const auto graph = graph_of<TestType>(n, edges);
    CHECK(nnz_l(graph, minimum_degree(graph)) == graph.neighbours.size() / 2);
  };
  check(0, {});
  check(1, {});
  check(5, {});
  check(2, {{0, 1}});
  check(50, Test::path(50));
  check(30, Test::clique(30));
  check(300, Test::random_tree(300, 3));
  Test::Edges star;
  for (int v = 1; v < 200; ++v) star.emplace_back(0, v);
  check(200, star);
  // Two cliques of 6 that share two vertices.
  Test::Edges cliques = Test::clique(6);
  for (const auto& [v, w] : Test::clique(6)) cliques.emplace_back(v + 4, w + 4);
  check(10, cliques);
}

TEMPLATE_TEST_CASE("minimum degree: fill by hand", "[ordering]", int, std::int64_t) {
  // A cycle of n needs n − 3 edges to become chordal.
  auto cycle = Test::path(12);
  cycle.emplace_back(0, 11);
  const auto ring = graph_of<TestType>(12, cycle);
  CHECK(nnz_l(ring, minimum_degree(ring)) == 12 + 9);
  // 3 × 3: eliminating the four corners adds a cycle of four edges around the centre. The first of the other
  // five vertices adds one diagonal: 12 + 4 + 1.
  const auto small = graph_of<TestType>(9, Test::grid(3));
  CHECK(nnz_l(small, minimum_degree(small)) == 17);
}

TEMPLATE_TEST_CASE("minimum degree: it stops at a limit of visits and goes on from there", "[ordering]", int,
                   std::int64_t) {
  const auto grid = graph_of<TestType>(900, Test::grid(30));
  const auto permutation = minimum_degree(grid);
  Impl::QuotientGraph<TestType> quotient;
  const auto begin = [&] {
    quotient.begin(TestType(900), TestType(0), grid.row_map.data(), grid.neighbours.data(), nullptr);
  };
  const auto written = [&] {
    std::vector<TestType> order(900);
    quotient.write(order.data());
    return order;
  };
  begin();
  CHECK(quotient.advance());
  const std::int64_t visits = quotient.visits();
  CHECK(visits > 4 * 30 * 29);
  CHECK(written() == permutation);
  begin();
  CHECK(quotient.visits() == 0);
  CHECK_FALSE(quotient.advance(visits / 2));
  CHECK(quotient.visits() > visits / 2);
  const std::int64_t half = quotient.visits();
  CHECK_FALSE(quotient.advance(half - 1));  // beyond the limit already
  CHECK(quotient.visits() == half);
  CHECK_FALSE(quotient.advance(visits * 3 / 4));
  CHECK(quotient.advance(visits));
  CHECK(quotient.visits() == visits);
  CHECK(written() == permutation);
}

TEMPLATE_TEST_CASE("minimum degree: fill is near that of the AMD library", "[ordering]", int, std::int64_t) {
  const auto check = [](int n, const Test::Edges& edges, double nnz_amd) {
    const auto graph = graph_of<TestType>(n, edges);
    const auto permutation = minimum_degree(graph);
    CHECK(minimum_degree(graph) == permutation);
    CHECK(static_cast<double>(nnz_l(graph, permutation)) <= 1.02 * nnz_amd);
  };
  check(900, Test::grid(30), 9331);  // entries below the diagonal of L by AMD 2.4
  check(600, Test::random_edges(600, 1200, 5), 11724);
  check(400, Test::random_edges(400, 2400, 6), 29130);
  Test::Edges many;  // components
  for (int k = 0; k < 10000; ++k)
    for (const auto& [v, w] : Test::grid(2)) many.emplace_back(4 * k + v, 4 * k + w);
  const auto graph = graph_of<TestType>(40000, many);
  CHECK(nnz_l(graph, minimum_degree(graph)) == 50000);
}

// A linear program: each of many columns meets 4 of 40 rows, whose lists are therefore long.
TEMPLATE_TEST_CASE("minimum degree: long lists cost little and no fill", "[ordering]", int, std::int64_t) {
  constexpr int n_columns = 3000, n_rows = 40, n = n_columns + n_rows;
  std::mt19937 random(7);
  Test::Edges edges;
  for (int column = 0; column < n_columns; ++column)
    for (int k = 0; k < 4; ++k)
      edges.emplace_back(column, n_columns + static_cast<int>(random() % static_cast<unsigned>(n_rows)));
  const auto graph = graph_of<TestType>(n, edges);
  std::vector<TestType> columns_first(n);
  std::iota(columns_first.begin(), columns_first.end(), TestType(0));
  const auto edges_left = [&](TestType n_boundary, const std::vector<TestType>& weights) {
    Impl::QuotientGraph<TestType> quotient;
    quotient.begin(n, n_boundary, graph.row_map.data(), graph.neighbours.data(), weights.data());
    REQUIRE(quotient.advance());
    CHECK(quotient.visits() < 100 * static_cast<std::int64_t>(graph.neighbours.size()));
    std::vector<TestType> order(static_cast<std::size_t>(n - n_boundary));
    quotient.write(order.data());
    for (TestType v = n - n_boundary; v < n; ++v) order.push_back(v);
    return nnz_l(graph, order);
  };
  const std::size_t best = nnz_l(graph, columns_first);
  std::vector<TestType> weights(n, 1);
  CHECK(edges_left(0, weights) == best);
  CHECK(edges_left(10, weights) == best);
  for (int row = n_columns; row < n; ++row) weights[static_cast<std::size_t>(row)] = 3;
  CHECK(edges_left(0, weights) == best);
}

TEMPLATE_TEST_CASE("minimum degree: a vertex of weight w counts as w indistinguishable vertices",
                   "[ordering]", int, std::int64_t) {
  // A wheel with weighted vertices gives the same pivots as one with explicit duplicates.
  const Test::Edges edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}};
  const std::vector<TestType> weights = {1, 4, 2, 7, 3, 5};
  const auto graph = graph_of<TestType>(6, edges);
  const auto duplicates = Test::expanded(6, edges, weights);
  std::vector<TestType> first(1, 0), of_duplicates;
  for (const TestType w : weights) first.push_back(first.back() + w);
  const auto permutation = minimum_degree(graph, weights);
  for (const TestType v : permutation)
    for (TestType k = first[static_cast<std::size_t>(v)]; k < first[static_cast<std::size_t>(v) + 1]; ++k)
      of_duplicates.push_back(k);
  CHECK(nnz_l(duplicates, of_duplicates) == nnz_l(duplicates, minimum_degree(duplicates)));
  // A path a − b − c with b of weight 10: an end comes first with and without weights. With a heavy end, the
  // other end comes first.
  const auto chain = graph_of<TestType>(3, Test::path(3));
  CHECK(minimum_degree(chain, {TestType(1), TestType(1), TestType(9)}).back() != 0);
  CHECK_THROWS_AS(minimum_degree(chain, {TestType(1)}), InputError);
}

TEMPLATE_TEST_CASE("minimum degree: boundary vertices count for degrees and are not ordered", "[ordering]",
                   int, std::int64_t) {
  // Path 0 − 1 − 2. Vertex 0 has three neighbours in the boundary 3, 4, 5. Without them an end would come
  // first.
  const auto graph = graph_of<TestType>(6, {{0, 1}, {1, 2}, {0, 3}, {0, 4}, {0, 5}});
  const auto permutation = minimum_degree(graph, {}, TestType(3));
  CHECK(permutation == std::vector<TestType>{2, 1, 0});
  // One boundary vertex of weight three has the same effect.
  const auto heavy = graph_of<TestType>(4, {{0, 1}, {1, 2}, {0, 3}});
  CHECK(minimum_degree(heavy, {TestType(1), TestType(1), TestType(1), TestType(3)}, TestType(1)) ==
        std::vector<TestType>{2, 1, 0});
  // All vertices are in the boundary, or adjacent only to it.
  CHECK(minimum_degree(heavy, {}, TestType(4)).empty());
  const auto star = graph_of<TestType>(6, {{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}});
  CHECK(minimum_degree(star, {}, TestType(1)).size() == 5);
  CHECK_THROWS_AS(minimum_degree(heavy, {}, TestType(5)), InputError);
  // With the whole rim as boundary, the fill is that of ordering the rim last.
  const auto grid = graph_of<TestType>(900, Test::grid(30));
  auto inner = minimum_degree(grid, {}, TestType(30));
  REQUIRE(inner.size() == 870);
  for (TestType v = 870; v < 900; ++v) inner.push_back(v);
  CHECK(static_cast<double>(nnz_l(grid, inner)) <=
        1.3 * static_cast<double>(nnz_l(grid, minimum_degree(grid))));
}

TEMPLATE_TEST_CASE("minimum degree: an order does not depend on graphs ordered before", "[ordering]", int,
                   std::int64_t) {
  Impl::QuotientGraph<TestType> reused;
  std::vector<TestType> permutation(900);
  for (const int n : {900, 10, 400, 1, 900}) {
    const auto graph = graph_of<TestType>(n, Test::random_edges(n, 3 * n, static_cast<unsigned>(n)));
    permutation.resize(static_cast<std::size_t>(n) - 1);
    reused.begin(TestType(n), 1, graph.row_map.data(), graph.neighbours.data(), nullptr);
    REQUIRE(reused.advance());
    reused.write(permutation.data());
    CHECK(permutation == minimum_degree(graph, {}, TestType(1)));
  }
}

}  // namespace
