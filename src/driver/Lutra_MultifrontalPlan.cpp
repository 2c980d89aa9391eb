// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MultifrontalPlan.hpp"

#include <string>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LuTriangularSolves.hpp"
#include "Lutra_Pivots.hpp"

namespace lutra {
namespace {

/// Solves on the panels, which need no copy.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class FactorizationOnFronts final
    : public MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace> {
 public:
  using Base = MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Plan;
  using Rows = DenseRows<Scalar, Memory>;

  FactorizationOnFronts(const ExecutionSpace& exec, std::shared_ptr<const Plan> plan,
                        const MemoryBudget& budget)
      : Base(exec, std::move(plan), budget),
        m_solver(exec, this->m_plan->fronts, budget, {.interchanges = this->m_plan->pivot_threshold > 0}) {}

  /// Transposed, F's columns stand where the right-hand sides are.
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    const bool plain = op == Transposition::none;
    const auto& F = this->m_plan->F;
    const auto& in_scale = plain ? this->m_A.row_scale : this->m_A.col_scale;
    const auto& out_scale = plain ? this->m_A.col_scale : this->m_A.row_scale;
    FrontSystem<Scalar, Ordinal, Memory> system;
    system.transposition = op;
    system.in = {B.data(), B.stride(0), B.stride(1), in_scale.data()};
    system.out = {X.data(), X.stride(0), X.stride(1), out_scale.data()};
    system.in_row = plain ? F.row_order : F.col_order;
    system.out_row = plain ? F.col_order : F.row_order;
    system.n_columns = static_cast<int>(B.extent(1));
    m_solver.solve(exec, this->m_plan->fronts, this->m_fronts, system);
  }
  SolveMethod solve_method() const override {
    return {name_of(TrisolveMethod::supernodal),
            "solves: on the fronts, which spares a copy of the factors by rows"};
  }
  std::int64_t consume_timeout(const ExecutionSpace& exec) override { return m_solver.consume_timeout(exec); }

 private:
  void update_solves(const ExecutionSpace&) override {}
  void measure_growth(const ExecutionSpace& exec) override { find_largest_factor(exec, this->m_fronts); }

  FrontSolver<Scalar, Ordinal, Offset, ExecutionSpace> m_solver;
};

/// Solves with L and U by rows, gathered from the panels.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class FactorizationByRows final : public MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace> {
 public:
  using Base = MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Plan;
  using Rows = DenseRows<Scalar, Memory>;

  FactorizationByRows(const ExecutionSpace& exec, std::shared_ptr<const Plan> plan,
                      const MemoryBudget& budget)
      : Base(exec, std::move(plan), budget),
        m_reservation(budget),
        m_solves(exec, this->m_plan->lu, this->m_plan->F.row_order, this->m_plan->F.col_order,
                 this->m_plan->triangular, budget) {}

  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    m_solves.solve(exec, op, this->m_A.row_scale, this->m_A.col_scale, B, X);
  }
  SolveMethod solve_method() const override {
    return {name_of(m_solves.upper_report().method), "solves: " + m_solves.upper_report().why};
  }
  std::int64_t consume_timeout(const ExecutionSpace& exec) override { return m_solves.consume_timeout(exec); }

 private:
  /// The largest entry is found on the way.
  void update_solves(const ExecutionSpace& exec) override {
    const auto& source = this->m_plan->panel_source;
    if (m_values.extent(0) != source.extent(0))
      m_values = m_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
          exec, "lutra::driver::values by rows", source.extent(0));
    gather_factors(exec, this->m_fronts, source, m_values);
    m_solves.set_values(exec, m_values, {});
  }
  void measure_growth(const ExecutionSpace&) override {}

  Kokkos::View<Scalar*, Memory> m_values;  ///< [nnz(L + U)] by rows
  MemoryReservation m_reservation;
  Impl::LuTriangularSolves<Scalar, Ordinal, Offset, ExecutionSpace> m_solves;
};

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::MultifrontalFactorization(
    const ExecutionSpace& exec, std::shared_ptr<const Plan> plan, const MemoryBudget& budget)
    : m_plan(std::move(plan)),
      m_budget(budget),
      m_fronts(make_front_factors(exec, m_plan->schedule, budget)),
      m_reservation(budget) {
  if (m_plan->pivot_threshold > 0) m_fronts.interchanges = {m_plan->pivot_threshold, {}};
}

/// Room for values, where there is none yet.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::allocate(
    const ExecutionSpace& exec) {
  if (m_perturbed.extent(0) != static_cast<std::size_t>(m_plan->fronts.n)) {
    m_perturbed = m_reservation.template allocate<Kokkos::View<unsigned char*, Memory>>(
        exec, "lutra::numeric::perturbed", static_cast<std::size_t>(m_plan->fronts.n));
    m_outcome = decltype(m_outcome)("lutra::driver::outcome");
  }
  allocate_values(exec, m_plan->fronts, m_budget, m_fronts);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorizationOutcome MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, double perturbation) {
  allocate(exec);
  m_A = A;
  factorize_fronts<Scalar>(exec, m_plan->fronts, A, perturbation, m_fronts, m_perturbed);
  update_solves(exec);
  measure_growth(exec);
  Kokkos::deep_copy(exec, m_outcome, m_fronts.outcome);
  exec.fence("lutra::driver: whether the factors are finite is known");
  const FrontLuOutcome& outcome = m_outcome();
  if (outcome.stopped_front >= 0) {
    throw TimeoutError("factorize: front " + std::to_string(outcome.stopped_front) +
                       " waited too long for its children, and the factorization was given up");
  }
  FactorizationOutcome result{outcome.perturbed, std::nullopt, outcome.largest_entry, outcome.largest_factor};
  if (m_fronts.interchanges) result.interchanged = outcome.interchanged;
  return result;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::vector<Pivot> MultifrontalFactorization<Scalar, Ordinal, Offset, ExecutionSpace>::pivots(
    const ExecutionSpace& exec) const {
  return Impl::list_pivots(exec, m_plan->F, m_perturbed, m_fronts.row_of_pivot());
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorCounts MultifrontalPlan<Scalar, Ordinal, Offset, ExecutionSpace>::counts() const {
  const auto stored = static_cast<std::int64_t>(fronts.panels), n = static_cast<std::int64_t>(fronts.n);
  FactorCounts result;
  result.nnz_l = (stored - n) / 2;
  result.nnz_u = (stored + n) / 2;
  result.flops = fronts.flops;
  result.supernodes = static_cast<std::int64_t>(fronts.count);
  result.levels = static_cast<std::int64_t>(fronts.layout.level_pivots.size());
  return result;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::unique_ptr<Factorization<Scalar, ExecutionSpace>>
MultifrontalPlan<Scalar, Ordinal, Offset, ExecutionSpace>::make_factorization(
    const ExecutionSpace& exec, const MemoryBudget& budget) const {
  if (solves_on_fronts)
    return std::make_unique<FactorizationOnFronts<Scalar, Ordinal, Offset, ExecutionSpace>>(
        exec, this->shared_from_this(), budget);
  return std::make_unique<FactorizationByRows<Scalar, Ordinal, Offset, ExecutionSpace>>(
      exec, this->shared_from_this(), budget);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void MultifrontalPlan<Scalar, Ordinal, Offset, ExecutionSpace>::write_structure(
    const ExecutionSpace& exec, FactorStructure& structure) const {
  Kokkos::View<const Offset*, Memory> source;
  Impl::write_rows(solves_on_fronts ? pattern_of_fronts(exec, fronts, MemoryBudget(), source) : lu.rows,
                   structure);
  structure.level_widths.assign(fronts.layout.level_pivots.begin(), fronts.layout.level_pivots.end());
}

bool solves_on_fronts(const LuOptions& options) {
  return options.solve_precision == FactorPrecision::working &&
         (options.trisolve == TrisolveMethod::automatic || options.trisolve == TrisolveMethod::supernodal);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_multifrontal(
    const ExecutionSpace& exec,
    const PermutedPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& F,
    const AssemblyTree<Ordinal>& tree, const FrontEntries<Ordinal, Offset>& on_host, const LuOptions& options,
    const MemoryBudget& budget) {
  auto plan = std::make_shared<MultifrontalPlan<Scalar, Ordinal, Offset, ExecutionSpace>>();
  plan->F = F;
  plan->fronts = plan_fronts(exec, tree, on_host, budget, front_plan_options<Scalar, ExecutionSpace>(), F.A);
  plan->schedule = make_front_schedule<Scalar>(exec, plan->fronts, budget);
  if (options.pivoting == Pivoting::threshold) plan->pivot_threshold = options.pivot_threshold;
  plan->solves_on_fronts = solves_on_fronts(options);
  if (plan->solves_on_fronts) return plan;
  plan->triangular.method = options.trisolve;
  plan->triangular.precision = options.solve_precision;
  plan->lu.rows = pattern_of_fronts(exec, plan->fronts, budget, plan->panel_source);
  plan->lu.columns = plan->lu.rows.pattern();  // the pattern is symmetric
  plan->lu.column_diagonal = plan->lu.rows.diagonal;
  return plan;
}

#define LUTRA_MULTIFRONTAL_PLAN(Scalar, Ordinal, Offset, Space)                               \
  template struct MultifrontalPlan<Scalar, Ordinal, Offset, Space>;                           \
  template class MultifrontalFactorization<Scalar, Ordinal, Offset, Space>;                   \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_multifrontal<Scalar>( \
      const Space&, const PermutedPattern<Ordinal, Offset, typename Space::memory_space>&,    \
      const AssemblyTree<Ordinal>&, const FrontEntries<Ordinal, Offset>&, const LuOptions&,   \
      const MemoryBudget&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_MULTIFRONTAL_PLAN)

}  // namespace lutra
