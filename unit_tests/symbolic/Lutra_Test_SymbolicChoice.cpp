// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the choice of a symbolic method from properties of a pattern, with simple costs such as 1 s for a row
// of fill1.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_SymbolicChoice.hpp"

namespace lutra::Test {
namespace {

using namespace lutra::Impl;

SymbolicCosts costs_of(double fill1_row, double fill2_row, double ancestors_step) {
  SymbolicCosts costs;
  costs.fill1_row_seconds = fill1_row;
  costs.fill2_row_seconds = fill2_row;
  costs.ancestors_step_seconds = ancestors_step;
  costs.max_set_bytes = 1e9;
  return costs;
}

PatternProperties unsymmetric(double rows) {
  PatternProperties properties;
  properties.rows = properties.height = rows;
  properties.entries = 3 * rows;
  properties.set_words = 10 * rows;
  return properties;
}

}  // namespace

TEST_CASE("hosts use fill1; symmetric patterns use the elimination tree", "[symbolic]") {
  const auto costs = costs_of(1, 1, 1);
  CHECK(choose_symbolic_method({}, costs, {.host = true})->method == SymbolicMethod::fill1);
  const auto choice = choose_symbolic_method({.symmetric = true}, costs, {});
  REQUIRE(choice);
  CHECK(choice->method == SymbolicMethod::etree);
  CHECK_THAT(choice->reason, Catch::Matchers::ContainsSubstring("symmetric"));
}

TEST_CASE("ancestors is chosen if its sets fit and fill1 is predicted to be slower", "[symbolic]") {
  const auto properties = unsymmetric(100);  // sets of 16,000 bytes
  const auto choice = choose_symbolic_method(properties, costs_of(1, 1, 0.5), {});
  REQUIRE(choice);
  CHECK(choice->method == SymbolicMethod::ancestors);
  CHECK_THAT(choice->reason, Catch::Matchers::ContainsSubstring("50000 ms"));
  CHECK_FALSE(choose_symbolic_method(properties, costs_of(1, 1, 2), {}));
  CHECK(choose_symbolic_method(properties, costs_of(1, 1, 0.5), {.available_bytes = 64000}));
  CHECK_FALSE(choose_symbolic_method(properties, costs_of(1, 1, 0.5), {.available_bytes = 63999}));
  auto little_room = costs_of(1, 1, 0.5);
  little_room.max_set_bytes = 15999;
  CHECK_FALSE(choose_symbolic_method(properties, little_room, {}));
}

TEST_CASE("predicted time chooses fill1 on the host or fill2 on the device", "[symbolic]") {
  auto properties = unsymmetric(100);
  properties.fill = FillBounds{1000, 5000};
  auto costs = costs_of(1, 2, 10);
  auto choice = choose_symbolic_method(properties, costs, {});
  REQUIRE(choice);
  CHECK(choice->method == SymbolicMethod::fill1);
  CHECK_THAT(choice->reason, Catch::Matchers::ContainsSubstring("100000 ms, and 200000 ms for fill2"));
  costs.fill1_entry_seconds = 0.2;  // 100 s + 1000 · 0.2 s against 200 s
  CHECK(choose_symbolic_method(properties, costs, {})->method == SymbolicMethod::fill2);
  costs.fill2_edge_seconds = 0.1;  // 200 s + 5000 · 0.1 s
  CHECK(choose_symbolic_method(properties, costs, {})->method == SymbolicMethod::fill1);
}

TEST_CASE("the prediction for fill1 counts threads only above its row threshold", "[symbolic]") {
  const auto costs = costs_of(1, 0.6, 10);
  for (const int rows : {min_rows_for_threads - 1, min_rows_for_threads}) {
    auto properties = unsymmetric(rows);
    properties.fill = FillBounds{};
    const auto expected = rows < min_rows_for_threads ? SymbolicMethod::fill2 : SymbolicMethod::fill1;
    CHECK(choose_symbolic_method(properties, costs, {.host_threads = 4})->method == expected);
    CHECK(choose_symbolic_method(properties, costs, {.host_threads = 1})->method == SymbolicMethod::fill2);
  }
}

}  // namespace lutra::Test
