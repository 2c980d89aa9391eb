// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuSolver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "Lutra_GmresRefinement.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LuTriangularSolves.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

constexpr std::size_t max_columns_at_once = 16;  // right-hand sides in the workspace

template <class Scalar>
double default_tolerance() {
  return sizeof(RealOf<Scalar>) == 8 ? 1e-12 : 1e-5;
}

/// The first k columns of a workspace array to columns [first, first + k) of the user's X, unless a row of B
/// that is not finite has been found.
template <class ExecutionSpace, class XView, class Rows>
void copy_solutions(const ExecutionSpace& exec, const Rows& from, const XView& X, std::size_t first,
                    std::size_t k, const ResidualMaxima<ExecutionSpace>& maxima) {
  const auto slots = maxima.slots();
  const std::size_t bad_row = maxima.bad_row_slot();
  Kokkos::parallel_for(
      "lutra::driver::copy_solutions",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(X.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (slots(bad_row) > 0) return;
        for (std::size_t c = 0; c < k; ++c) X(i, first + c) = from(i, c);
      });
}

/// @throws InputError for threshold pivoting with what cannot do it
void check_pivoting(const LuOptions& options) {
  if (!(options.pivot_threshold > 0 && options.pivot_threshold <= 1))
    throw InputError("options: pivot_threshold must be above 0 and at most 1");
  if (options.pivoting != Pivoting::threshold) return;
  if (options.engine == Engine::simplicial)
    throw InputError(
        "options: threshold pivoting works in fronts; the simplicial engine has static pivoting only");
  if (options.solve_precision != FactorPrecision::working)
    throw InputError("options: with threshold pivoting solves read the factors in working precision only");
  if (options.trisolve == TrisolveMethod::levels || options.trisolve == TrisolveMethod::syncfree)
    throw InputError(
        "options: with threshold pivoting solves work on the fronts (trisolve auto or supernodal)");
}

template <class HostView>
std::vector<std::int64_t> to_vector(const HostView& view) {
  std::vector<std::int64_t> result(view.extent(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::int64_t>(view(i));
  return result;
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::LuSolver(LuOptions options, const ExecutionSpace& exec)
    : m_options(std::move(options)), m_exec(exec), m_budget(m_options.memory_limit) {
  check_pivoting(m_options);
  if (!(m_options.tolerance >= 0 && m_options.perturbation >= 0 && m_options.max_refinement_steps >= 0)) {
    throw InputError("options: tolerance, perturbation and max_refinement_steps must be 0 or more");
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::analyze(const Matrix& A) {
  if (m_check.findings.size() == 0) m_check = MatrixCheckWorkspace<ExecutionSpace>(m_exec);
  check_square_matrix(m_exec, A, m_check);
  Report report;
  MemoryBudget budget(m_options.memory_limit);
  auto analysis = analyze_lu(m_exec, A, m_options, budget, report);
  // Nothing has been touched until here: a failed analysis leaves the solver as it was.
  m_budget = budget;
  m_report = report;
  m_analysis = analysis;
  m_n = A.n_rows;
  m_factorization.reset();
  if (m_analysis.n() > 0)
    m_factorization = std::make_unique<Impl::LuFactorization<Scalar, Ordinal, Offset, ExecutionSpace>>(
        m_analysis, m_budget);
  m_values = {};
  m_values_reservation = {};
  m_transposed = {};
  m_plain = m_transposed_operator = m_adjoint = {};
  m_work = m_one_column = {};
  m_gmres = {};
  m_factorized_before = false;
  // Small enough to leave pivots alone that are small by the matrix' own condition, large enough to bound
  // growth.
  m_perturbation = m_options.perturbation > 0 ? m_options.perturbation
                                              : std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 8.0);
  m_stage = report.status == Status::structurally_singular ? Stage::singular_pattern : Stage::analyzed;
  update_memory();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::copy_values(const Matrix& A) {
  if (m_values.extent(0) != A.values.extent(0)) {
    m_values_reservation = MemoryReservation(m_budget);
    m_values = m_values_reservation.template allocate<decltype(m_values)>(m_exec, "lutra::driver::values",
                                                                          A.values.extent(0));
  }
  Kokkos::deep_copy(m_exec, m_values, A.values);
  for (Operator* A_op : {&m_plain, &m_transposed_operator, &m_adjoint}) A_op->set_values(m_values);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(const Matrix& A) {
  if (m_stage == Stage::nothing) throw CallOrderError("factorize: there is no analysis; call analyze first");
  if (m_stage == Stage::singular_pattern) {  // the report of the analysis stands
    check_square_matrix(m_exec, A, m_check);
    return;
  }
  check_same_pattern(m_exec, A, m_analysis.pattern, m_check);
  m_stage = Stage::analyzed;
  m_report.status = Status::not_solved;
  m_report.singular_rows.clear();
  m_report.singular_columns.clear();
  m_report.escalations.clear();
  m_report.errors = {};
  Impl::StageTimer timer(m_exec);
  copy_values(A);
  const bool finite = factorize_within_growth();
  (m_factorized_before ? m_report.times.refactor : m_report.times.numeric) = timer.seconds();
  m_factorized_before = true;
  check_singularity(finite);
  m_factor_escalations = m_report.escalations.size();
  update_memory();
}

/// Factorizes, and does it again with larger replacements where tiny pivots let entries grow so much that the
/// factors would not even serve as a preconditioner. Growth falls with the square of the replacement. True if
/// finite.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
bool LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::factorize_within_growth() {
  constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>);
  constexpr double max_growth = 1e-3 / epsilon;
  bool finite = factorize_with(m_perturbation);
  const bool replaced = *m_report.pivots.perturbed > 0;
  const double larger = std::pow(epsilon, 5.0 / 16.0);
  if (m_options.perturbation == 0 && replaced && m_perturbation < larger &&
      (!finite || *m_report.pivots.growth > max_growth)) {
    m_perturbation = larger;
    finite = factorize_with(m_perturbation);
  }
  if (m_options.perturbation == 0 && m_perturbation >= larger) {
    m_report.escalations.push_back("element growth: pivots replaced below " + std::to_string(m_perturbation));
  }
  return finite;
}

/// Factorizes once; pivot counts go to the report. True if the factors are finite.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
bool LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::factorize_with(double perturbation) {
  const FactorizationOutcome outcome = m_factorization->factorize(
      m_exec, {m_values, m_analysis.row_scale, m_analysis.col_scale}, perturbation);
  m_report.pivots.perturbed = outcome.perturbed;
  m_report.pivots.interchanged = outcome.interchanged;
  m_report.pivots.growth = outcome.growth();
  return outcome.is_finite();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::check_singularity(bool finite) {
  m_stage = Stage::factorized;
  if (!finite) {
    m_report.status = Status::breakdown;
    m_stage = Stage::singular_values;
    return;
  }
  if (*m_report.pivots.perturbed == 0) return;
  const auto& work = m_work.B.extent(1) == 1 ? m_work : one_column();
  if (find_null_vector(m_exec, operator_for(Transposition::none), *m_factorization, scales(), work,
                       m_report)) {
    m_report.status = Status::numerically_singular;
    m_stage = Stage::singular_values;
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::operator_for(Transposition op) -> Operator& {
  Operator& result = op == Transposition::none         ? m_plain
                     : op == Transposition::transposed ? m_transposed_operator
                                                       : m_adjoint;
  if (!result.is_empty()) return result;
  if (op == Transposition::none) {
    result = Operator(m_exec, m_analysis.pattern, {}, false, m_budget);
  } else {
    if (m_transposed.source.extent(0) != m_values.extent(0))
      m_transposed = transpose(m_exec, m_analysis.pattern, m_budget);
    result =
        Operator(m_exec, m_transposed.pattern, m_transposed.source, op == Transposition::adjoint, m_budget);
  }
  result.set_values(m_values);
  return result;
}

/// A workspace of one column, besides that of solves.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
SolveWorkspace<Scalar, ExecutionSpace>& LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::one_column() {
  if (m_one_column.B.extent(1) == 0) m_one_column = make_solve_workspace<Scalar>(m_exec, n(), 1, m_budget);
  return m_one_column;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::check_solve(
    const typename Solver::const_multivector_type& B, const typename Solver::multivector_type& X) const {
  if (m_stage == Stage::nothing || m_stage == Stage::analyzed) {
    throw CallOrderError("solve: there is no factorization; call analyze and factorize first");
  }
  const std::size_t n = this->n();
  if (B.extent(0) != n) {
    throw InputError("B: it has " + std::to_string(B.extent(0)) + " rows, but the matrix has " +
                     std::to_string(n));
  }
  if (X.extent(0) != B.extent(0) || X.extent(1) != B.extent(1)) {
    throw InputError("X: it is " + std::to_string(X.extent(0)) + " × " + std::to_string(X.extent(1)) +
                     ", but B is " + std::to_string(B.extent(0)) + " × " + std::to_string(B.extent(1)));
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::refuse_right_side(std::int64_t row) {
  throw InputError("B: row " + std::to_string(row) + " holds NaN or infinity");
}

/// Of a solve that does not come to solving.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::check_right_sides(
    const typename Solver::const_multivector_type& B) {
  MemoryReservation reservation(m_budget);
  const ResidualMaxima<ExecutionSpace> maxima(m_exec, reservation, 1);
  maxima.clear(m_exec);
  Impl::check_columns(m_exec, B, 0, B.extent(1), maxima.slots(), maxima.bad_row_slot());
  maxima.fetch(m_exec);
  if (const auto row = maxima.first_bad_row(static_cast<std::int64_t>(n()))) refuse_right_side(*row);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::reserve_workspace(std::size_t n_rhs) {
  const std::size_t columns = std::min(std::max<std::size_t>(1, n_rhs), max_columns_at_once);
  if (m_work.B.extent(1) == columns) return;
  m_work = {};
  m_work = make_solve_workspace<Scalar>(m_exec, static_cast<std::size_t>(m_analysis.n()), columns, m_budget);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
Status LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::solve(
    const typename Solver::const_multivector_type& B, const typename Solver::multivector_type& X,
    Transposition op) {
  check_solve(B, X);
  if (m_stage != Stage::factorized) {
    check_right_sides(B);
    return m_report.status;
  }
  if (B.extent(1) == 0) return m_report.status = Status::success;
  Operator& A = operator_for(op);
  const std::size_t n_rhs = B.extent(1);
  reserve_workspace(n_rhs);
  const RefinementOptions refinement{m_options.max_refinement_steps, m_options.tolerance};
  double componentwise = 0, normwise = 0, solve_seconds = 0, refine_seconds = 0;
  std::int64_t steps = 0;
  bool improved = false;  // X has changed after it was copied for the user
  for (std::size_t first = 0; first < n_rhs; first += max_columns_at_once) {
    const std::size_t k = std::min(max_columns_at_once, n_rhs - first);
    const auto& maxima = m_work.maxima;
    maxima.clear(m_exec);
    Impl::copy_and_check(m_exec, B, first, k, m_work.B, maxima.slots(), maxima.bad_row_slot());
    if (first == 0 && k < n_rhs)  // all of B before anything of X
      Impl::check_columns(m_exec, B, k, n_rhs, maxima.slots(), maxima.bad_row_slot());
    const auto copy_to_user = [&] { copy_solutions(m_exec, m_work.X, X, first, k, m_work.maxima); };
    auto outcome = solve_refined(m_exec, A, *m_factorization, op, refinement, m_work, copy_to_user);
    if (outcome.bad_row) refuse_right_side(*outcome.bad_row);
    if (first == 0)  // those of the factorization stand, those of a former solve go
      m_report.escalations.resize(m_factor_escalations);
    const bool rescued = gmres_fallback(op, A, k, outcome);
    if (outcome.steps > 0 || rescued) {
      improved = true;
      copy_to_user();
    }
    componentwise = std::max(componentwise, std::ranges::max(outcome.errors.componentwise));
    normwise = std::max(normwise, std::ranges::max(outcome.errors.normwise));
    solve_seconds += outcome.solve_seconds;
    refine_seconds += outcome.refine_seconds;
    steps = std::max<std::int64_t>(steps, outcome.steps);
  }
  if (improved) m_exec.fence("lutra::SparseLU::solve: X is complete");
  // A solve that was given up leaves NaN, so that a finite first solution needs no look at the flag.
  const bool in_doubt = improved || !(componentwise < std::numeric_limits<double>::infinity());
  const std::int64_t row = in_doubt ? m_factorization->consume_timeout(m_exec) : -1;
  if (row >= 0) {
    throw TimeoutError("solve: row " + std::to_string(row) +
                       " of the factors waited too long in a triangular solve, which was given up");
  }
  m_report.refinement_steps = steps;
  m_report.errors = {normwise, componentwise, std::nullopt};
  m_report.times.solve = solve_seconds;
  m_report.times.refine = refine_seconds;
  assess_solution();
  update_memory();
  return m_report.status;
}

/// Improves the columns that refinement left above the tolerance; true where it has tried.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
bool LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::gmres_fallback(Transposition op, Operator& A,
                                                                       std::size_t n_rhs,
                                                                       RefinementOutcome& outcome) {
  const auto has_stalled = [&](double error) { return !(error <= tolerance()); };
  const auto errors = std::span(outcome.errors.componentwise).first(n_rhs);
  if (m_options.max_refinement_steps == 0 || std::ranges::none_of(errors, has_stalled)) return false;
  Kokkos::Timer timer;
  auto& column = one_column();
  if (m_gmres.restart == 0)
    m_gmres = make_fgmres_workspace<Scalar>(m_exec, n(), gmres_refinement_restart, m_budget);
  int iterations = 0;
  for (std::size_t c = 0; c < n_rhs; ++c) {
    if (!has_stalled(outcome.errors.componentwise[c])) continue;
    Impl::copy_column(m_exec, m_work.B, c, column.B, 0);
    Impl::copy_column(m_exec, m_work.X, c, column.X, 0);
    const BackwardErrors before{{outcome.errors.componentwise[c]}, {outcome.errors.normwise[c]}};
    const auto rescued =
        refine_by_gmres(m_exec, A, *m_factorization, op,
                        op == Transposition::none ? m_analysis.row_scale : m_analysis.col_scale,
                        0.1 * tolerance(), before, column, m_gmres);
    Impl::copy_column(m_exec, column.X, 0, m_work.X, c);
    outcome.errors.componentwise[c] = rescued.errors.componentwise[0];
    outcome.errors.normwise[c] = rescued.errors.normwise[0];
    iterations += rescued.iterations;
  }
  outcome.refine_seconds += timer.seconds();
  if (iterations == 0) return true;
  m_report.escalations.push_back("refinement stalled: " + std::to_string(iterations) +
                                 " GMRES iterations with the factors as preconditioner");
  if (m_stage == Stage::singular_values) return true;  // known from columns before
  if (find_null_vector_by_gmres(m_exec, operator_for(Transposition::none), *m_factorization, scales(), column,
                                m_gmres, m_report))
    m_stage = Stage::singular_values;
  return true;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
double LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::tolerance() const {
  return m_options.tolerance > 0 ? m_options.tolerance : default_tolerance<Scalar>();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::assess_solution() {
  const double error = *m_report.errors.backward_componentwise;
  if (m_stage == Stage::singular_values) {  // found on the way: X solves the system, and so do many others
    m_report.status = Status::numerically_singular;
  } else if (error <= tolerance()) {
    m_report.status = Status::success;
  } else {
    const bool finite = error < std::numeric_limits<double>::infinity();
    m_report.status = finite ? Status::error_above_tolerance : Status::breakdown;
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::update_memory() {
  m_report.memory.device_peak_bytes = m_budget.peak_bytes();
  if (m_budget.limit_bytes() > 0) m_report.memory.limit_bytes = m_budget.limit_bytes();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorStructure LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::structure() const {
  if (m_stage == Stage::nothing) throw CallOrderError("structure: there is no analysis; call analyze first");
  FactorStructure result;
  if (m_stage == Stage::singular_pattern) return result;
  const Kokkos::HostSpace host;
  result.row_order = to_vector(Kokkos::create_mirror_view_and_copy(host, m_analysis.row_order));
  result.col_order = to_vector(Kokkos::create_mirror_view_and_copy(host, m_analysis.col_order));
  auto rows = m_analysis.plan.rows;
  Kokkos::View<const Offset*, Memory> panel_source;
  if (m_analysis.front_solver) rows = pattern_of_fronts(m_exec, m_analysis.fronts, m_budget, panel_source);
  result.row_map = to_vector(Kokkos::create_mirror_view_and_copy(host, rows.row_map));
  result.entries = to_vector(Kokkos::create_mirror_view_and_copy(host, rows.entries));
  const auto& level_map = m_analysis.plan.levels.level_map;
  for (std::size_t l = 0; l + 1 < level_map.size(); ++l) {
    result.level_widths.push_back(static_cast<std::int64_t>(level_map[l + 1] - level_map[l]));
  }
  return result;
}

#define LUTRA_LU_SOLVER(Scalar, Ordinal, Offset, Space) \
  template class LuSolver<Scalar, Ordinal, Offset, Space>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_LU_SOLVER)

}  // namespace lutra
