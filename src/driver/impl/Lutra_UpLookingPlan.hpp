// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOOKINGPLAN_HPP
#define LUTRA_UPLOOKINGPLAN_HPP

#include <utility>

#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_LuTriangularSolves.hpp"
#include "Lutra_Pivots.hpp"
#include "Lutra_ScaledEntries.hpp"
#include "Lutra_UpLookingLu.hpp"

namespace lutra {

/// The simplicial engine on hosts: up-looking by rows (Lutra_UpLookingLu.hpp), solves with L and U by rows.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct UpLookingPlan final
    : FactorizationPlan<Scalar, ExecutionSpace>,
      std::enable_shared_from_this<UpLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>> {
  using Memory = typename ExecutionSpace::memory_space;

  PermutedPattern<Ordinal, Offset, Memory> F;
  UpLookingLuPlan<Ordinal, Offset> lu;
  TriangularOptions triangular;
  MemoryReservation reservation;  ///< of the pattern of F in `lu`

  FactorCounts counts() const override {
    FactorCounts result;
    result.nnz_l = static_cast<std::int64_t>(lu.rows.nnz_l);
    result.nnz_u = static_cast<std::int64_t>(lu.rows.nnz_u);
    result.flops = lu.flops;
    result.levels = static_cast<std::int64_t>(lu.level_widths.size());
    return result;
  }
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_structure(const ExecutionSpace&, FactorStructure& structure) const override {
    Impl::write_rows(lu.rows, structure);
    structure.level_widths.assign(lu.level_widths.begin(), lu.level_widths.end());
  }
};

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class UpLookingFactorization final : public Factorization<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Plan = UpLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>;
  using Values = Kokkos::View<Scalar*, Memory>;

  UpLookingFactorization(const ExecutionSpace& exec, std::shared_ptr<const Plan> plan,
                         const MemoryBudget& budget)
      : m_plan(std::move(plan)),
        m_budget(budget),
        m_solves(exec, {m_plan->lu.rows, {}, {}}, m_plan->F.row_order, m_plan->F.col_order,
                 m_plan->triangular, budget) {}

  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override {
    if (m_factors.row_values.extent(0) == 0) allocate(exec);
    m_A = A;
    const auto& F = m_factors;
    const double largest = Impl::scale_rows_of_F(exec, m_plan->F, m_plan->lu.F.row_map, A, F.scaled);
    const auto threshold = static_cast<RealOf<Scalar>>(perturbation * (largest > 0 ? largest : 1.0));
    const auto outcome = factorize_up_looking<Scalar>(exec, m_plan->lu, F.scaled, threshold, F.workspace,
                                                      F.row_values, F.perturbed);
    update_solves(exec);
    return {outcome.perturbed, std::nullopt, largest, outcome.largest};
  }
  /// Brings the factors to where `apply` reads them.
  void update_solves(const ExecutionSpace& exec) { m_solves.set_values(exec, m_factors.row_values, {}); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    m_solves.solve(exec, op, m_A.row_scale, m_A.col_scale, B, X);
  }
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override {
    return Impl::list_pivots(exec, m_plan->F, m_factors.perturbed);
  }
  SolveMethod solve_method() const override {
    return {name_of(m_solves.upper_report().method), "solves: " + m_solves.upper_report().why};
  }
  std::int64_t consume_timeout(const ExecutionSpace& exec) override { return m_solves.consume_timeout(exec); }

  const Plan& plan() const { return *m_plan; }
  /// What a factorization works in and leaves.
  struct Factors {
    Values scaled;                                   ///< [nnz(A)] the scaled matrix by rows of F
    Values row_values;                               ///< [nnz(L + U)] by rows
    Kokkos::View<unsigned char*, Memory> perturbed;  ///< [n] 1 where the pivot was perturbed
    UpLookingLuWorkspace<Scalar> workspace;
    MemoryReservation reservation;
  };
  const Factors& factors() const { return m_factors; }

 private:
  void allocate(const ExecutionSpace& exec) {
    Factors fresh;  // nothing has changed where memory runs out
    fresh.reservation = MemoryReservation(m_budget);
    fresh.workspace = make_up_looking_lu_workspace<Scalar>(m_plan->lu, m_budget);
    const auto& lu = m_plan->lu;
    const auto values = [&](const char* label, std::size_t size) {
      return fresh.reservation.template allocate<Values>(exec, label, size);
    };
    fresh.scaled = values("lutra::driver::F_values", lu.F.entries.extent(0));
    fresh.row_values = values("lutra::numeric::values by rows", lu.rows.entries.extent(0));
    fresh.perturbed = fresh.reservation.template allocate<Kokkos::View<unsigned char*, Memory>>(
        exec, "lutra::numeric::perturbed", static_cast<std::size_t>(lu.n()));
    m_factors = fresh;
  }

  std::shared_ptr<const Plan> m_plan;
  MemoryBudget m_budget;
  Impl::LuTriangularSolves<Scalar, Ordinal, Offset, ExecutionSpace> m_solves;
  ScaledValues<Scalar, Memory> m_A;  ///< of the last factorization; `apply` reads its scales
  Factors m_factors;
};

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::unique_ptr<Factorization<Scalar, ExecutionSpace>>
UpLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>::make_factorization(const ExecutionSpace& exec,
                                                                           const MemoryBudget& budget) const {
  return std::make_unique<UpLookingFactorization<Scalar, Ordinal, Offset, ExecutionSpace>>(
      exec, this->shared_from_this(), budget);
}

}  // namespace lutra

#endif
