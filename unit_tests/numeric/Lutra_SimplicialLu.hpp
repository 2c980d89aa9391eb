// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SIMPLICIALLU_HPP
#define LUTRA_SIMPLICIALLU_HPP

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "Lutra_ColumnAblation.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

/// L\U of a host matrix by the library, in a dense array, with what it reports.
template <class Types>
struct ColumnResult {
  RightLookingLuOutcome outcome;
  std::vector<std::vector<typename Types::Scalar>> dense;
  std::vector<unsigned char> perturbed;
  std::size_t levels = 0;
  double flops = 0;
};

/// @param times factorizations with the same plan, of which the last one's result is handed back
template <class Types>
ColumnResult<Types> factorize_by_columns(const Matrix<Types>& matrix,
                                         RealOf<typename Types::Scalar> threshold,
                                         const ColumnOptions& options = {}, int times = 1,
                                         const lutra::Impl::ColumnAblation& ablation = {},
                                         const MemoryBudget& budget = {}) {
  using Space = typename Types::Space;
  using Scalar = typename Types::Scalar;
  const Space exec;
  const auto device = to_space<Space>(matrix);
  const auto filled = factorize_symbolic(exec, device.pattern(), MemoryBudget());
  const auto plan = lutra::Impl::plan_right_looking_lu(exec, filled, budget, options, ablation);
  auto work = make_right_looking_lu_workspace(exec, plan, budget);
  const auto columns = to_rows(plan.columns.pattern);
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  std::vector<std::vector<Scalar>> dense(n, std::vector<Scalar>(n, Scalar(0)));
  for (std::size_t i = 0; i < n; ++i)
    Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) { dense[i][j] = value; });
  std::vector<Scalar> scattered;
  for (std::size_t j = 0; j < n; ++j) {
    for (const std::size_t i : columns[j]) scattered.push_back(dense[i][j]);
  }
  Kokkos::View<Scalar*, typename Types::Memory> values;
  const Kokkos::View<unsigned char*, typename Types::Memory> perturbed("perturbed", n);
  ColumnResult<Types> result;
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

/// Matrices worked by hand, for either simplicial engine.
/// @param run run(matrix, threshold) has L\U in a dense array, its outcome, levels and operations
template <class Types, class Run>
void check_worked_by_hand(const Run& run) {
  using Scalar = typename Types::Scalar;
  const double o = nothing;
  SECTION("3 × 3, dense") {
    // L = [1; 2 1; 4 3 1], U = [2 1 1; 0 1 1; 0 0 2]
    const auto result = run(from_dense<Matrix<Types>>({{2, 1, 1}, {4, 3, 3}, {8, 7, 9}}), 0.f);
    CHECK(result.dense == std::vector<std::vector<Scalar>>{{Scalar(2), Scalar(1), Scalar(1)},
                                                           {Scalar(2), Scalar(1), Scalar(1)},
                                                           {Scalar(4), Scalar(3), Scalar(2)}});
    CHECK(result.outcome.perturbed == 0);
    CHECK(result.outcome.largest == 4.0);
    CHECK(result.levels == 3);
    CHECK(result.flops == 2 + 2 * 2 * 2 + 1 + 2 * 1 * 1);
  }
  SECTION("a diagonal matrix has one level and nothing to do") {
    const auto result = run(from_dense<Matrix<Types>>({{2, o}, {o, 3}}), 0.f);
    CHECK(result.levels == 1);
    CHECK(result.flops == 0);
    CHECK(result.dense[1][1] == Scalar(3));
  }
  SECTION("a pivot that cancels to zero is perturbed: it becomes the threshold") {
    const auto result = run(from_dense<Matrix<Types>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}}), 0.5f);
    CHECK(result.outcome.perturbed == 1);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
    CHECK(result.dense[1][1] == Scalar(0.5));
    CHECK(result.dense[2][1] == Scalar(2));
    CHECK(result.dense[2][2] == Scalar(-1));
  }
  SECTION("a small negative pivot keeps its sign") {
    const auto result = run(from_dense<Matrix<Types>>({{-0.25, 1}, {1, 1}}), 0.5f);
    CHECK(result.dense[0][0] == Scalar(-0.5));
    CHECK(result.outcome.perturbed == 1);
  }
  SECTION("overflow is reported") {
    const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max()) / 4;
    CHECK_FALSE(
        std::isfinite(run(from_dense<Matrix<Types>>({{1e-3, huge}, {huge, 1}}), 0.f).outcome.largest));
  }
}

/// Entries of L\U beside those of plain elimination.
template <class Scalar, class Factors>
void check_entries(const std::vector<std::vector<Scalar>>& dense, const Factors& expected, double largest) {
  const double bound = 200.0 * static_cast<double>(epsilon_of<Scalar>);
  for (std::size_t i = 0; i < expected.pattern.size(); ++i) {
    for (std::size_t k = 0; k < expected.pattern[i].size(); ++k) {
      const Scalar got = dense[i][expected.pattern[i][k]], wanted = expected.values[i][k];
      REQUIRE(static_cast<double>(Kokkos::abs(got - wanted)) <=
              bound * (static_cast<double>(Kokkos::abs(wanted)) + largest * 1e-3));
    }
  }
}

}  // namespace lutra::Test

#endif
