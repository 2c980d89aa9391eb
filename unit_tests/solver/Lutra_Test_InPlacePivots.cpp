// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LDLᵀ by the kernels of L·U: the diagonal in order, symmetric interchanges, and delays where these fail.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "Lutra_LdltEngine.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {
namespace {

/// The solver that results are compared with: no attempt with pivots in place.
template <class Types>
Symmetric<Types> factorized_by_delays(const Matrix<Types>& A, LdltOptions options) {
  options.in_place_first = false;
  Symmetric<Types> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  return solver;
}

/// max |F − L·D·Lᴴ| (Lᵀ for complex symmetric matrices) over max |L|·|D|·|Lᴴ|.
template <class MatrixType, class Scalar>
double residual_of_factors(const MatrixType& A, const FactorValues<Scalar>& factors, Symmetry symmetry) {
  const std::size_t n = factors.row_order.size();
  const auto mirrored = [&](const Scalar& value) {
    return symmetry == Symmetry::hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
  };
  std::vector<std::vector<Scalar>> L(n, std::vector<Scalar>(n)), LD = L;
  for (std::size_t k = 0; k < n; ++k) L[k][k] = Scalar(1);
  for (std::size_t e = 0; e < factors.rows.size(); ++e) {
    REQUIRE(factors.rows[e] > factors.columns[e]);
    L[static_cast<std::size_t>(factors.rows[e])][static_cast<std::size_t>(factors.columns[e])] =
        factors.values[e];
  }
  std::vector<std::vector<Scalar>> F(n, std::vector<Scalar>(n));
  std::vector<std::size_t> position(n);
  for (std::size_t k = 0; k < n; ++k) position[static_cast<std::size_t>(factors.row_order[k])] = k;
  for (std::size_t i = 0; i < n; ++i)
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      F[position[i]][position[j]] += value * factors.row_scale[i] * factors.col_scale[j];
    });
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      LD[i][k] += L[i][k] * factors.diagonal[k];
      if (factors.off_diagonal[k] == Scalar(0)) continue;
      LD[i][k] += L[i][k + 1] * factors.off_diagonal[k];
      LD[i][k + 1] += L[i][k] * mirrored(factors.off_diagonal[k]);
    }
  }
  double difference = 0, most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      Scalar sum(0);
      double absolute = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const Scalar term = LD[i][k] * mirrored(L[j][k]);
        sum += term;
        absolute += static_cast<double>(Kokkos::abs(term));
      }
      difference = std::max(difference, static_cast<double>(Kokkos::abs(sum - F[i][j])));
      most = std::max(most, absolute);
    }
  }
  return difference / most;
}

template <class MatrixType>
auto entry_of(const MatrixType& A, std::size_t row, std::size_t column) {
  typename decltype(MatrixType::values)::value_type found(0);
  Reference::for_row(A, row, [&](std::size_t j, const auto& value) {
    if (j == column) found += value;
  });
  return found;
}

/// Solves with Aᵀ and Aᴴ.
template <class Space, class SolverType, class MatrixType>
void check_transposed(SolverType& solver, const MatrixType& A) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const auto n = static_cast<std::size_t>(A.n_rows);
  for (const Transposition op : {Transposition::transposed, Transposition::adjoint}) {
    auto At = A;  // the pattern is symmetric
    for (std::size_t i = 0; i < n; ++i)
      for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
           ++e) {
        const Scalar value = entry_of(A, static_cast<std::size_t>(A.entries[e]), i);
        At.values[e] = op == Transposition::adjoint ? ScalarTraits<Scalar>::conjugate(value) : value;
      }
    const auto b = known_system(At).b;
    const auto B = to_space<Space>(b);
    const Kokkos::View<Scalar*, typename Space::memory_space> X("x", n);
    REQUIRE(solver.solve(B, X, op) == Status::success);
    CHECK(Reference::backward_errors(At, to_vector(X), b).componentwise <= tight_bound<Scalar>());
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("diagonal pivots that pass are kept", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Vector = Kokkos::View<Scalar*, typename TestType::Memory>;
  std::mt19937 random(116);
  const int n = 90;
  // Quasi-definite: all permutations have an L·D·Lᵀ with 1 × 1 pivots (R. J. Vanderbei 1995).
  auto picture = symmetric_picture(n, 0.1, random, [](std::size_t i) { return i % 3 == 0 ? -40.0 : 40.0; });
  const auto A = from_dense<Matrix<TestType>>(picture);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  auto fronts = factorized_by_delays<TestType>(A, options);
  options.in_place_first = true;
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  using Plan = lutra::Impl::LdltEnginePlan<Scalar, typename TestType::Space>;
  CHECK(static_cast<const Plan&>(*solver.analysis()->plan).pivoted == nullptr);  // not needed yet
  succeed(solver.factorize(A));
  check_inertia(solver.report(), 60, 30, 0);
  CHECK(solver.report().pivots.attempt == "diagonal");
  CHECK(fronts.report().pivots.attempt == "delays");
  CHECK(solver.report().pivots.two_by_two == 0);
  CHECK(solver.report().factors.nnz_l == fronts.report().factors.nnz_l);
  check_solution(solver, A);
  SECTION("factors, determinant and parts") {
    const auto factors = solver.factors();
    REQUIRE(factors.diagonal.size() == static_cast<std::size_t>(n));
    std::size_t negative = 0;
    for (const Scalar& d : factors.diagonal) negative += Kokkos::real(d) < 0 ? 1 : 0;
    CHECK(negative == 30);
    for (std::size_t e = 0; e < factors.rows.size(); ++e) CHECK(factors.rows[e] > factors.columns[e]);
    const auto own = solver.determinant(), other = fronts.determinant();
    CHECK(Kokkos::abs(own.sign - other.sign) <= tight_bound<Scalar>());
    CHECK(std::abs(own.log_magnitude - other.log_magnitude) <= 1e-4 * std::abs(other.log_magnitude));
    const auto b = to_space<typename TestType::Space>(known_system(A).b);
    const Vector x("x", b.extent(0)), y("y", b.extent(0));
    solver.solve_parts(b, x, {});
    CHECK(Reference::backward_errors(A, to_vector(x), known_system(A).b).normwise <=
          1000 * tight_bound<Scalar>());
    solver.solve_parts(b, y, {true, false, false});
    solver.solve_parts(y, y, {false, true, false});
    solver.solve_parts(y, y, {false, false, true});
    CHECK(to_vector(x) == to_vector(y));
    check_solution(solver, A);
  }
  SECTION("zeros on the diagonal: other pivots from then on") {
    auto B = A;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); i += 2)
      for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
           ++e)
        if (static_cast<std::size_t>(A.entries[e]) == i) B.values[e] = Scalar(0);
    succeed(fronts.factorize(B));
    succeed(solver.factorize(B));
    const std::string attempt = solver.report().pivots.attempt;
    CHECK(attempt != "diagonal");
    CHECK(solver.report().inertia.positive == fronts.report().inertia.positive);
    CHECK(solver.report().inertia.negative == fronts.report().inertia.negative);
    check_solution(solver, B);
    succeed(solver.factorize(A));
    CHECK(solver.report().pivots.attempt == attempt);
    check_inertia(solver.report(), 60, 30, 0);
    check_solution(solver, A);
  }
  SECTION("Cholesky: what is not definite ends in the column that the fronts find") {
    options.positive_definite = true;
    Symmetric<TestType> cholesky(options);
    succeed(cholesky.analyze(A));
    CHECK(cholesky.factorize(A) == Status::not_positive_definite);
    CHECK(cholesky.report().status == Status::not_positive_definite);
    CHECK(cholesky.report().indefinite_column.has_value());
    for (std::size_t i = 0; i < picture.size(); ++i) picture[i][i] = 40;
    const auto definite = from_dense<Matrix<TestType>>(picture);
    Symmetric<TestType> again(options);
    succeed(again.analyze(definite));
    succeed(again.factorize(definite));
    CHECK(again.report().pivots.attempt == "diagonal");
    check_inertia(again.report(), n, 0, 0);
    check_solution(again, definite);
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric interchanges that pass are kept", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const bool is_complex = ScalarTraits<Scalar>::is_complex;
  std::mt19937 random(117);
  // [0 B; Bᵀ 0] has no pivot on the diagonal; with few entries the fronts are small, with many there is a
  // large one.
  for (const int half : {4, 40, 150}) {
    const auto n = static_cast<std::size_t>(2 * half);
    auto picture =
        symmetric_picture(2 * half, half == 150 ? 0.2 : 0.02, random, [](std::size_t) { return 0.0; });
    for (std::size_t i = 0; i + 1 < n; i += 2) picture[i][i + 1] = picture[i + 1][i] = 30;
    const auto A = from_dense<Matrix<TestType>>(picture);
    LdltOptions options;
    options.symmetry = is_complex && half == 40 ? Symmetry::symmetric : Symmetry::hermitian;
    options.pair_ordering = true;
    auto fronts = factorized_by_delays<TestType>(A, options);
    options.in_place_first = true;
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    INFO(n << " rows");
    using Plan = lutra::Impl::LdltEnginePlan<Scalar, typename TestType::Space>;
    CHECK(static_cast<const Plan&>(*solver.analysis()->plan).pivoted == nullptr);
    const std::string attempt = solver.report().pivots.attempt;
    CHECK((attempt == "pairs" || attempt == "interchanges"));
    CHECK(*solver.report().pivots.two_by_two > 0);
    CHECK(solver.report().pivots.delayed == 0);
    CHECK(!solver.report().pivots.interchanged);
    CHECK(solver.report().inertia.positive == fronts.report().inertia.positive);
    CHECK(solver.report().inertia.negative == fronts.report().inertia.negative);
    check_solution(solver, A);
    CHECK(residual_of_factors(A, solver.factors(), options.symmetry) <= tight_bound<Scalar>());
    const auto own = solver.determinant(), other = fronts.determinant();
    CHECK(Kokkos::abs(own.sign - other.sign) <= 1e-3);
    CHECK(std::abs(own.log_magnitude - other.log_magnitude) <= 1e-4 * std::abs(other.log_magnitude));
    check_solution(solver, A);
    const auto b = to_space<typename TestType::Space>(known_system(A).b);
    const Kokkos::View<Scalar*, typename TestType::Memory> x("x", b.extent(0));
    solver.solve_parts(b, x, {});
    CHECK(Reference::backward_errors(A, to_vector(x), known_system(A).b).normwise <=
          1000 * tight_bound<Scalar>());
    check_transposed<typename TestType::Space>(solver, A);
    for (int times = 0; times < 2; ++times) {
      succeed(solver.factorize(A));
      check_solution(solver, A);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the report names the attempt that was kept", "[ldlt]", AllTypes) {
  // Four rows of one front, in order. Small entries fill the pattern; as pivots they would make terms of 10⁶,
  // above the limit of 10⁴.
  struct Case {
    std::vector<double> diagonal;
    std::pair<std::size_t, std::size_t> first, second;  // positions of the large entries beside the diagonal
    std::string attempt;
  };
  const auto [diagonal, first, second, attempt] =
      GENERATE(values<Case>({{{4, -4, 4, -4}, {0, 1}, {2, 3}, "diagonal"},
                             {{0, 0, 0, 0}, {0, 1}, {2, 3}, "pairs"},
                             {{0, 0, 0, 0}, {0, 2}, {1, 3}, "interchanges"}}));
  std::vector<std::vector<double>> picture(4, std::vector<double>(4, 1e-6));
  for (const auto& [i, j] : {first, second}) picture[i][j] = picture[j][i] = 1;
  for (std::size_t i = 0; i < 4; ++i) picture[i][i] = diagonal[i];
  const auto A = from_dense<Matrix<TestType>>(picture);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.ordering = Ordering::natural;
  options.matching = Matching::none;
  options.in_place_first = true;
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  CHECK(solver.report().pivots.attempt == attempt);
  check_inertia(solver.report(), 2, 2, 0);
  check_solution(solver, A);
  CHECK(factorized_by_delays<TestType>(A, options).report().pivots.attempt == "delays");
  options.pivoting = Pivoting::static_perturbed;  // never in place, nothing delayed
  Symmetric<TestType> in_fronts(options);
  succeed(in_fronts.analyze(A));
  succeed(in_fronts.factorize(A));
  CHECK(in_fronts.report().pivots.attempt.empty());
}

TEMPLATE_LIST_TEST_CASE("the inertia is right where scales are those of other values", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = from_dense<Matrix<TestType>>({{4, 1}, {1, 4}});
  const int step = sizeof(RealOf<Scalar>) == 8 ? 100 : 12;
  for (int r = -4; r <= 4; ++r) {
    for (int s = -4; s <= 4; ++s) {
      CAPTURE(r, s);
      auto first = A;  // D·A·D
      const double d[] = {std::ldexp(1.0, r * step), std::ldexp(1.0, s * step)};
      for (std::size_t p = 0; p < 4; ++p) first.values[p] *= as_scalar<Scalar>(d[p / 2]);
      for (std::size_t p = 0; p < 4; ++p) first.values[p] *= as_scalar<Scalar>(d[p % 2]);
      LdltOptions options;
      options.symmetry = Symmetry::hermitian;
      options.in_place_first = true;
      Symmetric<TestType> solver(options);
      succeed(solver.analyze(first));
      succeed(solver.factorize(first));
      check_inertia(solver.report(), 2, 0, 0);
      const Status status = solver.factorize(A);
      if (status == Status::success) check_inertia(solver.report(), 2, 0, 0);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("pivots in place that fail are followed by delayed ones", "[ldlt]", AllTypes) {
  std::mt19937 random(118);
  const int n = 200, m = 90;
  const auto A = saddle_point<Matrix<TestType>>(n, m, random);
  for (const bool pairs : {false, true}) {
    LdltOptions options;
    options.symmetry = Symmetry::hermitian;
    options.in_place_first = true;
    options.pair_ordering = pairs;
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    if (!pairs) CHECK(solver.report().pivots.attempt == "delays");
    check_inertia(solver.report(), n, m, 0);
    check_solution(solver, A);
    REQUIRE(solver.increase_quality());
    succeed(solver.factorize(A));
    if (!pairs) CHECK(solver.report().pivots.attempt == "delays");
    check_inertia(solver.report(), n, m, 0);
    check_solution(solver, A);
  }
}

}  // namespace lutra::Test
