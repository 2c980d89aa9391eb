// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "Lutra_CompensatedSum.hpp"
#include "Lutra_ConditionEstimate.hpp"
#include "Lutra_KrylovTestSystems.hpp"

namespace lutra::Test {
namespace {

/// Estimates with exact solves of another matrix, A + E.
template <class Types>
struct Estimation {
  using Scalar = typename Types::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Types::Space;

  Estimation(const Matrix<Types>& matrix, const Matrix<Types>& factored)
      : n(static_cast<std::size_t>(matrix.n_rows)),
        A(matrix),
        A_adjoint(Reference::transpose(matrix, true)),
        F(factored),
        scales{to_space<Space>(std::vector<Real>(n, Real(1))),
               to_space<Space>(std::vector<Real>(n, Real(1)))},
        work(SolveWorkspace<Scalar, Space>(Space(), n, 1, MemoryBudget())) {}

  ConditionEstimate operator()(double inexactness = 0, bool has_zero_pivots = false) {
    return estimate_condition(Space(), A.A, A_adjoint.A, F, scales, work, inexactness, has_zero_pivots);
  }

  std::size_t n;
  DeviceOperator<Types> A, A_adjoint;
  DenseFactorization<Types> F;
  Scales<Scalar, typename Types::Memory> scales;
  SolveWorkspace<Scalar, Space> work;
};

/// ‖|A⁻¹|·|A|‖∞ of a dense matrix, column by column of A⁻¹.
template <class MatrixType>
double skeel_condition(const MatrixType& A) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<double> row_sums(n), sums(n);
  for (std::size_t i = 0; i < n; ++i)
    Reference::for_row(A, i, [&](std::size_t, const Scalar& a) {
      row_sums[i] += static_cast<double>(std::abs(Reference::widen(a)));
    });
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<Scalar> unit(n);
    unit[k] = Scalar(1);
    const auto column = Reference::dense_solve(A, unit);
    for (std::size_t i = 0; i < n; ++i) sums[i] += static_cast<double>(std::abs(column[i])) * row_sums[k];
  }
  return *std::max_element(sums.begin(), sums.end());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the estimate is a close lower bound of Skeel's condition number", "[krylov]",
                        AllTypes) {
  std::mt19937 random(5);
  for (int k = 0; k < 20; ++k) {
    const int n = 2 + k;
    Matrix<TestType> A;
    A.n_rows = A.n_cols = n;
    A.row_map.push_back(0);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        A.entries.push_back(j);
        A.values.push_back(random_value<typename TestType::Scalar>(random, 2));
      }
      A.row_map.push_back(A.nnz());
    }
    const double exact = skeel_condition(A);
    if (exact > 1e3) continue;
    Estimation<TestType> estimation(A, A);
    const ConditionEstimate estimate = estimation();
    INFO("matrix " << k << ": " << estimate.condition << " of " << exact);
    CHECK(estimate.condition <= 1.01 * exact);
    CHECK(estimate.condition >= exact / 5);
    CHECK(estimate.solves == 4);
    CHECK(estimation.F.applications == 4);
    CHECK_FALSE(estimate.is_singular<typename TestType::Scalar>());
  }
}

TEMPLATE_LIST_TEST_CASE("the distance to singularity is that of A, not that of the factors", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double epsilon = static_cast<double>(epsilon_of<Scalar>), wrong = std::pow(epsilon, 5.0 / 8.0);
  for (const double distance : {0.0, 4096 * epsilon}) {
    const auto A = from_dense<Matrix<TestType>>({{2, 1, 1}, {1, 1, 0}, {1, 0, 1 + distance}});
    const auto factored = from_dense<Matrix<TestType>>({{2, 1, 1}, {1, 1, 0}, {1, 0, 1 + wrong}});
    Estimation<TestType> estimation(A, factored);
    const ConditionEstimate estimate = estimation();
    CHECK(estimate.solves == 5);
    CHECK(estimate.is_singular<Scalar>() == (distance == 0));
    // The null vector (1, −1, −1): |w|ᵀ|A||z| = 2 + 1 + 1 + 1 + 1 + 1 + 1 = 8, and wᵀAz = distance.
    if (distance > 0) CHECK(std::abs(estimate.distance / (distance / 8) - 1) < 0.2);
    if (distance > 0) CHECK(estimate.condition >= 0.8 * 8 / distance);
  }
}

TEMPLATE_LIST_TEST_CASE("zero rows are singular unless their pivots are zero pivots", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  auto factored = A;
  A.values = {Scalar(2), Scalar(0), Scalar(0), Scalar(0)};
  factored.values = {Scalar(2), Scalar(0), Scalar(0), Scalar(1)};
  Estimation<TestType> estimation(A, factored);
  const ConditionEstimate estimate = estimation(), without_row = estimation(0, true);
  CHECK(estimate.is_singular<Scalar>());
  CHECK(estimate.solves == 1);
  CHECK_FALSE(without_row.is_singular<Scalar>());
}

TEMPLATE_LIST_TEST_CASE("the condition of a solution bounds its error", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto A = from_dense<Matrix<TestType>>({{1, 1}, {1, 1.0625}});
  Estimation<TestType> estimation(A, A);
  for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    const std::vector<Scalar> x{Scalar(1), Scalar(-1)}, b{Scalar(0), Scalar(-0.0625f)};
    Kokkos::deep_copy(estimation.work.X, to_device<TestType>(std::vector<std::vector<Scalar>>{x}));
    Kokkos::deep_copy(estimation.work.B, to_device<TestType>(std::vector<std::vector<Scalar>>{b}));
    const auto estimate = estimate_condition_of_solution(Space(), estimation.A.A, estimation.F, op,
                                                         estimation.scales, estimation.work);
    // |A⁻¹| = 16·[1.0625 1; 1 1], |A||x| + |b| = (2, 2.125): 16·(1.0625·2 + 2.125) = 68
    CHECK(estimate.condition <= 68.01);
    CHECK(estimate.condition >= 67.0);
    CHECK(estimate.solves == 4);
  }
}

TEST_CASE("compensated sums keep digits that plain sums lose", "[krylov]") {
  lutra::Impl::CompensatedSum sum;
  sum.add_product(1e16, 1.0);
  sum.add_product(1.0, 1.0);
  sum.add_product(-1e16, 1.0);
  CHECK(sum.value() == 1.0);
  lutra::Impl::CompensatedComplexSum complex;
  using C = Kokkos::complex<double>;
  complex.add_product(C(1e16, 0), C(0, 1));
  complex.add_product(C(3, 1), C(1, 1));
  complex.add_product(C(-1e16, 0), C(0, 1));
  CHECK(complex.value() == C(2, 4));
}

}  // namespace lutra::Test
