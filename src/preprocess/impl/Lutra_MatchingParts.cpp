// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MatchingParts.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatchingScales.hpp"

namespace lutra::Impl {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The pattern of the entries of finite cost, with its arrays.
template <class Ordinal, class Offset>
struct NonzeroPattern {
  std::vector<Offset> row_map;
  std::vector<Ordinal> entries;
  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> view;
};

template <class Ordinal, class Offset>
NonzeroPattern<Ordinal, Offset> nonzero_pattern(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                                const std::vector<double>& cost) {
  NonzeroPattern<Ordinal, Offset> result;
  result.row_map.push_back(0);
  for (Ordinal r = 0; r < pattern.n_rows; ++r) {
    for (Offset k = pattern.row_map(r); k < pattern.row_map(r + 1); ++k) {
      if (cost[static_cast<std::size_t>(k)] < infinity) result.entries.push_back(pattern.entries(k));
    }
    result.row_map.push_back(static_cast<Offset>(result.entries.size()));
  }
  using Kokkos::HostSpace;
  result.view = {pattern.n_rows, pattern.n_cols,
                 Kokkos::View<const Offset*, HostSpace>(result.row_map.data(), result.row_map.size()),
                 Kokkos::View<const Ordinal*, HostSpace>(result.entries.data(), result.entries.size())};
  return result;
}

}  // namespace

void require_square(std::int64_t n_rows, std::int64_t n_cols) {
  if (n_rows == n_cols) return;
  throw InputError("matrix: a matching for a diagonal needs a square matrix, this one has " +
                   std::to_string(n_rows) + " rows and " + std::to_string(n_cols) + " columns");
}

template <class Ordinal>
MatchingResult<Ordinal> perfect_matching(Assignment<Ordinal>&& assignment,
                                         const std::vector<double>& row_origin) {
  MatchingResult<Ordinal> result;
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

template <class Ordinal, class Offset>
MatchingResult<Ordinal> deficient_matching(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                           const MatchingCosts& cost) {
  MatchingResult<Ordinal> result;
  Transversal<Ordinal> transversal;  // of the nonzero entries
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  if (cost.has_zeros) {
    const auto nonzeros = nonzero_pattern(pattern, cost.of_entry);
    transversal = maximum_transversal(nonzeros.view);
    result.structural_rank = maximum_transversal(pattern).rank;
  } else {
    transversal = maximum_transversal(pattern);
    result.structural_rank = transversal.rank;
  }
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

template MatchingResult<int> perfect_matching(Assignment<int>&&, const std::vector<double>&);
template MatchingResult<std::int64_t> perfect_matching(Assignment<std::int64_t>&&,
                                                       const std::vector<double>&);
#define LUTRA_INSTANTIATE(Ordinal, Offset)                                                                   \
  template MatchingResult<Ordinal> deficient_matching(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, \
                                                      const MatchingCosts&);
LUTRA_FOR_EACH_PATTERN(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra::Impl
