// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseILU.hpp"

#include <limits>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_IluPattern.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_Reasons.hpp"

namespace lutra {
namespace {

constexpr double first_shift = 1e-3, shift_growth = 4;

/// Reduction that counts the entries of L.
template <class Factors>
struct CountLower {
  decltype(Factors::row_map) row_map;
  decltype(Factors::diagonal) diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const {
    sum += diagonal(i) - row_map(i);
  }
};

template <class Factors, class ExecutionSpace>
std::int64_t count_lower(const ExecutionSpace& exec, const Factors& factors) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce("lutra::solver::count_L",
                          Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(factors.n)),
                          CountLower<Factors>{factors.row_map, factors.diagonal}, count);
  return count;
}

IncompleteSolveOptions solve_options(const SparseIluOptions& options) {
  IncompleteSolveOptions result{options.apply, options.jacobi_sweeps, {}, options.symmetric};
  result.triangular.method = options.trisolve;
  result.triangular.device_model = options.device_model;
  return result;
}

template <class Elimination, class ExecutionSpace, class Factors>
Elimination make_elimination(const ExecutionSpace& exec, const Factors& factors,
                             const SparseIluOptions& options, const MemoryBudget& budget, bool is_prototype) {
  constexpr double max_wait_seconds = 10;  // how long a row waits for others before the watchdog stops
  const DeviceModel model = options.device_model.value_or(default_device_model<ExecutionSpace>());
  return Elimination(exec, factors, options.schedule, budget, max_wait_seconds, model.ilu, is_prototype);
}

/// Whether values come from an elimination rather than from sweeps.
/// @param is_found  ParILUT has found its pattern
bool uses_elimination(const IluOptions& options, bool is_found) {
  if (options.method != IluMethod::parilut) return options.method == IluMethod::iluk;
  return is_found ? options.finish == IluFinish::exact : options.start == IluStart::ilu0;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Impl::IncompletePlan<Scalar, ExecutionSpace>> Impl::plan_incomplete(
    const ExecutionSpace& exec, const Impl::OrderedMatrix<Scalar, ExecutionSpace>& F,
    const SparseIluOptions& options, const MemoryBudget& budget) {
  auto plan = std::make_shared<Impl::IncompletePlan<Scalar, ExecutionSpace>>();
  plan->F = F;
  plan->options = options;
  plan->pattern = make_incomplete_pattern<Scalar>(exec, F.pattern, options.fill_level, budget);
  plan->nnz_l = count_lower(exec, plan->pattern);
  plan->counts.nnz_l = plan->nnz_l;
  plan->counts.nnz_u = static_cast<std::int64_t>(plan->pattern.nnz()) - plan->nnz_l;
  using Elimination = IluElimination<Scalar, ExecutionSpace>;
  if (uses_elimination(options, false))
    plan->elimination = std::make_unique<const Elimination>(
        make_elimination<Elimination>(exec, plan->pattern, options, budget, true));
  if (options.method == IluMethod::parilut) return plan;
  auto solves = std::make_unique<IncompleteSolve<Scalar, ExecutionSpace>>(
      exec, plan->pattern, solve_options(options), budget, F.order);
  plan->counts.levels = solves->levels();
  plan->solve_method = solves->method();
  plan->solve_reason = solves->reason();
  plan->solves = std::move(solves);
  return plan;
}

template <class Scalar, class ExecutionSpace>
std::unique_ptr<Factorization<Scalar, ExecutionSpace>>
Impl::IncompletePlan<Scalar, ExecutionSpace>::make_factorization(const ExecutionSpace& exec,
                                                                 const MemoryBudget& budget) const {
  return std::make_unique<IncompleteFactorization<Scalar, ExecutionSpace>>(exec, *this, budget);
}

template <class Scalar, class ExecutionSpace>
void Impl::IncompletePlan<Scalar, ExecutionSpace>::write_pattern(const ExecutionSpace& exec,
                                                                 FactorStructure& structure) const {
  Impl::write_rows(exec, pattern, structure);
}

template <class Scalar, class ExecutionSpace>
IncompleteFactorization<Scalar, ExecutionSpace>::IncompleteFactorization(const ExecutionSpace& exec,
                                                                         const Plan& plan,
                                                                         const MemoryBudget& budget)
    : m_plan(plan),
      m_options(plan.options),
      m_budget(budget),
      m_reservation(budget),
      m_inspection(exec, m_reservation, static_cast<std::size_t>(plan.pattern.n)) {
  if (plan.F.source.extent(0) > 0)
    m_values = m_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(exec, "lutra::solver::F_values",
                                                                              plan.F.source.extent(0));
  set_pattern(exec, plan.pattern.with_own_values(exec, budget), plan.nnz_l, false);
  if (plan.solves) m_parts = plan.solves->with_own_values(exec, m_factors, budget);
}

/// Adopts a pattern and analyzes the computation of values on it.
/// @param is_found  it is the final pattern of ParILUT
template <class Scalar, class ExecutionSpace>
void IncompleteFactorization<Scalar, ExecutionSpace>::set_pattern(const ExecutionSpace& exec,
                                                                  const Factors& factors, std::int64_t nnz_l,
                                                                  bool is_found) {
  std::unique_ptr<Sweeps> sweeps;
  std::unique_ptr<Elimination> elimination;
  if (!uses_elimination(m_options, is_found)) {
    IluOptions options = m_options;
    if (options.method == IluMethod::parilut && !is_found) options.sweeps = 0;  // the steps make the sweeps
    sweeps = std::make_unique<Sweeps>(exec, factors, options, m_budget);
  } else {
    elimination = std::make_unique<Elimination>(
        m_plan.elimination && factors.entries.data() == m_plan.pattern.entries.data()
            ? m_plan.elimination->with_own_workspace(exec, m_budget)
            : make_elimination<Elimination>(exec, factors, m_plan.options, m_budget, false));
  }
  m_sweeps = std::move(sweeps);
  m_elimination = std::move(elimination);
  m_factors = factors;
  m_nnz_l = nnz_l;
  m_is_found = is_found;
}

template <class Scalar, class ExecutionSpace>
auto IncompleteFactorization<Scalar, ExecutionSpace>::matrix_of(
    const ExecutionSpace& exec, const Kokkos::View<const Scalar*, Memory>& values) -> View {
  const auto& F = m_plan.F.pattern;
  const auto& source = m_plan.F.source;
  if (source.extent(0) == 0) return {F.n_rows, F.n_cols, F.row_map, F.entries, values};
  Kokkos::parallel_for(
      "lutra::solver::gather_scaled",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(source.extent(0))),
      Impl::GatherScaled<decltype(m_values), std::decay_t<decltype(values)>, std::decay_t<decltype(source)>,
                         decltype(m_plan.F.scale)>{m_values, values, source, m_plan.F.scale});
  return {F.n_rows, F.n_cols, F.row_map, F.entries, m_values};
}

template <class Scalar, class ExecutionSpace>
FactorizationOutcome IncompleteFactorization<Scalar, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, double) {
  const View F = matrix_of(exec, A.values);
  m_steps = {};
  m_steps.shift = m_options.shift;
  m_has_steps = true;
  // An exception leaves only part of this matrix's values; the next call must not start from them.
  auto start = std::exchange(m_has_values, false) ? ParIluStart::factors : ParIluStart::matrix;
  for (;; start = ParIluStart::matrix) {
    const IncompleteOutcome outcome = compute(exec, F, m_steps.shift, start);
    if (!outcome.is_finite()) {
      const std::int64_t row = m_elimination ? m_elimination->consume_timeout(exec) : -1;
      if (row >= 0)
        throw TimeoutError("factorize: row " + std::to_string(m_plan.F.user_row(row)) +
                           " waited too long for others in an elimination, which was given up");
    }
    const std::string fault = fault_of(outcome);
    if (fault.empty()) {
      if (!m_parts)
        m_parts =
            std::make_unique<Solve>(exec, m_factors, solve_options(m_plan.options), m_budget, m_plan.F.order);
      m_parts->update_values(exec);
      m_has_values = true;
      return {m_steps.shift > 0 ? static_cast<std::int64_t>(m_factors.n) : 0, std::nullopt, 1.0,
              outcome.growth()};
    }
    m_steps.why = fault;
    if (m_steps.shifts == m_options.max_shifts)
      return {0, std::nullopt, 1.0, std::numeric_limits<double>::infinity()};
    ++m_steps.shifts;
    m_steps.shift = m_steps.shift > 0 ? shift_growth * m_steps.shift : first_shift;
  }
}

/// Returns the defect that makes the factors unusable, or an empty string.
template <class Scalar, class ExecutionSpace>
std::string IncompleteFactorization<Scalar, ExecutionSpace>::fault_of(
    const IncompleteOutcome& outcome) const {
  constexpr double max_growth = 1e-3 / static_cast<double>(epsilon_of<Scalar>);
  if (outcome.bad_row >= 0)
    return "row " + std::to_string(m_plan.F.user_row(outcome.bad_row)) + " has no usable pivot";
  if (!outcome.is_finite()) return "factors hold NaN or infinity";
  if (outcome.growth() <= max_growth) return "";
  return Impl::formatted("entries grow by %.1e", outcome.growth());
}

template <class Scalar, class ExecutionSpace>
IncompleteOutcome IncompleteFactorization<Scalar, ExecutionSpace>::compute(const ExecutionSpace& exec,
                                                                           const View& F, double shift,
                                                                           ParIluStart start) {
  if (m_options.method == IluMethod::parilut && !m_parts) {
    if (m_is_found)  // by an attempt that failed
      set_pattern(exec, m_plan.pattern.with_own_values(exec, m_budget), m_plan.nnz_l, false);
    const IncompleteOutcome outcome = compute_values(exec, F, shift, ParIluStart::matrix);
    if (!fault_of(outcome).empty()) return outcome;
    find_pattern(exec, F, shift);
    start = ParIluStart::factors;
  }
  return compute_values(exec, F, shift, start);
}

/// Computes values on the present pattern.
template <class Scalar, class ExecutionSpace>
IncompleteOutcome IncompleteFactorization<Scalar, ExecutionSpace>::compute_values(const ExecutionSpace& exec,
                                                                                  const View& F, double shift,
                                                                                  ParIluStart start) {
  if (m_elimination) {
    m_elimination->eliminate(exec, F, shift, m_factors);
  } else {
    const auto outcome = m_sweeps->compute(exec, F, shift, m_factors, start);
    m_steps.sweeps = outcome.sweeps;
    if (m_options.method == IluMethod::parilu)
      m_steps.residual = outcome.first_residual > 0 ? outcome.last_residual / outcome.first_residual : 0.0;
  }
  return inspect_factors(exec, F, m_factors, m_options.symmetric, m_inspection);
}

/// Runs ParILUT from the current factors.
template <class Scalar, class ExecutionSpace>
void IncompleteFactorization<Scalar, ExecutionSpace>::find_pattern(const ExecutionSpace& exec, const View& F,
                                                                   double shift) {
  Factors found = m_factors;
  const ParIlutOutcome outcome = parilut(exec, F, shift, m_options, m_budget, found);
  m_steps.steps = outcome.steps;
  m_steps.records = outcome.records;
  m_chunks = outcome.chunks;
  m_steps.residual = outcome.first_residual > 0 ? outcome.residual / outcome.first_residual : 0.0;
  set_pattern(exec, found, count_lower(exec, found), true);
}

template <class Scalar, class ExecutionSpace>
std::string IncompleteFactorization<Scalar, ExecutionSpace>::reason() const {
  std::string result;
  const auto add = [&](const std::string& reason) {
    if (!reason.empty()) result += (result.empty() ? "" : "; ") + reason;
  };
  if (m_chunks > 1)
    add("parilut: candidates in " + std::to_string(m_chunks) + " chunks of rows, under the memory limit");
  if (m_elimination) add(m_elimination->reason());
  if (m_parts) add(m_parts->reason());
  return result;
}

template <class Scalar, class ExecutionSpace>
void IncompleteFactorization<Scalar, ExecutionSpace>::describe(Report& report) const {
  if (m_has_steps) report.pivots.shift = m_steps.shift;
  report.parilut_steps = m_steps.records;
  if (m_steps.shifts > 0) {
    Impl::escalate(report, m_budget,
                   Impl::formatted("diagonal shift %.3g%s: ", m_steps.shift,
                                   m_has_values ? "" : " and none before it helped") +
                       m_steps.why);
  }
  const auto nnz = static_cast<double>(m_plan.F.pattern.nnz());
  report.factors.nnz_l = m_nnz_l;
  report.factors.nnz_u = static_cast<std::int64_t>(m_factors.nnz()) - m_nnz_l;
  report.factors.fill_ratio = nnz > 0 ? static_cast<double>(m_factors.nnz()) / nnz : 0.0;
  if (const std::string why = reason(); !why.empty()) Impl::add_reason(report, why);
  if (!m_parts) return;
  report.factors.levels = m_parts->levels();
  report.choice.trisolve = m_parts->method();
}

template <class Scalar, class ExecutionSpace>
std::vector<Pivot> IncompleteFactorization<Scalar, ExecutionSpace>::pivots(const ExecutionSpace&) const {
  std::vector<Pivot> result;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(m_factors.n); ++k) {
    const std::int64_t column = m_plan.F.columns.empty() ? k : m_plan.F.columns[static_cast<std::size_t>(k)];
    result.push_back({m_plan.F.user_row(k), column, m_steps.shift > 0});
  }
  return result;
}

template <class Scalar, class ExecutionSpace>
FactorValues<Scalar> IncompleteFactorization<Scalar, ExecutionSpace>::write_out(
    const ExecutionSpace& exec) const {
  const auto& order = m_plan.F.order;
  auto factors = Impl::start_factor_values<Scalar, ExecutionSpace, Memory>(
      exec, pivots(exec), {{}, order.row_scale, order.col_scale});
  Impl::write_entries(exec, m_factors.pattern(), Impl::to_host(exec, m_factors.values), factors);
  return factors;
}

#define LUTRA_INCOMPLETE_FACTORIZATION(Scalar, Space)                                        \
  template struct Impl::IncompletePlan<Scalar, Space>;                                       \
  template class IncompleteFactorization<Scalar, Space>;                                     \
  template std::shared_ptr<const Impl::IncompletePlan<Scalar, Space>> Impl::plan_incomplete( \
      const Space&, const Impl::OrderedMatrix<Scalar, Space>&, const SparseIluOptions&,      \
      const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_INCOMPLETE_FACTORIZATION)

}  // namespace lutra
