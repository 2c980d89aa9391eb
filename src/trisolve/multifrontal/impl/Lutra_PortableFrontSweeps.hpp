// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PORTABLEFRONTSWEEPS_HPP
#define LUTRA_PORTABLEFRONTSWEEPS_HPP

#include <memory>
#include <utility>

#include "Lutra_FrontSolveWorker.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontSources.hpp"
#include "Lutra_SolveVectors.hpp"

namespace lutra::Impl {

/// Arguments of sweeps except vectors and what differs between sweeps.
template <class Scalar, class ExecutionSpace>
LuSolveData<Scalar> front_solve_data(
    const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontSolveLists<typename ExecutionSpace::memory_space>& lists,
    const FrontFactors<Scalar, ExecutionSpace>& factors,
    const FrontSystem<Scalar, typename ExecutionSpace::memory_space>& system) {
  LuSolveData<Scalar> data;
  set_vectors(plan, lists, factors, system, data);
  data.panels_begin = plan.panels.data();
  data.n = static_cast<std::int64_t>(plan.n);
  data.n_contributions = static_cast<std::int64_t>(plan.rows.extent(0));
  data.sweep.transposed = system.transposition != Transposition::none;
  data.sweep.conjugate = system.transposition == Transposition::adjoint;
  return data;
}

/// Sweeps by portable kernels; successive groups of right-hand sides reuse the same vectors.
template <class Scalar, class ExecutionSpace>
class PortableFrontSweeps {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LuPlan<Memory>;
  using Data = LuSolveData<Scalar>;
  using Factors = FrontFactors<Scalar, ExecutionSpace>;
  using System = FrontSystem<Scalar, Memory>;
  using Lists = FrontSolveLists<Memory>;

  static std::shared_ptr<const Lists> make_lists(const ExecutionSpace& exec, const Plan& plan,
                                                 const MemoryBudget& budget, const FrontSolverOptions&) {
    return std::make_shared<const Lists>(make_front_solve_lists(exec, plan, budget));
  }
  PortableFrontSweeps(const ExecutionSpace&, std::shared_ptr<const Lists> lists, const MemoryBudget& budget)
      : m_lists(std::move(lists)), m_vectors(budget) {}

  const std::shared_ptr<const Lists>& lists() const { return m_lists; }

  /// @param factors of whole fronts: no interchanges within tiles
  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
           const LuParts& = {}) {
    const Ordinal* const row_of_pivot = factors.row_of_pivot().data();
    const Ordinal* const column_of_pivot = factors.column_of_pivot().data();
    auto data = front_solve_data(plan, *m_lists, factors, system);
    for (int column = 0; column < data.n_columns;) {
      const int width = data.n_columns - column == 1 ? 1 : 4;
      m_vectors.reserve(exec,
                        {{{"lutra::trisolve::solved", data.n},
                          {"lutra::trisolve::contributions", data.n_contributions},
                          {"lutra::trisolve::solution", row_of_pivot != nullptr ? data.n : 0}}},
                        width);
      data.solved = m_vectors[0];
      data.contributions = m_vectors[1];
      data.by_index = row_of_pivot != nullptr ? m_vectors[2] : data.solved;
      for (const bool forward : {true, false}) {
        data.sweep.forward = forward;
        data.order_of_pivots = data.sweep.unit() ? row_of_pivot : column_of_pivot;
        if (width == 1) {
          sweep_fronts(exec, plan, forward, FrontSolveWorker<1, Data>{data, column});
        } else {
          sweep_fronts(exec, plan, forward, FrontSolveWorker<4, Data>{data, column});
        }
      }
      column += width;
    }
  }
  /// No kernel waits for another.
  std::int64_t consume_timeout(const ExecutionSpace&, const Plan&) { return -1; }

 private:
  std::shared_ptr<const Lists> m_lists;
  SolveVectors<Scalar, Memory, 3> m_vectors;  ///< see run
};

/// Execution spaces without specialized kernels.
template <class Scalar, class ExecutionSpace>
class FrontSweeps<FrontFactors<Scalar, ExecutionSpace>> : public PortableFrontSweeps<Scalar, ExecutionSpace> {
 public:
  using PortableFrontSweeps<Scalar, ExecutionSpace>::PortableFrontSweeps;
};

}  // namespace lutra::Impl

#endif
