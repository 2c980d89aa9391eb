// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_KrylovSolver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_NumericCalls.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_StoppedSolve.hpp"
#include "Lutra_SystemUnits.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {

namespace {

constexpr std::size_t max_columns_at_once = 8;  // right-hand sides in the workspace

template <class Scalar>
constexpr bool is_double = sizeof(RealOf<Scalar>) == 8;

std::string_view name_of(KrylovMethod method) {
  return method == KrylovMethod::cg ? "cg" : method == KrylovMethod::bicgstab ? "bicgstab" : "gmres";
}

constexpr int rank(Status status) {
  return status == Status::success ? 0 : status == Status::not_converged ? 1 : 2;
}

/// Returns columns [first, first + k) of a View as a `Block`.
template <class Block>
Block columns_of(const Block& X, std::size_t first, std::size_t k) {
  return Kokkos::subview(X, Kokkos::ALL, std::pair(first, first + k));
}
}  // namespace

template <class Scalar, class ExecutionSpace>
KrylovSolver<Scalar, ExecutionSpace>::KrylovSolver(KrylovSolverOptions options, const ExecutionSpace& exec,
                                                   const MemoryBudget& budget)
    : Calls(exec, budget), m_options(std::move(options)) {
  check_options(m_options);
  if (m_options.residual_tolerance == 0) m_options.residual_tolerance = is_double<Scalar> ? 1e-10 : 1e-5;
}

/// Creates the numeric object of a preconditioner by factors. Returns null for other preconditioners.
template <class Scalar, class ExecutionSpace>
auto KrylovSolver<Scalar, ExecutionSpace>::analyze_preconditioner(const matrix_type& A,
                                                                  const LuPlan& given) const
    -> std::unique_ptr<Numerics> {
  const auto over = [&](const auto& options, const LuPlan& known) {
    return std::make_unique<Numerics>(
        known ? known : Impl::analyze_checked<Scalar, ExecutionSpace>(m_exec, A, options, m_budget),
        Impl::numeric_options(options), m_exec, m_budget);
  };
  if (m_options.preconditioning == Preconditioning::ilu) return over(m_options.ilu_options(), nullptr);
  if (m_options.preconditioning == Preconditioning::lu) return over(m_options.lu_options(), given);
  return nullptr;
}

template <class Scalar, class ExecutionSpace>
void KrylovSolver<Scalar, ExecutionSpace>::analyze_with(const matrix_type& A, const LuPlan& given) {
  if (given) {
    if (m_options.preconditioning != Preconditioning::lu)
      throw InputError("analyze: an analysis of LU needs the preconditioner lu");
    check_same_pattern(m_exec, A, given->F.A, m_check, true);
  }
  MemoryReservation reservation(m_budget);
  Sizes A_size(m_exec, reservation, "lutra::solver::A_size", 1);
  Operators operators(A.pattern(), m_budget);
  const bool keeps_units = given != nullptr;
  matrix_type scaled = A;
  if (!keeps_units && (m_options.preconditioning == Preconditioning::ilu ||
                       m_options.preconditioning == Preconditioning::lu)) {
    set_values(A.values, A_size, keeps_units, operators);
    scaled.values = operators.values();
  }
  auto numeric = analyze_preconditioner(scaled, given);
  Report report;
  if (numeric) report = numeric->report();
  const auto pattern =
      numeric ? numeric->analysis()->pattern() : Impl::copy_pattern(m_exec, reservation, A.pattern());
  operators.set_pattern(pattern);
  report.choice.method = name_of(m_options.method);
  report.choice.precond = name_of_preconditioner();
  Impl::wait_for(m_exec, "lutra::solver: the analysis is complete");
  // Up to here nothing has changed; from here on nothing throws.
  m_numeric = std::move(numeric);
  m_diagonal.reset();
  m_pattern = pattern;
  m_A_size = A_size;
  m_keeps_units = keeps_units;
  m_reservation = std::move(reservation);
  m_operators = std::move(operators);
  m_iteration.reset();
  m_report = std::move(report);
  m_stage = Stage::analyzed;
  m_factor_escalations = 0;
  m_factorized_before = false;
  Impl::report_memory(m_budget, m_report);
}

template <class Scalar, class ExecutionSpace>
std::string_view KrylovSolver<Scalar, ExecutionSpace>::name_of_preconditioner() const {
  switch (m_options.preconditioning) {
    case Preconditioning::ilu:
      return lutra::name_of(m_options.ilu);
    case Preconditioning::lu:
      return "lu";
    case Preconditioning::jacobi:
      return "jacobi";
    default:
      return m_foreign ? "user" : "none";
  }
}

template <class Scalar, class ExecutionSpace>
Status KrylovSolver<Scalar, ExecutionSpace>::factorize(const matrix_type& A) {
  this->require_analysis("factorize");
  return Calls::stopped("factorize", [&] {
    check_same_pattern(m_exec, A, m_pattern, m_check, m_options.validate_input);
    m_budget.run().poll();  // up to here nothing has changed
    if (m_report.status == Status::structurally_singular) {
      m_stage = Stage::unusable;
      return m_report.status;
    }
    m_stage = Stage::analyzed;
    m_factor_escalations = 0;
    m_report.pivots = {};
    m_report.parilut_steps.clear();
    start_solution(Status::not_solved);
    Impl::report_failure(
        [&] {
          set_values(A.values, m_A_size, m_keeps_units, m_operators);
          const Impl::RunStage stage(m_budget, "numeric");
          const Impl::StageTimer timer(m_exec, m_options.time_stages);
          compute_preconditioner();
          (m_factorized_before ? m_report.times.refactor : m_report.times.numeric) = timer.seconds();
        },
        [&](Status status) {
          m_report.status = status;
          Impl::report_memory(m_budget, m_report);
        });
    m_stage = m_report.status == Status::not_solved ? Stage::factorized : Stage::unusable;
    m_factorized_before = true;
    m_factor_escalations = m_report.escalations.size();
    start_solution(m_report.status);
    Impl::report_memory(m_budget, m_report);
    return Calls::outcome();
  });
}

/// Copies the values, divided by their unit.
/// @param keeps_units whether the unit is 1; set if the caller gave an analysis, whose scales refer to the
///                    unscaled A
template <class Scalar, class ExecutionSpace>
void KrylovSolver<Scalar, ExecutionSpace>::set_values(const Kokkos::View<const Scalar*, memory_space>& values,
                                                      const Sizes& size, bool keeps_units,
                                                      Operators& operators) const {
  operators.set_values(m_exec, values);
  if (keeps_units) return size.fill(m_exec, 1);
  const auto& own = operators.values();
  Impl::queue_largest_part(m_exec, own, size.device());
  Kokkos::parallel_for(
      "lutra::solver::scale_values",
      Kokkos::RangePolicy<ExecutionSpace>(m_exec, 0, static_cast<std::int64_t>(own.extent(0))),
      Impl::ScaleMatrix<std::decay_t<decltype(own)>, std::decay_t<decltype(size.device())>>{own,
                                                                                            size.device()});
}

/// Computes the preconditioner for the values of `m_operators`, and adds it to the report.
template <class Scalar, class ExecutionSpace>
void KrylovSolver<Scalar, ExecutionSpace>::compute_preconditioner() {
  const auto& values = m_operators.values();
  if (m_numeric) {
    static_cast<void>(m_numeric->precondition(values));
    const Report& report = m_numeric->report();
    m_report.status = report.status;
    m_report.factors = report.factors;
    m_report.pivots = report.pivots;
    m_report.parilut_steps = report.parilut_steps;
    m_report.escalations = report.escalations;
    m_report.choice.trisolve = report.choice.trisolve;
    m_report.choice.why = report.choice.why;
  } else if (m_options.preconditioning == Preconditioning::jacobi) {
    if (!m_diagonal)
      m_diagonal = std::make_unique<DiagonalPreconditioner<Scalar, ExecutionSpace>>(
          m_exec, static_cast<std::size_t>(m_pattern.n_rows), m_budget);
    m_diagonal->set_values(m_exec, matrix_type{m_pattern.n_rows, m_pattern.n_cols, m_pattern.row_map,
                                               m_pattern.entries, values});
  }
}

template <class Scalar, class ExecutionSpace>
auto KrylovSolver<Scalar, ExecutionSpace>::inverse() -> Inverse* {
  if (m_foreign) return m_foreign.get();
  if (m_numeric) return &m_numeric->engine()->preconditioner();
  return m_diagonal.get();
}

template <class Scalar, class ExecutionSpace>
Status KrylovSolver<Scalar, ExecutionSpace>::solve_views(const const_multivector_type& B,
                                                         const multivector_type& X, Transposition op) {
  Impl::check_solve(m_stage == Stage::unusable || m_stage == Stage::factorized, op, rows(), B, X);
  if (m_stage == Stage::unusable) return m_report.status;
  if (const Inverse* const M = inverse()) check_size(*M, m_pattern.n_rows);
  if (B.extent(1) == 0) {
    start_solution(Status::success);
    return m_report.status;
  }
  return Calls::stopped("solve", [&] {
    return Impl::report_failure([&] { return solve_blocks(B, X, op); },
                                [&](Status status) {
                                  start_solution(status);
                                  Impl::report_memory(m_budget, m_report);
                                });
  });
}

template <class Scalar, class ExecutionSpace>
Status KrylovSolver<Scalar, ExecutionSpace>::solve_blocks(const const_multivector_type& B,
                                                          const multivector_type& X, Transposition op) {
  const Impl::RunStage stage(m_budget, "solve");
  const Impl::StageTimer timer(m_exec, m_options.time_stages);
  reserve(std::min(B.extent(1), max_columns_at_once));
  Status status = Status::success;
  for (std::size_t first = 0; first < B.extent(1);) {
    const std::size_t columns = std::min(m_iteration->columns(), B.extent(1) - first);
    try {
      const Status found = solve_block(B, X, first, columns, op);
      if (rank(found) > rank(status)) status = found;
      first += columns;
    } catch (const OutOfMemoryError&) {
      // The preconditioner allocates in its first solve, beside the workspace. Nothing of X is written yet.
      if (m_iteration->columns() == 1) throw;
      const std::size_t fewer = m_iteration->columns() / 2;
      m_iteration.reset();
      reserve(fewer);
    }
  }
  Impl::wait_for(m_exec, "lutra::solver: X is complete");
  m_report.times.solve = timer.seconds();
  Impl::report_memory(m_budget, m_report);
  return m_report.status = status;
}

/// Solves for columns first … first + k. Checks all of B before it writes any part of X.
template <class Scalar, class ExecutionSpace>
Status KrylovSolver<Scalar, ExecutionSpace>::solve_block(const const_multivector_type& B,
                                                         const multivector_type& X, std::size_t first,
                                                         std::size_t k, Transposition op) {
  const auto n = static_cast<std::size_t>(m_pattern.n_rows);
  const auto trim = [&](const Rows& block) { return Rows(block.data(), n, k); };
  const Rows b = trim(m_B), x = trim(m_X), r = trim(m_R);
  auto& A = m_operators.get(m_exec, op);
  m_maxima.clear(m_exec);
  Impl::copy_and_check(m_exec, B, first, k, first == 0 ? B.extent(1) : first + k, b, m_maxima.slots(),
                       m_maxima.bad_row_slot());
  const auto scale = [&](const Rows& block, int A_factor, int B_factor) {
    using Body = Impl::ScaleColumns<Rows, std::decay_t<decltype(m_A_size.device())>>;
    Impl::for_entries(m_exec, "lutra::solver::scale_columns", block,
                      Body{block, m_A_size.device(), m_B_sizes.device(), A_factor, B_factor});
  };
  for (std::size_t c = 0; c < k; ++c)
    Impl::queue_largest_part(m_exec, Kokkos::subview(b, Kokkos::ALL, c),
                             Kokkos::subview(m_B_sizes.device(), std::pair(c, c + 1)));
  scale(b, 0, -1);
  if (m_options.start_from_x) {
    Impl::copy_block(m_exec, columns_of(X, first, k), x);
    scale(x, 1, -1);
  } else {
    Impl::set_zero(m_exec, x);
  }
  const auto outcomes = iterate(A, op, b, x);
  A.residual(m_exec, b, x, r, m_maxima);
  if (A.norm() < 0) A.gather_norm(m_exec, {}, {}, m_maxima);
  m_A_size.queue_fetch(m_exec);
  m_B_sizes.queue_fetch(m_exec);
  m_maxima.fetch(m_exec);
  if (A.norm() < 0) A.set_norm(m_maxima.norm());
  if (const auto bad_row = m_maxima.first_bad_row(static_cast<std::int64_t>(n)))
    throw InputError("B: row " + std::to_string(*bad_row) + " holds NaN or infinity");
  if (first == 0) start_solution(Status::not_solved);
  BackwardErrors errors = m_maxima.errors(k, A.norm());
  for (std::size_t c = 0; c < k; ++c)
    if (!has_range(c)) errors.componentwise[c] = errors.normwise[c] = std::numeric_limits<double>::infinity();
  record(outcomes, errors);
  Status status = Status::success;
  for (std::size_t c = 0; c < k; ++c) {
    const Status found = std::isfinite(errors.normwise[c]) ? to_status(outcomes[c].stop) : Status::breakdown;
    if (rank(found) > rank(status)) status = found;
  }
  if (status != Status::success) throw_if_stopped();
  scale(x, -1, 1);
  const auto solutions = columns_of(X, first, k);
  bool all_in_range = true;
  for (std::size_t c = 0; c < k; ++c) all_in_range = all_in_range && has_range(c);
  if (all_in_range) {
    Impl::copy_block(m_exec, x, solutions);
    return status;
  }
  for (std::size_t c = 0; c < k; ++c)  // X is left unchanged if the type cannot represent the result
    if (has_range(c)) Impl::copy_column(m_exec, x, c, solutions, c);
  return status;
}

/// Runs the iteration. A caller's preconditioner approximates the caller's A and is adapted to the units.
/// With split preconditioning it is used unchanged, since the scale of its two parts is arbitrary.
template <class Scalar, class ExecutionSpace>
std::vector<KrylovOutcome> KrylovSolver<Scalar, ExecutionSpace>::iterate(
    const LinearOperator<Scalar, ExecutionSpace>& A, Transposition op, const Rows& B, const Rows& X) {
  if (!m_foreign || m_options.side == PreconditionSide::split)
    return m_iteration->solve(m_exec, A, inverse(), op, B, X, m_options);
  Impl::ScaledPreconditioner<Scalar, ExecutionSpace, std::decay_t<decltype(m_A_size.device())>> M(
      *m_foreign, m_A_size.device());
  return m_iteration->solve(m_exec, A, &M, op, B, X, m_options);
}

/// Returns whether column c of X neither overflows nor underflows in the units of A and B, judged by the
/// maxima fetched last.
template <class Scalar, class ExecutionSpace>
bool KrylovSolver<Scalar, ExecutionSpace>::has_range(std::size_t c) const {
  using Layout = Impl::RealBits<RealOf<Scalar>>;
  const double largest = m_maxima.host(Impl::slot_of(c, Impl::ColumnMaximum::solution));
  if (!(largest > 0)) return true;
  const int exponent = Impl::exponent_of(largest) + Impl::exponent_of(m_B_sizes.host()(c)) -
                       Impl::exponent_of(m_A_size.host()(0));
  return exponent >= Layout::min_exponent && exponent <= Layout::max_exponent;
}

/// Adds outcomes to the report.
template <class Scalar, class ExecutionSpace>
void KrylovSolver<Scalar, ExecutionSpace>::record(const std::vector<KrylovOutcome>& outcomes,
                                                  const BackwardErrors& errors) {
  for (const KrylovOutcome& outcome : outcomes) {
    if (m_report.iterations && outcome.iterations <= *m_report.iterations) continue;
    m_report.iterations = outcome.iterations;
    m_report.residual_history = outcome.history;
  }
  const auto raise = [](std::optional<double>& most, const std::vector<double>& values) {
    most = std::max(most.value_or(0), std::ranges::max(values));
  };
  raise(m_report.errors.backward_componentwise, errors.componentwise);
  raise(m_report.errors.backward_normwise, errors.normwise);
}

/// Allocates memory for blocks of `columns` columns, or of fewer if memory does not suffice.
template <class Scalar, class ExecutionSpace>
void KrylovSolver<Scalar, ExecutionSpace>::reserve(std::size_t columns) {
  if (m_iteration && m_iteration->columns() >= columns) return;
  const auto n = static_cast<std::size_t>(m_pattern.n_rows);
  m_exec.fence("lutra::solver: the smaller workspace is freed");
  for (;; columns /= 2) {
    try {
      m_iteration.reset();
      m_B = m_X = m_R = {};
      m_maxima = {};
      m_B_sizes = {};
      m_work = MemoryReservation(m_budget);
      for (Rows* block : {&m_B, &m_X, &m_R})
        *block = m_work.template allocate<Rows>(m_exec, "lutra::solver::krylov", n, columns);
      m_maxima = ResidualMaxima<ExecutionSpace>(m_exec, m_work, columns);
      m_B_sizes = Sizes(m_exec, m_work, "lutra::solver::B_sizes", columns);
      m_iteration =
          make_krylov_iteration<Scalar>(m_exec, m_options.method, n, columns, m_options.restart, m_budget);
      return;
    } catch (const OutOfMemoryError&) {
      if (columns == 1) throw;
    }
  }
}

/// Clears the previous solution from the report. Escalations of the factorization remain.
template <class Scalar, class ExecutionSpace>
void KrylovSolver<Scalar, ExecutionSpace>::start_solution(Status status) {
  m_report.status = status;
  m_report.errors = {};
  m_report.iterations.reset();
  m_report.residual_history.clear();
  m_report.escalations.resize(m_factor_escalations);
}

/// @throws TimeoutError if the watchdog has stopped a solve with the preconditioner
template <class Scalar, class ExecutionSpace>
void KrylovSolver<Scalar, ExecutionSpace>::throw_if_stopped() {
  if (m_numeric) Impl::throw_if_stopped(m_exec, "solve", *m_numeric->engine());
}

// Defined here, since they would otherwise be compiled again wherever a KrylovSolver is used.
template <class Scalar, class ExecutionSpace>
KrylovSolver<Scalar, ExecutionSpace>::KrylovSolver(KrylovSolver&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
KrylovSolver<Scalar, ExecutionSpace>& KrylovSolver<Scalar, ExecutionSpace>::operator=(
    KrylovSolver&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
KrylovSolver<Scalar, ExecutionSpace>::~KrylovSolver() = default;

#define LUTRA_KRYLOV_SOLVER(Scalar, Space) template class KrylovSolver<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_KRYLOV_SOLVER)

}  // namespace lutra
