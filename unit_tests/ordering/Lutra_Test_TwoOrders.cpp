// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TwoOrders.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <stdexcept>

#include "Lutra_DissectionHost.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_OrderingTestGraphs.hpp"

namespace {

using namespace lutra;
using Test::graph_of;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

Test::Edges star(int n) {
  Test::Edges edges;
  for (int v = 1; v < n; ++v) edges.emplace_back(0, v);
  return edges;
}

Test::Edges grids(int n, int count) {
  Test::Edges edges;
  for (int k = 0; k < count; ++k)
    for (const auto& [v, w] : Test::grid(n)) edges.emplace_back(v + k * n * n, w + k * n * n);
  return edges;
}

TEMPLATE_TEST_CASE("two orders: each is that of its method alone", "[ordering]", int, std::int64_t) {
  const auto check = [](int n, const Test::Edges& edges, const std::vector<TestType>& weights = {}) {
    const auto graph = graph_of<TestType>(n, edges);
    const auto degree = order(graph, Ordering::amd, weights),
               dissection = order(graph, Ordering::nd, weights);
    CHECK_NOTHROW(check_permutation({degree.begin(), degree.end()}, n));
    CHECK(dissection ==
          nested_dissection(Kokkos::DefaultHostExecutionSpace(), graph, {}, {}, weights).permutation);
    TwoOrders<TestType> alone(graph, weights);
    CHECK_FALSE(alone.has_degree());
    CHECK(alone.degree_order().empty());
    REQUIRE(alone.advance_degree());
    const std::int64_t visits = alone.visits();
    CHECK(alone.degree_order() == degree);
    CHECK_FALSE(alone.has_dissection());
    alone.dissect();
    CHECK(alone.dissection_order() == dissection);
    for (const std::int64_t limit : {std::int64_t(0), visits / 2, no_limit}) {
      for (const bool wanted : {true, false}) {
        TwoOrders<TestType> both(graph, weights);
        int calls = 0;
        both.advance_both(limit, [&] {
          ++calls;
          CHECK(both.degree_order() == degree);
          return wanted;
        });
        CHECK(calls == (both.has_degree() ? 1 : 0));
        CHECK(both.has_dissection() == (wanted || calls == 0));
        CHECK(both.dissection_order() == (both.has_dissection() ? dissection : std::vector<TestType>()));
        if (limit == no_limit) CHECK(both.has_degree());
        REQUIRE(both.advance_degree());
        CHECK(both.visits() == visits);
        CHECK(both.degree_order() == degree);
        both.dissect();  // of use after it was stopped
        CHECK(both.dissection_order() == dissection);
      }
    }
  };
  check(0, {});
  check(1, {});
  check(600, star(600));
  check(1600, Test::grid(40));
  check(50 * 36, grids(6, 50));
  check(2000, Test::random_edges(2000, 5000, 3));
  std::vector<TestType> weights;
  for (int v = 0; v < 900; ++v) weights.push_back(1 + v % 5);
  check(900, Test::grid(30), weights);
  const auto graph = graph_of<TestType>(900, Test::grid(30));
  const TwoOrders<TestType> reduced(graph);
  CHECK(reduced.reduced_rows() == reduce_graph(graph).graph.size());
  CHECK(reduced.reduced_edges() == static_cast<std::int64_t>(reduce_graph(graph).graph.neighbours.size()));
}

// Large enough that threads share bisections and tasks, in which they are stopped at different points.
TEST_CASE("two orders: dissection stops, or a failure does, at any point without a hang", "[ordering]") {
  const auto graph = graph_of<int>(22500, Test::grid(150));
  const auto degree = order(graph, Ordering::amd), dissection = order(graph, Ordering::nd);
  TwoOrders<int> alone(graph);
  alone.advance_degree();
  const std::int64_t visits = alone.visits();
  constexpr int times = 60;
  // Minimum degree is further ahead each time, so that what is left to it takes less and less.
  const auto each_time = [&](const auto& run) {
    for (int k = 0; k < times; ++k) {
      TwoOrders<int> orders(graph);
      orders.advance_degree(visits * k / times);
      run(orders, visits * (k + 1) / times);
    }
  };
  SECTION("stopped") {
    each_time([&](auto& orders, std::int64_t) {
      orders.advance_both(no_limit, [] { return false; });
      REQUIRE_FALSE(orders.has_dissection());
      REQUIRE(orders.degree_order() == degree);
    });
  }
  SECTION("failed") {
    each_time([&](auto& orders, std::int64_t) {
      REQUIRE_THROWS_AS(orders.advance_both(no_limit, []() -> bool { throw std::domain_error("forecast"); }),
                        std::domain_error);
      REQUIRE_FALSE(orders.has_dissection());
    });
  }
  SECTION("wanted") {
    each_time([&](auto& orders, std::int64_t limit) {
      orders.advance_both(limit, [] { return true; });
      REQUIRE(orders.dissection_order() == dissection);
    });
  }
}

TEST_CASE("two orders: the first separator is known before the rest is dissected", "[ordering]") {
  const auto check = [](int n, const Test::Edges& edges, int weight, bool is_asked) {
    const auto graph = graph_of<int>(n, edges);
    const std::vector<int> weights(static_cast<std::size_t>(n), weight);
    const auto dissection = order(graph, Ordering::nd, weights);
    std::vector<std::int64_t> separators;
    for (const bool goes_on : {false, true}) {
      TwoOrders<int> orders(graph, weights);
      orders.dissect([&](std::int64_t separator) {
        separators.push_back(separator);
        return goes_on;
      });
      CHECK(orders.has_dissection() == (goes_on || !is_asked));
      CHECK(orders.dissection_order() == (orders.has_dissection() ? dissection : std::vector<int>()));
    }
    REQUIRE(separators.size() == (is_asked ? 2 : 0));
    return is_asked ? separators.front() : 0;
  };
  // The separator of a grid has about as many vertices as a side.
  const auto separator = check(2500, Test::grid(50), 1, true);
  CHECK(separator >= 45);
  CHECK(separator <= 75);
  CHECK(check(2500, Test::grid(50), 3, true) == 3 * separator);
  CHECK(check(4 * 900, grids(30, 4), 1, false) == 0);  // no component has more than half of the vertices
  CHECK(check(100, Test::grid(10), 1, false) == 0);    // a leaf
  TwoOrders<int> orders(graph_of<int>(2500, Test::grid(50)));
  const auto fail = [](std::int64_t) -> bool { throw std::domain_error("forecast"); };
  CHECK_THROWS_AS(orders.dissect(fail), std::domain_error);
  CHECK_FALSE(orders.has_dissection());
}

TEST_CASE("two orders: without memory for dissection there is minimum degree", "[ordering]") {
  const auto graph = graph_of<int>(22500, Test::grid(150));
  const auto degree = order(graph, Ordering::amd), dissection = order(graph, Ordering::nd);
  int failures = 0;
  for (std::size_t bytes = 1; bytes < std::size_t(1) << 28; bytes *= 2) {
    TwoOrders<int> alone(graph, {}, MemoryBudget(bytes)), both(graph, {}, MemoryBudget(bytes));
    alone.dissect();
    both.advance_both(1000, [] { return true; });
    failures += alone.has_dissection() ? 0 : 1;
    for (TwoOrders<int>* const orders : {&alone, &both}) {
      REQUIRE(orders->dissection_order() == (orders->has_dissection() ? dissection : std::vector<int>()));
      REQUIRE_FALSE(orders->has_degree());
      REQUIRE(orders->advance_degree());
      REQUIRE(orders->degree_order() == degree);
    }
  }
  CHECK(failures > 10);
  CHECK(failures < 28);
  TwoOrders<int> orders(graph);  // memory that minimum degree lacks is not that of dissection
  const auto fail = []() -> bool { throw OutOfMemoryError("forecast", 1); };
  CHECK_THROWS_AS(orders.advance_both(no_limit, fail), OutOfMemoryError);
}

TEST_CASE(
    "dissection beside other work: a thread's failure reaches the caller, and so does the result of the work",
    "[ordering]") {
  const auto graph = graph_of<int>(22500, Test::grid(150));
  const std::vector<int> weights(22500, 1);
  std::vector<int> order(22500);
  const auto first = Impl::list_components(graph, order);
  // From nothing to more than the workspace: bisections run out of memory at different points.
  int failures = 0;
  for (std::size_t bytes = 1; bytes < std::size_t(1) << 28; bytes *= 2) {
    std::vector<int> own = order;
    Impl::DissectionHost<int> dissection(graph, weights, {}, MemoryBudget(bytes), 4);
    bool was_called = false, is_complete = true;
    const auto other_work = [&] { return was_called = true; };
    try {
      is_complete = dissection.run(first, own, {other_work, {}});
    } catch (const OutOfMemoryError&) {
      ++failures;
    }
    REQUIRE(is_complete);
    REQUIRE(was_called);
  }
  CHECK(failures > 10);
  CHECK(failures < 28);
}

}  // namespace
