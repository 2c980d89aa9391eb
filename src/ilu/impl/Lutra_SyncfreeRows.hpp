// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYNCFREEROWS_HPP
#define LUTRA_SYNCFREEROWS_HPP

#include <Kokkos_Core.hpp>

#include <atomic>

#include "Lutra_DataFlow.hpp"
#include "Lutra_IluRow.hpp"
#include "Lutra_RelaxedAccess.hpp"
#include "Lutra_RowKernels.hpp"
#include "Lutra_Watchdog.hpp"

// The synchronization-free elimination: rows in an order in which each comes after those it needs, so that a
// row waits for rows that run or are done.

namespace lutra::Impl {

/// Rows in the order of levels, and what ends an elimination.
template <class Ordinal, class Memory>
struct SyncfreeOrder {
  Kokkos::View<const Ordinal*, Memory> order;  ///< [n] rows, those that come first at the end
  Ordinal n;
  std::int64_t* stopped;  ///< 1 + a row that waited too long, 0: none
  std::uint64_t watchdog_ticks;

  KOKKOS_FUNCTION Ordinal row(std::int64_t position) const {
    return order(n - 1 - static_cast<Ordinal>(position));
  }

  /// Whether the elimination has been ended; ends it where this wait has been too long.
  KOKKOS_FUNCTION bool is_ended(WaitTimer<>& timer, Ordinal i) const {
    if (load_relaxed(*stopped) != 0) return true;
    if (!timer.exceeds(watchdog_ticks)) return false;
    store_relaxed(*stopped, static_cast<std::int64_t>(i) + 1);
    return true;
  }
};

/// Rows on one team of host threads, each of which has a part of every level, the same neighbourhood of the
/// matrix as far as it can be. A row may be read when its flag has the number of this run, which needs no
/// clearing. One thread takes rows in their own order.
///
///   row k    values … flag(k) := run (release)         row i    flag(k) == run (acquire) … values
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct HostSyncfreeRows {
  using Memory = typename ExecutionSpace::memory_space;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using Table = DenseAccumulator<Scalar, Ordinal>;

  FactorRows<Scalar, Ordinal, Offset, Memory> rows;
  SyncfreeOrder<Ordinal, Memory> order;
  RowTables<Scalar, Ordinal, Memory> tables;
  Kokkos::View<unsigned*, Memory> flags;  ///< [n] run in which the row was last computed
  unsigned run;
  const Ordinal* level_map;  ///< [levels + 1] where each level starts in `order`
  std::int64_t levels;

  KOKKOS_FUNCTION void operator()(const typename Policy::member_type& team) const {
    const std::int64_t thread = team.team_rank(), threads = team.team_size();
    const auto first = static_cast<std::size_t>(thread) * static_cast<std::size_t>(tables.table_slots);
    const auto columns = static_cast<std::size_t>(thread) * static_cast<std::size_t>(order.n);
    Table w{tables.slot_of.data() + columns, tables.columns.data() + first, tables.values.data() + first};
    if (threads == 1) {
      for (Ordinal i = 0; i < order.n; ++i) work(w, i);
      return;
    }
    for (std::int64_t level = levels - 1; level >= 0; --level) {
      const std::int64_t begin = level_map[level], size = level_map[level + 1] - level_map[level];
      for (std::int64_t t = size * thread / threads; t < size * (thread + 1) / threads; ++t) {
        work(w, order.order(static_cast<Ordinal>(begin + t)));
      }
    }
  }

  /// The row is NaN where the watchdog has ended the elimination.
  KOKKOS_FUNCTION void work(Table& w, Ordinal i) const {
    const SerialLanes lanes;
    bool ended = false;
    rows.load(lanes, w, i);
    rows.eliminate(lanes, w, i, [&](const Ordinal k) { ended = ended || !wait(i, k); });
    if (ended) {
      for (Offset p = rows.row_map(i); p < rows.row_map(i + 1); ++p) rows.to(p) = sentinel_value<Scalar>();
    } else {
      rows.store(lanes, w, i);
    }
    w.clear();
    KOKKOS_IF_ON_HOST(
        (if (!ended) std::atomic_ref<unsigned>(flags(i)).store(run, std::memory_order_release);))
  }

  /// Waits for row k; false where the watchdog has ended the elimination.
  KOKKOS_FUNCTION bool wait(Ordinal i, Ordinal k) const {
    KOKKOS_IF_ON_HOST((const std::atomic_ref<unsigned> flag(flags(k)); WaitTimer<> timer;
                       for (unsigned readings = 1; flag.load(std::memory_order_acquire) != run; ++readings) {
                         if (readings % 256 != 0) continue;
                         if (order.is_ended(timer, i)) return false;
                         yield_to_others();
                       }))
    return true;
  }
};

/// Rows on a device, each by the lanes of a thread. All values are sentinels at first; a lane polls for each
/// entry of U it needs, so that a dependency costs one trip through memory (`Lutra_DataFlow.hpp`).
///
/// A row is a loop whose turns never wait: a turn reads the values of as many entries of a row of U as there
/// are lanes, and takes them if all are there. Rows in one warp may need one another, and none keeps another
/// from its turn. Columns and slots of the turn to come are found before the values are waited for:
///
/// Teams take their rows by tickets, so that whatever the order in which a device starts them, a row waits
/// for rows that run or are done. There are only as many teams as a few levels have rows: rows still farther
/// ahead would poll all that time, and slow the reading of those whose turn it is.
///
///   turn t       read u_kk, u_kj │ columns, slots of turn t + 1 │ all there? w −= l·u ; else again
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct DeviceSyncfreeRows {
  using Memory = typename ExecutionSpace::memory_space;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using Team = typename Policy::member_type;
  using Table = HashAccumulator<Scalar, Ordinal>;

  FactorRows<Scalar, Ordinal, Offset, Memory> rows;
  SyncfreeOrder<Ordinal, Memory> order;
  std::int64_t* ticket;  ///< first position that no team has taken
  RowTables<Scalar, Ordinal, Memory> tables;
  Kokkos::View<const Offset*, Memory> table_begin;  ///< [n + 1] of the table of a row too long for scratch
  Kokkos::View<Ordinal*, Memory> keys;              ///< [table_begin(n)]
  Kokkos::View<Scalar*, Memory> values;             ///< [table_begin(n)]

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = reinterpret_cast<Scalar*>(
        static_cast<char*>(team.thread_scratch(0).get_shmem_aligned(tables.scratch_bytes(), 16)));
    while (true) {
      std::int64_t first = 0;
      Kokkos::single(  // with barriers, before which all rows of the ticket before are done
          Kokkos::PerTeam(team),
          [&](std::int64_t& taken) {
            taken = load_relaxed(*order.stopped) != 0
                        ? static_cast<std::int64_t>(order.n)
                        : Kokkos::atomic_fetch_add(ticket, static_cast<std::int64_t>(tables.team_rows));
          },
          first);
      if (first >= static_cast<std::int64_t>(order.n)) return;
      const std::int64_t position = first + team.team_rank();
      if (position < static_cast<std::int64_t>(order.n)) work(team, scratch, order.row(position));
    }
  }

  KOKKOS_FUNCTION void work(const Team& team, Scalar* scratch, Ordinal i) const {
    const VectorLanes<Team> lanes{team};
    const int log = Table::log_slots_for(rows.max_columns(i));
    Table w{reinterpret_cast<Ordinal*>(scratch + tables.slots), scratch, log};
    if (w.slots() > tables.slots) w = {keys.data() + table_begin(i), values.data() + table_begin(i), log};
    w.clear(lanes);
    rows.load(lanes, w, i);
    if (eliminate(lanes, w, i)) store(lanes, w, i);
  }

  /// Some entries of a row of U, one a lane, that are subtracted in one turn.
  struct Turn {
    Offset p = 0;         ///< of l_ik
    Offset pivot = 0;     ///< of u_kk
    Offset q = 0;         ///< of the first of them
    Offset end = 0;       ///< of the row of U
    Ordinal l_slot = -1;  ///< of l_ik in w
    Ordinal slot = -1;    ///< of this lane's column in w; −1: none
  };

  /// The first turn for l_ik at `p`.
  KOKKOS_FUNCTION Turn first_turn(const Table& w, Ordinal i, Offset p, int lane) const {
    Turn turn;
    turn.p = p;
    if (p >= rows.diagonal(i)) return turn;
    const Ordinal k = rows.entries(p);
    turn.pivot = rows.diagonal(k);
    turn.q = turn.pivot + 1;
    turn.end = rows.row_map(k + 1);
    turn.l_slot = w.find(k);
    turn.slot = slot_of(w, turn, lane);
    return turn;
  }
  KOKKOS_FUNCTION Turn after(const Table& w, Ordinal i, const Turn& turn, int lane) const {
    if (turn.q + tables.lanes >= turn.end) return first_turn(w, i, turn.p + 1, lane);
    Turn next = turn;
    next.q += tables.lanes;
    next.slot = slot_of(w, next, lane);
    return next;
  }
  KOKKOS_FUNCTION Ordinal slot_of(const Table& w, const Turn& turn, int lane) const {
    return turn.q + lane < turn.end ? w.find(rows.entries(turn.q + lane)) : Ordinal(-1);
  }

  /// @returns false where the watchdog has ended the elimination
  KOKKOS_FUNCTION bool eliminate(const VectorLanes<Team>& lanes, const Table& w, Ordinal i) const {
    const Offset end = rows.diagonal(i);
    Turn turn, next;
    lanes.each(0, tables.lanes, [&](const int lane) { turn = first_turn(w, i, rows.row_map(i), lane); });
    bool found_next = false;
    Scalar pivot(0), l(0), u(0);
    WaitTimer<> timer;
    for (unsigned turns = 1; turn.p < end; ++turns) {
      const int missing = lanes.template sum<int>(0, tables.lanes, [&](const int lane) {
        pivot = read_fresh(&rows.from(turn.pivot));
        if (turn.slot >= 0) u = read_fresh(&rows.from(turn.q + lane));
        if (!found_next) next = after(w, i, turn, lane);
        return is_sentinel(pivot) || (turn.slot >= 0 && is_sentinel(u)) ? 1 : 0;
      });
      found_next = true;
      if (missing > 0) {
        if (turns % 1024 == 0 && order.is_ended(timer, i)) return false;
        continue;
      }
      if (turn.q == turn.pivot + 1) l = divide_by_pivot(w.value(turn.l_slot), pivot);
      lanes.each(0, tables.lanes, [&](const int) {
        if (turn.slot >= 0) subtract_product(w.value(turn.slot), l, u);
      });
      w.value(turn.l_slot) = l;  // by each lane the same, none of which still reads what was there
      turn = next;
      found_next = false;
      timer = {};
    }
    return true;
  }

  /// The row of U first: others wait for it.
  KOKKOS_FUNCTION void store(const VectorLanes<Team>& lanes, const Table& w, Ordinal i) const {
    lanes.each(rows.diagonal(i), rows.row_map(i + 1), [&](const Offset p) {
      write_through(&rows.to(p), storable(w.value(w.find(rows.entries(p)))));
    });
    lanes.each(rows.row_map(i), rows.diagonal(i),
               [&](const Offset p) { rows.to(p) = w.value(w.find(rows.entries(p))); });
  }
};

}  // namespace lutra::Impl

#endif
