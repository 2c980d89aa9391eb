// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <random>

#include "Lutra_ColumnTuning.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// L\U of a host matrix by the library, in a dense array, with what it reports.
template <class Types>
struct Result {
  RightLookingLuOutcome outcome;
  std::vector<std::vector<typename Types::Scalar>> dense;
  std::vector<unsigned char> perturbed;
  std::size_t levels = 0;
  double flops = 0;
};

using lutra::Impl::ColumnFormat;
using lutra::Impl::ColumnTuning;

/// @param times factorizations with the same plan, of which the last one's result is handed back
template <class Types>
Result<Types> run(const Matrix<Types>& matrix, RealOf<typename Types::Scalar> threshold,
                  const ColumnTuning& tuning = {}, int times = 1) {
  using Space = typename Types::Space;
  using Scalar = typename Types::Scalar;
  const Space exec;
  const auto device = to_space<Space>(matrix);
  const auto filled = factorize_symbolic(exec, device.pattern(), MemoryBudget());
  const auto plan = lutra::Impl::plan_right_looking_lu(exec, filled, MemoryBudget(), tuning);
  auto work = make_right_looking_lu_workspace(exec, plan, MemoryBudget());
  const auto columns = to_rows(plan.columns.pattern);
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  std::vector<std::vector<Scalar>> dense(n, std::vector<Scalar>(n, Scalar(0)));
  for (std::size_t i = 0; i < n; ++i) {
    Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) { dense[i][j] = value; });
  }
  std::vector<Scalar> scattered;
  for (std::size_t j = 0; j < n; ++j) {
    for (const std::size_t i : columns[j]) scattered.push_back(dense[i][j]);
  }
  Kokkos::View<Scalar*, typename Types::Memory> values;
  const Kokkos::View<unsigned char*, typename Types::Memory> perturbed("perturbed", n);
  Result<Types> result;
  for (int time = 0; time < times; ++time) {
    values = to_space<Space>(scattered);
    result.outcome = factorize_right_looking<Scalar>(exec, plan, work, values, threshold, perturbed);
  }
  const auto factored = to_vector(values);
  std::size_t position = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (const std::size_t i : columns[j]) dense[i][j] = factored[position++];
  }
  result.dense = dense;
  result.perturbed = to_vector(perturbed);
  result.levels = plan.levels.size();
  result.flops = plan.flops;
  return result;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("LU of matrices worked by hand", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  SECTION("3 × 3, dense") {
    // L = [1; 2 1; 4 3 1], U = [2 1 1; 0 1 1; 0 0 2]
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{2, 1, 1}, {4, 3, 3}, {8, 7, 9}}), 0);
    CHECK(result.dense == std::vector<std::vector<Scalar>>{{Scalar(2), Scalar(1), Scalar(1)},
                                                           {Scalar(2), Scalar(1), Scalar(1)},
                                                           {Scalar(4), Scalar(3), Scalar(2)}});
    CHECK(result.outcome.perturbed == 0);
    CHECK(result.outcome.largest == 4.0);
    CHECK(result.outcome.finite);
    CHECK(result.levels == 3);
    CHECK(result.flops == 2 + 2 * 2 * 2 + 1 + 2 * 1 * 1);
  }
  SECTION("a diagonal matrix has one level and nothing to do") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{2, o}, {o, 3}}), 0);
    CHECK(result.levels == 1);
    CHECK(result.flops == 0);
    CHECK(result.dense[1][1] == Scalar(3));
  }
  SECTION("columns joined only by an entry of L are on different levels") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{1, o, 1}, {1, 1, 1}, {o, o, 1}}), 0);
    CHECK(result.levels == 3);
    CHECK(result.dense[1][2] == Scalar(0));
  }
  SECTION("a pivot that cancels to zero is replaced by the threshold") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}}), 0.5f);
    CHECK(result.outcome.perturbed == 1);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
    CHECK(result.dense[1][1] == Scalar(0.5));
    CHECK(result.dense[2][1] == Scalar(2));
    CHECK(result.dense[2][2] == Scalar(-1));
  }
  SECTION("a small negative pivot keeps its sign") {
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{-0.25, 1}, {1, 1}}), 0.5f);
    CHECK(result.dense[0][0] == Scalar(-0.5));
    CHECK(result.outcome.perturbed == 1);
  }
  SECTION("overflow is told") {
    const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max()) / 4;
    const auto result = run<TestType>(from_dense<Matrix<TestType>>({{1e-3, huge}, {huge, 1}}), 0);
    CHECK_FALSE(result.outcome.finite);
  }
}

namespace {

/// All that can be switched, on devices.
template <class Types>
std::vector<ColumnTuning> all_tunings() {
  std::vector<ColumnTuning> tunings{{}};
  if (lutra::Impl::is_host_space<typename Types::Space>) return tunings;
  tunings.push_back({.portable = true});
  tunings.push_back({.blocks = 4});
  for (const ColumnFormat format : {ColumnFormat::map, ColumnFormat::search})
    tunings.push_back({.format = format});
  return tunings;
}

template <class Types>
void check_against_reference(const Matrix<Types>& matrix, const ColumnTuning& tuning,
                             RealOf<typename Types::Scalar> threshold, int times) {
  using Scalar = typename Types::Scalar;
  const double bound = 200.0 * static_cast<double>(epsilon_of<Scalar>);
  const auto result = run<Types>(matrix, threshold, tuning, times);
  const auto expected = Reference::factorize(matrix, Reference::lu_pattern(matrix), threshold);
  INFO("n " << matrix.n_rows << ", format " << static_cast<int>(tuning.format));
  for (std::size_t i = 0; i < expected.pattern.size(); ++i) {
    for (std::size_t k = 0; k < expected.pattern[i].size(); ++k) {
      const Scalar got = result.dense[i][expected.pattern[i][k]];
      const double size =
          static_cast<double>(Kokkos::abs(expected.values[i][k])) + result.outcome.largest * 1e-3;
      REQUIRE(static_cast<double>(Kokkos::abs(got - expected.values[i][k])) <= bound * size);
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("column LU agrees with plain elimination", "[numeric]", AllTypes) {
  std::mt19937 random(7);
  for (const int n : {1, 4, 30, 150}) {
    for (const double mean : {1.5, 4.0, 20.0})
      check_against_reference<TestType>(dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random),
                                        {}, 0, 1);
  }
}

TEMPLATE_LIST_TEST_CASE("each way of dividing columns gives the same factors, again and again", "[numeric]",
                        AllTypes) {
  std::mt19937 random(17);
  const auto sparse = dominant_matrix<Matrix<TestType>>(60, 0.05, random);
  const auto filled = dominant_matrix<Matrix<TestType>>(170, 0.1, random);
  for (const ColumnTuning& tuning : all_tunings<TestType>()) {
    check_against_reference<TestType>(sparse, tuning, 0, 3);
    check_against_reference<TestType>(filled, tuning, 0, 2);
  }
}

TEMPLATE_LIST_TEST_CASE("pivots are perturbed in each way of dividing columns", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  const auto matrix = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});
  for (const ColumnTuning& tuning : all_tunings<TestType>()) {
    const auto result = run<TestType>(matrix, 0.5f, tuning, 2);
    CHECK(result.outcome.perturbed == 1);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
    CHECK(result.dense[1][1] == Scalar(0.5));
    CHECK(result.dense[2][1] == Scalar(2));
    CHECK(result.dense[2][2] == Scalar(-1));
  }
}

TEMPLATE_LIST_TEST_CASE("two workspaces on one plan, in turn", "[numeric]", AllTypes) {
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

#ifdef KOKKOS_ENABLE_CUDA
TEST_CASE("a column that nothing releases ends in an error, not in a hang", "[numeric]") {
  const Kokkos::Cuda exec;
  const auto host = from_dense<Matrix<Types<double, int, Kokkos::Cuda>>>({{4, 1, 1}, {1, 4, 1}, {1, 1, 4}});
  const auto filled = factorize_symbolic(exec, to_space<Kokkos::Cuda>(host).pattern(), MemoryBudget());
  const auto plan =
      lutra::Impl::plan_right_looking_lu(exec, filled, MemoryBudget(), {.watchdog_seconds = 0.05});
  auto work = make_right_looking_lu_workspace(exec, plan, MemoryBudget());
  const Kokkos::View<unsigned char*, Kokkos::CudaSpace> perturbed("perturbed", 3);
  const auto values = to_space<Kokkos::Cuda>(std::vector<double>{4, 1, 1, 1, 4, 1, 1, 1, 4});
  work.run = 1;  // column 1 then waits for the signals of two factorizations
  CHECK_THROWS_AS(factorize_right_looking<double>(exec, plan, work, values, 0, perturbed), TimeoutError);
  CHECK_NOTHROW(factorize_right_looking<double>(exec, plan, work, values, 0, perturbed));
}
#endif

}  // namespace lutra::Test
