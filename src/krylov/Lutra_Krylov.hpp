// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOV_HPP
#define LUTRA_KRYLOV_HPP

#include <vector>

#include "Lutra_Status.hpp"

namespace lutra {

// Types common to all Krylov methods. A method is a class that owns the workspace for n unknowns and is
// constructed once; its `solve` takes the operator, a preconditioner, B, X and these options.

/// Krylov methods for several right-hand sides (Lutra_KrylovIteration.hpp).
enum class KrylovMethod {
  cg,        ///< for Hermitian positive definite A and preconditioner
  bicgstab,  ///< short recurrences, two products with A per step
  gmres      ///< minimal residual; memory grows with the restart
};

/// The preconditioned system, with M ≈ A. CG preserves symmetry itself and ignores the side.
enum class PreconditionSide {
  right,  ///< A·M⁻¹·u = b, x = M⁻¹·u: the iteration's residual is that of x
  left,   ///< M⁻¹·A·x = M⁻¹·b
  split   ///< L⁻¹·A·U⁻¹·u = L⁻¹·b, x = U⁻¹·u with M = L·U; requires a SplitPreconditioner
};

/// Stopping criteria.
struct KrylovOptions {
  double residual_tolerance = 1e-10;  ///< for ‖B − A·X‖₂ / ‖B‖₂
  int max_iterations = 1000;          ///< applications of A
  /// a cycle that leaves a larger fraction of the residual norm, computed from X, is the last
  double min_progress = 0.999;
  PreconditionSide side = PreconditionSide::right;
};

/// Why an iteration stopped.
enum class KrylovStop {
  converged,       ///< tolerance met by a residual computed from X
  max_iterations,  ///< tolerance not met after the allowed iterations
  stagnated,       ///< a cycle made no progress
  not_finite,      ///< NaN or infinity from operator or preconditioner; X is the last iterate before it
  breakdown  ///< a coefficient of the recurrence is zero up to rounding, after a restart too; CG: A or the
             ///< preconditioner is not positive definite
};

/// Outcome of an iteration.
struct KrylovOutcome {
  KrylovStop stop = KrylovStop::max_iterations;
  int iterations = 0;   ///< applications of A
  int restarts = 0;     ///< cycles after the first
  double residual = 0;  ///< ‖B − A·X‖₂ / ‖B‖₂, computed from X
  /// ‖B − A·X‖₂ / ‖B‖₂ at the start and after each iteration: estimated by the method, but computed from X at
  /// the end of a cycle
  std::vector<double> history;
};

/// Report status of a stop.
constexpr Status to_status(KrylovStop stop) {
  switch (stop) {
    case KrylovStop::converged:
      return Status::success;
    case KrylovStop::max_iterations:
    case KrylovStop::stagnated:
      return Status::not_converged;
    case KrylovStop::not_finite:
    case KrylovStop::breakdown:
      return Status::breakdown;
  }
  return Status::breakdown;
}

}  // namespace lutra

#endif
