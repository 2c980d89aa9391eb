// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSWEEPS_HPP
#define LUTRA_LDLTSWEEPS_HPP

#include <memory>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltSolveFlow.hpp"
#include "Lutra_LdltSolveWorker.hpp"
#include "Lutra_LdltSolver.hpp"
#include "Lutra_PortableFrontSweeps.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_LdltSolveFlowCuda.hpp"
#endif

namespace lutra::Impl {

/// Calls worker.sweep(team, f) for each front f on host threads, partitioned as in factorizations: forward,
/// one thread per subtree, then the fronts above in sequence, large ones by all threads; backward in reverse.
template <class Worker, class ExecutionSpace>
static void sweep_subtrees(const ExecutionSpace& exec, const std::vector<Front>& fronts,
                           const SubtreeMapping& mapping, bool forward, const Worker& worker) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Member = typename Policy::member_type;
  const auto range = [&](const Member& team, Ordinal begin, Ordinal end) {
    for (Ordinal p = 0; p < end - begin; ++p)
      worker.sweep(team, at(mapping.order, forward ? begin + p : end - 1 - p));
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

/// Arguments of sweeps except vectors and the data that differ between sweeps.
template <class Scalar, class ExecutionSpace>
LdltSolveData<Scalar> ldlt_solve_data(
    const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontSolveLists<typename ExecutionSpace::memory_space>& lists,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const FrontSystem<Scalar, typename ExecutionSpace::memory_space>& system) {
  LdltSolveData<Scalar> data;
  data.source_begin = lists.source_begin.data();
  data.source = lists.source.data();
  data.in = system.in;
  data.out = system.out;
  data.in_row = system.in_row.data();
  data.out_row = system.out_row.data();
  data.n_columns = system.n_columns;
  data.fronts = plan.base.fronts.data();
  data.room = factors.room.fronts.data();
  data.records = factors.records.data();
  data.rows = plan.base.rows.data();
  data.panels = factors.panels.data();
  data.variables = factors.variables.data();
  data.diagonal = factors.diagonal.data();
  data.off_diagonal = factors.off_diagonal.data();
  data.kind = factors.kind.data();
  data.hermitian = factors.symmetry == Symmetry::hermitian;
  data.conjugate =
      system.transposition == (data.hermitian ? Transposition::transposed : Transposition::adjoint);
  return data;
}

/// Data of a plan that sweeps read.
template <class Memory>
struct LdltSolveLists : FrontSolveLists<Memory> {
  Kokkos::View<const LdltSolveTask*, Memory> small, large;  ///< tasks of data flow, if the space has it
  double watchdog_seconds = 10;                             ///< for data flow
};

/// Sweeps of an execution space; successive groups of right-hand sides reuse the same vectors.
template <class Scalar, class ExecutionSpace>
class LdltSweeps {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LdltPlan<Memory>;
  using Factors = LdltFactors<Scalar, ExecutionSpace>;
  using System = FrontSystem<Scalar, Memory>;
  using Data = LdltSolveData<Scalar>;
  using Flow = LdltSweepFlow<Scalar, ExecutionSpace>;
  static constexpr bool has_flow = Flow::edge > 0;
  using Lists = LdltSolveLists<Memory>;

  static std::shared_ptr<const Lists> make_lists(const ExecutionSpace& exec, const Plan& plan,
                                                 const MemoryBudget& budget, double watchdog_seconds) {
    auto lists = std::make_shared<Lists>();
    lists->watchdog_seconds = watchdog_seconds;
    static_cast<FrontSolveLists<Memory>&>(*lists) = make_front_solve_lists(exec, plan.base, budget);
    if constexpr (has_flow) {
      const LdltSolveTasks tasks(plan.base.layout.fronts, Flow::edge, Flow::blocks(exec));
      lists->small = upload(exec, lists->reservation, "lutra::trisolve::ldlt_small_tasks", tasks.small);
      lists->large = upload(exec, lists->reservation, "lutra::trisolve::ldlt_tasks", tasks.large);
    }
    return lists;
  }

  LdltSweeps(std::shared_ptr<const Lists> lists, const MemoryBudget& budget)
      : m_lists(std::move(lists)), m_budget(budget), m_kernel(best_product<RealOf<Scalar>>()) {}

  const std::shared_ptr<const Lists>& lists() const { return m_lists; }

  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
           const LdltParts& parts) {
    Data data = ldlt_solve_data(plan, *m_lists, factors, system);
    data.kernel = &m_kernel;
    const bool has_rest = parts.diagonal || parts.upper;
    for (int column = 0; column < system.n_columns;) {
      const int width = system.n_columns - column == 1 ? 1 : 4;
      reserve(exec, plan, factors, width);
      if constexpr (has_flow) m_flow.begin(exec);
      data.by_slot = m_by_slot.data();
      data.by_index = m_by_index.data();
      data.contributions = m_contributions.data();
      if (parts.lower) {
        data.parts = {true, false, false};
        data.sweep = {true, false, data.conjugate};
        data.loads = true;
        data.stores = !has_rest;
        sweep(exec, plan, data, column, width);
      }
      if (has_rest) {
        data.parts = {false, parts.diagonal, parts.upper};
        data.sweep = {false, true, data.conjugate != data.hermitian};
        data.loads = !parts.lower;
        data.stores = true;
        if (has_flow && data.loads) load(exec, plan, data, column, width);
        sweep(exec, plan, data, column, width);
      }
      column += width;
    }
  }

  /// The front at which the watchdog has ended a sweep since the last call, or −1. Fences on devices.
  int consume_stop([[maybe_unused]] const ExecutionSpace& exec) {
    if constexpr (has_flow) return m_flow.consume_stop(exec);
    return -1;
  }

 private:
  /// Loads right-hand sides into slots by the portable kernels, before data-flow sweeps.
  void load(const ExecutionSpace& exec, const Plan& plan, Data& data, int column, int width) {
    Data loading = data;
    loading.parts = {false, false, false};
    loading.stores = false;
    if (width == 1) {
      sweep_all(exec, plan, true, LdltSolveWorker<1, Scalar>{loading, column});
    } else {
      sweep_all(exec, plan, true, LdltSolveWorker<4, Scalar>{loading, column});
    }
    data.loads = false;
  }
  void sweep(const ExecutionSpace& exec, const Plan& plan, const Data& data, int column, int width) {
    if (width == 1) {
      sweep_with(exec, plan, LdltSolveWorker<1, Scalar>{data, column});
    } else {
      sweep_with(exec, plan, LdltSolveWorker<4, Scalar>{data, column});
    }
  }
  template <class Worker>
  void sweep_with(const ExecutionSpace& exec, const Plan& plan, const Worker& worker) {
    if constexpr (has_flow) {
      m_flow.sweep(exec, plan, *m_lists, worker);
    } else {
      sweep_all(exec, plan, worker.data.sweep.forward, worker);
    }
  }
  template <class Worker>
  static void sweep_all(const ExecutionSpace& exec, const Plan& plan, bool forward, const Worker& worker) {
    if constexpr (is_host_space<ExecutionSpace>) {
      const SubtreeMapping& mapping = subtrees_of(plan);
      if (!mapping.order.empty())
        return sweep_subtrees(exec, plan.base.layout.fronts, mapping, forward, worker);
    }
    sweep_fronts(exec, plan.base, forward, worker);
  }

  /// Allocates vectors. They hold no values between solves, so a failed allocation leaves the solver without
  /// them.
  void reserve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, int width) {
    if (width <= m_width && factors.room.slots <= m_slots) return;
    exec.fence("lutra::trisolve: the smaller vectors are freed");
    const int new_width = width > m_width ? width : m_width;
    free_vectors();
    MemoryReservation fresh(m_budget);
    const auto allocate = [&](const char* label, std::int64_t size) {
      return fresh.template allocate<Vector>(exec, label,
                                             static_cast<std::size_t>(size * new_width + product_slack));
    };
    const Vector by_slot = allocate("lutra::trisolve::values_by_slot", factors.room.slots);
    const Vector by_index = allocate("lutra::trisolve::values_by_index", plan.base.n);
    const Vector contributions =
        allocate("lutra::trisolve::contributions", static_cast<std::int64_t>(plan.base.rows.extent(0)));
    if constexpr (has_flow) m_flow.reserve(exec, plan, factors, fresh, new_width);
    m_by_slot = by_slot;
    m_by_index = by_index;
    m_contributions = contributions;
    m_vectors = fresh;
    m_slots = factors.room.slots;
    m_width = new_width;
  }

  void free_vectors() {
    m_by_slot = m_by_index = m_contributions = {};
    if constexpr (has_flow) m_flow.free();
    m_vectors = {};
    m_slots = 0;
    m_width = 0;
  }

  using Vector = Kokkos::View<Scalar*, Memory>;
  std::shared_ptr<const Lists> m_lists;
  MemoryBudget m_budget;
  ProductKernel<RealOf<Scalar>> m_kernel;
  MemoryReservation m_vectors;
  Vector m_by_slot, m_by_index, m_contributions;
  Flow m_flow;
  Offset m_slots = 0;  ///< slots allocated
  int m_width = 0;     ///< values per slot allocated
};

}  // namespace lutra::Impl

#endif
