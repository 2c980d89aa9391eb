// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGPLAN_HPP
#define LUTRA_RIGHTLOOKINGPLAN_HPP

#include <utility>

#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_LuTriangularSolves.hpp"
#include "Lutra_Pivots.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_ScaledEntries.hpp"

namespace lutra {

/// The simplicial engine on devices: right-looking by columns (Lutra_RightLookingLu.hpp), solves with L and U
/// by rows.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct RightLookingPlan final
    : FactorizationPlan<Scalar, ExecutionSpace>,
      std::enable_shared_from_this<RightLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>> {
  using Memory = typename ExecutionSpace::memory_space;

  PermutedPattern<Ordinal, Offset, Memory> F;
  RightLookingLuPlan<Ordinal, Offset, Memory> lu;
  Kokkos::View<const Offset*, Memory> target;  ///< [nnz(A)] position by columns of L + U of each entry of A
  TriangularOptions triangular;
  MemoryReservation reservation;

  FactorCounts counts() const override {
    FactorCounts result;
    result.nnz_l = static_cast<std::int64_t>(lu.rows.nnz_l);
    result.nnz_u = static_cast<std::int64_t>(lu.rows.nnz_u);
    result.flops = lu.flops;
    result.levels = static_cast<std::int64_t>(lu.levels.size());
    return result;
  }
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_structure(const ExecutionSpace&, FactorStructure& structure) const override {
    Impl::write_rows(lu.rows, structure);
    const auto& begin = lu.levels.level_map;
    for (std::size_t l = 0; l + 1 < begin.size(); ++l)
      structure.level_widths.push_back(static_cast<std::int64_t>(begin[l + 1] - begin[l]));
  }
};

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class RightLookingFactorization final : public Factorization<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Plan = RightLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>;
  using Values = Kokkos::View<Scalar*, Memory>;

  RightLookingFactorization(const ExecutionSpace& exec, std::shared_ptr<const Plan> plan,
                            const MemoryBudget& budget)
      : m_plan(std::move(plan)),
        m_budget(budget),
        m_solves(exec, {m_plan->lu.rows, m_plan->lu.columns.pattern, m_plan->lu.column_diagonal},
                 m_plan->F.row_order, m_plan->F.col_order, m_plan->triangular, budget),
        m_workspace(make_right_looking_lu_workspace(exec, m_plan->lu, budget)) {}

  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override {
    if (m_factors.row_values.extent(0) == 0) allocate(exec);
    m_A = A;
    const auto& F = m_factors;
    const double largest = Impl::scatter_scaled(exec, m_plan->F.A, m_plan->target, A, F.column_values);
    const auto threshold = static_cast<RealOf<Scalar>>(perturbation * (largest > 0 ? largest : 1.0));
    const auto outcome = factorize_right_looking<Scalar>(exec, m_plan->lu, m_workspace, F.column_values,
                                                         threshold, F.perturbed);
    update_solves(exec);
    return {outcome.perturbed, std::nullopt, largest, outcome.largest};
  }
  /// Brings the factors to where `apply` reads them. Does not fence.
  void update_solves(const ExecutionSpace& exec) {
    const auto& F = m_factors;
    Impl::copy_by_source(exec, m_plan->lu.row_to_column, F.column_values, F.row_values);
    m_solves.set_values(exec, F.row_values, F.column_values);
  }
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
    Values column_values;                            ///< [nnz(L + U)] by columns
    Values row_values;                               ///< [nnz(L + U)] by rows
    Kokkos::View<unsigned char*, Memory> perturbed;  ///< [n] 1 where the pivot was perturbed
    MemoryReservation reservation;
  };
  const Factors& factors() const { return m_factors; }

 private:
  void allocate(const ExecutionSpace& exec) {
    Factors fresh;  // nothing has changed where memory runs out
    fresh.reservation = MemoryReservation(m_budget);
    const std::size_t nnz = m_plan->lu.rows.entries.extent(0);
    const auto values = [&](const char* label) {
      return fresh.reservation.template allocate<Values>(exec, label, nnz);
    };
    fresh.column_values = values("lutra::numeric::values by columns");
    fresh.row_values = values("lutra::numeric::values by rows");
    fresh.perturbed = fresh.reservation.template allocate<Kokkos::View<unsigned char*, Memory>>(
        exec, "lutra::numeric::perturbed", static_cast<std::size_t>(m_plan->lu.n()));
    m_factors = fresh;
  }

  std::shared_ptr<const Plan> m_plan;
  MemoryBudget m_budget;
  Impl::LuTriangularSolves<Scalar, Ordinal, Offset, ExecutionSpace> m_solves;
  ScaledValues<Scalar, Memory> m_A;  ///< of the last factorization; `apply` reads its scales
  Factors m_factors;
  RightLookingLuWorkspace<Memory> m_workspace;  ///< flags of the kernels
};

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::unique_ptr<Factorization<Scalar, ExecutionSpace>>
RightLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>::make_factorization(
    const ExecutionSpace& exec, const MemoryBudget& budget) const {
  return std::make_unique<RightLookingFactorization<Scalar, Ordinal, Offset, ExecutionSpace>>(
      exec, this->shared_from_this(), budget);
}

}  // namespace lutra

#endif
