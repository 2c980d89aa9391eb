// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What interior point methods ask of SparseLDLT.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {

using Catch::Matchers::ContainsSubstring;

TEMPLATE_LIST_TEST_CASE("with trust_pivots only zero pivots make LDLᵀ singular", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double above = 1 + static_cast<double>(epsilon_of<Scalar>);
  const auto nearly = from_dense<Matrix<TestType>>({{1, 1}, {1, above}}),
             singular = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.zero_tolerance = 1e-20;
  options.check = SolutionCheck::never;
  for (const bool trust : {false, true}) {
    options.trust_pivots = trust;
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(nearly));
    CHECK(solver.factorize(nearly) == (trust ? Status::success : Status::numerically_singular));
    CHECK((solver.report().condition_solves == 0) == trust);
    if (trust) {
      check_inertia(solver.report(), 2, 0, 0);
      std::vector<Scalar> b(2, Scalar(1)), x(2);
      CHECK(solver.solve_host(b, x) == Status::unchecked);
      CHECK(ScalarTraits<Scalar>::magnitude(x[0] + x[1] - Scalar(1)) < 8 * (above - 1));
    }
    CHECK(solver.factorize(singular) == Status::numerically_singular);
    CHECK(solver.report().pivots.zero == 1);
    CHECK(solver.report().singular_rows.size() == 1);
  }
}

TEMPLATE_LIST_TEST_CASE("a raised pivot threshold outlives a new analysis of outgrown values", "[ldlt]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  if (sizeof(RealOf<Scalar>) < 8) return;  // single precision has no room for such values
  std::mt19937 random(116);
  const std::size_t n = 40, m = 15;
  auto A = saddle_point<Matrix<TestType>>(static_cast<int>(n), static_cast<int>(m), random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.pair_ordering = true;  // such an order is not kept for new scales
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  while (solver.increase_quality()) {
  }
  bool large = true;  // every second positive entry of the diagonal
  for (std::size_t i = 0; i < n + m; ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      if (static_cast<std::size_t>(A.entries[p]) != i || !(Kokkos::real(A.values[p]) > 0)) continue;
      if (large) A.values[p] *= as_scalar<Scalar>(1e14);
      large = !large;
    }
  }
  succeed(solver.factorize(A));
  REQUIRE(solver.report().escalations.size() == 1);
  CHECK_THAT(solver.report().escalations[0], ContainsSubstring("outgrown the scales"));
  check_inertia(solver.report(), n, m, 0);
  CHECK_FALSE(solver.increase_quality());
  check_solution(solver, A);
}

}  // namespace lutra::Test
