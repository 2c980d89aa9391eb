// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSWEEPS_HPP
#define LUTRA_LDLTSWEEPS_HPP

#include <memory>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontSolveWorker.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontSources.hpp"
#include "Lutra_FrontSubstitution.hpp"
#include "Lutra_HostThreads.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SolveVectors.hpp"

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
      if (worker.data.query.must_stop()) return;
      const Ordinal begin_here = forward ? k : first + last - end, end_here = begin_here + (end - k);
      const auto sweep = [&](const Member& team) { range(team, begin_here, end_here); };
      const int threads = is_large(k) ? largest_team_of(exec) : 1;
      Kokkos::parallel_for("lutra::trisolve::sweep_front", Policy(exec, 1, threads), sweep);
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

/// Arguments of sweeps except vectors and the data that differ between sweeps.
template <class Scalar, class ExecutionSpace>
LdltSolveData<Scalar> ldlt_solve_data(
    const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontSolveLists<typename ExecutionSpace::memory_space>& lists,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const FrontSystem<Scalar, typename ExecutionSpace::memory_space>& system) {
  LdltSolveData<Scalar> data;
  set_vectors(plan.base, lists, factors, system, data);
  data.room = factors.room.fronts.data();
  data.records = factors.records.data();
  data.variables = factors.variables.data();
  data.diagonal = factors.diagonal.data();
  data.off_diagonal = factors.off_diagonal.data();
  data.kind = factors.kind.data();
  data.hermitian = factors.symmetry == Symmetry::hermitian;
  data.conjugate =
      system.transposition == (data.hermitian ? Transposition::transposed : Transposition::adjoint);
  return data;
}

/// Sweeps of an execution space; successive groups of right-hand sides reuse the same vectors.
template <class Scalar, class ExecutionSpace>
class FrontSweeps<LdltFactors<Scalar, ExecutionSpace>> : LdltSweepFlow<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LdltPlan<Memory>;
  using Factors = LdltFactors<Scalar, ExecutionSpace>;
  using System = FrontSystem<Scalar, Memory>;
  using Data = LdltSolveData<Scalar>;
  using Flow = LdltSweepFlow<Scalar, ExecutionSpace>;
  using Lists = typename Flow::Lists;
  using Flow::make_lists;

  FrontSweeps(const ExecutionSpace&, std::shared_ptr<const Lists> lists, const MemoryBudget& budget)
      : Flow(budget),
        m_lists(std::move(lists)),
        m_kernel(best_product<RealOf<Scalar>>()),
        m_vectors(budget) {}

  const std::shared_ptr<const Lists>& lists() const { return m_lists; }
  /// Bytes of the vectors of `run`, with the plan's own storage of factors.
  std::size_t predict_bytes(const Plan& plan, bool, int n_columns) const {
    const std::size_t values = static_cast<std::size_t>(plan.room.slots) +
                               static_cast<std::size_t>(plan.base.n) + plan.base.rows.extent(0);
    return (values * (n_columns == 1 ? 1 : 4) + 3 * product_slack) * sizeof(Scalar);
  }

  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
           const LdltParts& parts) {
    Data data = ldlt_solve_data(plan, *m_lists, factors, system);
    data.kernel = &m_kernel;
    data.query = m_vectors.run().query();
    const bool has_rest = parts.diagonal || parts.upper;
    const auto sweep = [&](int column, int width) {
      if (width == 1) {
        Flow::sweep(exec, plan, *m_lists, FrontSolveWorker<1, Data>{data, column});
      } else {
        Flow::sweep(exec, plan, *m_lists, FrontSolveWorker<4, Data>{data, column});
      }
    };
    for (int column = 0; column < system.n_columns;) {
      const int width = system.n_columns - column == 1 ? 1 : 4;
      reserve(exec, plan, factors, width);
      data.by_slot = m_vectors[0];
      data.by_index = m_vectors[1];
      data.contributions = m_vectors[2];
      m_vectors.run().poll();
      if (parts.lower) {
        data.parts = {true, false, false};
        data.sweep = {true, false, data.conjugate};
        data.loads = true;
        data.stores = !has_rest;
        sweep(column, width);
      }
      if (has_rest) {
        data.parts = {false, parts.diagonal, parts.upper};
        data.sweep = {false, true, data.conjugate != data.hermitian};
        data.loads = !parts.lower;
        data.stores = true;
        sweep(column, width);
      }
      column += width;
    }
    m_vectors.run().poll();
  }

  std::int64_t consume_timeout(const ExecutionSpace& exec, const Plan& plan) {
    const int front = Flow::consume_stop(exec);
    return front < 0 ? -1 : static_cast<std::int64_t>(at(plan.base.layout.fronts, front).first_pivot);
  }

 private:
  /// If memory runs out, the solver is left without vectors.
  void reserve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, int width) {
    m_vectors.reserve(
        exec,
        {{{"lutra::trisolve::values_by_slot", factors.room.slots},
          {"lutra::trisolve::values_by_index", plan.base.n},
          {"lutra::trisolve::contributions", static_cast<std::int64_t>(plan.base.rows.extent(0))}}},
        width, product_slack);
    try {
      Flow::begin(exec, plan, factors, width);
    } catch (...) {
      m_vectors.free();
      throw;
    }
  }

  std::shared_ptr<const Lists> m_lists;
  ProductKernel<RealOf<Scalar>> m_kernel;
  SolveVectors<Scalar, Memory, 3> m_vectors;  ///< see run
};

}  // namespace lutra::Impl

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_LdltSolveFlowCuda.hpp"
#endif

#endif
