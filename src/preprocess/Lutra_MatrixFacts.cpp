// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MatrixFacts.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "Lutra_Instantiate.hpp"
#include "Lutra_Matching.hpp"

namespace lutra {
namespace {

// Where entry (r, c) stands; -1 where the pattern lacks it. Rows are sorted.
template <class Scalar, class Ordinal, class Offset>
Offset find_entry(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix, Ordinal r, Ordinal c) {
  if (r >= matrix.n_rows) return -1;
  const Ordinal* first = matrix.entries.data() + matrix.row_map(r);
  const Ordinal* last = matrix.entries.data() + matrix.row_map(r + 1);
  const Ordinal* place = std::lower_bound(first, last, c);
  return place != last && *place == c ? static_cast<Offset>(place - matrix.entries.data()) : Offset(-1);
}

template <class Scalar, class Ordinal, class Offset>
void add_symmetry(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix, MatrixFacts& facts) {
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
  facts.pattern_symmetry = share(with_partner);
  facts.value_symmetry = share(with_equal);
}

template <class Scalar, class Ordinal, class Offset>
void add_diagonal(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix, MatrixFacts& facts) {
  for (Ordinal j = 0; j < std::min(matrix.n_rows, matrix.n_cols); ++j) {
    const Offset k = find_entry(matrix, j, j);
    if (k < 0 || matrix.values(k) == Scalar(0)) ++facts.zero_diagonals;
  }
}

template <class Ordinal, class Offset>
void add_shape(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, MatrixFacts& facts) {
  std::vector<std::int64_t> column_length(static_cast<std::size_t>(pattern.n_cols), 0);
  for (Ordinal r = 0; r < pattern.n_rows; ++r) {
    const std::int64_t row_length = pattern.row_map(r + 1) - pattern.row_map(r);
    facts.longest_row = std::max(facts.longest_row, row_length);
    if (row_length == 0) ++facts.empty_rows;
    for (Offset k = pattern.row_map(r); k < pattern.row_map(r + 1); ++k) {
      const std::int64_t i = r, j = pattern.entries(k);
      ++column_length[static_cast<std::size_t>(j)];
      facts.lower_bandwidth = std::max(facts.lower_bandwidth, i - j);
      facts.upper_bandwidth = std::max(facts.upper_bandwidth, j - i);
    }
  }
  for (const std::int64_t length : column_length) {
    facts.longest_column = std::max(facts.longest_column, length);
    if (length == 0) ++facts.empty_columns;
  }
}

}  // namespace

template <class Scalar, class Ordinal, class Offset>
MatrixFacts matrix_facts(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  MatrixFacts facts;
  facts.rows = matrix.n_rows;
  facts.cols = matrix.n_cols;
  facts.nnz = matrix.nnz();
  add_symmetry(matrix, facts);
  add_diagonal(matrix, facts);
  add_shape(matrix.pattern(), facts);
  facts.structural_rank = maximum_transversal(matrix.pattern());
  return facts;
}

#define LUTRA_INSTANTIATE(Scalar, Ordinal, Offset) \
  template MatrixFacts matrix_facts(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&);
LUTRA_FOR_EACH_MATRIX(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
