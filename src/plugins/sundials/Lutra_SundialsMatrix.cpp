// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SundialsMatrix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lutra::Sundials {

void SortedRows::assign(SUNMatrix A) {
  const Index *offsets = SM_INDEXPTRS_S(A), *columns = SM_INDEXVALS_S(A);
  m_storage = SM_SPARSETYPE_S(A);
  m_offsets.assign(offsets, offsets + SM_NP_S(A) + 1);
  m_columns.assign(columns, columns + m_offsets.back());
  sort();
}

bool SortedRows::has_pattern_of(SUNMatrix A) const {
  const Index* offsets = SM_INDEXPTRS_S(A);
  return m_storage == SM_SPARSETYPE_S(A) && m_offsets.size() == static_cast<std::size_t>(SM_NP_S(A)) + 1 &&
         std::equal(m_offsets.begin(), m_offsets.end(), offsets) &&
         std::equal(m_columns.begin(), m_columns.end(), SM_INDEXVALS_S(A));
}

void SortedRows::sort() {
  m_sorted.clear();
  m_source.clear();
  bool ascend = true;
  for (std::size_t i = 0; ascend && i + 1 < m_offsets.size(); ++i)
    ascend = std::is_sorted(m_columns.begin() + m_offsets[i], m_columns.begin() + m_offsets[i + 1]);
  if (ascend) return;
  m_source.resize(m_columns.size());
  std::iota(m_source.begin(), m_source.end(), Index(0));
  const auto column = [this](Index position) { return m_columns[static_cast<std::size_t>(position)]; };
  for (std::size_t i = 0; i + 1 < m_offsets.size(); ++i)
    std::sort(m_source.begin() + m_offsets[i], m_source.begin() + m_offsets[i + 1],
              [&](Index a, Index b) { return column(a) < column(b); });
  m_sorted.resize(m_source.size());
  std::transform(m_source.begin(), m_source.end(), m_sorted.begin(), column);
}

lutra_matrix SortedRows::matrix(SUNMatrix A) {
  const Index *offsets = SM_INDEXPTRS_S(A), *columns = SM_INDEXVALS_S(A);
  const Real* values = SM_DATA_S(A);
  const std::int64_t n_rows = SM_NP_S(A), n_cols = is_by_columns() ? SM_ROWS_S(A) : SM_COLUMNS_S(A);
  if (!m_sorted.empty()) {
    m_values.resize(m_source.size());
    std::transform(m_source.begin(), m_source.end(), m_values.begin(),
                   [values](Index position) { return values[position]; });
    columns = m_sorted.data();
    values = m_values.data();
  }
  return {n_rows,
          n_cols,
          offsets[n_rows],
          offsets,
          columns,
          values,
          sizeof(Index) == 4 ? LUTRA_INT32 : LUTRA_INT64};
}

bool are_finite(const Real* numbers, Index count) {
  return std::all_of(numbers, numbers + count, [](Real number) { return std::isfinite(number); });
}

}  // namespace lutra::Sundials
