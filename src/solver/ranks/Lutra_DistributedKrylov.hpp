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

/// A Krylov method of rank 0 whose preconditioner, incomplete or complete factors, is applied by all ranks.
///
///     rank 0   A·x ── B ──► broadcast: apply ──► solve on the grid ──► X ── A·x ── … ── broadcast: the end
///     others                wait ──► solve on the grid ──► wait …
///
/// Rank 0 has the matrix, analyses and computes the factors. All calls are collective, errors included; what
/// is not said to be on all ranks is read and written on rank 0 alone. Runs on host memory; instantiated for
/// all scalars where ordinals of 32 bits are built.
template <class Scalar>
class DistributedKrylov {
 public:
  /// @throws InputError for options out of range, and for preconditioners without triangles
  DistributedKrylov(Communicator& comm, const KrylovSolverOptions& options,
                    const DistributedOptions& distribution = {});
  /// Waits for nothing; `close` frees what others may still write to.
  ~DistributedKrylov();
  void close();

  /// @param A on rank 0 @returns on all ranks: success, or what became of the factors
  /// @throws on all ranks: what KrylovSolver::analyze and factorize do
  [[nodiscard]] Status factorize(const HostMatrix<Scalar>& A);

  /// @param B,X [n × k] by columns @param k, op on all ranks
  /// @returns on all ranks: the status of `report()`; X is left alone where there are no factors
  /// @throws on all ranks: CallOrderError, InputError
  Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1,
               Transposition op = Transposition::none);

  /// Status on all ranks; the rest on rank 0.
  const Report& report() const noexcept { return m_report; }
  const ProcessGrid& grid() const noexcept;
  /// As DistributedLU's.
  const std::vector<GridPrediction>& predictions() const noexcept;
  /// Collective: of each rank on rank 0, empty on others.
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
  std::unique_ptr<DistributedFactors<Scalar>> m_factors;  ///< null: none that are usable
  std::int64_t m_n = 0;
  Report m_report;
};

}  // namespace lutra

#endif
