// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_LU_HPP
#define LUTRA_REFERENCE_LU_HPP

// Simple, slow implementations of all steps from symbolic factorization to backward errors. Matrices are
// HostMatrix. Nothing here calls the library.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Reference {

// ---- scalars

inline long double widen(double value) {
  return value;
}
inline long double widen(long double value) {
  return value;
}
template <class Real>
std::complex<long double> widen(const Kokkos::complex<Real>& value) {
  return {value.real(), value.imag()};
}
template <class Real>
std::complex<long double> widen(const std::complex<Real>& value) {
  return {value.real(), value.imag()};
}

/// Type for reference solutions: long double, or complex of it.
template <class Scalar>
using Wide = decltype(widen(std::declval<Scalar>()));

/// All entries of a vector, widened.
template <class Scalar>
std::vector<Wide<Scalar>> widen_all(const std::vector<Scalar>& values) {
  std::vector<Wide<Scalar>> wide;
  for (const Scalar& value : values) wide.push_back(widen(value));
  return wide;
}

// ---- traversal of a matrix

/// Calls visit(c, value) for each entry of row r.
template <class MatrixType, class Visit>
void for_row(const MatrixType& a, std::size_t r, const Visit& visit) {
  const auto end = static_cast<std::size_t>(a.row_map[r + 1]);
  for (auto k = static_cast<std::size_t>(a.row_map[r]); k < end; ++k) {
    visit(static_cast<std::size_t>(a.entries[k]), a.values[k]);
  }
}

/// Aᵀ, or Aᴴ if `conjugate`.
template <class Scalar>
HostMatrix<Scalar, Ordinal, Offset> transpose(const HostMatrix<Scalar, Ordinal, Offset>& a,
                                              bool conjugate = false) {
  HostMatrix<Scalar, Ordinal, Offset> t;
  t.n_rows = a.n_cols;
  t.n_cols = a.n_rows;
  std::vector<std::vector<std::pair<Ordinal, Scalar>>> columns(static_cast<std::size_t>(a.n_cols));
  for (std::size_t r = 0; r < static_cast<std::size_t>(a.n_rows); ++r) {
    for_row(a, r, [&](std::size_t c, Scalar value) {
      if constexpr (!std::is_floating_point_v<Scalar>) {
        if (conjugate) value = Kokkos::conj(value);
      }
      columns[c].push_back({static_cast<Ordinal>(r), value});
    });
  }
  t.row_map.push_back(0);
  for (const auto& column : columns) {
    for (const auto& [r, value] : column) {
      t.entries.push_back(r);
      t.values.push_back(value);
    }
    t.row_map.push_back(t.nnz());
  }
  return t;
}

// ---- symbolic

/// Columns of each row, ascending.
using Rows = std::vector<std::vector<std::size_t>>;

/// The pattern of L+U without pivoting, always with the diagonal. Row i is the union of row i of A and, for
/// each k < i in it in ascending order, including fill, of the part of row k right of its diagonal.
template <class MatrixType>
Rows lu_pattern(const MatrixType& a) {
  Rows rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.n_rows); ++i) {
    std::set<std::size_t> row{i};
    for_row(a, i, [&](std::size_t c, const auto&) { row.insert(c); });
    for (auto k = row.begin(); *k < i; ++k) {
      for (const std::size_t j : rows[*k]) {
        if (j > *k) row.insert(j);
      }
    }
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

// ---- levels

/// Level of each vertex: 0 if it waits for none, otherwise one more than the highest level it waits for.
/// `waits_for[i]` lists vertices below i.
inline std::vector<std::size_t> levels(const Rows& waits_for) {
  std::vector<std::size_t> level(waits_for.size(), 0);
  for (std::size_t i = 0; i < waits_for.size(); ++i) {
    for (const std::size_t k : waits_for[i]) {
      if (k >= i) throw std::logic_error("a vertex waits for one above it");
      level[i] = std::max(level[i], level[k] + 1);
    }
  }
  return level;
}

/// Dependencies of each row in a solve with L: the columns left of its diagonal.
inline Rows left_of_diagonal(const Rows& pattern) {
  Rows left(pattern.size());
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    for (const std::size_t j : pattern[i]) {
      if (j < i) left[i].push_back(j);
    }
  }
  return left;
}

// ---- numeric

/// L\U on a given pattern: L below the diagonal, whose unit diagonal is not stored, U on and above it.
template <class Scalar>
struct LuFactors {
  Rows pattern;
  std::vector<std::vector<Scalar>> values;  ///< like `pattern`
  std::size_t perturbed = 0;                ///< pivots that were replaced
};

/// The pivot rule: a pivot with |pivot| below `threshold` becomes threshold·pivot/|pivot|, or `threshold` if
/// it is zero.
template <class Scalar, class Real>
Scalar guarded_pivot(const Scalar& pivot, Real threshold, std::size_t& perturbed) {
  using std::abs;
  const Real size = abs(pivot);
  if (!(size < threshold)) return pivot;
  ++perturbed;
  return size > 0 ? (pivot / size) * threshold : Scalar(threshold);
}

/// LU without pivoting, row by row in a dense workspace, in the scalar of the matrix.
template <class Scalar, class Real>
LuFactors<Scalar> factorize(const HostMatrix<Scalar, Ordinal, Offset>& a, Rows pattern, Real threshold) {
  const std::size_t n = pattern.size();
  LuFactors<Scalar> factors{std::move(pattern), {}, 0};
  std::vector<std::vector<Scalar>> upper(n);  // dense rows of U
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<Scalar> row(n, Scalar(0));
    for_row(a, i, [&](std::size_t c, const Scalar& value) { row[c] = value; });
    for (const std::size_t k : factors.pattern[i]) {
      if (k >= i) break;
      row[k] /= upper[k][k];
      for (std::size_t j = k + 1; j < n; ++j) row[j] -= row[k] * upper[k][j];
    }
    row[i] = guarded_pivot(row[i], threshold, factors.perturbed);
    factors.values.emplace_back();
    for (const std::size_t j : factors.pattern[i]) factors.values[i].push_back(row[j]);
    upper[i] = std::move(row);
  }
  return factors;
}

/// X with L·U·X = B for one right-hand side, by substitution.
template <class Scalar>
std::vector<Scalar> solve(const LuFactors<Scalar>& factors, std::vector<Scalar> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < factors.pattern[i].size() && factors.pattern[i][k] < i; ++k) {
      b[i] -= factors.values[i][k] * b[factors.pattern[i][k]];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    Scalar pivot(0);
    for (std::size_t k = 0; k < factors.pattern[i].size(); ++k) {
      const std::size_t j = factors.pattern[i][k];
      if (j == i) pivot = factors.values[i][k];
      if (j > i) b[i] -= factors.values[i][k] * b[j];
    }
    b[i] /= pivot;
  }
  return b;
}

// ---- independent solutions

/// A·x in long double.
template <class MatrixType, class WideScalar>
std::vector<WideScalar> multiply(const MatrixType& a, const std::vector<WideScalar>& x) {
  std::vector<WideScalar> y(static_cast<std::size_t>(a.n_rows), WideScalar(0));
  for (std::size_t r = 0; r < y.size(); ++r) {
    for_row(a, r, [&](std::size_t c, const auto& value) { y[r] += widen(value) * x[c]; });
  }
  return y;
}

/// Solves a dense copy of A by Gaussian elimination with partial pivoting in long double.
/// @throws std::runtime_error if no pivot is left: the matrix is singular
template <class Scalar>
std::vector<Wide<Scalar>> dense_solve(const HostMatrix<Scalar, Ordinal, Offset>& a,
                                      const std::vector<Scalar>& b) {
  using std::abs;
  const std::size_t n = b.size();
  std::vector<Wide<Scalar>> x = widen_all(b);
  std::vector<std::vector<Wide<Scalar>>> m(n, std::vector<Wide<Scalar>>(n, Wide<Scalar>(0)));
  for (std::size_t r = 0; r < n; ++r) {
    for_row(a, r, [&](std::size_t c, const Scalar& value) { m[r][c] = widen(value); });
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t r = k; r < n; ++r) {
      if (abs(m[r][k]) > abs(m[pivot][k])) pivot = r;
    }
    if (!(abs(m[pivot][k]) > 0)) throw std::runtime_error("singular matrix");
    std::swap(m[k], m[pivot]);
    std::swap(x[k], x[pivot]);
    for (std::size_t r = k + 1; r < n; ++r) {
      const Wide<Scalar> factor = m[r][k] / m[k][k];
      for (std::size_t c = k; c < n; ++c) m[r][c] -= factor * m[k][c];
      x[r] -= factor * x[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t c = k + 1; c < n; ++c) x[k] -= m[k][c] * x[c];
    x[k] /= m[k][k];
  }
  return x;
}

struct BackwardErrors {
  long double componentwise = 0;  ///< maxᵢ |r|ᵢ / (|A||x| + |b|)ᵢ, where 0/0 is 0
  long double normwise = 0;       ///< ‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)
};

/// The greater of both; NaN if one of them is NaN.
inline long double worse(long double a, long double b) {
  return std::isnan(a) || a >= b ? a : b;
}

/// A residual divided by its scale: 0/0 is 0, and anything else divided by 0 is infinity.
inline long double relative(long double residual, long double scale) {
  if (residual == 0 && scale == 0) return 0;
  return scale == 0 ? std::numeric_limits<long double>::infinity() : residual / scale;
}

/// Backward errors of x as solution of A·x = b, in long double. For a transposed system pass `transpose(a)`.
template <class Scalar>
BackwardErrors backward_errors(const HostMatrix<Scalar, Ordinal, Offset>& a, const std::vector<Scalar>& x,
                               const std::vector<Scalar>& b) {
  using std::abs;
  BackwardErrors errors;
  long double norm_r = 0, norm_a = 0, norm_x = 0, norm_b = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.n_rows); ++i) {
    Wide<Scalar> residual = widen(b[i]);
    long double scale = abs(widen(b[i])), row_sum = 0;
    for_row(a, i, [&](std::size_t c, const Scalar& value) {
      residual -= widen(value) * widen(x[c]);
      scale += abs(widen(value)) * abs(widen(x[c]));
      row_sum += abs(widen(value));
    });
    errors.componentwise = worse(errors.componentwise, relative(abs(residual), scale));
    norm_r = worse(norm_r, abs(residual));
    norm_a = worse(norm_a, row_sum);
    norm_b = worse(norm_b, abs(widen(b[i])));
  }
  for (const Scalar& entry : x) norm_x = worse(norm_x, abs(widen(entry)));
  errors.normwise = relative(norm_r, norm_a * norm_x + norm_b);
  return errors;
}

}  // namespace lutra::Reference

#endif
