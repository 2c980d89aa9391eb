// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Ilu = SparseILU<typename Types::Scalar, typename Types::Space>;
template <class Types>
using Block = Kokkos::View<typename Types::Scalar**, Kokkos::LayoutLeft, typename Types::Memory>;
template <class Scalar>
using Dense = std::vector<std::vector<Scalar>>;

/// op(M)⁻¹ for what `ilu` applies, entry by entry: it is applied to the identity.
template <class Types>
Dense<typename Types::Scalar> inverse_of(Ilu<Types>& ilu, std::size_t n, Transposition op) {
  const Block<Types> X("X", n, n);
  const auto host = Kokkos::create_mirror_view(X);
  for (std::size_t i = 0; i < n; ++i) host(i, i) = typename Types::Scalar(1);
  Kokkos::deep_copy(X, host);
  ilu.apply(X, X, op);
  Kokkos::deep_copy(host, X);
  Dense<typename Types::Scalar> result(n, std::vector<typename Types::Scalar>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) result[i][j] = host(i, j);
  return result;
}

/// The largest |X(i, j) − conj(Y(j, i))|, in rounding units of the largest entry.
template <class Scalar>
double asymmetry(const Dense<Scalar>& X, const Dense<Scalar>& Y) {
  double most = 0, size = 0;
  for (std::size_t i = 0; i < X.size(); ++i) {
    for (std::size_t j = 0; j < X.size(); ++j) {
      const Scalar other = ScalarTraits<Scalar>::conjugate(Y[j][i]);
      most = std::max<double>(most, ScalarTraits<Scalar>::magnitude(X[i][j] - other));
      size = std::max<double>(size, ScalarTraits<Scalar>::magnitude(X[i][j]));
    }
  }
  return most / size / static_cast<double>(epsilon_of<Scalar>);
}

/// Whether elimination of a Hermitian matrix meets positive pivots alone.
template <class Scalar>
bool is_positive_definite(Dense<Scalar> X) {
  for (std::size_t k = 0; k < X.size(); ++k) {
    if (!(std::real(Reference::widen(X[k][k])) > 0)) return false;
    for (std::size_t i = k + 1; i < X.size(); ++i) {
      const Scalar l = X[i][k] / X[k][k];
      for (std::size_t j = k; j < X.size(); ++j) X[i][j] -= l * X[k][j];
    }
  }
  return true;
}

SparseIluOptions symmetric_options(IluMethod method, int fill_level = 0) {
  SparseIluOptions options;
  options.symmetric = true;
  options.method = method;
  options.fill_level = fill_level;
  options.sweeps = 1;  // far from converged: L is no mirror of U
  options.steps = 2;
  return options;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("symmetric incomplete factors are a Hermitian positive definite operator", "[solver]",
                        AllTypes) {
  using T = TestType;
  std::mt19937 random(41);
  const std::size_t n = 48;
  const auto A = hermitian_matrix<Matrix<T>>(static_cast<int>(n), 0.1, 0.05, random);
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    for (const IluApply apply : {IluApply::exact, IluApply::jacobi}) {
      for (const Ordering ordering : {Ordering::natural, Ordering::rcm}) {
        auto options = symmetric_options(method);
        options.apply = apply;
        options.jacobi_sweeps = 2;
        options.ordering = ordering;
        Ilu<T> ilu(options);
        succeed(ilu.analyze(A));
        REQUIRE(ilu.factorize(A) == Status::success);
        CAPTURE(ilu.report().choice.precond, ilu.report().choice.ordering, ilu.report().choice.trisolve);
        const auto plain = inverse_of<T>(ilu, n, Transposition::none);
        CHECK(asymmetry(plain, plain) < 50);
        CHECK(is_positive_definite(plain));
        CHECK(inverse_of<T>(ilu, n, Transposition::adjoint) == plain);  // bit by bit
        auto transposed = inverse_of<T>(ilu, n, Transposition::transposed);
        for (auto& row : transposed)
          for (auto& value : row) value = ScalarTraits<typename T::Scalar>::conjugate(value);
        CHECK(transposed == plain);
        CHECK(ilu.report().pivots.shift == 0.0);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric incomplete factors ignore L, and their halves are adjoint", "[solver]",
                        AllTypes) {
  using T = TestType;
  using Scalar = typename T::Scalar;
  using Space = typename T::Space;
  const Space exec;
  std::mt19937 random(42);
  const std::size_t n = 30;
  const auto A = hermitian_matrix<Matrix<T>>(static_cast<int>(n), 0.15, 0.1, random);
  auto options = symmetric_options(IluMethod::iluk, 1);
  options.apply = IluApply::exact;
  Ilu<T> ilu(options);
  succeed(ilu.analyze(A));
  REQUIRE(ilu.factorize(A) == Status::success);
  const auto& factors = ilu.factorization().factors();
  const auto row_map = to_vector(factors.row_map), diagonal = to_vector(factors.diagonal);
  const auto entries = to_vector(factors.entries);
  auto values = to_vector(factors.values);
  // M = Uᴴ·D⁻¹·U on the host
  Dense<Scalar> U(n, std::vector<Scalar>(n)), M = U;
  for (std::size_t i = 0; i < n; ++i) {
    for (auto p = row_map[i]; p < row_map[i + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (p >= diagonal[i]) U[i][static_cast<std::size_t>(entries[at])] = values[at];
      if (p < diagonal[i]) values[at] = as_scalar<Scalar>(1e3);
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k)
        M[i][j] += ScalarTraits<Scalar>::conjugate(U[k][i]) * U[k][j] / U[k][k];
  Kokkos::deep_copy(factors.values, to_space<Space>(values));
  auto& parts = dynamic_cast<IncompleteSolve<Scalar, Space>&>(*ilu.factorization().parts());
  parts.update_values(exec);
  using Rows = typename Ilu<T>::factorization_type::Rows;
  const auto x = known_system(A).x;
  std::vector<Scalar> b(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) b[i] += M[i][j] * x[j];
  const auto found = to_space<Space>(b);
  const Rows block(found.data(), n, 1);
  parts.apply_lower(exec, Transposition::none, block, block);
  parts.apply_upper(exec, Transposition::none, block, block);
  const auto result = to_vector(found);
  for (std::size_t i = 0; i < n; ++i)
    CHECK(ScalarTraits<Scalar>::magnitude(result[i] - x[i]) < 1e3 * epsilon_of<Scalar>);
  // the adjoint of one half is the other
  const auto left = to_space<Space>(b), right = to_space<Space>(b);
  const Rows by_lower(left.data(), n, 1), by_upper(right.data(), n, 1);
  parts.apply_lower(exec, Transposition::adjoint, by_lower, by_lower);
  parts.apply_upper(exec, Transposition::none, by_upper, by_upper);
  CHECK(to_vector(left) == to_vector(right));
}

TEMPLATE_LIST_TEST_CASE("Krylov methods solve with symmetric incomplete factors, also transposed", "[solver]",
                        AllTypes) {
  using T = TestType;
  using Scalar = typename T::Scalar;
  std::mt19937 random(43);
  const auto A = hermitian_matrix<Matrix<T>>(120, 0.04, 0.01, random);
  const double tolerance = sizeof(RealOf<Scalar>) == 8 ? 1e-10 : 1e-5;
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::gmres}) {
    for (const IluMethod ilu : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
      for (const IluApply apply : {IluApply::exact, IluApply::jacobi}) {
        KrylovSolverOptions options;
        options.method = method;
        if (method == KrylovMethod::gmres) options.side = PreconditionSide::split;
        options.ilu = symmetric_options(ilu);
        options.ilu.apply = apply;
        KrylovSolver<Scalar, typename T::Space> solver(options);
        succeed(solver.analyze(A));
        succeed(solver.factorize(A));
        for (const Transposition op :
             {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
          const auto b = to_space<typename T::Space>(known_system(A).b);
          const auto x = to_space<typename T::Space>(std::vector<Scalar>(b.extent(0)));
          CAPTURE(solver.report().choice.precond, solver.report().choice.trisolve);
          REQUIRE(solver.solve(b, x, op) == Status::success);
          CHECK(*solver.report().iterations < 30);
          CHECK(*solver.report().errors.backward_normwise < 10 * tolerance);
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("symmetric incomplete factors refuse an unsymmetric pattern", "[solver][errors]",
                        AllTypes) {
  const double o = nothing;
  const auto A = from_dense<Matrix<TestType>>({{4, 1, o}, {1, 4, 1}, {1, 1, 4}});
  Ilu<TestType> ilu(symmetric_options(IluMethod::iluk));
  std::string message;
  try {
    succeed(ilu.analyze(A));
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK(message.find("row 2, column 0") != std::string::npos);
  const auto small = from_dense<Matrix<TestType>>({{4}});
  succeed(ilu.analyze(small));
  REQUIRE(ilu.factorize(small) == Status::success);
  CHECK(inverse_of<TestType>(ilu, 1, Transposition::none)[0][0] ==
        as_scalar<typename TestType::Scalar>(0.25));
}

}  // namespace lutra::Test
