// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MatrixProperties.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Matching.hpp"

namespace lutra {
namespace {

// Position of entry (r, c); −1 if it is not in the pattern. Rows are sorted.
template <class Scalar>
Offset find_entry(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix, Ordinal r, Ordinal c) {
  if (r >= matrix.n_rows) return -1;
  const Ordinal* first = matrix.entries.data() + matrix.row_map(r);
  const Ordinal* last = matrix.entries.data() + matrix.row_map(r + 1);
  const Ordinal* found = std::lower_bound(first, last, c);
  return found != last && *found == c ? static_cast<Offset>(found - matrix.entries.data()) : Offset(-1);
}

template <class Scalar>
void add_symmetry(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix,
                  MatrixProperties& properties) {
  std::int64_t off_diagonal = 0, with_partner = 0, with_equal = 0;
  for (Ordinal r = 0; r < matrix.n_rows; ++r) {
    for (Offset k = matrix.row_map(r); k < matrix.row_map(r + 1); ++k) {
      const Ordinal c = matrix.entries(k);
      if (c == r) continue;
      ++off_diagonal;
      const Offset partner = find_entry(matrix, c, r);
      if (partner < 0) continue;
      ++with_partner;
      if (matrix.values(k) == matrix.values(partner)) ++with_equal;
    }
  }
  const auto share = [&](std::int64_t count) {
    return off_diagonal == 0 ? 1.0 : static_cast<double>(count) / static_cast<double>(off_diagonal);
  };
  properties.pattern_symmetry = share(with_partner);
  properties.value_symmetry = share(with_equal);
}

void add_shape(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, MatrixProperties& properties) {
  std::vector<std::int64_t> column_length(static_cast<std::size_t>(pattern.n_cols), 0);
  for (Ordinal r = 0; r < pattern.n_rows; ++r) {
    const std::int64_t row_length = pattern.row_map(r + 1) - pattern.row_map(r);
    properties.longest_row = std::max(properties.longest_row, row_length);
    if (row_length == 0) ++properties.empty_rows;
    for (Offset k = pattern.row_map(r); k < pattern.row_map(r + 1); ++k) {
      const std::int64_t i = r, j = pattern.entries(k);
      ++column_length[static_cast<std::size_t>(j)];
      properties.lower_bandwidth = std::max(properties.lower_bandwidth, i - j);
      properties.upper_bandwidth = std::max(properties.upper_bandwidth, j - i);
    }
  }
  for (const std::int64_t length : column_length) {
    properties.longest_column = std::max(properties.longest_column, length);
    if (length == 0) ++properties.empty_columns;
  }
}

}  // namespace

template <class Scalar>
std::int64_t count_zero_diagonals(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  std::int64_t count = std::min(matrix.n_rows, matrix.n_cols);
  for (Ordinal i = 0; i < matrix.n_rows; ++i)
    for (Offset e = matrix.row_map(i); e < matrix.row_map(i + 1); ++e)
      if (matrix.entries(e) == i && matrix.values(e) != Scalar(0)) --count;
  return count;
}

template <class Scalar>
MatrixProperties matrix_properties(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  MatrixProperties properties;
  properties.rows = matrix.n_rows;
  properties.cols = matrix.n_cols;
  properties.nnz = matrix.nnz();
  add_symmetry(matrix, properties);
  properties.zero_diagonals = count_zero_diagonals(matrix);
  add_shape(matrix.pattern(), properties);
  properties.structural_rank = maximum_transversal(matrix.pattern()).rank;
  return properties;
}

#define LUTRA_MATRIX_PROPERTIES(Scalar)                                                                    \
  template MatrixProperties matrix_properties(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&); \
  template std::int64_t count_zero_diagonals(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&);
LUTRA_FOR_EACH_SCALAR(LUTRA_MATRIX_PROPERTIES)

}  // namespace lutra
