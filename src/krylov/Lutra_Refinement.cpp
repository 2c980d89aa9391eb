// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Refinement.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

/// What keep_better decides of a column.
template <class Scalar>
struct Comparison {
  bool is_better, is_halved;

  /// Smaller errors say nothing of the solution.
  static constexpr double least_normwise = static_cast<double>(epsilon_of<Scalar>);

  Comparison(const BackwardErrors& trial, const BackwardErrors& errors, std::size_t c, double tolerance) {
    const double error = errors.componentwise[c];
    is_better = trial.componentwise[c] < error;
    is_halved = trial.componentwise[c] <= 0.5 * error;
    const bool is_wrong = error > tolerance && errors.normwise[c] > least_normwise;
    if (is_wrong && trial.normwise[c] <= 0.5 * errors.normwise[c]) is_better = is_halved = true;
  }
};

/// Y = X in column c, without entries below `least`.
template <class ExecutionSpace, class Rows>
static void drop_small(const ExecutionSpace& exec, const Rows& X, const Rows& Y, std::size_t c,
                       double least) {
  using Scalar = typename Rows::value_type;
  Impl::for_range(
      exec, "lutra::krylov::drop_small", static_cast<std::int64_t>(X.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const Scalar x = X(i, c);
        Y(i, c) = static_cast<double>(ScalarTraits<Scalar>::magnitude(x)) < least ? Scalar(0) : x;
      });
}

}  // namespace

template <class Scalar, class ExecutionSpace>
SolveWorkspace<Scalar, ExecutionSpace>::SolveWorkspace(const ExecutionSpace& exec, std::size_t n,
                                                       std::size_t k, const MemoryBudget& budget)
    : reservation(budget) {
  using Memory = typename ExecutionSpace::memory_space;
  reservation.template reserve<Memory>(exec, "lutra::krylov::solve workspace", bytes(n, k));
  for (Rows* rows : {&B, &X, &R, &trial_X, &trial_R})
    *rows = reservation.template allocate<Rows>(exec, "lutra::krylov::solve workspace", n, k);
  maxima = ResidualMaxima<ExecutionSpace>(exec, reservation, k);
}

template <class Scalar, class ExecutionSpace>
void SolveWorkspace<Scalar, ExecutionSpace>::queue_errors(const ExecutionSpace& exec, const Operator& A,
                                                          const Rows& Y, const Rows& residual) const {
  if (A.norm() < 0) A.gather_norm(exec, {}, {}, maxima);
  A.residual(exec, B, Y, residual, maxima);
}

template <class Scalar, class ExecutionSpace>
BackwardErrors SolveWorkspace<Scalar, ExecutionSpace>::read_errors(const ExecutionSpace& exec,
                                                                   Operator& A) const {
  maxima.fetch(exec);
  A.join_maxima(maxima.fetched());
  if (A.norm() < 0) A.set_norm(maxima.norm());
  return maxima.errors(X.extent(1), A.norm());
}

template <class Scalar, class ExecutionSpace>
BackwardErrors SolveWorkspace<Scalar, ExecutionSpace>::compute_errors(const ExecutionSpace& exec,
                                                                      Operator& A) const {
  maxima.clear(exec);
  queue_errors(exec, A, X, R);
  return read_errors(exec, A);
}

template <class Scalar, class ExecutionSpace>
bool SolveWorkspace<Scalar, ExecutionSpace>::keep_better(const ExecutionSpace& exec, Operator& A,
                                                         BackwardErrors& errors, double tolerance,
                                                         double goal) {
  constexpr std::size_t bits = 64;  // of `mask`, by which one launch copies columns
  maxima.clear(exec);
  queue_errors(exec, A, trial_X, trial_R);
  const BackwardErrors trial = read_errors(exec, A);
  const std::size_t n_columns = X.extent(1);
  bool progress = false, all_better = true;
  for (std::size_t c = 0; c < n_columns; ++c)
    all_better = all_better && Comparison<Scalar>(trial, errors, c, tolerance).is_better;
  for (std::size_t first = 0; first < n_columns; first += bits) {
    const std::size_t count = std::min(bits, n_columns - first);
    std::uint64_t mask = 0;  // columns replaced
    for (std::size_t c = first; c < first + count; ++c) {
      const Comparison<Scalar> compared(trial, errors, c, tolerance);
      if (!compared.is_better) continue;
      progress = progress || (compared.is_halved && errors.componentwise[c] > goal);
      errors.componentwise[c] = trial.componentwise[c];
      errors.normwise[c] = trial.normwise[c];
      errors.amplification[c] = trial.amplification[c];
      mask |= std::uint64_t(1) << (c - first);
    }
    if (mask != 0 && !all_better) Impl::copy_masked_columns(exec, mask, first, count, trial_X, X, trial_R, R);
  }
  trial_is_in_X = all_better;
  if (all_better) {  // the old X is not needed any more
    std::swap(X, trial_X);
    std::swap(R, trial_R);
  }
  return progress;
}

template <class Scalar, class ExecutionSpace>
bool SolveWorkspace<Scalar, ExecutionSpace>::keep_without_rounding_errors(const ExecutionSpace& exec,
                                                                          Operator& A, BackwardErrors& errors,
                                                                          double goal) {
  constexpr RealOf<Scalar> share = RealOf<Scalar>(1) / 128;  // true unknowns change less, even small ones
  Impl::drop_rounding_errors(exec, trial_is_in_X ? trial_X : X, trial_is_in_X ? X : trial_X, trial_X, share);
  constexpr double any = std::numeric_limits<double>::infinity();
  if (keep_better(exec, A, errors, any, goal)) return true;
  // Some rounding errors change less. Unless units differ, they are small beside the largest unknown.
  constexpr double relative = 1024 * static_cast<double>(epsilon_of<Scalar>);
  for (std::size_t c = 0; c < X.extent(1); ++c) {
    const double largest = maxima.host(Impl::slot_of(c, Impl::ColumnMaximum::solution));
    drop_small(exec, X, trial_X, c, errors.componentwise[c] > goal ? relative * largest : 0.0);
  }
  return keep_better(exec, A, errors, any, goal);
}

template <class Scalar, class ExecutionSpace>
RefinementOutcome solve_refined(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                                Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                                const RefinementOptions& options,
                                SolveWorkspace<Scalar, ExecutionSpace>& work,
                                const std::function<void()>& queue_first) {
  const double goal = options.goal > 0 ? options.goal : refinement_goal<Scalar>();
  const double tolerance = options.goal > 0 ? options.goal : default_error_tolerance<Scalar>();
  RefinementOutcome outcome;
  M.apply(exec, op, work.B, work.X);
  work.queue_errors(exec, A, work.X, work.R);
  if (queue_first) queue_first();
  outcome.errors = work.read_errors(exec, A);
  outcome.bad_row = work.maxima.first_bad_row(A.size());
  if (outcome.bad_row) return outcome;
  const Kokkos::Timer timer;
  const auto is_good = [&](double error) { return error <= goal; };
  while (outcome.steps < options.max_steps && !std::ranges::all_of(outcome.errors.componentwise, is_good)) {
    ++outcome.steps;
    M.apply(exec, op, work.R, work.trial_X);
    Impl::add_multiple(exec, Scalar(1), work.X, work.trial_X);
    if (work.keep_better(exec, A, outcome.errors, tolerance, goal)) continue;
    if (!(std::ranges::max(outcome.errors.componentwise) > tolerance)) break;
    if (!work.keep_without_rounding_errors(exec, A, outcome.errors, goal)) break;
  }
  outcome.refine_seconds = timer.seconds();
  return outcome;
}

#define LUTRA_REFINEMENT(Scalar, Space)                                                            \
  template struct SolveWorkspace<Scalar, Space>;                                                   \
  template RefinementOutcome solve_refined(                                                        \
      const Space&, MatrixOperator<Scalar, Space>&, Preconditioner<Scalar, Space>&, Transposition, \
      const RefinementOptions&, SolveWorkspace<Scalar, Space>&, const std::function<void()>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_REFINEMENT)

}  // namespace lutra
