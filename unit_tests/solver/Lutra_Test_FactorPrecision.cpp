// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "Lutra_SinglePrecision.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// Factors in single precision of matrices in double precision: solutions as accurate as with factors in
// double precision, and these where single precision does not suffice.

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

LuOptions in_single(Engine engine, Pivoting pivoting = Pivoting::automatic) {
  LuOptions options;
  options.factor_precision = FactorPrecision::single;
  options.engine = engine;
  options.pivoting = pivoting;
  return options;
}

template <class Types>
constexpr bool has_single = lutra::Impl::has_single_factors<typename Types::Scalar>;

bool mentions(const Report& report, const std::string& text) {
  return std::ranges::any_of(report.escalations,
                             [&](const std::string& step) { return step.find(text) != std::string::npos; });
}

/// A solver that tells the precision of its factors, and charges a budget that the test can see.
template <class Types>
struct Inspected : Solver<Types> {
  explicit Inspected(const LuOptions& options, const MemoryBudget& budget = MemoryBudget())
      : Solver<Types>(options, typename Types::Space(), budget) {}
  bool is_single() const { return this->analyzed().factorization()->has_single_precision(); }
};

/// Tridiagonal, of condition 4 · n² / π², shifted close to singularity by `distance`.
template <class Types>
Matrix<Types> nearly_singular(std::size_t n, double distance) {
  const double least = 2 - 2 * std::cos(std::acos(-1.0) / static_cast<double>(n + 1));
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) {
    picture[i][i] = 2 - least + distance;
    if (i > 0) picture[i][i - 1] = picture[i - 1][i] = -1;
  }
  return from_dense<Matrix<Types>>(picture);
}

/// Solves with op(A) and recomputes the error.
template <class Solver, class MatrixType, class System>
void check_solution(Solver& solver, const MatrixType& A, const System& system) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  std::vector<Scalar> x(system.b.size());
  CHECK(solver.solve_host(system.b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("factors in single precision: errors of double precision", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (has_single<TestType>) {
    const auto [engine, pivoting] = GENERATE(std::pair{Engine::multifrontal, Pivoting::static_perturbed},
                                             std::pair{Engine::multifrontal, Pivoting::threshold},
                                             std::pair{Engine::simplicial, Pivoting::static_perturbed});
    std::mt19937 random(71);
    const auto A = permuted_matrix<Matrix<TestType>>(150, 2.0, random);
    Inspected<TestType> solver(in_single(engine, pivoting));
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    CHECK_THAT(solver.report().choice.why, ContainsSubstring("single precision"));
    CHECK(solver.is_single());
    const auto system = known_system(A);
    check_solution(solver, A, system);
    CHECK(solver.report().refinement_steps > 0);
    CHECK(solver.is_single());
    CHECK(solver.report().escalations.empty());

    // More columns than a block has, one of zeros, others far outside the range of float.
    const std::size_t n = system.b.size(), k = 19;
    std::vector<Scalar> b(n * k), x(n * k);
    for (std::size_t c = 0; c < k; ++c) {
      const double scale = c == 3 ? 0 : std::ldexp(1.0, 90 * (static_cast<int>(c) - 9));
      for (std::size_t i = 0; i < n; ++i) b[c * n + i] = system.b[i] * as_scalar<Scalar>(scale);
    }
    for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint})
      CHECK(solver.solve_host(b, x, op) == Status::success);
    CHECK(solver.solve_host(b, x) == Status::success);
    for (std::size_t c = 0; c < k; ++c) {
      const std::vector<Scalar> one(x.begin() + static_cast<std::ptrdiff_t>(c * n),
                                    x.begin() + static_cast<std::ptrdiff_t>((c + 1) * n)),
          right(b.begin() + static_cast<std::ptrdiff_t>(c * n),
                b.begin() + static_cast<std::ptrdiff_t>((c + 1) * n));
      if (c == 3) {
        CHECK(one == std::vector<Scalar>(n, Scalar(0)));
      } else {
        CHECK(Reference::backward_errors(A, one, right).componentwise <= tight_bound<Scalar>());
      }
    }
    CHECK(solver.is_single());
  }
}

TEMPLATE_LIST_TEST_CASE("factors in single precision take half of the memory", "[solver]", AllTypes) {
  if constexpr (has_single<TestType>) {
    const Engine engine = GENERATE(Engine::multifrontal, Engine::simplicial);
    std::mt19937 random(72);
    const auto A = dominant_matrix<Matrix<TestType>>(300, 0.05, random);
    const auto bytes_of = [&](const LuOptions& options) {
      const MemoryBudget budget;
      Inspected<TestType> solver(options, budget);
      succeed(solver.analyze(A));
      const auto before = budget.used_bytes();
      succeed(solver.factorize(A));
      return static_cast<double>(budget.used_bytes() - before);
    };
    LuOptions working = in_single(engine);
    working.factor_precision = FactorPrecision::working;
    CHECK(bytes_of(in_single(engine)) < 0.75 * bytes_of(working));
  }
}

TEMPLATE_LIST_TEST_CASE("factors in single precision give way to double precision where they do not suffice",
                        "[solver]", AllTypes) {
  if constexpr (has_single<TestType>) {
    const Engine engine = GENERATE(Engine::multifrontal, Engine::simplicial);
    const auto ill = nearly_singular<TestType>(40, 1e-9), well = nearly_singular<TestType>(40, 1);
    Inspected<TestType> solver(in_single(engine));
    SECTION("of the first matrix") {
      succeed(solver.analyze(ill));
      succeed(solver.factorize(ill));
      CHECK(mentions(solver.report(), "single precision: factorized in working precision"));
    }
    SECTION("of a later matrix, when solving") {
      succeed(solver.analyze(well));
      succeed(solver.factorize(well));
      CHECK(solver.is_single());
      check_solution(solver, well, known_system(well));
      succeed(solver.factorize(ill));
    }
    check_solution(solver, ill, known_system(ill));
    CHECK(mentions(solver.report(), "single precision"));
    CHECK_FALSE(solver.is_single());
    check_solution(solver, ill, known_system(ill));

    succeed(solver.factorize(well));
    CHECK(mentions(solver.report(), "factors in working precision"));
    check_solution(solver, well, known_system(well));
    CHECK(solver.report().refinement_steps <= 1);

    succeed(solver.analyze(well));
    succeed(solver.factorize(well));
    CHECK(solver.is_single());
    check_solution(solver, well, known_system(well));
  }
}

TEMPLATE_LIST_TEST_CASE("factors in single precision: singular matrices are found as with double precision",
                        "[solver]", AllTypes) {
  if constexpr (has_single<TestType>) {
    const Engine engine = GENERATE(Engine::multifrontal, Engine::simplicial);
    const auto singular = nearly_singular<TestType>(40, 0);
    Inspected<TestType> solver(in_single(engine));
    succeed(solver.analyze(singular));
    const Status status = solver.factorize(singular);
    CHECK(status == Status::numerically_singular);
    LuOptions working = in_single(engine);
    working.factor_precision = FactorPrecision::working;
    Solver<TestType> reference(working);
    succeed(reference.analyze(singular));
    CHECK(reference.factorize(singular) == status);
  }
}

TEMPLATE_LIST_TEST_CASE("factors in single precision are written out as such", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (has_single<TestType>) {
    const Engine engine = GENERATE(Engine::multifrontal, Engine::simplicial);
    std::mt19937 random(73);
    const auto A = permuted_matrix<Matrix<TestType>>(60, 2.0, random);
    Inspected<TestType> solver(in_single(engine));
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    const auto factors = solver.factors();
    const std::size_t n = factors.row_order.size();
    std::vector<Scalar> lower(n * n), upper(n * n);
    for (std::size_t i = 0; i < n; ++i) lower[i * n + i] = Scalar(1);
    for (std::size_t p = 0; p < factors.values.size(); ++p) {
      const auto i = static_cast<std::size_t>(factors.rows[p]),
                 j = static_cast<std::size_t>(factors.columns[p]);
      (i > j ? lower : upper)[i * n + j] = factors.values[p];
    }
    std::vector<Scalar> scaled(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(factors.row_order[i]);
      Reference::for_row(A, row, [&](std::size_t j, const Scalar& value) {
        const auto at = std::ranges::find(factors.col_order, static_cast<std::int64_t>(j));
        const auto l = static_cast<std::size_t>(at - factors.col_order.begin());
        scaled[i * n + l] = factors.row_scale[row] * value * factors.col_scale[j];
      });
    }
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        Scalar sum = -scaled[i * n + j];
        for (std::size_t k = 0; k < n; ++k) sum += lower[i * n + k] * upper[k * n + j];
        largest = std::max(largest, static_cast<double>(ScalarTraits<Scalar>::magnitude(sum)));
      }
    }
    CHECK(largest < 1e-5);
    CHECK(largest > 1e-12);
  }
}

TEMPLATE_LIST_TEST_CASE("factors in single precision stay where there is no memory for others", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (has_single<TestType>) {
    const auto ill = nearly_singular<TestType>(40, 1e-9), well = nearly_singular<TestType>(40, 1);
    MemoryBudget budget;
    Inspected<TestType> solver(in_single(Engine::multifrontal), budget);
    succeed(solver.analyze(well));
    succeed(solver.factorize(well));
    check_solution(solver, well, known_system(well));
    budget.set_limit(budget.used_bytes() + 32768);
    succeed(solver.factorize(ill));
    const auto system = known_system(ill);
    std::vector<Scalar> x(system.b.size());
    const Status status = solver.solve_host(system.b, x);
    CHECK(mentions(solver.report(), "no memory for factors in working precision"));
    const bool accurate = Reference::backward_errors(ill, x, system.b).componentwise <= tight_bound<Scalar>();
    CHECK((status == Status::success) == accurate);
    CHECK(solver.is_single());
    succeed(solver.factorize(well));
    check_solution(solver, well, known_system(well));
  }
}

TEMPLATE_LIST_TEST_CASE("factors in single precision need checks, and a library built for them", "[solver]",
                        AllTypes) {
  LuOptions options = in_single(Engine::automatic);
  SECTION("unchecked solves") {
    options.check = SolutionCheck::never;
  }
  SECTION("solves that round the factors again") {
    options.solve_precision = FactorPrecision::single;
  }
  if (options != in_single(Engine::automatic)) {
    CHECK_THROWS_AS(Solver<TestType>(options), InputError);
    return;
  }
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  Solver<TestType> solver(options);
  if constexpr (has_single<TestType> || sizeof(RealOf<typename TestType::Scalar>) == 4) {
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    check_solution(solver, A, known_system(A));
  } else {
    CHECK_THROWS_AS(solver.analyze(A), InputError);
  }
}

}  // namespace lutra::Test
