// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUPERMUTE_HPP
#define LUTRA_LUPERMUTE_HPP

#include <Kokkos_Core.hpp>

#include <string>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PermutePattern.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// The solver's own copy of a pattern.
template <class Ordinal, class Offset, class ExecutionSpace>
CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> copy_pattern(
    const ExecutionSpace& exec, MemoryReservation& reservation,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern) {
  using Memory = typename ExecutionSpace::memory_space;
  auto row_map = reservation.allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::driver::row_map",
                                                                     pattern.row_map.extent(0));
  auto entries = reservation.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::driver::entries",
                                                                      pattern.entries.extent(0));
  Kokkos::deep_copy(exec, row_map, pattern.row_map);
  Kokkos::deep_copy(exec, entries, pattern.entries);
  return {pattern.n_rows, pattern.n_cols, row_map, entries};
}

/// Place, by columns of L + U, of each entry of the user's matrix: a binary search in its sorted row of L +
/// U.
template <class Analysis, class ExecutionSpace>
auto locate_entries(const ExecutionSpace& exec, MemoryReservation& reservation, const MemoryBudget& budget,
                    const Analysis& analysis) -> decltype(analysis.target) {
  using OffsetView = typename decltype(analysis.target)::non_const_type;
  using OrderView = typename decltype(analysis.row_order)::non_const_type;
  using Offset = typename OffsetView::value_type;
  using Ordinal = typename OrderView::value_type;
  MemoryReservation scratch(budget);
  auto target = reservation.allocate<OffsetView>(exec, "lutra::driver::target", analysis.pattern.nnz());
  auto column_place = scratch.allocate<OrderView>(exec, "lutra::driver::column_places", analysis.n());
  invert_permutation(exec, analysis.col_order, column_place);
  const auto A_map = analysis.pattern.row_map;
  const auto A_entries = analysis.pattern.entries;
  const auto row_order = analysis.row_order;
  const auto lu_map = analysis.plan.rows.row_map;
  const auto lu_entries = analysis.plan.rows.entries;
  const auto row_to_column = analysis.plan.row_to_column;
  Kokkos::parallel_for(
      "lutra::driver::locate_entries", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, analysis.n()),
      KOKKOS_LAMBDA(const Ordinal k) {
        for (Offset p = A_map(row_order(k)); p < A_map(row_order(k) + 1); ++p) {
          const Ordinal wanted = column_place(A_entries(p));
          Offset begin = lu_map(k), end = lu_map(k + 1);
          while (end - begin > 1) {
            const Offset middle = begin + (end - begin) / 2;
            if (lu_entries(middle) <= wanted) {
              begin = middle;
            } else {
              end = middle;
            }
          }
          target(p) = row_to_column(begin);
        }
      });
  exec.fence("lutra::driver: column places are freed");
  return target;
}

}  // namespace lutra::Impl

#endif
