// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ChooseOrdering.hpp"

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_TestChoices.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_TwoOrders.hpp"

namespace {

using namespace lutra;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Test::DoubleMatrix, Test::shuffled, Test::simple_model;
std::vector<std::int64_t> as_64(const std::vector<Ordinal>& permutation) {
  return {permutation.begin(), permutation.end()};
}

TEST_CASE("choice of an ordering: each property decides on its own", "[ordering]") {
  DeviceModel model = simple_model();
  OrderingProperties properties;
  properties.rows = 1024;                          // dissection is predicted to take 10 · 1024 · 10 s
  properties.amd = FillForecast{500, 204000, 50};  // 209,000 s, of which it is expected to spare 102,000
  SECTION("nested dissection is tried where it is expected to spare more than it takes") {
    CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
    properties.amd->flops = 205000;
    CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
    CHECK(choose_ordering(properties, model).reason.empty());
  }
  SECTION("more factorizations pay for it sooner") {
    properties.amd->flops = 110000;
    const auto choice = choose_ordering(properties, model);
    CHECK(choice.ordering == Ordering::amd);
    CHECK_THAT(choice.reason,
               ContainsSubstring("nested dissection was not tried, predicted to take 1e+05 s and to spare "
                                 "5.6e+04 s of 1.2e+05 s in 1 factorization"));
    properties.use.factorizations = 2;
    CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  }
  SECTION("supernodes on a path take their time") {
    model.ordering.multifrontal.factorization.supernode_seconds = 10;
    properties.amd->supernode_height = 7;
    CHECK(*predicted_times(properties, *properties.amd, model).factorization == 204000 + 5000 + 70);
  }
  SECTION("what is spared of the tree's height counts") {
    properties.amd->height = 100;
    model.ordering.saved_height_share = 0.1;  // 10 steps of 100 s
    CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  }
  SECTION("so does a height that is more than the largest separator of so many flops") {
    properties.amd->flops = 1000;  // of a dense matrix of 11 rows, a path of 9 is expected
    properties.amd->height = 1034;
    CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
    properties.amd->height = 1033;
    CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
  }
  SECTION("nothing is expected to be spared of little fill") {
    model.ordering.saved_from_flops_per_row = 1000;
    properties.use.factorizations = 1e9;
    CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
  }
  SECTION("more edges take dissection longer") {
    properties.amd->flops = 205000;
    properties.edges = 1000;
    model.ordering.dissection.edge_seconds = 0.1;
    CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
  }
  SECTION("of two forecasts the one of less time, AMD's of equal ones") {
    properties.dissection = FillForecast{400, 204000 - 1000, 60};
    CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
    properties.dissection->height = 59;
    const auto choice = choose_ordering(properties, model);
    CHECK(choice.ordering == Ordering::nd);
    CHECK_THAT(choice.reason,
               ContainsSubstring("nested dissection (nnz(L) 400, 2.03e+05 flops, elimination tree of height "
                                 "59 and 0 supernodes) is predicted to take"));
    CHECK(*choice.predicted.factorization == 203000 + 5900);
    CHECK(*choice.predicted.ordering == 102400);
  }
  SECTION("few flops for each entry: by the simplicial engine's numbers") {
    model.numeric.min_flops_per_entry = 100;  // of 2024 entries
    properties.amd->flops = 202400;
    CHECK(*predicted_times(properties, *properties.amd, model).factorization == 202400 + 5000);
    model.ordering.simplicial.factorization.entry_seconds = 3;
    properties.amd->flops = 202399;
    CHECK(*predicted_times(properties, *properties.amd, model).factorization == 1500);
    properties.use.symmetric = true;  // which works in fronts, and in its own time
    model.symmetric.ldlt = 0.5;
    CHECK(*predicted_times(properties, *properties.amd, model).factorization == (202399 + 5000) / 2.0);
  }
}

TEST_CASE("the limit of AMD visits is 1.5 times the time of dissection", "[ordering]") {
  DeviceModel model = simple_model();
  OrderingProperties properties;
  properties.rows = 1024;  // dissection: 102,400 s by one thread
  CHECK(max_amd_visits(properties, model) == std::numeric_limits<std::int64_t>::max());
  model.ordering.amd_visit_seconds = 2;
  CHECK(max_amd_visits(properties, model) == 76800);
  model.ordering.amd.row_seconds = 1;  // reduction and forecast, which dissection needs, too
  CHECK(max_amd_visits(properties, model) == 76800 + 256);
  model.ordering.dissection_serial_share = 0.25;
  properties.use.threads = 3;  // half of the time
  CHECK(max_amd_visits(properties, model) == 38400 + 256);
  SECTION("what reduction has eliminated is not dissected") {
    properties.reduced = GraphSize{256, 0};  // 10 · 256 · 8 / 2 s
    CHECK(max_amd_visits(properties, model) == 7680 + 256);
    properties.reduced = GraphSize{};
    CHECK(max_amd_visits(properties, model) == 256);
  }
  SECTION("longer where a better order may spare more, by dissection's forecast") {
    properties.dissection =
        FillForecast{400, 1000, 5};  // 1,500 s a factorization, of which half may be spared
    properties.use.factorizations = 10;
    CHECK(max_amd_visits(properties, model) == (76800 + 512 + 7500) / 2);
  }
  SECTION("once it was given up, dissection's order is taken") {
    properties.dissection = FillForecast{400, 1000, 5};
    properties.amd_visits = 30000;
    const auto choice = choose_ordering(properties, model);
    CHECK(choice.ordering == Ordering::nd);
    CHECK_THAT(choice.reason,
               ContainsSubstring("nested dissection (nnz(L) 400, 1e+03 flops") &&
                   ContainsSubstring("predicted to take 5.2e+04 s; AMD was given up, not done in "
                                     "6.1e+04 s"));
    CHECK(*choice.predicted.ordering == 1024 + 60000 + 1024 + 51200);
  }
}

TEST_CASE("dissection goes on after its first separator if that is small", "[ordering]") {
  DeviceModel model = simple_model();
  OrderingProperties properties;
  properties.rows = 1600;  // two levels above leaves of 400: the first bisection takes half of the time
  properties.amd = FillForecast{0, 400000, 0};
  const double dissection = 10 * 1600 * std::log2(1600.0);  // 170,300 s, of which 85,150 are left
  CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  properties.first_separator = 10;  // 2/3 · 10³ flops
  CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  properties.first_separator = 49;  // at most a quarter of 313,700 flops: less is spared than 0.25 of 400,000
  CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  properties.first_separator = 50;
  const auto choice = choose_ordering(properties, model);
  CHECK(choice.ordering == Ordering::amd);
  CHECK_THAT(choice.reason,
             ContainsSubstring("nested dissection was given up after its first separator, of 50 vertices"));
  CHECK(*choice.predicted.ordering == dissection / 2);
  properties.use.factorizations = 10;
  CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  properties.first_separator = 1000;  // a tenth may be spared of 10 · 400,000 s, or of half of that
  CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  properties.use.factorizations = 2;
  CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
  properties.dissection = FillForecast{0, 300000, 0};
  CHECK(choose_ordering(properties, model).ordering == Ordering::nd);
  properties.dissection.reset();
  properties.dissection_lacks_memory = true;
  CHECK_THAT(choose_ordering(properties, model).reason, ContainsSubstring("not enough memory"));
}

TEST_CASE("a random graph: dissection is given up after its first separator", "[ordering]") {
  DoubleMatrix a;
  a.n_rows = a.n_cols = 3000;
  a.row_map = {0};
  std::mt19937 random(5);
  for (int r = 0; r < 3000; ++r) {
    std::set<int> columns{r};
    for (int k = 0; k < 3; ++k) columns.insert(static_cast<int>(random() % 3000));
    a.entries.insert(a.entries.end(), columns.begin(), columns.end());
    a.row_map.push_back(static_cast<std::int64_t>(a.entries.size()));
  }
  DeviceModel model = host_device_model();
  model.ordering.dissection = {.row_seconds = 1.2e-7, .edge_seconds = 5e-8};
  const auto pattern = make_view(a).pattern();
  const auto result = order_automatically(pattern, model);
  CHECK_THAT(result.choice.reason, ContainsSubstring("was given up after its first separator"));
  CHECK(result.permutation == order_matched(pattern, Ordering::amd, {}, {}).permutation);
}

TEST_CASE("threads shorten dissection and host factorizations", "[ordering]") {
  DeviceModel model = simple_model();
  model.ordering.dissection_serial_share = 0.25;
  OrderingProperties properties;
  properties.rows = 1024;
  properties.amd = FillForecast{500, 110000, 50};  // half of the flops may be spared, dissection: 102,400 s
  CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
  properties.use.threads = 3;  // 51,200 s
  CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  model.ordering.factorization_serial_share = 0.4;
  CHECK(*predicted_times(properties, *properties.amd, model).factorization == 0.6 * 115000);
  CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
  CHECK(thread_share(0.4, 1) == 1);
  CHECK(thread_share(1, 16) == 1);
#ifdef KOKKOS_ENABLE_SERIAL
  CHECK(host_threads<Kokkos::Serial>() == 1);
#endif
  CHECK(host_threads<Kokkos::DefaultHostExecutionSpace>() ==
        Kokkos::DefaultHostExecutionSpace().concurrency());
}

TEST_CASE("side by side: dissection adds what it takes longer than AMD", "[ordering]") {
  DeviceModel model = simple_model();
  model.ordering.amd_visit_seconds = 2;
  model.ordering.amd.row_seconds = 1;
  OrderingProperties properties;
  properties.rows = 1024;
  properties.use.threads = 3;
  model.ordering.dissection_serial_share = 0.5;
  properties.side_by_side = true;  // two threads dissect: 1024 + 0.75 · 102,400 s
  CHECK(max_amd_visits(properties, model) == (97280 - 1024) / 2);
  properties.amd_visits = 38000;  // 77,024 s, 800 less than dissection; a second forecast takes 512 s
  properties.amd = FillForecast{500, 2624, 5};
  model.ordering.saved_from_flops_per_row = 0.1;  // half of the flops may be spared
  CHECK(choose_ordering(properties, model).ordering == Ordering::amd);
  properties.amd->flops = 2626;
  CHECK(choose_ordering(properties, model).ordering == Ordering::automatic);
  properties.dissection = FillForecast{400, 1000, 5};
  CHECK(choose_ordering(properties, model).ordering == Ordering::nd);
  CHECK(*choose_ordering(properties, model).predicted.ordering == 77824 + 512);
  properties.amd_visits = 40000;  // longer than dissection
  CHECK(*choose_ordering(properties, model).predicted.ordering == 81024 + 512);
  properties.amd.reset();
  CHECK(*choose_ordering(properties, model).predicted.ordering == 81024 + 512);
}

TEST_CASE("side by side: on several host threads, for graphs that take long to dissect", "[ordering]") {
  DeviceModel model = simple_model();
  OrderingProperties properties;
  properties.rows = 1024;
  properties.use.threads = 3;
  CHECK_FALSE(works_side_by_side(properties, model));
  properties.use.threads = 4;
  CHECK(works_side_by_side(properties, model));
  SECTION("too little is left to dissect") {
    properties.reduced = GraphSize{};
    model.ordering.amd.row_seconds = 1;
    CHECK_FALSE(works_side_by_side(properties, model));
  }
  SECTION("threads take as long to start") {
    model.ordering.dissection.row_seconds = 1.9e-7;
    CHECK_FALSE(works_side_by_side(properties, model));
    model.ordering.dissection.row_seconds = 2e-7;
    CHECK(works_side_by_side(properties, model));
  }
  SECTION("too large for two workspaces") {
    properties.edges = std::int64_t(1) << 30;
    CHECK_FALSE(works_side_by_side(properties, model));
  }
}

TEST_CASE("AMD stops when it takes longer than dissection", "[ordering]") {
  const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(60, shuffled(3600, 3));
  const auto pattern = make_view(a).pattern();
  DeviceModel model = host_device_model();
  model.ordering.amd_visit_seconds = 1;
  const auto often = order_automatically(pattern, model, {1e9});  // worth the wait
  CHECK_THAT(often.choice.reason, !ContainsSubstring("given up"));
  const auto once = order_automatically(pattern, model);
  CHECK(once.choice.ordering == Ordering::nd);
  CHECK_THAT(once.choice.reason, ContainsSubstring("AMD was given up"));
  CHECK(once.permutation == order_matched(pattern, Ordering::nd, {}, {}).permutation);
  const auto graph = symmetric_graph<std::int64_t>(pattern);
  CHECK(once.forecast.nnz_l == forecast_fill(graph, as_64(once.permutation)).nnz_l);
}

TEST_CASE("side by side: the orders are those of one thread", "[ordering]") {
  const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(120, shuffled(14400, 3));
  const auto pattern = make_view(a).pattern();
  std::vector<Ordinal> partner(14400);
  for (Ordinal v = 0; v < 14400; ++v) partner[static_cast<std::size_t>(v)] = v ^ 1;
  DeviceModel model = host_device_model();
  model.ordering.factorization_serial_share = 1;
  const auto check = [&](double factorizations, Ordering expected, const std::vector<Ordinal>& pairs) {
    const auto alone = order_automatically(pattern, model, {factorizations}, pairs);
    CHECK(alone.choice.ordering == expected);
    CHECK(alone.permutation == order_matched(pattern, expected, pairs, {}).permutation);
    std::string reason;
    for (int k = 0; k < 5; ++k) {
      const auto both = order_automatically(pattern, model, {factorizations, false, false, 4}, pairs);
      CHECK(both.permutation == alone.permutation);
      CHECK(both.forecast.flops == alone.forecast.flops);
      if (k > 0) CHECK(both.choice.reason == reason);
      reason = both.choice.reason;
    }
    return reason;
  };
  for (const auto& pairs : {std::vector<Ordinal>(), partner}) {
    model.ordering.max_saved_share = 0.5;
    CHECK_THAT(check(1000, Ordering::nd, pairs), ContainsSubstring("predicted to take"));
    model.ordering.max_saved_share = 0;  // nothing is expected of dissection: it is stopped
    CHECK_THAT(check(1, Ordering::amd, pairs), ContainsSubstring("was not tried"));
    const double visit_seconds = std::exchange(model.ordering.amd_visit_seconds, 1);
    CHECK_THAT(check(1, Ordering::nd, pairs), ContainsSubstring("AMD was given up"));
    model.ordering.max_saved_share = 0.5;  // AMD goes on after dissection
    CHECK_THAT(check(1e9, Ordering::nd, pairs), !ContainsSubstring("given up"));
    model.ordering.amd_visit_seconds = visit_seconds;
  }
}

TEST_CASE("automatic ordering: the lower predicted time decides", "[ordering]") {
  const DeviceModel host = host_device_model();
  SECTION("a small matrix: AMD") {
    const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(10, shuffled(100, 3));
    CHECK(order_automatically(make_view(a).pattern(), host).choice.ordering == Ordering::amd);
  }
  SECTION("a grid: AMD for one factorization, dissection for many, which also needs fewer operations") {
    const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(120, shuffled(14400, 3));
    const auto pattern = make_view(a).pattern();
    const auto once = order_automatically(pattern, host), often = order_automatically(pattern, host, {1000});
    CHECK(once.choice.ordering == Ordering::amd);
    CHECK_THAT(once.choice.reason, ContainsSubstring("nested dissection was not tried"));
    CHECK(often.choice.ordering == Ordering::nd);
    const auto graph = symmetric_graph<std::int64_t>(pattern);
    CHECK(often.forecast.flops == forecast_fill(graph, as_64(often.permutation)).flops);
    CHECK(often.forecast.flops < once.forecast.flops);
    CHECK(*often.choice.predicted.factorization < *once.choice.predicted.factorization);
  }
  SECTION("a star: AMD, without trying dissection") {
    DoubleMatrix a;
    a.n_rows = a.n_cols = 2000;
    a.row_map = {0};
    for (int r = 0; r < 2000; ++r) {
      a.entries.push_back(0);
      a.row_map.push_back(r + 1);
    }
    const auto result = order_automatically(make_view(a).pattern(), host, {1000});
    CHECK(result.choice.ordering == Ordering::amd);
    CHECK_THAT(result.choice.reason, ContainsSubstring("nested dissection was not tried"));
  }
  SECTION("a strip on a device: dissection, whose tree is not a chain; on a host height costs nothing") {
    constexpr int width = 4, n = width * 5000;
    DoubleMatrix a;
    a.n_rows = a.n_cols = n;
    a.row_map = {0};
    for (int r = 0; r < n; ++r) {
      a.entries.push_back(r);
      if (r % width + 1 < width) a.entries.push_back(r + 1);
      if (r + width < n) a.entries.push_back(r + width);
      a.row_map.push_back(static_cast<std::int64_t>(a.entries.size()));
    }
    const auto pattern = make_view(a).pattern();
    const auto result = order_automatically(pattern, h200_device_model(), {100});
    CHECK(result.choice.ordering == Ordering::nd);
    const auto graph = symmetric_graph<std::int64_t>(pattern);
    CHECK(forecast_fill(graph, as_64(result.permutation)).height < 300);
    CHECK(forecast_fill(graph, as_64(order(pattern, Ordering::amd))).height > 5000);
    CHECK(order_automatically(pattern, host, {100}).choice.ordering == Ordering::amd);
  }
}

TEMPLATE_LIST_TEST_CASE("automatic ordering: every matrix gets a reproducible permutation", "[ordering]",
                        Test::Ordinals) {
  using Matrix = HostMatrix<double, TestType>;
  const double nothing = Test::nothing;
  const DeviceModel model = host_device_model();
  const double factorizations = GENERATE(1, 100);
  const auto check = [&](const Matrix& a) {
    const auto result = order_automatically(make_view(a).pattern(), model, {factorizations});
    REQUIRE_NOTHROW(check_permutation({result.permutation.begin(), result.permutation.end()}, a.n_rows));
    CHECK((result.choice.ordering == Ordering::amd || result.choice.ordering == Ordering::nd));
    CHECK_FALSE(result.choice.reason.empty());
    CHECK(order_automatically(make_view(a).pattern(), model, {factorizations}).permutation ==
          result.permutation);
    CHECK(order(make_view(a).pattern(), result.choice.ordering) == result.permutation);
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
  CHECK_THROWS_MATCHES(order_automatically(make_view(wide).pattern(), host_device_model()), InputError,
                       MessageMatches(ContainsSubstring("2 rows") && ContainsSubstring("3 columns")));
}

TEMPLATE_LIST_TEST_CASE("automatic ordering by blocks: the matrix becomes block upper triangular",
                        "[ordering]", Test::Ordinals) {
  using Matrix = HostMatrix<double, TestType>;
  const int n = 60, rows = 10;  // of a block; columns of other blocks are right of it
  std::mt19937 random(8);
  const auto label = shuffled(n, 5);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, Test::nothing));
  for (int i = 0; i < n; ++i) {
    for (int j = i / rows * rows; j < n; ++j) {
      const bool in_cycle = j == i || j == i / rows * rows + (i + 1) % rows;
      if (in_cycle || random() % 9 == 0)
        dense[static_cast<std::size_t>(label[static_cast<std::size_t>(i)])]
             [static_cast<std::size_t>(label[static_cast<std::size_t>(j)])] = 1;
    }
  }
  // A block of one row, without which no blocks are looked for.
  dense.resize(n + 1, std::vector<double>(n, Test::nothing));
  for (auto& row : dense) row.push_back(Test::nothing);
  dense[n][n] = 1;
  const auto a = Test::from_dense<Matrix>(dense);
  const OrderingUse use{1, false, true};
  const auto result = order_automatically(make_view(a).pattern(), host_device_model(), use);
  REQUIRE_NOTHROW(check_permutation({result.permutation.begin(), result.permutation.end()}, n + 1));
  CHECK(result.block_triangular);
  CHECK_THAT(result.choice.reason, ContainsSubstring("7 irreducible blocks, the largest of 10 rows"));
  std::vector<int> block(n + 1, -1);  // of the label that made them
  for (int i = 0; i < n; ++i) block[static_cast<std::size_t>(label[static_cast<std::size_t>(i)])] = i / rows;
  std::vector<int> order;
  for (const auto j : result.permutation)
    if (block[static_cast<std::size_t>(j)] >= 0) order.push_back(block[static_cast<std::size_t>(j)]);
  CHECK(std::ranges::adjacent_find(order, std::not_equal_to<>()) != order.end());
  for (std::size_t k = 0; k + 1 < order.size(); ++k)  // blocks stay together
    if (order[k] != order[k + 1])
      CHECK(std::ranges::find(order.begin() + static_cast<std::ptrdiff_t>(k) + 1, order.end(), order[k]) ==
            order.end());
  std::vector<std::size_t> position(n + 1);
  for (std::size_t k = 0; k < position.size(); ++k)
    position[static_cast<std::size_t>(result.permutation[k])] = k;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (dense[i][j] == 1 && block[i] != block[j]) CHECK(position[i] < position[j]);
  CHECK_FALSE(order_automatically(make_view(a).pattern(), host_device_model()).block_triangular);
}

}  // namespace
