// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Refinement.hpp"

#include <algorithm>
#include <utility>

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

/// Waits for maxima of k columns, and for ‖op(A)‖∞ where it has been gathered with them.
template <class Scalar, class ExecutionSpace>
BackwardErrors read_errors(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                           const ResidualMaxima<ExecutionSpace>& maxima, std::size_t n_columns) {
  maxima.fetch(exec);
  if (A.norm() < 0) A.set_norm(maxima.norm());
  return maxima.errors(n_columns, A.norm());
}

/// Queues the residual of X, and ‖op(A)‖∞ where nobody knows it.
template <class Scalar, class ExecutionSpace, class Rows>
void queue_errors(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                  const SolveWorkspace<Scalar, ExecutionSpace>& work, const Rows& X, const Rows& R) {
  if (A.norm() < 0) A.gather_norm(exec, {}, {}, work.maxima);
  A.residual(exec, work.B, X, R, work.maxima);
}

}  // namespace

template <class Scalar, class ExecutionSpace>
SolveWorkspace<Scalar, ExecutionSpace> make_solve_workspace(const ExecutionSpace& exec, std::size_t n,
                                                            std::size_t k, const MemoryBudget& budget) {
  using Rows = typename SolveWorkspace<Scalar, ExecutionSpace>::Rows;
  SolveWorkspace<Scalar, ExecutionSpace> work;
  work.reservation = MemoryReservation(budget);
  for (Rows* rows : {&work.B, &work.X, &work.R, &work.trial_X, &work.trial_R})
    *rows = work.reservation.template allocate<Rows>(exec, "lutra::krylov::solve workspace", n, k);
  work.maxima = ResidualMaxima<ExecutionSpace>(exec, work.reservation, k);
  return work;
}

template <class Scalar, class ExecutionSpace>
BackwardErrors compute_errors(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                              const SolveWorkspace<Scalar, ExecutionSpace>& work) {
  work.maxima.clear(exec);
  queue_errors(exec, A, work, work.X, work.R);
  return read_errors(exec, A, work.maxima, work.X.extent(1));
}

template <class Scalar, class ExecutionSpace>
bool keep_better(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                 SolveWorkspace<Scalar, ExecutionSpace>& work, BackwardErrors& errors) {
  constexpr std::size_t bits = 64;
  work.maxima.clear(exec);
  queue_errors(exec, A, work, work.trial_X, work.trial_R);
  const std::size_t n_columns = work.X.extent(1);
  const BackwardErrors trial = read_errors(exec, A, work.maxima, n_columns);
  bool progress = false, all_better = true;
  for (std::size_t c = 0; c < n_columns; ++c)
    all_better = all_better && trial.componentwise[c] < errors.componentwise[c];
  for (std::size_t first = 0; first < n_columns; first += bits) {
    const std::size_t count = std::min(bits, n_columns - first);
    std::uint64_t mask = 0;  // columns taken over
    for (std::size_t c = first; c < first + count; ++c) {
      if (!(trial.componentwise[c] < errors.componentwise[c])) continue;
      progress = progress || trial.componentwise[c] <= 0.5 * errors.componentwise[c];
      errors.componentwise[c] = trial.componentwise[c];
      errors.normwise[c] = trial.normwise[c];
      mask |= std::uint64_t(1) << (c - first);
    }
    if (mask != 0 && !all_better)
      Impl::copy_masked_columns(exec, mask, first, count, work.trial_X, work.X, work.trial_R, work.R);
  }
  if (all_better) {  // nothing of X is needed any more
    std::swap(work.X, work.trial_X);
    std::swap(work.R, work.trial_R);
  }
  return progress;
}

template <class Scalar, class ExecutionSpace>
RefinementOutcome solve_refined(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                                Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                                const RefinementOptions& options,
                                SolveWorkspace<Scalar, ExecutionSpace>& work,
                                const std::function<void()>& queue_first) {
  const double goal = options.goal > 0 ? options.goal : 8.0 * static_cast<double>(epsilon_of<Scalar>);
  RefinementOutcome outcome;
  Kokkos::Timer timer;
  M.apply(exec, op, work.B, work.X);
  queue_errors(exec, A, work, work.X, work.R);
  if (queue_first) queue_first();
  outcome.errors = read_errors(exec, A, work.maxima, work.X.extent(1));
  outcome.solve_seconds = timer.seconds();
  outcome.bad_row = work.maxima.first_bad_row(A.size());
  if (outcome.bad_row) return outcome;
  timer.reset();
  const auto is_good = [&](double error) { return error <= goal; };
  while (outcome.steps < options.max_steps && !std::ranges::all_of(outcome.errors.componentwise, is_good)) {
    ++outcome.steps;
    M.apply(exec, op, work.R, work.trial_X);
    Impl::add_multiple(exec, Scalar(1), work.X, work.trial_X);
    if (!keep_better(exec, A, work, outcome.errors)) break;
  }
  outcome.refine_seconds = timer.seconds();
  return outcome;
}

#define LUTRA_REFINEMENT(Scalar, Space)                                                                   \
  template SolveWorkspace<Scalar, Space> make_solve_workspace<Scalar, Space>(                             \
      const Space&, std::size_t, std::size_t, const MemoryBudget&);                                       \
  template BackwardErrors compute_errors(const Space&, MatrixOperator<Scalar, Space>&,                    \
                                         const SolveWorkspace<Scalar, Space>&);                           \
  template bool keep_better(const Space&, MatrixOperator<Scalar, Space>&, SolveWorkspace<Scalar, Space>&, \
                            BackwardErrors&);                                                             \
  template RefinementOutcome solve_refined(                                                               \
      const Space&, MatrixOperator<Scalar, Space>&, Preconditioner<Scalar, Space>&, Transposition,        \
      const RefinementOptions&, SolveWorkspace<Scalar, Space>&, const std::function<void()>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_REFINEMENT)

}  // namespace lutra
