// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Eigen/Dense>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <complex>
#include <lutra/Eigen.hpp>
#include <random>
#include <tuple>
#include <vector>

#include "Lutra_Config.hpp"

namespace {

template <class Scalar>
using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// Number with independent real and imaginary parts in [-1, 1].
template <class Scalar>
Scalar random_number(std::mt19937& engine) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  using Real = typename Eigen::NumTraits<Scalar>::Real;
  if constexpr (Eigen::NumTraits<Scalar>::IsComplex) {
    const auto real = static_cast<Real>(uniform(engine));
    return {real, static_cast<Real>(uniform(engine))};
  } else {
    return static_cast<Real>(uniform(engine));
  }
}

/// A random matrix of n rows, about five entries a row, unsymmetric, no two diagonal entries alike.
template <class Matrix>
Matrix random_matrix(int n, unsigned seed = 1) {
  using Scalar = typename Matrix::Scalar;
  using Index = typename Matrix::StorageIndex;
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> column(0, n - 1);
  std::vector<Eigen::Triplet<Scalar, Index>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, Scalar(4) + random_number<Scalar>(engine));
    for (int k = 0; k < 4; ++k) entries.emplace_back(i, column(engine), random_number<Scalar>(engine));
  }
  Matrix A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

template <class Scalar>
Dense<Scalar> random_columns(int n, int count) {
  std::mt19937 engine(7);
  Dense<Scalar> B(n, count);
  for (int j = 0; j < count; ++j)
    for (int i = 0; i < n; ++i) B(i, j) = random_number<Scalar>(engine);
  return B;
}

/// Largest componentwise backward error |b - A x| / (|A| |x| + |b|), from the dense matrix.
template <class Scalar, class Op>
double backward_error(const Op& op, const Dense<Scalar>& X, const Dense<Scalar>& B) {
  const Dense<Scalar> A = op, R = B - A * X;
  const auto scale = A.cwiseAbs() * X.cwiseAbs() + B.cwiseAbs();
  return static_cast<double>(R.cwiseAbs().cwiseQuotient(scale).maxCoeff());
}

template <class Scalar>
constexpr double tolerance = 20 *
                             double(std::numeric_limits<typename Eigen::NumTraits<Scalar>::Real>::epsilon());

/// Matrices by columns and by rows, of both index types, of each scalar that this Lutra is built for.
template <class Scalar>
using OfScalar = std::tuple<Eigen::SparseMatrix<Scalar, Eigen::ColMajor, int>,
                            Eigen::SparseMatrix<Scalar, Eigen::RowMajor, long>>;
using Matrices =
    decltype(std::tuple_cat(LUTRA_IF_F32(OfScalar<float>(), ) LUTRA_IF_F64(OfScalar<double>(), ) LUTRA_IF_C64(
        OfScalar<std::complex<float>>(), ) LUTRA_IF_C128(OfScalar<std::complex<double>>(), ) std::tuple<>()));

TEMPLATE_LIST_TEST_CASE("SparseLU solves for vectors, blocks and expressions", "[plugins][eigen]", Matrices) {
  using Scalar = typename TestType::Scalar;
  constexpr int n = 200;
  const TestType A = random_matrix<TestType>(n);
  const Dense<Scalar> B = random_columns<Scalar>(n, 3);
  Lutra::SparseLU<TestType> solver;
  solver.compute(A);
  REQUIRE(solver.info() == Eigen::Success);
  CHECK(solver.rows() == n);
  CHECK(solver.cols() == n);

  const auto check = [&](const auto& op, const Dense<Scalar>& X, const Dense<Scalar>& rhs) {
    CHECK(solver.info() == Eigen::Success);
    CHECK(backward_error<Scalar>(op, X, rhs) < tolerance<Scalar>);
  };
  Vector<Scalar> x = solver.solve(B.col(1));
  check(A, x, B.col(1));
  check(A, solver.solve(B), B);
  check(A, solver.solve(B.leftCols(2) * Scalar(2) - B.rightCols(2)),
        B.leftCols(2) * Scalar(2) - B.rightCols(2));

  // X by rows, a part of a larger matrix, and strided
  Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows = solver.solve(B);
  check(A, by_rows, B);
  Dense<Scalar> larger = Dense<Scalar>::Zero(n + 2, 5);
  larger.block(1, 1, n, 3) = solver.solve(B);
  check(A, larger.block(1, 1, n, 3), B);
  CHECK(larger.row(0).isZero(0));
  CHECK(larger.row(n + 1).isZero(0));
  CHECK(larger.col(0).isZero(0));
  CHECK(larger.col(4).isZero(0));
  Vector<Scalar> strided = Vector<Scalar>::Zero(2 * n);
  Eigen::Map<Vector<Scalar>, 0, Eigen::InnerStride<2>> every_second(strided.data(), n);
  every_second = solver.solve(B.col(0));
  check(A, every_second, B.col(0));

  // X over B, wholly and in part
  x = B.col(2);
  x = solver.solve(x);
  check(A, x, B.col(2));
  Dense<Scalar> columns(n, 4);
  columns << B, B.col(0);
  columns.leftCols(3) = solver.solve(columns.rightCols(3));
  check(A, columns.col(2), B.col(0));
  check(A, columns.col(0), B.col(1));

  // sparse right-hand sides
  Eigen::SparseMatrix<Scalar> sparse(n, 2);
  sparse.insert(3, 0) = Scalar(1);
  sparse.insert(n - 1, 1) = Scalar(2);
  const Eigen::SparseMatrix<Scalar> X = solver.solve(sparse);
  check(A, Dense<Scalar>(X), Dense<Scalar>(sparse));
}

TEMPLATE_LIST_TEST_CASE("SparseLU solves with the transpose and the adjoint", "[plugins][eigen]", Matrices) {
  using Scalar = typename TestType::Scalar;
  constexpr int n = 100;
  const TestType A = random_matrix<TestType>(n);
  const Dense<Scalar> B = random_columns<Scalar>(n, 2);
  const Lutra::SparseLU<TestType> solver(A);
  const Dense<Scalar> of_transpose = solver.transpose().solve(B);
  CHECK(solver.info() == Eigen::Success);
  CHECK(backward_error<Scalar>(Dense<Scalar>(A).transpose(), of_transpose, B) < tolerance<Scalar>);
  Dense<Scalar> of_adjoint = B;
  of_adjoint = solver.adjoint().solve(of_adjoint);
  CHECK(solver.info() == Eigen::Success);
  CHECK(backward_error<Scalar>(Dense<Scalar>(A).adjoint(), of_adjoint, B) < tolerance<Scalar>);
}

TEMPLATE_LIST_TEST_CASE("SparseLDLT reads one triangle", "[plugins][eigen]", Matrices) {
  using Scalar = typename TestType::Scalar;
  constexpr int n = 60;
  const TestType R = random_matrix<TestType>(n);
  Dense<Scalar> A = Dense<Scalar>(R) + Dense<Scalar>(R).adjoint();
  A.diagonal().head(n / 2) *= Scalar(-1);  // indefinite
  A /= Scalar(8);                          // with a determinant that is not too large for float
  const Dense<Scalar> B = random_columns<Scalar>(n, 2);
  const TestType lower = Dense<Scalar>(A.template triangularView<Eigen::Lower>()).sparseView();
  const TestType upper = Dense<Scalar>(A.template triangularView<Eigen::Upper>()).sparseView();
  const TestType others = lower + upper * Scalar(3);  // wrong above the diagonal; on it, 4 times as large

  const Lutra::SparseLDLT<TestType> of_lower(lower);
  const Dense<Scalar> X = of_lower.solve(B);
  CHECK(of_lower.info() == Eigen::Success);
  CHECK(backward_error<Scalar>(A, X, B) < tolerance<Scalar>);
  const Dense<Scalar> Y = of_lower.transpose().solve(B), Z = of_lower.adjoint().solve(B);
  CHECK(backward_error<Scalar>(A.transpose(), Y, B) < tolerance<Scalar>);
  CHECK(backward_error<Scalar>(A, Z, B) < tolerance<Scalar>);

  const Lutra::SparseLDLT<TestType, Eigen::Upper> of_upper(upper);
  CHECK(backward_error<Scalar>(A, Dense<Scalar>(of_upper.solve(B)), B) < tolerance<Scalar>);
  CHECK(of_upper.info() == Eigen::Success);

  Dense<Scalar> A_of_others = A;
  A_of_others.diagonal() *= Scalar(4);
  const Lutra::SparseLDLT<TestType> of_others(others);
  CHECK(backward_error<Scalar>(A_of_others, Dense<Scalar>(of_others.solve(B)), B) < tolerance<Scalar>);

  const Scalar determinant = A.determinant();
  CHECK(std::abs(of_lower.signDeterminant() - determinant / std::abs(determinant)) < 100 * tolerance<Scalar>);
  CHECK(std::abs(double(of_lower.logAbsDeterminant()) - double(std::log(std::abs(determinant)))) <
        100 * n * tolerance<Scalar>);
  CHECK(std::abs(of_lower.determinant() - determinant) < 1e4 * tolerance<Scalar> * std::abs(determinant));
}

#ifdef LUTRA_HAS_F64
using Matrix = Eigen::SparseMatrix<double>;

TEST_CASE("Eigen: uncompressed matrices, blocks and maps of matrices", "[plugins][eigen]") {
  constexpr int n = 50;
  const Dense<double> B = random_columns<double>(n, 1);
  Matrix A = random_matrix<Matrix>(n);
  const Matrix compressed = A;
  A.uncompress();
  A.reserve(Eigen::VectorXi::Constant(n, 10));
  Lutra::SparseLU<Matrix> solver(A);
  CHECK(backward_error<double>(A, Dense<double>(solver.solve(B)), B) < tolerance<double>);
  CHECK(solver.info() == Eigen::Success);
  CHECK(!A.isCompressed());

  Matrix wide(n, 2 * n);
  wide.leftCols(n) = random_matrix<Matrix>(n, 5);
  wide.rightCols(n) = compressed;
  const Eigen::Ref<const Matrix> right = wide.rightCols(n);
  REQUIRE(right.outerIndexPtr()[0] > 0);
  const Lutra::SparseLU<Eigen::Ref<const Matrix>> of_block(right);
  CHECK(backward_error<double>(compressed, Dense<double>(of_block.solve(B)), B) < tolerance<double>);
  CHECK(of_block.info() == Eigen::Success);

  const Eigen::Map<const Matrix> map(n, n, compressed.nonZeros(), compressed.outerIndexPtr(),
                                     compressed.innerIndexPtr(), compressed.valuePtr());
  const Lutra::SparseLU<Eigen::Map<const Matrix>> of_map(map);
  CHECK(backward_error<double>(compressed, Dense<double>(of_map.solve(B)), B) < tolerance<double>);
  CHECK(of_map.info() == Eigen::Success);
}

TEST_CASE("Eigen: an analysis serves any values of its pattern", "[plugins][eigen]") {
  constexpr int n = 80;
  const Dense<double> b = random_columns<double>(n, 1);
  Matrix A = random_matrix<Matrix>(n);
  Lutra::SparseLU<Matrix> solver;
  solver.setOption("ordering", "amd").setOption("tolerance", 1e-12).setOption("time_stages", true);
  solver.setPivotThreshold(0.5);
  solver.analyzePattern(A);
  for (int step = 0; step < 3; ++step) {
    A.coeffs() *= 1.5;
    solver.factorize(A);
    const Dense<double> x = solver.solve(b);
    CHECK(solver.info() == Eigen::Success);
    CHECK(backward_error<double>(A, x, b) < tolerance<double>);
  }
  CHECK(solver.report().find("\"amd\"") != std::string::npos);
  const char* value = nullptr;
  REQUIRE(lutra_get_option(solver.handle(), "pivot_threshold", &value) == LUTRA_SUCCESS);
  CHECK(std::string(value) == "0.5");
}

/// Whether all entries are NaN: nothing was computed.
bool all_nan(const Dense<double>& X) {
  return X.array().isNaN().all();
}

TEST_CASE("Eigen: info() is Success for no wrong answer", "[plugins][eigen]") {
  constexpr int n = 20;
  const Dense<double> b = random_columns<double>(n, 1);
  const Matrix A = random_matrix<Matrix>(n);
  Lutra::SparseLU<Matrix> solver;
  CHECK(solver.info() == Eigen::InvalidInput);
  CHECK(solver.lastErrorMessage() == "no matrix was passed to compute");

  solver.analyzePattern(A);
  CHECK(solver.info() == Eigen::Success);
  CHECK(all_nan(solver.solve(b)));  // no factors
  CHECK(solver.info() == Eigen::InvalidInput);
  CHECK(solver.lastErrorMessage() == "solve: there are no factors; call factorize or compute first");

  SECTION("singular") {
    Matrix singular = A;
    for (int i = 0; i < n; ++i) singular.coeffRef(i, 4) = 2 * A.coeff(i, 7);
    singular = singular.pruned();
    for (int i = 0; i < n; ++i)
      if (A.coeff(i, 7) != 0) singular.coeffRef(i, 4) = 2 * A.coeff(i, 7);
    singular.makeCompressed();
    solver.compute(singular);
    CHECK(solver.info() == Eigen::NumericalIssue);
    CHECK(!solver.lastErrorMessage().empty());
    Dense<double> x = solver.solve(b);
    CHECK(solver.info() != Eigen::Success);
  }
  SECTION("structurally singular") {
    Matrix empty_row = A;
    empty_row.prune([](int i, int, double) { return i != 5; });
    solver.compute(empty_row);
    CHECK(solver.info() == Eigen::NumericalIssue);
    const std::string reason = solver.lastErrorMessage();
    CHECK(reason.find("of the transpose") != std::string::npos);
    CHECK(all_nan(solver.solve(b)));
    CHECK(solver.info() == Eigen::NumericalIssue);
    CHECK(solver.lastErrorMessage() == reason);
  }
  SECTION("numerically singular: X is NaN, whatever it was") {
    Matrix rank_one(2, 2);
    rank_one.insert(0, 0) = 1;
    rank_one.insert(0, 1) = 2;
    rank_one.insert(1, 0) = 2;
    rank_one.insert(1, 1) = 4;
    solver.compute(rank_one);
    Eigen::VectorXd x = Eigen::VectorXd::Constant(2, 7), ones = Eigen::VectorXd::Ones(2);
    x = solver.solve(ones);
    CHECK(solver.info() == Eigen::NumericalIssue);
    CHECK(all_nan(x));
    ones = solver.solve(ones);
    CHECK(all_nan(ones));
    solver.setOption("solve_singular", true);
    solver.compute(rank_one);
    x = solver.solve(Eigen::VectorXd::Ones(2));
    CHECK(solver.info() == Eigen::NumericalIssue);
    CHECK(x.allFinite());
  }
  SECTION("NaN after a good matrix: the old factors answer nothing") {
    solver.factorize(A);
    CHECK(solver.info() == Eigen::Success);
    Matrix bad = A;
    bad.valuePtr()[3] = std::numeric_limits<double>::quiet_NaN();
    solver.factorize(bad);
    CHECK(solver.info() == Eigen::InvalidInput);
    const std::string reason = solver.lastErrorMessage();
    CHECK(!reason.empty());
    CHECK(all_nan(solver.solve(b)));
    CHECK(solver.info() == Eigen::InvalidInput);
    CHECK(solver.lastErrorMessage() == reason);
    solver.factorize(A);
    CHECK(backward_error<double>(A, Dense<double>(solver.solve(b)), b) < tolerance<double>);
    CHECK(solver.info() == Eigen::Success);
  }
  SECTION("another pattern") {
    solver.factorize(random_matrix<Matrix>(n, 99));
    CHECK(solver.info() == Eigen::InvalidInput);
    CHECK(all_nan(solver.solve(b)));
  }
  SECTION("not square") {
    const Matrix wide = A.topRows(n - 1);
    solver.compute(wide);
    CHECK(solver.info() == Eigen::InvalidInput);
    CHECK(!solver.lastErrorMessage().empty());
  }
  SECTION("NaN in b") {
    solver.factorize(A);
    Dense<double> bad = b;
    bad(2, 0) = std::numeric_limits<double>::quiet_NaN();
    const Dense<double> x = solver.solve(bad);
    CHECK(solver.info() != Eigen::Success);
  }
  SECTION("an option that does not exist") {
    solver.setOption("no_such_option", 3);
    CHECK(solver.info() == Eigen::InvalidInput);
    CHECK(solver.lastErrorMessage().find("no_such_option") != std::string::npos);
    solver.compute(A);
    CHECK(solver.info() == Eigen::InvalidInput);
    CHECK(solver.lastErrorMessage().find("no_such_option") != std::string::npos);
    CHECK(all_nan(solver.solve(b)));
  }
  SECTION("columns that do not ascend") {
    std::vector<int> outer = {0, 2, 4}, inner = {1, 0, 0, 1};
    std::vector<double> values = {1, 2, 3, 4};
    const Eigen::Map<const Matrix> map(2, 2, 4, outer.data(), inner.data(), values.data());
    const Lutra::SparseLU<Eigen::Map<const Matrix>> of_map(map);
    CHECK(of_map.info() == Eigen::InvalidInput);
    CHECK(!of_map.lastErrorMessage().empty());
  }
  SECTION("a determinant without factors") {
    const Lutra::SparseLDLT<Matrix> none;
    CHECK(std::isnan(none.determinant()));
  }
}

/// Implicit Euler steps of u' = -A u, as a program writes it that takes any solver of Eigen.
template <class Solver>
Eigen::VectorXd implicit_euler(const Matrix& A, Eigen::VectorXd u, double step, int steps) {
  Matrix identity(A.rows(), A.cols());
  identity.setIdentity();
  Solver solver;
  solver.compute(identity + step * A);
  for (int k = 0; k < steps && solver.info() == Eigen::Success; ++k) u = solver.solve(u);
  return u;
}

TEST_CASE("Eigen: a program that takes any solver of Eigen", "[plugins][eigen]") {
  constexpr int m = 12, n = m * m;  // five-point Laplacian
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 4);
    if (i % m > 0) entries.emplace_back(i, i - 1, -1), entries.emplace_back(i - 1, i, -1);
    if (i >= m) entries.emplace_back(i, i - m, -1), entries.emplace_back(i - m, i, -1);
  }
  Matrix A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  const Eigen::VectorXd u = Eigen::VectorXd::LinSpaced(n, 0, 1);
  const Eigen::VectorXd expected = implicit_euler<Eigen::SimplicialLDLT<Matrix>>(A, u, 0.1, 10);
  CHECK((implicit_euler<Eigen::SparseLU<Matrix>>(A, u, 0.1, 10) - expected).norm() < 1e-13);
  CHECK((implicit_euler<Lutra::SparseLU<Matrix>>(A, u, 0.1, 10) - expected).norm() < 1e-13);
  CHECK((implicit_euler<Lutra::SparseLDLT<Matrix>>(A, u, 0.1, 10) - expected).norm() < 1e-13);
}

#endif  // LUTRA_HAS_F64

}  // namespace
