// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

template <class Types>
using Symmetric = SparseLDLT<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset,
                             typename Types::Space>;

/// A dense picture of a symmetric matrix whose positions hold an entry with probability `density`; the
/// diagonal holds what `diagonal(i)` says.
template <class Diagonal>
std::vector<std::vector<double>> symmetric_picture(int n, double density, std::mt19937& random,
                                                   const Diagonal& diagonal) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::vector<double>> picture(size, std::vector<double>(size, nothing));
  for (std::size_t i = 0; i < size; ++i) {
    picture[i][i] = diagonal(i);
    for (std::size_t j = 0; j < i; ++j)
      if (unit(random) < density) picture[i][j] = picture[j][i] = random_value<double>(random, 2);
  }
  return picture;
}

/// [H Bᵀ; B −D] with H > 0 and D ≥ 0 diagonally dominant and B of full rank, the rows mixed: n positive and m
/// negative eigenvalues. Every second diagonal entry of D is zero, or not there.
template <class MatrixType>
MatrixType saddle_point(int n, int m, std::mt19937& random) {
  const auto size = static_cast<std::size_t>(n + m);
  auto picture = symmetric_picture(n + m, 3.0 / n, random, [](std::size_t) { return nothing; });
  for (std::size_t i = 0; i < size; ++i) {
    const bool constraint = i >= static_cast<std::size_t>(n);
    double sum = 1;
    for (std::size_t j = 0; j < size; ++j) {
      if (constraint && j >= static_cast<std::size_t>(n)) picture[i][j] = nothing;
      if (j < static_cast<std::size_t>(n) && j != i && picture[i][j] != nothing)
        sum += std::abs(picture[i][j]);
    }
    if (!constraint) picture[i][i] = sum;
    if (constraint && i % 4 == 0) picture[i][i] = -0.5;
    if (constraint && i % 4 == 1) picture[i][i] = 0;
  }
  for (std::size_t i = static_cast<std::size_t>(n); i < size; ++i)  // rows of B are independent
    picture[i][i - static_cast<std::size_t>(n)] = picture[i - static_cast<std::size_t>(n)][i] = 50;
  std::vector<std::size_t> order(size);
  for (std::size_t i = 0; i < size; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  auto mixed = picture;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) mixed[i][j] = picture[order[i]][order[j]];
  return from_dense<MatrixType>(mixed);
}

/// One triangle of a matrix.
template <class MatrixType>
MatrixType triangle_of(const MatrixType& A, bool lower) {
  MatrixType result{A.n_rows, A.n_cols, {0}, {}, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    Reference::for_row(A, i, [&](std::size_t j, const auto& value) {
      if (lower ? j > i : j < i) return;
      result.entries.push_back(static_cast<typename decltype(A.entries)::value_type>(j));
      result.values.push_back(value);
    });
    result.row_map.push_back(result.nnz());
  }
  return result;
}

template <class SolverType, class MatrixType>
void check_solution(SolverType& solver, const MatrixType& A) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    INFO("op " << static_cast<int>(op) << ": " << describe(solver.report()));
    REQUIRE(solver.solve_host(system.b, x, op) == Status::success);
    const auto B = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
    CHECK(Reference::backward_errors(B, x, system.b).componentwise <= tight_bound<Scalar>());
  }
}

void check_inertia(const Report& report, std::int64_t positive, std::int64_t negative, std::int64_t zero) {
  CHECK(report.inertia.positive == positive);
  CHECK(report.inertia.negative == negative);
  CHECK(report.inertia.zero == zero);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("symmetric systems by hand", "[ldlt]", AllTypes) {
  const double o = nothing;
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  Symmetric<TestType> solver(options);
  SECTION("a pivot of two rows") {
    const auto A = from_dense<Matrix<TestType>>({{o, 2}, {2, o}});
    solver.analyze(A);
    CHECK(solver.report().choice.method == "ldlt");
    CHECK(solver.report().status == Status::not_solved);
    solver.factorize(A);
    check_inertia(solver.report(), 1, 1, 0);
    CHECK(solver.report().pivots.two_by_two == 1);
    CHECK(solver.report().factors.nnz_u == 0);
    check_solution(solver, A);
  }
  SECTION("four eigenvalues") {
    // Eigenvalues of the blocks: 3 and −1; 5; −2.
    const auto A = from_dense<Matrix<TestType>>({{1, o, 2, o}, {o, 5, o, o}, {2, o, 1, o}, {o, o, o, -2}});
    solver.analyze(A);
    solver.factorize(A);
    check_inertia(solver.report(), 2, 2, 0);
    CHECK(solver.report().pivots.zero == 0);
    check_solution(solver, A);
  }
  SECTION("one row") {
    const auto A = from_dense<Matrix<TestType>>({{-3}});
    solver.analyze(A);
    solver.factorize(A);
    check_inertia(solver.report(), 0, 1, 0);
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("the inertia of saddle points", "[ldlt]", AllTypes) {
  std::mt19937 random(101);
  for (const int n : {3, 20, 90, 200}) {
    const int m = n / 3;
    const auto A = saddle_point<Matrix<TestType>>(n, m, random);
    for (const Ordering ordering : {Ordering::automatic, Ordering::natural}) {
      for (const Matching matching : {Matching::automatic, Matching::none, Matching::auction}) {
        for (const bool pairs : {false, true}) {
          if (pairs && matching == Matching::none) continue;
          LdltOptions options;
          options.symmetry = Symmetry::hermitian;
          options.ordering = ordering;
          options.matching = matching;
          options.pair_ordering = pairs;
          Symmetric<TestType> solver(options);
          solver.analyze(A);
          solver.factorize(A);
          CAPTURE(n, m, pairs, solver.report().choice.ordering, solver.report().choice.matching);
          check_inertia(solver.report(), n, m, 0);
          check_solution(solver, A);
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("one triangle or both", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(102);
  const auto A = saddle_point<Matrix<TestType>>(40, 15, random);
  const auto system = known_system(A);
  std::vector<Scalar> first(system.b.size());
  for (const Triangle triangle : {Triangle::both, Triangle::lower, Triangle::upper}) {
    LdltOptions options;
    options.triangle = triangle;
    for (const bool whole : {true, false}) {
      const auto given = whole ? A : triangle_of(A, triangle != Triangle::upper);
      if (triangle == Triangle::both && !whole) continue;
      Symmetric<TestType> solver(options);
      solver.analyze(given);
      solver.factorize(given);
      auto x = first;
      REQUIRE(solver.solve_host(system.b, x) == Status::success);
      if (triangle == Triangle::both) first = x;
      CHECK(x == first);  // bit by bit
    }
  }
  Symmetric<TestType> solver;
  CHECK_THROWS_WITH(solver.analyze(triangle_of(A, true)), ContainsSubstring("not symmetric"));
}

TEMPLATE_LIST_TEST_CASE("matrices that are not symmetric are refused", "[ldlt]", AllTypes) {
  auto A = from_dense<Matrix<TestType>>({{4, 1, 2}, {1, 5, 3}, {2, 3, 6}});
  Symmetric<TestType> solver;
  CHECK_THROWS_AS(solver.factorize(A), CallOrderError);
  solver.analyze(A);
  solver.factorize(A);
  const auto good = A;
  A.values[5] *= as_scalar<typename TestType::Scalar>(1.5);
  CHECK_THROWS_AS(solver.factorize(A), InputError);
  CHECK_THROWS_WITH(solver.factorize(A), ContainsSubstring("row 1, column 2"));
  check_solution(solver, good);  // nothing has changed
  const auto other = from_dense<Matrix<TestType>>({{4, 1, nothing}, {1, 5, 3}, {nothing, 3, 6}});
  CHECK_THROWS_WITH(solver.factorize(other), ContainsSubstring("pattern"));
  const Kokkos::View<RealOf<typename TestType::Scalar>*, typename TestType::Memory> shift("shift", 2);
  CHECK_THROWS_WITH(solver.factorize(to_space<typename TestType::Space>(good), shift),
                    ContainsSubstring("shift"));
  check_solution(solver, good);
}

TEMPLATE_LIST_TEST_CASE("complex symmetric and Hermitian systems", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    std::mt19937 random(103);
    for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
      auto A = saddle_point<Matrix<TestType>>(60, 25, random);
      // D·A·Dᵀ or D·A·Dᴴ with random numbers of magnitude 1: the inertia of the latter stays
      std::vector<Scalar> factor;
      for (int i = 0; i < 85; ++i) {
        const Scalar value = random_value<Scalar>(random, 0);
        factor.push_back(value / Kokkos::abs(value));
      }
      for (std::size_t i = 0; i < 85; ++i) {
        for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
             ++p) {
          const auto j = static_cast<std::size_t>(A.entries[p]);
          const Scalar right = symmetry == Symmetry::hermitian ? Kokkos::conj(factor[j]) : factor[j];
          A.values[p] = factor[i] * A.values[p] * right;
        }
      }
      LdltOptions options;
      options.symmetry = symmetry;
      options.triangle = Triangle::lower;
      Symmetric<TestType> solver(options);
      solver.analyze(A);
      solver.factorize(A);
      CAPTURE(static_cast<int>(symmetry));
      if (symmetry == Symmetry::hermitian) {
        check_inertia(solver.report(), 60, 25, 0);
      } else {
        CHECK_FALSE(solver.report().inertia.positive.has_value());
      }
      check_solution(solver, A);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("Cholesky", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(104);
  for (const int n : {1, 5, 80, 250}) {
    auto picture = symmetric_picture(n, 2.0 / n, random, [](std::size_t) { return 0.0; });
    for (std::size_t i = 0; i < picture.size(); ++i) {
      double sum = 1;
      for (const double value : picture[i]) sum += value == nothing ? 0 : std::abs(value);
      picture[i][i] = sum;
    }
    LdltOptions options;
    options.positive_definite = true;
    Symmetric<TestType> solver(options);
    auto A = from_dense<Matrix<TestType>>(picture);
    solver.analyze(A);
    CHECK(solver.report().choice.method == "cholesky");
    CHECK(solver.report().choice.pivot == "none");
    solver.factorize(A);
    check_inertia(solver.report(), n, 0, 0);
    CHECK(solver.report().pivots.two_by_two == 0);
    CHECK(solver.report().pivots.delayed == 0);
    check_solution(solver, A);
    // With one row negative the matrix is indefinite, and positive again afterwards.
    const auto row = static_cast<std::size_t>(n / 2);
    auto indefinite = A;
    for (auto p = static_cast<std::size_t>(A.row_map[row]); p < static_cast<std::size_t>(A.row_map[row + 1]);
         ++p)
      if (static_cast<std::size_t>(A.entries[p]) == row) indefinite.values[p] = Scalar(-1000);
    solver.factorize(indefinite);
    CHECK(solver.report().status == Status::not_positive_definite);
    CHECK(solver.report().indefinite_column == n / 2);
    CHECK_FALSE(solver.report().inertia.positive.has_value());
    CHECK_THAT(describe(solver.report(), 1), ContainsSubstring("column " + std::to_string(n / 2 + 1)));
    std::vector<Scalar> b(static_cast<std::size_t>(n), Scalar(1)), x(b.size(), Scalar(7));
    CHECK(solver.solve_host(b, x) == Status::not_positive_definite);
    CHECK(x == std::vector<Scalar>(b.size(), Scalar(7)));
    solver.factorize(A);
    CHECK_FALSE(solver.report().indefinite_column.has_value());
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("singular symmetric matrices have zero pivots", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  const auto factorized = [&](const Matrix<TestType>& A) {
    Symmetric<TestType> solver(options);
    solver.analyze(A);
    solver.factorize(A);
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

TEMPLATE_LIST_TEST_CASE("the zeros of structurally singular matrices are counted, or there is no inertia",
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
  solver.analyze(A);
  CHECK(solver.report().structural_rank == 2 * n);
  solver.factorize(A);
  CHECK(solver.report().status == Status::numerically_singular);
  if (solver.report().inertia.zero) check_inertia(solver.report(), n, n, m - n);
  // Shifted it is regular, which the same analysis has to see.
  const Kokkos::View<RealOf<typename TestType::Scalar>*, typename TestType::Memory> shift("shift", n + m);
  Kokkos::deep_copy(shift, RealOf<typename TestType::Scalar>(1e4));
  solver.factorize(to_space<typename TestType::Space>(A), shift);
  check_inertia(solver.report(), n + m, 0, 0);
  CHECK(solver.report().escalations.empty());
}

TEMPLATE_LIST_TEST_CASE("pivoting: none and static", "[ldlt]", AllTypes) {
  std::mt19937 random(105);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  SECTION("none, on a quasi-definite matrix") {
    const auto A = from_dense<Matrix<TestType>>(
        {{4, 1, nothing, 1}, {1, 3, 1, nothing}, {nothing, 1, -2, 1}, {1, nothing, 1, -5}});
    options.pivoting = Pivoting::none;
    Symmetric<TestType> solver(options);
    solver.analyze(A);
    solver.factorize(A);
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
    solver.analyze(A);
    solver.factorize(A);
    CHECK(solver.report().pivots.delayed == 0);
    CHECK(solver.report().inertia.positive.has_value() == (solver.report().pivots.perturbed == 0));
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("a shifted diagonal needs no new analysis", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(106);
  const int n = 60, m = 20;
  const auto A = saddle_point<Matrix<TestType>>(n, m, random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  Symmetric<TestType> solver(options);
  solver.analyze(A);
  std::int64_t before = 0;
  for (const double delta : {0.0, 1.0, 100.0, 1e4}) {
    const Kokkos::View<RealOf<Scalar>*, typename TestType::Memory> shift("shift", n + m);
    Kokkos::deep_copy(shift, static_cast<RealOf<Scalar>>(delta));
    solver.factorize(to_space<typename TestType::Space>(A), shift);
    REQUIRE(solver.report().inertia.positive.has_value());
    CHECK(*solver.report().inertia.positive >= before);  // Weyl
    before = *solver.report().inertia.positive;
  }
  CHECK(before == n + m);
}

TEMPLATE_LIST_TEST_CASE("stored zeros and powers of two change nothing", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(107);
  const auto A = saddle_point<Matrix<TestType>>(50, 20, random);
  Matrix<TestType> padded{70, 70, {0}, {}, {}};  // with zeros, which need no mirror images
  for (std::size_t i = 0; i < 70; ++i) {
    std::vector<Scalar> row(70, Scalar(0));
    std::vector<char> stored(70, 0);
    for (int k = 0; k < 3; ++k) stored[random() % 70] = 1;
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      row[j] = value;
      stored[j] = 1;
    });
    for (std::size_t j = 0; j < 70; ++j) {
      if (!stored[j]) continue;
      padded.entries.push_back(static_cast<typename TestType::Ordinal>(j));
      padded.values.push_back(row[j]);
    }
    padded.row_map.push_back(padded.nnz());
  }
  auto scaled = A;
  for (std::size_t i = 0; i < 70; ++i)
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]); ++p)
      scaled.values[p] *= as_scalar<Scalar>(std::ldexp(
          1.0,
          static_cast<int>(i % 11) + static_cast<int>(static_cast<std::size_t>(A.entries[p]) % 11) - 10));
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  for (const auto& variant : {A, padded, scaled}) {
    Symmetric<TestType> solver(options);
    solver.analyze(variant);
    solver.factorize(variant);
    check_inertia(solver.report(), 50, 20, 0);
    check_solution(solver, variant);
  }
}

TEMPLATE_LIST_TEST_CASE("delayed pivots get room, or another order", "[ldlt]", AllTypes) {
  std::mt19937 random(108);
  // [0 B; Bᵀ 0] with B dense: in the natural order no pivot of the first half can be taken before the second.
  const std::size_t n = 150;
  std::vector<std::vector<double>> picture(2 * n, std::vector<double>(2 * n, nothing));
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
    solver.analyze(A);
    CHECK(solver.increase_quality());  // to 1/2, with another order, too
    solver.factorize(A);
    CHECK_FALSE(solver.increase_quality());
    INFO(describe(solver.report()));
    check_inertia(solver.report(), n, n, 0);
    CHECK(*solver.report().pivots.delayed > 0);
    CHECK_FALSE(solver.report().escalations.empty());
    check_solution(solver, A);
    solver.factorize(A);  // there is room now
    CHECK(solver.report().escalations.empty());
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("more accurate factors on demand", "[ldlt]", AllTypes) {
  std::mt19937 random(109);
  const auto A = saddle_point<Matrix<TestType>>(60, 30, random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.pivot_threshold = 1e-6;
  Symmetric<TestType> solver(options);
  CHECK_THROWS_AS(solver.increase_quality(), CallOrderError);
  solver.analyze(A);
  int raised = 0;
  while (solver.increase_quality()) {
    ++raised;
    solver.factorize(A);
    check_inertia(solver.report(), 60, 30, 0);
  }
  CHECK(raised > 5);
  CHECK(raised < 20);
  check_solution(solver, A);
  options.positive_definite = true;
  Symmetric<TestType> cholesky(options);
  cholesky.analyze(A);
  CHECK_FALSE(cholesky.increase_quality());
}

TEMPLATE_LIST_TEST_CASE("new values and shared analyses of symmetric matrices", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Numeric = LdltNumeric<Scalar, typename TestType::Ordinal, typename TestType::Offset, Space>;
  std::mt19937 random(110);
  auto A = saddle_point<Matrix<TestType>>(50, 15, random);
  Symmetric<TestType> solver;
  solver.analyze(A);
  CHECK(solver.structure().row_order == solver.structure().col_order);
  CHECK(solver.structure().row_order.size() == 65);
  Numeric other(solver.analysis());
  std::size_t bytes = 0;
  for (int step = 0; step < 4; ++step) {
    for (Scalar& value : A.values) value *= as_scalar<Scalar>(1.5);
    solver.factorize(A);
    check_solution(solver, A);
    CHECK(solver.report().times.refactor.has_value() == (step > 0));
    if (step > 1) CHECK(solver.report().memory.device_peak_bytes == bytes);  // nothing more is allocated
    bytes = solver.report().memory.device_peak_bytes;
  }
  auto B = A;
  for (Scalar& value : B.values) value *= as_scalar<Scalar>(-2);
  other.factorize(to_space<Space>(B));
  const auto system = known_system(B);
  const auto b = to_space<Space>(system.b);
  REQUIRE(other.solve(b, b) == Status::success);
  CHECK(Reference::backward_errors(B, to_vector(b), system.b).componentwise <= tight_bound<Scalar>());
  check_solution(solver, A);
  solver.analyze(B);  // anew
  solver.factorize(B);
  check_solution(solver, B);
}

TEMPLATE_LIST_TEST_CASE("options of SparseLDLT that make no sense are refused", "[ldlt]", AllTypes) {
  LdltOptions options;
  SECTION("threshold of 0") {
    options.pivot_threshold = 0;
  }
  SECTION("threshold above 1/2") {
    options.pivot_threshold = 0.6;
  }
  SECTION("NaN") {
    options.tolerance = std::numeric_limits<double>::quiet_NaN();
  }
  SECTION("perturbation without static pivoting") {
    options.perturbation = 1e-8;
  }
  SECTION("pairs without matching") {
    options.matching = Matching::none;
    options.pair_ordering = true;
  }
  SECTION("Cholesky with pivoting") {
    options.positive_definite = true;
    options.pivoting = Pivoting::threshold;
  }
  SECTION("Cholesky with pairs") {
    options.positive_definite = true;
    options.pair_ordering = true;
  }
  CHECK_THROWS_AS(Symmetric<TestType>(options), InputError);
}

TEMPLATE_LIST_TEST_CASE("a memory limit that symmetric factors do not keep", "[ldlt]", AllTypes) {
  std::mt19937 random(111);
  const auto A = saddle_point<Matrix<TestType>>(100, 40, random);
  LdltOptions options;
  Symmetric<TestType> unlimited(options);
  unlimited.analyze(A);
  const std::size_t analysis = unlimited.report().memory.device_peak_bytes;
  unlimited.factorize(A);
  const std::size_t all = unlimited.report().memory.device_peak_bytes;
  REQUIRE(all > analysis);
  options.memory_limit = (all + analysis) / 2;
  Symmetric<TestType> solver(options);
  solver.analyze(A);
  CHECK_THROWS_AS(solver.factorize(A), OutOfMemoryError);
  CHECK(solver.report().status == Status::out_of_memory);
}

}  // namespace lutra::Test
