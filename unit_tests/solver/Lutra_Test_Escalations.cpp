// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <string>

#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// Generated matrices that take the driver to each of its escalations, and what the report says of each.

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// `count` copies of a dense block along the diagonal, the last row of each coupled to the next by 0.01.
template <class MatrixType, std::size_t Edge>
MatrixType coupled_blocks(std::size_t count, const std::array<std::array<double, Edge>, Edge>& block) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  MatrixType A;
  A.n_rows = A.n_cols = static_cast<Ordinal>(count * Edge);
  A.row_map.push_back(0);
  const auto add = [&A](std::size_t column, double value) {
    A.entries.push_back(static_cast<Ordinal>(column));
    A.values.push_back(as_scalar<Scalar>(value));
  };
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < Edge; ++i) {
      for (std::size_t j = 0; j < Edge; ++j) add(k * Edge + j, block[i][j]);
      if (i + 1 == Edge && k + 1 < count) add((k + 1) * Edge, 0.01);
      A.row_map.push_back(A.nnz());
    }
  }
  return A;
}

/// The Laplacian of a side × side grid plus shift·I; without a shift, constant vectors are its null vectors.
template <class MatrixType>
MatrixType grid_laplacian(int side, double shift) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  std::vector<int> label(static_cast<std::size_t>(side * side));
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<int>(i);
  auto A = grid_matrix<MatrixType>(side, label);
  for (std::size_t i = 0; i < label.size(); ++i) {
    const auto begin = static_cast<std::size_t>(A.row_map[i]),
               end = static_cast<std::size_t>(A.row_map[i + 1]);
    for (std::size_t p = begin; p < end; ++p) {
      const bool diagonal = static_cast<std::size_t>(A.entries[p]) == i;
      A.values[p] = as_scalar<Scalar>(diagonal ? static_cast<double>(end - begin - 1) + shift : -1.0);
    }
  }
  return A;
}

/// Pivots are taken along the diagonal in the user's order, so that a test can say which ones are small.
LuOptions along_the_diagonal(Engine engine) {
  LuOptions options;
  options.matching = Matching::none;
  options.ordering = Ordering::natural;
  options.engine = engine;
  return options;
}

/// Half of the pivots are 0.1 and are replaced by 0.5, which moves eigenvalues of (A + E)⁻¹·A to −1:
/// refinement diverges, and GMRES needs few iterations, since there are few different eigenvalues.
constexpr std::array<std::array<double, 2>, 2> stalling_block = {{{0.1, 1}, {1, 1}}};

LuOptions large_perturbation(Engine engine) {
  LuOptions options = along_the_diagonal(engine);
  options.perturbation = 0.5;
  return options;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("after element growth a larger perturbation solves the system", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  // In each block the first pivot is 0 and is replaced by p. It leaves an entry 1/p in the second row, whose
  // pivot is 0 and is replaced too: the last pivot is about 1/p².
  const auto A = coupled_blocks<Matrix<TestType>, 3>(100, {{{0, 0, 1}, {1, 0, 1}, {1, 1, 0}}});
  const auto system = known_system(A);
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    Solver<TestType> solver(along_the_diagonal(engine));
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    INFO("engine " << name_of(engine));
    const Report& report = solver.report();
    CHECK(report.status == Status::not_solved);
    REQUIRE(report.escalations.size() == 1);
    CHECK_THAT(report.escalations[0], ContainsSubstring("element growth"));
    CHECK(report.pivots.perturbed == 200);
    // Growth is 1/p², p being the larger perturbation.
    const double p = std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 16.0);
    CHECK(*report.pivots.growth > 0.5 / (p * p));
    CHECK(*report.pivots.growth < 2 / (p * p));
    std::vector<Scalar> x(system.b.size());
    CHECK(solver.solve_host(system.b, x) == Status::success);
    CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
    CHECK_THAT(report.escalations[0], ContainsSubstring("element growth"));  // still there after the solve
  }
}

TEMPLATE_LIST_TEST_CASE("a larger perturbation does not outlast the values whose entries grew", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto growing = coupled_blocks<Matrix<TestType>, 3>(100, {{{0, 0, 1}, {1, 0, 1}, {1, 1, 0}}});
  const auto other = coupled_blocks<Matrix<TestType>, 3>(100, {{{0, 0, 2}, {1, 0, 1}, {2, 1, 0}}});
  const auto dominant = coupled_blocks<Matrix<TestType>, 3>(100, {{{4, 1, 1}, {1, 4, 1}, {1, 1, 4}}});
  Solver<TestType> solver(along_the_diagonal(Engine::multifrontal));
  succeed(solver.analyze(growing));
  const auto check = [&](const Matrix<TestType>& A, std::size_t escalations, std::int64_t perturbed) {
    succeed(solver.factorize(A));
    REQUIRE(solver.report().escalations.size() == escalations);
    if (escalations > 0) CHECK_THAT(solver.report().escalations[0], ContainsSubstring("element growth"));
    CHECK(solver.report().pivots.perturbed == perturbed);
    const auto system = known_system(A);
    std::vector<Scalar> x(system.b.size());
    CHECK(solver.solve_host(system.b, x) == Status::success);
    CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
  };
  check(growing, 1, 200);
  check(other, 1, 200);
  check(dominant, 0, 0);
  check(growing, 1, 200);
}

TEMPLATE_LIST_TEST_CASE("after refinement stalls GMRES solves the system", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = coupled_blocks<Matrix<TestType>, 2>(200, stalling_block);
  const auto system = known_system(A);
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    LuOptions options = large_perturbation(engine);
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    INFO("engine " << name_of(engine));
    const Report& report = solver.report();
    CHECK(report.status == Status::not_solved);
    CHECK(report.escalations.empty());
    CHECK(report.pivots.perturbed == 200);
    for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
      std::vector<Scalar> x(system.b.size());
      CHECK(solver.solve_host(system.b, x, op) == Status::success);
      REQUIRE(report.escalations.size() == 1);
      CHECK_THAT(report.escalations[0],
                 ContainsSubstring("refinement stalled") && ContainsSubstring("GMRES"));
      const auto applied =
          op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
      CHECK(Reference::backward_errors(applied, x, system.b).componentwise <=
            (sizeof(RealOf<Scalar>) == 8 ? 1e-12 : 1e-5));
      CHECK(report.singular_columns.empty());
    }
    // Without refinement there is no GMRES either, and no success.
    options.max_refinement_steps = 0;
    Solver<TestType> plain(options);
    succeed(plain.analyze(A));
    succeed(plain.factorize(A));
    std::vector<Scalar> x(system.b.size());
    CHECK(plain.solve_host(system.b, x) == Status::error_above_tolerance);
    CHECK(plain.report().escalations.empty());
  }
}

TEMPLATE_LIST_TEST_CASE("a null vector found with the factors makes a matrix numerically singular",
                        "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto singular = grid_laplacian<Matrix<TestType>>(20, 0);
  const auto regular = grid_laplacian<Matrix<TestType>>(20, 0.5);
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    LuOptions options;
    options.engine = engine;
    Solver<TestType> solver(options);
    succeed(solver.analyze(singular));
    CHECK(solver.factorize(singular) == Status::numerically_singular);
    INFO("engine " << name_of(engine));
    const Report& report = solver.report();
    CHECK(report.status == Status::numerically_singular);  // before any solve
    REQUIRE(report.singular_rows.size() == 1);
    REQUIRE(report.singular_columns.size() == 1);
    CHECK(report.structural_rank == 400);
    CHECK(report.escalations.empty());
    const auto system = known_system(regular);
    std::vector<Scalar> x(system.b.size(), Scalar(7));
    CHECK(solver.solve_host(system.b, x) == Status::numerically_singular);
    CHECK(x == std::vector<Scalar>(x.size(), Scalar(7)));
    CHECK(report.singular_rows.size() == 1);
    succeed(solver.factorize(regular));
    CHECK(solver.solve_host(system.b, x) == Status::success);
    CHECK(report.singular_rows.empty());
  }
}

TEMPLATE_LIST_TEST_CASE("a null vector is found for any size of the perturbation", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  auto A = coupled_blocks<Matrix<TestType>, 2>(200, stalling_block);
  A.values[A.values.size() - 4] = Scalar(1);  // the last block becomes [1 1; 1 1]
  const auto system = known_system(A);
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    Solver<TestType> solver(large_perturbation(engine));
    succeed(solver.analyze(A));
    // Purified, or else by GMRES.
    const bool by_factors = solver.factorize(A) == Status::numerically_singular;
    INFO("engine " << name_of(engine));
    const Report& report = solver.report();
    std::vector<Scalar> x(system.b.size());
    CHECK(solver.solve_host(system.b, x) == Status::numerically_singular);
    if (!by_factors) {
      REQUIRE_FALSE(report.escalations.empty());
      CHECK_THAT(report.escalations[0], ContainsSubstring("GMRES"));
      // X solves the system, as do many others.
      CHECK(Reference::backward_errors(A, x, system.b).componentwise <=
            (sizeof(RealOf<Scalar>) == 8 ? 1e-12 : 1e-5));
    }
    CHECK(std::ranges::any_of(report.singular_columns, [](std::int64_t j) { return j >= 398; }));
    CHECK(report.singular_rows.size() == report.singular_columns.size());
  }
}

}  // namespace lutra::Test
