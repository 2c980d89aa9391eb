// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_TRIANGLE_HPP
#define LUTRA_REFERENCE_TRIANGLE_HPP

// Plain substitution with a triangle of a matrix stored by rows, and backward errors, row by row in long
// double. Nothing here calls the library.

#include "Lutra_CsrView.hpp"
#include "Lutra_Reference_Lu.hpp"

namespace lutra::Reference {

/// Which triangle of a matrix is meant.
struct Side {
  bool lower = true;
  bool unit = false;  ///< the diagonal is one, and stored diagonal entries are ignored
};

/// The conjugate of a complex value.
inline long double conjugate(long double value) {
  return value;
}
inline std::complex<long double> conjugate(const std::complex<long double>& value) {
  return std::conj(value);
}

/// Calls visit(j, value) for off-diagonal entries of row i of the triangle. Returns the diagonal entry.
template <class MatrixType, class Visit>
auto for_triangle_row(const MatrixType& matrix, Side side, std::size_t i, const Visit& visit) {
  using WideScalar = Wide<typename decltype(MatrixType::values)::value_type>;
  WideScalar diagonal(side.unit ? 1 : 0);
  for_row(matrix, i, [&](std::size_t j, const auto& value) {
    if (j == i && !side.unit) diagonal = widen(value);
    if (side.lower ? j < i : j > i) visit(j, WideScalar(widen(value)));
  });
  return diagonal;
}

/// Solves op(T)·x = b. Rows are gathered; rows of a transposed triangle are scattered.
template <class Scalar>
std::vector<Wide<Scalar>> solve_triangle(const HostMatrix<Scalar, Ordinal, Offset>& matrix, Side side,
                                         Transposition op, const std::vector<Scalar>& b) {
  const std::size_t n = b.size();
  std::vector<Wide<Scalar>> x = widen_all(b);
  const bool forward = side.lower == (op == Transposition::none);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = forward ? k : n - 1 - k;
    if (op == Transposition::none) {
      Wide<Scalar> sum = x[i];
      const Wide<Scalar> diagonal = for_triangle_row(
          matrix, side, i, [&](std::size_t j, const Wide<Scalar>& value) { sum -= value * x[j]; });
      x[i] = sum / diagonal;
      continue;
    }
    const auto taken = [op](const Wide<Scalar>& value) {
      return op == Transposition::adjoint ? conjugate(value) : value;
    };
    const Wide<Scalar> diagonal = for_triangle_row(matrix, side, i, [](std::size_t, const Wide<Scalar>&) {});
    x[i] /= taken(diagonal);
    for_triangle_row(matrix, side, i,
                     [&](std::size_t j, const Wide<Scalar>& value) { x[j] -= taken(value) * x[i]; });
  }
  return x;
}

/// maxᵢ |b − op(T)·x|ᵢ / (|op(T)|·|x| + |b|)ᵢ, where 0/0 is 0; NaN if x contains NaN.
template <class Scalar>
long double triangle_error(const HostMatrix<Scalar, Ordinal, Offset>& matrix, Side side, Transposition op,
                           const std::vector<Scalar>& x, const std::vector<Scalar>& b) {
  using std::abs;
  std::vector<Wide<Scalar>> residual = widen_all(b);
  std::vector<long double> scale;
  for (const Scalar& element : b) scale.push_back(abs(widen(element)));
  const auto subtract = [&](std::size_t i, std::size_t j, Wide<Scalar> value) {
    if (op != Transposition::none) std::swap(i, j);
    if (op == Transposition::adjoint) value = conjugate(value);
    const Wide<Scalar> product = value * Wide<Scalar>(widen(x[j]));
    residual[i] -= product;
    scale[i] += abs(product);
  };
  for (std::size_t i = 0; i < b.size(); ++i) {
    const Wide<Scalar> diagonal = for_triangle_row(
        matrix, side, i, [&](std::size_t j, const Wide<Scalar>& value) { subtract(i, j, value); });
    subtract(i, i, diagonal);
  }
  long double error = 0;
  for (std::size_t i = 0; i < b.size(); ++i) error = worse(error, relative(abs(residual[i]), scale[i]));
  return error;
}

}  // namespace lutra::Reference

#endif
