// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Judges whether factors can be used for solves. Numeric searches for singular matrices behind small pivots.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "Lutra_Instantiate.hpp"
#include "Lutra_NullVector.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RunStage.hpp"

namespace lutra {

/// Returns the stage that results from the factors. If pivots were perturbed and the matrix is found to be
/// ill-conditioned but not singular, the small pivots may be correct. They are then kept unperturbed,
/// provided that entries do not grow.
template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::judge_factors(const FactorizationOutcome& outcome) -> Stage {
  const Stage stage = stage_of_factors(outcome);
  if (stage != Stage::factorized || outcome.perturbed == 0 || m_options.perturbation > 0) return stage;
  if (!(m_guard.condition().value_or(0) >= Guard::near_singular)) return stage;
  const FactorizationOutcome kept = factorize_values(Guard::epsilon * Guard::epsilon);
  if (!kept.is_finite() || kept.growth() > Guard::near_singular) return stage_of_factors(factorize_values());
  if (kept.perturbed > 0) {
    // If a pivot of ε² causes no growth in its column, both are zero, and A is singular within ε times the
    // growth.
    constexpr double small_growth = 64;
    if (kept.growth() > small_growth) return stage_of_factors(factorize_values());
    name_zero_pivots();
    return Stage::numerically_singular;
  }
  Impl::escalate(m_report, m_budget, "the matrix is ill-conditioned: small pivots are not perturbed");
  m_guard.forget();
  return stage_of_factors(kept, true);
}

/// Examines factors with zero, perturbed or small pivots.
/// @param has_small_pivots whether some pivots may be small without being perturbed or zero
template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::stage_of_factors(FactorizationOutcome outcome, bool has_small_pivots)
    -> Stage {
  if (m_report.indefinite_column) return Stage::not_definite;
  if (!outcome.is_finite()) return Stage::not_finite;
  bool is_singular = m_report.pivots.zero.value_or(0) > 0;
  if (is_singular) name_zero_pivots();
  has_small_pivots = has_small_pivots || (m_options.perturbation > 0 &&
                                          m_options.perturbation < Impl::default_perturbation<Scalar>());
  if (trusts_pivots()) return is_singular ? Stage::numerically_singular : Stage::factorized;
  if (!Guard::is_suspicious(outcome) && !has_small_pivots && !m_options.estimate_condition &&
      ((m_factorized_before && !m_renewed) || !seems_ill_conditioned()))
    return is_singular ? Stage::numerically_singular : Stage::factorized;
  while (outcome.is_finite() && find_singularity()) {
    // If LDLᵀ has one zero pivot per null vector, no further null vector is found, and the inertia is
    // correct.
    is_singular = true;
    m_report.inertia = {};
    const auto again = m_factorization->factorize_with_more_zeros(m_exec);
    if (!again) break;
    outcome = *again;
    report_pivots(outcome);
    name_zero_pivots();
  }
  return is_singular ? Stage::numerically_singular : Stage::factorized;
}

/// Returns whether only zero pivots make the matrix singular.
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::trusts_pivots() const {
  const auto* const ldlt = std::get_if<LdltOptions>(&m_analysis->options);
  return ldlt != nullptr && ldlt->trust_pivots;
}

/// Returns whether one solve with the first factors of an analysis indicates a large condition number. A
/// singular matrix may have no small pivot, if its null vector is graded, and no large solution, if the
/// right-hand side happens to give a small one.
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::seems_ill_conditioned() {
  const Impl::RunStage running(m_budget, "condition");
  try {
    reserve_column();
    const double condition = m_guard.probe(m_exec, operator_for(Transposition::none), *m_factorization,
                                           scales(), m_column, m_report);
    m_column = {};  // most matrices do not need it again
    // A solve that the watchdog stopped gives no information; later solves will be stopped, too.
    if (!std::isfinite(condition) && m_factorization->consume_timeout(m_exec) >= 0) return false;
    return !(condition <= Guard::max_probed);
  } catch (const OutOfMemoryError&) {
    m_column = {};
    return false;
  }
}

/// Estimates the condition number with the current factors.
/// @returns whether the matrix is singular to working precision, apart from zero pivots
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::find_singularity() {
  const Impl::RunStage running(m_budget, "condition");
  reserve_column();
  const Operator& A = operator_for(Transposition::none);
  bool found = false;
  try {
    const Operator& A_adjoint = operator_for(Transposition::adjoint);
    found =
        m_guard.look(m_exec, A, A_adjoint, *m_factorization, scales(), m_column, m_perturbation, m_report);
  } catch (const OutOfMemoryError&) {  // not enough memory for solves with the adjoint
    found = find_null_vector(m_exec, A, *m_factorization, scales(), m_column, m_report);
  }
  throw_if_stopped();
  return found || (m_guard.is_doubtful() && find_singularity_by_gmres());
}

template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::find_singularity_by_gmres() {
  reserve_gmres();
  const bool found = find_null_vector_by_gmres(m_exec, operator_for(Transposition::none),
                                               operator_for(Transposition::adjoint), *m_factorization,
                                               scales(), m_column, m_gmres, m_budget, m_report);
  throw_if_stopped();
  return found;
}

/// Writes the rows and columns of zero pivots to the report.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::name_zero_pivots() {
  m_report.singular_rows.clear();
  m_report.singular_columns.clear();
  for (const Pivot& pivot : m_factorization->pivots(m_exec)) {
    if (!pivot.perturbed) continue;
    m_report.singular_rows.push_back(pivot.row);
    m_report.singular_columns.push_back(pivot.column);
  }
}

/// Factorizes again in working precision where pivots, growth or a solve cast doubt on factors in single
/// precision. Singular matrices are therefore found by factors in working precision.
template <class Scalar, class ExecutionSpace>
FactorizationOutcome Numeric<Scalar, ExecutionSpace>::settle_precision(FactorizationOutcome outcome) {
  if (!m_factorization->has_single_precision()) {
    const auto* const lu = std::get_if<LuOptions>(&m_analysis->options);
    if (lu != nullptr && lu->factor_precision == FactorPrecision::single && m_factorized_before)
      m_report.escalations.push_back("factors in working precision, as an earlier matrix needed them");
    return outcome;
  }
  std::string reason;
  if (!outcome.is_finite() || Guard::is_suspicious(outcome)) {
    reason = "pivots or growth in single precision";
  } else if (!m_factorized_before && seems_ill_conditioned()) {
    reason = "ill-conditioned for single precision";
  } else {
    return outcome;
  }
  return factorize_in_working_precision(reason).value_or(outcome);
}

/// Replaces factors in single precision. Returns nothing and keeps them if memory does not suffice.
template <class Scalar, class ExecutionSpace>
std::optional<FactorizationOutcome> Numeric<Scalar, ExecutionSpace>::factorize_in_working_precision(
    const std::string& reason) {
  try {
    m_factorization->raise_precision(m_exec);
    FactorizationOutcome outcome = factorize_values();
    m_guard.forget();
    m_report.escalations.push_back(reason + ": factorized in working precision");
    return outcome;
  } catch (const OutOfMemoryError& error) {
    m_report.escalations.push_back(reason + ": no memory for factors in working precision: " + error.what());
    return std::nullopt;
  }
}

#define LUTRA_NUMERIC_CONDITION(Scalar, Space)                                                         \
  template auto Numeric<Scalar, Space>::judge_factors(const FactorizationOutcome&)->Stage;             \
  template FactorizationOutcome Numeric<Scalar, Space>::settle_precision(FactorizationOutcome);        \
  template std::optional<FactorizationOutcome> Numeric<Scalar, Space>::factorize_in_working_precision( \
      const std::string&);                                                                             \
  template bool Numeric<Scalar, Space>::trusts_pivots() const;                                         \
  template bool Numeric<Scalar, Space>::find_singularity();                                            \
  template bool Numeric<Scalar, Space>::find_singularity_by_gmres();
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_NUMERIC_CONDITION)

}  // namespace lutra
