// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;
constexpr double nothing = Test::nothing;

template <class Scalar>
using Real = decltype(Kokkos::abs(Scalar()));

// A random matrix with a diagonal large enough for LU without pivoting.
template <class Matrix>
Matrix dominant_matrix(int n, double density, std::mt19937& random) {
  using Scalar = typename decltype(Matrix::values)::value_type;
  std::vector<std::vector<double>> picture(static_cast<std::size_t>(n),
                                           std::vector<double>(static_cast<std::size_t>(n), nothing));
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (std::size_t r = 0; r < picture.size(); ++r) {
    for (double& entry : picture[r]) entry = unit(random) < density ? 1.0 : nothing;
    picture[r][r] = 1.0;
  }
  Matrix a = Test::from_dense<Matrix>(picture);
  for (std::size_t r = 0; r < picture.size(); ++r) {
    for (auto k = static_cast<std::size_t>(a.row_map[r]); k < static_cast<std::size_t>(a.row_map[r + 1]);
         ++k) {
      a.values[k] = Test::random_value<Scalar>(random, 1);
      if (static_cast<std::size_t>(a.entries[k]) == r)
        a.values[k] *= Scalar(static_cast<Real<Scalar>>(10 * n));
    }
  }
  return a;
}

template <class Scalar>
std::vector<Scalar> random_vector(int n, std::mt19937& random) {
  std::vector<Scalar> b;
  for (int i = 0; i < n; ++i) b.push_back(Test::random_value<Scalar>(random, 1));
  return b;
}

TEST_CASE("reference: pattern and levels by hand", "[reference]") {
  // Row 1 gets column 3 from row 0. Row 3 gets column 2 from row 0, and nothing new from row 2.
  const auto a = Test::from_dense<HostMatrix<double>>({{1, nothing, 1, 1},  //
                                                       {1, 1, nothing, nothing},
                                                       {nothing, nothing, nothing, nothing},
                                                       {1, nothing, nothing, 1}});
  const Reference::Rows pattern = Reference::lu_pattern(a);
  CHECK(pattern == Reference::Rows{{0, 2, 3}, {0, 1, 2, 3}, {2}, {0, 2, 3}});
  CHECK(Reference::left_of_diagonal(pattern) == Reference::Rows{{}, {0}, {}, {0, 2}});
  CHECK(Reference::levels(Reference::left_of_diagonal(pattern)) == std::vector<std::size_t>{0, 1, 0, 1});
  CHECK(Reference::levels({{}, {0}, {0, 1}, {}, {2, 3}}) == std::vector<std::size_t>{0, 1, 2, 0, 3});
}

TEST_CASE("reference: factors and perturbed pivots by hand", "[reference]") {
  // [2 1; 4 5] = [1 0; 2 1]·[2 1; 0 3]
  const auto a = Test::from_dense<HostMatrix<double>>({{2, 1}, {4, 5}});
  auto factors = Reference::factorize(a, Reference::lu_pattern(a), 0.5);
  CHECK(factors.values == std::vector<std::vector<double>>{{2, 1}, {2, 3}});
  CHECK(factors.perturbed == 0);
  CHECK(Reference::solve(factors, {4, 14}) == std::vector<double>{1, 2});

  // Pivots -0.25 and 0 are moved to -0.5 and 0.5.
  const auto small = Test::from_dense<HostMatrix<double>>({{-0.25, nothing}, {nothing, 0}});
  factors = Reference::factorize(small, Reference::lu_pattern(small), 0.5);
  CHECK(factors.values == std::vector<std::vector<double>>{{-0.5}, {0.5}});
  CHECK(factors.perturbed == 2);
}

TEST_CASE("reference: backward errors by hand", "[reference]") {
  const auto a = Test::from_dense<HostMatrix<double>>({{1, 1}, {nothing, 4}});
  CHECK(Reference::backward_errors(a, {1, 2}, {3, 8}).componentwise == 0);
  const auto errors = Reference::backward_errors(a, {1, 2}, {3, 12});  // r = (0, 4)
  CHECK(errors.componentwise == 4.0L / (8 + 12));
  CHECK(errors.normwise == 4.0L / (4 * 2 + 12));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(Reference::backward_errors(a, {nan, 2}, {3, 8}).componentwise));
  CHECK(std::isnan(Reference::backward_errors(a, {1, nan}, {3, 8}).normwise));
  CHECK(Reference::backward_errors(a, {0, 0}, {0, 0}).componentwise == 0);
  const auto empty = Test::from_dense<HostMatrix<double>>({{nothing}});
  CHECK(Reference::backward_errors(empty, {1}, {0}).componentwise == 0);
  CHECK(Reference::backward_errors(empty, {1}, {2}).componentwise == 1);
}

TEST_CASE("reference: a singular matrix is refused", "[reference]") {
  const auto a = Test::from_dense<HostMatrix<double>>({{1, 2}, {2, 4}});
  CHECK_THROWS_AS(Reference::dense_solve(a, {1, 1}), std::runtime_error);
}

TEMPLATE_LIST_TEST_CASE("reference: both solution methods agree", "[reference]", Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Scalar = typename TestType::Scalar;
  const long double epsilon = std::numeric_limits<Real<Scalar>>::epsilon();
  std::mt19937 random(17);
  for (const int n : {1, 2, 5, 20, 60}) {
    const Matrix a = dominant_matrix<Matrix>(n, 3.0 / n, random);
    const std::vector<Scalar> b = random_vector<Scalar>(n, random);
    const auto factors = Reference::factorize(a, Reference::lu_pattern(a), Real<Scalar>(1e-3));
    const std::vector<Scalar> x = Reference::solve(factors, b);
    const auto exact = Reference::dense_solve(a, b);
    CAPTURE(n);
    CHECK(factors.perturbed == 0);
    const auto errors = Reference::backward_errors(a, x, b);
    CHECK(errors.componentwise <= 10 * n * epsilon);
    CHECK(errors.normwise <= errors.componentwise * 1.0000001L);
    const auto residual = Reference::multiply(a, exact);
    for (std::size_t i = 0; i < b.size(); ++i) {
      CHECK(std::abs(residual[i] - Reference::widen(b[i])) <=
            1e-15L * n * std::abs(Reference::widen(b[i])) + 1e-15L);
      CHECK(std::abs(Reference::widen(x[i]) - exact[i]) <= 1e3L * n * epsilon * (std::abs(exact[i]) + 1));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("reference: transposes", "[reference]", Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(23);
  const Matrix a = dominant_matrix<Matrix>(12, 0.3, random);
  CHECK(Reference::transpose(Reference::transpose(a)).values == a.values);
  CHECK(Reference::transpose(Reference::transpose(a, true), true).entries == a.entries);
  const auto x = Reference::widen_all(random_vector<Scalar>(12, random));
  const auto y = Reference::widen_all(random_vector<Scalar>(12, random));
  const auto ax = Reference::multiply(a, x), aty = Reference::multiply(Reference::transpose(a), y);
  Reference::Wide<Scalar> left(0), right(0);
  for (std::size_t i = 0; i < 12; ++i) {
    left += ax[i] * y[i];
    right += x[i] * aty[i];
  }
  CHECK(std::abs(left - right) <= 1e-14L * std::abs(left) + 1e-12L);
}

}  // namespace
