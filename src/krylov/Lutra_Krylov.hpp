// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOV_HPP
#define LUTRA_KRYLOV_HPP

#include <cstddef>
#include <memory>
#include <vector>

#include "Lutra_Factorization.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Krylov methods for several right-hand sides.
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

/// A Krylov method for several right-hand sides at once, with its workspace. Each column has its own
/// recurrences, state and end; each product, preconditioner solve and vector kernel processes all columns in
/// one launch. A method runs in cycles. Each cycle starts from the residual computed from X.
template <class Scalar, class ExecutionSpace>
class KrylovIteration {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = DenseRows<Scalar, Memory>;
  using Operator = LinearOperator<Scalar, ExecutionSpace>;
  using ApproximateInverse = Preconditioner<Scalar, ExecutionSpace>;

  virtual ~KrylovIteration() = default;
  KrylovIteration(const KrylovIteration&) = delete;
  KrylovIteration& operator=(const KrylovIteration&) = delete;

  virtual std::size_t size() const = 0;
  /// Most right-hand sides of a solve.
  virtual std::size_t columns() const = 0;
  /// Most steps of a cycle; for GMRES the restart that memory permits.
  virtual int max_steps() const = 0;
  /// Bytes allocated in the execution space's memory.
  virtual std::size_t bytes() const = 0;

  /// Solves A·X = B.
  /// @param A    op(matrix)
  /// @param M    its op(·)⁻¹ approximates A⁻¹ and must be the same in each call; null for none
  /// @param B, X [n × k], k ≤ columns(); X holds the start and becomes the last iterate
  /// @returns outcome of each column; `residual` is that of X
  /// Waits once for each cycle. Within cycles, waits after each iteration on hosts; on devices every 16
  /// iterations, or as often as costs at most an eighth of the iterations. Allocates nothing on the device.
  /// @throws InputError for shapes and options that do not fit, and for a preconditioner of another order
  virtual std::vector<KrylovOutcome> solve(const ExecutionSpace& exec, const Operator& A,
                                           ApproximateInverse* M, Transposition op, const Rows& B,
                                           const Rows& X, const KrylovOptions& options) = 0;

 protected:
  KrylovIteration() = default;
};

/// Creates a method with memory for n unknowns and k right-hand sides.
/// @param restart of GMRES; halved, down to 8, while the budget or memory does not suffice
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::unique_ptr<KrylovIteration<Scalar, ExecutionSpace>> make_krylov_iteration(
    const ExecutionSpace& exec, KrylovMethod method, std::size_t n, std::size_t columns, int restart,
    const MemoryBudget& budget);

}  // namespace lutra

#endif
