// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFMATCHED_HPP
#define LUTRA_PERFMATCHED_HPP

#include <stdexcept>

#include "Lutra_Matching.hpp"
#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// The matrix whose pattern LU orders: row j is the row matched to column j.
/// @throws std::runtime_error for a structurally singular matrix
template <class Scalar>
HostMatrix<Scalar> matched_matrix(const HostMatrix<Scalar>& matrix) {
  auto [rank, row_of_column] = maximum_transversal(make_view(matrix).pattern());
  if (rank < matrix.n_rows) throw std::runtime_error("structurally singular");
  const auto matching = match_exact(make_view(matrix));
  if (matching.numeric_rank_bound == matrix.n_rows) row_of_column = matching.row_of_column;
  HostMatrix<Scalar> result{matrix.n_rows, matrix.n_cols, {0}, {}, {}};
  for (const int row : row_of_column) {
    const auto begin = matrix.row_map[static_cast<std::size_t>(row)],
               end = matrix.row_map[static_cast<std::size_t>(row) + 1];
    result.entries.insert(result.entries.end(), matrix.entries.begin() + begin, matrix.entries.begin() + end);
    result.values.insert(result.values.end(), matrix.values.begin() + begin, matrix.values.begin() + end);
    result.row_map.push_back(result.nnz());
  }
  return result;
}

}  // namespace lutra::Perf

#endif
