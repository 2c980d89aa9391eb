// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTPATTERN_HPP
#define LUTRA_FRONTPATTERN_HPP

#include <numeric>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_At.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// The start of each front's pivots in its contribution rows.
/// @param rows   contribution rows of all fronts
/// @param filled row map of L + U
template <class RowView>
std::vector<Offset> start_rows(const std::vector<Front>& fronts, const RowView& rows,
                               std::vector<Offset> filled) {
  std::vector<Offset> start(rows.extent(0));
  for (const auto& front : fronts) {
    for (Offset r = front.rows; r < front.rows + front.cb_rows; ++r) {
      at(start, r) = at(filled, rows(r));
      at(filled, rows(r)) += front.pivots;
    }
  }
  return start;
}

/// Row map and diagonals of L + U: a pivot's row ends with its front, whose first pivots belong to L.
template <class ExecutionSpace, class Plan, class OffsetView>
static void map_rows(const ExecutionSpace& exec, const Plan& plan, const OffsetView& row_map,
                     const OffsetView& diagonal) {
  using Offset = typename OffsetView::value_type;
  const auto fronts = plan.fronts;
  const auto rows = plan.rows;
  Kokkos::deep_copy(exec, row_map, Offset(0));
  Kokkos::parallel_for(
      "lutra::numeric::row_lengths", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, plan.count),
      KOKKOS_LAMBDA(const std::int64_t f) {
        const auto front = fronts(f);
        for (int c = 0; c < front.pivots; ++c)
          add_shared<ExecutionSpace>(row_map(front.first_pivot + c + 1), static_cast<Offset>(front.size()));
        for (Offset r = front.rows; r < front.rows + front.cb_rows; ++r)
          add_shared<ExecutionSpace>(row_map(rows(r) + 1), static_cast<Offset>(front.pivots));
      });
  Kokkos::parallel_scan(
      "lutra::numeric::row_map",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Offset>(plan.n) + 1),
      KOKKOS_LAMBDA(const Offset i, Offset& sum, const bool final) {
        sum += row_map(i);
        if (final) row_map(i) = sum;
      });
  check_launches_on<ExecutionSpace>();  // before the offsets are used
  Kokkos::parallel_for(
      "lutra::numeric::diagonals", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, plan.count),
      KOKKOS_LAMBDA(const std::int64_t f) {
        const auto front = fronts(f);
        for (int c = 0; c < front.pivots; ++c)
          diagonal(front.first_pivot + c) = row_map(front.first_pivot + c + 1) - front.size() + c;
      });
}

/// A pattern without positions of its entries in panels.
struct NoPanelEntries {
  KOKKOS_FUNCTION void operator()(Ordinal, const Front&, int, int, Offset) const {}
};

/// @param row_start position, in L + U by rows, of a front's first pivot in each of its contribution rows
/// @param note      note(front's index, front, row, column, entry)
template <class ExecutionSpace, class Plan, class OrdinalView, class OffsetView, class StartView, class Note>
static void fill_rows(const ExecutionSpace& exec, const Plan& plan, const StartView& row_start,
                      const OffsetView& diagonal, const OrdinalView& entries, const Note& note) {
  using Ordinal = typename OrdinalView::value_type;
  using Offset = typename OffsetView::value_type;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  const auto fronts = plan.fronts;
  const auto rows = plan.rows;
  Kokkos::parallel_for(
      "lutra::numeric::fill_rows",
      Policy(exec, static_cast<int>(plan.count), team_width<ExecutionSpace>(4),
             vector_length_for<ExecutionSpace>(32)),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const auto front = fronts(team.league_rank());
        const Offset pivots = front.pivots;
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, front.size()), [&](const int r) {
          const bool is_pivot = r < front.pivots;
          const Offset to =
              is_pivot ? diagonal(front.first_pivot + r) - r : row_start(front.rows + r - pivots);
          Kokkos::parallel_for(
              Kokkos::ThreadVectorRange(team, is_pivot ? front.size() : front.pivots), [&](const int c) {
                entries(to + c) = c < front.pivots ? front.first_pivot + static_cast<Ordinal>(c)
                                                   : rows(front.rows + c - pivots);
                note(static_cast<Ordinal>(team.league_rank()), front, r, c, to + c);
              });
        });
      });
}

/// The pattern of L + U in fronts, symmetric.
/// @param result with its reservation
template <class ExecutionSpace, class Note>
void write_front_pattern(const ExecutionSpace& exec,
                         const FrontPlan<typename ExecutionSpace::memory_space>& plan,
                         const MemoryBudget& budget, const Note& note,
                         LuPattern<typename ExecutionSpace::memory_space>& result) {
  using Memory = typename ExecutionSpace::memory_space;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  Offset nnz = 0;
  for (const Front& front : plan.layout.fronts)
    nnz += static_cast<Offset>(front.pivots) * (front.size() + front.cb_rows);
  auto row_map =
      result.reservation.template allocate<OffsetView>(exec, "lutra::numeric::row_map", plan.n + 1);
  auto diagonal = result.reservation.template allocate<OffsetView>(exec, "lutra::numeric::diagonal", plan.n);
  auto entries = result.reservation.template allocate<Kokkos::View<Ordinal*, Memory>>(
      exec, "lutra::numeric::entries", nnz);
  map_rows(exec, plan, row_map, diagonal);
  MemoryReservation scratch(budget);
  const auto rows = mirror_in<Kokkos::HostSpace>(plan.rows);
  const auto row_start = upload(exec, scratch, "lutra::numeric::row_start",
                                start_rows(plan.layout.fronts, rows, to_host(exec, row_map)));
  fill_rows(exec, plan, row_start, diagonal, entries, note);
  exec.fence("lutra::numeric: where rows start is no longer needed");
  result.n = plan.n;
  result.row_map = row_map;
  result.diagonal = diagonal;
  result.entries = entries;
  result.nnz_l = (static_cast<Offset>(nnz) - plan.n) / 2;
  result.nnz_u = static_cast<Offset>(nnz) - result.nnz_l;
  result.method = SymbolicMethod::etree;
  result.exact = false;
}

}  // namespace lutra::Impl

#endif
