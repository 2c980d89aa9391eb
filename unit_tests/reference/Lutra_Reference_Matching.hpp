// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_MATCHING_HPP
#define LUTRA_REFERENCE_MATCHING_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace lutra::Reference {

/// |value| in double.
template <class Scalar>
double size_of(const Scalar& value) {
  const Kokkos::complex<double> z(value);
  return std::hypot(z.real(), z.imag());
}

/// The greatest sum of log|a(r, p(r))| over all permutations p, by trying them all; -infinity if each of them
/// contains a missing or zero entry. Only for a few rows.
template <class MatrixType>
double greatest_log_product(const MatrixType& matrix) {
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  constexpr double none = -std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> logs(n, std::vector<double>(n, none));
  for (std::size_t r = 0; r < n; ++r) {
    for (auto k = static_cast<std::size_t>(matrix.row_map[r]);
         k < static_cast<std::size_t>(matrix.row_map[r + 1]); ++k) {
      logs[r][static_cast<std::size_t>(matrix.entries[k])] = std::log(size_of(matrix.values[k]));
    }
  }
  std::vector<std::size_t> p(n);
  std::iota(p.begin(), p.end(), std::size_t(0));
  double best = none;
  do {
    double sum = 0;
    for (std::size_t r = 0; r < n; ++r) sum += logs[r][p[r]];
    best = std::max(best, sum);
  } while (std::next_permutation(p.begin(), p.end()));
  return best;
}

/// Size of a maximum matching of rows and columns, by one augmenting path per row, found by recursion (Kuhn).
/// `rows[r]` lists the columns of row r.
class MaximumMatching {
 public:
  MaximumMatching(const std::vector<std::vector<std::size_t>>& rows, std::size_t n_cols)
      : m_rows(rows), m_row_of_column(n_cols, unmatched) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      m_seen.assign(n_cols, false);
      if (augment(r)) ++m_size;
    }
  }
  std::size_t size() const { return m_size; }

 private:
  static constexpr std::size_t unmatched = std::numeric_limits<std::size_t>::max();

  bool augment(std::size_t r) {
    for (const std::size_t c : m_rows[r]) {
      if (m_seen[c]) continue;
      m_seen[c] = true;
      if (m_row_of_column[c] == unmatched || augment(m_row_of_column[c])) {
        m_row_of_column[c] = r;
        return true;
      }
    }
    return false;
  }

  const std::vector<std::vector<std::size_t>>& m_rows;
  std::vector<std::size_t> m_row_of_column;
  std::vector<bool> m_seen;
  std::size_t m_size = 0;
};

/// Structural rank of a matrix, or of its nonzero entries if `without_zeros`.
template <class MatrixType>
std::size_t structural_rank(const MatrixType& matrix, bool without_zeros) {
  std::vector<std::vector<std::size_t>> rows(static_cast<std::size_t>(matrix.n_rows));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (auto k = static_cast<std::size_t>(matrix.row_map[r]);
         k < static_cast<std::size_t>(matrix.row_map[r + 1]); ++k) {
      if (without_zeros && size_of(matrix.values[k]) == 0) continue;
      rows[r].push_back(static_cast<std::size_t>(matrix.entries[k]));
    }
  }
  return MaximumMatching(rows, static_cast<std::size_t>(matrix.n_cols)).size();
}

}  // namespace lutra::Reference

#endif
