// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SimplicialLu.hpp"
#include "Lutra_TestDominant.hpp"

namespace lutra::Test {

using lutra::Impl::ColumnAblation;
using lutra::Impl::ColumnFormat;

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

/// All that can be switched, on devices.
template <class Types>
std::vector<ColumnAblation> all_ablations() {
  std::vector<ColumnAblation> ablations{{}};
  if (lutra::Impl::is_host_space<typename Types::Space>) return ablations;
  ablations.push_back({.portable = true});
  ablations.push_back({.blocks = 4});
  for (const ColumnFormat format : {ColumnFormat::map, ColumnFormat::search})
    ablations.push_back({.format = format});
  return ablations;
}

template <class Types>
void check_against_reference(const Matrix<Types>& matrix, const ColumnAblation& ablation,
                             RealOf<typename Types::Scalar> threshold, int times) {
  const auto result = factorize_by_columns<Types>(matrix, threshold, ablation, times);
  INFO("n " << matrix.n_rows << ", format " << static_cast<int>(ablation.format));
  check_entries(result.dense, Reference::factorize(matrix, Reference::lu_pattern(matrix), threshold),
                result.outcome.largest);
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

TEMPLATE_LIST_TEST_CASE("each division of columns gives the same factors in every run", "[numeric]",
                        AllTypes) {
  std::mt19937 random(17);
  const auto sparse = dominant_matrix<Matrix<TestType>>(60, 0.05, random);
  const auto filled = dominant_matrix<Matrix<TestType>>(170, 0.1, random);
  for (const ColumnAblation& ablation : all_ablations<TestType>()) {
    check_against_reference<TestType>(sparse, ablation, 0, 3);
    check_against_reference<TestType>(filled, ablation, 0, 2);
  }
}

TEMPLATE_LIST_TEST_CASE("pivots are perturbed in each division of columns", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  const auto matrix = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});
  for (const ColumnAblation& ablation : all_ablations<TestType>()) {
    const auto result = factorize_by_columns<TestType>(matrix, 0.5f, ablation, 2);
    CHECK(result.outcome.perturbed == 1);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
    CHECK(result.dense[1][1] == Scalar(0.5));
    CHECK(result.dense[2][1] == Scalar(2));
    CHECK(result.dense[2][2] == Scalar(-1));
  }
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
