// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWUPDATES_HPP
#define LUTRA_ROWUPDATES_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_RowTeams.hpp"

// Updates of each row in an elimination on a fixed pattern, computed once: the entries of U that it reads and
// the entries of the row that they change. Entries of U outside the row's pattern are not listed.

namespace lutra::Impl {

/// One step of the elimination of a row; positions are relative to the row's first entry. The entry of L at
/// `pivot` is l:
///
///     target == pivot    l := l / U(from)                 the first step of its pivot
///     else               entry at target −= l·U(from)     targets of a pivot are distinct
struct RowUpdate {
  Offset from = 0;     ///< position of an entry of U
  Ordinal pivot = -1;  ///< −1: none
  Ordinal target = 0;

  KOKKOS_FUNCTION bool divides() const { return target == pivot; }
};

/// Updates of all rows; within a row by ascending pivots.
template <class Memory>
struct RowUpdates {
  Kokkos::View<Offset*, Memory> row_map;     ///< [n + 1]
  Kokkos::View<RowUpdate*, Memory> updates;  ///< [row_map(n)]
};

/// Counts the updates of each entry of L, then writes them.
template <class Memory>
struct FindRowUpdates {
  Kokkos::View<const Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Ordinal*, Memory> entries;
  RowTeams rows;
  Kokkos::View<Ordinal*, Memory> counts;       ///< [nnz] updates of each entry; 0 in U
  Kokkos::View<const Offset*, Memory> starts;  ///< [nnz + 1] prefix sums of the counts; empty: count pass
  RowUpdates<Memory> to;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const bool counting = starts.extent(0) == 0;
    rows.visit_rows(team, static_cast<Ordinal>(diagonal.extent(0)), [&](const Ordinal i) {
      const Offset begin = row_map(i), end = row_map(i + 1);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin, end), [&](const Offset p) {
        if (counting) {
          Ordinal count = 0;
          if (p < diagonal(i)) visit_updates(p, end, [&](const Offset, const Offset) { ++count; });
          counts(p) = count;
        } else if (p < diagonal(i)) {
          Offset at = starts(p);
          visit_updates(p, end, [&](const Offset from, const Offset target) {
            to.updates(at++) = {from, static_cast<Ordinal>(p - begin), static_cast<Ordinal>(target - begin)};
          });
        }
      });
      if (!counting) Kokkos::single(Kokkos::PerThread(team), [&]() { to.row_map(i + 1) = starts(end); });
    });
  }

  /// visit(position in U, position in the row) for the updates of entry p of L in a row that ends at `end`.
  /// The columns of the shorter of the two rows are searched for in the longer.
  template <class Visit>
  KOKKOS_FUNCTION void visit_updates(Offset p, Offset end, const Visit& visit) const {
    const Ordinal k = entries(p);
    visit(diagonal(k), p);
    const Offset upper = diagonal(k) + 1, upper_end = row_map(k + 1);
    if (upper_end - upper < end - p - 1) {
      visit_common(upper, upper_end, p + 1, end, visit);
    } else {
      visit_common(p + 1, end, upper, upper_end, [&](const Offset t, const Offset q) { visit(q, t); });
    }
  }
  /// visit(a, b) for positions with the same column.
  template <class Visit>
  KOKKOS_FUNCTION void visit_common(Offset a, Offset a_end, Offset b, Offset b_end,
                                    const Visit& visit) const {
    for (; a < a_end && b < b_end; ++a) {
      const Ordinal column = entries(a);
      b = first_not_before(b, b_end, [&](const Offset at) { return entries(at) < column; });
      if (b < b_end && entries(b) == column) visit(a, b);
    }
  }
};

/// The updates of a pattern, if they fit into half of the remaining memory. Waits.
/// @param longest entries of the longest row
template <class Scalar, class ExecutionSpace>
std::optional<RowUpdates<typename ExecutionSpace::memory_space>> find_row_updates(
    const ExecutionSpace& exec,
    const IncompleteFactors<Scalar, typename ExecutionSpace::memory_space>& pattern, Ordinal longest,
    const MemoryBudget& budget, MemoryReservation& reservation) {
  using Memory = typename ExecutionSpace::memory_space;
  using Update = RowUpdate;
  const auto nnz = static_cast<std::size_t>(pattern.nnz());
  if (nnz * (sizeof(Ordinal) + sizeof(Offset)) > budget.available_bytes()) return {};
  MemoryReservation temporary(budget);
  const double mean = static_cast<double>(nnz) / std::max(1.0, static_cast<double>(pattern.n));
  // one lane per entry of L, also in long rows
  const bool is_skewed = static_cast<double>(longest) > 4 * mean;
  const RowTeams rows(exec, vector_length_for<ExecutionSpace>(is_skewed ? 32 : mean / 2), 1024);
  FindRowUpdates<Memory> find{pattern.row_map, pattern.diagonal, pattern.entries, rows, {}, {}, {}};
  find.counts =
      temporary.template allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::ilu::update_counts", nnz);
  const auto run = [&](const char* label) {
    Kokkos::parallel_for(label, by_argument(rows.policy(exec, pattern.n)), find);
  };
  run("lutra::ilu::count_updates");
  const auto starts =
      temporary.template allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::ilu::update_starts", nnz + 1);
  const auto total = static_cast<std::size_t>(prefix_sum<Offset>(exec, find.counts, starts));
  if (total * sizeof(Update) > budget.available_bytes() / 2) return {};
  find.starts = starts;
  find.to.row_map = reservation.template allocate<Kokkos::View<Offset*, Memory>>(
      exec, "lutra::ilu::update_map", static_cast<std::size_t>(pattern.n) + 1);
  find.to.updates =
      reservation.template allocate<Kokkos::View<Update*, Memory>>(exec, "lutra::ilu::updates", total);
  Kokkos::deep_copy(exec, Kokkos::subview(find.to.row_map, 0), Offset(0));
  run("lutra::ilu::write_updates");
  exec.fence("lutra::ilu: updates are found");
  return find.to;
}

}  // namespace lutra::Impl

#endif
