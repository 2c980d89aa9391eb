// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORRESIDUAL_HPP
#define LUTRA_FACTORRESIDUAL_HPP

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "Lutra_Reference_Lu.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {

/// The rows of L·U that are compared with A: all of small matrices; else the first, the last, those beside
/// row `pivots` and others drawn at random, 64 in all. Ascending.
inline std::vector<std::size_t> rows_to_check(std::size_t n, std::size_t pivots, std::mt19937& random) {
  constexpr std::size_t max_complete = 300, samples = 64;
  std::vector<char> is_checked(n, n <= max_complete);
  std::size_t count = n <= max_complete ? n : 0;
  const auto check = [&](std::size_t row) {
    if (row >= n || is_checked[row]) return;
    is_checked[row] = 1;
    ++count;
  };
  for (const std::size_t row : {std::size_t(0), n - 1, pivots - 1, pivots}) check(row);
  while (count < std::min(n, samples)) check(std::uniform_int_distribution<std::size_t>(0, n - 1)(random));
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < n; ++row) {
    if (is_checked[row]) rows.push_back(row);
  }
  return rows;
}

/// sum += a·b
inline void add_product(long double& sum, long double a, long double b) {
  sum += a * b;
}
/// The same without looking for infinities, which takes most of the time.
inline void add_product(std::complex<long double>& sum, const std::complex<long double>& a,
                        const std::complex<long double>& b) {
  sum += std::complex<long double>(a.real() * b.real() - a.imag() * b.imag(),
                                   a.real() * b.imag() + a.imag() * b.real());
}

/// Greatest |L·U − A|(i, j) ÷ 2(k + 4)·ε·(|L||U|)(i, j) of some rows, in long double, where k is the number
/// of entries of L in row i: at most 1 for elimination without interchanges, by which way ever its sums are
/// taken (N. J. Higham, Accuracy and Stability of Numerical Algorithms, Theorem 9.3). Infinity for what is
/// not a number.
///
/// The first `pivots` rows and columns are eliminated. What contribution rows hold behind these columns is
/// their Schur complement, which stands where their rows of U would be.
/// @param stored stored(i, visit) calls visit(j, value) for each entry of row i of L\U, j ascending
/// @param rows   to be compared, ascending
template <class MatrixType, class Stored>
double largest_residual(const MatrixType& A, std::size_t pivots, const Stored& stored,
                        const std::vector<std::size_t>& rows) {
  using Scalar = typename decltype(A.values)::value_type;
  using Wide = Reference::Wide<Scalar>;
  const auto n = static_cast<std::size_t>(A.n_rows);
  struct Row {
    std::size_t number, next = 0;                     // the first entry of L whose row of U is to come
    std::vector<std::pair<std::size_t, Wide>> lower;  // its row of L
    std::vector<Wide> sum;                            // its row of L·U
    std::vector<long double> size;                    // its row of |L||U|
  };
  std::vector<Row> checked;
  for (const std::size_t i : rows)
    checked.push_back({i, 0, {}, std::vector<Wide>(n), std::vector<long double>(n)});
  for (Row& row : checked) {
    stored(row.number, [&](std::size_t j, const Scalar& value) {
      const Wide wide = Reference::widen(value);
      if (j < std::min(row.number, pivots)) {
        row.lower.push_back({j, wide});
      } else {
        row.sum[j] += wide;
        row.size[j] += std::abs(wide);
      }
    });
  }
  std::vector<std::pair<std::size_t, Wide>> upper;  // row p of U
  std::vector<long double> magnitudes;
  for (std::size_t p = 0; p < pivots; ++p) {
    upper.clear();
    magnitudes.clear();
    stored(p, [&](std::size_t j, const Scalar& value) {
      if (j < p) return;
      upper.push_back({j, Reference::widen(value)});
      magnitudes.push_back(std::abs(upper.back().second));
    });
    for (Row& row : checked) {
      if (row.next == row.lower.size() || row.lower[row.next].first != p) continue;
      const Wide factor = row.lower[row.next++].second;
      const long double size = std::abs(factor);
      for (std::size_t q = 0; q < upper.size(); ++q) {
        add_product(row.sum[upper[q].first], factor, upper[q].second);
        row.size[upper[q].first] += size * magnitudes[q];
      }
    }
  }
  long double worst = 0;
  for (Row& row : checked) {
    Reference::for_row(A, row.number,
                       [&](std::size_t j, const Scalar& value) { row.sum[j] -= Reference::widen(value); });
    const long double unit =
        2.0L * static_cast<long double>(row.lower.size() + 4) * static_cast<long double>(epsilon_of<Scalar>);
    for (std::size_t j = 0; j < n; ++j) {
      const long double error = std::abs(row.sum[j]);
      if (error == 0) continue;
      const long double ratio = error / (unit * row.size[j]);
      worst = std::isnan(ratio) ? std::numeric_limits<long double>::infinity() : std::max(worst, ratio);
    }
  }
  return static_cast<double>(worst);
}

/// The diagonal by which elimination of a random matrix of order n without interchanges is stable, though
/// rows sum up to far more: about 1.5 times what keeps the field of values of `random_value`s of one decade
/// right of zero, √2·1.47·√n. An entry of the last rows is changed by about 0.7 of its size.
inline double weak_diagonal(int n) {
  return 3 * std::sqrt(static_cast<double>(n));
}

/// A dense front whose contribution block is zero, with a weak diagonal.
template <class MatrixType>
MatrixType matrix_of_front(int pivots, int cb_rows, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  const int size = pivots + cb_rows;
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(size);
  matrix.row_map.push_back(0);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < (i < pivots ? size : pivots); ++j) {
      matrix.entries.push_back(static_cast<Ordinal>(j));
      matrix.values.push_back(i == j ? as_scalar<Scalar>(weak_diagonal(size))
                                     : random_value<Scalar>(random, 1));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

}  // namespace lutra::Test

#endif
