// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTTREESOLVER_HPP
#define LUTRA_LDLTTREESOLVER_HPP

#include "Lutra_LdltSweeps.hpp"

namespace lutra {

/// Solves on hosts with L·D·Lᵀ of several matrices at once, whose trees are those of one plan
/// (Lutra_LdltMatrices.hpp). A thread takes a tree from its right-hand side to its solution, so that factors
/// that fit into its cache are read from memory once. Right-hand sides follow one another. Solutions have the
/// bits of LdltSolver for one right-hand side.
template <class Scalar, Impl::HostExecution ExecutionSpace>
class LdltTreeSolver {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LdltPlan<Memory>;
  using Factors = LdltFactors<Scalar, ExecutionSpace>;

  /// @throws OutOfMemoryError
  LdltTreeSolver(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget)
      : m_lists(Impl::make_front_solve_lists(exec, plan.base, budget)),
        m_kernel(Impl::best_product<RealOf<Scalar>>()),
        m_vectors(budget) {}

  /// @param trees  matrices of the plan
  /// @param active [columns][trees] 0: this solution is not wanted and remains as it is; null: all are
  /// @throws OutOfMemoryError; CancelledError
  void solve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
             const FrontSystem<Scalar, Memory>& system, int trees, const char* active) {
    using Data = Impl::LdltSolveData<Scalar>;
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
    using Member = typename Policy::member_type;
    m_vectors.reserve(
        exec,
        {{{"lutra::trisolve::values_by_slot", factors.room.slots},
          {"lutra::trisolve::values_by_index", plan.base.n},
          {"lutra::trisolve::contributions", static_cast<std::int64_t>(plan.base.rows.extent(0))}}},
        1, Impl::product_slack);
    Data up = Impl::ldlt_solve_data(plan, m_lists, factors, system);
    up.kernel = &m_kernel;
    up.query = m_vectors.run().query();
    up.by_slot = m_vectors[0];
    up.by_index = m_vectors[1];
    up.contributions = m_vectors[2];
    Data down = up;
    up.parts = {true, false, false};
    up.sweep = {true, false, up.conjugate};
    up.loads = true;
    down.parts = {false, true, true};
    down.sweep = {false, true, down.conjugate != down.hermitian};
    down.stores = true;
    const Ordinal fronts = plan.base.count / trees;
    for (int column = 0; column < system.n_columns; ++column) {
      m_vectors.run().poll();
      const Impl::FrontSolveWorker<1, Data> forward{up, column}, backward{down, column};
      const char* const of_column =
          active == nullptr ? nullptr
                            : active + static_cast<std::size_t>(column) * static_cast<std::size_t>(trees);
      Kokkos::parallel_for("lutra::trisolve::sweep_trees", Policy(exec, trees, 1), [&](const Member& team) {
        const int tree = team.league_rank();
        if (of_column != nullptr && of_column[tree] == 0) return;
        const Ordinal first = tree * fronts;
        for (Ordinal f = first; f < first + fronts; ++f) forward(team, f);
        for (Ordinal f = first + fronts; f-- > first;) backward(team, f);
      });
    }
    m_vectors.run().poll();
  }

 private:
  Impl::FrontSolveLists<Memory> m_lists;
  Impl::ProductKernel<RealOf<Scalar>> m_kernel;
  Impl::SolveVectors<Scalar, Memory, 3> m_vectors;
};

}  // namespace lutra

#endif
