// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INPLACEFACTORS_HPP
#define LUTRA_INPLACEFACTORS_HPP

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "Lutra_Factorization.hpp"

namespace lutra::Impl {

/// Replaces the rows of pivots by their columns, which differ in pivots of order two only.
inline std::vector<Pivot> list_columns(std::vector<Pivot> pivots) {
  for (Pivot& pivot : pivots) pivot.row = pivot.column;
  return pivots;
}

/// Extracts L and D from factors L·U of symmetric interchanges or of none, where U = D·Lᵀ up to the rows of
/// pivots of order two (Lutra_SymmetricPivots.hpp).
template <class Scalar>
class InPlaceFactors {
 public:
  explicit InPlaceFactors(FactorValues<Scalar> factors)
      : m_factors(std::move(factors)), m_pair(m_factors.row_order.size()), m_below(m_pair.size()) {
    const auto& rows = m_factors.row_order;
    const auto& columns = m_factors.col_order;
    for (std::size_t k = 0; k + 1 < rows.size(); ++k)
      m_pair[k] = rows[k] != columns[k] && rows[k] == columns[k + 1];
  }

  FactorValues<Scalar> run() {
    m_factors.diagonal.resize(m_pair.size());
    m_factors.off_diagonal.resize(m_pair.size());
    std::vector<Scalar> beside(m_pair.size());    // U(k, k + 1) of each pair
    std::vector<Scalar> coupling(m_pair.size());  // L(k + 1, k) of each pair
    for (std::size_t e = 0; e < m_factors.rows.size(); ++e) {
      const auto r = static_cast<std::size_t>(m_factors.rows[e]);
      const auto c = static_cast<std::size_t>(m_factors.columns[e]);
      const Scalar value = m_factors.values[e];
      if (r == c) m_factors.diagonal[r] = value;
      if (c == r + 1 && m_pair[r]) beside[r] = value;
      if (r == c + 1 && m_pair[c]) {
        coupling[c] = value;
      } else if (r > c) {
        m_below[c].push_back({row_of_symmetric(r), value});
      }
    }
    m_factors.row_order = m_factors.col_order;
    m_factors.rows.clear();
    m_factors.columns.clear();
    m_factors.values.clear();
    for (std::size_t k = 0; k < m_pair.size(); ++k) {
      if (m_pair[k]) {
        write_pair(k, beside[k], coupling[k]);
        ++k;
      } else {
        for (const Entry& entry : m_below[k]) write(entry.row, k, entry.value);
      }
    }
    return std::move(m_factors);
  }

 private:
  struct Entry {
    std::size_t row;
    Scalar value;
    bool operator<(const Entry& other) const { return row < other.row; }
  };

  /// Undoes the interchange of a pair's rows.
  std::size_t row_of_symmetric(std::size_t r) const {
    if (m_pair[r]) return r + 1;
    return r > 0 && m_pair[r - 1] ? r - 1 : r;
  }
  void write(std::size_t row, std::size_t column, const Scalar& value) {
    m_factors.rows.push_back(static_cast<std::int64_t>(row));
    m_factors.columns.push_back(static_cast<std::int64_t>(column));
    m_factors.values.push_back(value);
  }
  /// D = [a b̄; b c] from the rows [b c] and [a b̄], a = l·b, and [l₁ l₂] = [y₂, y₁ − l·y₂] for rows [y₁ y₂] of
  /// the L of L·U.
  void write_pair(std::size_t k, const Scalar& c, const Scalar& l) {
    const Scalar b = m_factors.diagonal[k];
    m_factors.diagonal[k] = l * b;
    m_factors.diagonal[k + 1] = c;
    m_factors.off_diagonal[k] = b;
    auto &first = m_below[k], &second = m_below[k + 1];
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    for (std::size_t e = 0; e < first.size(); ++e) {
      write(first[e].row, k, second[e].value);
      write(first[e].row, k + 1, first[e].value - l * second[e].value);
    }
  }

  FactorValues<Scalar> m_factors;
  std::vector<bool> m_pair;                 ///< [n] whether a pivot of order two begins
  std::vector<std::vector<Entry>> m_below;  ///< [n] entries of each column of L below the pivot
};

}  // namespace lutra::Impl

#endif
