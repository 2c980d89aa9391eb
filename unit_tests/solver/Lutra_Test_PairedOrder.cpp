// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "Lutra_Generated.hpp"
#include "Lutra_PivotCascade.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {

// Orders with pairs that the analysis chooses itself, because delayed pivots are certain to cascade.

using Catch::Matchers::ContainsSubstring;

namespace {

/// [−D Bᵀ; B H] with H > 0 diagonal, D = `shift`, stored even if it is 0, and B sparse of full rank. The rows
/// of D come first: in the natural order they precede all their neighbours.
template <class MatrixType>
MatrixType constraints_first(int m, double shift) {
  const auto rows = static_cast<std::size_t>(m);
  std::mt19937 random(113);
  std::uniform_int_distribution<std::size_t> any(0, rows - 1);
  std::vector<std::vector<double>> picture(2 * rows, std::vector<double>(2 * rows, nothing));
  for (std::size_t i = 0; i < rows; ++i) {
    for (int k = 0; k < 3; ++k) {
      const std::size_t j = rows + any(random);
      picture[i][j] = picture[j][i] = 1;
    }
    picture[i][rows + i] = picture[rows + i][i] = 8;
    picture[i][i] = -shift;
    picture[rows + i][rows + i] = 1;
  }
  return from_dense<MatrixType>(picture);
}

/// [I B; B 0] with the five-point matrix B of a square grid, as in optimal control.
template <class MatrixType>
MatrixType control_of_grid(int side) {
  const auto n = static_cast<std::size_t>(side * side), width = static_cast<std::size_t>(side);
  std::vector<std::vector<double>> picture(2 * n, std::vector<double>(2 * n, nothing));
  const auto couple = [&](std::size_t i, std::size_t j, double value) {
    picture[n + i][j] = picture[j][n + i] = value;
    picture[n + j][i] = picture[i][n + j] = value;
  };
  for (std::size_t i = 0; i < n; ++i) {
    picture[i][i] = 1;
    couple(i, i, 4);
    if (i % width + 1 < width) couple(i, i + 1, -1);
    if (i + width < n) couple(i, i + width, -1);
  }
  return from_dense<MatrixType>(picture);
}

LdltOptions natural_order() {
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.ordering = Ordering::natural;
  return options;
}

bool is_paired(const Report& report) {
  return report.choice.why.find("matched rows side by side") != std::string::npos;
}

template <class Types>
void check_same_order(const Symmetric<Types>& solver, const Symmetric<Types>& expected) {
  CHECK(solver.structure().row_order == expected.structure().row_order);
  CHECK(solver.structure().entries == expected.structure().entries);
  CHECK(is_paired(solver.report()) == is_paired(expected.report()));
}

}  // namespace

TEST_CASE("columns that are certainly delayed", "[ldlt]") {
  const double o = nothing;
  const auto count = [](const std::vector<std::vector<double>>& picture, const std::vector<Ordinal>& front) {
    const auto A = from_dense<HostMatrix<double, Ordinal, Offset>>(picture);
    return lutra::Impl::count_certain_delays(make_view(A), front);
  };
  const std::vector<std::vector<double>> two{{o, 1}, {1, o}};
  CHECK(count(two, {0, 1}) == 1);
  CHECK(count(two, {0, 0}) == 0);                                   // a 2 × 2 pivot
  CHECK(count({{1, 1}, {1, o}}, {0, 1}) == 0);                      // the zero is updated
  CHECK(count({{0, 1}, {1, 0}}, {0, 1}) == 1);                      // stored zeros
  CHECK(count({{o, 0, 1}, {0, 1, o}, {1, o, 1}}, {1, 0, 2}) == 1);  // row 1 is no neighbour of row 0
  CHECK(count({{o, o}, {o, 1}}, {0, 1}) == 0);                      // an empty row
  // Rows 0 to 2 have row 3 in their front, which serves one of them.
  const std::vector<std::vector<double>> star{
      {o, o, o, 1, 1}, {o, o, o, 1, o}, {o, o, o, 1, o}, {1, 1, 1, 1, o}, {1, o, o, o, 1}};
  CHECK(count(star, {0, 0, 0, 0, 1}) == 2);
  CHECK(count(star, {0, 0, 0, 1, 1}) == 3);
  CHECK(count(star, {0, 1, 2, 2, 2}) == 2);
}

TEMPLATE_LIST_TEST_CASE("a matrix whose delayed pivots are certain to cascade is ordered by pairs at once",
                        "[ldlt]", AllTypes) {
  const int m = 300;
  const auto A = constraints_first<Matrix<TestType>>(m, 0.0);
  LdltOptions options = natural_order();
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK_THAT(solver.report().choice.why, ContainsSubstring("columns with a zero on the diagonal"));
  CHECK(solver.analysis()->paired);
  succeed(solver.factorize(A));
  CHECK(solver.report().escalations.empty());
  CHECK(solver.report().pivots.delayed.value() < m / 10);
  check_inertia(solver.report(), m, m, 0);
  check_solution(solver, A);
  options.pair_ordering = true;  // the user's choice gives the same
  Symmetric<TestType> paired(options);
  succeed(paired.analyze(A));
  CHECK(solver.structure().row_order == paired.structure().row_order);
  CHECK(solver.structure().entries == paired.structure().entries);
}

TEMPLATE_LIST_TEST_CASE("orders of little fill that would cascade are replaced by orders with pairs",
                        "[ldlt]", AllTypes) {
  const int side = 20;
  const auto A = control_of_grid<Matrix<TestType>>(side);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.ordering = GENERATE(Ordering::automatic, Ordering::amd, Ordering::nd);
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK(is_paired(solver.report()));
  succeed(solver.factorize(A));
  CHECK(solver.report().escalations.empty());
  check_inertia(solver.report(), side * side, side * side, 0);
  check_solution(solver, A);
}

TEMPLATE_LIST_TEST_CASE("matrices are not ordered by pairs without need, nor against the options", "[ldlt]",
                        AllTypes) {
  LdltOptions options = natural_order();
  auto A = constraints_first<Matrix<TestType>>(300, 0.0);
  SECTION("a few delayed pivots") {
    options.ordering = Ordering::automatic;
    A = generated<TestType>("kkt", 1000);
  }
  SECTION("few columns") {
    A = constraints_first<Matrix<TestType>>(40, 0.0);
  }
  SECTION("no zeros") {
    A = constraints_first<Matrix<TestType>>(300, 1.0);
  }
  SECTION("the user's order") {
    options.ordering = Ordering::user;
    for (std::int64_t i = 0; i < 600; ++i) options.user_permutation.push_back(i);
  }
  SECTION("no matching") {
    options.matching = Matching::none;
  }
  SECTION("perturbed pivots") {
    options.pivoting = Pivoting::static_perturbed;
  }
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK_FALSE(is_paired(solver.report()));
  CHECK_FALSE(solver.analysis()->paired);
}

TEMPLATE_LIST_TEST_CASE("whether rows are paired does not depend on earlier analyses", "[ldlt]", AllTypes) {
  const auto zeros = constraints_first<Matrix<TestType>>(200, 0.0);
  const auto shifted = constraints_first<Matrix<TestType>>(200, 1.0);
  const bool starts_paired = GENERATE(false, true);
  Symmetric<TestType> solver(natural_order());
  succeed(solver.analyze(starts_paired ? zeros : shifted));
  for (const auto* A : {starts_paired ? &shifted : &zeros, starts_paired ? &zeros : &shifted}) {
    Symmetric<TestType> fresh(natural_order());
    succeed(fresh.analyze(*A));
    succeed(solver.analyze(*A));
    CHECK(is_paired(solver.report()) == (A == &zeros));
    check_same_order<TestType>(solver, fresh);
    succeed(solver.factorize(*A));
    succeed(fresh.factorize(*A));
    CHECK(solver.factors().row_order == fresh.factors().row_order);
    check_inertia(solver.report(), 200, 200, 0);
    check_solution(solver, *A);
  }
}

TEMPLATE_LIST_TEST_CASE("an order with pairs serves values without zeros, and the reverse", "[ldlt]",
                        AllTypes) {
  const double first = GENERATE(0.0, 1.0);
  Symmetric<TestType> solver(natural_order());
  succeed(solver.analyze(constraints_first<Matrix<TestType>>(200, first)));
  const auto A = constraints_first<Matrix<TestType>>(200, 1.0 - first);
  succeed(solver.factorize(A));
  CHECK(solver.report().escalations.empty() == (first == 0));  // from zeros that the analysis did not see
  check_inertia(solver.report(), 200, 200, 0);
  check_solution(solver, A);
}

}  // namespace lutra::Test
