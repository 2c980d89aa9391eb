// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOV_HPP
#define LUTRA_KRYLOV_HPP

#include <vector>

#include "Lutra_Status.hpp"

namespace lutra {

// What all Krylov methods take and give. A method is a class that holds the workspace for n unknowns, made
// once; its `solve` takes the operator, a preconditioner, B, X and these options.

/// The Krylov methods for several right-hand sides (Lutra_KrylovIteration.hpp).
enum class KrylovMethod {
  cg,        ///< A and the preconditioner are Hermitian positive definite
  bicgstab,  ///< short recurrences, two products with A a step
  gmres      ///< least residual; its memory grows with the restart
};

/// The system that is iterated on, with M ≈ A. CG keeps symmetry by itself and has no side.
enum class PreconditionSide {
  right,  ///< A·M⁻¹·u = b, x = M⁻¹·u: the residual of the iteration is that of x
  left,   ///< M⁻¹·A·x = M⁻¹·b
  split   ///< L⁻¹·A·U⁻¹·u = L⁻¹·b, x = U⁻¹·u with M = L·U; asks for a SplitPreconditioner
};

/// When an iteration ends.
struct KrylovOptions {
  double tolerance = 1e-10;   ///< of ‖B − A·X‖₂ / ‖B‖₂
  int max_iterations = 1000;  ///< applications of A
  /// A cycle that leaves more of the residual norm, computed from X, is the last.
  double min_progress = 0.999;
  PreconditionSide side = PreconditionSide::right;
};

/// Why an iteration ended.
enum class KrylovStop {
  converged,       ///< the tolerance is met, by a residual that was computed from X
  max_iterations,  ///< not met after the iterations allowed
  stagnated,       ///< a cycle made no progress
  not_finite,      ///< operator or preconditioner gave NaN or infinity; X is the last iterate before
  breakdown  ///< a coefficient of the recurrence is zero up to rounding, after a restart too; CG: A or the
             ///< preconditioner is not positive definite
};

/// How an iteration went.
struct KrylovOutcome {
  KrylovStop stop = KrylovStop::max_iterations;
  int iterations = 0;   ///< applications of A
  int restarts = 0;     ///< cycles after the first
  double residual = 0;  ///< ‖B − A·X‖₂ / ‖B‖₂, computed from X
  /// ‖B − A·X‖₂ / ‖B‖₂ at the start and after each iteration: as the method estimates it, at the end of a
  /// cycle as computed from X.
  std::vector<double> history;
};

/// What a stop means for a report.
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
