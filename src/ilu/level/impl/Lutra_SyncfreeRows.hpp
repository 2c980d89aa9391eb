// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYNCFREEROWS_HPP
#define LUTRA_SYNCFREEROWS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <atomic>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_DataFlow.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_HostThreads.hpp"
#include "Lutra_IluRow.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RowKernelsHost.hpp"
#include "Lutra_Watchdog.hpp"

// Synchronization-free elimination: each row comes after the rows it needs, so that a row only waits for rows
// that are running or done.

namespace lutra::Impl {

/// Rows in the order of levels, and the watchdog of an elimination, by rows.
template <class Memory>
struct SyncfreeOrder {
  Kokkos::View<const Ordinal*, Memory> order;  ///< [n] rows, the first ones at the end
  Ordinal n;
  Watchdog<std::int64_t, 0> watchdog;

  KOKKOS_FUNCTION Ordinal row(std::int64_t position) const {
    return order(n - 1 - static_cast<Ordinal>(position));
  }
};

/// Rows on one team of host threads. Each thread has a part of every level, as far as possible in the same
/// neighbourhood of the matrix. A row may be read once its flag equals the number of this run, so flags need
/// no clearing. A single thread takes rows in their own order.
///
///   row k    values … flag(k) := run (release)         row i    flag(k) == run (acquire) … values
template <class Scalar, class ExecutionSpace>
struct HostSyncfreeRows {
  using Memory = typename ExecutionSpace::memory_space;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using Table = DenseAccumulator<Scalar>;

  FactorRows<Scalar, Memory> rows;
  SyncfreeOrder<Memory> order;
  RowTablesHost<Scalar, Memory> tables;
  Kokkos::View<unsigned*, Memory> flags;  ///< [n] last run that computed the row
  unsigned run;
  const Ordinal* level_map;  ///< [levels + 1] first position of each level in `order`
  std::int64_t levels;
  RunControl::Query query;  ///< rows become NaN once the running call has to end

  KOKKOS_FUNCTION void operator()(const typename Policy::member_type& team) const {
    const std::int64_t thread = team.team_rank(), threads = team.team_size();
    Table w = tables.dense(team.team_rank(), order.n);
    if (threads == 1) {
      for (Ordinal i = 0; i < order.n && !query.must_stop_at(i, 32); ++i) work(w, i);
      return;
    }
    for (std::int64_t level = levels - 1; level >= 0 && !query.must_stop(); --level) {
      const std::int64_t begin = level_map[level], size = level_map[level + 1] - level_map[level];
      for (std::int64_t t = size * thread / threads; t < size * (thread + 1) / threads; ++t) {
        work(w, order.order(static_cast<Ordinal>(begin + t)));
      }
    }
  }

  /// Eliminates row i, which becomes NaN if the watchdog has ended the elimination.
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

  /// Waits for row k; false if the watchdog has ended the elimination.
  KOKKOS_FUNCTION bool wait([[maybe_unused]] Ordinal i, [[maybe_unused]] Ordinal k) const {
    KOKKOS_IF_ON_HOST((const std::atomic_ref<unsigned> flag(flags(k)); WaitTimer<> timer;
                       for (unsigned readings = 1; flag.load(std::memory_order_acquire) != run; ++readings) {
                         if (readings % 256 != 0) continue;
                         if (query.must_stop()) return false;
                         if (order.watchdog.ends(timer, static_cast<std::int64_t>(i))) return false;
                         yield_to_others();
                       }))
    return true;
  }
};

/// What a run of synchronization-free elimination uses besides the engine's own storage.
template <class Scalar, class ExecutionSpace>
struct SyncfreeRun {
  using Memory = typename ExecutionSpace::memory_space;
  FactorRows<Scalar, Memory> rows;
  SyncfreeOrder<Memory> order;
  const AsyncResult<std::int64_t, ExecutionSpace>& state;  ///< ticket, and the watchdog's word
};

/// Synchronization-free elimination on an execution space: storage and launch. This one is for devices
/// without it.
template <class Scalar, class ExecutionSpace>
struct SyncfreeEngine {
  static constexpr bool needs_workspace = false;
  template <class Factors>
  bool analyze(const ExecutionSpace&, const Factors&, Ordinal, const MemoryBudget&, MemoryReservation&) {
    return false;
  }
  void allocate(const ExecutionSpace&, Ordinal, std::size_t, MemoryReservation&) {}
  template <class Workspace, class Levels>
  void run(const ExecutionSpace&, const SyncfreeRun<Scalar, ExecutionSpace>&, const Workspace*, const Levels&,
           int) {}
};

template <class Scalar, HostExecution ExecutionSpace>
struct SyncfreeEngine<Scalar, ExecutionSpace> {
  static constexpr bool needs_workspace = true;
  Kokkos::View<unsigned*, typename ExecutionSpace::memory_space> flags;  ///< see HostSyncfreeRows
  unsigned number = 0;                                                   ///< of the last run

  template <class Factors>
  bool analyze(const ExecutionSpace&, const Factors&, Ordinal, const MemoryBudget&, MemoryReservation&) {
    return true;
  }
  void allocate(const ExecutionSpace& exec, Ordinal n, std::size_t, MemoryReservation& reservation) {
    flags = reservation.template allocate<decltype(flags)>(exec, "lutra::ilu::row_flags",
                                                           static_cast<std::size_t>(n));
    Kokkos::deep_copy(exec, flags, 0u);
  }
  /// @param threads that share the rows, if there are as many
  template <class Workspace, class Levels>
  void run(const ExecutionSpace& exec, const SyncfreeRun<Scalar, ExecutionSpace>& with, const Workspace* work,
           const Levels& levels, int threads) {
    using Kernel = HostSyncfreeRows<Scalar, ExecutionSpace>;
    with.state.host()(1) = 0;
    const Kernel kernel{with.rows,
                        with.order,
                        work->tables(),
                        flags,
                        ++number,
                        levels.level_map.data(),
                        static_cast<std::int64_t>(levels.size()),
                        work->run().query()};
    const int team = std::min(threads, largest_team_of(exec));
    Kokkos::parallel_for("lutra::ilu::eliminate", typename Kernel::Policy(exec, 1, team), kernel);
    work->run().poll();
  }
};

}  // namespace lutra::Impl

#endif
