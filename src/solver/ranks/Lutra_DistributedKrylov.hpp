// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDKRYLOV_HPP
#define LUTRA_DISTRIBUTEDKRYLOV_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Lutra_DistributedFactors.hpp"
#include "Lutra_KrylovSolver.hpp"

namespace lutra {

/// Krylov method that runs on rank 0, with a preconditioner that all ranks apply. The preconditioner consists
/// of incomplete or complete factors.
///
///     rank 0   A·x ── B ──► broadcast: apply ──► solve on the grid ──► X ── A·x ── … ── broadcast: the end
///     others                wait ──► solve on the grid ──► wait …
///
/// Rank 0 holds the matrix, analyzes it and computes the factors. All calls are collective, and errors are
/// thrown on all ranks. Arguments and results are read and written on rank 0 only unless stated otherwise.
/// The class uses host memory. It is instantiated for all scalars in builds with 32-bit ordinals.
template <class Scalar>
class DistributedKrylov {
 public:
  /// Creates a solver without factors.
  /// @throws InputError if an option is out of range, or if the preconditioner has no triangular factors
  DistributedKrylov(Communicator& comm, const KrylovSolverOptions& options,
                    const DistributedOptions& distribution = {});
  /// Does not wait for other ranks. Call `close` first to free memory that other ranks may still write to.
  ~DistributedKrylov();
  void close();

  /// Computes the preconditioner.
  /// @param A matrix, on rank 0
  /// @returns on all ranks: success, or the status of the failed factorization
  /// @throws on all ranks: whatever KrylovSolver::analyze and factorize throw
  [[nodiscard]] Status factorize(const HostMatrix<Scalar>& A);

  /// Solves op(A)·X = B.
  /// @param B,X [n × k] stored by columns, on rank 0
  /// @param k, op on all ranks
  /// @returns on all ranks: the status of `report()`. X is left unchanged if there are no factors.
  /// @throws on all ranks: CallOrderError, InputError
  Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1,
               Transposition op = Transposition::none);

  /// Returns the status on all ranks, and the complete report on rank 0.
  const Report& report() const noexcept { return m_report; }
  const ProcessGrid& grid() const noexcept;
  /// Returns the same as DistributedLU::predictions.
  const std::vector<GridPrediction>& predictions() const noexcept;
  /// Collective. Returns the statistics of all ranks on rank 0, and an empty vector on the others.
  std::vector<RankStatistics> statistics();

 private:
  class Inverse;
  using Exec = Kokkos::DefaultHostExecutionSpace;
  FactorValues<Scalar> compute_factors(const HostMatrix<Scalar>& A);
  void serve();
  void agree_on_status();

  Communicator& m_comm;
  KrylovSolverOptions m_options;
  DistributedOptions m_distribution;
  std::unique_ptr<KrylovSolver<Scalar, Exec>> m_solver;   ///< on rank 0
  std::unique_ptr<DistributedFactors<Scalar>> m_factors;  ///< null if there are no usable factors
  std::int64_t m_n = 0;
  Report m_report;
};

}  // namespace lutra

#endif
