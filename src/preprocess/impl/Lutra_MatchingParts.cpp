// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MatchingParts.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatchingScales.hpp"

namespace lutra::Impl {
void require_square(std::int64_t n_rows, std::int64_t n_cols) {
  if (n_rows == n_cols) return;
  throw InputError("matrix: a matching for a diagonal needs a square matrix, this one has " +
                   std::to_string(n_rows) + " rows and " + std::to_string(n_cols) + " columns");
}

MatchingResult perfect_matching(Assignment&& assignment, const std::vector<double>& row_origin) {
  MatchingResult result;
  const auto n = static_cast<Ordinal>(row_origin.size());
  result.structural_rank = n;
  result.numeric_rank_bound = n;
  result.row_of_column.swap(assignment.row_of_column);
  if (n == 0) return result;
  for (std::size_t r = 0; r < row_origin.size(); ++r) assignment.row_dual[r] -= row_origin[r];
  result.row_scale.swap(assignment.row_dual);
  result.col_scale.swap(assignment.col_dual);
  const auto view = [](std::vector<double>& exponents) {
    return Kokkos::View<double*, Kokkos::HostSpace>(exponents.data(), exponents.size());
  };
  const Kokkos::DefaultHostExecutionSpace exec;
  exponents_to_scales(exec, view(result.row_scale), view(result.col_scale));
  exec.fence("lutra::preprocess: scales are there");
  return result;
}

MatchingResult deficient_matching(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                  const MatchingCosts& cost, const RunControl& run) {
  MatchingResult result;
  auto transversal =
      maximum_transversal(pattern, cost.of_entry, {}, run);  // transversal of the nonzero entries
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  result.structural_rank = cost.has_zeros ? maximum_transversal(pattern, {}, {}, run).rank : transversal.rank;
  result.numeric_rank_bound = transversal.rank;
  result.row_of_column = std::move(transversal.row_of_column);
  result.row_scale.assign(n, 1.0);
  result.col_scale.assign(n, 1.0);
  std::vector<bool> row_matched(n, false);
  for (std::size_t c = 0; c < n; ++c) {
    const Ordinal r = result.row_of_column[c];
    if (r < 0) {
      result.unmatched_columns.push_back(static_cast<Ordinal>(c));
    } else {
      row_matched[static_cast<std::size_t>(r)] = true;
    }
  }
  for (std::size_t r = 0; r < n; ++r) {
    if (!row_matched[r]) result.unmatched_rows.push_back(static_cast<Ordinal>(r));
  }
  return result;
}

}  // namespace lutra::Impl
