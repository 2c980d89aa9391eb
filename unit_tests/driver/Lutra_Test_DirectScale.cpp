// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ScaledSystems.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {
namespace {

template <class SolverType, class MatrixType, class Options>
void check_powers(const MatrixType& A, const Options& options) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const auto b = known_system(A).b;
  const auto solve = [&](int p, int q) {
    SolverType solver(options);
    const auto scaled = matrix_times_power(A, p);
    solver.analyze(scaled);
    solver.factorize(scaled);
    auto x = b;
    solver.solve_host(times_power(b, q), x);
    return std::pair(solver.report(), x);
  };
  const auto [expected, x] = solve(0, 0);
  REQUIRE(expected.status == Status::success);
  for (const auto& [p, q] : far_powers<Scalar>()) {
    CAPTURE(p, q);
    const auto [found, y] = solve(p, q);
    CHECK(found.status == expected.status);
    CHECK(found.refinement_steps == expected.refinement_steps);
    CHECK(found.escalations == expected.escalations);
    CHECK(found.pivots.perturbed == expected.pivots.perturbed);
    CHECK(y == times_power(x, q - p));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("units change no decision, count or bit of LU", "[driver][scale]", AllTypes) {
  std::mt19937 random(6);
  check_powers<Solver<TestType>>(stencil<Matrix<TestType>>(5, false, false, random), LuOptions());
  check_powers<Solver<TestType>>(permuted_matrix<Matrix<TestType>>(30, 3, random), LuOptions());
}

TEMPLATE_LIST_TEST_CASE("units change no decision, count or bit of LDLᵀ and Cholesky", "[driver][scale]",
                        AllTypes) {
  std::mt19937 random(7);
  const auto A = stencil<Matrix<TestType>>(5, true, false, random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  check_powers<Symmetric<TestType>>(A, options);
  check_powers<Symmetric<TestType>>(saddle_point<Matrix<TestType>>(20, 8, random), options);
  options.positive_definite = true;
  check_powers<Symmetric<TestType>>(A, options);
}

}  // namespace lutra::Test
