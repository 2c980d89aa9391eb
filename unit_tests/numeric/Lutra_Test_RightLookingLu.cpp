// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <random>
#include <string>

#include "Lutra_ColumnModes.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SimplicialLu.hpp"
#include "Lutra_TestDominant.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("column LU of matrices worked by hand", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  check_worked_by_hand<TestType>([](const auto& matrix, float threshold) {
    const auto result = factorize_by_columns<TestType>(matrix, RealOf<Scalar>(threshold));
    CHECK(result.outcome.finite == std::isfinite(result.outcome.largest));
    return result;
  });
  SECTION("columns joined only by an entry of L are on different levels") {
    const double o = nothing;
    const auto result =
        factorize_by_columns<TestType>(from_dense<Matrix<TestType>>({{1, o, 1}, {1, 1, 1}, {o, o, 1}}), 0);
    CHECK(result.levels == 3);
    CHECK(result.dense[1][2] == Scalar(0));
  }
}

namespace {

/// All combinations of mode, format and kernels that the space has.
template <class Types>
std::vector<ColumnOptions> all_options() {
  const bool device = !lutra::Impl::is_host_space<typename Types::Space>;
  std::vector<ColumnOptions> all;
  for (const auto mode :
       {ColumnMode::flow, ColumnMode::levels, ColumnMode::A, ColumnMode::B, ColumnMode::C}) {
    for (const auto format :
         {ColumnFormat::automatic, ColumnFormat::map, ColumnFormat::search, ColumnFormat::dense}) {
      for (const bool portable : {false, true}) {
        if (mode == ColumnMode::flow && format == ColumnFormat::dense) continue;
        if (format == ColumnFormat::map && (portable || !device)) continue;
        all.push_back({.mode = mode, .format = format, .portable = portable});
      }
    }
  }
  all.push_back({.levels = LevelizationMethod::portable});
  return all;
}

std::string describe(const ColumnOptions& options) {
  return "mode " + std::string(name_of(options.mode)) + ", format " + std::string(name_of(options.format)) +
         (options.portable ? ", portable" : "");
}

template <class Types>
auto check_against_reference(const Matrix<Types>& matrix, const ColumnOptions& options,
                             RealOf<typename Types::Scalar> threshold, int times,
                             const lutra::Impl::ColumnAblation& ablation = {}) {
  const auto result = factorize_by_columns<Types>(matrix, threshold, options, times, ablation);
  INFO("n " << matrix.n_rows << ", " << describe(options));
  check_entries(result.dense, Reference::factorize(matrix, Reference::lu_pattern(matrix), threshold),
                result.outcome.largest);
  return result.outcome;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("column LU agrees with plain elimination", "[numeric]", AllTypes) {
  std::mt19937 random(7);
  for (const int n : {1, 4, 30, 150, 400}) {
    for (const double mean : {1.5, 2.5, 4.0, 20.0})
      check_against_reference<TestType>(dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random),
                                        {}, 0, 1);
  }
}

TEMPLATE_LIST_TEST_CASE("each mode and format gives the factors of plain elimination", "[numeric]",
                        AllTypes) {
  std::mt19937 random(17);
  const auto sparse = dominant_matrix<Matrix<TestType>>(60, 0.05, random);
  const auto filled = dominant_matrix<Matrix<TestType>>(170, 0.1, random);
  for (const ColumnOptions& options : all_options<TestType>()) {
    for (const auto& outcome : {check_against_reference<TestType>(sparse, options, 0, 3),
                                check_against_reference<TestType>(filled, options, 0, 2)}) {
      INFO(describe(options));
      REQUIRE(outcome.columns.has_value() == (options.mode != ColumnMode::flow));
      if (!outcome.columns) continue;
      CHECK(outcome.columns->blocks >= 1);
      if (options.format != ColumnFormat::automatic)
        CHECK(outcome.columns->format == name_of(options.format));
    }
  }
  check_against_reference<TestType>(filled, {}, 0, 2, {.blocks = 4});
}

TEMPLATE_LIST_TEST_CASE("pivots are perturbed in each mode and format", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  const auto matrix = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});
  for (const ColumnOptions& options : all_options<TestType>()) {
    INFO(describe(options));
    const auto result = factorize_by_columns<TestType>(matrix, 0.5f, options, 2);
    CHECK(result.outcome.perturbed == 1);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
    CHECK(result.dense[1][1] == Scalar(0.5));
    CHECK(result.dense[2][1] == Scalar(2));
    CHECK(result.dense[2][2] == Scalar(-1));
  }
}

TEST_CASE("the mode of a level follows from its columns and sub-columns", "[numeric]") {
  using lutra::Impl::choose_column_mode;
  CHECK(choose_column_mode(10000, 20000) == ColumnMode::A);  // many columns, few sub-columns
  CHECK(choose_column_mode(3, 6) == ColumnMode::A);
  CHECK(choose_column_mode(1, 0) == ColumnMode::A);
  CHECK(choose_column_mode(100, 801) == ColumnMode::B);
  CHECK(choose_column_mode(17, 17 * 1000) == ColumnMode::B);  // more columns than streams
  CHECK(choose_column_mode(16, 16 * 32) == ColumnMode::B);
  CHECK(choose_column_mode(16, 16 * 33) == ColumnMode::C);  // few columns, many sub-columns
  CHECK(choose_column_mode(1, 500) == ColumnMode::C);
}

TEMPLATE_LIST_TEST_CASE("levels are counted by mode", "[numeric]", AllTypes) {
  // Columns 0 to 39 are independent of column 40 and update the last; column 40 updates 60 columns of a dense
  // block, which are on a level each.
  const int leaves = 40, block = 61, n = leaves + block;
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, nothing));
  for (int j = 0; j < leaves; ++j) dense[j][n - 1] = dense[n - 1][j] = 0.01;
  for (int i = leaves; i < n; ++i)
    for (int j = leaves; j < n; ++j) dense[i][j] = 0.01;
  for (int j = 0; j < n; ++j) dense[j][j] = 4;
  const auto outcome =
      check_against_reference<TestType>(from_dense<Matrix<TestType>>(dense),
                                        {.mode = ColumnMode::levels, .format = ColumnFormat::search}, 0, 1);
  CHECK(outcome.columns->levels_a == 10);  // the leaves with column 40, a mean of 2.4; then 8, 7, …, 0
  CHECK(outcome.columns->levels_b == 24);  // 32, 31, …, 9 sub-columns
  CHECK(outcome.columns->levels_c == 27);  // 59, 58, …, 33
}

TEST_CASE("sorted columns are searched above n = L/(TBmax · bytes)", "[numeric]") {
  // An H200 runs at most 264 blocks of 1,024 threads at once.
  CHECK(max_dense_columns(std::size_t(1) << 30, 100000, 8) == 1342);
  CHECK_FALSE(needs_sparse_columns(std::size_t(1) << 30, 100000, 8, 264));
  CHECK(max_dense_columns(std::size_t(1) << 30, 1000000, 8) == 134);
  CHECK(needs_sparse_columns(std::size_t(1) << 30, 1000000, 8, 264));
  for (const Ordinal n : {100000, 1000000}) {
    const std::size_t bound =
        std::size_t(264) * 8 * static_cast<std::size_t>(n);  // L at which n is the limit
    CHECK_FALSE(needs_sparse_columns(bound, n, 8, 264));
    CHECK(needs_sparse_columns(bound - 1, n, 8, 264));
    CHECK(max_dense_columns(bound, n, 8) == 264);
    CHECK(max_dense_columns(bound - 1, n, 8) == 263);
  }
  CHECK(max_dense_columns(std::size_t(16) << 30, 16002413, 8) ==
        134);  // hugetrace-00020 on 16 GiB, in double
}

TEMPLATE_LIST_TEST_CASE("the memory limit decides between dense and sorted columns", "[numeric]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(3);
  const int n = 300;
  const auto matrix = dominant_matrix<Matrix<TestType>>(n, 0.01, random);
  const Space exec;
  const auto filled = factorize_symbolic(exec, to_space<Space>(matrix).pattern(), MemoryBudget());
  std::size_t held = 0;  // by plan and workspace
  {
    const MemoryBudget budget;
    const auto plan = plan_right_looking_lu(exec, filled, budget, {.mode = ColumnMode::levels});
    const auto work = make_right_looking_lu_workspace(exec, plan, budget);
    held = budget.used_bytes();
  }
  const std::size_t column = static_cast<std::size_t>(n) * sizeof(Scalar);
  bool searched = false, spread = false;
  for (const std::size_t columns : {std::size_t(1), std::size_t(3), std::size_t(7000)}) {
    for (const auto format : {ColumnFormat::automatic, ColumnFormat::dense}) {
      const MemoryBudget budget(std::size_t(1) << 40);
      const auto plan =
          plan_right_looking_lu(exec, filled, budget, {.mode = ColumnMode::levels, .format = format});
      auto work = make_right_looking_lu_workspace(exec, plan, budget);
      CHECK(budget.used_bytes() == held);
      auto own = budget;
      own.set_limit(held + 2 * columns * column);  // half of what is left is for dense columns
      const Kokkos::View<Scalar*, typename TestType::Memory> values("values", filled.entries.extent(0));
      const Kokkos::View<unsigned char*, typename TestType::Memory> perturbed("perturbed", n);
      Kokkos::deep_copy(values, Scalar(0));
      const auto outcome = factorize_right_looking<Scalar>(exec, plan, work, values, 1, perturbed);
      const auto max_blocks = static_cast<std::size_t>(outcome.columns->max_blocks);
      const bool sparse = needs_sparse_columns(columns * column, n, sizeof(Scalar), max_blocks);
      INFO(columns << " dense columns, " << max_blocks << " blocks at once");
      if (format == ColumnFormat::automatic && sparse) {
        CHECK(outcome.columns->format == "search");
        CHECK(budget.used_bytes() == held);
        searched = true;
      } else {
        CHECK(outcome.columns->format == "dense");
        CHECK(outcome.columns->blocks == static_cast<std::int64_t>(std::min(columns, max_blocks)));
        CHECK(budget.used_bytes() <= held + columns * column);
        spread = true;
      }
    }
  }
  CHECK(spread);
  CHECK((searched || lutra::Impl::is_host_space<Space>));  // with one thread one dense column suffices
  const MemoryBudget tight(std::size_t(1) << 40);
  const auto plan =
      plan_right_looking_lu(exec, filled, tight, {.mode = ColumnMode::B, .format = ColumnFormat::dense});
  auto work = make_right_looking_lu_workspace(exec, plan, tight);
  auto own = tight;
  own.set_limit(tight.used_bytes() + column);
  const Kokkos::View<Scalar*, typename TestType::Memory> values("values", filled.entries.extent(0));
  const Kokkos::View<unsigned char*, typename TestType::Memory> perturbed("perturbed", n);
  CHECK_THROWS_AS(factorize_right_looking<Scalar>(exec, plan, work, values, 1, perturbed), OutOfMemoryError);
}

TEMPLATE_LIST_TEST_CASE("options of columns that exclude each other are refused", "[numeric]", AllTypes) {
  using Space = typename TestType::Space;
  using Catch::Matchers::ContainsSubstring;
  const auto matrix = from_dense<Matrix<TestType>>({{4, 1}, {1, 4}});
  const auto plan = [&](const ColumnOptions& options) { factorize_by_columns<TestType>(matrix, 0, options); };
  CHECK_THROWS_WITH(plan({.format = ColumnFormat::dense}), ContainsSubstring("data flow"));
  CHECK_THROWS_WITH(plan({.mode = ColumnMode::A, .format = ColumnFormat::map, .portable = true}),
                    ContainsSubstring("format map is of the CUDA kernels"));
  if (lutra::Impl::is_host_space<Space>)
    CHECK_THROWS_WITH(plan({.format = ColumnFormat::map}),
                      ContainsSubstring("format map is of the CUDA kernels"));
  CHECK_THROWS_AS(plan({.levels = LevelizationMethod::device_launches}), InputError);
  CHECK_THROWS_AS(plan({.mode = static_cast<ColumnMode>(7)}), InputError);
  CHECK_THROWS_AS(plan({.format = static_cast<ColumnFormat>(-1)}), InputError);
}

TEMPLATE_LIST_TEST_CASE("two workspaces share one plan in turn", "[numeric]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  const Space exec;
  const auto device = to_space<Space>(from_dense<Matrix<TestType>>({{4, 1, 1}, {1, 4, 1}, {1, 1, 4}}));
  const auto filled = factorize_symbolic(exec, device.pattern(), MemoryBudget());
  const auto plan = plan_right_looking_lu(exec, filled, MemoryBudget());
  const Kokkos::View<unsigned char*, typename TestType::Memory> perturbed("perturbed", 3);
  auto first = make_right_looking_lu_workspace(exec, plan, MemoryBudget());
  auto second = make_right_looking_lu_workspace(exec, plan, MemoryBudget());
  for (const int times : {1, 3, 2}) {  // their numbers of runs are apart
    for (int time = 0; time <= times; ++time) {
      const auto values = to_space<Space>(std::vector<Scalar>{4, 1, 1, 1, 4, 1, 1, 1, 4});
      factorize_right_looking<Scalar>(exec, plan, time < times ? first : second, values, 0, perturbed);
      const auto got = to_vector(values);
      CHECK(got[1] == Scalar(0.25));
      CHECK(got[4] == Scalar(3.75));
      CHECK(Kokkos::abs(got[5] - as_scalar<Scalar>(0.2)) <= 4 * epsilon_of<Scalar>);
    }
  }
}

#if defined(KOKKOS_ENABLE_CUDA) && defined(LUTRA_HAS_F64)
TEST_CASE("a column that is never released ends in an error, not in a hang", "[numeric]") {
  const Kokkos::Cuda exec;
  const auto host = from_dense<Matrix<Types<double, int, Kokkos::Cuda>>>({{4, 1, 1}, {1, 4, 1}, {1, 1, 4}});
  const auto filled = factorize_symbolic(exec, to_space<Kokkos::Cuda>(host).pattern(), MemoryBudget());
  const auto plan =
      lutra::Impl::plan_right_looking_lu(exec, filled, MemoryBudget(), {}, {.watchdog_seconds = 0.05});
  auto work = make_right_looking_lu_workspace(exec, plan, MemoryBudget());
  const Kokkos::View<unsigned char*, Kokkos::CudaSpace> perturbed("perturbed", 3);
  const auto values = to_space<Kokkos::Cuda>(std::vector<double>{4, 1, 1, 1, 4, 1, 1, 1, 4});
  work.run = 1;  // column 1 then waits for the signals of two factorizations
  CHECK_THROWS_AS(factorize_right_looking<double>(exec, plan, work, values, 0, perturbed), TimeoutError);
  CHECK_NOTHROW(factorize_right_looking<double>(exec, plan, work, values, 0, perturbed));
}
#endif

}  // namespace lutra::Test
