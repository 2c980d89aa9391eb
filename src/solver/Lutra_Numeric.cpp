// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Numeric.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_CheckVector.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KeepPrecision.hpp"
#include "Lutra_NullVector.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_ScaleFit.hpp"
#include "Lutra_StoppedSolve.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
Numeric<Scalar, ExecutionSpace>::Numeric(std::shared_ptr<const analysis_type> analysis,
                                         const DirectOptions& options, const ExecutionSpace& exec,
                                         const MemoryBudget& budget)
    : m_options(options), m_exec(exec), m_budget(budget.with_control()), m_check(exec, m_budget) {
  check_options(options);
  set_analysis(std::move(analysis));
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::set_analysis(std::shared_ptr<const analysis_type> analysis) {
  if (!analysis)
    throw CallOrderError(
        "set_analysis: there is no analysis; call analyze of the solver it comes from first");
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> factorization;
  if (analysis->plan) factorization = analysis->plan->make_factorization(m_exec, m_budget);
  Report report = analysis->report;
  if (factorization) factorization->describe(report);
  decltype(m_operators) operators(analysis->F.A, m_budget);
  Impl::check_launches_on<ExecutionSpace>();
  // Up to here nothing has changed; from here on nothing throws.
  m_factorization = std::move(factorization);  // freed before the plan to which the former one refers
  m_reordered = {};
  m_analysis = std::move(analysis);
  m_scaling = {m_analysis->row_scale, m_analysis->col_scale};
  m_report = std::move(report);
  m_stage = m_factorization ? Stage::analyzed : Stage::structurally_singular;
  m_operators = std::move(operators);
  m_work = m_column = {};
  m_diagonal_scale = {};
  m_gmres = {};
  m_factor_escalations = 0;
  m_raised = 0;
  m_factorized_before = false;
  update_memory();
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::rematch(const matrix_type& A) {
  const RunningCall running(m_budget.run(), m_options, "analyze");
  check_square_matrix(m_exec, A, m_check, analyzed_pattern().read);
  rematch_checked(A);
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::rematch_checked(const matrix_type& A) {
  set_analysis(std::visit(
      [&](const auto& options) {
        return Impl::analyze_checked<Scalar, ExecutionSpace>(m_exec, A, options, m_budget, m_analysis.get());
      },
      m_analysis->options));
}

template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::analyzed_pattern() const -> Impl::AnalyzedPattern<memory_space> {
  const Triangle read =
      std::visit([](const auto& options) { return Impl::read_triangle(options); }, m_analysis->options);
  return {&m_analysis->pattern(), m_options.validate_input, read};
}

template <class Scalar, class ExecutionSpace>
FactorValues<Scalar> Numeric<Scalar, ExecutionSpace>::factors() const {
  if (!has_factors())
    throw CallOrderError("factors: there is no factorization; call analyze and factorize first");
  return dynamic_cast<const WritableFactors<Scalar, ExecutionSpace>&>(*m_factorization).write_out(m_exec);
}

template <class Scalar, class ExecutionSpace>
FactorStructure Numeric<Scalar, ExecutionSpace>::structure() const {
  return (m_reordered ? m_reordered : m_analysis)->structure(m_exec);
}

/// Checks that a matrix has the analyzed pattern, and for LDLᵀ also its symmetry and the shift.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::check_matrix(const matrix_type& A, const shift_type& shift) {
  const auto known = analyzed_pattern();
  check_same_pattern(m_exec, A, *known.pattern, m_check, known.validate, known.read);
  const auto& symmetric = m_analysis->symmetric;
  if (shift.extent(0) != 0 && !symmetric) throw InputError("shift: LU takes none");
  if (shift.extent(0) != 0 && shift.extent(0) != static_cast<std::size_t>(m_analysis->n))
    throw InputError("shift: it has " + std::to_string(shift.extent(0)) + " elements, but the matrix has " +
                     std::to_string(m_analysis->n) + " rows");
  if (!symmetric || !m_options.validate_input) return;
  check_symmetry(m_exec, A, symmetric->S, symmetric->symmetry);
  Impl::check_finite(m_exec, "shift", shift);
}

/// Copies the values to be factorized; for LDLᵀ those of both triangles, including the shift.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::take_values(const matrix_type& A, const shift_type& shift) {
  const auto& symmetric = m_analysis->symmetric;
  if (!symmetric) return m_operators.set_values(m_exec, A.values);
  m_operators.reserve(m_exec, symmetric->S.source.extent(0));
  gather_triangles<Scalar>(m_exec, symmetric->S, symmetric->symmetry, A.values, m_operators.values(), shift);
  m_operators.values_have_changed();
}

template <class Scalar, class ExecutionSpace>
Status Numeric<Scalar, ExecutionSpace>::factorize(const matrix_type& A, const shift_type& shift) {
  return stoppable(m_exec, m_budget.run(), m_options, "factorize", [&] {
    check_matrix(A, shift);
    m_budget.run().poll();  // up to here nothing has changed
    if (m_analysis->is_incomplete()) return precondition(A.values);
    if (m_stage == Stage::structurally_singular) {
      if (Impl::hash_of_values(m_exec, A.values) == m_analysis->value_hash)
        return m_report.status;  // the report remains valid
      rematch_checked(A);
      if (m_stage == Stage::structurally_singular) return m_report.status;
    }
    return compute_factors([&] {
      restore_pivots();
      take_values(A, shift);
      return settle(factorize_values());
    });
  });
}

template <class Scalar, class ExecutionSpace>
Status Numeric<Scalar, ExecutionSpace>::precondition(const values_type& values) {
  if (m_stage == Stage::structurally_singular) return m_report.status;
  return stoppable(m_exec, m_budget.run(), m_options, "factorize",
                   [&] { return compute_factors([&] { return approximate(values); }); });
}

/// Calls compute(), which returns the resulting stage, and reports its outcome.
template <class Scalar, class ExecutionSpace>
template <class Compute>
Status Numeric<Scalar, ExecutionSpace>::compute_factors(const Compute& compute) {
  start_report();
  Impl::report_failure(
      [&] {
        const Impl::RunStage running(m_budget, "numeric");
        const Impl::StageTimer timer(m_exec, m_options.time_stages);
        const Stage stage = compute();
        (m_factorized_before ? m_report.times.refactor : m_report.times.numeric) = timer.seconds();
        if (!m_factorized_before) compare_prediction();
        m_factorized_before = true;
        m_report.status = stage == Stage::factorized ? Status::not_solved : status_of(stage);
        m_report.errors.condition = m_guard.condition();
        m_stage = stage;
      },
      [&](Status status) {
        m_report.status = status;
        update_memory();
      });
  m_factor_escalations = m_report.escalations.size();
  update_memory();
  return Impl::outcome_of(m_report.status);
}

/// Computes factors of the given values without any checks or escalations.
template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::approximate(const values_type& values) -> Stage {
  const FactorizationOutcome outcome =
      m_factorization->factorize(m_exec, {values, m_scaling.row, m_scaling.col}, first_perturbation());
  if (m_analysis->is_incomplete()) {
    m_report.pivots.growth = outcome.growth();
  } else {
    report_pivots(outcome);
  }
  m_report.choice.why = m_analysis->report.choice.why;
  m_factorization->describe(m_report);
  return outcome.is_finite() ? Stage::factorized : Stage::not_finite;
}

/// Returns the stage that results from a factorization of the values. Factorizes again with new scales or a
/// new analysis if those made for other values are unsuitable.
template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::settle(FactorizationOutcome outcome) -> Stage {
  outcome = settle_precision(std::move(outcome));
  if ((Guard::is_suspicious(outcome) && !trusts_pivots()) || !outcome.is_finite()) {
    if (may_renew() &&
        !Impl::scales_fit(m_exec, m_analysis->F.A, m_operators.values(), m_analysis->row_scale,
                          m_analysis->col_scale, m_budget) &&
        renew_analysis("values have outgrown the scales of the analysis"))
      outcome = factorize_values();
  }
  Stage stage = judge_factors(outcome);
  if (stage != Stage::factorized && may_renew()) {
    if (!renew_analysis(std::string(to_string(status_of(stage))) + " on the analysis of other values"))
      return m_report.status == Status::structurally_singular ? Stage::structurally_singular_values : stage;
    stage = judge_factors(factorize_values());
  }
  const bool may_rescale = m_analysis->symmetric && !m_analysis->bordered && !trusts_pivots();
  if (stage == Stage::numerically_singular && may_rescale &&
      renew_analysis("numerically_singular by the largest entries of rows, scaled by the matching"))
    stage = judge_factors(factorize_values());
  if (stage != Stage::factorized) stage = settle_pivots(stage);
  // inexact factors may hide the null vector of a matrix that stored zeros make singular
  const bool are_inexact =
      m_report.pivots.perturbed.value_or(0) > 0 || m_guard.condition().value_or(0) >= Guard::near_singular;
  const bool may_hide = stage == Stage::factorized && !m_analysis->symmetric && are_inexact;
  const auto& A = m_analysis->F.A;
  const CsrView<Scalar, Ordinal, Offset, Memory> matrix{A.n_rows, A.n_cols, A.row_map, A.entries,
                                                        m_operators.values()};
  if (may_hide && is_singular_by_zeros(Impl::copy_to_host(m_exec, matrix), m_report))
    return Stage::numerically_singular;
  return stage;
}

/// Returns whether an analysis of the current values could differ from the existing one.
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::may_renew() {
  if (m_renewed || m_analysis->bordered || m_analysis->report.choice.matching == "none") return false;
  return Impl::hash_of_values(m_exec, m_operators.values()) != m_analysis->value_hash;
}

/// Analyzes the current values; a symmetric matrix whose analysis is of these values already, with the scales
/// of the matching. Returns false and keeps the analysis if it has those, if memory does not suffice, or if
/// these values make the matrix structurally singular; the report then says so.
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::renew_analysis(const std::string& reason) {
  m_renewed = true;
  AnalysisPointer renewed;
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> factorization;
  try {
    renewed =
        Impl::renew_analysis<Scalar, ExecutionSpace>(m_exec, *m_analysis, m_operators.values(), m_budget);
    if (!renewed) return false;
    const bool has_other_pivots = m_reordered && !m_analysis->symmetric;
    if (renewed->plan && (renewed->plan != m_analysis->plan || has_other_pivots)) {
      factorization = renewed->plan->make_factorization(m_exec, m_budget);
      for (int k = 0; k < m_raised; ++k) factorization->increase_quality();
      if (m_factorization) Impl::keep_precision(m_exec, *m_factorization, *factorization);
    }
  } catch (const OutOfMemoryError& error) {
    Impl::escalate(m_report, m_budget, reason + ": no memory for a new one: " + error.what());
    return false;
  }
  Impl::escalate(m_report, m_budget, reason + ": analyzed anew");
  if (!renewed->plan) {
    m_report.status = Status::structurally_singular;
    m_report.singular_rows = renewed->report.singular_rows;
    m_report.singular_columns = renewed->report.singular_columns;
    return false;
  }
  adopt(renewed, std::move(factorization));
  return true;
}

/// Adopts an analysis of the current values, and a factorization if the plan has changed.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::adopt(
    const AnalysisPointer& renewed, std::unique_ptr<Factorization<Scalar, ExecutionSpace>> factorization) {
  if (factorization) {
    const auto values = m_operators.values();
    decltype(m_operators) operators(renewed->F.A, m_budget);
    operators.set_values(m_exec, values);
    m_factorization = std::move(factorization);
    m_reordered = {};
    m_operators = std::move(operators);
  }
  m_analysis = renewed;
  m_scaling = {renewed->row_scale, renewed->col_scale};
  m_guard.forget();  // what was found with the former scales no longer counts
  m_report.singular_rows.clear();
  m_report.singular_columns.clear();
  m_report.choice = renewed->report.choice;
  m_report.factors = renewed->report.factors;
  m_report.structural_rank = renewed->report.structural_rank;
  m_report.memory.forecast = renewed->report.memory.forecast;
  StageTimes& times = m_report.times;
  const StageTimes& taken = renewed->report.times;
  times.matching = taken.matching;
  times.ordering = taken.ordering;
  times.symbolic = taken.symbolic;
  times.levelization = taken.levelization;
}

/// Factorizes the values and writes the counts to the report. If tiny pivots cause so much growth that its
/// rounding errors exceed half of a larger perturbation, repeats the factorization with that one; growth
/// decreases with the square of the perturbation.
/// @param given fixed perturbation of pivots; empty: that of the options, or the default
template <class Scalar, class ExecutionSpace>
FactorizationOutcome Numeric<Scalar, ExecutionSpace>::factorize_values(const std::optional<double>& given) {
  constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>);
  const double larger = std::pow(epsilon, 5.0 / 16.0);
  const double max_growth = std::min(1e-3, larger / 2) / epsilon;
  bool may_grow = given || m_options.perturbation > 0;
  m_perturbation = given.value_or(first_perturbation());
  for (;;) {
    FactorizationOutcome outcome = m_factorization->factorize(
        m_exec, {m_operators.values(), m_scaling.row, m_scaling.col}, m_perturbation);
    if (outcome.symmetric && outcome.symmetric->cascade)
      outcome = factorize_in_paired_order(*outcome.symmetric);
    report_pivots(outcome);
    if (may_grow || outcome.perturbed == 0 || (outcome.is_finite() && outcome.growth() <= max_growth))
      return outcome;
    may_grow = true;
    m_perturbation = larger;
    Impl::escalate(m_report, m_budget,
                   Impl::formatted("element growth: pivots perturbed below %.2g", m_perturbation));
  }
}

/// Factorizes values whose delayed pivots have cascaded again, after an analysis whose order keeps matched
/// rows adjacent. Later factorizations use that order.
/// @param former outcome of the abandoned factorization
template <class Scalar, class ExecutionSpace>
FactorizationOutcome Numeric<Scalar, ExecutionSpace>::factorize_in_paired_order(
    const SymmetricOutcome& former) {
  const Kokkos::Timer timer;
  AnalysisPointer analysis = Impl::with_paired_order<Scalar, ExecutionSpace>(
      m_exec, *m_analysis, m_operators.values(), former.cascade->pivot_threshold, m_budget);
  m_factorization = analysis->plan->make_factorization(m_exec, m_budget);
  m_reordered = std::move(analysis);
  m_scaling = {m_reordered->row_scale, m_reordered->col_scale};
  auto events = former.escalations;
  events.push_back(
      "delayed pivots cascade (" + former.cascade->why +
      Impl::formatted("): ordered anew with matched rows side by side, in %.3g s", timer.seconds()));
  m_budget.run().tell_escalation(events.back());
  FactorizationOutcome outcome = m_factorization->factorize(
      m_exec, {m_operators.values(), m_scaling.row, m_scaling.col}, m_perturbation);
  auto& own = outcome.symmetric->escalations;
  own.insert(own.begin(), events.begin(), events.end());
  return outcome;
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::report_pivots(const FactorizationOutcome& outcome) {
  PivotCounts& pivots = m_report.pivots;
  pivots.perturbed = outcome.perturbed;
  pivots.interchanged = outcome.interchanged;
  pivots.growth = outcome.growth();
  m_report.columns = outcome.columns;
  if (outcome.symmetric) outcome.symmetric->write(m_operators.values().extent(0), m_report);
}

/// Writes the ratio of predicted to measured times to the report.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::compare_prediction() {
  const StageTimes& times = m_report.times;
  PredictedTimes& predicted = m_report.predicted;
  if (!predicted.factorization || !times.symbolic || !times.levelization) return;
  predicted.over_measured = (*predicted.analysis + *predicted.factorization) /
                            (*times.symbolic + *times.levelization + *times.numeric);
}

/// Clears former factors and solutions from the report.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::start_report() {
  m_stage = Stage::analyzed;
  m_factor_escalations = 0;
  m_guard.forget();
  start_solution(Status::not_solved);
  m_report.times.refactor = {};
  m_report.pivots = {};
  m_report.inertia = {};
  m_report.indefinite_column.reset();
  m_report.singular_rows.clear();
  m_report.singular_columns.clear();
  m_report.condition_solves = 0;
  m_report.times.condition.reset();
  m_renewed = m_proven = false;
  m_pivot_changes = 0;
}

/// Clears the previous solution from the report. Escalations of the factorization remain.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::start_solution(Status status) {
  m_report.status = status;
  m_report.errors = {};
  m_report.errors.condition = m_guard.condition();
  m_report.times.solve = m_report.times.refine = {};
  m_report.refinement_steps = 0;
  m_report.escalations.resize(m_factor_escalations);
  m_forward_bound.reset();
  m_unknown_solution = false;
}

template <class Scalar, class ExecutionSpace>
Status Numeric<Scalar, ExecutionSpace>::status_of(Stage stage) {
  switch (stage) {
    case Stage::structurally_singular:
    case Stage::structurally_singular_values:
      return Status::structurally_singular;
    case Stage::numerically_singular:
      return Status::numerically_singular;
    case Stage::not_finite:
      return Status::breakdown;
    case Stage::not_definite:
      return Status::not_positive_definite;
    default:
      return Status::success;
  }
}

/// Allocates memory for one right-hand side of an escalation.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::reserve_column() {
  if (m_column.B.extent(0) > 0) return;
  m_column = Workspace(m_exec, static_cast<std::size_t>(m_analysis->n), 1, m_budget);
}

/// Allocates memory for GMRES, and for the search for a null vector, which multiplies by A.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::reserve_gmres() {
  reserve_column();
  operator_for(Transposition::none);
  if (m_gmres.restart() == 0)
    m_gmres = decltype(m_gmres)(m_exec, static_cast<std::size_t>(m_analysis->n), gmres_refinement_restart,
                                m_budget);
}

/// @throws TimeoutError if the watchdog has stopped a solve
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::throw_if_stopped() {
  Impl::throw_if_stopped(m_exec, "solve", *m_factorization);
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::update_memory() {
  Impl::report_memory(m_budget, m_report);
  if (m_factorization) m_factorization->describe_memory(m_report.memory);
}

/// Returns the scales of the factors. For Cholesky, which does not scale, returns scales computed from the
/// diagonal.
template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::scales() -> Scales<Scalar, Memory> {
  if (m_analysis->report.choice.method == "cholesky") {
    if (m_diagonal_scale.extent(0) == 0) {
      m_scale_reservation = MemoryReservation(m_budget);
      m_diagonal_scale = m_scale_reservation.template allocate<decltype(m_diagonal_scale)>(
          m_exec, "lutra::solver::diagonal_scale", static_cast<std::size_t>(m_analysis->n));
    }
    Impl::scale_by_diagonal(m_exec, m_analysis->F.A, m_operators.values(), m_diagonal_scale);
    return {m_diagonal_scale, m_diagonal_scale};
  }
  return m_scaling;
}

/// Returns the factors of LDLᵀ or Cholesky.
/// @param call name of the user's call for messages
template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::symmetric_factors(const char* call) const
    -> SymmetricFactors<Scalar, ExecutionSpace>& {
  auto* const factors = factorization();
  if (factors == nullptr)
    throw CallOrderError(std::string(call) + ": there are no factors; call analyze and factorize first");
  auto* const symmetric = dynamic_cast<SymmetricFactors<Scalar, ExecutionSpace>*>(factors);
  if (symmetric == nullptr) throw InputError(std::string(call) + ": factors of LU do not have it");
  return *symmetric;
}

template <class Scalar, class ExecutionSpace>
Determinant<Scalar> Numeric<Scalar, ExecutionSpace>::determinant() {
  const RunningCall running(m_budget.run(), m_options, "determinant");
  return symmetric_factors("determinant").determinant(m_exec);
}

// Defined here, since they would otherwise be compiled again wherever a Numeric is used.
template <class Scalar, class ExecutionSpace>
Numeric<Scalar, ExecutionSpace>::Numeric(Numeric&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
Numeric<Scalar, ExecutionSpace>& Numeric<Scalar, ExecutionSpace>::operator=(Numeric&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
Numeric<Scalar, ExecutionSpace>::~Numeric() = default;

#define LUTRA_NUMERIC(Scalar, Space) template class Numeric<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_NUMERIC)

}  // namespace lutra
