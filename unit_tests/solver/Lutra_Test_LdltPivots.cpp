// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "Lutra_LdltEngine.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {

using Catch::Matchers::ContainsSubstring;

TEMPLATE_LIST_TEST_CASE("singular symmetric matrices give zero pivots", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  const auto factorized = [&](const Matrix<TestType>& A) {
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(A));
    CHECK(solver.factorize(A) == Status::numerically_singular);
    return solver;
  };
  SECTION("a row of ones twice") {
    const auto A = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, o}, {o, o, -4}});
    auto solver = factorized(A);
    CHECK(solver.report().status == Status::numerically_singular);
    check_inertia(solver.report(), 1, 1, 1);
    CHECK(solver.report().pivots.zero == 1);
    REQUIRE(solver.report().singular_columns.size() == 1);
    CHECK(solver.report().singular_columns[0] < 2);
    std::vector<Scalar> b(3, Scalar(1)), x(3, Scalar(7));
    CHECK(solver.solve_host(b, x) == Status::numerically_singular);
    CHECK(x == std::vector<Scalar>(3, Scalar(7)));
    options.solve_singular = true;
    auto consistent = factorized(A);
    CHECK(consistent.solve_host(b, x) == Status::numerically_singular);
    CHECK(*consistent.report().errors.backward_componentwise <= tight_bound<Scalar>());
  }
  SECTION("no entries at all") {
    auto solver = factorized(Matrix<TestType>{3, 3, {0, 0, 0, 0}, {}, {}});
    check_inertia(solver.report(), 0, 0, 3);
    CHECK(solver.report().structural_rank == 0);
  }
  SECTION("structurally singular: three rows in one column") {
    auto solver =
        factorized(from_dense<Matrix<TestType>>({{o, 1, 2, 3}, {1, o, o, o}, {2, o, o, o}, {3, o, o, o}}));
    check_inertia(solver.report(), 1, 1, 2);
    CHECK(solver.report().structural_rank == 2);
    CHECK(solver.report().status == Status::numerically_singular);
    CHECK(solver.report().singular_columns.size() == 2);
  }
}

TEMPLATE_LIST_TEST_CASE("zero pivots of structurally singular matrices are counted, or there is no inertia",
                        "[ldlt]", AllTypes) {
  // [H Bᵀ; B 0] with more rows in B than columns: at least m − n zero eigenvalues, however rounding goes.
  std::mt19937 random(112);
  const std::size_t n = 40, m = 100;
  auto picture = symmetric_picture(static_cast<int>(n + m), 0.5, random, [](std::size_t) { return nothing; });
  for (std::size_t i = n; i < n + m; ++i)
    for (std::size_t j = n; j < n + m; ++j) picture[i][j] = nothing;
  const auto A = from_dense<Matrix<TestType>>(picture);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK(solver.report().structural_rank == 2 * n);
  CHECK(solver.factorize(A) == Status::numerically_singular);
  CHECK(solver.report().status == Status::numerically_singular);
  if (solver.report().inertia.zero) check_inertia(solver.report(), n, n, m - n);
  // Shifted it is regular, which the same analysis has to see.
  const Kokkos::View<RealOf<typename TestType::Scalar>*, typename TestType::Memory> shift("shift", n + m);
  Kokkos::deep_copy(shift, RealOf<typename TestType::Scalar>(1e4));
  succeed(solver.factorize(to_space<typename TestType::Space>(A), shift));
  check_inertia(solver.report(), n + m, 0, 0);
  CHECK(solver.report().escalations.empty());
}

TEMPLATE_LIST_TEST_CASE("pivoting none and pivoting static", "[ldlt]", AllTypes) {
  std::mt19937 random(105);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  SECTION("none, on a quasi-definite matrix") {
    const auto A = from_dense<Matrix<TestType>>(
        {{4, 1, nothing, 1}, {1, 3, 1, nothing}, {nothing, 1, -2, 1}, {1, nothing, 1, -5}});
    options.pivoting = Pivoting::none;
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    check_inertia(solver.report(), 2, 2, 0);
    CHECK(solver.report().choice.pivot == "none");
    CHECK(solver.report().pivots.delayed == 0);
    check_solution(solver, A);
  }
  SECTION("static: pivots are perturbed, and there is no inertia then") {
    options.pivoting = Pivoting::static_perturbed;
    options.ordering = Ordering::natural;
    options.matching = Matching::none;
    // Without a pivot from the last row the first one is zero.
    auto picture = symmetric_picture(80, 0.4, random, [](std::size_t) { return 0.0; });
    const auto A = from_dense<Matrix<TestType>>(picture);
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    CHECK(solver.report().pivots.delayed == 0);
    CHECK(solver.report().inertia.positive.has_value() == (solver.report().pivots.perturbed == 0));
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("delayed pivots get more memory or another ordering", "[ldlt]", AllTypes) {
  std::mt19937 random(108);
  // [D B; Bᵀ 0] with B dense and D tiny: in the natural order no pivot of the first half can be taken before
  // the second. (With D = 0 the analysis would order by pairs.)
  const std::size_t n = 150;
  std::vector<std::vector<double>> picture(2 * n, std::vector<double>(2 * n, nothing));
  for (std::size_t i = 0; i < n; ++i) picture[i][i] = 1e-12;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = n; j < 2 * n; ++j)
      if (random() % 4 == 0 || j == i + n)
        picture[i][j] = picture[j][i] = random_value<double>(random, 1) + (j == i + n ? 30 : 0);
  const auto A = from_dense<Matrix<TestType>>(picture);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  for (const bool user : {true, false}) {  // a user's permutation is kept
    options.ordering = user ? Ordering::user : Ordering::natural;
    options.user_permutation.clear();
    for (std::size_t i = 0; user && i < 2 * n; ++i)
      options.user_permutation.push_back(static_cast<std::int64_t>(i));
    options.pivot_threshold = 0.4;
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(A));
    CHECK(solver.increase_quality());  // to 1/2, with another order, too
    succeed(solver.factorize(A));
    CHECK_FALSE(solver.increase_quality());
    INFO(describe(solver.report()));
    check_inertia(solver.report(), n, n, 0);
    if (user) CHECK(*solver.report().pivots.delayed > 0);  // pairs in one front need no delays
    CHECK_FALSE(solver.report().escalations.empty());
    check_solution(solver, A);
    succeed(solver.factorize(A));  // there is room now
    CHECK(solver.report().escalations.empty());
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("a cascade of delayed pivots is seen at the first overflow", "[ldlt]", AllTypes) {
  // Rows with a tiny diagonal come first, so that each front delays its columns.
  const std::size_t m = 300;
  std::mt19937 random(113);
  std::uniform_int_distribution<std::size_t> any(0, m - 1);
  std::vector<std::vector<double>> picture(2 * m, std::vector<double>(2 * m, nothing));
  const auto couple = [&](std::size_t i, std::size_t j, double value) {
    picture[i][m + j] = picture[m + j][i] = value;
  };
  for (std::size_t i = 0; i < m; ++i) {
    for (int k = 0; k < 3; ++k) couple(i, any(random), 1);
    couple(i, i, 3);
    picture[i][i] = -1e-12;
    picture[m + i][m + i] = 1e-3;
  }
  const auto A = from_dense<Matrix<TestType>>(picture);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.ordering = Ordering::natural;
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  REQUIRE(solver.report().escalations.size() == 1);  // not one more for a repetition with larger fronts
  CHECK_THAT(solver.report().escalations[0], ContainsSubstring("cascade"));
  check_inertia(solver.report(), m, m, 0);
  check_solution(solver, A);
}

TEMPLATE_LIST_TEST_CASE("more accurate factors on demand", "[ldlt]", AllTypes) {
  std::mt19937 random(109);
  const auto A = saddle_point<Matrix<TestType>>(60, 30, random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.pivot_threshold = 1e-6;
  Symmetric<TestType> solver(options);
  CHECK_THROWS_AS(solver.increase_quality(), CallOrderError);
  succeed(solver.analyze(A));
  int raised = 0;
  while (solver.increase_quality()) {
    ++raised;
    succeed(solver.factorize(A));
    check_inertia(solver.report(), 60, 30, 0);
  }
  CHECK(raised > 5);
  CHECK(raised < 20);
  check_solution(solver, A);
  options.positive_definite = true;
  Symmetric<TestType> cholesky(options);
  succeed(cholesky.analyze(A));
  CHECK_FALSE(cholesky.increase_quality());
}

/// [H Bᵀ; B −D] with H > 0 diagonal, D > 0 tiny and B of `m` rows, three neighbours each: in most orders many
/// tiny diagonal entries are reached before the columns they need.
template <class MatrixType>
MatrixType chain_of_constraints(int m, std::mt19937& random) {
  const auto rows = static_cast<std::size_t>(m), n = rows + 2;
  std::vector<std::vector<double>> picture(n + rows, std::vector<double>(n + rows, nothing));
  for (std::size_t i = 0; i < n; ++i) picture[i][i] = 1e-3;
  for (std::size_t i = 0; i < rows; ++i) picture[n + i][n + i] = -1e-12;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      picture[n + i][i + k] = picture[i + k][n + i] = k == 1 ? -2 : 1 + random_value<double>(random, 0) / 8;
  return from_dense<MatrixType>(picture);
}

TEMPLATE_LIST_TEST_CASE("many delayed pivots that fit also lead to another ordering", "[ldlt]", AllTypes) {
  std::mt19937 random(113);
  const int m = 400;
  const auto A = chain_of_constraints<Matrix<TestType>>(m, random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.ordering = Ordering::metis;  // it delays more pivots than AMD
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  options.ordering = Ordering::user;
  options.user_permutation = solver.structure().row_order;
  Symmetric<TestType> kept(options);  // the same order, which is not changed
  succeed(kept.analyze(A));
  succeed(kept.factorize(A));
  const auto planned = solver.structure();
  succeed(solver.factorize(A));
  INFO(kept.report().pivots.delayed.value() << " and " << solver.report().pivots.delayed.value());
  for (const auto* report : {&kept.report(), &solver.report()}) check_inertia(*report, m + 2, m, 0);
  REQUIRE(*kept.report().pivots.delayed > (2 * m + 2) / 10);
  CHECK(*solver.report().pivots.delayed <= (2 * m + 2) / 10);
  REQUIRE_FALSE(solver.report().escalations.empty());
  CHECK_THAT(solver.report().escalations.back(), ContainsSubstring("columns): ordered anew"));
  check_solution(solver, A);
  options.ordering = Ordering::metis;  // structure() and factors() have that order now
  options.user_permutation.clear();
  options.pair_ordering = true;
  Symmetric<TestType> paired(options);
  succeed(paired.analyze(A));
  const auto structure = solver.structure();
  CHECK(structure.row_order != planned.row_order);
  CHECK(structure.row_order == paired.structure().row_order);
  CHECK(structure.col_order == paired.structure().col_order);
  CHECK(structure.row_map == paired.structure().row_map);
  CHECK(structure.entries == paired.structure().entries);
  CHECK(structure.level_widths == paired.structure().level_widths);
  succeed(paired.factorize(A));
  CHECK(solver.factors().row_order == paired.factors().row_order);
  succeed(solver.factorize(A));  // with that order
  CHECK(solver.report().escalations.empty());
  check_solution(solver, A);
  succeed(solver.analyze(A));  // and with a new analysis its order again
  CHECK(solver.structure().row_order == planned.row_order);
}

TEMPLATE_LIST_TEST_CASE("the determinant of a symmetric matrix", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  Symmetric<TestType> solver(options);
  CHECK_THROWS_AS(solver.determinant(), CallOrderError);
  const auto A = from_dense<Matrix<TestType>>({{0, 4, 0, 0}, {4, 0, 0, 0}, {0, 0, 8, 1}, {0, 0, 1, -0.5}});
  succeed(solver.analyze(A));
  CHECK_THROWS_AS(solver.determinant(), CallOrderError);
  succeed(solver.factorize(A));  // −16 · −5
  const auto tolerance = static_cast<double>(tight_bound<Scalar>());
  CHECK(Kokkos::abs(solver.determinant().sign - Scalar(1)) <= tolerance);
  CHECK(std::abs(solver.determinant().log_magnitude - std::log(80.0)) <= 10 * tolerance);
  CHECK(solver.factorize(from_dense<Matrix<TestType>>(
            {{0, 4, 0, 0}, {4, 0, 0, 0}, {0, 0, 8, 2}, {0, 0, 2, 0.5}})) == Status::numerically_singular);
  CHECK(solver.report().status == Status::numerically_singular);
  CHECK(solver.determinant().sign == Scalar(0));
  CHECK(solver.determinant().log_magnitude == -std::numeric_limits<double>::infinity());
}

TEMPLATE_LIST_TEST_CASE("solves with L, D and Lᵀ in turn equal one full solve", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(114);
  for (const int m : {60, 400}) {  // without and with another order
    const auto A = chain_of_constraints<Matrix<TestType>>(m, random);
    const auto b = to_space<Space>(known_system(A).b);
    const Kokkos::View<Scalar*, typename TestType::Memory> apart("apart", b.extent(0)),
        together("together", b.extent(0));
    LdltOptions options;
    options.in_place_first =
        false;  // D would have other pivots than those counted (Lutra_Test_InPlacePivots.cpp)
    Symmetric<TestType> solver(options);
    CHECK_THROWS_AS(solver.solve_parts(b, together, {}), CallOrderError);
    succeed(solver.analyze(A));
    CHECK_THROWS_AS(solver.solve_parts(b, together, {}), CallOrderError);
    succeed(solver.factorize(A));
    const Kokkos::View<Scalar*, typename TestType::Memory> shorter("shorter", 3);
    CHECK_THROWS_AS(solver.solve_parts(shorter, shorter, {}), InputError);
    solver.solve_parts(b, together, {});
    CHECK(Reference::backward_errors(A, to_vector(together), known_system(A).b).normwise <=
          1000 * tight_bound<Scalar>());  // without refinement
    solver.solve_parts(b, apart, {true, false, false});
    solver.solve_parts(apart, apart, {false, true, false});
    solver.solve_parts(apart, apart, {false, false, true});
    CHECK(to_vector(apart) == to_vector(together));  // scales are powers of two
    // D alone is symmetric with the inertia of A: its solves with unit vectors give a matrix of that kind.
    if (m > 100) continue;
    const auto n = b.extent(0);
    const Kokkos::View<Scalar**, Kokkos::LayoutRight, typename TestType::Memory> columns("columns", n, n);
    const auto host = Kokkos::create_mirror_view(columns);
    for (std::size_t i = 0; i < n; ++i) host(i, i) = Scalar(1);
    Kokkos::deep_copy(columns, host);
    solver.solve_parts(columns, columns, {false, true, false});
    Kokkos::deep_copy(host, columns);
    std::size_t off_diagonal = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        CHECK(Kokkos::abs(host(i, j) - host(j, i)) <= tight_bound<Scalar>() * Kokkos::abs(host(i, j)));
        off_diagonal += host(i, j) == Scalar(0) ? 0 : 1;
      }
    }
    CHECK(off_diagonal == static_cast<std::size_t>(*solver.report().pivots.two_by_two));
  }
}

TEMPLATE_LIST_TEST_CASE("values far beyond the scaling of the analysis give no zero pivots", "[ldlt]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  // A barrier: entries of the diagonal that are 1 in the analysis, and then of all sizes.
  std::mt19937 random(115);
  const std::size_t n = 40, m = 15;
  auto A = saddle_point<Matrix<TestType>>(static_cast<int>(n), static_cast<int>(m), random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  const bool wide = sizeof(RealOf<Scalar>) == 8;  // single precision has no room for what is beyond it
  const double most = wide ? 1e14 : 1e5;
  bool large = true;  // every second positive entry of the diagonal
  for (std::size_t i = 0; i < n + m; ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      if (static_cast<std::size_t>(A.entries[p]) != i || !(Kokkos::real(A.values[p]) > 0)) continue;
      if (large) A.values[p] *= as_scalar<Scalar>(most);
      large = !large;
    }
  }
  succeed(solver.factorize(A));
  check_inertia(solver.report(), n, m, 0);
  check_solution(solver, A);
  if (wide) {
    REQUIRE(solver.report().escalations.size() == 1);
    CHECK_THAT(solver.report().escalations[0], ContainsSubstring("outgrown the scales"));
  }
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  check_inertia(solver.report(), n, m, 0);
  CHECK(solver.report().escalations.empty());
}

}  // namespace lutra::Test
