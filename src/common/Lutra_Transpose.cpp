// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Transpose.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "Lutra_Bytes.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SortRows.hpp"

namespace lutra {
namespace {

/// Start of each row of the transpose: [n_cols + 1].
template <class ExecutionSpace, class Pattern, class OffsetView>
void count_columns(const ExecutionSpace& exec, const Pattern& pattern, const OffsetView& starts) {
  using Offset = typename OffsetView::value_type;
  const auto entries = pattern.entries;
  Impl::set_to_zero(exec, starts);
  Kokkos::parallel_for(
      "lutra::common::transpose_count", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, pattern.nnz()),
      KOKKOS_LAMBDA(const Offset p) { Impl::add_shared<ExecutionSpace>(starts(entries(p)), Offset(1)); });
  Impl::check_launches_on<ExecutionSpace>();  // before counts become offsets
  Kokkos::parallel_scan(
      "lutra::common::transpose_scan",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Offset>(starts.extent(0))),
      KOKKOS_LAMBDA(const Offset j, Offset& sum, const bool final) {
        const Offset count = starts(j);
        if (final) starts(j) = sum;
        sum += count;
      });
  Impl::check_launches_on<ExecutionSpace>();  // before entries go to these offsets
}

/// Scatters the row number and position of each entry into the rows of the transpose, unsorted; advances
/// `next`.
template <class ExecutionSpace, class Pattern, class OffsetView, class EntryView>
void scatter_entries(const ExecutionSpace& exec, const Pattern& pattern, const OffsetView& next,
                     const EntryView& rows, const OffsetView& source) {
  using Offset = typename OffsetView::value_type;
  using Ordinal = typename EntryView::value_type;
  const auto row_map = pattern.row_map;
  const auto entries = pattern.entries;
  Kokkos::parallel_for(
      "lutra::common::transpose_scatter", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, pattern.n_rows),
      KOKKOS_LAMBDA(const Ordinal i) {
        for (Offset p = row_map(i); p < row_map(i + 1); ++p) {
          const Offset q = Impl::fetch_add_shared<ExecutionSpace>(next(entries(p)), Offset(1));
          rows(q) = i;
          source(q) = p;
        }
      });
}

/// Whether one thread transposes, which leaves every row sorted. Several add to shared counters and then
/// sort.
template <class ExecutionSpace>
bool takes_one_thread(std::int64_t nnz) {
  constexpr std::int64_t few_entries = 1 << 16;  // smaller: small matrices pay for the start of threads
  return Impl::is_host_space<ExecutionSpace> && (nnz < few_entries || Impl::has_one_thread<ExecutionSpace>());
}

/// Counts the entries of each column, sums them up and distributes the entries, on the calling thread in host
/// memory.
template <class Pattern, class OffsetView, class EntryView>
void transpose_in_order(const Pattern& pattern, const OffsetView& starts, const OffsetView& next,
                        const EntryView& rows, const OffsetView& source) {
  using Offset = typename OffsetView::value_type;
  const Offset *const row_map = pattern.row_map.data(), nnz = pattern.nnz();
  const auto* const entries = pattern.entries.data();
  Offset *const begin = starts.data(), *const place = next.data(), *const from = source.data();
  auto* const row = rows.data();
  std::fill_n(place, pattern.n_cols + 1, Offset(0));
  for (Offset p = 0; p < nnz; ++p) ++place[entries[p]];
  Offset sum = 0;
  for (std::int64_t j = 0; j <= pattern.n_cols; ++j) {
    begin[j] = sum;
    sum += std::exchange(place[j], sum);
  }
  for (typename EntryView::non_const_value_type i = 0; i < pattern.n_rows; ++i)
    for (Offset p = row_map[i]; p < row_map[i + 1]; ++p) {
      const Offset q = place[entries[p]]++;
      row[q] = i;
      from[q] = p;
    }
}

}  // namespace

template <class ExecutionSpace>
TransposedPattern<typename ExecutionSpace::memory_space> transpose(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  using EntryView = Kokkos::View<Ordinal*, Memory>;
  MemoryReservation reservation(budget), scratch(budget);
  auto starts =
      reservation.allocate<OffsetView>(exec, "lutra::common::transpose_row_map", pattern.n_cols + 1);
  auto rows = reservation.allocate<EntryView>(exec, "lutra::common::transpose_entries", pattern.nnz());
  auto source = reservation.allocate<OffsetView>(exec, "lutra::common::transpose_source", pattern.nnz());
  auto next = scratch.allocate<OffsetView>(exec, "lutra::common::transpose_next", pattern.n_cols + 1);

  if (takes_one_thread<ExecutionSpace>(pattern.nnz())) {
    exec.fence("lutra::transpose: the pattern is complete");
    transpose_in_order(pattern, starts, next, rows, source);
  } else {
    count_columns(exec, pattern, starts);
    Impl::copy_view(exec, next, starts);
    Impl::check_launches_on<ExecutionSpace>();
    scatter_entries(exec, pattern, next, rows, source);
    if constexpr (!Impl::is_serial_space<ExecutionSpace>)  // which is never here
      Impl::sort_rows("lutra::common::sorted_entries", exec, starts, rows, source, pattern.n_rows);
  }
  Impl::wait_for(exec, "lutra::transpose: scratch is freed");
  return {{pattern.n_cols, pattern.n_rows, starts, rows}, source, reservation};
}

#define LUTRA_TRANSPOSE(Space)                                        \
  template TransposedPattern<typename Space::memory_space> transpose( \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_TRANSPOSE)

}  // namespace lutra
