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
#include "Lutra_SeparatorRefinement.hpp"
#include "Lutra_TeamBisection.hpp"

namespace {

using namespace lutra;
using namespace lutra::Impl;
using Space = Kokkos::DefaultHostExecutionSpace;
using Parts = std::vector<signed char>;

/// The graphs of a batch on the host, as lists of edges.
template <class Index>
struct Batch {
  std::vector<Index> first_vertex{0}, graph, row_map{0}, neighbours, weights;

  void add(const std::vector<std::set<int>>& lists, const std::vector<int>& vertex_weights = {}) {
    const Index first = first_vertex.back();
    for (std::size_t v = 0; v < lists.size(); ++v) {
      for (const int u : lists[v]) neighbours.push_back(first + static_cast<Index>(u));
      row_map.push_back(static_cast<Index>(neighbours.size()));
      weights.push_back(vertex_weights.empty() ? Index(1) : static_cast<Index>(vertex_weights[v]));
      graph.push_back(static_cast<Index>(first_vertex.size()) - 1);
    }
    first_vertex.push_back(first + static_cast<Index>(lists.size()));
  }

  GraphBatch<Index, Kokkos::HostSpace> view() {
    const auto piece = [](std::vector<Index>& of) {
      return Piece<Index, Kokkos::HostSpace>(of.data(), of.size());
    };
    GraphBatch<Index, Kokkos::HostSpace> batch;
    batch.n_graphs = static_cast<Index>(first_vertex.size()) - 1;
    batch.n_vertices = static_cast<Index>(weights.size());
    batch.first_vertex = piece(first_vertex);
    if (batch.n_graphs > 1) batch.graph = piece(graph);
    batch.row_map = piece(row_map);
    batch.neighbours = piece(neighbours);
    batch.vertex_weights = piece(weights);
    return batch;
  }
};

Piece<signed char, Kokkos::HostSpace> piece(Parts& part) {
  return Piece<signed char, Kokkos::HostSpace>(part.data(), part.size());
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
SeparatorWeights<Index> checked_weights(const Batch<Index>& batch, const Parts& part, std::size_t g = 0) {
  SeparatorWeights<Index> weights;
  for (auto v = static_cast<std::size_t>(batch.first_vertex[g]);
       v < static_cast<std::size_t>(batch.first_vertex[g + 1]); ++v) {
    REQUIRE((part[v] == side_a || part[v] == side_b || part[v] == separator));
    weights.part[part[v]] += batch.weights[v];
    for (Index p = batch.row_map[v]; p < batch.row_map[v + 1]; ++p) {
      const signed char other = part[static_cast<std::size_t>(batch.neighbours[static_cast<std::size_t>(p)])];
      const bool joins_sides = part[v] != separator && other != separator && part[v] != other;
      REQUIRE_FALSE(joins_sides);
    }
  }
  return weights;
}

/// Refines with one thread, and as devices do: all threads collect, and one thread per graph moves vertices.
enum class Method { moves, collected };

using Whole = WholeSpace<Space>;

template <class Index>
void refine(Batch<Index>& batch, Parts& part, Method method, double max_side_share = 0.6) {
  DissectionStack<Kokkos::HostSpace> stack;
  DissectionOptions options;
  options.max_side_share = max_side_share;
  if (method == Method::moves)
    refine_separator(OneThread{}, batch.view(), options, piece(part), stack);
  else
    refine_collected(Whole{Space()}, batch.view(), options, piece(part), stack);
}

template <class Executor, class Index>
Parts initial(const Executor& exec, Batch<Index>& batch, const DissectionOptions& options = {}) {
  DissectionStack<Kokkos::HostSpace> stack;
  Parts part(batch.weights.size(), 99);
  initial_separator(exec, batch.view(), options, piece(part), stack);
  return part;
}

template <class Index>
Batch<Index> batch_of(const std::vector<std::set<int>>& lists, const std::vector<int>& weights = {}) {
  Batch<Index> batch;
  batch.add(lists, weights);
  return batch;
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
  const Method method = GENERATE(Method::moves, Method::collected);
  SECTION("path of 10 vertices, all in the separator but its ends") {
    auto batch = batch_of<int>(path(10));
    Parts part = worst_part(10);
    refine(batch, part, method);
    CHECK(checked_weights(batch, part).part[separator] == 1);
  }
  SECTION("path of 10 vertices, an optimum stays") {
    auto batch = batch_of<int>(path(10));
    Parts part = {0, 0, 0, 0, 2, 1, 1, 1, 1, 1};
    const Parts before = part;
    refine(batch, part, method);
    CHECK(checked_weights(batch, part).part[separator] == 1);
    CHECK(checked_weights(batch, part).imbalance() == 1);
    CHECK(part == before);
  }
  SECTION("cycle of 12 vertices") {
    auto batch = batch_of<int>(path(12, true));
    Parts part(12, separator);
    part[0] = side_a;
    part[6] = side_b;
    refine(batch, part, method);
    CHECK(checked_weights(batch, part).part[separator] == 2);
  }
  SECTION("complete bipartite graph of 4 and 4") {
    std::vector<std::array<int, 2>> edges;
    for (int u = 0; u < 4; ++u)
      for (int v = 4; v < 8; ++v) edges.push_back({u, v});
    auto batch = batch_of<int>(from_edges(8, edges));
    Parts part(8, separator);
    refine(batch, part, method);
    const auto weights = checked_weights(batch, part);
    CHECK(weights.part[separator] == 4);
    CHECK(weights.larger_side() <= 4);
  }
  SECTION("star with a heavy hub: the separator may not weigh more than before") {
    std::vector<std::array<int, 2>> edges;
    for (int v = 1; v < 9; ++v) edges.push_back({0, v});
    auto batch = batch_of<int>(from_edges(9, edges), {3, 1, 1, 1, 1, 1, 1, 1, 1});
    Parts part = {2, 0, 0, 0, 0, 1, 1, 1, 1};
    refine(batch, part, method);
    CHECK(checked_weights(batch, part).part[separator] == 3);
  }
  SECTION("weights: the light vertex of a path is the separator") {
    auto batch = batch_of<int>(path(7), {5, 5, 5, 1, 5, 5, 5});
    Parts part = {0, 0, 2, 1, 1, 1, 1};
    refine(batch, part, method);
    CHECK(part == Parts{0, 0, 0, 2, 1, 1, 1});
  }
}

TEST_CASE("separators: an admissible balance is reached and kept", "[ordering]") {
  const Method method = GENERATE(Method::moves, Method::collected);
  const double share = GENERATE(0.5, 0.55, 0.6);
  auto batch = batch_of<int>(grid(14, 15));
  Parts part(210, side_b);
  part[0] = side_a;
  part[1] = part[15] = separator;
  refine(batch, part, method, share);
  const auto weights = checked_weights(batch, part);
  CHECK(weights.larger_side() <= weights.max_side(share));
  Parts again = part;
  refine(batch, again, method, share);
  const auto second = checked_weights(batch, again);
  CHECK(second.larger_side() <= weights.max_side(share));
  CHECK(second.part[separator] <= weights.part[separator]);
}

TEMPLATE_LIST_TEST_CASE(
    "separators: refinement never adds weight or joins the sides, for any number of threads", "[ordering]",
    Indices) {
  using Index = TestType;
  const Method method = GENERATE(Method::moves, Method::collected);
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U);
  Batch<Index> batch;
  Parts start, one_by_one;
  std::mt19937 random(seed);
  for (int g = 0; g < 5; ++g) {
    const int n = 20 + 60 * g;
    std::vector<int> weights;
    for (int v = 0; v < n; ++v) weights.push_back(1 + static_cast<int>(random() % (g % 2 == 0 ? 1U : 9U)));
    const auto lists = g == 1 ? grid(8, 10) : random_graph(n, 2 * n, seed);
    batch.add(lists, weights);
    auto alone = batch_of<Index>(lists, weights);
    DissectionOptions options;
    options.trials = 1;
    Parts part = initial(OneThread{}, alone, options);
    for (signed char& p : part)  // a thicker separator
      if (random() % 5 == 0) p = separator;
    start.insert(start.end(), part.begin(), part.end());
    const auto before = checked_weights(alone, part);
    refine(alone, part, method);
    const auto after = checked_weights(alone, part);
    CHECK(after.part[separator] <= before.part[separator]);
    CHECK(after.larger_side() <= after.max_side(0.6));
    one_by_one.insert(one_by_one.end(), part.begin(), part.end());
  }
  Parts by_all = start, again = start;
  refine(batch, by_all, method);
  refine(batch, again, method);
  CHECK(by_all == one_by_one);
  CHECK(again == one_by_one);
}

TEMPLATE_LIST_TEST_CASE("separators: initial separators of grids are lines, alone and in a batch",
                        "[ordering]", Indices) {
  using Index = TestType;
  Batch<Index> batch;
  Parts one_by_one;
  for (const auto& lists : {grid(8, 12), path(30), grid(1, 1), random_graph(90, 200, 1), grid(9, 7)}) {
    batch.add(lists);
    auto alone = batch_of<Index>(lists);
    const Parts part = initial(OneThread{}, alone);
    one_by_one.insert(one_by_one.end(), part.begin(), part.end());
  }
  const std::array<Index, 5> bound = {8, 1, 1, 40, 7};
  for (std::size_t g = 0; g < bound.size(); ++g) {
    const auto weights = checked_weights(batch, one_by_one, g);
    CHECK(weights.part[separator] <= bound[g]);
    if (g != 2) CHECK(weights.larger_side() <= weights.max_side(0.6));
  }
  CHECK(initial(WholeSpace<Space>{Space()}, batch) == one_by_one);
  CHECK(initial(OneThread{}, batch) == one_by_one);
}

TEST_CASE("separators: components, isolated vertices and graphs without a balanced separator", "[ordering]") {
  SECTION("two paths need no separator") {
    auto batch = batch_of<int>(from_edges(8, {{0, 1}, {1, 2}, {2, 3}, {4, 5}, {5, 6}, {6, 7}}));
    const auto weights = checked_weights(batch, initial(OneThread{}, batch));
    CHECK(weights.part[separator] == 0);
    CHECK(weights.imbalance() == 0);
  }
  SECTION("isolated vertices") {
    auto batch = batch_of<int>(from_edges(50, {}));
    const auto weights = checked_weights(batch, initial(OneThread{}, batch));
    CHECK(weights.part[separator] == 0);
    CHECK(weights.larger_side() <= 30);
  }
  SECTION("clique: sides of one, or one empty side") {
    std::vector<std::array<int, 2>> edges;
    for (int u = 0; u < 9; ++u)
      for (int v = 0; v < u; ++v) edges.push_back({u, v});
    auto batch = batch_of<int>(from_edges(9, edges));
    const auto weights = checked_weights(batch, initial(OneThread{}, batch));
    CHECK(weights.part[separator] == 4);  // a side may have at most 5 of 9 vertices
    CHECK(std::min(weights.part[0], weights.part[1]) == 0);
  }
  SECTION("one vertex heavier than all others") {
    auto batch = batch_of<int>(path(5), {100, 1, 1, 1, 1});
    checked_weights(batch, initial(OneThread{}, batch));
  }
  SECTION("no graph, and a graph without vertices") {
    Batch<int> batch;
    CHECK(initial(OneThread{}, batch).empty());
    batch.add({});
    CHECK(initial(OneThread{}, batch).empty());
    Parts part;
    refine(batch, part, Method::collected);
    refine(batch, part, Method::moves);
  }
}

/// A band of 9 columns with a crooked end.
Parts thick_separator(int rows, int columns) {
  Parts part;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) part.push_back(j < 118 + i % 3 ? side_a : j < 127 ? separator : side_b);
  return part;
}

TEST_CASE("separators: the result on a large grid does not depend on the order of the list", "[ordering]") {
  constexpr int rows = 100, columns = 250;
  auto batch = batch_of<int>(grid(rows, columns));
  for (const Method method : {Method::moves, Method::collected}) {
    Parts part = thick_separator(rows, columns);
    refine(batch, part, method, 0.57);
    CHECK(checked_weights(batch, part).part[separator] == rows);
  }
  // The result does not depend on the order of the collected list.
  DissectionStack<Kokkos::HostSpace> stack;
  using Separators = CollectedSeparators<Whole, int, Kokkos::HostSpace>;
  std::vector<Parts> results;
  for (const bool reversed : {false, true}) {
    Parts part = thick_separator(rows, columns);
    const auto arrays = take_node_fm_arrays<int>(rows * columns, stack);
    const Separators separators{batch.view(), piece(part), arrays, 0.57, 100, 4};
    Separators::State state;
    separators.collect(state, 0, 0, rows * columns);
    if (reversed) std::reverse(arrays.list, arrays.list + state.length);
    separators.refine(state, 0, rows * columns);
    CHECK(state.weights.part[separator] == checked_weights(batch, part).part[separator]);
    results.push_back(part);
  }
  CHECK(results[0] == results[1]);
}

/// The parts of all graphs of a batch, with a team for each graph.
template <class Index>
Parts by_teams(Batch<Index>& batch, const DissectionOptions& options) {
  DissectionStack<Kokkos::HostSpace> stack;
  Parts part(batch.weights.size(), 99);
  TeamBisection<Space, Index>(batch.view(), options, piece(part)).run(Whole{Space()}, stack);
  return part;
}

TEMPLATE_LIST_TEST_CASE("separators: graphs in a batch are bisected as alone", "[ordering]", Indices) {
  using Index = TestType;
  DissectionOptions options;
  options.team_descents = 2;
  Batch<Index> batch;
  Parts one_by_one;
  std::vector<std::array<int, 2>> star;
  for (int v = 1; v < 300; ++v) star.push_back({0, v});
  const std::vector<std::vector<std::set<int>>> graphs = {
      grid(30, 40), random_graph(500, 1000, 1), {}, path(700), from_edges(300, star),
      grid(5, 5),   from_edges(200, {})};
  for (const auto& lists : graphs) {
    batch.add(lists);
    auto alone = batch_of<Index>(lists);
    const Parts part = by_teams(alone, options);
    one_by_one.insert(one_by_one.end(), part.begin(), part.end());
  }
  CHECK(by_teams(batch, options) == one_by_one);
  CHECK(by_teams(batch, options) == one_by_one);
  const std::array<Index, 7> bound = {33, 120, 0, 1, 1, 5, 0};
  for (std::size_t g = 0; g < bound.size(); ++g) {
    const auto weights = checked_weights(batch, one_by_one, g);
    CAPTURE(g);
    CHECK(weights.part[separator] <= bound[g]);
    if (g != 2) CHECK(weights.larger_side() <= weights.max_side(0.6));
  }
}

}  // namespace
