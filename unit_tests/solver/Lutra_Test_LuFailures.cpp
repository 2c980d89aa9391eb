// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "Lutra_KrylovSolver.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestFactorization.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Indices = std::vector<std::int64_t>;

/// A numeric object for diag(d₀, d₁, …) whose factorization follows a script.
template <class Types>
struct Scripted {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  using Numeric = lutra::Numeric<Scalar, Space>;
  using Rows = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Types::Memory>;

  explicit Scripted(const std::vector<double>& diagonal, const LuOptions& options = {})
      : Scripted(diagonal_matrix(diagonal), options) {}
  /// For any matrix; the factorization divides by its first n values.
  Scripted(const Matrix<Types>& matrix, const LuOptions& options) : A(matrix) {
    Solver<Types> solver;
    succeed(solver.analyze(A));
    auto analysis = std::make_shared<typename Solver<Types>::analysis_type>(*solver.analysis());
    const auto plan = std::make_shared<ScriptedPlan<Scalar, Space>>();
    script = plan->script;
    analysis->plan = plan;
    numeric = std::make_unique<Numeric>(analysis, options);
  }
  Status factorize() { return numeric->factorize(to_space<Space>(A)); }
  /// Solves for k equal right-hand sides A·(1, 1, …).
  Status solve(std::size_t k = 1) {
    const auto n = A.values.size();
    Rows B("B", n, k);
    X = Rows("X", n, k);
    const auto host = Kokkos::create_mirror_view(B);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t c = 0; c < k; ++c) host(i, c) = A.values[i];
    }
    Kokkos::deep_copy(B, host);
    return numeric->solve(B, X);
  }
  static Matrix<Types> diagonal_matrix(const std::vector<double>& diagonal) {
    std::vector<std::vector<double>> picture(diagonal.size(), std::vector<double>(diagonal.size(), nothing));
    for (std::size_t i = 0; i < diagonal.size(); ++i) picture[i][i] = diagonal[i];
    return from_dense<Matrix<Types>>(picture);
  }
  const Report& report() const { return numeric->report(); }
  bool reports_solution() const {
    return report().errors.backward_componentwise || report().errors.backward_normwise ||
           report().times.solve || report().times.refine;
  }

  Matrix<Types> A;
  std::shared_ptr<Script> script;
  std::unique_ptr<Numeric> numeric;
  Rows X;
};

/// 1, 2, …, n.
std::vector<double> ascending(std::size_t n) {
  std::vector<double> result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = static_cast<double>(i + 1);
  return result;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("after a timeout nothing is reported as solved", "[solver]", AllTypes) {
  Scripted<TestType> scripted(ascending(5));
  succeed(scripted.factorize());
  REQUIRE(scripted.solve() == Status::success);
  REQUIRE(scripted.reports_solution());
  SECTION("in a solve") {
    scripted.script->stopped = 3;
    scripted.script->share = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(scripted.solve(), TimeoutError);
    CHECK(scripted.report().status == Status::not_solved);
    CHECK_FALSE(scripted.reports_solution());
    scripted.script->share = 1;
    CHECK(scripted.solve() == Status::success);  // the factors are still there
  }
  SECTION("in a factorization") {
    scripted.script->factorize_stops = true;
    CHECK_THROWS_AS(scripted.factorize(), TimeoutError);
    CHECK(scripted.report().status == Status::not_solved);
    CHECK_FALSE(scripted.reports_solution());
    CHECK_THROWS_AS(scripted.solve(), CallOrderError);
    scripted.script->factorize_stops = false;
    succeed(scripted.factorize());
    CHECK(scripted.solve() == Status::success);
  }
}

TEMPLATE_LIST_TEST_CASE("after a timeout no Krylov method reports a solution", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Krylov = KrylovSolver<Scalar, typename TestType::Space>;
  const Scripted<TestType> scripted(ascending(5));
  KrylovSolverOptions options;
  options.preconditioning = Preconditioning::lu;
  options.method = KrylovMethod::gmres;
  Krylov solver(options);
  const auto A = to_space<typename TestType::Space>(scripted.A);
  succeed(solver.analyze(A, scripted.numeric->analysis()));
  succeed(solver.factorize(A));
  const auto b = to_space<typename TestType::Space>(scripted.A.values);
  const Kokkos::View<Scalar*, typename TestType::Memory> x("x", 5);
  REQUIRE(solver.solve(b, x) == Status::success);
  scripted.script->stopped = 3;
  scripted.script->share = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(solver.solve(b, x), ContainsSubstring("row 3"));
  CHECK(solver.report().status == Status::not_solved);
  CHECK_FALSE(solver.report().iterations.has_value());
  CHECK_FALSE(solver.report().errors.backward_componentwise.has_value());
  scripted.script->share = 1;
  CHECK(solver.solve(b, x) == Status::success);  // the preconditioner is still there
  // An analysis of another pattern, and for another preconditioner, changes nothing.
  const auto other = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
  CHECK_THROWS_AS(solver.analyze(to_space<typename TestType::Space>(other), scripted.numeric->analysis()),
                  InputError);
  CHECK(solver.solve(b, x) == Status::success);
  options.preconditioning = Preconditioning::ilu;
  CHECK_THROWS_AS(Krylov(options).analyze(A, scripted.numeric->analysis()), InputError);
}

TEMPLATE_LIST_TEST_CASE("the report says that memory has run out", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  SECTION("in a factorization") {
    Scripted<TestType> scripted(ascending(5));
    succeed(scripted.factorize());
    REQUIRE(scripted.solve() == Status::success);
    scripted.script->factorize_lacks_memory = true;
    CHECK_THROWS_AS(scripted.factorize(), OutOfMemoryError);
    CHECK(scripted.report().status == Status::out_of_memory);
    CHECK_FALSE(scripted.reports_solution());
    CHECK_THROWS_AS(scripted.solve(), CallOrderError);
  }
  SECTION("where perturbed pivots are looked at: factors of unknown worth are not used") {
    LuOptions options;
    options.memory_limit = 1000 * sizeof(Scalar) + 512;  // values, but no workspace
    Scripted<TestType> scripted(ascending(1000), options);
    scripted.script->perturbed = 1;
    CHECK_THROWS_AS(scripted.factorize(), OutOfMemoryError);
    CHECK(scripted.report().status == Status::out_of_memory);
    CHECK_THROWS_AS(scripted.solve(), CallOrderError);
  }
  SECTION("in a solve") {
    LuOptions options;
    options.memory_limit = 1000 * 8 * sizeof(Scalar);  // one right-hand side, but not seven
    Scripted<TestType> scripted(ascending(1000), options);
    succeed(scripted.factorize());
    REQUIRE(scripted.solve() == Status::success);
    CHECK_THROWS_AS(scripted.solve(7), OutOfMemoryError);
    CHECK(scripted.report().status == Status::out_of_memory);
    CHECK_FALSE(scripted.reports_solution());
    CHECK(scripted.solve() == Status::success);
  }
}

TEMPLATE_LIST_TEST_CASE("without memory for GMRES the refined solution is kept", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  LuOptions options;
  options.memory_limit = 1000 * 8 * sizeof(Scalar);
  Scripted<TestType> scripted(ascending(1000), options);
  scripted.script->share = 0.5;  // refinement halves the error, ten times
  succeed(scripted.factorize());
  CHECK(scripted.solve() == Status::error_above_tolerance);
  REQUIRE(scripted.report().escalations.size() == 1);
  CHECK(scripted.report().escalations[0].find("no memory for GMRES") != std::string::npos);
  const auto x = to_vector(Kokkos::subview(scripted.X, Kokkos::ALL, 0));
  for (const Scalar& value : x)
    CHECK(std::abs(static_cast<double>(ScalarTraits<Scalar>::magnitude(value)) - 1.0) < 1e-3);
  const auto errors = Reference::backward_errors(scripted.A, x, scripted.A.values);
  const auto reported = *scripted.report().errors.backward_componentwise;
  CHECK(std::abs(reported - static_cast<double>(errors.componentwise)) <= 0.01 * reported);
  LuOptions ample;
  Scripted<TestType> rich(ascending(1000), ample);
  rich.script->share = 0.5;
  succeed(rich.factorize());
  CHECK(rich.solve() == Status::success);
}

TEMPLATE_LIST_TEST_CASE("any budget that fits the first solution keeps a solution with a known error",
                        "[solver]", AllTypes) {
  // A row of 500 entries, of which devices keep a list for each operator; a transposed solve has the operator
  // of the transpose alone, until GMRES is followed by a search for a null vector of A.
  using Scalar = typename TestType::Scalar;
  std::vector<std::vector<double>> picture(500, std::vector<double>(500, nothing));
  for (std::size_t i = 0; i < 500; ++i) {
    picture[499][i] = i == 0 ? 1 : 1e-3;  // the first 500 values are those the factorization divides by
    picture[i][i] = 1;
  }
  const auto A = from_dense<Matrix<TestType>>(picture);
  const std::vector<Scalar> b(500, Scalar(1));
  const auto transposed = Reference::transpose(A, false);
  const auto solve = [&](const LuOptions& options) {
    Scripted<TestType> scripted(A, options);
    scripted.script->share = 0.5;  // refinement halves the error, ten times
    succeed(scripted.factorize());
    const auto device_b = to_space<typename TestType::Space>(b);
    const auto device_x = to_space<typename TestType::Space>(b);
    const Status status = scripted.numeric->solve(device_b, device_x, Transposition::transposed);
    const auto reported = *scripted.report().errors.backward_componentwise;
    const auto x = to_vector(device_x);
    const auto errors = Reference::backward_errors(transposed, x, b);
    CHECK(std::abs(reported - static_cast<double>(errors.componentwise)) <=
          0.01 * reported + static_cast<double>(epsilon_of<Scalar>));
    CHECK(status == scripted.report().status);
    CHECK(scripted.report().escalations.size() == 1);
    return std::pair(scripted.report().memory.device_peak_bytes, status);
  };
  const auto [all, status] = solve({});
  REQUIRE(status == Status::success);
  const std::size_t basis = 500 * sizeof(Scalar);  // one vector; GMRES takes 121, 61 or 31
  LuOptions options;
  for (const std::size_t less : {std::size_t(1), 64 * basis, 96 * basis}) {
    options.memory_limit = all - less;
    INFO("limit " << options.memory_limit << " of " << all);
    CHECK(solve(options).second == (less <= 64 * basis ? Status::success : Status::error_above_tolerance));
  }
}

TEMPLATE_LIST_TEST_CASE("a null vector search without memory keeps the result of GMRES", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  Scripted<TestType> scripted(ascending(50));
  scripted.script->share = 0.5;
  scripted.script->plain_apply_lacks_memory = true;  // the first plain solve allocates, after transposed ones
  succeed(scripted.factorize());
  const auto b = to_space<typename TestType::Space>(scripted.A.values);
  const auto x = to_space<typename TestType::Space>(std::vector<Scalar>(50, Scalar(7)));
  CHECK(scripted.numeric->solve(b, x, Transposition::transposed) == Status::success);
  CHECK(Reference::backward_errors(scripted.A, to_vector(x), scripted.A.values).componentwise <=
        tight_bound<Scalar>());
  REQUIRE(scripted.report().escalations.size() == 2);
  CHECK(scripted.report().escalations[1].find("no memory for GMRES on a null vector") != std::string::npos);
}

TEMPLATE_LIST_TEST_CASE("copies of host data are charged to the memory limit and leave the solver unchanged",
                        "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename TestType::Memory>;
  constexpr std::size_t k = 16;
  std::mt19937 random(53);
  const auto A = chains_of_blocks<Matrix<TestType>>(100, 10, 1, random);
  const auto n = static_cast<std::size_t>(A.n_rows);
  const auto device_A = to_space<Space>(A);
  const auto system = known_system(A);
  const auto matrix_bytes = A.entries.size() * (sizeof(Scalar) + sizeof(typename TestType::Ordinal)) +
                            A.row_map.size() * sizeof(typename TestType::Offset);
  Columns B("B", n, k), X("X", n, k);
  const auto host_B = Kokkos::create_mirror_view(B);
  for (std::size_t c = 0; c < k; ++c) {
    for (std::size_t i = 0; i < n; ++i) host_B(i, c) = system.b[i];
  }
  Kokkos::deep_copy(B, host_B);
  LuOptions options;
  options.engine = Engine::multifrontal;
  const auto peak = [](const Solver<TestType>& solver) { return solver.report().memory.device_peak_bytes; };
  const auto solves = [&](Solver<TestType>& solver) {
    Kokkos::deep_copy(X, Scalar(0));
    REQUIRE(solver.solve(B, X) == Status::success);
    const auto x = to_vector(Kokkos::subview(X, Kokkos::ALL, k - 1));
    CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
  };
  Solver<TestType> ample(options);
  succeed(ample.analyze(device_A));
  succeed(ample.factorize(device_A));
  const auto before_solve = peak(ample);
  solves(ample);
  REQUIRE(peak(ample) > before_solve);  // so that all of the peak stays in use
  options.memory_limit = peak(ample);
  Solver<TestType> solver(options);
  succeed(solver.analyze(device_A));
  succeed(solver.factorize(device_A));
  solves(solver);
  REQUIRE(peak(solver) + matrix_bytes > options.memory_limit);
  std::vector<Scalar> b(n * k, Scalar(1)), x(n * k, Scalar(7));
  if constexpr (lutra::Impl::is_host_space<Space>) {  // nothing is copied
    CHECK_NOTHROW(solver.factorize(A));
    CHECK(solver.solve_host(b, x) == Status::success);
  } else {
    const auto analysis = solver.analysis();
    const auto error = solver.report().errors.backward_componentwise;
    CHECK_THROWS_AS(solver.factorize(A), OutOfMemoryError);
    CHECK_THROWS_AS(solver.solve_host(b, x), OutOfMemoryError);
    CHECK_THROWS_AS(solver.analyze(A), OutOfMemoryError);
    CHECK(x == std::vector<Scalar>(n * k, Scalar(7)));
    CHECK(solver.analysis() == analysis);
    CHECK(solver.report().status == Status::success);
    CHECK(solver.report().errors.backward_componentwise == error);
  }
  solves(solver);
  options.memory_limit = matrix_bytes - 1;
  Solver<TestType> tiny(options);
  CHECK_THROWS_AS(tiny.analyze(A), OutOfMemoryError);
  CHECK(tiny.analysis() == nullptr);
  CHECK(tiny.report().status == Report().status);
  CHECK_THROWS_AS(tiny.factorize(A), CallOrderError);
}

TEMPLATE_LIST_TEST_CASE("a caller's mistake changes neither report nor X", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using View = Kokkos::View<Scalar**, typename TestType::Memory>;
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  const auto system = known_system(A);
  Solver<TestType> solver;
  std::vector<Scalar> x(2);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  REQUIRE(solver.solve_host(system.b, x) == Status::success);
  const auto error = solver.report().errors.backward_componentwise;
  const auto stands = [&] {
    CHECK(solver.report().status == Status::success);
    CHECK(solver.report().errors.backward_componentwise == error);
  };
  auto bad = A;
  bad.values[1] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  CHECK_THROWS_AS(solver.factorize(bad), InputError);
  stands();
  CHECK_THROWS_AS(solver.solve(View("B", 3, 1), View("X", 3, 1)), InputError);
  stands();
  for (const std::size_t k : {std::size_t(1), std::size_t(20)}) {
    std::vector<Scalar> b(2 * k, Scalar(1)), y(2 * k, Scalar(7));
    b.back() = Scalar(std::numeric_limits<RealOf<Scalar>>::infinity());
    CHECK_THROWS_AS(solver.solve_host(b, y), InputError);
    stands();
    CHECK(y == std::vector<Scalar>(2 * k, Scalar(7)));
  }
}

TEMPLATE_LIST_TEST_CASE("singular rows are named once for any number of right-hand sides", "[solver]",
                        AllTypes) {
  Scripted<TestType> scripted({1, 2, 3, 0, 5});
  scripted.script->share = 0.5;  // refinement stalls, and GMRES shows the null vector
  succeed(scripted.factorize());
  CHECK(scripted.report().status == Status::not_solved);
  CHECK(scripted.solve(40) == Status::numerically_singular);
  CHECK(scripted.report().singular_rows == Indices{3});
  CHECK(scripted.report().singular_columns == Indices{3});
  CHECK(scripted.reports_solution());
  CHECK(scripted.solve(2) == Status::numerically_singular);
  CHECK(scripted.report().singular_rows == Indices{3});
  CHECK_FALSE(scripted.reports_solution());  // nothing was solved
}

TEMPLATE_LIST_TEST_CASE("a larger perturbation applies to one factorization only", "[solver]", AllTypes) {
  Scripted<TestType> scripted(ascending(4));
  scripted.script->perturbed = 1;
  scripted.script->growth = 1e30;
  succeed(scripted.factorize());
  REQUIRE(scripted.script->perturbations.size() == 2);
  const double smaller = scripted.script->perturbations[0], larger = scripted.script->perturbations[1];
  CHECK(larger > smaller);
  CHECK(scripted.report().escalations.size() == 1);
  scripted.script->perturbations.clear();
  scripted.script->growth = 1;
  succeed(scripted.factorize());
  CHECK(scripted.script->perturbations == std::vector<double>{smaller});
  CHECK(scripted.report().escalations.empty());
}

TEMPLATE_LIST_TEST_CASE("growth whose rounding errors exceed half of the larger perturbation escalates",
                        "[solver]", AllTypes) {
  const double epsilon = static_cast<double>(epsilon_of<typename TestType::Scalar>);
  const double most = std::min(1e-3, std::pow(epsilon, 5.0 / 16.0) / 2) / epsilon;
  for (const double growth : {0.9 * most, 1.1 * most}) {
    Scripted<TestType> scripted(ascending(4));
    scripted.script->perturbed = 1;
    scripted.script->growth = growth;
    succeed(scripted.factorize());
    CHECK(scripted.script->perturbations.size() == (growth > most ? 2 : 1));
  }
}

TEMPLATE_LIST_TEST_CASE("a non-finite solution is a breakdown at any tolerance", "[solver]", AllTypes) {
  LuOptions options;
  options.error_tolerance = std::numeric_limits<double>::max();
  options.max_refinement_steps = 0;
  Scripted<TestType> scripted(ascending(3), options);
  scripted.script->share = std::numeric_limits<double>::infinity();
  succeed(scripted.factorize());
  CHECK(scripted.solve() == Status::breakdown);
  for (const double unbounded :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    options.error_tolerance = unbounded;
    CHECK_THROWS_AS(Solver<TestType>(options), InputError);
  }
}

TEMPLATE_LIST_TEST_CASE("a solve without right-hand sides reports no earlier errors", "[solver]", AllTypes) {
  Scripted<TestType> scripted(ascending(3));
  succeed(scripted.factorize());
  REQUIRE(scripted.solve(1) == Status::success);
  REQUIRE(scripted.reports_solution());
  CHECK(scripted.solve(0) == Status::success);
  CHECK_FALSE(scripted.reports_solution());
}

TEMPLATE_LIST_TEST_CASE("singular matrices are solved with perturbed factors on request", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = from_dense<Matrix<TestType>>({{1, -1, nothing}, {-1, 2, -1}, {nothing, -1, 1}});
  const auto system = known_system(A);  // has solutions
  for (const bool solve_singular : {false, true}) {
    LuOptions options;
    options.solve_singular = solve_singular;
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    CHECK(solver.factorize(A) == Status::numerically_singular);
    CHECK(solver.report().status == Status::numerically_singular);
    std::vector<Scalar> x(3, Scalar(7));
    CHECK(solver.solve_host(system.b, x) == Status::numerically_singular);
    CHECK(solver.report().errors.backward_componentwise.has_value() == solve_singular);
    if (solve_singular) {
      CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
    } else {
      CHECK(x == std::vector<Scalar>(3, Scalar(7)));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("an analysis that does not fit beside the old one leaves that one usable", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(71);
  const auto A = permuted_matrix<Matrix<TestType>>(300, 3.0, random);
  const auto B = permuted_matrix<Matrix<TestType>>(300, 3.0, random);
  std::vector<Scalar> x(300);
  const auto solves = [&](Solver<TestType>& solver, const Matrix<TestType>& matrix) {
    const auto system = known_system(matrix);
    REQUIRE(solver.solve_host(system.b, x) == Status::success);
    CHECK(Reference::backward_errors(matrix, x, system.b).componentwise <= tight_bound<Scalar>());
  };
  LuOptions options;
  options.engine = Engine::multifrontal;
  std::size_t peak = 0;
  for (const auto& matrix : {A, B}) {
    Solver<TestType> alone(options);
    succeed(alone.analyze(matrix));
    succeed(alone.factorize(matrix));
    solves(alone, matrix);
    peak = std::max(peak, alone.report().memory.device_peak_bytes);
  }
  options.memory_limit = peak;  // for either, but not for both
  Solver<TestType> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  solves(solver, A);
  const auto analysis = solver.analysis();
  CHECK_THROWS_AS(solver.analyze(B), OutOfMemoryError);
  CHECK(solver.analysis() == analysis);
  CHECK(solver.report().status == Status::success);
  solves(solver, A);
  Solver<TestType> fresh(options);
  succeed(fresh.analyze(B));
  succeed(fresh.factorize(B));
  solves(fresh, B);
}

}  // namespace lutra::Test
