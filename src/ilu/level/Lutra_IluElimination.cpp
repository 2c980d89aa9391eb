// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IncompleteFactors.hpp"

#include <algorithm>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_IluChoice.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Levelization.hpp"
#include "Lutra_SyncfreeRows.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_SyncfreeRowsCuda.hpp"
#endif

namespace lutra {
namespace Impl {

/// Host threads that could share the rows; 0 on devices.
template <class ExecutionSpace>
int host_threads(const ExecutionSpace&) {
  return 0;
}
template <HostExecution ExecutionSpace>
int host_threads(const ExecutionSpace& exec) {
  return exec.concurrency();
}

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

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
struct IluElimination<Scalar, ExecutionSpace>::Plan {
  using Syncfree = Impl::SyncfreeEngine<Scalar, ExecutionSpace>;

  Plan(const ExecutionSpace& exec, const Factors& pattern, IluSchedule wanted, const MemoryBudget& budget,
       double watchdog_seconds, const IluCosts& costs, bool is_prototype)
      : reservation(budget),
        n(pattern.n),
        n_entries(static_cast<std::size_t>(pattern.nnz())),
        longest(Impl::longest_row(exec, n, pattern.row_map)),
        state(exec, reservation, "lutra::ilu::elimination_state", 2),
        watchdog_ticks(Impl::watchdog_ticks<ExecutionSpace>(watchdog_seconds)) {
    EliminationProperties properties{static_cast<std::int64_t>(n), 0, Impl::host_threads(exec)};
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
    if (schedule == IluSchedule::syncfree && !syncfree.analyze(exec, pattern, longest, budget, reservation)) {
      schedule = IluSchedule::levels;
      reason = "elimination: levels, without room for lists of updates";
    }
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
        syncfree(analysed.syncfree),
        state(exec, reservation, "lutra::ilu::elimination_state", 2),
        watchdog_ticks(analysed.watchdog_ticks) {
    allocate(exec, budget);
  }

  /// Allocates all that an elimination writes except the factors. Fences.
  void allocate(const ExecutionSpace& exec, const MemoryBudget& budget) {
    if (Syncfree::needs_workspace || schedule == IluSchedule::levels) {
      const double mean = static_cast<double>(n_entries) / std::max(1.0, static_cast<double>(n));
      workspace = std::make_unique<Workspace>(exec, n, longest, mean, budget);
    }
    if (schedule == IluSchedule::syncfree) syncfree.allocate(exec, n, n_entries, reservation);
    state.fill(exec, 0);
    exec.fence("lutra::ilu: the plan of an elimination is ready");
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
    syncfree.run(exec, {rows, order, state}, workspace.get(), levels, threads);
  }

  MemoryReservation reservation;
  Ordinal n;
  std::size_t n_entries;  ///< of the pattern
  IluSchedule schedule = IluSchedule::syncfree;
  int threads = 1;        ///< hosts
  std::string reason;     ///< why this schedule
  Levels<Memory> levels;  ///< counted from the rows that no row needs
  Ordinal longest;        ///< entries of the longest row
  Syncfree syncfree;
  std::unique_ptr<Workspace> workspace;                   ///< for levels, and where `syncfree` needs one
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
