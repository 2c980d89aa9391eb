// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuSolver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

/// to = from for columns [first, first + k) of a user's View and a workspace array, in either direction.
template <class ExecutionSpace, class To, class From>
void copy_columns(const ExecutionSpace& exec, const To& to, std::size_t to_first, const From& from,
                  std::size_t from_first, std::size_t k) {
  Kokkos::parallel_for(
      "lutra::driver::copy_columns",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::size_t c = 0; c < k; ++c) to(i, to_first + c) = from(i, from_first + c);
      });
}

/// The first row of B that is not finite, or n.
template <class Scalar, class ExecutionSpace, class BView>
std::int64_t first_row_not_finite(const ExecutionSpace& exec, const BView& B) {
  const auto n = static_cast<std::int64_t>(B.extent(0));
  const std::size_t n_rhs = B.extent(1);
  std::int64_t first = n;
  Kokkos::parallel_reduce(
      "lutra::driver::check_right_sides", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& least) {
        bool finite = true;
        for (std::size_t c = 0; c < n_rhs; ++c) finite = finite && ScalarTraits<Scalar>::is_finite(B(i, c));
        if (!finite && i < least) least = i;
      },
      Kokkos::Min<std::int64_t>(first));
  return std::min(first, n);
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
  check_square_matrix(m_exec, A);
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
  m_work = {};
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
  m_plain.norm = m_transposed_operator.norm = m_adjoint.norm = -1;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(const Matrix& A) {
  if (m_stage == Stage::nothing) throw CallOrderError("factorize: there is no analysis; call analyze first");
  check_square_matrix(m_exec, A);
  if (m_stage == Stage::singular_pattern) return;  // the report of the analysis stands
  if (!same_pattern(m_exec, A.pattern(), m_analysis.pattern)) {
    throw InputError("matrix: its pattern is not the one that was analyzed; call analyze for a new pattern");
  }
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
  const auto one_column =
      m_work.B.extent(1) == 1 ? m_work : make_solve_workspace<Scalar>(m_exec, n(), 1, m_budget);
  if (find_null_vector(m_exec, *m_factorization, scales(), operator_for(Transposition::none).view, one_column,
                       m_report)) {
    m_report.status = Status::numerically_singular;
    m_stage = Stage::singular_values;
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::operator_for(Transposition op) -> const Operator& {
  Operator& result = op == Transposition::none         ? m_plain
                     : op == Transposition::transposed ? m_transposed_operator
                                                       : m_adjoint;
  if (op == Transposition::none) {
    result.view = {m_analysis.pattern, m_values, {}, false};
  } else {
    if (m_transposed.source.extent(0) != m_values.extent(0)) {
      m_transposed = transpose(m_exec, m_analysis.pattern, m_budget);
    }
    result.view = {m_transposed.pattern, m_values, m_transposed.source, op == Transposition::adjoint};
  }
  if (result.norm < 0) result.norm = norm_inf(m_exec, result.view);
  return result;
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
  const auto bad_row = first_row_not_finite<Scalar>(m_exec, B);
  if (bad_row < static_cast<std::int64_t>(n)) {
    throw InputError("B: row " + std::to_string(bad_row) + " holds NaN or infinity");
  }
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
  if (m_stage != Stage::factorized) return m_report.status;
  if (B.extent(1) == 0) return m_report.status = Status::success;
  const Operator& A = operator_for(op);
  const std::size_t n_rhs = B.extent(1);
  reserve_workspace(n_rhs);
  double componentwise = 0, normwise = 0, solve_seconds = 0, refine_seconds = 0;
  m_report.refinement_steps = 0;
  m_report.escalations.resize(
      m_factor_escalations);  // those of the factorization stand, those of a former solve go
  for (std::size_t first = 0; first < n_rhs; first += max_columns_at_once) {
    const std::size_t k = std::min(max_columns_at_once, n_rhs - first);
    if (k < m_work.B.extent(1))
      Kokkos::deep_copy(m_exec, m_work.B, Scalar{});  // columns past the last are zero
    copy_columns(m_exec, m_work.B, 0, B, first, k);
    auto outcome =
        solve_refined(m_exec, *m_factorization, op, A.view, A.norm, m_options.max_refinement_steps, m_work);
    gmres_fallback(op, A, k, outcome);
    copy_columns(m_exec, X, first, m_work.X, 0, k);
    componentwise = std::max(componentwise, std::ranges::max(outcome.errors.componentwise));
    normwise = std::max(normwise, std::ranges::max(outcome.errors.normwise));
    solve_seconds += outcome.solve_seconds;
    refine_seconds += outcome.refine_seconds;
    m_report.refinement_steps = std::max<std::int64_t>(m_report.refinement_steps, outcome.steps);
  }
  m_exec.fence("lutra::SparseLU::solve: X is complete");
  const std::int64_t row = m_factorization->consume_timeout(m_exec);
  if (row >= 0) {
    throw TimeoutError("solve: row " + std::to_string(row) +
                       " of the factors waited too long in a triangular solve, which was given up");
  }
  m_report.errors = {normwise, componentwise, std::nullopt};
  m_report.times.solve = solve_seconds;
  m_report.times.refine = refine_seconds;
  assess_solution();
  update_memory();
  return m_report.status;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::gmres_fallback(Transposition op, const Operator& A,
                                                                       std::size_t n_rhs,
                                                                       RefinementOutcome& outcome) {
  if (m_options.max_refinement_steps == 0) return;
  SolveWorkspace<Scalar, Memory> one_column;
  int iterations = 0;
  Kokkos::Timer timer;
  for (std::size_t c = 0; c < n_rhs; ++c) {
    if (outcome.errors.componentwise[c] <= tolerance()) continue;
    if (one_column.B.extent(0) == 0) one_column = make_solve_workspace<Scalar>(m_exec, n(), 1, m_budget);
    Impl::copy_column(m_exec, m_work.B, c, one_column.B, 0);
    Impl::copy_column(m_exec, m_work.X, c, one_column.X, 0);
    const BackwardErrors before{{outcome.errors.componentwise[c]}, {outcome.errors.normwise[c]}};
    const auto rescued =
        refine_by_gmres(m_exec, *m_factorization, op, A.view, A.norm,
                        op == Transposition::none ? m_analysis.row_scale : m_analysis.col_scale,
                        0.1 * tolerance(), before, one_column, m_budget);
    Impl::copy_column(m_exec, one_column.X, 0, m_work.X, c);
    outcome.errors.componentwise[c] = rescued.errors.componentwise[0];
    outcome.errors.normwise[c] = rescued.errors.normwise[0];
    iterations += rescued.iterations;
  }
  if (iterations == 0) return;
  m_exec.fence("lutra::driver: GMRES is timed to here");
  outcome.refine_seconds += timer.seconds();
  m_report.escalations.push_back("refinement stalled: " + std::to_string(iterations) +
                                 " GMRES iterations with the factors as preconditioner");
  if (!find_null_vector_by_gmres(m_exec, *m_factorization, scales(), operator_for(Transposition::none).view,
                                 operator_for(Transposition::none).norm, one_column, m_budget, m_report)) {
    return;
  }
  m_stage = Stage::singular_values;
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
