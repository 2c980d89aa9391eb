// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LeafOrdering.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <tuple>

#include "Lutra_MinimumDegree.hpp"
#include "Lutra_OrderingTestGraphs.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;

/// A graph whose last vertices are the boundary.
struct Leaf {
  SymmetricGraph<int> graph;
  std::vector<int> weights;
  int n_boundary;
};

Leaf make_leaf(int n, int n_boundary, const Test::Edges& edges, int max_weight = 1) {
  Leaf leaf{Test::graph_of<int>(n, edges), {}, n_boundary};
  for (int v = 0; v < n; ++v) leaf.weights.push_back(1 + v % max_weight);
  return leaf;
}

/// Exact minimum degree by sets. Eliminates a vertex of least weighted degree; ties are broken by the latest
/// change, then by the largest number. Then eliminates vertices whose neighbours are all in its front.
std::vector<int> reference_order(const Leaf& leaf) {
  const int n = leaf.graph.size(), n_inner = n - leaf.n_boundary;
  std::vector<std::set<int>> rows(static_cast<std::size_t>(n));
  for (int v = 0; v < n; ++v)
    for (int k = leaf.graph.row_map[static_cast<std::size_t>(v)];
         k < leaf.graph.row_map[static_cast<std::size_t>(v) + 1]; ++k)
      rows[static_cast<std::size_t>(v)].insert(leaf.graph.neighbours[static_cast<std::size_t>(k)]);
  const auto degree = [&](int v) {
    int sum = 0;
    for (const int u : rows[static_cast<std::size_t>(v)]) sum += leaf.weights[static_cast<std::size_t>(u)];
    return sum;
  };
  std::set<int> left;
  for (int v = 0; v < n_inner; ++v) left.insert(v);
  std::vector<int> order;
  std::vector<std::size_t> changed(static_cast<std::size_t>(n), 0);
  const auto key = [&](int v) {
    return std::tuple(degree(v), -static_cast<int>(changed[static_cast<std::size_t>(v)]), -v);
  };
  const auto take = [&](int v) {
    order.push_back(v);
    left.erase(v);
    for (const int u : rows[static_cast<std::size_t>(v)]) rows[static_cast<std::size_t>(u)].erase(v);
  };
  while (!left.empty()) {
    int p = *left.begin();
    for (const int v : left)
      if (key(v) < key(p)) p = v;
    const std::set<int> front = rows[static_cast<std::size_t>(p)];
    take(p);
    for (const int i : front) changed[static_cast<std::size_t>(i)] = order.size();
    for (const int i : front)
      for (const int j : front)
        if (i != j) rows[static_cast<std::size_t>(i)].insert(j);
    std::vector<int> gone;
    for (const int i : front)
      if (i < n_inner && rows[static_cast<std::size_t>(i)].size() + 1 == front.size()) gone.push_back(i);
    for (const int i : gone) take(i);
  }
  return order;
}

template <class Space, class Index>
std::vector<std::vector<int>> order_leaves(const std::vector<Leaf>& leaves) {
  using MemorySpace = typename Space::memory_space;
  std::vector<Index> first(1, 0), rows(1, 0), neighbours, weights, inner, boundary, all;
  Index max_inner = 0, max_vertices = 0;
  for (const Leaf& leaf : leaves) {
    const Index base = first.back(), n = leaf.graph.size();
    for (const int u : leaf.graph.neighbours) neighbours.push_back(base + u);
    const Index start = rows.back();
    for (std::size_t v = 1; v < leaf.graph.row_map.size(); ++v) rows.push_back(start + leaf.graph.row_map[v]);
    weights.insert(weights.end(), leaf.weights.begin(), leaf.weights.end());
    boundary.push_back(leaf.n_boundary);
    inner.push_back(n - leaf.n_boundary);
    all.push_back(static_cast<Index>(all.size()));
    first.push_back(base + n);
    max_inner = std::max(max_inner, n - leaf.n_boundary);
    max_vertices = std::max(max_vertices, n);
  }
  std::vector<Kokkos::View<Index*, MemorySpace>> owners;
  const auto piece = [&](const std::vector<Index>& host) {
    owners.emplace_back("test", host.size());
    const Kokkos::View<const Index*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> view(
        host.data(), host.size());
    Kokkos::deep_copy(owners.back(), view);
    return Impl::Piece<Index, MemorySpace>(owners.back().data(), host.size());
  };
  Impl::GraphBatch<Index, MemorySpace> batch;
  batch.n_graphs = static_cast<Index>(leaves.size());
  batch.n_vertices = first.back();
  batch.first_vertex = piece(first);
  batch.row_map = piece(rows);
  batch.neighbours = piece(neighbours);
  batch.vertex_weights = piece(weights);
  const auto n_inner = piece(inner), n_boundary = piece(boundary), chosen = piece(all),
             order = piece(std::vector<Index>(weights.size(), -7));
  Impl::LeafOrdering<Space, Index>(batch, n_inner, n_boundary, order)
      .run(Space(), chosen, max_inner, max_vertices);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), owners.back());
  std::vector<std::vector<int>> orders;
  for (std::size_t g = 0; g < leaves.size(); ++g) {
    orders.emplace_back();
    const auto begin = static_cast<std::size_t>(first[g]), end = static_cast<std::size_t>(first[g + 1]);
    for (std::size_t k = begin; k < end; ++k) {
      const bool is_inner = k < end - static_cast<std::size_t>(boundary[g]);
      if (is_inner)
        orders.back().push_back(static_cast<int>(host(k) - first[g]));
      else
        CHECK(host(k) == -7);
    }
  }
  return orders;
}

TEMPLATE_LIST_TEST_CASE("leaves: each team orders a leaf by exact minimum degree", "[ordering]",
                        Test::Spaces) {
  std::vector<Leaf> leaves;
  leaves.push_back(make_leaf(0, 0, {}));
  leaves.push_back(make_leaf(1, 0, {}));
  leaves.push_back(make_leaf(3, 3, {}));
  leaves.push_back(make_leaf(6, 3, {{0, 1}, {1, 2}, {0, 3}, {0, 4}, {0, 5}}));
  leaves.push_back(make_leaf(20, 0, Test::clique(20)));
  leaves.push_back(make_leaf(50, 5, Test::path(50), 3));
  for (const int n : {63, 64, 65, 127, 128, 129}) {
    leaves.push_back(make_leaf(n, n / 3, Test::random_edges(n, 3 * n, static_cast<unsigned>(n))));
    leaves.push_back(make_leaf(n, 0, Test::random_edges(n, n, static_cast<unsigned>(n)), 5));
  }
  leaves.push_back(make_leaf(400, 20, Test::grid(20)));
  const auto orders = order_leaves<TestType, int>(leaves);
  CHECK(order_leaves<TestType, std::int64_t>(leaves) == orders);
  for (std::size_t g = 0; g < leaves.size(); ++g) {
    CAPTURE(g);
    CHECK(orders[g] == reference_order(leaves[g]));
  }
  CHECK_THROWS_AS((Impl::LeafOrdering<TestType, int>({}, {}, {}, {}).run(TestType(), {}, 16001, 16001)),
                  InputError);
  // Exact and approximate degrees lead to about the same fill.
  auto by_host = minimum_degree(leaves.back().graph, leaves.back().weights, 20), by_team = orders.back();
  for (int v = 380; v < 400; ++v) {
    by_host.push_back(v);
    by_team.push_back(v);
  }
  CHECK(static_cast<double>(Test::nnz_l(leaves.back().graph, by_team)) <=
        1.1 * static_cast<double>(Test::nnz_l(leaves.back().graph, by_host)));
}

}  // namespace
