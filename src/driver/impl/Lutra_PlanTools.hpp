// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PLANTOOLS_HPP
#define LUTRA_PLANTOOLS_HPP

#include <vector>

#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_Upload.hpp"

// What the plans and factorizations of all engines need.

namespace lutra::Impl {

/// Writes the pattern of L + U by rows. Fences.
template <class Pattern, class ExecutionSpace>
void write_rows(const ExecutionSpace& exec, const Pattern& rows, FactorStructure& structure) {
  structure.row_map = to_host<std::int64_t>(exec, rows.row_map);
  structure.entries = to_host<std::int64_t>(exec, rows.entries);
}

/// Pivots in elimination order, on the host. Fences.
/// @param perturbed    [n] 1 where the pivot was perturbed
/// @param row_of_pivot [n] position in F of each pivot's row; empty: no rows were interchanged
template <class ExecutionSpace, class Permuted, class Flags, class Rows>
std::vector<Pivot> list_pivots(const ExecutionSpace& exec, const Permuted& F, const Flags& perturbed,
                               const Rows& row_of_pivot) {
  const auto rows = to_host<std::int64_t>(exec, F.row_order),
             columns = to_host<std::int64_t>(exec, F.col_order);
  const auto flags = to_host<std::int64_t>(exec, perturbed),
             interchanged = to_host<std::int64_t>(exec, row_of_pivot);
  std::vector<Pivot> pivots;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const auto row = interchanged.empty() ? k : static_cast<std::size_t>(interchanged[k]);
    pivots.push_back({rows[row], columns[k], flags[k] != 0});
  }
  return pivots;
}

}  // namespace lutra::Impl

#endif
