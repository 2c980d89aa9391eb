// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IluElimination.hpp"

#include <algorithm>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Levelization.hpp"
#include "Lutra_RowUpdates.hpp"
#include "Lutra_SyncfreeRows.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_SyncfreeRowsCuda.hpp"
#endif

namespace lutra {
namespace Impl {

/// Eliminates the rows of one level, or all rows in their own order: rows that need not wait.
template <class Scalar, class Memory>
struct EliminateRow {
  FactorRows<Scalar, Memory> rows;
  Kokkos::View<const Ordinal*, Memory> order;

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal position) const { return rows.max_columns(order(position)); }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal position) const {
    const Ordinal i = order(position);
    rows.load(lanes, w, i);
    rows.eliminate(lanes, w, i, [](const Ordinal) {});
    rows.store(lanes, w, i);
  }
};

/// Prepares a synchronization-free run on a device: all values missing, no row taken.
template <class Scalar, class Memory>
struct ClearValues {
  Kokkos::View<Scalar*, Memory> values;
  Kokkos::View<std::int64_t*, Memory> state;
  KOKKOS_FUNCTION void operator()(std::int64_t p) const {
    if (p < static_cast<std::int64_t>(state.extent(0))) state(p) = 0;
    if (p < static_cast<std::int64_t>(values.extent(0))) values(p) = sentinel_value<Scalar>();
  }
};

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
struct IluElimination<Scalar, ExecutionSpace>::Plan {
  static constexpr bool on_host = Impl::is_host_space<ExecutionSpace>;
#ifdef KOKKOS_ENABLE_CUDA
  static constexpr bool on_cuda = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
  static constexpr bool on_cuda = false;
#endif
  template <class T>
  using Array = Kokkos::View<T*, Memory>;

  Plan(const ExecutionSpace& exec, const Factors& pattern, IluSchedule wanted, const MemoryBudget& budget,
       double watchdog_seconds, const IluCosts& costs, bool is_prototype)
      : reservation(budget),
        n(pattern.n),
        n_entries(static_cast<std::size_t>(pattern.nnz())),
        longest(Impl::longest_row(exec, n, pattern.row_map)),
        state(exec, reservation, "lutra::ilu::elimination_state", 2),
        watchdog_ticks(Impl::watchdog_ticks<ExecutionSpace>(watchdog_seconds)) {
    EliminationProperties properties{static_cast<std::int64_t>(n), 0, 0};
    if constexpr (on_host) properties.threads = exec.concurrency();
    if (properties.threads != 1 || wanted == IluSchedule::levels) {
      // an edge leads from a row to the rows it needs, so levels count from the rows that no row needs
      levels = levelize(
          exec, DependencyGraph<Memory>{n, {pattern.row_map, pattern.diagonal, pattern.entries, 0}, {}},
          budget);
      properties.levels = static_cast<std::int64_t>(levels.size());
    }
    const ScheduleChoice choice = choose_schedule(properties, wanted, costs);
    schedule = choice.schedule;
    threads = choice.threads;
    reason = choice.reason;
    if (schedule == IluSchedule::syncfree && threads == 1) levels = {};
    if (!on_host && schedule == IluSchedule::syncfree) find_updates(exec, pattern, budget);
    if (!is_prototype) allocate(exec, budget);
    exec.fence("lutra::ilu: the analysis of an elimination is complete for other instances");
  }

  /// A plan with its own workspace on the analysis of `analysed`.
  Plan(const ExecutionSpace& exec, const Plan& analysed, const MemoryBudget& budget)
      : reservation(budget),
        n(analysed.n),
        n_entries(analysed.n_entries),
        schedule(analysed.schedule),
        threads(analysed.threads),
        reason(analysed.reason),
        levels(analysed.levels),
        longest(analysed.longest),
        updates(analysed.updates),
        state(exec, reservation, "lutra::ilu::elimination_state", 2),
        watchdog_ticks(analysed.watchdog_ticks) {
    allocate(exec, budget);
  }

  /// Row updates for CUDA. If they do not fit into the remaining memory, and on other devices, levels run.
  void find_updates(const ExecutionSpace& exec, const Factors& pattern, const MemoryBudget& budget) {
    if constexpr (on_cuda) {
      const auto found = Impl::find_row_updates(exec, pattern, longest, budget, reservation);
      if (found) updates = *found;
    }
    if (updates.row_map.extent(0) > 0) return;
    schedule = IluSchedule::levels;
    reason = "elimination: levels, without room for lists of updates";
  }

  /// Allocates all that an elimination writes except the factors. Fences.
  void allocate(const ExecutionSpace& exec, const MemoryBudget& budget) {
    if (on_host || schedule == IluSchedule::levels) {
      const double mean = static_cast<double>(n_entries) / std::max(1.0, static_cast<double>(n));
      workspace = std::make_unique<Workspace>(exec, n, longest, mean, budget);
    }
    if (schedule == IluSchedule::syncfree) allocate_syncfree(exec);
    state.fill(exec, 0);
    exec.fence("lutra::ilu: the plan of an elimination is ready");
  }
  void allocate_syncfree(const ExecutionSpace& exec) {
    if constexpr (on_host) {
      flags = reservation.template allocate<Array<unsigned>>(exec, "lutra::ilu::row_flags",
                                                             static_cast<std::size_t>(n));
      Kokkos::deep_copy(exec, flags, 0u);
    } else if constexpr (on_cuda) {
#ifdef KOKKOS_ENABLE_CUDA
      if (longest > Impl::SyncfreeRowsCuda<Scalar, Memory>::max_scratch_length)
        long_rows = reservation.template allocate<Array<Scalar>>(exec, "lutra::ilu::long_rows", n_entries);
#endif
    }
  }

  using Rows = Impl::FactorRows<Scalar, Memory>;
  using Workspace = Impl::RowWorkspace<Scalar, ExecutionSpace>;

  void run_levels(const ExecutionSpace& exec, const Rows& rows) const {
    const Impl::EliminateRow<Scalar, Memory> body{rows, levels.order};
    for (std::size_t level = levels.size(); level-- > 0;)
      Impl::for_each_row(exec, "lutra::ilu::eliminate_level", levels.level_map[level],
                         levels.level_map[level + 1], *workspace, body);
  }

  void run_syncfree(const ExecutionSpace& exec, const Rows& rows) {
    const Impl::SyncfreeOrder<Memory> order{levels.order, n, {state.device().data() + 1, watchdog_ticks}};
    if constexpr (on_host) {
      using Kernel = Impl::HostSyncfreeRows<Scalar, ExecutionSpace>;
      const auto n_levels = static_cast<std::int64_t>(levels.size());
      state.host()(1) = 0;
      const Kernel kernel{rows, order, workspace->tables(), flags, ++run, levels.level_map.data(), n_levels};
      const int most = typename Kernel::Policy(exec, 1, 1).team_size_max(kernel, Kokkos::ParallelForTag());
      Kokkos::parallel_for("lutra::ilu::eliminate", typename Kernel::Policy(exec, 1, std::min(threads, most)),
                           kernel);
    } else if constexpr (on_cuda) {
#ifdef KOKKOS_ENABLE_CUDA
      const auto entries = static_cast<std::int64_t>(rows.to.extent(0));
      Kokkos::parallel_for("lutra::ilu::clear_values",
                           Kokkos::RangePolicy<ExecutionSpace>(exec, 0, std::max<std::int64_t>(entries, 2)),
                           Impl::ClearValues<Scalar, Memory>{rows.to, state.device()});
      Impl::launch_rows(exec, Impl::SyncfreeRowsCuda<Scalar, Memory>{rows, order, state.device().data(),
                                                                     updates, long_rows, longest});
#endif
    }
  }

  MemoryReservation reservation;
  Ordinal n;
  std::size_t n_entries;  ///< of the pattern
  IluSchedule schedule = IluSchedule::syncfree;
  int threads = 1;                       ///< hosts
  std::string reason;                    ///< why this schedule
  Levels<Memory> levels;                 ///< counted from the rows that no row needs
  Ordinal longest;                       ///< entries of the longest row
  Impl::RowUpdates<Memory> updates;      ///< CUDA
  std::unique_ptr<Workspace> workspace;  ///< hosts, and levels
  Array<unsigned> flags;                 ///< hosts; see HostSyncfreeRows
  Array<Scalar> long_rows;               ///< CUDA; see SyncfreeRowsCuda
  unsigned run = 0;
  Impl::AsyncResult<std::int64_t, ExecutionSpace> state;  ///< ticket, and 1 + row whose wait timed out
  std::uint64_t watchdog_ticks;
};

template <class Scalar, class ExecutionSpace>
IluElimination<Scalar, ExecutionSpace>::IluElimination(const ExecutionSpace& exec, const Factors& pattern,
                                                       IluSchedule schedule, const MemoryBudget& budget,
                                                       double watchdog_seconds, const IluCosts& costs,
                                                       bool is_prototype)
    : m_plan(std::make_unique<Plan>(exec, pattern, schedule, budget, watchdog_seconds, costs, is_prototype)) {
}

template <class Scalar, class ExecutionSpace>
auto IluElimination<Scalar, ExecutionSpace>::with_own_workspace(const ExecutionSpace& exec,
                                                                const MemoryBudget& budget) const
    -> IluElimination {
  return IluElimination(std::make_unique<Plan>(exec, *m_plan, budget));
}

template <class Scalar, class ExecutionSpace>
IluElimination<Scalar, ExecutionSpace>::IluElimination(std::unique_ptr<Plan> plan)
    : m_plan(std::move(plan)) {}

template <class Scalar, class ExecutionSpace>
IluElimination<Scalar, ExecutionSpace>::~IluElimination() = default;
template <class Scalar, class ExecutionSpace>
IluElimination<Scalar, ExecutionSpace>::IluElimination(IluElimination&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
IluElimination<Scalar, ExecutionSpace>& IluElimination<Scalar, ExecutionSpace>::operator=(
    IluElimination&&) noexcept = default;

template <class Scalar, class ExecutionSpace>
void IluElimination<Scalar, ExecutionSpace>::eliminate(const ExecutionSpace& exec, const Matrix& A,
                                                       double shift, const Factors& factors) {
  if (factors.n == 0) return;
  const typename Plan::Rows rows{
      A, shift, factors.row_map, factors.diagonal, factors.entries, factors.values, factors.values};
  if (m_plan->schedule == IluSchedule::levels) {
    m_plan->run_levels(exec, rows);
  } else {
    m_plan->run_syncfree(exec, rows);
  }
}

template <class Scalar, class ExecutionSpace>
IluSchedule IluElimination<Scalar, ExecutionSpace>::schedule() const {
  return m_plan->schedule;
}
template <class Scalar, class ExecutionSpace>
const std::string& IluElimination<Scalar, ExecutionSpace>::reason() const {
  return m_plan->reason;
}
template <class Scalar, class ExecutionSpace>
std::int64_t IluElimination<Scalar, ExecutionSpace>::levels() const {
  return static_cast<std::int64_t>(m_plan->levels.size());
}
template <class Scalar, class ExecutionSpace>
std::int64_t IluElimination<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  const std::int64_t row = m_plan->state.fetch(exec)(1) - 1;
  m_plan->state.fill(exec, 0);
  return row;
}

#define LUTRA_INSTANTIATE(Scalar, Space) template class IluElimination<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_INSTANTIATE)

}  // namespace lutra
