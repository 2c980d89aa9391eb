// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GMRESREFINEMENT_HPP
#define LUTRA_GMRESREFINEMENT_HPP

#include "Lutra_Refinement.hpp"

namespace lutra {

/// How a GMRES refinement of one right-hand side went.
struct GmresOutcome {
  int iterations = 0;     ///< products with A and solves with the factors
  BackwardErrors errors;  ///< of work.X
};

/// Improves a solution that plain refinement could not, by restarted flexible GMRES on the row-scaled system
/// with the factors as right preconditioner. With factors of A + E, E of rank k from k replaced pivots, it
/// needs about k + 1 iterations in exact arithmetic, however large E is; kept directions make it stable
/// however inexact the solves are (Arioli, Duff, Gratton and Pralet, SIAM J. Sci. Comput. 29, 2007; Arioli
/// and Duff, ETNA 33, 2009).
///
/// @param row_scale [n] of the rows of op(A)
/// @param work   one column: B and X in with `errors` of X; the best X and its residual out
/// @param goal   componentwise backward error at which to stop
/// Cost: an iteration is a solve and a product with A; n·(2·restart + 1) scalars of memory for the time of
/// the call, restart being 60.
/// @throws OutOfMemoryError
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
GmresOutcome refine_by_gmres(
    const ExecutionSpace& exec, Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, double A_norm,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& row_scale, double goal,
    const BackwardErrors& errors, const SolveWorkspace<Scalar, typename ExecutionSpace::memory_space>& work,
    const MemoryBudget& budget);

}  // namespace lutra

#endif
