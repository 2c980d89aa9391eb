// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "Lutra_Solver.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

template <class Types>
using AutoSolver = lutra::Solver<typename Types::Scalar, typename Types::Space>;

/// A model by which LDLᵀ and Cholesky take half of LU's time, on any matrix.
SolverOptions symmetric_is_faster() {
  SolverOptions options;
  DeviceModel model = host_device_model();
  model.symmetric.cholesky = model.symmetric.ldlt = model.symmetric.ldlt_zero_diagonals = 0.5;
  model.numeric.min_flops_per_entry = 0;
  options.device_model = model;
  return options;
}

/// The 5-point stencil, symmetric and dominant; its diagonal times `diagonal`, and one entry more `skewed`.
template <class Types>
HostMatrix<typename Types::Scalar> grid(double diagonal = 1, double skewed = 0) {
  using Scalar = typename Types::Scalar;
  constexpr int m = 6;
  HostMatrix<Scalar> A{m * m, m * m, {0}, {}, {}};
  for (int i = 0; i < m * m; ++i) {
    const auto add = [&](int j, double value) {
      A.entries.push_back(j);
      A.values.push_back(as_scalar<Scalar>(value));
    };
    if (i >= m) add(i - m, -1);
    if (i % m > 0) add(i - 1, -1);
    add(i, 4.5 * diagonal);
    if (i % m < m - 1) add(i + 1, i == 0 ? -1 + skewed : -1);
    if (i < m * m - m) add(i + m, -1);
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  return A;
}

template <class Types, class Solver>
void check_solved(Solver& solver, const HostMatrix<typename Types::Scalar>& A) {
  using Scalar = typename Types::Scalar;
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  CHECK(solver.solve_host(system.b, x) == Status::success);
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    error = std::max(error, static_cast<double>(Kokkos::abs(x[i] - system.x[i])));
  CHECK(error <= 1e4 * static_cast<double>(epsilon_of<Scalar>));
}

bool has_escalation(const Report& report, const std::string& text) {
  return std::ranges::any_of(report.escalations,
                             [&](const std::string& e) { return e.find(text) != std::string::npos; });
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a solver chooses its method and says why", "[solver]", AllTypes) {
  AutoSolver<TestType> solver(symmetric_is_faster());
  CHECK(solver.method() == Method::automatic);
  const auto skewed = grid<TestType>(1, 0.5);
  CHECK(solver.analyze(skewed) == Status::success);
  CHECK(solver.method() == Method::lu);
  CHECK(solver.factorize(skewed) == Status::success);
  CHECK_THAT(solver.report().choice.why, ContainsSubstring("lu: the matrix is not symmetric"));
  check_solved<TestType>(solver, skewed);
  CHECK(solver.report().choice.method == "lu");

  const auto dominant = grid<TestType>();
  CHECK(solver.analyze(dominant) == Status::success);
  CHECK(solver.method() == Method::cholesky);
  CHECK(solver.factorize(dominant) == Status::success);
  check_solved<TestType>(solver, dominant);
  CHECK(solver.report().choice.method == "cholesky");
  CHECK_THAT(solver.report().choice.why, ContainsSubstring("diagonally dominant"));
}

TEMPLATE_LIST_TEST_CASE("a chosen method is replaced by one that fits the new values", "[solver]", AllTypes) {
  AutoSolver<TestType> solver(symmetric_is_faster());
  const auto dominant = grid<TestType>(), indefinite = grid<TestType>(0.1), skewed = grid<TestType>(1, 0.5);
  REQUIRE(solver.analyze(dominant) == Status::success);
  REQUIRE(solver.factorize(dominant) == Status::success);
  CHECK(solver.factorize(indefinite) == Status::success);
  CHECK(solver.method() == Method::ldlt);
  CHECK(has_escalation(solver.report(), "not positive definite"));
  check_solved<TestType>(solver, indefinite);
  CHECK(solver.factorize(skewed) == Status::success);
  CHECK(solver.method() == Method::lu);
  CHECK(has_escalation(solver.report(), "no longer symmetric"));
  check_solved<TestType>(solver, skewed);
  CHECK(solver.factorize(dominant) == Status::success);  // LU serves it, too
  CHECK(solver.method() == Method::lu);
  CHECK_FALSE(has_escalation(solver.report(), "no longer symmetric"));
  check_solved<TestType>(solver, dominant);
}

TEMPLATE_LIST_TEST_CASE("a solver uses the method that is requested", "[solver]", AllTypes) {
  const auto A = grid<TestType>();
  const std::vector<std::pair<Method, std::string>> methods = {
      {Method::lu, "lu"}, {Method::ldlt, "ldlt"}, {Method::cholesky, "cholesky"}, {Method::krylov, "gmres"}};
  for (const auto& [method, name] : methods) {
    SolverOptions options;
    options.method = method;
    AutoSolver<TestType> solver(options);
    INFO(name);
    CHECK(solver.analyze(A) == Status::success);
    CHECK(solver.factorize(A) == Status::success);
    CHECK(solver.method() == method);
    CHECK(solver.report().choice.method == name);
    std::vector<typename TestType::Scalar> x(36), b = known_system(A).b;
    CHECK(solver.solve_host(b, x) == Status::success);
  }
  SolverOptions options;
  options.method = Method::cholesky;
  AutoSolver<TestType> solver(options);
  const auto indefinite = grid<TestType>(0.1);
  CHECK(solver.analyze(indefinite) == Status::success);
  CHECK(solver.factorize(indefinite) == Status::not_positive_definite);  // asked for, so it does not give way
  options.method = Method::ldlt;
  AutoSolver<TestType> symmetric(options);
  CHECK_THROWS_AS(symmetric.analyze(grid<TestType>(1, 0.5)), InputError);
}

TEMPLATE_LIST_TEST_CASE("a chosen method checks symmetry without validate_input", "[solver]", AllTypes) {
  SolverOptions options = symmetric_is_faster();
  options.validate_input = false;
  AutoSolver<TestType> solver(options);
  const auto dominant = grid<TestType>(), skewed = grid<TestType>(1, 0.5);
  REQUIRE(solver.analyze(dominant) == Status::success);
  CHECK(solver.factorize(skewed) == Status::success);
  CHECK(solver.method() == Method::lu);
  check_solved<TestType>(solver, skewed);
}

TEMPLATE_LIST_TEST_CASE("complex symmetric and Hermitian values follow each other", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    HostMatrix<Scalar> symmetric{
        2, 2, {0, 2, 4}, {0, 1, 0, 1}, {Scalar(1, 1), Scalar(0, 2), Scalar(0, 2), Scalar(3, 1)}};
    HostMatrix<Scalar> hermitian{
        2, 2, {0, 2, 4}, {0, 1, 0, 1}, {Scalar(1), Scalar(0, 2), Scalar(0, -2), Scalar(3)}};
    AutoSolver<TestType> solver(symmetric_is_faster());
    REQUIRE(solver.analyze(symmetric) == Status::success);
    for (const auto* const A : {&symmetric, &hermitian, &symmetric}) {
      CHECK(solver.factorize(*A) == Status::success);
      CHECK(solver.method() == Method::ldlt);
      check_solved<TestType>(solver, *A);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("without memory for the replacement there are no factors", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  // matrices where the solver works: without memory for a copy of one on the host nothing would have changed
  const auto values = grid<TestType>(1, 0.5);
  const auto dominant = to_space<Space>(grid<TestType>()), skewed = to_space<Space>(values);
  std::vector<Scalar> x(36), b(36, Scalar(1));
  MemoryBudget budget;
  AutoSolver<TestType> solver(symmetric_is_faster(), Space(), budget);
  REQUIRE(solver.analyze(dominant) == Status::success);
  REQUIRE(solver.factorize(dominant) == Status::success);
  REQUIRE(solver.solve_host(b, x) == Status::success);
  budget.set_limit(budget.used_bytes() + 2000);
  CHECK_THROWS_AS(solver.factorize(skewed), OutOfMemoryError);
  CHECK(solver.report().status == Status::out_of_memory);
  CHECK_FALSE(solver.report().errors.backward_componentwise);
  CHECK_THROWS_AS(solver.solve_host(b, x), CallOrderError);
  budget.set_limit(0);
  CHECK(solver.factorize(skewed) == Status::success);
  check_solved<TestType>(solver, values);
}

TEMPLATE_LIST_TEST_CASE("a solver refuses what its method refuses and changes nothing", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  AutoSolver<TestType> solver(symmetric_is_faster());
  std::vector<Scalar> x(36), b(36, Scalar(1));
  const auto A = grid<TestType>();
  CHECK_THROWS_AS(solver.factorize(A), CallOrderError);
  CHECK_THROWS_AS(solver.solve_host(b, x), CallOrderError);
  REQUIRE(solver.analyze(A) == Status::success);
  REQUIRE(solver.factorize(A) == Status::success);
  auto bad = A;
  bad.values[3] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  CHECK_THROWS_AS(solver.factorize(bad), InputError);
  auto other = A;
  other.entries[0] = 2;
  other.entries[1] = 3;
  CHECK_THROWS_AS(solver.factorize(other), InputError);
  CHECK(solver.method() == Method::cholesky);
  check_solved<TestType>(solver, A);
  const auto indefinite = grid<TestType>(0.1);
  REQUIRE(solver.factorize(indefinite) == Status::success);
  CHECK_THROWS_AS(solver.factorize(bad), InputError);
  CHECK(has_escalation(solver.report(), "not positive definite"));  // of the factors there still are
  check_solved<TestType>(solver, indefinite);

  SolverOptions options;
  options.error_tolerance = -1;
  CHECK_THROWS_AS(AutoSolver<TestType>(options), InputError);
  options = {};
  options.method = Method(99);
  CHECK_THROWS_AS(AutoSolver<TestType>(options), InputError);
  options = {};
  options.ldlt.triangle = Triangle::lower;
  CHECK_THROWS_AS(AutoSolver<TestType>(options), InputError);
  options = {};
  options.ldlt.pivot_threshold = 5;
  CHECK_THROWS_AS(AutoSolver<TestType>(options), InputError);
  options = {};
  options.krylov.restart = 0;
  CHECK_THROWS_AS(AutoSolver<TestType>(options), InputError);
  options = symmetric_is_faster();
  options.lu.engine = Engine::multifrontal;  // an option of LU makes it LU
  AutoSolver<TestType> by_lu(options);
  CHECK(by_lu.analyze(A) == Status::success);
  CHECK(by_lu.method() == Method::lu);
}

}  // namespace lutra::Test
