// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSWEEPFLOW_HPP
#define LUTRA_LDLTSWEEPFLOW_HPP

#include <memory>

#include "Lutra_At.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontSources.hpp"
#include "Lutra_FrontSubstitution.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Calls worker(team, f) for each front f on a device.
template <class Plan, class Worker, class ExecutionSpace>
void sweep_all(const ExecutionSpace& exec, const Plan& plan, bool forward, const Worker& worker) {
  sweep_fronts(exec, plan.base, forward, worker);
}
/// Overload for host threads, partitioned as in factorizations: forward, one thread per subtree, then the
/// fronts above in sequence, large ones by all threads; backward in reverse.
template <class Plan, class Worker, HostExecution ExecutionSpace>
void sweep_all(const ExecutionSpace& exec, const Plan& plan, bool forward, const Worker& worker) {
  const std::vector<Front>& fronts = plan.base.layout.fronts;
  const SubtreeMapping& mapping = subtrees_of(plan);
  if (mapping.order.empty()) return sweep_fronts(exec, plan.base, forward, worker);
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Member = typename Policy::member_type;
  const auto range = [&](const Member& team, Ordinal begin, Ordinal end) {
    for (Ordinal p = 0; p < end - begin; ++p)
      worker(team, at(mapping.order, forward ? begin + p : end - 1 - p));
  };
  const auto tasks = static_cast<int>(mapping.tasks());
  const auto below = [&] {
    Kokkos::parallel_for("lutra::trisolve::sweep_subtrees", Policy(exec, tasks, 1), [&](const Member& team) {
      const int t = team.league_rank();
      range(team, at(mapping.task_begin, t), at(mapping.task_begin, t + 1));
    });
  };
  const auto above = [&] {
    constexpr int worth_sharing = 256;  // rows
    const Ordinal first = mapping.task_begin.back(), last = static_cast<Ordinal>(mapping.order.size());
    for (Ordinal k = first; k < last;) {
      const auto is_large = [&](Ordinal p) {
        return at(fronts, at(mapping.order, forward ? p : first + last - 1 - p)).size() >= worth_sharing;
      };
      Ordinal end = k + 1;
      while (!is_large(k) && end < last && !is_large(end)) ++end;
      const Ordinal begin_here = forward ? k : first + last - end, end_here = begin_here + (end - k);
      const auto sweep = [&](const Member& team) { range(team, begin_here, end_here); };
      // for this instance: concurrency() may refer to the default one
      const int all = Policy(exec, 1, 1).team_size_max(sweep, Kokkos::ParallelForTag());
      Kokkos::parallel_for("lutra::trisolve::sweep_front", Policy(exec, 1, is_large(k) ? all : 1), sweep);
      k = end;
    }
  };
  if (forward) {
    below();
    above();
  } else {
    above();
    below();
  }
}

/// Sweeps level by level, or by subtrees on host threads, by portable kernels.
template <class Scalar, class ExecutionSpace>
class LdltSweepFlow {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LdltPlan<Memory>;
  using Lists = FrontSolveLists<Memory>;

  static std::shared_ptr<const Lists> make_lists(const ExecutionSpace& exec, const Plan& plan,
                                                 const MemoryBudget& budget, const FrontSolverOptions&) {
    return std::make_shared<const Lists>(make_front_solve_lists(exec, plan.base, budget));
  }

  explicit LdltSweepFlow(const MemoryBudget&) {}
  /// Prepares a solve with `width` right-hand sides.
  template <class Factors>
  void begin(const ExecutionSpace&, const Plan&, const Factors&, int) {}
  template <class Worker>
  void sweep(const ExecutionSpace& exec, const Plan& plan, const Lists&, const Worker& worker) {
    sweep_all(exec, plan, worker.data.sweep.forward, worker);
  }
  int consume_stop(const ExecutionSpace&) { return -1; }  // no kernel waits for another
};

}  // namespace lutra::Impl

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_LdltSolveFlowCuda.hpp"
#endif

#endif
