// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ChooseOrdering.hpp"

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <tuple>

#include "Lutra_Error.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using DoubleMatrix = HostMatrix<double, std::tuple_element_t<0, Test::Ordinals>>;

std::vector<int> shuffled(int n, unsigned seed) {
  std::vector<int> label(static_cast<std::size_t>(n));
  std::iota(label.begin(), label.end(), 0);
  std::mt19937 random(seed);
  std::shuffle(label.begin(), label.end(), random);
  return label;
}

template <class Ordinal>
std::vector<std::int64_t> as_64(const std::vector<Ordinal>& permutation) {
  return {permutation.begin(), permutation.end()};
}

TEST_CASE("choice of an ordering: each property decides by itself", "[ordering]") {
  const OrderingCosts costs{100, 10, 1000};
  OrderingProperties properties{1000, true, {500, 20000, 50}, {}};
  SECTION("METIS' forecast is needed where AMD's is neither small nor low") {
    CHECK(choose_ordering(properties, costs).ordering == Ordering::automatic);
  }
  SECTION("fewer rows") {
    properties.rows = 99;
    const auto choice = choose_ordering(properties, costs);
    CHECK(choice.ordering == Ordering::amd);
    CHECK_THAT(choice.reason, ContainsSubstring("the matrix is small"));
  }
  SECTION("low fill; but a high tree counts as well") {
    properties.amd.flops = 9000;
    properties.amd.height = 0;
    const auto choice = choose_ordering(properties, costs);
    CHECK(choice.ordering == Ordering::amd);
    CHECK_THAT(choice.reason, ContainsSubstring("METIS was not tried"));
    properties.amd.height = 1;
    CHECK(choose_ordering(properties, costs).ordering == Ordering::automatic);
  }
  SECTION("too many edges for METIS") {
    properties.metis_can_order = false;
    const auto choice = choose_ordering(properties, costs);
    CHECK(choice.ordering == Ordering::amd);
    CHECK_THAT(choice.reason, ContainsSubstring("too large for METIS"));
  }
  SECTION(
      "the lower predicted cost, flops and 1000 for each vertex of the longest path; AMD for equal ones") {
    properties.metis = FillForecast{400, 50000, 20};
    CHECK(choose_ordering(properties, costs).ordering == Ordering::amd);
    properties.metis->height = 19;
    const auto choice = choose_ordering(properties, costs);
    CHECK(choice.ordering == Ordering::metis);
    CHECK_THAT(choice.reason,
               ContainsSubstring("METIS (nnz(L) 400, 5e+04 flops, elimination tree of height 19)"));
  }
}

TEST_CASE("automatic ordering: what has lower predicted cost", "[ordering]") {
  SECTION("a small matrix: AMD") {
    const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(10, shuffled(100, 3));
    CHECK(order_automatically(make_view(a).pattern()).ordering == Ordering::amd);
  }
  SECTION("a grid: METIS, which also needs fewer operations") {
    const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(120, shuffled(14400, 3));
    const auto pattern = make_view(a).pattern();
    const auto result = order_automatically(pattern);
    CHECK(result.ordering == Ordering::metis);
    const auto graph = symmetric_graph<std::int64_t>(pattern);
    CHECK(forecast_fill(graph, as_64(result.permutation)).flops <
          forecast_fill(graph, as_64(order(pattern, Ordering::amd))).flops);
  }
  SECTION("a star: AMD, without trying METIS") {
    DoubleMatrix a;
    a.n_rows = a.n_cols = 2000;
    a.row_map = {0};
    for (int r = 0; r < 2000; ++r) {
      a.entries.push_back(0);
      a.row_map.push_back(r + 1);
    }
    const auto result = order_automatically(make_view(a).pattern());
    CHECK(result.ordering == Ordering::amd);
    CHECK_THAT(result.reason, ContainsSubstring("METIS was not tried"));
  }
  SECTION("a chain: METIS, whose tree is not a chain") {
    const int n = 20000;
    DoubleMatrix a;
    a.n_rows = a.n_cols = n;
    a.row_map = {0};
    for (int r = 0; r < n; ++r) {
      a.entries.push_back(r);
      if (r + 1 < n) a.entries.push_back(r + 1);
      a.row_map.push_back(static_cast<std::int64_t>(a.entries.size()));
    }
    const auto result = order_automatically(make_view(a).pattern());
    CHECK(result.ordering == Ordering::metis);
    const auto graph = symmetric_graph<std::int64_t>(make_view(a).pattern());
    CHECK(forecast_fill(graph, as_64(result.permutation)).height < 100);
  }
}

TEMPLATE_LIST_TEST_CASE("automatic ordering: a permutation of any matrix, the same each time", "[ordering]",
                        Test::Ordinals) {
  using Matrix = HostMatrix<double, TestType>;
  const double nothing = Test::nothing;
  const auto check = [&](const Matrix& a) {
    const auto result = order_automatically(make_view(a).pattern());
    REQUIRE_NOTHROW(check_permutation({result.permutation.begin(), result.permutation.end()}, a.n_rows));
    CHECK((result.ordering == Ordering::amd || result.ordering == Ordering::metis));
    CHECK_FALSE(result.reason.empty());
    CHECK(order_automatically(make_view(a).pattern()).permutation == result.permutation);
    CHECK(order(make_view(a).pattern(), result.ordering) == result.permutation);
  };
  std::mt19937 random(4);
  check(Test::grid_matrix<Matrix>(30, shuffled(900, 1)));
  check(Test::from_dense<Matrix>({{1}}));
  check(Test::from_dense<Matrix>({{1, nothing}, {nothing, 1}}));
  check(Test::random_matrix<Matrix>(700, 3.0 / 700, 0.0, random));
  Matrix empty;
  empty.row_map = {0};
  check(empty);
  const Matrix wide = Test::from_dense<Matrix>({{1, 2, 3}, {4, 5, 6}}, 3);
  CHECK_THROWS_MATCHES(order_automatically(make_view(wide).pattern()), InputError,
                       MessageMatches(ContainsSubstring("2 rows") && ContainsSubstring("3 columns")));
}

}  // namespace
