// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_KrylovTestSystems.hpp"
#include "Lutra_NullVector.hpp"

namespace lutra::Test {
namespace {

using Indices = std::vector<std::int64_t>;

/// A search in A with exact solves of another matrix. Its pivots are its diagonal, some of them perturbed.
template <class Types>
struct Search {
  using Scalar = typename Types::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Types::Space;

  Search(const Matrix<Types>& matrix, const Matrix<Types>& factored,
         const std::vector<std::size_t>& perturbed)
      : n(static_cast<std::size_t>(matrix.n_rows)),
        A(matrix),
        A_adjoint(matrix, Transposition::adjoint),
        F(factored, make_pivots(n, perturbed)),
        scales{to_space<Space>(std::vector<Real>(n, Real(1))),
               to_space<Space>(std::vector<Real>(n, Real(1)))},
        work(SolveWorkspace<Scalar, Space>(Space(), n, 1, MemoryBudget())) {
    report.singular_rows = report.singular_columns = {77};  // of an earlier search
  }

  bool find() { return find_null_vector(Space(), A.A, F, scales, work, report); }
  bool find_by_gmres() {
    const auto gmres = Fgmres<Scalar, Space>(Space(), n, gmres_refinement_restart, MemoryBudget());
    return find_null_vector_by_gmres(Space(), A.A, A_adjoint.A, F, scales, work, gmres, MemoryBudget(),
                                     report);
  }

  static std::vector<Pivot> make_pivots(std::size_t n, const std::vector<std::size_t>& perturbed) {
    std::vector<Pivot> pivots;
    for (std::size_t k = 0; k < n; ++k)
      pivots.push_back({static_cast<std::int64_t>(k), static_cast<std::int64_t>(k), false});
    for (const std::size_t k : perturbed) pivots[k].perturbed = true;
    return pivots;
  }

  std::size_t n;
  DeviceOperator<Types> A, A_adjoint;
  DenseFactorization<Types> F;
  Scales<Scalar, typename Types::Memory> scales;
  SolveWorkspace<Scalar, Space> work;
  Report report;
};

/// ‖A·v‖∞ / (‖A‖∞·‖v‖∞) in long double.
template <class MatrixType, class Scalar>
long double null_residual(const MatrixType& A, const std::vector<Scalar>& v) {
  long double residual = 0, norm = 0, size = 0;
  const auto product = Reference::multiply(A, Reference::widen_all(v));
  for (std::size_t i = 0; i < v.size(); ++i) {
    long double row_sum = 0;
    Reference::for_row(A, i, [&](std::size_t, const Scalar& a) { row_sum += std::abs(Reference::widen(a)); });
    residual = std::max(residual, static_cast<long double>(std::abs(product[i])));
    size = std::max(size, static_cast<long double>(std::abs(Reference::widen(v[i]))));
    norm = std::max(norm, row_sum);
  }
  return residual / (norm * size);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a singular matrix gives its null vector and the pivot involved", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing, e = 1e-3;
  // Rows 1 and 2 are the same: the null vector is (0, 1, −1, 0).
  const auto A = from_dense<Matrix<TestType>>({{4, 1, 1, o}, {1, 2, 2, o}, {1, 2, 2, o}, {o, o, o, 3}});
  const auto factored =
      from_dense<Matrix<TestType>>({{4, 1, 1, o}, {1, 2, 2, o}, {1, 2, 2 + e, o}, {o, o, o, 3 + e}});
  Search<TestType> search(A, factored, {2, 3});
  REQUIRE(search.find());
  CHECK(search.report.singular_rows == Indices{2});  // the perturbed pivot of row 3 is not involved
  CHECK(search.report.singular_columns == Indices{2});
  const auto v = to_host(search.work.X);
  CHECK(null_residual(A, v) <= 64 * static_cast<long double>(epsilon_of<Scalar>));
  CHECK(std::abs(Reference::widen(v[1]) + Reference::widen(v[2])) <= 100 * epsilon_of<Scalar>);
  Search<TestType> by_gmres(A, factored, {2, 3});
  REQUIRE(by_gmres.find_by_gmres());
  CHECK(by_gmres.report.singular_rows == Indices{2});
  CHECK(null_residual(A, to_host(by_gmres.work.X)) <= 64 * static_cast<long double>(epsilon_of<Scalar>));
}

TEMPLATE_LIST_TEST_CASE("without an outstanding perturbed pivot the largest entry is named", "[krylov]",
                        AllTypes) {
  const double o = nothing, e = 1e-3;
  const auto A = from_dense<Matrix<TestType>>({{1, o, o}, {o, 1, -2}, {o, 2, -4}});  // null vector (0, 2, 1)
  const auto factored = from_dense<Matrix<TestType>>({{1, o, o}, {o, 1, -2}, {o, 2, -4 + e}});
  Search<TestType> search(A, factored, {0});
  REQUIRE(search.find());
  CHECK(search.report.singular_rows == Indices{1});
  CHECK(search.report.singular_columns == Indices{1});
}

TEMPLATE_LIST_TEST_CASE("a perturbed pivot alone does not make a matrix singular", "[krylov]", AllTypes) {
  const auto A = from_dense<Matrix<TestType>>({{1, 1, 0}, {1, 1, 1}, {0, 1, 1}});  // determinant −1
  const auto factored = from_dense<Matrix<TestType>>({{1, 1, 0}, {1, 1.001, 1}, {0, 1, 1}});
  Search<TestType> search(A, factored, {1});
  CHECK_FALSE(search.find());
  CHECK(search.report.singular_rows == Indices{77});  // the report is unchanged
  CHECK_FALSE(search.find_by_gmres());
  CHECK(search.report.singular_columns == Indices{77});
}

TEMPLATE_LIST_TEST_CASE("a matrix is singular only if it is within rounding of a singular one", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double epsilon = static_cast<double>(epsilon_of<Scalar>);
  for (const double distance : {4 * epsilon, 1e4 * epsilon}) {
    const auto A = from_dense<Matrix<TestType>>({{1, 1}, {1, 1 + distance}});
    Search<TestType> search(A, from_dense<Matrix<TestType>>({{1, 1}, {1, 1.01}}), {1});
    CHECK(search.find() == (distance < 100 * epsilon));
  }
}

TEMPLATE_LIST_TEST_CASE("small rows and columns do not make a matrix singular", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double s = static_cast<double>(epsilon_of<Scalar>) / 64, o = nothing;
  const auto A = from_dense<Matrix<TestType>>({{1, o, o, o},
                                               {o, 4.1 * s, 0.7 * s, 1.3 * s},
                                               {o, 0.9 * s, 3.3 * s, 0.6 * s},
                                               {o, 1.1 * s, 0.3 * s, 2.7 * s}});
  const auto factored = from_dense<Matrix<TestType>>({{1, o, o, o},
                                                      {o, 4.1 * s, 0.7 * s, 1.3 * s},
                                                      {o, 0.9 * s, 3.3 * s, 0.6 * s},
                                                      {o, 1.1 * s, 0.3 * s, 3.7 * s}});
  Search<TestType> search(A, factored, {3});
  CHECK_FALSE(search.find_by_gmres());
  CHECK(search.report.singular_rows == Indices{77});
}

TEMPLATE_LIST_TEST_CASE("non-finite solves find no null vector", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max());
  const auto A = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
  Search<TestType> search(A, from_dense<Matrix<TestType>>({{1 / huge, nothing}, {nothing, 1 / huge}}), {1});
  CHECK_FALSE(search.find());
}

}  // namespace lutra::Test
