// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOV_HPP
#define LUTRA_KRYLOV_HPP

#include <vector>

namespace lutra {

// What all Krylov methods take and give. A method is a class that holds the workspace for n unknowns, made
// once; its `solve` takes the operator, a preconditioner, B, X and these options.

/// When an iteration ends.
struct KrylovOptions {
  double tolerance = 1e-10;   ///< of ‖B − A·X‖₂ / ‖B‖₂
  int max_iterations = 1000;  ///< applications of the preconditioner
  /// Of methods that restart: a cycle that leaves more of the residual norm is the last.
  double min_progress = 0.999;
};

/// Why an iteration ended.
enum class KrylovStop {
  converged,       ///< the tolerance is met, by a residual that was computed from X
  max_iterations,  ///< not met after the iterations allowed
  stagnated,       ///< a cycle made no progress
  not_finite       ///< operator or preconditioner gave NaN or infinity; X is the last iterate before
};

/// How an iteration went.
struct KrylovOutcome {
  KrylovStop stop = KrylovStop::max_iterations;
  int iterations = 0;           ///< applications of the preconditioner
  std::vector<double> history;  ///< ‖B − A·X‖₂ at the start and after each iteration, as it is estimated
};

}  // namespace lutra

#endif
