// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHEDKRYLOV_HPP
#define LUTRA_BATCHEDKRYLOV_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "Lutra_Batch.hpp"
#include "Lutra_Options.hpp"

namespace lutra {

/// Outcome of the last calls of a BatchedKrylov for K systems. Vectors have one element per system, for the
/// worst or slowest of its right-hand sides. Systems that a mask skips have the status `not_solved`.
struct BatchedKrylovReport {
  /// As KrylovSolver::report().status of each system; after `factorize`, of the preconditioner.
  std::vector<Status> statuses;
  std::vector<int> iterations;    ///< applications of A in the last solve
  std::vector<int> restarts;      ///< cycles after the first
  std::vector<double> residuals;  ///< ‖b − A·x‖₂ / ‖b‖₂, computed from x; NaN without a solution
  std::int64_t systems = 0;       ///< K
  std::size_t bytes = 0;          ///< held for values and vectors, without the preconditioner
  double factorize_seconds = 0, solve_seconds = 0;  ///< of the last calls
  /// The worst status of all systems that are not masked: `success` if all are solved, `not_solved` before a
  /// solve.
  Status status = Status::not_solved;
};

namespace Impl {
template <class Scalar, class ExecutionSpace>
class BatchIteration;
}  // namespace Impl

/// Preconditioned CG, BiCGStab or restarted GMRES for K systems with one pattern.
///
/// All systems iterate at once, each with its own coefficients, count of iterations and end. One that has
/// converged, broken down or used up its iterations leaves: its vectors no longer change, and products and
/// preconditioners skip it. A system succeeds if its residual, computed anew from X, meets the tolerance. No
/// bit of a system's solution depends on the other systems, on its place, or on K. docs/batched-krylov.md
/// explains the method.
///
/// The options are those of KrylovSolver. PreconditionSide::split does not exist for batches, and incomplete
/// factors are ILU(k) (BatchedILU).
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class BatchedKrylov : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using numeric_type = BatchedNumeric<Scalar, ExecutionSpace>;
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using values_type = typename numeric_type::values_type;            ///< [nnz × K], any strides
  using const_block_type = typename numeric_type::const_block_type;  ///< [n × nrhs × K], any strides
  using block_type = typename numeric_type::block_type;
  using mask_type = typename numeric_type::mask_type;  ///< [K] on the host; false: the system is skipped

  /// @throws InputError if an option is out of range or does not exist for batches
  explicit BatchedKrylov(KrylovSolverOptions options = {}, const ExecutionSpace& exec = ExecutionSpace());
  BatchedKrylov(BatchedKrylov&&) noexcept;
  BatchedKrylov& operator=(BatchedKrylov&&) noexcept;
  ~BatchedKrylov();

  /// Takes over a pattern, and analyzes it for the preconditioner with the values of one matrix that
  /// represents the others.
  /// @returns success, `structurally_singular` or `cancelled`
  /// @throws as SparseLU::analyze, also for both triangles of a symmetric matrix; InputError for incomplete
  ///         factors that batches do not have. The object is then unchanged.
  [[nodiscard]] Status analyze(const matrix_type& A);

  /// Preconditions all later solves by the factors of another batch, such as a BatchedLDLT or one of older
  /// values; the options must then say Preconditioning::none. Systems without factors there iterate without
  /// a preconditioner. Null removes it.
  /// @throws InputError if the options ask for a preconditioner
  void set_preconditioner(std::shared_ptr<numeric_type> M);

  /// Copies the values of all systems that are not masked, and computes their preconditioners. K may differ
  /// from that of the call before. Waits for the device.
  /// @returns success, the worst status of a system whose preconditioner fails, or `cancelled`
  /// @throws CallOrderError if there is no analysis. InputError if the extents of `values` or the length of
  ///         `mask` do not match, or if a value that is read is NaN or infinite (the message names system,
  ///         row and column); nothing has then changed. After OutOfMemoryError there are no values.
  [[nodiscard]] Status factorize(const values_type& values, const mask_type& mask = {});

  /// Solves op(A_k)·X_k = B_k for all systems that are not masked, one right-hand side of all systems after
  /// the other. Waits as KrylovIteration::solve. Allocates if K or the order has grown.
  /// @param X like B; may be B itself. With KrylovChoices::start_from_x it holds the start. Systems that are
  ///          masked, or whose preconditioner failed, are left unchanged; others get their last iterate.
  /// @returns report().status; `cancelled` if the call was stopped, X is then undefined
  /// @throws CallOrderError if there are no values. InputError if extents do not match, or if B, or X that
  ///         is read, holds NaN or infinity in a system that is solved (the message names system, row and
  ///         column); nothing has then changed. After OutOfMemoryError X is undefined.
  Status solve(const const_block_type& B, const block_type& X, Transposition op = Transposition::none);

  std::int64_t rows() const noexcept;     ///< n; 0 without an analysis
  std::int64_t systems() const noexcept;  ///< K; 0 without values
  const BatchedKrylovReport& report() const noexcept;
  const KrylovSolverOptions& options() const noexcept;

 private:
  std::unique_ptr<Impl::BatchIteration<Scalar, ExecutionSpace>> m_iteration;
};

}  // namespace lutra

#endif
