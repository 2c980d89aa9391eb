// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LU takes other pivots where the entries of its factors grow so much that neither refinement nor the search
// for null vectors can rely on them.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "Lutra_ChooseEngine.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KeepPrecision.hpp"
#include "Lutra_OtherPivots.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {
namespace {

std::string describe(Impl::PivotChange change) {
  return change == Impl::PivotChange::threshold
             ? "element growth: rows are interchanged within fronts"
             : "element growth: pivots from the diagonal, rows are interchanged within fronts";
}

/// Whether each entry has one at the mirrored place. Rows are sorted.
bool is_symmetric(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A) {
  const Ordinal* const columns = A.entries.data();
  for (Ordinal i = 0; i < A.n_rows; ++i)
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const Ordinal j = columns[p];
      if (!std::binary_search(columns + A.row_map(j), columns + A.row_map(j + 1), i)) return false;
    }
  return true;
}

}  // namespace

/// Whether growth costs the factors half of the digits, so that they tell neither a singular matrix nor a
/// solution.
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::are_factors_inexact() const {
  return m_stage == Stage::not_finite || !(m_report.pivots.growth.value_or(1) < Guard::near_singular);
}

/// Whether the options leave this choice, and the pattern permits it.
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::may_take(Impl::PivotChange change) const {
  const auto* const lu = std::get_if<LuOptions>(&m_analysis->options);
  if (lu == nullptr || m_analysis->bordered || lu->factor_storage == FactorStorage::streamed ||
      m_options.perturbation > 0 || !Impl::may_take_fronts(*lu) ||
      lu->solve_precision != FactorPrecision::working)  // single triangles are those of fixed patterns
    return false;
  if (change == Impl::PivotChange::threshold) return lu->pivoting == Pivoting::automatic;
  if (lu->pivoting != Pivoting::automatic && lu->pivoting != Pivoting::threshold) return false;
  const auto& A = m_analysis->F.A;
  using Impl::mirror_in;
  return lu->matching == Matching::automatic &&
         is_symmetric({A.n_rows, A.n_cols, mirror_in<Kokkos::HostSpace>(A.row_map),
                       mirror_in<Kokkos::HostSpace>(A.entries)});
}

/// Analyzes the current values for other pivots that have not been tried.
/// @returns false if there are none, or memory does not suffice; the factors are then those of before
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::take_other_pivots() {
  while (m_pivot_changes < Impl::pivot_changes) {
    const auto change = static_cast<Impl::PivotChange>(m_pivot_changes++);
    if (!may_take(change)) continue;
    try {
      const AnalysisPointer analysis = Impl::with_other_pivots<Scalar, ExecutionSpace>(
          m_exec, *m_analysis, m_operators.values(), change, m_budget);
      if (!analysis->plan) continue;
      auto factorization = analysis->plan->make_factorization(m_exec, m_budget);
      if (m_factorization) Impl::keep_precision(m_exec, *m_factorization, *factorization);
      m_factorization = std::move(factorization);
      m_reordered = analysis;
    } catch (const OutOfMemoryError& error) {
      Impl::escalate(m_report, m_budget, describe(change) + ": no memory: " + error.what());
      return false;
    }
    Impl::escalate(m_report, m_budget, describe(change));
    m_scaling = {m_reordered->row_scale, m_reordered->col_scale};
    m_guard.forget();
    m_report.singular_rows.clear();
    m_report.singular_columns.clear();
    m_report.choice = m_reordered->report.choice;
    m_report.factors = m_reordered->report.factors;
    return true;
  }
  return false;
}

/// Returns to the pivots of the analysis, so that factors do not depend on former values.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::restore_pivots() {
  if (!m_reordered || m_analysis->symmetric) return;
  m_factorization = m_analysis->plan->make_factorization(m_exec, m_budget);
  m_reordered = {};
  m_scaling = {m_analysis->row_scale, m_analysis->col_scale};
  m_guard.forget();
  m_report.choice = m_analysis->report.choice;
  m_report.factors = m_analysis->report.factors;
}

/// Factorizes with other pivots while the factors are inexact, or while they are of a nearly singular matrix
/// that former ones called singular: these may have been right. @param stage of the present factors
template <class Scalar, class ExecutionSpace>
auto Numeric<Scalar, ExecutionSpace>::settle_pivots(Stage stage) -> Stage {
  const Stage before = stage;
  m_stage = stage;
  const auto is_contradicted = [&] {
    return before == Stage::numerically_singular && m_guard.condition().value_or(0) >= Guard::near_singular;
  };
  while ((m_stage == Stage::factorized ? is_contradicted() : are_factors_inexact()) && take_other_pivots())
    m_stage = judge_factors(factorize_values());
  if (m_stage == Stage::not_finite && before != Stage::not_finite && m_reordered) {
    restore_pivots();
    m_stage = judge_factors(factorize_values());
  }
  return std::exchange(m_stage, Stage::analyzed);
}

/// Factorizes and solves again with other pivots, where inexact factors gave no solution.
/// @returns whether it has solved again
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::solve_with_other_pivots(Transposition op, std::size_t k,
                                                              RefinementOutcome& outcome) {
  bool changed = false;
  const auto factorize_again = [&] {
    m_guard.forget();
    m_stage = Stage::analyzed;  // if this ends by an exception, there are no factors
    m_stage = judge_factors(factorize_values());
    m_factor_escalations = m_report.escalations.size();
  };
  const auto may_fail = [&] {
    return m_stage == Stage::factorized || m_stage == Stage::numerically_singular ||
           m_stage == Stage::not_finite;
  };
  while (!is_solved(outcome) && may_fail() && are_factors_inexact() && take_other_pivots()) {
    factorize_again();
    if (!can_solve()) continue;
    solve_block_again(op, outcome);
    gmres_fallback(op, k, outcome);
    check_condition(op, k, outcome);
    changed = true;
  }
  if (m_stage == Stage::not_finite && m_reordered) {
    restore_pivots();
    factorize_again();
  }
  return changed;
}

#define LUTRA_NUMERIC_PIVOTS(Scalar, Space)                                                 \
  template void Numeric<Scalar, Space>::restore_pivots();                                   \
  template auto Numeric<Scalar, Space>::settle_pivots(Stage)->Stage;                        \
  template bool Numeric<Scalar, Space>::solve_with_other_pivots(Transposition, std::size_t, \
                                                                RefinementOutcome&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_NUMERIC_PIVOTS)

}  // namespace lutra
