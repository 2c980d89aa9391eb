// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFINEMENT_HPP
#define LUTRA_REFINEMENT_HPP

#include <functional>
#include <limits>
#include <optional>

#include "Lutra_MatrixOperator.hpp"

namespace lutra {

/// Arrays of a solve with up to k right-hand sides, each [n × k]; reused between solves.
template <class Scalar, class ExecutionSpace>
struct SolveWorkspace {
  using Rows = DenseRows<Scalar, typename ExecutionSpace::memory_space>;
  using Operator = MatrixOperator<Scalar, ExecutionSpace>;

  static constexpr std::size_t arrays = 6;  ///< one of them for maxima, if they are few

  SolveWorkspace() = default;
  /// Bytes of a workspace.
  static std::size_t bytes(std::size_t n, std::size_t k) {
    return arrays * MemoryReservation::padded(n * k * sizeof(Scalar));
  }
  /// @throws OutOfMemoryError
  SolveWorkspace(const ExecutionSpace& exec, std::size_t n, std::size_t k, const MemoryBudget& budget);

  /// Computes R and the errors of X. Waits once.
  /// @param A receives its norm if unknown
  BackwardErrors compute_errors(const ExecutionSpace& exec, Operator& A) const;

  /// Computes the residual and the errors of `trial_X`, and keeps the columns that are better than those of
  /// X, whose errors are `errors`: those with a lower componentwise error, or, where that is above
  /// `tolerance`, with half the normwise one. May swap arrays. Waits once.
  /// @returns true if a column above the goal has at most half its former error
  bool keep_better(const ExecutionSpace& exec, Operator& A, BackwardErrors& errors,
                   double tolerance = std::numeric_limits<double>::infinity(), double goal = 0);

  /// Where refinement stalls: tries the last correction once more without unknowns that it changed by a 128th
  /// or more, which are rounding errors, then X without those below 1024ε of the largest of their column. For
  /// solutions that have exact zeros: where all unknowns of a row are rounding errors, its componentwise
  /// error is about 1 whatever the correction. Waits twice at most.
  /// @returns as keep_better
  bool keep_without_rounding_errors(const ExecutionSpace& exec, Operator& A, BackwardErrors& errors,
                                    double goal);

  /// Queues the residual of Y, and ‖op(A)‖∞ if unknown. Does not wait.
  void queue_errors(const ExecutionSpace& exec, const Operator& A, const Rows& Y, const Rows& residual) const;
  /// Reads the errors queued by queue_errors. Waits.
  BackwardErrors read_errors(const ExecutionSpace& exec, Operator& A) const;

  MemoryReservation reservation;
  Rows B;        ///< right-hand sides
  Rows X;        ///< best solutions so far
  Rows R;        ///< residuals of X
  Rows trial_X;  ///< X with a correction
  Rows trial_R;  ///< residuals of trial_X
  ResidualMaxima<ExecutionSpace> maxima;
  bool trial_is_in_X = false;  ///< after keep_better: X and trial_X were swapped
};

/// Default componentwise backward error at which refinement ends: 8ε, with ε the distance from 1 to the next
/// number.
template <class Scalar>
constexpr double refinement_goal() {
  return 8 * static_cast<double>(epsilon_of<Scalar>);
}

/// Componentwise backward error up to which a computed solution is one, unless the user sets another.
template <class Scalar>
constexpr double default_error_tolerance() {
  return sizeof(RealOf<Scalar>) == 8 ? 1e-12 : 1e-5;
}

/// Stopping criteria of refinement.
struct RefinementOptions {
  int max_steps = 10;
  double goal = 0;  ///< sufficient componentwise backward error; 0: refinement_goal
};

/// Outcome of a refined solve.
struct RefinementOutcome {
  std::optional<std::int64_t> bad_row{};  ///< first row of B that is not finite, if kernels searched for one;
                                          ///< only the first solution has then been computed
  int steps = 0;                          ///< corrections tried
  BackwardErrors errors;                  ///< of X
  double refine_seconds = 0;              ///< after the errors of the first solution were known
};

/// Solves for all columns of `work.B` and refines. Corrections from the residual in working precision are
/// kept, column by column, if they lower the componentwise backward error. Refinement ends when every column
/// has reached the goal, no column has halved its error, or `max_steps` are done (Skeel; Arioli, Demmel and
/// Duff, SIAM J. Matrix Anal. Appl. 10).
///
/// The solution of a sparse right-hand side may have exact zeros. Where all unknowns of a row are rounding
/// errors, its componentwise error is about 1 whatever the correction. So columns above the tolerance are
/// also refined while their normwise error is halved; where they stall, the last correction is tried with its
/// rounding errors set to zero.
///
///     M⁻¹·B ─▶ residual, maxima ─▶ wait ─▶ all good? ── yes ─▶ done
///                                      │ no
///     M⁻¹·R ─▶ X + correction ─▶ residual, maxima ─▶ wait …
///
/// @param A     op(A), for residuals; receives its norm if unknown
/// @param M     approximate inverse, applied with op
/// @param work  B in; X and its residual R out; arrays may be swapped. The caller has cleared `maxima`, and
///              may have queued kernels that search for rows of B that are not finite
/// @param queue_first called once the first solution and its errors are queued; the first wait covers what it
///                    queues
/// Waits once for the first solution, once per step, and up to twice more where a column stalls above the
/// tolerance, for any number of columns, and allocates nothing.
template <class Scalar, class ExecutionSpace>
RefinementOutcome solve_refined(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                                Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                                const RefinementOptions& options,
                                SolveWorkspace<Scalar, ExecutionSpace>& work,
                                const std::function<void()>& queue_first = {});

}  // namespace lutra

#endif
