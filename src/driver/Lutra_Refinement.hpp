// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFINEMENT_HPP
#define LUTRA_REFINEMENT_HPP

#include "Lutra_BackwardError.hpp"
#include "Lutra_LinearOperator.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Arrays of a solve with up to k right-hand sides, each [n × k]; kept from solve to solve.
template <class Scalar, class MemorySpace>
struct SolveWorkspace {
  DenseRows<Scalar, MemorySpace> B;                   ///< right-hand sides
  DenseRows<Scalar, MemorySpace> X;                   ///< best solutions so far
  DenseRows<Scalar, MemorySpace> R;                   ///< residuals of X
  DenseRows<Scalar, MemorySpace> trial_X;             ///< X with a correction
  DenseRows<Scalar, MemorySpace> trial_R;             ///< residuals of the trial
  DenseRows<RealOf<Scalar>, MemorySpace> magnitudes;  ///< |A||X| + |B|
  MemoryReservation reservation;
};

/// Allocates a workspace for n unknowns and k right-hand sides.
template <class Scalar, class ExecutionSpace>
SolveWorkspace<Scalar, typename ExecutionSpace::memory_space> make_solve_workspace(
    const ExecutionSpace& exec, std::size_t n, std::size_t k, const MemoryBudget& budget);

/// How a refined solve went.
struct RefinementOutcome {
  int steps = 0;          ///< corrections tried
  BackwardErrors errors;  ///< of X
  double solve_seconds = 0, refine_seconds = 0;
};

/// Solves for all columns of `work.B` and refines: corrections from the residual in working precision are
/// kept, column by column, where they lower the componentwise backward error; it ends when every column is at
/// rounding level, no column has halved its error, or `max_steps` are done (Skeel; Arioli, Demmel and Duff,
/// SIAM J. Matrix Anal. Appl. 10).
/// @param M      an approximate inverse: the factors
/// @param A      op(A) itself, for residuals; A_norm its ∞-norm
/// @param work   B in; X and its residual R out
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
RefinementOutcome solve_refined(
    const ExecutionSpace& exec, Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, double A_norm,
    int max_steps, const SolveWorkspace<Scalar, typename ExecutionSpace::memory_space>& work);

}  // namespace lutra

#endif
