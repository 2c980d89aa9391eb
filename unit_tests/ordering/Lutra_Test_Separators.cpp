// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <random>
#include <set>
#include <vector>

#include "Lutra_InitialSeparator.hpp"
#include "Lutra_MultilevelBisection.hpp"
#include "Lutra_SeparatorRefinement.hpp"

namespace {

using namespace lutra;
using namespace lutra::Impl;
using Parts = std::vector<signed char>;

/// A graph as adjacency lists.
template <class Index>
struct Lists {
  std::vector<Index> row_map{0}, neighbours, weights;

  explicit Lists(const std::vector<std::set<int>>& lists, const std::vector<int>& vertex_weights = {}) {
    for (std::size_t v = 0; v < lists.size(); ++v) {
      for (const int u : lists[v]) neighbours.push_back(static_cast<Index>(u));
      row_map.push_back(static_cast<Index>(neighbours.size()));
      weights.push_back(vertex_weights.empty() ? Index(1) : static_cast<Index>(vertex_weights[v]));
    }
  }

  DissectionGraph<Index> view() {
    const auto piece = [](std::vector<Index>& of) { return Piece<Index>(of.data(), of.size()); };
    return {static_cast<Index>(weights.size()), piece(row_map), piece(neighbours), {}, piece(weights)};
  }
};

Piece<signed char> piece(Parts& part) {
  return Piece<signed char>(part.data(), part.size());
}

std::vector<std::set<int>> from_edges(int n, const std::vector<std::array<int, 2>>& edges) {
  std::vector<std::set<int>> lists(static_cast<std::size_t>(n));
  for (const auto& [u, v] : edges) {
    lists[static_cast<std::size_t>(u)].insert(v);
    lists[static_cast<std::size_t>(v)].insert(u);
  }
  return lists;
}

std::vector<std::set<int>> path(int n, bool closed = false) {
  std::vector<std::array<int, 2>> edges;
  for (int v = 0; v + 1 < n; ++v) edges.push_back({v, v + 1});
  if (closed) edges.push_back({n - 1, 0});
  return from_edges(n, edges);
}

std::vector<std::set<int>> grid(int rows, int columns) {
  std::vector<std::array<int, 2>> edges;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      if (i + 1 < rows) edges.push_back({i * columns + j, (i + 1) * columns + j});
      if (j + 1 < columns) edges.push_back({i * columns + j, i * columns + j + 1});
    }
  }
  return from_edges(rows * columns, edges);
}

std::vector<std::set<int>> random_graph(int n, int n_edges, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::array<int, 2>> edges;
  for (int k = 0; k < n_edges; ++k) {
    const std::array<int, 2> edge = {static_cast<int>(random() % static_cast<unsigned>(n)),
                                     static_cast<int>(random() % static_cast<unsigned>(n))};
    if (edge[0] != edge[1]) edges.push_back(edge);
  }
  return from_edges(n, edges);
}

/// Recomputes the weights of the parts of a graph and checks that no edge joins the sides.
template <class Index>
SeparatorWeights<Index> checked_weights(const Lists<Index>& graph, const Parts& part) {
  SeparatorWeights<Index> weights;
  for (std::size_t v = 0; v < part.size(); ++v) {
    REQUIRE((part[v] == side_a || part[v] == side_b || part[v] == separator));
    weights.part[part[v]] += graph.weights[v];
    for (Index p = graph.row_map[v]; p < graph.row_map[v + 1]; ++p) {
      const signed char other = part[static_cast<std::size_t>(graph.neighbours[static_cast<std::size_t>(p)])];
      const bool joins_sides = part[v] != separator && other != separator && part[v] != other;
      REQUIRE_FALSE(joins_sides);
    }
  }
  return weights;
}

template <class Index>
void refine(Lists<Index>& graph, Parts& part, double max_side_share = 0.6) {
  DissectionStack stack;
  refine_separator(graph.view(), max_side_share, piece(part), stack);
}

template <class Index>
Parts initial(Lists<Index>& graph, const DissectionOptions& options = {}) {
  DissectionStack stack;
  Parts part(graph.weights.size(), 99);
  initial_separator(graph.view(), options, piece(part), stack);
  return part;
}

template <class Index>
Parts bisected(Lists<Index>& graph) {
  DissectionStack stack;
  Parts part(graph.weights.size(), 99);
  MultilevelBisection<OneThread, Index>({}, {}).bisect(graph.view(), piece(part), stack);
  return part;
}

/// All vertices except the first and the last are in the separator.
Parts worst_part(std::size_t n) {
  Parts part(n, separator);
  part.front() = side_a;
  part.back() = side_b;
  return part;
}

using Indices = std::tuple<int, std::int64_t>;

TEST_CASE("separators: path, cycle and complete bipartite graph refined by hand", "[ordering]") {
  SECTION("path of 10 vertices, all in the separator but its ends") {
    Lists<int> graph(path(10));
    Parts part = worst_part(10);
    refine(graph, part);
    CHECK(checked_weights(graph, part).part[separator] == 1);
  }
  SECTION("path of 10 vertices, an optimum stays") {
    Lists<int> graph(path(10));
    Parts part = {0, 0, 0, 0, 2, 1, 1, 1, 1, 1};
    const Parts before = part;
    refine(graph, part);
    CHECK(checked_weights(graph, part).part[separator] == 1);
    CHECK(checked_weights(graph, part).imbalance() == 1);
    CHECK(part == before);
  }
  SECTION("cycle of 12 vertices") {
    Lists<int> graph(path(12, true));
    Parts part(12, separator);
    part[0] = side_a;
    part[6] = side_b;
    refine(graph, part);
    CHECK(checked_weights(graph, part).part[separator] == 2);
  }
  SECTION("complete bipartite graph of 4 and 4") {
    std::vector<std::array<int, 2>> edges;
    for (int u = 0; u < 4; ++u)
      for (int v = 4; v < 8; ++v) edges.push_back({u, v});
    Lists<int> graph(from_edges(8, edges));
    Parts part(8, separator);
    refine(graph, part);
    const auto weights = checked_weights(graph, part);
    CHECK(weights.part[separator] == 4);
    CHECK(weights.larger_side() <= 4);
  }
  SECTION("star with a heavy hub: the separator may not weigh more than before") {
    std::vector<std::array<int, 2>> edges;
    for (int v = 1; v < 9; ++v) edges.push_back({0, v});
    Lists<int> graph(from_edges(9, edges), {3, 1, 1, 1, 1, 1, 1, 1, 1});
    Parts part = {2, 0, 0, 0, 0, 1, 1, 1, 1};
    refine(graph, part);
    CHECK(checked_weights(graph, part).part[separator] == 3);
  }
  SECTION("weights: the light vertex of a path is the separator") {
    Lists<int> graph(path(7), {5, 5, 5, 1, 5, 5, 5});
    Parts part = {0, 0, 2, 1, 1, 1, 1};
    refine(graph, part);
    CHECK(part == Parts{0, 0, 0, 2, 1, 1, 1});
  }
}

TEST_CASE("separators: an admissible balance is reached and kept", "[ordering]") {
  const double share = GENERATE(0.5, 0.55, 0.6);
  Lists<int> graph(grid(14, 15));
  Parts part(210, side_b);
  part[0] = side_a;
  part[1] = part[15] = separator;
  refine(graph, part, share);
  const auto weights = checked_weights(graph, part);
  CHECK(weights.larger_side() <= weights.max_side(share));
  Parts again = part;
  refine(graph, again, share);
  const auto second = checked_weights(graph, again);
  CHECK(second.larger_side() <= weights.max_side(share));
  CHECK(second.part[separator] <= weights.part[separator]);
}

TEMPLATE_LIST_TEST_CASE("separators: refinement never adds weight or joins the sides", "[ordering]",
                        Indices) {
  using Index = TestType;
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U);
  std::mt19937 random(seed);
  for (int g = 0; g < 5; ++g) {
    const int n = 20 + 60 * g;
    std::vector<int> weights;
    for (int v = 0; v < n; ++v) weights.push_back(1 + static_cast<int>(random() % (g % 2 == 0 ? 1U : 9U)));
    Lists<Index> graph(g == 1 ? grid(8, 10) : random_graph(n, 2 * n, seed), weights);
    DissectionOptions options;
    options.trials = 1;
    Parts part = initial(graph, options);
    for (signed char& p : part)  // a thicker separator
      if (random() % 5 == 0) p = separator;
    const auto before = checked_weights(graph, part);
    refine(graph, part);
    const auto after = checked_weights(graph, part);
    CHECK(after.part[separator] <= before.part[separator]);
    CHECK(after.larger_side() <= after.max_side(0.6));
  }
}

TEMPLATE_LIST_TEST_CASE("separators: initial separators of grids are lines", "[ordering]", Indices) {
  const std::array<std::vector<std::set<int>>, 5> graphs = {grid(8, 12), path(30), grid(1, 1),
                                                            random_graph(90, 200, 1), grid(9, 7)};
  const std::array<TestType, 5> bound = {8, 1, 1, 40, 7};
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    Lists<TestType> graph(graphs[g]);
    const auto weights = checked_weights(graph, initial(graph));
    CHECK(weights.part[separator] <= bound[g]);
    if (g != 2) CHECK(weights.larger_side() <= weights.max_side(0.6));
  }
}

TEST_CASE("separators: components, isolated vertices and graphs without a balanced separator", "[ordering]") {
  SECTION("two paths need no separator") {
    Lists<int> graph(from_edges(8, {{0, 1}, {1, 2}, {2, 3}, {4, 5}, {5, 6}, {6, 7}}));
    const auto weights = checked_weights(graph, initial(graph));
    CHECK(weights.part[separator] == 0);
    CHECK(weights.imbalance() == 0);
  }
  SECTION("isolated vertices") {
    Lists<int> graph(from_edges(50, {}));
    const auto weights = checked_weights(graph, initial(graph));
    CHECK(weights.part[separator] == 0);
    CHECK(weights.larger_side() <= 30);
  }
  SECTION("clique: sides of one, or one empty side") {
    std::vector<std::array<int, 2>> edges;
    for (int u = 0; u < 9; ++u)
      for (int v = 0; v < u; ++v) edges.push_back({u, v});
    Lists<int> graph(from_edges(9, edges));
    const auto weights = checked_weights(graph, initial(graph));
    CHECK(weights.part[separator] == 4);  // a side may have at most 5 of 9 vertices
    CHECK(std::min(weights.part[0], weights.part[1]) == 0);
  }
  SECTION("one vertex heavier than all others") {
    Lists<int> graph(path(5), {100, 1, 1, 1, 1});
    checked_weights(graph, initial(graph));
  }
  SECTION("a graph without vertices") {
    Lists<int> graph({});
    CHECK(initial(graph).empty());
    Parts part;
    refine(graph, part);
  }
}

/// A band of 9 columns with a crooked end.
Parts thick_separator(int rows, int columns) {
  Parts part;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) part.push_back(j < 118 + i % 3 ? side_a : j < 127 ? separator : side_b);
  return part;
}

TEST_CASE("separators: a thick separator of a large grid becomes a line", "[ordering]") {
  constexpr int rows = 100, columns = 250;
  Lists<int> graph(grid(rows, columns));
  Parts part = thick_separator(rows, columns);
  refine(graph, part, 0.57);
  CHECK(checked_weights(graph, part).part[separator] == rows);
}

TEMPLATE_LIST_TEST_CASE("separators: multilevel bisections of small graphs", "[ordering]", Indices) {
  std::vector<std::array<int, 2>> star;
  for (int v = 1; v < 300; ++v) star.push_back({0, v});
  const std::array<std::vector<std::set<int>>, 7> graphs = {
      grid(30, 40), random_graph(500, 1000, 1), {}, path(700), from_edges(300, star),
      grid(5, 5),   from_edges(200, {})};
  const std::array<TestType, 7> bound = {33, 120, 0, 1, 1, 5, 0};
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    CAPTURE(g);
    Lists<TestType> graph(graphs[g]);
    const auto weights = checked_weights(graph, bisected(graph));
    CHECK(weights.part[separator] <= bound[g]);
    if (g != 2) CHECK(weights.larger_side() <= weights.max_side(0.6));
  }
}

}  // namespace
