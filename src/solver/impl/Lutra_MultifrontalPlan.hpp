// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MULTIFRONTALPLAN_HPP
#define LUTRA_MULTIFRONTALPLAN_HPP

#include <optional>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_Border.hpp"
#include "Lutra_FactorValues.hpp"
#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_LuTriangles.hpp"

namespace lutra {

/// The multifrontal engine on one pattern: Duff and Reid's method (Lutra_FrontLu.hpp), and solves either on
/// the panels of the fronts or with L and U by rows, gathered from the panels. Both are prototypes, of which
/// factorizations have their own.
template <class Scalar, class ExecutionSpace>
struct MultifrontalPlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;
  using Solver = FrontSolver<Scalar, ExecutionSpace>;
  using Solves = Impl::LuTriangles<Scalar, ExecutionSpace>;

  PermutedPattern<Memory> F;
  LuPlan<Memory> fronts;
  std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>> schedule;
  std::shared_ptr<const Impl::Border<Scalar, ExecutionSpace>> border;  ///< of F; or none
  double pivot_threshold = 0;                        ///< of threshold pivoting; 0: static pivoting
  std::optional<Solver> on_fronts;                   ///< solves on the panels; or else …
  std::optional<Solves> by_rows;                     ///< … with L and U by rows
  Kokkos::View<const Offset*, Memory> panel_source;  ///< [nnz(L + U)] where entries by rows are in the panels

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override;
};

/// Factors in fronts: the panels, and what factorizations and solves work in.
template <class Scalar, class ExecutionSpace>
class MultifrontalFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                        public WritableFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Plan = MultifrontalPlan<Scalar, ExecutionSpace>;
  using Fronts = FrontFactors<Scalar, ExecutionSpace>;

  MultifrontalFactorization(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget);
  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override;
  std::int64_t size() const override {
    return m_plan.border ? -1 : static_cast<std::int64_t>(m_plan.F.A.n_rows);
  }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override;
  FactorValues<Scalar> write_out(const ExecutionSpace& exec) const override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override;
  /// Brings the factors to where `apply` reads them, and their largest magnitude into `fronts().outcome`.
  /// Does not fence on devices.
  void update_solves(const ExecutionSpace& exec);

  const Plan& plan() const { return m_plan; }
  const Fronts& fronts() const { return m_fronts; }
  const Kokkos::View<unsigned char*, Memory>& perturbed() const { return m_perturbed; }

 private:
  void allocate(const ExecutionSpace& exec);

  const Plan& m_plan;
  MemoryBudget m_budget;
  Fronts m_fronts;
  std::optional<typename Plan::Solver> m_on_fronts;  ///< of these two, as in the plan, …
  std::optional<typename Plan::Solves> m_by_rows;    ///< … one solves
  ScaledValues<Scalar, Memory> m_A;                  ///< of the last factorization; `apply` reads its scales
  Kokkos::View<Scalar*, Memory> m_row_values;        ///< [nnz(L + U)] for solves by rows
  Kokkos::View<unsigned char*, Memory> m_perturbed;  ///< [n] 1 where the pivot was perturbed
  /// Copy of `fronts().outcome`, which the device can write to.
  Kokkos::View<FrontLuOutcome, typename Impl::AsyncResult<FrontLuOutcome, ExecutionSpace>::HostMemory>
      m_outcome;
  MemoryReservation m_reservation;
  Impl::BorderWorkspace<Scalar, ExecutionSpace> m_bordered;
};

/// Whether solves read the panels of the fronts, or L and U by rows.
bool solves_on_fronts(const LuOptions& options);

/// Plans fronts, and solves with them.
/// @param tree     of F, whose orders follow it
/// @param on_host  F with its pattern and orders on the host
/// @param symmetry as of make_front_schedule
/// @param border   with which F ends, and the tree; or none
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_multifrontal(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& on_host, const LuOptions& options,
    const MemoryBudget& budget, const std::optional<Symmetry>& symmetry = {},
    const std::shared_ptr<const Impl::Border<Scalar, ExecutionSpace>>& border = {});

}  // namespace lutra

#endif
