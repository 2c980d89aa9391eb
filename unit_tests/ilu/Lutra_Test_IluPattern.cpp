// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_IluTestFactors.hpp"

namespace lutra::Test {
namespace {

/// The pattern of factors, after a check of their other arrays.
template <class Factors>
Reference::Rows rows_of(const Factors& factors) {
  const auto rows = to_rows(factors.pattern());
  const auto row_map = to_vector(factors.row_map);
  const auto entries = to_vector(factors.entries);
  const auto diagonal = to_vector(factors.diagonal);
  REQUIRE(diagonal.size() == static_cast<std::size_t>(factors.n));
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    CHECK(diagonal[i] >= row_map[i]);
    CHECK(diagonal[i] < row_map[i + 1]);
    CHECK(static_cast<std::size_t>(entries[static_cast<std::size_t>(diagonal[i])]) == i);
  }
  CHECK(factors.values.extent(0) == factors.entries.extent(0));
  return rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("patterns of ILU(k) worked by hand", "[ilu]", IluPatternTypes) {
  const double o = nothing;
  SECTION("an arrow that points up fills, from the first row on") {
    const auto matrix = from_dense<Matrix<TestType>>({{1, 1, 1}, {1, 1, o}, {1, o, o}});
    CHECK(rows_of(make_factors<TestType>(matrix, 0)) == Reference::Rows{{0, 1, 2}, {0, 1}, {0, 2}});
    CHECK(rows_of(make_factors<TestType>(matrix, 1)) == Reference::Rows{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}});
  }
  SECTION("level 3 where level 2 adds nothing: a path of four vertices between the ends, halves first") {
    // (3, 4) through 0, 2, 1: entries (2, …) are the last of the path, with levels (3, 2) = (2, 4) = 1
    const auto matrix = from_dense<Matrix<TestType>>(
        {{1, o, 1, o, o}, {o, 1, o, o, 1}, {o, 1, 1, o, o}, {1, o, o, 1, o}, {o, o, o, o, 1}});
    const auto two = rows_of(make_factors<TestType>(matrix, 2));
    CHECK(two == rows_of(make_factors<TestType>(matrix, 1)));
    CHECK(two[3] == std::vector<std::size_t>{0, 2, 3});
    CHECK(rows_of(make_factors<TestType>(matrix, 3))[3] == std::vector<std::size_t>{0, 2, 3, 4});
  }
  SECTION("empty, and 1 × 1 without its entry") {
    CHECK(rows_of(make_factors<TestType>(from_dense<Matrix<TestType>>({}), 2)).empty());
    CHECK(rows_of(make_factors<TestType>(from_dense<Matrix<TestType>>({{o}}), 2)) == Reference::Rows{{0}});
  }
}

TEMPLATE_LIST_TEST_CASE("patterns of ILU(k) of random matrices", "[ilu]", IluPatternTypes) {
  std::mt19937 random(11);
  for (const int n : {1, 7, 40, 130}) {
    for (const double density : {0.02, 0.1}) {
      const auto matrix = random_matrix<Matrix<TestType>>(n, density, 0, random);
      for (const int k : {0, 1, 2, 3, 5})
        CHECK(rows_of(make_factors<TestType>(matrix, k)) ==
              Reference::iluk_pattern(matrix, static_cast<std::size_t>(k)));
      CHECK(rows_of(make_factors<TestType>(matrix, n)) == Reference::lu_pattern(matrix));
    }
  }
}

TEST_CASE("a pattern larger than the budget is refused", "[ilu]") {
  using Host = Types<OneScalar, std::tuple_element_t<0, Ordinals>>;
  std::mt19937 random(12);
  const auto matrix = random_matrix<Matrix<Host>>(200, 0.05, 0, random);
  MemoryBudget budget(200000);
  CHECK_THROWS_AS(make_factors<Host>(matrix, 200, budget), OutOfMemoryError);
  CHECK(budget.used_bytes() == 0);
  {
    const auto factors = make_factors<Host>(matrix, 0, budget);
    CHECK(budget.used_bytes() == factors.reservation.bytes());
  }
  CHECK(budget.used_bytes() == 0);
}

}  // namespace lutra::Test
