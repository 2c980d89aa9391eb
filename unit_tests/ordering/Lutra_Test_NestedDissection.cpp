// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_NestedDissection.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>
#include <thread>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_DissectionHost.hpp"
#include "Lutra_OrderGraph.hpp"
#include "Lutra_OrderingTestGraphs.hpp"

namespace {

using namespace lutra;
using Graph = SymmetricGraph<int>;
using Space = Kokkos::DefaultHostExecutionSpace;
using Stack = Impl::DissectionStack;
using Piece = Impl::Piece<int>;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

Test::Edges cube(int n) {
  Test::Edges edges;
  for (int v = 0; v < n * n * n; ++v) {
    if (v % n > 0) edges.emplace_back(v, v - 1);
    if (v / n % n > 0) edges.emplace_back(v, v - n);
    if (v >= n * n) edges.emplace_back(v, v - n * n);
  }
  return edges;
}

Test::Edges renumbered(Test::Edges edges, int n) {
  std::vector<int> label(at(n));
  std::iota(label.begin(), label.end(), 0);
  std::shuffle(label.begin(), label.end(), std::mt19937(5));
  for (auto& [v, w] : edges) {
    v = label[at(v)];
    w = label[at(w)];
  }
  return edges;
}

/// Disjoint copies of a graph.
Test::Edges copies(const Test::Edges& of, int n, int count) {
  Test::Edges edges;
  for (int k = 0; k < count; ++k)
    for (const auto& [v, w] : of) edges.emplace_back(v + k * n, w + k * n);
  return edges;
}

/// Checks the permutation, and that edges join only columns of a node and of its ancestors.
void check_dissection(const Graph& graph, const Dissection<int>& d) {
  REQUIRE_NOTHROW(check_permutation({d.permutation.begin(), d.permutation.end()}, graph.size()));
  REQUIRE(d.first_column.size() == d.parent.size() + 1);
  REQUIRE((d.parent.empty() || d.first_column.back() == graph.size()));
  REQUIRE(std::ranges::is_sorted(d.first_column));
  const auto n_nodes = static_cast<int>(d.parent.size());
  std::vector<int> node(at(graph.size()), -1);
  for (int k = 0; k < n_nodes; ++k) {
    REQUIRE((d.parent[at(k)] == -1 || (d.parent[at(k)] > k && d.parent[at(k)] < n_nodes)));
    for (int c = d.first_column[at(k)]; c < d.first_column[at(k) + 1]; ++c)
      node[at(d.permutation[at(c)])] = k;
  }
  for (int v = 0; v < graph.size(); ++v) {
    for (int p = graph.row_map[at(v)]; p < graph.row_map[at(v) + 1]; ++p) {
      const int other = node[at(graph.neighbours[at(p)])];
      int k = node[at(v)];
      if (k < 0 || other < k) continue;
      while (k != other && k >= 0) k = d.parent[at(k)];
      REQUIRE(k == other);
    }
  }
}

Dissection<int> dissect(const Graph& graph, const DissectionOptions& options = {}) {
  auto result = nested_dissection(Space(), graph, options);
  check_dissection(graph, result);
  return result;
}

DissectionOptions plain(int leaf = 200) {
  DissectionOptions options;
  options.leaf_vertices = leaf;
  options.reduction.compress = options.reduction.eliminate = false;
  options.reduction.dense_factor = 1e9;
  return options;
}

/// The permutation and the nodes found by `n_threads` host threads.
auto by_threads(const Graph& graph, std::size_t n_threads) {
  const std::vector<int> weights(at(graph.size()), 1);
  Impl::DissectionHost<int> dissection(graph, weights, plain(), MemoryBudget(), n_threads);
  std::vector<int> order(weights.size());
  dissection.run(Impl::list_components(graph, order), order);
  return order;
}

Impl::DissectionGraph<int> view_of(const Graph& graph, std::vector<int>& weights) {
  weights.assign(at(graph.size()), 1);
  const auto piece = [](const std::vector<int>& of) { return Piece(const_cast<int*>(of.data()), of.size()); };
  return {graph.size(), piece(graph.row_map), piece(graph.neighbours), {}, piece(weights)};
}

struct Coarsened {
  std::vector<int> match, coarse_of, row_map, neighbours, edge_weights, vertex_weights;
  bool operator==(const Coarsened&) const = default;
};

/// Two levels of coarsening, so that the second has weights.
template <class Executor>
std::vector<Coarsened> coarsen(const Executor& exec, const Graph& graph, int heaviest) {
  std::vector<int> weights;
  auto fine = view_of(graph, weights);
  Stack stack;
  const auto copy = [](const Piece& of) { return std::vector<int>(of.data(), of.data() + of.extent(0)); };
  std::vector<Coarsened> levels;
  for (int level = 0; level < 2; ++level) {
    const Piece match = stack.take<int>(fine.n_vertices), coarse_of = stack.take<int>(fine.n_vertices),
                first = stack.take<int>(fine.n_vertices + 1);
    Impl::HeavyEdgeMatching<Executor, int>(exec, fine, heaviest, 7).find(match, stack);
    const Impl::Contraction<Executor, int> contraction(exec, fine, match);
    const int n_coarse = contraction.number(coarse_of, first);
    fine = contraction.contract(coarse_of, n_coarse, stack);
    levels.push_back({copy(match), copy(coarse_of), copy(fine.row_map), copy(fine.neighbours),
                      copy(fine.edge_weights), copy(fine.vertex_weights)});
  }
  return levels;
}

/// Coarsening by the calling thread and two helpers.
std::vector<Coarsened> coarsen_together(const Graph& graph, int heaviest) {
  Impl::SharedLoop loop;
  std::atomic<bool> done = false;
  const auto help = [&] {
    while (!done) loop.help();
  };
  std::thread first(help), second(help);
  auto levels = coarsen(Impl::SharedThreads{&loop, 3}, graph, heaviest);
  done = true;
  first.join();
  second.join();
  return levels;
}

TEST_CASE("coarsening: the graphs do not depend on the number of threads", "[ordering][threads]") {
  const int n = 100 * 100;
  for (const Test::Edges& edges :
       {Test::grid(100), Test::random_edges(n, 3 * n, 1), Test::random_tree(n, 2)}) {
    const Graph graph = Test::graph_of<int>(n, edges);
    const auto levels = coarsen(Impl::OneThread{}, graph, 3);
    CHECK(levels == coarsen_together(graph, 3));
    for (const Coarsened& level : levels) {
      for (std::size_t v = 0; v < level.match.size(); ++v)
        CHECK(level.match[at(level.match[v])] == static_cast<int>(v));
      CHECK(*std::ranges::max_element(level.vertex_weights) <= 3);
      CHECK(std::accumulate(level.vertex_weights.begin(), level.vertex_weights.end(), 0) == n);
    }
    // Every edge is inside a coarse vertex or counted in a coarse edge, in both directions.
    int inside = 0;
    for (int v = 0; v < n; ++v)
      for (int p = graph.row_map[at(v)]; p < graph.row_map[at(v) + 1]; ++p)
        inside += levels[0].coarse_of[at(v)] == levels[0].coarse_of[at(graph.neighbours[at(p)])] ? 1 : 0;
    CHECK(std::accumulate(levels[0].edge_weights.begin(), levels[0].edge_weights.end(), inside) ==
          static_cast<int>(graph.neighbours.size()));
    CHECK(4 * levels[1].match.size() < 3 * at(n));
  }
}

TEST_CASE("coarsening: leaves of a star are matched through their hub", "[ordering]") {
  Test::Edges star;
  for (int v = 1; v < 101; ++v) star.emplace_back(0, v);
  const auto levels = coarsen(Impl::OneThread{}, Test::graph_of<int>(101, star), 3);
  CHECK(levels[0].vertex_weights.size() == 51);  // hub and leaf, 49 pairs of leaves, one alone
}

TEST_CASE("nested dissection: empty and tiny graphs", "[ordering]") {
  CHECK(dissect(Test::graph_of<int>(0, {})).permutation.empty());
  CHECK(dissect(Test::graph_of<int>(1, {})).permutation == std::vector<int>{0});
  dissect(Test::graph_of<int>(1000, {}));
  for (const DissectionOptions& options : {DissectionOptions(), plain()}) {
    dissect(Test::graph_of<int>(1000, {{3, 5}}), options);
    Test::Edges star;
    for (int v = 1; v < 1000; ++v) star.emplace_back(0, v);
    const Graph graph = Test::graph_of<int>(1000, star);
    CHECK(Test::nnz_l(graph, dissect(graph, options).permutation) == 999);
    const Graph path = Test::graph_of<int>(3000, Test::path(3000));
    CHECK(Test::nnz_l(path, dissect(path, options).permutation) < 2 * 3000);
  }
}

TEST_CASE("nested dissection: sizes close to the leaf size", "[ordering]") {
  for (const int n : {199, 200, 201, 202}) {
    const auto d = dissect(Test::graph_of<int>(n, Test::path(n)), plain());
    CHECK((d.n_leaves == 1) == (n <= 200));
    CHECK(d.depth == (n <= 200 ? 1 : 2));
  }
}

TEST_CASE("nested dissection: a clique has no separator and is ordered by minimum degree", "[ordering]") {
  const auto d = dissect(Test::graph_of<int>(300, Test::clique(300)), plain());
  CHECK(d.n_degenerate == 1);
  CHECK(d.n_leaves == 1);
}

TEST_CASE("nested dissection: components are siblings, and small ones share leaves", "[ordering]") {
  const Graph small = Test::graph_of<int>(50000, copies(Test::path(5), 5, 10000));
  const auto d = dissect(small, plain());
  CHECK(d.n_leaves == 250);
  CHECK(d.depth == 1);
  const auto grids = dissect(Test::graph_of<int>(4 * 900, copies(Test::grid(30), 900, 4)), plain());
  CHECK(std::ranges::count(grids.parent, -1) == 4);
}

TEST_CASE("nested dissection: the same order for any number of threads", "[ordering]") {
  const Graph graph = Test::graph_of<int>(120 * 120, Test::grid(120));
  const auto order = by_threads(graph, 1);
  CHECK(by_threads(graph, 2) == order);
  CHECK(by_threads(graph, 5) == order);
  CHECK(dissect(graph).permutation == dissect(graph).permutation);
}

TEST_CASE("nested dissection: fill compared with METIS and AMD", "[ordering]") {
  double sum = 0, worst = 0;
  int count = 0;
  const auto compare = [&](int n, const Test::Edges& edges) {
    const Graph graph = Test::graph_of<int>(n, edges);
    const auto entries = [&](const std::vector<int>& p) {
      return static_cast<double>(forecast_fill(graph, p).nnz_l + n);
    };
    const double ours = entries(dissect(graph).permutation), metis = entries(order(graph, Ordering::metis)),
                 amd = entries(order(graph, Ordering::amd));
    CHECK(ours < 1.3 * std::max(metis, amd));
    sum += std::log(ours / metis);
    worst = std::max(worst, ours / metis);
    ++count;
    return ours;
  };
  const double grid = compare(6400, Test::grid(80));
  const double other = compare(6400, renumbered(Test::grid(80), 6400));
  CHECK(std::abs(other - grid) < 0.05 * grid);
  compare(4096, cube(16));
  compare(3000, Test::random_tree(3000, 1));
  compare(1500, Test::random_edges(1500, 2500, 3));
  Test::Edges hub = Test::grid(40);  // and a vertex adjacent to all others
  for (int v = 0; v < 1600; ++v) hub.emplace_back(v, 1600);
  compare(1601, hub);
  CHECK(std::exp(sum / count) < 1.05);
  CHECK(worst < 1.2);
}

TEST_CASE("nested dissection: workspace is charged to the budget", "[ordering]") {
  const Graph graph = Test::graph_of<int>(10000, Test::grid(100));
  MemoryBudget none(1000);
  CHECK_THROWS_AS(nested_dissection(Space(), graph, plain(), none), OutOfMemoryError);
  MemoryBudget enough;
  nested_dissection(Space(), graph, plain(), enough);
  CHECK(enough.used_bytes() == 0);
  CHECK(enough.peak_bytes() > 10000 * sizeof(int));
}

}  // namespace
