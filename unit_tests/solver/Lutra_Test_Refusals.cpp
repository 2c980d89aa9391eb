// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "Lutra_KrylovSolver.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

/// An enumeration is refused where its value is none, and taken where it is one.
template <class Options, class Base, class Enum>
void check_range(Enum Base::*field, Enum last, const std::string& name) {
  Options options;
  for (const int number : {99, -1, static_cast<int>(last) + 1}) {
    options.*field = static_cast<Enum>(number);
    CHECK_THROWS_AS(check_options(options), InputError);
    CHECK_THROWS_WITH(check_options(options), Equals(name + " has no value " + std::to_string(number)));
  }
}

/// A permutation without Ordering::user, and the reverse.
template <class Options>
void check_permutation_and_ordering() {
  Options options;
  options.user_permutation = {1, 0};
  CHECK_THROWS_WITH(check_options(options), Equals("options: user_permutation needs Ordering::user"));
  options.ordering = Ordering::amd;
  CHECK_THROWS_WITH(check_options(options), Equals("options: user_permutation needs Ordering::user"));
  options.ordering = Ordering::user;
  CHECK_NOTHROW(check_options(options));
  options.user_permutation = {};
  CHECK_THROWS_WITH(check_options(options), Equals("options: Ordering::user needs user_permutation"));
}

}  // namespace

TEST_CASE("enumerations out of range are refused by name", "[solver][errors]") {
  check_range<LuOptions>(&LuOptions::ordering, Ordering::user, "options: ordering");
  check_range<LuOptions>(&LuOptions::matching, Matching::exact, "options: matching");
  check_range<LuOptions>(&LuOptions::engine, Engine::multifrontal, "options: engine");
  check_range<LuOptions>(&LuOptions::trisolve, TrisolveMethod::supernodal, "options: trisolve");
  check_range<LuOptions>(&LuOptions::solve_precision, FactorPrecision::single, "options: solve_precision");
  check_range<LuOptions>(&LuOptions::symbolic, SymbolicMethod::ancestors, "options: symbolic");
  check_range<LuOptions>(&LuOptions::pivoting, Pivoting::threshold, "options: pivoting");
  check_range<LdltOptions>(&LdltOptions::symmetry, Symmetry::hermitian, "options: symmetry");
  check_range<LdltOptions>(&LdltOptions::triangle, Triangle::both, "options: triangle");
  check_range<LdltOptions>(&LdltOptions::ordering, Ordering::user, "options: ordering");
  check_range<LdltOptions>(&LdltOptions::matching, Matching::exact, "options: matching");
  check_range<LdltOptions>(&LdltOptions::pivoting, Pivoting::threshold, "options: pivoting");
  check_range<SparseIluOptions>(&SparseIluOptions::ordering, Ordering::user, "options: ordering");
  check_range<SparseIluOptions>(&SparseIluOptions::matching, Matching::exact, "options: matching");
  check_range<SparseIluOptions>(&SparseIluOptions::trisolve, TrisolveMethod::supernodal, "options: trisolve");
  check_range<IluOptions>(&IluOptions::method, IluMethod::parilut, "options: method");
  check_range<IluOptions>(&IluOptions::fill_rule, FillRule::row, "options: fill_rule");
  check_range<IluOptions>(&IluOptions::schedule, IluSchedule::syncfree, "options: schedule");
  check_range<IluOptions>(&IluOptions::apply, IluApply::jacobi, "options: apply");
  check_range<KrylovSolverOptions>(&KrylovSolverOptions::method, KrylovMethod::gmres, "options: method");
  check_range<KrylovSolverOptions>(&KrylovSolverOptions::preconditioning, Preconditioning::lu,
                                   "options: preconditioning");
  KrylovSolverOptions options;
  options.side = static_cast<PreconditionSide>(3);
  CHECK_THROWS_WITH(check_options(options), Equals("options: side has no value 3"));
  options = {};
  options.lu.engine = static_cast<Engine>(99);
  CHECK_THROWS_WITH(check_options(options), Equals("options: lu.engine has no value 99"));
}

TEST_CASE("numbers out of range are refused by name, value and range", "[solver][errors]") {
  LuOptions lu;
  lu.pivot_threshold = 2;
  CHECK_THROWS_WITH(check_options(lu),
                    Equals("options: pivot_threshold: 2 is out of range (above 0 and at most 1)"));
  lu = {};
  lu.error_tolerance = -1;
  CHECK_THROWS_WITH(check_options(lu), Equals("options: tolerance: -1 is out of range (above 0)"));
  LdltOptions ldlt;
  ldlt.zero_tolerance = 1;
  CHECK_THROWS_WITH(check_options(ldlt),
                    Equals("options: zero_tolerance: 1 is out of range (above 0 and below 1)"));
  SolverOptions solver;
  solver.krylov.ilu.jacobi_sweeps = 0;
  CHECK_THROWS_WITH(check_options(solver),
                    Equals("options: krylov.ilu.jacobi_sweeps: 0 is out of range (1 or more)"));
}

TEST_CASE("a permutation requires Ordering::user and Ordering::user a permutation", "[solver][errors]") {
  check_permutation_and_ordering<LuOptions>();
  check_permutation_and_ordering<LdltOptions>();
  check_permutation_and_ordering<SparseIluOptions>();
}

TEMPLATE_LIST_TEST_CASE("a solve accepts only the three transpositions", "[solver][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto A = from_dense<Matrix<TestType>>({{4, 1}, {1, 3}});
  const auto op = static_cast<Transposition>(3);
  const auto check = [&](auto&& solver, const auto& solve) {
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    std::vector<Scalar> x{Scalar(5), Scalar(4)};
    CHECK_THROWS_WITH(solve(solver, x, op), Equals("op has no value 3"));
    CHECK(x == std::vector<Scalar>{Scalar(5), Scalar(4)});
    solve(solver, x, Transposition::none);
    CHECK(ScalarTraits<Scalar>::magnitude(x[0] - Scalar(1)) < 100 * epsilon_of<Scalar>);
  };
  const auto solve_host = [](auto& solver, std::vector<Scalar>& x, Transposition how) {
    solver.solve_host(x, x, how);
  };
  check(SparseLU<Scalar, Space>(), solve_host);
  check(SparseLDLT<Scalar, Space>(), solve_host);
  check(KrylovSolver<Scalar, Space>(), solve_host);
  check(SparseILU<Scalar, Space>(),
        [](auto& solver, std::vector<Scalar>& x, Transposition how) { solver.apply_host(x, x, how); });
}

TEMPLATE_LIST_TEST_CASE("a missing analysis is a CallOrderError", "[solver][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Lu = Numeric<Scalar, Space>;
  using Ldlt = Numeric<Scalar, Space>;
  using Ilu = SparseILU<Scalar, Space>;
  const SparseLU<Scalar, Space> lu;
  const SparseLDLT<Scalar, Space> ldlt;
  const Ilu ilu;
  CHECK_THROWS_AS(Lu(lu.analysis()), CallOrderError);
  CHECK_THROWS_AS(Ldlt(ldlt.analysis()), CallOrderError);
  CHECK_THROWS_AS(Ilu(ilu.analysis()), CallOrderError);
  CHECK_THROWS_WITH(Lu(lu.analysis()), ContainsSubstring("there is no analysis; call analyze"));
  CHECK_THROWS_WITH(Ldlt(ldlt.analysis()), ContainsSubstring("there is no analysis; call analyze"));
  CHECK_THROWS_WITH(Ilu(ilu.analysis()), ContainsSubstring("there is no analysis; call analyze"));

  const auto A = from_dense<Matrix<TestType>>({{4, 1}, {1, 3}});
  const auto check = [&](auto& solver, auto&& numeric) {  // which keeps what it has
    succeed(numeric.factorize(to_space<Space>(A)));
    const auto analysis = numeric.analysis();
    CHECK_THROWS_AS(numeric.set_analysis(nullptr), CallOrderError);
    CHECK_THROWS_WITH(numeric.set_analysis(nullptr), ContainsSubstring("set_analysis: there is no analysis"));
    CHECK(numeric.analysis() == analysis);
    const auto x = to_space<Space>(std::vector<Scalar>{Scalar(5), Scalar(4)});
    CHECK(numeric.solve(x, x) == Status::success);
    CHECK(ScalarTraits<Scalar>::magnitude(to_vector(x)[0] - Scalar(1)) < 100 * epsilon_of<Scalar>);
    numeric.set_analysis(solver.analysis());
    CHECK_THROWS_AS(numeric.solve(x, x), CallOrderError);
  };
  SparseLU<Scalar, Space> analyzed;
  succeed(analyzed.analyze(A));
  check(analyzed, Lu(analyzed.analysis()));
  SparseLDLT<Scalar, Space> symmetric;
  succeed(symmetric.analyze(A));
  check(symmetric, Ldlt(symmetric.analysis()));
}

}  // namespace lutra::Test
