// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SIMPLICIALPLAN_HPP
#define LUTRA_SIMPLICIALPLAN_HPP

#include <optional>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_LuTriangles.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_RightLookingEngine.hpp"
#include "Lutra_SupernodalEngine.hpp"
#include "Lutra_UpLookingEngine.hpp"

namespace lutra {

/// Engine of the simplicial factorization: right-looking on devices, up-looking on hosts.
template <class Scalar, class ExecutionSpace>
struct SimplicialEngine : Impl::RightLookingEngine<Scalar, ExecutionSpace> {};
template <class Scalar, Impl::HostExecution ExecutionSpace>
struct SimplicialEngine<Scalar, ExecutionSpace> : Impl::UpLookingEngine<Scalar, ExecutionSpace> {};

/// Factors of the simplicial engine, or of Impl::SupernodalEngine. L + U is stored by rows for the solves.
template <class Scalar, class ExecutionSpace, class EngineType = SimplicialEngine<Scalar, ExecutionSpace>>
class SimplicialFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                      public WritableFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Engine = EngineType;
  using Solves = Impl::LuTriangles<Scalar, ExecutionSpace>;

  SimplicialFactorization(const ExecutionSpace& exec, const typename Engine::Plan& plan,
                          const Solves& prototype, const MemoryBudget& budget)
      : m_plan(plan), m_budget(budget), m_solves(prototype.with_own_values(exec, budget)) {}

  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override {
    if (m_factors.row_values.extent(0) == 0) allocate(exec);
    m_A = A;
    const auto outcome = Engine::factorize(exec, m_plan, A, perturbation, m_factors);
    update_solves(exec);
    return outcome;
  }
  /// Prepares the factors for `apply`. Does not fence on devices.
  void update_solves(const ExecutionSpace& exec) {
    Engine::update_rows(exec, m_plan, m_factors);
    m_solves.set_values(exec, m_factors.row_values);
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(m_plan.lu.rows.n); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    m_solves.solve(exec, op, m_A.row_scale, m_A.col_scale, B, X);
  }
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override {
    return Impl::list_pivots(exec, m_plan.F, m_factors.perturbed, decltype(m_plan.F.row_order)());
  }
  FactorValues<Scalar> write_out(const ExecutionSpace& exec) const override {
    auto factors = Impl::start_factor_values(exec, pivots(exec), m_A);
    Impl::write_entries(exec, m_plan.lu.rows, Impl::to_host(exec, m_factors.row_values), factors);
    return factors;
  }
  std::int64_t consume_timeout(const ExecutionSpace& exec) override { return m_solves.consume_timeout(exec); }

  const typename Engine::Plan& plan() const { return m_plan; }
  typename Engine::Factors& factors() { return m_factors; }

 private:
  void allocate(const ExecutionSpace& exec) {
    typename Engine::Factors fresh;  // the members stay unchanged if memory runs out
    fresh.reservation = MemoryReservation(m_budget);
    const auto& rows = m_plan.lu.rows;
    fresh.row_values = fresh.reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
        exec, "lutra::numeric::values by rows", rows.entries.extent(0));
    fresh.perturbed = fresh.reservation.template allocate<Kokkos::View<unsigned char*, Memory>>(
        exec, "lutra::numeric::perturbed", static_cast<std::size_t>(rows.n));
    Engine::allocate(exec, m_plan, m_budget, fresh);
    m_factors = fresh;
  }

  const typename Engine::Plan& m_plan;
  MemoryBudget m_budget;
  Solves m_solves;
  ScaledValues<Scalar, Memory> m_A;  ///< values of the last factorization; `apply` reads their scales
  typename Engine::Factors m_factors;
};

/// Plan of the engine, and the prototype of solves with L and U by rows.
template <class Scalar, class ExecutionSpace, class Engine = SimplicialEngine<Scalar, ExecutionSpace>>
struct SimplicialPlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Numeric = SimplicialFactorization<Scalar, ExecutionSpace, Engine>;

  typename Numeric::Engine::Plan lu;
  std::optional<typename Numeric::Solves> solves;

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override {
    return std::make_unique<Numeric>(exec, lu, *solves, budget);
  }
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override {
    Impl::write_rows(exec, lu.lu.rows, structure);
  }
  std::optional<MemoryForecast> forecast(int n_columns) const override {
    MemoryForecast result;
    result.factors.device = lu.lu.rows.entries.extent(0) * sizeof(Scalar);
    const std::size_t kept =
        result.factors.device + static_cast<std::size_t>(lu.lu.rows.n) + Numeric::Engine::bytes(lu);
    result.factorization.device = kept + solves->predict_bytes(0);
    result.solve.device = kept + solves->predict_bytes(n_columns);
    return result;
  }
};

/// Computes the symbolic factorization of F and the plan of the simplicial engine. Writes the symbolic method
/// and the times of both steps to `report`. Fences.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_simplicial(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const LuOptions& options, const MemoryBudget& budget, Report& report);

}  // namespace lutra

#endif
