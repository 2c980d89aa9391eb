// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_GmresRefinement.hpp"
#include "Lutra_KrylovTestSystems.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_TestKokkosTools.hpp"

namespace lutra::Test {
namespace {

/// A with `size` added to some diagonal entries: its solves are those of factors with perturbed pivots.
template <class MatrixType>
MatrixType perturb(MatrixType A, const std::vector<std::size_t>& rows, double size) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  for (const std::size_t i : rows) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      if (static_cast<std::size_t>(A.entries[p]) == i) A.values[p] += as_scalar<Scalar>(size);
    }
  }
  return A;
}

/// A workspace that holds B, before any norms are gathered.
template <class Types>
SolveWorkspace<typename Types::Scalar, typename Types::Space> workspace_with(
    const std::vector<std::vector<typename Types::Scalar>>& b) {
  using Space = typename Types::Space;
  auto work =
      SolveWorkspace<typename Types::Scalar, Space>(Space(), b.front().size(), b.size(), MemoryBudget());
  Kokkos::deep_copy(work.B, to_device<Types>(b));
  work.maxima.clear(Space());
  return work;
}

/// Checks that the reported errors equal those in long double, up to rounding of the residual, and that R is
/// the residual of X.
template <class Types, class Work>
void check_errors(const Matrix<Types>& A, const std::vector<std::vector<typename Types::Scalar>>& b,
                  const Work& work, const BackwardErrors& errors) {
  const double rounding = 100 * static_cast<double>(epsilon_of<typename Types::Scalar>);
  for (std::size_t c = 0; c < b.size(); ++c) {
    const auto x = to_host(work.X, c);
    const auto exact = Reference::backward_errors(A, x, b[c]);
    CHECK(std::abs(errors.componentwise[c] - static_cast<double>(exact.componentwise)) <= rounding);
    CHECK(std::abs(errors.normwise[c] - static_cast<double>(exact.normwise)) <= rounding);
    const auto residual = to_host(work.R, c);
    const auto product = Reference::multiply(A, Reference::widen_all(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto rest = Reference::widen(b[c][i]) - product[i];
      CHECK(std::abs(Reference::widen(residual[i]) - rest) <= 1000 * rounding);
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("refinement corrects inexact factors for any number of columns", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(21);
  const auto A = dense_matrix<Matrix<TestType>>(12, random);
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    const auto op_A = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
    for (const std::size_t k : {1, 2, 17}) {
      std::vector<std::vector<Scalar>> b;
      for (std::size_t c = 0; c < k; ++c) b.push_back(random_vector<Scalar>(12, random));
      auto work = workspace_with<TestType>(b);
      DeviceOperator<TestType> device(A, op);
      DenseFactorization<TestType> M(perturb(A, {1, 5}, 0.1));
      const auto outcome = solve_refined(Space(), device.A, M, op, {}, work);
      CHECK(outcome.steps > 0);
      CHECK_FALSE(outcome.bad_row.has_value());
      CHECK(M.applications == outcome.steps + 1);
      REQUIRE(outcome.errors.componentwise.size() == k);
      for (const double error : outcome.errors.componentwise)
        CHECK(error <= 8 * static_cast<double>(epsilon_of<Scalar>));
      check_errors<TestType>(op_A, b, work, outcome.errors);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("refinement ends at its tolerance", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(22);
  const auto A = dense_matrix<Matrix<TestType>>(12, random);
  const auto b = random_vector<Scalar>(12, random);
  DeviceOperator<TestType> device(A);
  int steps_before = 100;
  for (const double goal : {0.0, 1e-3, 1.0}) {  // zero: the rounding level
    auto work = workspace_with<TestType>({b});
    DenseFactorization<TestType> M(perturb(A, {1, 5}, 0.2));
    const auto outcome = solve_refined(Space(), device.A, M, Transposition::none, {10, goal}, work);
    CHECK(outcome.errors.componentwise[0] <= (goal > 0 ? goal : 8 * static_cast<double>(epsilon_of<Scalar>)));
    CHECK(outcome.steps < steps_before);
    steps_before = outcome.steps;
  }
  CHECK(steps_before == 0);
  auto work = workspace_with<TestType>({b});
  DenseFactorization<TestType> M(perturb(A, {1, 5}, 0.2));
  CHECK(solve_refined(Space(), device.A, M, Transposition::none, {2, 0}, work).steps == 2);
}

TEMPLATE_LIST_TEST_CASE("steps that do not reduce the error are rejected", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(23);
  const auto A = dense_matrix<Matrix<TestType>>(10, random);
  const auto b = random_vector<Scalar>(10, random);
  auto too_small = A;  // M⁻¹ = 2.5·A⁻¹: each step overshoots
  for (Scalar& value : too_small.values) value *= as_scalar<Scalar>(0.4);
  DeviceOperator<TestType> device(A);
  DenseFactorization<TestType> M(too_small);
  auto work = workspace_with<TestType>({b, std::vector<Scalar>(10, Scalar(0))});
  const auto outcome = solve_refined(Space(), device.A, M, Transposition::none, {}, work);
  CHECK(outcome.steps == 1);
  CHECK(outcome.errors.componentwise[0] > 0.1);  // of the first solution
  CHECK(outcome.errors.componentwise[1] == 0);
  check_errors<TestType>(A, {b, std::vector<Scalar>(10, Scalar(0))}, work, outcome.errors);
}

TEMPLATE_LIST_TEST_CASE("columns are refined independently", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(24);
  const auto A = dense_matrix<Matrix<TestType>>(10, random);
  DeviceOperator<TestType> device(A);
  auto b = std::vector<std::vector<Scalar>>(3, random_vector<Scalar>(10, random));
  for (Scalar& entry : b[1]) entry *= as_scalar<Scalar>(1e-3);
  b[2].assign(10, Scalar(0));
  auto together = workspace_with<TestType>(b);
  DenseFactorization<TestType> M(perturb(A, {3}, 1.0));
  const auto outcome = solve_refined(Space(), device.A, M, Transposition::none, {1, 0}, together);
  for (std::size_t c = 0; c < 3; ++c) {
    auto alone = workspace_with<TestType>({b[c]});
    const auto single = solve_refined(Space(), device.A, M, Transposition::none, {1, 0}, alone);
    CHECK(to_host(together.X, c) == to_host(alone.X));  // bit by bit
    CHECK(to_host(together.R, c) == to_host(alone.R));
    CHECK(outcome.errors.componentwise[c] == single.errors.componentwise[0]);
  }
}

TEMPLATE_LIST_TEST_CASE("a bad row of B ends a solve before its first step", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(25);
  const auto A = dense_matrix<Matrix<TestType>>(6, random);
  DeviceOperator<TestType> device(A);
  DenseFactorization<TestType> M(perturb(A, {3}, 1.0));
  auto work = workspace_with<TestType>({random_vector<Scalar>(6, random)});
  auto b = random_vector<Scalar>(6, random);
  b[4] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  lutra::Impl::copy_and_check(Space(), to_device<TestType>({b}), 0, 1, 1, work.B, work.maxima.slots(),
                              work.maxima.bad_row_slot());
  int queued = 0;
  const auto outcome = solve_refined(Space(), device.A, M, Transposition::none, {}, work, [&] { ++queued; });
  CHECK(outcome.bad_row == 4);
  CHECK(outcome.steps == 0);
  CHECK(queued == 1);
  CHECK(M.applications == 1);
}

TEMPLATE_LIST_TEST_CASE("a solve synchronizes once for its first solution and once per step", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(26);
  DeviceOperator<TestType> device(perturb(from_dense<Matrix<TestType>>({{1, 0.25}, {0.25, 1}}), {0}, 0.5));
  NoPreconditioner<TestType> M;
  for (const std::size_t k : {1, 3}) {
    auto work =
        workspace_with<TestType>(std::vector<std::vector<Scalar>>(k, random_vector<Scalar>(2, random)));
    const Space exec;
    const DeviceEvents<Space> events;
    const auto outcome = solve_refined(exec, device.A, M, Transposition::none, {3, 0}, work);
    INFO(events.describe());
    CHECK(outcome.steps >= 1);
    const bool is_solved =
        std::ranges::max(outcome.errors.componentwise) <= default_error_tolerance<Scalar>();
    const std::size_t without_rounding_errors = is_solved || outcome.steps == 3 ? 0 : 2;
    CHECK(events.waits() == static_cast<std::size_t>(outcome.steps) + 1 + without_rounding_errors);
    CHECK(events.allocations() == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("GMRES solves systems that refinement cannot", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename TestType::Space;
  std::mt19937 random(27);
  const auto A = dense_matrix<Matrix<TestType>>(25, random);
  for (const Transposition op : {Transposition::none, Transposition::adjoint}) {
    const auto op_A = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
    DeviceOperator<TestType> device(A, op);
    DenseFactorization<TestType> M(perturb(A, {2, 7, 11}, 2e3));  // M⁻¹A is far from the identity
    const auto b = random_vector<Scalar>(25, random);
    auto work = workspace_with<TestType>({b});
    const auto stalled = solve_refined(Space(), device.A, M, op, {}, work);
    REQUIRE(stalled.errors.componentwise[0] > 1e-3);
    const auto scale = to_space<Space>(std::vector<Real>(25, Real(0.5)));
    const auto gmres = Fgmres<Scalar, Space>(Space(), 25, gmres_refinement_restart, MemoryBudget());
    const double goal = 20 * static_cast<double>(epsilon_of<Scalar>);
    const auto outcome = refine_by_gmres(Space(), device.A, M, op, scale, goal, stalled.errors, work, gmres);
    CHECK(outcome.errors.componentwise[0] <= goal);
    CHECK(outcome.iterations >= 3);
    CHECK(outcome.iterations <= 25);  // three perturbed pivots: about four per cycle
    check_errors<TestType>(op_A, {b}, work, outcome.errors);
    // infinite errors make it start from zero
    Kokkos::deep_copy(work.X, Scalar(std::numeric_limits<Real>::quiet_NaN()));
    const double infinity = std::numeric_limits<double>::infinity();
    const auto afresh = refine_by_gmres(Space(), device.A, M, op, scale, goal,
                                        BackwardErrors{{infinity}, {infinity}, {0.0}}, work, gmres);
    CHECK(afresh.errors.componentwise[0] <= goal);
    check_errors<TestType>(op_A, {b}, work, afresh.errors);
  }
}

}  // namespace lutra::Test
