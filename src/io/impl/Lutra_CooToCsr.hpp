// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COOTOCSR_HPP
#define LUTRA_COOTOCSR_HPP

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Impl {

/// Matrix entries in coordinate format, in any order; duplicates are summed.
template <class Scalar>
struct CooEntries {
  std::vector<int> rows;       ///< [nnz] 0-based
  std::vector<int> columns;    ///< [nnz] 0-based
  std::vector<Scalar> values;  ///< [nnz]

  void add(int row, int column, const Scalar& value) {
    rows.push_back(row);
    columns.push_back(column);
    values.push_back(value);
  }
  std::size_t size() const { return rows.size(); }
};

// Distributes entries to their rows; within a row they keep the input order.
template <class Scalar>
HostMatrix<Scalar> spread_over_rows(int n_rows, int n_cols, const CooEntries<Scalar>& coo) {
  HostMatrix<Scalar> matrix{n_rows, n_cols, {}, {}, {}};
  matrix.row_map.assign(static_cast<std::size_t>(n_rows) + 1, 0);
  for (const int row : coo.rows) ++matrix.row_map[static_cast<std::size_t>(row) + 1];
  for (std::size_t row = 1; row < matrix.row_map.size(); ++row)
    matrix.row_map[row] += matrix.row_map[row - 1];
  matrix.entries.resize(coo.size());
  matrix.values.resize(coo.size());
  // While rows are filled, row_map[r] is the position of r's next entry; afterwards it is the start of row r
  // + 1.
  for (std::size_t k = 0; k < coo.size(); ++k) {
    const auto slot = static_cast<std::size_t>(matrix.row_map[static_cast<std::size_t>(coo.rows[k])]++);
    matrix.entries[slot] = coo.columns[k];
    matrix.values[slot] = coo.values[k];
  }
  matrix.row_map.pop_back();
  matrix.row_map.insert(matrix.row_map.begin(), 0);
  return matrix;
}

// Stable sort of entries begin … end − 1 by column, so that sums of duplicates do not depend on the sort.
template <class Scalar>
void sort_row(HostMatrix<Scalar>& matrix, std::size_t begin, std::size_t end,
              std::vector<std::pair<int, Scalar>>& scratch) {
  const auto first = matrix.entries.begin();
  if (std::is_sorted(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)))
    return;
  scratch.clear();
  for (std::size_t k = begin; k < end; ++k) scratch.emplace_back(matrix.entries[k], matrix.values[k]);
  std::stable_sort(scratch.begin(), scratch.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = begin; k < end; ++k)
    std::tie(matrix.entries[k], matrix.values[k]) = scratch[k - begin];
}

/// Converts coordinate format to compressed rows: rows sorted by column, duplicates summed in input order.
template <class Scalar>
HostMatrix<Scalar> coo_to_csr(int n_rows, int n_cols, const CooEntries<Scalar>& coo) {
  HostMatrix<Scalar> matrix = spread_over_rows(n_rows, n_cols, coo);
  std::vector<std::pair<int, Scalar>> scratch;
  std::size_t kept = 0;   // entries of the finished rows
  std::size_t begin = 0;  // start of the current row before compression
  for (std::size_t row = 0; row < static_cast<std::size_t>(n_rows); ++row) {
    const auto end = static_cast<std::size_t>(matrix.row_map[row + 1]);
    sort_row(matrix, begin, end, scratch);
    const std::size_t row_start = kept;
    for (std::size_t k = begin; k < end; ++k) {
      if (kept > row_start && matrix.entries[kept - 1] == matrix.entries[k]) {
        matrix.values[kept - 1] += matrix.values[k];
      } else {
        matrix.entries[kept] = matrix.entries[k];
        matrix.values[kept] = matrix.values[k];
        ++kept;
      }
    }
    begin = end;
    matrix.row_map[row + 1] = static_cast<std::int64_t>(kept);
  }
  matrix.entries.resize(kept);
  matrix.values.resize(kept);
  return matrix;
}

}  // namespace lutra::Impl

#endif
