// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <limits>
#include <random>

#include "Lutra_IluTestFactors.hpp"
#include "Lutra_TestKokkosTools.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Sweeps = ParIlu<typename Types::Scalar, typename Types::Space>;

template <class Types>
ParIluOutcome sweep(const Matrix<Types>& matrix, const FactorsOf<Types>& factors, const IluOptions& options,
                    ParIluStart start = ParIluStart::matrix, double shift = 0) {
  const typename Types::Space exec;
  Sweeps<Types> sweeps(exec, factors, options, MemoryBudget());
  return sweeps.compute(exec, to_space<typename Types::Space>(matrix), shift, factors, start);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("an exact incomplete LU needs no sweep", "[ilu]", AllTypes) {
  std::mt19937 random(31);
  const auto matrix = dominant_matrix<Matrix<TestType>>(120, 0.05, random);
  const auto factors = make_factors<TestType>(matrix, 1);
  eliminate<TestType>(matrix, factors, IluSchedule::automatic, 0.25);
  const auto exact = value_rows(factors);
  for (const bool deterministic : {false, true}) {
    IluOptions options;
    options.deterministic = deterministic;
    const auto outcome = sweep<TestType>(matrix, factors, options, ParIluStart::factors, 0.25);
    CHECK(outcome.sweeps == 0);
    CHECK(outcome.last_residual < tolerance_of(typename TestType::Scalar()) * 100);
    CHECK(value_rows(factors) == exact);
  }
}

TEMPLATE_LIST_TEST_CASE("sweeps reduce the residual on the pattern to rounding", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(32);
  const auto matrix = dominant_matrix<Matrix<TestType>>(150, 0.04, random);
  const auto factors = make_factors<TestType>(matrix, 1);
  const auto pattern = to_rows(factors.pattern());
  const auto exact = Reference::incomplete_lu(matrix, pattern);
  for (const bool deterministic : {false, true}) {
    IluOptions options;
    options.deterministic = deterministic;
    options.sweep_tolerance = 0;
    options.sweeps = 0;
    CHECK(sweep<TestType>(matrix, factors, options).sweeps == 0);
    double before = Reference::pattern_residual(matrix, pattern, value_rows(factors));
    CHECK(before > 0.1);
    options.sweeps = 1;
    CHECK(sweep<TestType>(matrix, factors, options).sweeps == 1);
    const double after = Reference::pattern_residual(matrix, pattern, value_rows(factors));
    CHECK(after < before / 2);
    options.sweeps = 60;
    const auto outcome = sweep<TestType>(matrix, factors, options);
    CHECK(outcome.sweeps < 60);
    CHECK(outcome.last_residual < 1e-4 * outcome.first_residual);
    CHECK(Reference::pattern_residual(matrix, pattern, value_rows(factors)) < 200 * tolerance_of(Scalar()));
    CHECK(difference(value_rows(factors), exact) < 100 * tolerance_of(Scalar()));
  }
  IluOptions options;
  options.sweeps = 60;
  const auto outcome = sweep<TestType>(matrix, factors, options);
  CHECK(outcome.last_residual <= options.sweep_tolerance * outcome.first_residual);
  CHECK(outcome.sweeps > 0);
}

TEMPLATE_LIST_TEST_CASE("deterministic sweeps give the same bits and synchronize once", "[ilu]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(33);
  const Space exec;
  const auto matrix = dominant_matrix<Matrix<TestType>>(300, 0.02, random);
  const auto A = to_space<Space>(matrix);
  const auto factors = make_factors<TestType>(matrix, 0);
  IluOptions options;
  options.deterministic = true;
  options.sweeps = 3;
  Sweeps<TestType> sweeps(exec, factors, options, MemoryBudget());
  sweeps.compute(exec, A, 0, factors);
  const auto first = value_rows(factors);
  for (int time = 0; time < 5; ++time) {
    const DeviceEvents<Space> events;
    sweeps.compute(exec, A, 0, factors);
    INFO(events.describe());
    CHECK(events.allocations() == 0);
    CHECK(events.waits() == 1);
    CHECK(value_rows(factors) == first);
  }
}

TEMPLATE_LIST_TEST_CASE("sweeps on triangular and broken matrices", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  const auto lower = from_dense<Matrix<TestType>>({{2, o, o}, {4, 8, o}, {6, 16, 4}});
  const auto factors = make_factors<TestType>(lower, 1);
  CHECK(sweep<TestType>(lower, factors, {}).sweeps == 1);
  CHECK(value_rows(factors) == std::vector<std::vector<Scalar>>{
                                   {Scalar(2)}, {Scalar(2), Scalar(8)}, {Scalar(3), Scalar(2), Scalar(4)}});
  const auto empty = from_dense<Matrix<TestType>>({});
  CHECK(sweep<TestType>(empty, make_factors<TestType>(empty, 0), {}).sweeps == 0);

  auto broken = from_dense<Matrix<TestType>>({{1, 1}, {1, 3}});
  broken.values[1] = as_scalar<Scalar>(std::numeric_limits<double>::quiet_NaN());
  const auto of_broken = make_factors<TestType>(broken, 0);
  const auto outcome = sweep<TestType>(broken, of_broken, {});
  CHECK(outcome.last_residual == std::numeric_limits<double>::infinity());
  CHECK_FALSE(inspect<TestType>(broken, of_broken).is_finite());
}

}  // namespace lutra::Test
