// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Numeric.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LentColumns.hpp"
#include "Lutra_NullVector.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_StoppedSolve.hpp"
#include "Lutra_Timer.hpp"

namespace lutra {
namespace {

constexpr std::size_t columns_at_once = Impl::columns_at_once;

/// Merges the outcome of a block: keeps the worse errors and the larger number of steps, and adds the times.
void take_worse(RefinementOutcome& worst, const RefinementOutcome& block) {
  double& componentwise = worst.errors.componentwise[0];
  double& normwise = worst.errors.normwise[0];
  componentwise = std::max(componentwise, std::ranges::max(block.errors.componentwise));
  normwise = std::max(normwise, std::ranges::max(block.errors.normwise));
  worst.steps = std::max(worst.steps, block.steps);
  worst.refine_seconds += block.refine_seconds;
}

/// Returns whether solutions are so large relative to B that the matrix may be singular.
template <class Scalar>
bool are_large(const BackwardErrors& errors) {
  return std::ranges::max(errors.amplification) > 1 / std::sqrt(static_cast<double>(epsilon_of<Scalar>));
}

/// Returns whether a View is stored like a block by rows.
template <class View>
bool is_by_rows(const View& view) {
  return (view.extent(1) == 1 || view.stride(1) == 1) && view.stride(0) == view.extent(1);
}

/// Copies the first k columns of a workspace array to columns [first, first + k) of the user's X, unless a
/// row of B was found not to be finite.
template <class ExecutionSpace, class XView, class Rows>
void copy_solutions(const ExecutionSpace& exec, const Rows& from, const XView& X, std::size_t first,
                    std::size_t k, const ResidualMaxima<ExecutionSpace>& maxima) {
  using Scalar = typename Rows::value_type;
  const auto slots = maxima.slots();
  const std::size_t bad_row = maxima.bad_row_slot();
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    if (Impl::runs_plain_loops<ExecutionSpace>() && k == 1 && from.extent(1) == 1 && X.stride(0) == 1) {
      Scalar* const to = X.data() + first * X.stride(1);
      if (slots(bad_row) > 0 || from.data() == to) return;  // bad, or solved in place
      std::copy_n(from.data(), from.extent(0), to);
      return;
    }
  }
  Impl::for_range(
      exec, "lutra::solver::copy_solutions", static_cast<std::int64_t>(X.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (slots(bad_row) > 0) return;
        for (std::size_t c = 0; c < k; ++c) X(i, first + c) = from(i, c);
      });
}

}  // namespace

/// Solves for sixteen right-hand sides at a time, or for fewer in the last block.
template <class Scalar, class ExecutionSpace>
Status Numeric<Scalar, ExecutionSpace>::solve_strided(const const_multivector_type& B,
                                                      const multivector_type& X, Transposition op) {
  if (m_analysis->is_incomplete())
    throw InputError("solve: incomplete factors are applied, or given to a Krylov method");
  Impl::check_solve(m_stage != Stage::analyzed, op, static_cast<std::size_t>(m_analysis->n), B, X);
  if (!can_solve() || B.extent(1) == 0) {
    start_solution(status_of(m_stage));
    return m_report.status;
  }
  const auto solve_blocks = [&] {
    const Impl::RunStage stage(m_budget, "solve");
    const Impl::StageTimer timer(m_exec, m_options.time_stages);
    reserve_workspace(B.extent(1));
    if (!needs_check()) {
      m_report.status = solve_unchecked(B, X, op);
      m_report.times.solve = timer.seconds();
      update_memory();
      return m_report.status;
    }
    const Impl::LentColumns<Scalar, ExecutionSpace> lent(m_work, B, X);
    RefinementOutcome worst{.errors = {{0.0}, {0.0}, {0.0}}};
    bool changed = false;  // X changed after the wait for the first solution
    for (std::size_t first = 0; first < B.extent(1); first += columns_at_once) {
      const std::size_t k = std::min(columns_at_once, B.extent(1) - first);
      m_budget.run().poll(static_cast<double>(first), static_cast<double>(B.extent(1)));
      const auto copy_to_user = [&] { copy_solutions(m_exec, m_work.X, X, first, k, m_work.maxima); };
      Operator& A = operator_for(op);
      lent ? m_work.maxima.clear(m_exec) : load_block(B, first, k);
      auto outcome = solve_refined(m_exec, A, *m_factorization, op, refinement(), m_work, copy_to_user);
      check_solved(outcome);
      if (first == 0) start_solution(Status::not_solved);  // B has been checked and is finite
      if (improve_block(op, k, outcome)) {
        copy_to_user();
        changed = true;
      }
      take_worse(worst, outcome);
    }
    if (changed) Impl::wait_for(m_exec, "lutra::solver: X is complete");
    return report_solution(worst, timer.seconds());
  };
  return stoppable(m_exec, m_budget.run(), m_options, "solve", [&] {
    return Impl::report_failure(solve_blocks, [&](Status status) {
      start_solution(status);
      update_memory();
    });
  });
}

template <class Scalar, class ExecutionSpace>
Status Numeric<Scalar, ExecutionSpace>::report_solution(const RefinementOutcome& worst, double seconds) {
  m_report.errors = {worst.errors.normwise[0], worst.errors.componentwise[0], std::nullopt,
                     m_guard.condition(), m_forward_bound};
  m_report.refinement_steps = worst.steps;
  m_report.times.refine = worst.refine_seconds;
  m_report.times.solve = seconds - worst.refine_seconds;
  update_memory();
  m_report.status = status_of_solution();
  m_proven = m_proven || (m_report.status == Status::success && worst.steps == 0 &&
                          m_report.escalations.size() == m_factor_escalations);
  return m_report.status;
}

template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::needs_check() const {
  if (m_stage != Stage::factorized || m_options.check == SolutionCheck::always) return true;
  return m_options.check == SolutionCheck::first && !m_proven;
}

/// Solves without residuals and refinement. Waits for the check of B, for the watchdog and for X.
template <class Scalar, class ExecutionSpace>
Status Numeric<Scalar, ExecutionSpace>::solve_unchecked(const const_multivector_type& B,
                                                        const multivector_type& X, Transposition op) {
  const Impl::LentColumns<Scalar, ExecutionSpace> lent(m_work, B, X);
  for (std::size_t first = 0; first < B.extent(1); first += columns_at_once) {
    const std::size_t k = std::min(columns_at_once, B.extent(1) - first);
    m_budget.run().poll(static_cast<double>(first), static_cast<double>(B.extent(1)));
    lent ? m_work.maxima.clear(m_exec) : load_block(B, first, k);
    m_factorization->apply(m_exec, op, m_work.B, m_work.X);
    copy_solutions(m_exec, m_work.X, X, first, k, m_work.maxima);
    if (first > 0) continue;
    m_work.maxima.fetch(m_exec);
    throw_if_bad(m_work.maxima.first_bad_row(m_analysis->n));
    start_solution(Status::not_solved);
  }
  throw_if_stopped();
  Impl::wait_for(m_exec, "lutra::solver: X is complete");
  return Status::unchecked;
}

/// Improves a block after refinement. Runs GMRES if refinement has stalled, and checks the condition if the
/// solution is suspicious. If the analysis was made for other values and has not led to a solution, renews
/// it, factorizes and solves again.
/// @returns whether solutions have changed after their first wait
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::improve_block(Transposition op, std::size_t k,
                                                    RefinementOutcome& outcome) {
  const auto bound_of_former_blocks = std::exchange(m_forward_bound, std::nullopt);
  m_unknown_solution = false;
  bool changed = outcome.steps > 0;
  changed = solve_in_working_precision(op, outcome) || changed;
  changed = gmres_fallback(op, k, outcome) || changed;
  check_condition(op, k, outcome);
  if (!is_solved(outcome)) {
    changed = renew_for_block(op, k, outcome) || changed;
    changed = solve_with_other_pivots(op, k, outcome) || changed;
  }
  if (bound_of_former_blocks) {
    m_forward_bound = std::max(m_forward_bound.value_or(0), *bound_of_former_blocks);
    m_unknown_solution = *m_forward_bound >= 1;
  }
  return changed;
}

/// Renews the analysis, factorizes and solves again, if the analysis was made for other values.
/// @returns whether it has solved again
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::renew_for_block(Transposition op, std::size_t k,
                                                      RefinementOutcome& outcome) {
  if (!can_solve() || !may_renew()) return false;
  const Stage stage = m_stage;
  if (!renew_analysis("no solution with the analysis of other values")) {
    if (m_report.status == Status::structurally_singular) m_stage = Stage::structurally_singular_values;
    return false;
  }
  m_guard.forget();
  m_stage = Stage::analyzed;  // if this ends by an exception, there are no factors
  m_stage = judge_factors(factorize_values());
  m_factor_escalations = m_report.escalations.size();
  if (!m_factorization || (m_stage != Stage::factorized && m_stage != Stage::numerically_singular)) {
    m_stage = stage;
    return false;
  }
  solve_block_again(op, outcome);
  gmres_fallback(op, k, outcome);
  check_condition(op, k, outcome);
  return true;
}

/// Factorizes in working precision and solves again, where solutions with factors in single precision are
/// inaccurate, or so large that the matrix may be singular.
/// @returns whether it has solved again
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::solve_in_working_precision(Transposition op,
                                                                 RefinementOutcome& outcome) {
  if (!m_factorization->has_single_precision() || m_stage != Stage::factorized) return false;
  const bool solved = is_solved(outcome);
  if (solved && !are_large<Scalar>(outcome.errors)) return false;
  const auto factors = factorize_in_working_precision(solved ? "ill-conditioned for single precision"
                                                             : "refinement stalled in single precision");
  if (!factors) return false;
  m_stage = judge_factors(*factors);
  m_factor_escalations = m_report.escalations.size();
  if (!can_solve()) return false;
  solve_block_again(op, outcome);
  return true;
}

/// Solves once more for the right-hand sides in the workspace, whose former bound no longer holds.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::solve_block_again(Transposition op, RefinementOutcome& outcome) {
  const double seconds = outcome.refine_seconds;
  m_forward_bound.reset();
  m_unknown_solution = false;
  m_work.maxima.clear(m_exec);
  outcome = solve_refined(m_exec, operator_for(op), *m_factorization, op, refinement(), m_work, {});
  check_solved(outcome);
  outcome.refine_seconds += seconds;
}

template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::is_solved(const RefinementOutcome& outcome) const {
  return m_stage == Stage::factorized && !m_unknown_solution &&
         std::ranges::max(outcome.errors.componentwise) <= tolerance();
}

/// Estimates the condition number if solutions are large relative to B, once per factorization. If there is
/// an estimate, bounds the relative errors of the solutions.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::check_condition(Transposition op, std::size_t k,
                                                      const RefinementOutcome& outcome) {
  const auto& errors = outcome.errors;
  const auto worst =
      static_cast<std::size_t>(std::ranges::max_element(errors.componentwise) - errors.componentwise.begin());
  const double error = errors.componentwise[worst];
  if (!std::isfinite(error) || m_stage != Stage::factorized) return;
  try {
    if (!m_guard.condition() && are_large<Scalar>(errors) && find_singularity()) {
      m_stage = Stage::numerically_singular;
      m_report.inertia = {};
      return;
    }
    if (!m_guard.condition()) return;
    double bound = *m_guard.bound(error);
    if (bound >= 1) {
      // If pivots were perturbed, the factors do not reflect a condition number larger than their own.
      const bool is_perturbed = m_report.pivots.perturbed.value_or(0) > 0;
      bound = bound_of_column(op, std::min(worst, k - 1), error, is_perturbed ? bound : 0.0);
    } else if (op != Transposition::none) {
      return;  // the estimate does not apply to op(A)
    }
    m_forward_bound = std::max(m_forward_bound.value_or(0), bound);
    m_unknown_solution = m_unknown_solution || *m_forward_bound >= 1;
  } catch (const OutOfMemoryError& error_of_memory) {
    Impl::escalate(m_report, m_budget,
                   std::string("no memory to estimate the condition: ") + error_of_memory.what());
  }
}

/// Bounds the relative error of the solution in column c of the workspace by the condition of that solution,
/// not below `at_least`.
template <class Scalar, class ExecutionSpace>
double Numeric<Scalar, ExecutionSpace>::bound_of_column(Transposition op, std::size_t c,
                                                        double backward_error, double at_least) {
  const Impl::RunStage stage(m_budget, "condition");
  reserve_column();
  Impl::copy_column(m_exec, m_work.B, c, m_column.B, 0);
  Impl::copy_column(m_exec, m_work.X, c, m_column.X, 0);
  const double bound = m_guard.bound_of_solution(m_exec, operator_for(op), *m_factorization, op, scales(),
                                                 backward_error, at_least, m_column, m_report);
  throw_if_stopped();
  return bound;
}

/// Copies columns first … first + k of B to the workspace. All of B is checked before any part of X is
/// written.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::load_block(const const_multivector_type& B, std::size_t first,
                                                 std::size_t k) {
  const auto& maxima = m_work.maxima;
  maxima.clear(m_exec);
  Impl::copy_and_check(m_exec, B, first, k, first == 0 ? B.extent(1) : first + k, m_work.B, maxima.slots(),
                       maxima.bad_row_slot());
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::throw_if_bad(const std::optional<std::int64_t>& row) {
  if (row) throw InputError("B: row " + std::to_string(*row) + " holds NaN or infinity");
}

/// @throws InputError if a row of B is not finite; TimeoutError if the watchdog has stopped a solve
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::check_solved(const RefinementOutcome& outcome) {
  throw_if_bad(outcome.bad_row);
  // A stopped solve leaves NaN, so a finite first solution makes a check of the flag unnecessary.
  const bool finite = std::isfinite(std::ranges::max(outcome.errors.componentwise));
  if (outcome.steps > 0 || !finite) throw_if_stopped();
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::reserve_workspace(std::size_t n_rhs) {
  const std::size_t columns = std::min(n_rhs, columns_at_once);
  if (m_work.B.extent(1) == columns) return;
  m_work = {};
  m_work = Workspace(m_exec, static_cast<std::size_t>(m_analysis->n), columns, m_budget);
}

/// Runs GMRES on each column whose error is above the tolerance after refinement, and searches for a null
/// vector. Returns whether it has tried. Columns are left unchanged if memory does not suffice.
template <class Scalar, class ExecutionSpace>
bool Numeric<Scalar, ExecutionSpace>::gmres_fallback(Transposition op, std::size_t k,
                                                     RefinementOutcome& outcome) {
  const auto stalled = [&](double error) { return !(error <= tolerance()); };
  const auto errors = std::span(outcome.errors.componentwise).first(k);
  if (m_options.max_refinement_steps == 0 || m_stage == Stage::numerically_singular ||
      std::ranges::none_of(errors, stalled))
    return false;
  const Impl::RunStage stage(m_budget, "refine");
  Kokkos::Timer timer;
  int iterations = 0;
  try {
    reserve_gmres();
    for (std::size_t c = 0; c < k; ++c) {
      if (stalled(errors[c])) iterations += improve_column(op, c, outcome.errors);
    }
    throw_if_stopped();
    if (iterations > 0) look_for_null_vector(iterations);
  } catch (const OutOfMemoryError& error) {
    Impl::escalate(m_report, m_budget,
                   std::string("refinement stalled, no memory for GMRES") +
                       (iterations > 0 ? " on a null vector: " : ": ") + error.what());
  }
  outcome.refine_seconds += timer.seconds();
  return true;
}

/// Runs GMRES once more, after the columns, to find a null vector.
template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::look_for_null_vector(int iterations) {
  Impl::escalate(m_report, m_budget,
                 "refinement stalled: " + std::to_string(iterations) +
                     " GMRES iterations with the factors as preconditioner");
  if (find_singularity_by_gmres()) m_stage = Stage::numerically_singular;
}

/// Runs GMRES on one column. @returns the number of iterations
template <class Scalar, class ExecutionSpace>
int Numeric<Scalar, ExecutionSpace>::improve_column(Transposition op, std::size_t c, BackwardErrors& errors) {
  Impl::copy_column(m_exec, m_work.B, c, m_column.B, 0);
  Impl::copy_column(m_exec, m_work.X, c, m_column.X, 0);
  const BackwardErrors before{{errors.componentwise[c]}, {errors.normwise[c]}, {errors.amplification[c]}};
  const auto& row_scale = op == Transposition::none ? m_scaling.row : m_scaling.col;
  const auto improved = refine_by_gmres(m_exec, operator_for(op), *m_factorization, op, row_scale,
                                        0.1 * tolerance(), before, m_column, m_gmres);
  Impl::copy_column(m_exec, m_column.X, 0, m_work.X, c);
  errors.componentwise[c] = improved.errors.componentwise[0];
  errors.normwise[c] = improved.errors.normwise[0];
  errors.amplification[c] = improved.errors.amplification[0];
  return improved.iterations;
}

template <class Scalar, class ExecutionSpace>
Status Numeric<Scalar, ExecutionSpace>::status_of_solution() const {
  const double error = *m_report.errors.backward_componentwise;
  if (!std::isfinite(error)) return Status::breakdown;
  // The matrix is singular, as found here or earlier: X may solve the system, but so do many other vectors.
  if (m_stage != Stage::factorized) return status_of(m_stage);
  if (m_unknown_solution && error <= tolerance()) return Status::numerically_singular;
  return error <= tolerance() ? Status::success : Status::error_above_tolerance;
}

template <class Scalar, class ExecutionSpace>
double Numeric<Scalar, ExecutionSpace>::tolerance() const {
  return m_options.error_tolerance > 0 ? m_options.error_tolerance : default_error_tolerance<Scalar>();
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::solve_part_views(const const_multivector_type& B,
                                                       const multivector_type& X, const LdltParts& parts,
                                                       Transposition op) {
  const RunningCall running(m_budget.run(), m_options, "solve_parts");
  auto& factors = symmetric_factors("solve_parts");
  check_enumerator("op", op, Transposition::adjoint);
  Impl::check_extents(static_cast<std::size_t>(m_analysis->n), B, X);
  factors.solve_parts(m_exec, op, B, X, parts);
  Impl::wait_for(m_exec, "lutra::solver: X is complete");
  Impl::throw_if_stopped(m_exec, "solve_parts", *m_factorization);
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::apply_strided(const const_multivector_type& B,
                                                    const multivector_type& X, Transposition op) {
  if (!has_factors()) throw CallOrderError("apply: there are no usable factors; call factorize first");
  const RunningCall running(m_budget.run(), m_options, "apply");
  const auto n = static_cast<std::size_t>(m_analysis->n);
  check_enumerator("op", op, Transposition::adjoint);
  Impl::check_extents(n, B, X);
  Impl::throw_if_stopped(m_exec, "apply", *m_factorization);
  using Rows = typename Workspace::Rows;
  const std::size_t columns = B.extent(1);
  if (is_by_rows(B) && is_by_rows(X)) {
    const Rows from(const_cast<Scalar*>(B.data()), n, columns), to(X.data(), n, columns);
    return m_factorization->preconditioner().apply(m_exec, op, from, to);
  }
  if (m_scratch.extent(0) * m_scratch.extent(1) < n * columns) {
    m_exec.fence("lutra::solver: the smaller scratch is freed");
    m_scratch = {};
    m_scratch_reservation = MemoryReservation(m_budget);
    m_scratch = m_scratch_reservation.template allocate<Rows>(m_exec, "lutra::solver::apply", n, columns);
  }
  const Rows block(m_scratch.data(), n, columns);
  Impl::copy_block(m_exec, B, block);
  m_factorization->preconditioner().apply(m_exec, op, block, block);
  Impl::copy_block(m_exec, block, X);
}

template <class Scalar, class ExecutionSpace>
void Numeric<Scalar, ExecutionSpace>::check_applied() {
  if (m_factorization) Impl::throw_if_stopped(m_exec, "apply", *m_factorization);
}

#define LUTRA_NUMERIC_SOLVE(Scalar, Space)                                                       \
  template void Numeric<Scalar, Space>::apply_strided(const const_multivector_type&,             \
                                                      const multivector_type&, Transposition);   \
  template void Numeric<Scalar, Space>::check_applied();                                         \
  template Status Numeric<Scalar, Space>::solve_strided(const const_multivector_type&,           \
                                                        const multivector_type&, Transposition); \
  template void Numeric<Scalar, Space>::solve_part_views(                                        \
      const const_multivector_type&, const multivector_type&, const LdltParts&, Transposition);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_NUMERIC_SOLVE)

}  // namespace lutra
