// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <optional>
#include <string>

#include "Lutra_DiagonalPreconditioner.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_ScaledSystems.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_TestStatus.hpp"

// Units do not matter: A·2^p and b·2^q lead to the same decisions, counts and bits, but for exponents.

namespace lutra::Test {
namespace {

template <class Types>
using Krylov = KrylovSolver<typename Types::Scalar, typename Types::Space>;
template <class Types>
using Ilu = SparseILU<typename Types::Scalar, typename Types::Space>;

struct Choice {
  std::string name;
  Preconditioning kind;
  IluOptions ilu{};
};

/// Preconditioners; those that need a symmetric pattern and a Hermitian matrix too.
std::vector<Choice> preconditioners(bool hermitian) {
  std::vector<Choice> all{
      {"none", Preconditioning::none}, {"jacobi", Preconditioning::jacobi}, {"lu", Preconditioning::lu}};
  const auto add = [&](std::string name, IluMethod method, int level, bool symmetric) {
    IluOptions ilu;
    ilu.method = method;
    ilu.fill_level = level;
    ilu.symmetric = symmetric;
    ilu.deterministic = true;
    all.push_back({std::move(name), Preconditioning::ilu, ilu});
  };
  add("ilu0", IluMethod::iluk, 0, false);
  add("iluk", IluMethod::iluk, 2, false);
  add("parilu", IluMethod::parilu, 0, false);
  add("parilut", IluMethod::parilut, 0, false);
  if (!hermitian) return all;
  add("ic0", IluMethod::iluk, 0, true);
  add("paric", IluMethod::parilu, 0, true);
  add("parict", IluMethod::parilut, 0, true);
  return all;
}

/// What a solve leaves.
template <class Scalar>
struct Solved {
  Status status;
  Report report;
  std::vector<Scalar> x;
};

template <class Types>
Solved<typename Types::Scalar> solve(const KrylovSolverOptions& options, const Matrix<Types>& A,
                                     const std::vector<typename Types::Scalar>& b, Transposition op) {
  Krylov<Types> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  Solved<typename Types::Scalar> solved{Status::not_solved, {}, b};
  solved.status = solver.solve_host(b, solved.x, op);
  solved.report = solver.report();
  return solved;
}

template <class Types>
void check_powers(const Matrix<Types>& A, bool hermitian) {
  using Scalar = typename Types::Scalar;
  const auto b = known_system(A).b;
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::bicgstab, KrylovMethod::gmres}) {
    for (const Choice& choice : preconditioners(hermitian)) {
      KrylovSolverOptions options;
      options.method = method;
      options.preconditioning = choice.kind;
      static_cast<IluOptions&>(options.ilu) = choice.ilu;
      options.max_iterations = 60;
      options.restart = 12;
      const auto op = choice.name == "iluk" ? Transposition::adjoint : Transposition::none;
      const auto expected = solve<Types>(options, A, b, op);
      for (const auto& [p, q] : far_powers<Scalar>()) {
        CAPTURE(static_cast<int>(method), choice.name, p, q);
        const auto found = solve<Types>(options, matrix_times_power(A, p), times_power(b, q), op);
        CHECK(found.status == expected.status);
        CHECK(found.report.iterations == expected.report.iterations);
        CHECK(found.report.residual_history == expected.report.residual_history);
        CHECK(found.report.pivots.shift == expected.report.pivots.shift);
        CHECK(found.report.pivots.growth == expected.report.pivots.growth);
        CHECK(found.report.escalations == expected.report.escalations);
        CHECK(found.report.errors.backward_componentwise == expected.report.errors.backward_componentwise);
        CHECK(found.report.errors.backward_normwise == expected.report.errors.backward_normwise);
        const auto x =
            expected.report.iterations ? times_power(expected.x, q - p) : times_power(expected.x, q);
        CHECK(found.x == x);  // where there is no solution, x still is b
      }
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE(
    "scaling by powers of two changes no decision, count or bit of Krylov methods: Hermitian",
    "[solver][scale]", AllTypes) {
  std::mt19937 random(1);
  check_powers<TestType>(stencil<Matrix<TestType>>(5, true, false, random), true);
}

TEMPLATE_LIST_TEST_CASE(
    "scaling by powers of two changes no decision, count or bit of Krylov methods: unsymmetric",
    "[solver][scale]", AllTypes) {
  std::mt19937 random(2);
  check_powers<TestType>(stencil<Matrix<TestType>>(5, false, false, random), false);
}

TEMPLATE_LIST_TEST_CASE(
    "scaling by powers of two changes no decision, count or bit of Krylov methods: shifted",
    "[solver][scale]", AllTypes) {
  std::mt19937 random(3);
  const auto A = stencil<Matrix<TestType>>(4, true, true, random);
  Ilu<TestType> ilu;
  succeed(ilu.analyze(A));
  succeed(ilu.factorize(A));
  REQUIRE(*ilu.report().pivots.shift > 0);
  check_powers<TestType>(A, true);
}

TEMPLATE_LIST_TEST_CASE("incomplete factors of A·2^p are L of A and 2^p·U", "[solver][scale]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(4);
  for (const bool zero_pivot : {false, true}) {
    const auto A = stencil<Matrix<TestType>>(5, true, zero_pivot, random);
    for (const Choice& choice : preconditioners(true)) {
      if (choice.kind != Preconditioning::ilu) continue;
      const auto factors_of = [&](int p) {
        SparseIluOptions options;
        static_cast<IluOptions&>(options) = choice.ilu;
        if (choice.ilu.method == IluMethod::parilut) options.drop_tolerance = 0.01;
        Ilu<TestType> solver(options);
        const auto scaled = matrix_times_power(A, p);
        succeed(solver.analyze(scaled));
        REQUIRE(solver.factorize(scaled) == Status::success);
        return solver.factorization().write_out(typename TestType::Space());
      };
      const auto expected = factors_of(0);
      const int far = sizeof(RealOf<Scalar>) == 8 ? 900 : 90;
      for (const int p : {1, 49, -50, far, -far}) {
        CAPTURE(choice.name, zero_pivot, p);
        const auto found = factors_of(p);
        CHECK(found.rows == expected.rows);
        CHECK(found.columns == expected.columns);
        auto values = times_power(expected.values, p);
        for (std::size_t e = 0; e < values.size(); ++e)
          if (expected.columns[e] < expected.rows[e]) values[e] = expected.values[e];  // L has no unit
        CHECK(found.values == values);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("rows in different units do not count as growth", "[solver][scale]", AllTypes) {
  // l = 2^60 divides rows of 1 and 2^60, and is that of rows alike
  const double big = std::ldexp(1.0, 60);
  const auto A = from_dense<Matrix<TestType>>({{1, 0.25, nothing}, {big, 4 * big, big}, {nothing, 1, 4}});
  Ilu<TestType> solver;
  succeed(solver.analyze(A));
  REQUIRE(solver.factorize(A) == Status::success);
  CHECK(*solver.report().pivots.shift == 0);
  CHECK(*solver.report().pivots.growth <= 1);
}

TEMPLATE_LIST_TEST_CASE("a solution that overflows is not a success", "[solver][scale]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const int far = sizeof(RealOf<Scalar>) == 8 ? 700 : 80;
  const auto A = from_dense<Matrix<TestType>>({{4, 1}, {1, 4}});
  const std::vector<Scalar> b{Scalar(5), Scalar(5)};
  for (const int p : {far, -far}) {
    CAPTURE(p);
    const auto solved =
        solve<TestType>({}, matrix_times_power(A, p), times_power(b, -p), Transposition::none);
    CHECK(solved.status == Status::breakdown);
    CHECK(std::isinf(*solved.report.errors.backward_componentwise));
  }
}

TEMPLATE_LIST_TEST_CASE("a preconditioner of the caller must have the order of A", "[solver][scale][errors]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(5);
  const auto A = stencil<Matrix<TestType>>(4, true, false, random);
  const auto b = known_system(A).b;
  const auto solver_of = [&](KrylovMethod method, const Matrix<TestType>& matrix) {
    KrylovSolverOptions options;
    options.method = method;
    options.preconditioning = Preconditioning::none;
    Krylov<TestType> solver(options);
    succeed(solver.analyze(matrix));
    succeed(solver.factorize(matrix));
    return solver;
  };
  const int far = sizeof(RealOf<Scalar>) == 8 ? 1000 : 110;
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::bicgstab, KrylovMethod::gmres}) {
    std::optional<int> iterations;
    for (const int p : {0, far, -far}) {
      CAPTURE(static_cast<int>(method), p);
      const auto scaled = matrix_times_power(A, p);
      auto solver = solver_of(method, scaled);
      const auto M =
          std::make_shared<DiagonalPreconditioner<Scalar, Space>>(Space(), b.size(), MemoryBudget());
      M->set_values(Space(), to_space<Space>(scaled));
      solver.set_preconditioner(M);
      auto x = b;
      REQUIRE(solver.solve_host(times_power(b, p), x) == Status::success);
      if (!iterations) iterations = solver.report().iterations;
      CHECK(solver.report().iterations == iterations);
      const Report before = solver.report();
      const auto X = x;
      solver.set_preconditioner(
          std::make_shared<DiagonalPreconditioner<Scalar, Space>>(Space(), 7, MemoryBudget()));
      CHECK_THROWS_WITH(solver.solve_host(b, x),
                        "preconditioner: it is for a matrix of order 7, and the matrix has the order 16");
      CHECK(x == X);
      CHECK(solver.report().status == Status::success);
      CHECK(solver.report().residual_history == before.residual_history);
      solver.set_preconditioner(nullptr);
      CHECK(solver.solve_host(times_power(b, p), x) == Status::success);
    }
  }
}

}  // namespace lutra::Test
