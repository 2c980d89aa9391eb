// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "Lutra_BlockOwners.hpp"
#include "Lutra_DistributedModel.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::WithinRel;

/// A tenth of a second a task, a second a message, nothing for bytes.
DistributedCosts unit_costs(double teams) {
  return {.start_seconds = 0,
          .dependency_seconds = 0.1,
          .bandwidth = 1e30,
          .min_block_bandwidth = 1e30 / teams,
          .max_block_bandwidth = 1e30,
          .latency_seconds = 1,
          .link_bandwidth = 1e30};
}

/// Blocks of one row, with edges from columns to rows; every block has one entry.
BlockTriangle triangle_of(std::size_t n, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  BlockTriangle triangle;
  triangle.width.assign(n, 1);
  for (std::size_t K = 0; K < n; ++K) {
    triangle.column_begin.push_back(triangle.row.size());
    triangle.row.push_back(K);
    for (const auto& [column, row] : edges) {
      if (column == K) triangle.row.push_back(row);
    }
  }
  triangle.column_begin.push_back(triangle.row.size());
  triangle.entries.assign(triangle.row.size(), 1);
  return triangle;
}

BlockTriangle chain(std::size_t n) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t K = 0; K + 1 < n; ++K) edges.push_back({K, K + 1});
  return triangle_of(n, edges);
}

AssemblyTree tree_of_grid(std::int64_t points) {
  const auto A = generate("poisson2d", points);
  const auto pattern = make_view(A).pattern();
  const auto permutation = order(pattern, Ordering::amd);
  return make_assembly_tree(Kokkos::DefaultHostExecutionSpace(), pattern, permutation, permutation,
                            MemoryBudget());
}

}  // namespace

TEST_CASE("a chain costs its tasks in sequence and a message at each change of owner", "[trisolve]") {
  const BlockTriangle triangle = chain(6);
  const DistributedCosts costs = unit_costs(4);
  const auto one = predict_critical_path(triangle, {1, 1}, costs);
  CHECK_THAT(one.seconds, WithinRel(0.6, 1e-12));
  CHECK(one.levels == 1);
  CHECK_THAT(simulate_solve(triangle, {1, 1}, costs).seconds, WithinRel(0.6, 1e-12));
  // 2 × 1: x(K) goes to the rank of row K + 1, whose product is a task of its own before its solve
  const auto two = simulate_solve(triangle, {2, 1}, costs);
  CHECK_THAT(two.seconds, WithinRel(6 * 0.1 + 5 * (1 + 0.1), 1e-12));
  CHECK(two.messages == 5);
  CHECK(two.jobs == 11);
  CHECK(predict_critical_path(triangle, {2, 1}, costs).levels == 6);
  // 1 × 2: products are added where x(K) is computed, and sums travel
  const auto sums = simulate_solve(triangle, {1, 2}, costs);
  CHECK_THAT(sums.seconds, WithinRel(6 * 0.1 + 5.0, 1e-12));
  CHECK(sums.jobs == 11);
}

TEST_CASE("independent blocks are shared by teams and ranks", "[trisolve]") {
  const BlockTriangle triangle = triangle_of(64, {});
  const DistributedCosts costs = unit_costs(4);
  for (const int ranks : {1, 2, 4}) {
    for (const ProcessGrid& grid : {ProcessGrid{ranks, 1}, ProcessGrid{1, ranks}}) {
      const auto simulated = simulate_solve(triangle, grid, costs);
      CHECK_THAT(simulated.seconds, WithinRel(64 * 0.1 / (4 * ranks), 1e-12));
      CHECK(simulated.messages == 0);
      const auto predicted = predict_critical_path(triangle, grid, costs);
      CHECK_THAT(predicted.seconds, WithinRel(simulated.seconds, 1e-12));
      CHECK_THAT(predicted.level_seconds, WithinRel(simulated.seconds, 1e-12));
    }
  }
}

TEST_CASE("ranks with one team handle their own messages, which take longer between nodes", "[trisolve]") {
  const BlockTriangle pair = triangle_of(2, {{0, 1}});
  const DistributedCosts costs = unit_costs(1);
  const auto seconds = [&](const NodeLinks& nodes) {
    return simulate_solve(pair, {2, 1}, costs, 1, nodes).seconds;
  };
  CHECK_THAT(seconds({}), WithinRel(0.1 + 0.5 + 0.5 + 0.1 + 0.1, 1e-12));
  CHECK_THAT(seconds({2, 7, 1e30}), WithinRel(1.3, 1e-12));
  CHECK_THAT(seconds({1, 7, 1e30}), WithinRel(7.3, 1e-12));
  CHECK_THAT(seconds({1, 7, 4}), WithinRel(9.3, 1e-12));  // one value of eight bytes
  // rank 0 sends to two others, one after the other, and has its own block to work after that
  const BlockTriangle star = triangle_of(4, {{0, 1}, {0, 2}, {0, 3}});
  CHECK_THAT(simulate_solve(star, {3, 1}, costs).seconds, WithinRel(0.1 + 1 + 0.5 + 0.2, 1e-12));
}

TEST_CASE("on one device with many teams a binary tree costs its height", "[trisolve]") {
  // Blocks 0 to 7 are leaves; 8 to 11, 12, 13, 14 their ancestors.
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t child = 0; child < 14; ++child) edges.push_back({child, 8 + child / 2});
  const BlockTriangle triangle = triangle_of(15, edges);
  const DistributedCosts costs = unit_costs(8);
  CHECK_THAT(simulate_solve(triangle, {1, 1}, costs).seconds, WithinRel(0.4, 1e-12));
  CHECK_THAT(predict_critical_path(triangle, {1, 1}, costs).seconds, WithinRel(0.4, 1e-12));
  // one team: all tasks one after the other
  // a team that works alone, of a host, takes as long for each of the other 14 blocks
  CHECK_THAT(simulate_solve(triangle, {1, 1}, unit_costs(1)).seconds, WithinRel(2.9, 1e-12));
  CHECK_THAT(predict_critical_path(triangle, {1, 1}, unit_costs(1)).seconds, WithinRel(1.5, 1e-12));
}

TEST_CASE("broadcasts and reductions use binary trees", "[trisolve]") {
  std::vector<std::pair<std::size_t, std::size_t>> down, across;
  for (std::size_t I = 1; I < 8; ++I) {
    down.push_back({0, I});
    across.push_back({I - 1, 7});
  }
  const DistributedCosts costs = unit_costs(100);
  // 8 × 1: rank 0 reaches seven others by three generations of messages
  const auto broadcast = simulate_solve(triangle_of(8, down), {8, 1}, costs);
  CHECK(broadcast.messages == 7);
  CHECK_THAT(broadcast.seconds, WithinRel(0.1 + 3 * 1.0 + 0.1 + 0.1, 1e-12));
  // 1 × 8: seven ranks' sums reach the owner of the last row
  const auto reduction = simulate_solve(triangle_of(8, across), {1, 8}, costs);
  CHECK(reduction.messages == 7);
  CHECK_THAT(reduction.seconds, WithinRel(0.1 + 3 * 1.0 + 0.1, 1e-12));
  const auto owners = Impl::find_owners(triangle_of(8, across), {1, 8});
  CHECK(owners.rows.rank[owners.rows.begin[7]] == 7);      // the owner,
  CHECK(owners.rows.rank[owners.rows.begin[7] + 1] == 6);  // then the one that contributes last
}

TEST_CASE("messages share the link of their sender", "[trisolve]") {
  DistributedCosts costs = unit_costs(100);
  costs.link_bandwidth = 8;  // a second for one value
  const auto times = simulate_solve(triangle_of(3, {{0, 1}, {0, 2}}), {3, 1}, costs);
  CHECK_THAT(times.seconds, WithinRel(0.1 + 2 * 1.0 + 1.0 + 0.2, 1e-12));
  CHECK_THAT(times.message_bytes, WithinRel(16.0, 1e-12));
  CHECK_THAT(times.message_seconds, WithinRel(2.0, 1e-12));
}

TEST_CASE("the blocks of fronts cover the entries of L", "[trisolve]") {
  const auto tree = tree_of_grid(20);
  double stored = 0;
  for (int f = 0; f < tree.count(); ++f) {
    const auto k = static_cast<std::size_t>(f);
    const double pivots = tree.pivot_begin[k + 1] - tree.pivot_begin[k];
    stored +=
        pivots * (pivots + 1) / 2 + pivots * static_cast<double>(tree.row_begin[k + 1] - tree.row_begin[k]);
  }
  for (const std::size_t width : {3, 128}) {
    const BlockTriangle lower = block_triangle(tree, width);
    const BlockTriangle upper = reversed_transpose(lower);
    double entries = 0, rows = 0, transposed = 0;
    for (const double e : lower.entries) entries += e;
    for (const double e : upper.entries) transposed += e;
    for (const std::size_t w : lower.width) {
      CHECK(w <= width);
      rows += static_cast<double>(w);
    }
    CHECK(rows == 400);
    CHECK(entries == stored);
    CHECK(transposed == stored);
    const BlockTriangle again = reversed_transpose(upper);
    CHECK(again.row == lower.row);
    CHECK(again.entries == lower.entries);
    CHECK(upper.owner({2, 3}, 1, 0) == lower.owner({2, 3}, lower.size() - 2, lower.size() - 1));
  }
}

TEST_CASE("a triangle stored by rows is cut at the given rows", "[trisolve]") {
  const HostMatrix<double> A{4, 4, {0, 1, 3, 5, 7}, {0, 0, 1, 3, 2, 1, 3}, std::vector<double>(7, 1)};
  const BlockTriangle triangle = block_triangle(make_view(A).pattern(), {0, 2, 3, 4});
  CHECK(triangle.width == std::vector<std::size_t>{2, 1, 1});
  CHECK(triangle.column_begin == std::vector<std::size_t>{0, 2, 3, 4});
  CHECK(triangle.row == std::vector<std::size_t>{0, 2, 1, 2});
  CHECK(triangle.entries == std::vector<double>{3, 1, 1, 1});
}

TEST_CASE("predictions of solves depend on every constant", "[trisolve]") {
  const BlockTriangle triangle = block_triangle(tree_of_grid(40));
  const DistributedCosts costs = h200_device_model().trisolve.distributed;
  for (const ProcessGrid& grid :
       {ProcessGrid{1, 1}, ProcessGrid{4, 1}, ProcessGrid{2, 2}, ProcessGrid{1, 4}}) {
    const auto times = simulate_solve(triangle, grid, costs);
    const auto path = predict_critical_path(triangle, grid, costs);
    CHECK(path.seconds <= path.level_seconds);
    CHECK(times.seconds == simulate_solve(triangle, grid, costs).seconds);
    DistributedCosts slower = costs;
    slower.latency_seconds *= 10;
    CHECK(predict_critical_path(triangle, grid, slower).seconds >= path.seconds);
    if (grid.size() > 1) CHECK(simulate_solve(triangle, grid, slower).seconds > times.seconds);
    slower.link_bandwidth /= 1000;
    CHECK(predict_critical_path(triangle, grid, slower).seconds >= path.seconds);
    CHECK(simulate_solve(triangle, grid, costs, 64).seconds > times.seconds);
    CHECK((times.messages == 0) == (grid.size() == 1));
  }
  const auto grids = compare_grids(triangle, 4, costs);
  REQUIRE(grids.size() == 3);
  CHECK(grids[0].seconds() <= grids[1].seconds());
  CHECK(grids[1].seconds() <= grids[2].seconds());
  CHECK(compare_grids(triangle, 4, costs, 1, 2).size() == 2);
  const auto scaled = scale_grids(triangle, 5, costs);
  REQUIRE(scaled.size() == 4);
  CHECK(scaled[2].seconds() <= grids[0].seconds() * 1.5);
  CHECK(scaled[3].grid.size() == 5);
  // on one device both forms see the same longest path
  const auto one = simulate_solve(triangle, {1, 1}, costs);
  const auto path = predict_critical_path(triangle, {1, 1}, costs);
  CHECK(path.seconds <= one.seconds);
  CHECK(path.seconds >= 0.7 * one.seconds);
  // where neither messages nor dependencies cost anything, many devices are as fast as one
  DistributedCosts free = costs;
  free.dependency_seconds = free.latency_seconds = 0;
  free.link_bandwidth = 1e30;
  CHECK(simulate_solve(triangle, {4096, 1}, free).seconds <=
        1.01 * simulate_solve(triangle, {1, 1}, free).seconds);
}

}  // namespace lutra::Test
