// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFOREST_HPP
#define LUTRA_LDLTFOREST_HPP

#include <optional>

#include "Lutra_FrontForest.hpp"
#include "Lutra_LdltMatrices.hpp"
#include "Lutra_LdltTreeSolver.hpp"

namespace lutra::Impl {

/// LDLᵀ or Cholesky of a forest. Each system has its own threshold pivots, of order one and two, and delays
/// its own columns; tolerances are relative to its own largest entry.
///
/// Fronts begin with little room for delayed columns. If those of some systems do not fit, the fronts
/// concerned and their ancestors get `most_room` times the room, once and for all, and all systems are
/// factorized again. Since only these fronts had stopped, no second repetition is needed. A system that needs
/// more leaves the batch, as does one for which memory does not suffice. Otherwise, whether a system leaves
/// depends on its own values alone.
template <class Scalar, class ExecutionSpace>
class LdltForest final : public FrontForest<Scalar, ExecutionSpace> {
 public:
  using Base = FrontForest<Scalar, ExecutionSpace>;
  using typename Base::Memory, typename Base::RealScales;

  static constexpr int least_room = 8;  ///< columns that any front takes from its children at first
  static constexpr int most_room = 16;

  LdltForest(const ExecutionSpace& exec, const ForestPattern& all, const LdltOptions& options,
             std::size_t slots, const RealScales& row_scale, const RealScales& col_scale,
             const MemoryBudget& budget);
  void factorize(const ExecutionSpace& exec, double perturbation, std::span<SlotFindings> found) override;
  std::size_t bytes_of_solves(std::size_t columns) const override;

  /// Outcomes of all slots in the last factorization, and their largest entries. Fences.
  std::vector<LdltMatrixOutcome> outcomes(const ExecutionSpace& exec) const;

  /// Options of a plan with these options.
  static LdltPlanOptions plan_options(const LdltOptions& options);

 private:
  using typename Base::System;

  /// Unused on devices.
  struct NoTreeSolver {};
  template <class Space>
  struct TreeSolverOf {
    using Type = NoTreeSolver;
  };
  template <HostExecution Space>
  struct TreeSolverOf<Space> {
    using Type = LdltTreeSolver<Scalar, Space>;
  };
  using TreeSolver = typename TreeSolverOf<ExecutionSpace>::Type;

  LdltOutcome run(const ExecutionSpace& exec);
  bool enlarge(const ExecutionSpace& exec);
  std::vector<int> wanted_room(const ExecutionSpace& exec) const;
  void inspect(const ExecutionSpace& exec, double perturbation, std::span<SlotFindings> found) const;
  void solve_system(const ExecutionSpace& exec, const System& system, const char* active) override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override;

  MemoryReservation m_keep;
  LdltPivotRule m_rule;
  LdltPlan<Memory> m_plan;
  LdltFactors<Scalar, ExecutionSpace> m_factors;
  std::optional<LdltSolver<Scalar, ExecutionSpace>> m_solver;  ///< empty if there is m_trees
  std::optional<TreeSolver> m_trees;                           ///< on hosts with as many systems as threads
  Kokkos::View<double*, Memory> m_largest;                     ///< [slots] entry of the scaled matrix
  Kokkos::View<LdltMatrixOutcome*, Memory> m_outcomes;         ///< [slots]
};

}  // namespace lutra::Impl

#endif
