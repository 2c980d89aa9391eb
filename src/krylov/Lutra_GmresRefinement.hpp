// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GMRESREFINEMENT_HPP
#define LUTRA_GMRESREFINEMENT_HPP

#include "Lutra_Fgmres.hpp"
#include "Lutra_Refinement.hpp"

namespace lutra {

/// Iterations per cycle of `refine_by_gmres`; rarely exceeded by the number of perturbed pivots that matter.
inline constexpr int gmres_refinement_restart = 60;

/// Outcome of a GMRES refinement of one right-hand side.
struct GmresOutcome {
  int iterations = 0;     ///< products with A and solves with the factors
  BackwardErrors errors;  ///< of work.X
};

/// Improves a solution that plain refinement could not, by restarted flexible GMRES on the row-scaled system
/// with the factors as right preconditioner. With factors of A + E, E of rank k from k perturbed pivots, it
/// needs about k + 1 iterations in exact arithmetic, however large E is. Stored directions make it stable
/// however inexact the solves are (Arioli, Duff, Gratton and Pralet, SIAM J. Sci. Comput. 29, 2007; Arioli
/// and Duff, ETNA 33, 2009).
///
/// @param row_scale [n] of op(A)
/// @param goal      componentwise backward error at which to stop
/// @param errors    of work.X; if they are infinite, the solve starts from zero
/// @param work      one column: B and X in; the best X and its residual out
/// @param gmres     for n unknowns, reused between calls
/// Cost per iteration: a solve and a product with A. Waits once for each iteration and three times for each
/// of at most four cycles.
template <class Scalar, class ExecutionSpace>
GmresOutcome refine_by_gmres(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                             Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                             const typename MatrixOperator<Scalar, ExecutionSpace>::Scale& row_scale,
                             double goal, const BackwardErrors& errors,
                             SolveWorkspace<Scalar, ExecutionSpace>& work,
                             const Fgmres<Scalar, ExecutionSpace>& gmres);

/// One cycle of the GMRES of refine_by_gmres for the residual in work.R.
/// @param row_scale [n] of op(A)
/// @param work      one column: R in, the correction of X out in trial_X; trial_R is overwritten
/// @returns iterations
/// Waits once for each iteration and once more.
template <class Scalar, class ExecutionSpace>
int correct_by_gmres(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                     Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                     const typename MatrixOperator<Scalar, ExecutionSpace>::Scale& row_scale,
                     const SolveWorkspace<Scalar, ExecutionSpace>& work,
                     const Fgmres<Scalar, ExecutionSpace>& gmres);

}  // namespace lutra

#endif
