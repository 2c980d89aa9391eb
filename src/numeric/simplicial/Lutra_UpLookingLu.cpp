// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_UpLookingLu.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_EliminationTree.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SubtreeMapping.hpp"
#include "Lutra_UpLooking.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

using Impl::at;

/// The end of the run of each row, from the last row up. Row k joins the run of k + 1 if the pattern of U(k,
/// :) right of the diagonal is k + 1 plus that of U(k + 1, :) right of its own.
std::vector<Ordinal> find_runs(const LuPattern<Kokkos::HostSpace>& rows) {
  std::vector<Ordinal> run_end(static_cast<std::size_t>(rows.n));
  for (Ordinal k = rows.n; k-- > 0;) {
    at(run_end, k) = k + 1;
    if (k + 1 == rows.n) continue;
    const Offset begin = rows.diagonal(k) + 1, end = rows.row_map(k + 1);
    const Offset next = rows.diagonal(k + 1), next_end = rows.row_map(k + 2);
    if (end - begin != next_end - next) continue;
    const Ordinal* const entries = rows.entries.data();
    if (std::equal(entries + begin, entries + end, entries + next)) at(run_end, k) = at(run_end, k + 1);
  }
  return run_end;
}

/// Counts the operations of each row, and the rows on each level.
std::vector<double> count_work(UpLookingLuPlan& plan) {
  const auto& rows = plan.rows;
  std::vector<double> work(static_cast<std::size_t>(rows.n));
  std::vector<Ordinal> level(work.size());
  plan.flops = 0;
  for (Ordinal i = 0; i < rows.n; ++i) {
    Ordinal deepest = -1;
    double flops = 0;
    for (Offset p = rows.row_map(i); p < rows.diagonal(i); ++p) {
      const Ordinal k = rows.entries(p);
      deepest = std::max(deepest, at(level, k));
      flops += 1 + 2 * static_cast<double>(rows.row_map(k + 1) - rows.diagonal(k) - 1);
    }
    at(level, i) = deepest + 1;
    if (static_cast<std::size_t>(deepest + 1) == plan.level_widths.size()) plan.level_widths.push_back(0);
    ++at(plan.level_widths, deepest + 1);
    at(work, i) = flops;
    plan.flops += flops;
  }
  return work;
}

/// Orders rows by tasks: subtrees for one thread each, then the rows above them.
void map_rows(std::vector<double> work, const MemoryBudget& budget, UpLookingLuPlan& plan) {
  constexpr double work_beside = 50;  // overhead per row, in operations
  for (double& of_row : work) of_row += work_beside;
  auto mapping = map_subtrees(elimination_tree(plan.F, budget).parent, work, plan.threads);
  plan.order = std::move(mapping.order);
  plan.task_begin = std::move(mapping.task_begin);
}

/// Waits for rows of other threads. Rows are assigned in an order in which each follows its dependencies, so
/// some thread always makes progress, until the call has to end: then waits end, too.
struct WaitForRows {
  int* done;
  int run;
  RunControl::Query query;

  void operator()(Ordinal first, Ordinal end) const {
    // Spinning answers fastest; yielding lets the awaited thread run if threads outnumber cores.
    constexpr int max_spins = 2000;
    for (Ordinal k = first; k < end; ++k) {
      const std::atomic_ref<int> flag(done[k]);
      for (int spins = 0; flag.load(std::memory_order_acquire) != run; ++spins) {
        if (spins <= max_spins) continue;
        if (query.must_stop()) return;
        std::this_thread::yield();
      }
    }
  }
};

/// Work of one thread: tasks, then the rows above them, by tickets. Rows that are begun are completed, which
/// leaves x zero.
template <class Rows, class Scalar>
UpLookingLuOutcome work_tickets(const Rows& rows, const UpLookingLuPlan& plan, Scalar* x, int* done, int run,
                                const RunControl::Query& query, std::atomic<std::int64_t>& tickets) {
  Impl::Greatest<RealOf<Scalar>> largest;
  UpLookingLuOutcome outcome;
  const RunControl::FrequentQuery frequent(query);
  const auto work = [&](Ordinal i, const auto& wait) {
    outcome.perturbed += rows.work(i, x, wait, largest) ? 1 : 0;
    std::atomic_ref<int>(done[i]).store(run, std::memory_order_release);
  };
  const auto tasks = static_cast<std::int64_t>(plan.task_begin.size()) - 1;
  const auto shared = static_cast<std::int64_t>(plan.n()) - static_cast<std::int64_t>(plan.task_begin.back());
  for (std::int64_t ticket; (ticket = tickets.fetch_add(1)) < tasks + shared;) {
    if (frequent.must_stop()) break;
    if (ticket >= tasks) {
      work(at(plan.order, plan.task_begin.back() + ticket - tasks), WaitForRows{done, run, query});
      continue;
    }
    for (Ordinal p = at(plan.task_begin, ticket); p < at(plan.task_begin, ticket + 1); ++p) {
      if (frequent.must_stop()) break;
      work(at(plan.order, p), [](Ordinal, Ordinal) {});
    }
  }
  outcome.largest = static_cast<double>(largest.most());
  return outcome;
}

}  // namespace

template <Impl::HostExecution ExecutionSpace>
UpLookingLuPlan plan_up_looking_lu(const ExecutionSpace& exec, const LuPattern<Kokkos::HostSpace>& rows,
                                   const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& F,
                                   const MemoryBudget& budget, int threads) {
  UpLookingLuPlan plan;
  plan.rows = rows;
  plan.F = F;
  plan.reservation = MemoryReservation(budget);
  plan.run_end = Impl::upload(Kokkos::DefaultHostExecutionSpace(), plan.reservation,
                              "lutra::numeric::run_end", find_runs(rows));
  auto work = count_work(plan);
  plan.threads = threads > 0 ? threads : static_cast<int>(exec.concurrency());
  if (plan.threads > 1) map_rows(std::move(work), budget, plan);
  return plan;
}

template <class Scalar>
UpLookingLuWorkspace<Scalar> make_up_looking_lu_workspace(const UpLookingLuPlan& plan,
                                                          const MemoryBudget& budget) {
  const Kokkos::DefaultHostExecutionSpace host;
  const auto n = static_cast<std::size_t>(plan.n());
  const auto threads = static_cast<std::size_t>(plan.threads);
  UpLookingLuWorkspace<Scalar> work;
  work.run = budget.run();
  work.reservation = MemoryReservation(budget);
  using Values = Kokkos::View<Scalar*, Kokkos::HostSpace>;
  work.working_rows =
      work.reservation.template allocate<Values>(host, "lutra::numeric::working_rows", threads * n);
  work.inverse = work.reservation.template allocate<Values>(host, "lutra::numeric::pivot_inverses", n);
  work.done = work.reservation.template allocate<decltype(work.done)>(host, "lutra::numeric::rows_done",
                                                                      threads > 1 ? n + 1 : 0);
  std::fill_n(work.working_rows.data(), work.working_rows.extent(0), Scalar(0));
  std::fill_n(work.done.data(), work.done.extent(0), 0);
  return work;
}

template <class Scalar, Impl::HostExecution ExecutionSpace>
UpLookingLuOutcome factorize_up_looking(const ExecutionSpace& exec, const UpLookingLuPlan& plan,
                                        const Kokkos::View<const Scalar*, Kokkos::HostSpace>& F_values,
                                        RealOf<Scalar> threshold, const UpLookingLuWorkspace<Scalar>& work,
                                        const Kokkos::View<Scalar*, Kokkos::HostSpace>& values,
                                        const Kokkos::View<unsigned char*, Kokkos::HostSpace>& perturbed) {
  const Impl::UpLookingRows<Scalar> rows{plan.F.row_map.data(),
                                         plan.F.entries.data(),
                                         F_values.data(),
                                         plan.rows.row_map.data(),
                                         plan.rows.diagonal.data(),
                                         plan.rows.entries.data(),
                                         plan.run_end.data(),
                                         values.data(),
                                         work.inverse.data(),
                                         perturbed.data(),
                                         threshold};
  UpLookingLuOutcome outcome;
  const std::size_t n = static_cast<std::size_t>(plan.n());
  Scalar* const x = work.working_rows.data();
  if (plan.order.empty()) {
    Impl::Greatest<RealOf<Scalar>> largest;
    const RunControl::FrequentQuery query(work.run.query());
    for (Ordinal i = 0; i < plan.n() && !query.must_stop(); ++i) {
      if ((i & 63) == 0) work.run.tell_share(static_cast<double>(i), static_cast<double>(n));
      outcome.perturbed += rows.work(
                               i, x, [](Ordinal, Ordinal) {}, largest)
                               ? 1
                               : 0;
    }
    work.run.poll();
    outcome.largest = static_cast<double>(largest.most());
    return outcome;
  }
  const int run = ++work.done(n);
  std::atomic<std::int64_t> tickets = 0;
  const RunControl::Query query = work.run.query();
  std::vector<UpLookingLuOutcome> parts(static_cast<std::size_t>(plan.threads));
  Kokkos::parallel_for(
      "lutra::numeric::rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, plan.threads).set_chunk_size(1),
      [&](const std::int64_t thread) {
        at(parts, thread) = work_tickets(rows, plan, x + static_cast<std::size_t>(thread) * n,
                                         work.done.data(), run, query, tickets);
      });
  work.run.poll();
  for (const UpLookingLuOutcome& part : parts) {
    outcome.perturbed += part.perturbed;
    outcome.largest = std::max(outcome.largest, part.largest);
  }
  return outcome;
}

#define LUTRA_PLAN_UP_LOOKING_LU(Space)                                                              \
  template UpLookingLuPlan plan_up_looking_lu(const Space&, const LuPattern<Kokkos::HostSpace>&,     \
                                              const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, \
                                              const MemoryBudget&, int);
LUTRA_FOR_EACH_HOST_SPACE(LUTRA_PLAN_UP_LOOKING_LU)

#define LUTRA_ROW_LU_WORKSPACE(Scalar)                                                       \
  template UpLookingLuWorkspace<Scalar> make_up_looking_lu_workspace(const UpLookingLuPlan&, \
                                                                     const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR(LUTRA_ROW_LU_WORKSPACE)

#define LUTRA_FACTORIZE_ROWS(Scalar, Space)                                                                 \
  template UpLookingLuOutcome factorize_up_looking(                                                         \
      const Space&, const UpLookingLuPlan&, const Kokkos::View<const Scalar*, Kokkos::HostSpace>&,          \
      RealOf<Scalar>, const UpLookingLuWorkspace<Scalar>&, const Kokkos::View<Scalar*, Kokkos::HostSpace>&, \
      const Kokkos::View<unsigned char*, Kokkos::HostSpace>&);
LUTRA_FOR_EACH_HOST_SPACE(LUTRA_FOR_EACH_SCALAR, LUTRA_FACTORIZE_ROWS)

}  // namespace lutra
