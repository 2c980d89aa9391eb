// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLISYSTEM_HPP
#define LUTRA_CLISYSTEM_HPP

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_ScalarTraits.hpp"

// The system of a command, as host arrays in the scalar type of the solve.

namespace lutra::Cli {

/// Double precision type for sums.
template <class Scalar>
using Wide = std::conditional_t<ScalarTraits<Scalar>::is_complex, Kokkos::complex<double>, double>;

/// Rounds to the scalar type; infinite on overflow. A complex number becomes real only if it is.
template <class Scalar, class From>
Scalar rounded(const From& value) {
  using Real = RealOf<Scalar>;
  if constexpr (ScalarTraits<From>::is_complex) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return Scalar(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
    } else {
      return static_cast<Real>(value.real());
    }
  } else {
    return Scalar(static_cast<Real>(value));
  }
}

/// "f32", "f64", "c64" or "c128": kind and bits.
template <class Scalar>
std::string scalar_name() {
  return (ScalarTraits<Scalar>::is_complex ? "c" : "f") + std::to_string(8 * sizeof(Scalar));
}

[[noreturn]] inline void fail_overflow(const std::string& file, std::int64_t row, std::int64_t column) {
  throw FileError(file, 0,
                  "the value at row " + std::to_string(row + 1) + ", column " + std::to_string(column + 1) +
                      " overflows single precision; --scalar f64 holds it");
}

/// Converts the matrix of a file to the scalar type of the solve.
/// @throws FileError if a value overflows
template <class Scalar>
HostMatrix<Scalar> convert_matrix(const std::string& file, MatrixMarketMatrix&& read) {
  return std::visit(
      [&file](auto&& matrix) -> HostMatrix<Scalar> {
        using From = std::remove_cvref_t<decltype(matrix)>;
        if constexpr (std::is_same_v<From, HostMatrix<Scalar>>) {
          return std::move(matrix);
        } else {
          HostMatrix<Scalar> result{
              matrix.n_rows, matrix.n_cols, std::move(matrix.row_map), std::move(matrix.entries), {}};
          result.values.reserve(matrix.values.size());
          for (const auto& value : matrix.values) result.values.push_back(rounded<Scalar>(value));
          for (std::size_t row = 0; row + 1 < result.row_map.size(); ++row) {
            for (auto k = static_cast<std::size_t>(result.row_map[row]);
                 k < static_cast<std::size_t>(result.row_map[row + 1]); ++k) {
              if (!ScalarTraits<Scalar>::is_finite(result.values[k])) {
                fail_overflow(file, static_cast<std::int64_t>(row), result.entries[k]);
              }
            }
          }
          return result;
        }
      },
      std::move(read.matrix));
}

/// Converts right-hand sides of a file, by columns.
/// @throws FileError if a value overflows the scalar type
template <class Scalar>
std::vector<Scalar> convert_array(const std::string& file, const MatrixMarketArray& read) {
  std::vector<Scalar> result;
  result.reserve(read.values.size());
  for (const auto& value : read.values) {
    result.push_back(rounded<Scalar>(value));
    if (!ScalarTraits<Scalar>::is_finite(result.back())) {
      const auto at = static_cast<std::int64_t>(result.size()) - 1;
      fail_overflow(file, at % read.n_rows, at / read.n_rows);
    }
  }
  return result;
}

/// x*: element i of column c is (1 + (i mod 7)/4)·(1 + c), both counted from 0; [n × n_rhs] by columns.
template <class Scalar>
std::vector<Scalar> known_solution(std::size_t n, std::size_t n_rhs) {
  std::vector<Scalar> x(n * n_rhs);
  for (std::size_t c = 0; c < n_rhs; ++c) {
    for (std::size_t i = 0; i < n; ++i) {
      x[c * n + i] = rounded<Scalar>((1 + static_cast<double>(i % 7) / 4) * static_cast<double>(1 + c));
    }
  }
  return x;
}

/// op(A)·X, summed in double precision. X: [n × n_rhs] by columns.
/// @throws FileError if the product overflows the scalar type
template <class Scalar>
std::vector<Scalar> multiply(const std::string& file, const HostMatrix<Scalar>& A,
                             const std::vector<Scalar>& X, Transposition op) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<Scalar> B(X.size());
  std::vector<Wide<Scalar>> sum(n);  // one column of B
  for (std::size_t first = 0; first < X.size(); first += n) {
    std::fill(sum.begin(), sum.end(), Wide<Scalar>(0));
    for (std::size_t i = 0; i < n; ++i) {
      for (auto k = static_cast<std::size_t>(A.row_map[i]); k < static_cast<std::size_t>(A.row_map[i + 1]);
           ++k) {
        const auto j = static_cast<std::size_t>(A.entries[k]);
        const bool plain = op == Transposition::none;
        const std::size_t from = plain ? j : i, to = plain ? i : j;
        auto value = rounded<Wide<Scalar>>(A.values[k]);
        if (op == Transposition::adjoint) value = ScalarTraits<Wide<Scalar>>::conjugate(value);
        sum[to] += value * rounded<Wide<Scalar>>(X[first + from]);
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      B[first + i] = rounded<Scalar>(sum[i]);
      if (!ScalarTraits<Scalar>::is_finite(B[first + i])) {
        throw FileError(
            file, 0, "row " + std::to_string(i + 1) + " of A·x* overflows; give a right-hand side by --rhs");
      }
    }
  }
  return B;
}

/// The matrix represented by one triangle of A, including the diagonal.
template <class Scalar>
HostMatrix<Scalar> mirrored_triangle(const HostMatrix<Scalar>& A, Triangle triangle, Symmetry symmetry) {
  const auto is_read = [triangle](std::int64_t i, std::int64_t j) {
    return triangle == Triangle::lower ? j <= i : j >= i;
  };
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<std::vector<std::pair<std::int64_t, Scalar>>> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (auto k = static_cast<std::size_t>(A.row_map[i]); k < static_cast<std::size_t>(A.row_map[i + 1]);
         ++k) {
      const auto row = static_cast<std::int64_t>(i), column = static_cast<std::int64_t>(A.entries[k]);
      if (!is_read(row, column)) continue;
      rows[i].emplace_back(column, A.values[k]);
      if (row == column) continue;
      const Scalar mirrored =
          symmetry == Symmetry::hermitian ? ScalarTraits<Scalar>::conjugate(A.values[k]) : A.values[k];
      rows[static_cast<std::size_t>(column)].emplace_back(row, mirrored);
    }
  }
  HostMatrix<Scalar> result{A.n_rows, A.n_cols, {0}, {}, {}};
  for (auto& row : rows) {
    std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [column, value] : row) {
      result.entries.push_back(static_cast<typename decltype(result.entries)::value_type>(column));
      result.values.push_back(value);
    }
    result.row_map.push_back(
        static_cast<typename decltype(result.row_map)::value_type>(result.entries.size()));
  }
  return result;
}

/// max over columns of ‖x − x*‖∞ / ‖x*‖∞; infinite or NaN if X is.
template <class Scalar>
double forward_error(const std::vector<Scalar>& X, const std::vector<Scalar>& known, std::size_t n) {
  double worst = 0;
  for (std::size_t first = 0; first < X.size(); first += n) {
    double difference = 0, size = 0;
    for (std::size_t k = first; k < first + n; ++k) {
      const auto x = rounded<Wide<Scalar>>(X[k]), x_known = rounded<Wide<Scalar>>(known[k]);
      if (!ScalarTraits<Wide<Scalar>>::is_finite(x)) return HUGE_VAL;
      difference = std::max(difference, static_cast<double>(Kokkos::abs(x - x_known)));
      size = std::max(size, static_cast<double>(Kokkos::abs(x_known)));
    }
    worst = std::max(worst, difference / size);
  }
  return worst;
}

}  // namespace lutra::Cli

#endif
