// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSWEEPS_HPP
#define LUTRA_LDLTSWEEPS_HPP

#include <memory>
#include <utility>

#include "Lutra_Index.hpp"
#include "Lutra_LdltSolveWorker.hpp"
#include "Lutra_LdltSweepFlow.hpp"
#include "Lutra_SolveVectors.hpp"

namespace lutra::Impl {

/// Arguments of sweeps except vectors and the data that differ between sweeps.
template <class Scalar, class ExecutionSpace>
LdltSolveData<Scalar> ldlt_solve_data(
    const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontSolveLists<typename ExecutionSpace::memory_space>& lists,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const FrontSystem<Scalar, typename ExecutionSpace::memory_space>& system) {
  LdltSolveData<Scalar> data;
  set_vectors(lists, system, data);
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

/// Sweeps of an execution space; successive groups of right-hand sides reuse the same vectors.
template <class Scalar, class ExecutionSpace>
class FrontSweeps<LdltFactors<Scalar, ExecutionSpace>> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LdltPlan<Memory>;
  using Factors = LdltFactors<Scalar, ExecutionSpace>;
  using System = FrontSystem<Scalar, Memory>;
  using Data = LdltSolveData<Scalar>;
  using Flow = LdltSweepFlow<Scalar, ExecutionSpace>;
  using Lists = typename Flow::Lists;

  static std::shared_ptr<const Lists> make_lists(const ExecutionSpace& exec, const Plan& plan,
                                                 const MemoryBudget& budget,
                                                 const FrontSolverOptions& options) {
    return Flow::make_lists(exec, plan, budget, options);
  }
  FrontSweeps(const ExecutionSpace&, std::shared_ptr<const Lists> lists, const MemoryBudget& budget)
      : m_lists(std::move(lists)),
        m_kernel(best_product<RealOf<Scalar>>()),
        m_vectors(budget),
        m_flow(budget) {}

  const std::shared_ptr<const Lists>& lists() const { return m_lists; }

  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
           const LdltParts& parts) {
    Data data = ldlt_solve_data(plan, *m_lists, factors, system);
    data.kernel = &m_kernel;
    const bool has_rest = parts.diagonal || parts.upper;
    const auto sweep = [&](int column, int width) {
      if (width == 1) {
        m_flow.sweep(exec, plan, *m_lists, LdltSolveWorker<1, Scalar>{data, column});
      } else {
        m_flow.sweep(exec, plan, *m_lists, LdltSolveWorker<4, Scalar>{data, column});
      }
    };
    for (int column = 0; column < system.n_columns;) {
      const int width = system.n_columns - column == 1 ? 1 : 4;
      reserve(exec, plan, factors, width);
      data.by_slot = m_vectors[0];
      data.by_index = m_vectors[1];
      data.contributions = m_vectors[2];
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
  }

  std::int64_t consume_timeout(const ExecutionSpace& exec, const Plan& plan) {
    const int front = m_flow.consume_stop(exec);
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
      m_flow.begin(exec, plan, factors, width);
    } catch (...) {
      m_vectors.free();
      throw;
    }
  }

  std::shared_ptr<const Lists> m_lists;
  ProductKernel<RealOf<Scalar>> m_kernel;
  SolveVectors<Scalar, Memory, 3> m_vectors;  ///< see run
  Flow m_flow;
};

}  // namespace lutra::Impl

#endif
