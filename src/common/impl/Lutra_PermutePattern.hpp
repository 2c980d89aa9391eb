// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERMUTEPATTERN_HPP
#define LUTRA_PERMUTEPATTERN_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// inverse(order(k)) = k
template <class ExecutionSpace, class OrderView, class InverseView>
static void invert_permutation(const ExecutionSpace& exec, const OrderView& order,
                               const InverseView& inverse) {
  for_range(
      exec, "lutra::common::invert_permutation", static_cast<std::int64_t>(order.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t k) {
        inverse(order(k)) = static_cast<typename InverseView::value_type>(k);
      });
}

/// Pattern of A(row_order, col_order), with unsorted rows.
template <class ExecutionSpace, class OrderView>
static CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> permute_pattern(
    const ExecutionSpace& exec, MemoryReservation& reservation,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A, const OrderView& row_order,
    const OrderView& col_order) {
  using Memory = typename ExecutionSpace::memory_space;
  const Ordinal n = A.n_rows;
  auto row_map =
      reservation.allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::common::permuted_row_map", n + 1);
  auto entries =
      reservation.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::common::permuted_entries", A.nnz());
  auto position_of =
      reservation.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::common::column_positions", n);
  const auto A_map = A.row_map;
  const auto A_entries = A.entries;
  invert_permutation(exec, col_order, position_of);
  Kokkos::parallel_scan(
      "lutra::common::permuted_row_map",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Offset>(n) + 1),
      KOKKOS_LAMBDA(const Offset k, Offset& sum, const bool final) {
        if (final) row_map(k) = sum;
        if (k < n) sum += A_map(row_order(k) + 1) - A_map(row_order(k));
      });
  check_launches_on<ExecutionSpace>();  // before the offsets are used
  for_range(
      exec, "lutra::common::permuted_entries", n, KOKKOS_LAMBDA(const Ordinal k) {
        Offset q = row_map(k);
        for (Offset p = A_map(row_order(k)); p < A_map(row_order(k) + 1); ++p)
          entries(q++) = position_of(A_entries(p));
      });
  wait_for(exec, "lutra::common: the permuted pattern is complete");
  return {n, n, row_map, entries};
}

}  // namespace lutra::Impl

#endif
