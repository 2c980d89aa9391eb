// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuSolver.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

constexpr std::size_t most_columns_at_once = 16;  // right-hand sides in the workspace

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
  if (m_options.tolerance < 0 || m_options.perturbation < 0 || m_options.max_refinement_steps < 0) {
    throw InputError("options: tolerance, perturbation and max_refinement_steps must not be negative");
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
  m_factors = {};
  m_values = {};
  m_values_charge = {};
  m_transposed = {};
  m_plain = m_transposed_operator = m_adjoint = {};
  m_work = {};
  m_factorized_before = false;
  m_stage = report.status == Status::structurally_singular ? Stage::singular_pattern : Stage::analyzed;
  update_memory();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::copy_values(const Matrix& A) {
  if (m_values.extent(0) != A.values.extent(0)) {
    m_values_charge = Charge(m_budget);
    m_values = m_values_charge.template allocate<decltype(m_values)>(m_exec, "lutra::driver::values",
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
  const bool finite = factorize_lu(m_exec, m_analysis, Kokkos::View<const Scalar*, Memory>(m_values),
                                   m_options.perturbation, m_budget, m_factors, m_report);
  (m_factorized_before ? m_report.times.refactor : m_report.times.numeric) = timer.seconds();
  m_factorized_before = true;
  judge_factors(finite);
  update_memory();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::judge_factors(bool finite) {
  m_stage = Stage::factorized;
  if (!finite) {
    m_report.status = Status::breakdown;
    m_stage = Stage::singular_values;
    return;
  }
  if (*m_report.pivots.perturbed == 0) return;
  const auto one_column =
      m_work.B.extent(1) == 1 ? m_work : make_solve_workspace<Scalar>(m_exec, n(), 1, m_budget);
  if (find_null_vector(m_exec, m_analysis, m_factors, operator_for(Transposition::none).view, one_column,
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
  const std::size_t columns = std::min(std::max<std::size_t>(1, n_rhs), most_columns_at_once);
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
  const Operator& A = operator_for(op);
  const std::size_t n_rhs = B.extent(1);
  reserve_workspace(n_rhs);
  double componentwise = 0, normwise = 0, solve_seconds = 0, refine_seconds = 0;
  m_report.refinement_steps = 0;
  m_report.escalations.clear();
  for (std::size_t first = 0; first < n_rhs; first += most_columns_at_once) {
    const std::size_t k = std::min(most_columns_at_once, n_rhs - first);
    if (k < m_work.B.extent(1))
      Kokkos::deep_copy(m_exec, m_work.B, Scalar{});  // columns past the last are zero
    copy_columns(m_exec, m_work.B, 0, B, first, k);
    const auto outcome = solve_refined(m_exec, m_analysis, m_factors, op, A.view, A.norm,
                                       m_options.max_refinement_steps, m_work);
    copy_columns(m_exec, X, first, m_work.X, 0, k);
    componentwise = std::max(componentwise, std::ranges::max(outcome.errors.componentwise));
    normwise = std::max(normwise, std::ranges::max(outcome.errors.normwise));
    solve_seconds += outcome.solve_seconds;
    refine_seconds += outcome.refine_seconds;
    m_report.refinement_steps = std::max<std::int64_t>(m_report.refinement_steps, outcome.steps);
  }
  m_exec.fence("lutra::SparseLU::solve: X is complete");
  m_report.errors = {normwise, componentwise, std::nullopt};
  m_report.times.solve = solve_seconds;
  m_report.times.refine = refine_seconds;
  judge_solution();
  update_memory();
  return m_report.status;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>::judge_solution() {
  const double tolerance = m_options.tolerance > 0 ? m_options.tolerance : default_tolerance<Scalar>();
  const double error = *m_report.errors.backward_componentwise;
  if (error <= tolerance) {
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
  result.row_map = to_vector(Kokkos::create_mirror_view_and_copy(host, m_analysis.plan.rows.row_map));
  result.entries = to_vector(Kokkos::create_mirror_view_and_copy(host, m_analysis.plan.rows.entries));
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
