// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Refinement.hpp"

#include <algorithm>

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_Timer.hpp"

namespace lutra {
template <class Scalar, class ExecutionSpace>
SolveWorkspace<Scalar, typename ExecutionSpace::memory_space> make_solve_workspace(
    const ExecutionSpace& exec, std::size_t n, std::size_t k, const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  SolveWorkspace<Scalar, Memory> work;
  work.reservation = MemoryReservation(budget);
  for (auto* rows : {&work.B, &work.X, &work.R, &work.trial_X, &work.trial_R}) {
    *rows = work.reservation.template allocate<DenseRows<Scalar, Memory>>(
        exec, "lutra::driver::solve workspace", n, k);
  }
  work.magnitudes = work.reservation.template allocate<DenseRows<RealOf<Scalar>, Memory>>(
      exec, "lutra::driver::solve magnitudes", n, k);
  return work;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
RefinementOutcome solve_refined(
    const ExecutionSpace& exec, Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, double A_norm,
    int max_steps, const SolveWorkspace<Scalar, typename ExecutionSpace::memory_space>& work) {
  constexpr double rounding_level = 8.0 * static_cast<double>(epsilon_of<Scalar>);
  RefinementOutcome outcome;
  Impl::StageTimer solve_timer(exec);
  M.apply(exec, op, work.B, work.X);
  outcome.solve_seconds = solve_timer.seconds();
  Impl::StageTimer refine_timer(exec);
  outcome.errors = compute_residual(exec, A, A_norm, work.B, work.X, work.R, work.magnitudes);
  const auto at_rounding_level = [&](double error) { return error <= rounding_level; };
  while (outcome.steps < max_steps && !std::ranges::all_of(outcome.errors.componentwise, at_rounding_level)) {
    ++outcome.steps;
    M.apply(exec, op, work.R, work.trial_X);
    Impl::add_multiple(exec, Scalar(1), work.X, work.trial_X);
    const auto trial = compute_residual(exec, A, A_norm, work.B, work.trial_X, work.trial_R, work.magnitudes);
    if (!Impl::keep_better<Scalar>(exec, trial, work, outcome.errors)) break;
  }
  outcome.refine_seconds = refine_timer.seconds();
  return outcome;
}

#define LUTRA_SOLVE_WORKSPACE(Scalar, Space)                                                         \
  template SolveWorkspace<Scalar, typename Space::memory_space> make_solve_workspace<Scalar, Space>( \
      const Space&, std::size_t, std::size_t, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_SOLVE_WORKSPACE, float)
LUTRA_FOR_EACH_SPACE(LUTRA_SOLVE_WORKSPACE, double)
LUTRA_FOR_EACH_SPACE(LUTRA_SOLVE_WORKSPACE, Kokkos::complex<float>)
LUTRA_FOR_EACH_SPACE(LUTRA_SOLVE_WORKSPACE, Kokkos::complex<double>)

#define LUTRA_SOLVE_REFINED(Scalar, Ordinal, Offset, Space)                                        \
  template RefinementOutcome solve_refined(                                                        \
      const Space&, Preconditioner<Scalar, Space>&, Transposition,                                 \
      const ResidualOperator<Scalar, Ordinal, Offset, typename Space::memory_space>&, double, int, \
      const SolveWorkspace<Scalar, typename Space::memory_space>&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_SOLVE_REFINED)

}  // namespace lutra
