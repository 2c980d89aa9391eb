// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVTESTSYSTEMS_HPP
#define LUTRA_KRYLOVTESTSYSTEMS_HPP

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "Lutra_CsrOperator.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_Transpose.hpp"

namespace lutra::Test {

template <class Types>
using Rows = DenseRows<typename Types::Scalar, typename Types::Memory>;
template <class Types>
using Operator = CsrOperator<typename Types::Scalar, typename Types::Space>;

/// k vectors by columns, each of n entries, on the device by rows.
template <class Types>
Rows<Types> to_device(const std::vector<std::vector<typename Types::Scalar>>& columns) {
  const std::size_t n = columns.front().size();
  const Rows<Types> device("test", n, columns.size());
  const auto host = Kokkos::create_mirror_view(device);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::size_t i = 0; i < n; ++i) host(i, c) = columns[c][i];
  }
  Kokkos::deep_copy(device, host);
  return device;
}

/// Column c of a block on the device.
template <class RowsView>
std::vector<typename RowsView::non_const_value_type> to_host(const RowsView& device, std::size_t c = 0) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
  std::vector<typename RowsView::non_const_value_type> column(host.extent(0));
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = host(i, c);
  return column;
}

/// op(A) on the device and the data that it uses.
template <class Types>
struct DeviceOperator {
  using Space = typename Types::Space;

  explicit DeviceOperator(const Matrix<Types>& matrix, Transposition op = Transposition::none)
      : device(to_space<Space>(matrix)) {
    if (op == Transposition::none) {
      A = Operator<Types>(Space(), device.pattern(), {}, false, MemoryBudget());
    } else {
      transposed = transpose(Space(), device.pattern(), MemoryBudget());
      A = Operator<Types>(Space(), transposed.pattern, transposed.source, op == Transposition::adjoint,
                          MemoryBudget());
    }
    A.set_values(device.values);
  }

  CsrView<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset, typename Types::Memory>
      device;
  TransposedPattern<typename Types::Memory> transposed;
  Operator<Types> A;
};

/// A factorization that solves exactly with a dense copy of a matrix and reports given pivots.
template <class Types>
class DenseFactorization final : public Factorization<typename Types::Scalar, typename Types::Space> {
 public:
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  using Base = Factorization<Scalar, Space>;

  explicit DenseFactorization(Matrix<Types> matrix, std::vector<Pivot> pivots = {})
      : m_matrix(std::move(matrix)), m_pivots(std::move(pivots)) {}

  FactorizationOutcome factorize(const Space&, const ScaledValues<Scalar, typename Types::Memory>&,
                                 double) override {
    return {};
  }
  void apply(const Space& exec, Transposition op, const Rows<Types>& B, const Rows<Types>& X) override {
    ++applications;
    exec.fence();
    const auto matrix =
        op == Transposition::none ? m_matrix : Reference::transpose(m_matrix, op == Transposition::adjoint);
    std::vector<std::vector<Scalar>> columns;
    for (std::size_t c = 0; c < B.extent(1); ++c) {
      columns.emplace_back();
      for (const auto& x : Reference::dense_solve(matrix, to_host(B, c))) columns.back().push_back(narrow(x));
    }
    Kokkos::deep_copy(X, to_device<Types>(columns));
  }
  std::vector<Pivot> pivots(const Space&) const override { return m_pivots; }
  std::int64_t consume_timeout(const Space&) override { return -1; }

  int applications = 0;

 private:
  static Scalar narrow(long double x) { return as_scalar<Scalar>(static_cast<double>(x)); }
  static Scalar narrow(const std::complex<long double>& x) {
    using Real = RealOf<Scalar>;
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return {static_cast<Real>(x.real()), static_cast<Real>(x.imag())};
    } else {
      return static_cast<Real>(x.real());
    }
  }

  Matrix<Types> m_matrix;
  std::vector<Pivot> m_pivots;
};

/// M⁻¹ = 1.
template <class Types>
class NoPreconditioner final : public Preconditioner<typename Types::Scalar, typename Types::Space> {
 public:
  void apply(const typename Types::Space& exec, Transposition, const Rows<Types>& B,
             const Rows<Types>& X) override {
    Kokkos::deep_copy(exec, X, B);
  }
};

/// A dense matrix with random entries and a diagonal that keeps its condition small.
template <class MatrixType>
MatrixType dense_matrix(int n, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  auto matrix = from_dense<MatrixType>(std::vector<std::vector<double>>(
      static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n), 1)));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
      matrix.values[i * static_cast<std::size_t>(n) + j] =
          random_value<Scalar>(random, 0.5) + as_scalar<Scalar>(i == j ? 2.0 * n : 0.0);
    }
  }
  return matrix;
}

template <class Scalar>
std::vector<Scalar> random_vector(std::size_t n, std::mt19937& random) {
  std::vector<Scalar> x(n);
  for (Scalar& entry : x) entry = random_value<Scalar>(random, 1);
  return x;
}

/// ‖b − A·x‖₂ / ‖b‖₂ in long double.
template <class MatrixType, class Scalar>
double relative_residual(const MatrixType& A, const std::vector<Scalar>& x, const std::vector<Scalar>& b) {
  const auto product = Reference::multiply(A, Reference::widen_all(x));
  long double rest = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    rest += std::norm(Reference::widen(b[i]) - product[i]);
    size += std::norm(Reference::widen(b[i]));
  }
  return static_cast<double>(std::sqrt(rest / size));
}

/// An operator that returns NaN from call number `after` on.
template <class Types>
class FailingOperator final : public LinearOperator<typename Types::Scalar, typename Types::Space> {
 public:
  FailingOperator(const Operator<Types>& A, int after) : m_A(A), m_calls_left(after) {}
  std::int64_t size() const override { return m_A.size(); }
  void apply(const typename Types::Space& exec, const Rows<Types>& X, const Rows<Types>& Y) const override {
    using Scalar = typename Types::Scalar;
    m_A.apply(exec, X, Y);
    if (m_calls_left-- <= 0)
      Kokkos::deep_copy(exec, Kokkos::subview(Y, 0, 0),
                        Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));
  }

 private:
  const Operator<Types>& m_A;
  mutable int m_calls_left;
};

/// Artificial dense factors of A = L·U: L is the given matrix, U the diagonal.
template <class Types>
class DenseSplit final : public SplitPreconditioner<typename Types::Scalar, typename Types::Space> {
 public:
  using Space = typename Types::Space;
  DenseSplit(const Matrix<Types>& L, const Matrix<Types>& U) : m_L(L), m_U(U) {}
  void apply(const Space& exec, Transposition op, const Rows<Types>& B, const Rows<Types>& X) override {
    const bool plain = op == Transposition::none;
    (plain ? m_L : m_U).apply(exec, op, B, X);
    (plain ? m_U : m_L).apply(exec, op, X, X);
  }
  void apply_lower(const Space& exec, Transposition op, const Rows<Types>& B, const Rows<Types>& X) override {
    m_L.apply(exec, op, B, X);
  }
  void apply_upper(const Space& exec, Transposition op, const Rows<Types>& B, const Rows<Types>& X) override {
    m_U.apply(exec, op, B, X);
  }

 private:
  DenseFactorization<Types> m_L, m_U;
};

template <class Scalar>
std::vector<std::vector<Scalar>> random_vectors(std::size_t n, std::size_t count, std::mt19937& random) {
  std::vector<std::vector<Scalar>> vectors;
  for (std::size_t c = 0; c < count; ++c) vectors.push_back(random_vector<Scalar>(n, random));
  return vectors;
}

}  // namespace lutra::Test

#endif
