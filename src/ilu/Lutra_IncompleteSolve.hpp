// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INCOMPLETESOLVE_HPP
#define LUTRA_INCOMPLETESOLVE_HPP

#include <memory>
#include <string>

#include "Lutra_Factorization.hpp"
#include "Lutra_IluChoice.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra {

namespace Impl {
template <class Scalar, class ExecutionSpace>
class LuTriangles;
}

/// Position of the factorized matrix F in the user's matrix A: F(k, l) = r(i)·A(i, j)·c(j) with i =
/// row_order(k), j = col_order(l). Empty Views: F is A.
template <class Scalar, class MemorySpace>
struct IncompleteOrder {
  Kokkos::View<const Ordinal*, MemorySpace> row_order;         ///< [n]
  Kokkos::View<const Ordinal*, MemorySpace> col_order;         ///< [n]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> row_scale;  ///< [n] r, in the user's row numbering
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> col_scale;  ///< [n] c, in the user's column numbering
};

/// Options of `IncompleteSolve`.
struct IncompleteSolveOptions {
  IluApply apply = IluApply::automatic;
  int jacobi_sweeps = 3;         ///< per factor
  TriangularOptions triangular;  ///< options of the exact solves
  bool symmetric = false;        ///< apply Uᴴ·D⁻¹·U, D the diagonal of U, whatever L holds
};

/// Applies incomplete factors A ≈ L·U to vectors in user order: by triangular solves, or by a fixed number of
/// Jacobi sweeps on each triangle (Anzt, Chow and Dongarra, Euro-Par 2015), which cost one launch each,
/// however many levels the triangle has. The two parts include permutations and scales: L' = R⁻¹·Pᵀ·L and U'
/// = U·Qᵀ·C⁻¹, so that A ≈ L'·U'. Vectors between the parts are in the row order of the factors.
///
/// With `symmetric`, L' = U'ᴴ = R⁻¹·Pᵀ·Uᴴ·D^(−1/2), from the entries of U and the real parts of its diagonal
/// only. The applied operator is then Hermitian positive definite wherever D is positive; by sweeps too,
/// since a fixed number of sweeps on Uᴴ is the adjoint of as many on U. The pattern must be symmetric and Q =
/// P.
///
/// `automatic` calls `choose_apply`, which compares sweeps with exact solves by predicted time and, with the
/// present values, by the solutions for one pseudo-random right-hand side.
template <class Scalar, class ExecutionSpace>
class IncompleteSolve final : public SplitPreconditioner<Scalar, ExecutionSpace> {
 public:
  using Base = SplitPreconditioner<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Order = IncompleteOrder<Scalar, Memory>;

  /// Analyses the triangles of `factors`; shares their Views and does not read their values. Fences.
  /// @throws InputError for fewer than one sweep; OutOfMemoryError
  IncompleteSolve(const ExecutionSpace& exec, const Factors& factors, const IncompleteSolveOptions& options,
                  const MemoryBudget& budget, const Order& order = {});
  ~IncompleteSolve() override;

  /// Creates a solve that shares the analyses, for factors on the same pattern with their own values. Both
  /// may be used at the same time. This must outlive it.
  /// @throws OutOfMemoryError
  std::unique_ptr<IncompleteSolve> with_own_values(const ExecutionSpace& exec, const Factors& factors,
                                                   const MemoryBudget& budget) const;

  /// Takes over the present values of the factors, which must not change before the next call. Symmetric
  /// factors become NaN if a diagonal is not positive. Allocates the first time. Waits once if Jacobi sweeps
  /// are compared with exact solves; otherwise does not fence on devices.
  void update_values(const ExecutionSpace& exec);

  std::int64_t size() const override { return static_cast<std::int64_t>(m_factors.n); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;
  void apply_lower(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;
  void apply_upper(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;

  bool uses_jacobi() const { return m_uses_jacobi; }
  /// "jacobi", or the method of the triangular solve with U.
  std::string method() const;
  /// Reason for the method, in a sentence; empty if the caller chose it.
  const std::string& reason() const { return m_reason; }
  /// Level sets of L.
  std::int64_t levels() const;
  /// The row of the factors at which the watchdog ended a solve since the last call, or −1. Fences.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

 private:
  using Solves = Impl::LuTriangles<Scalar, ExecutionSpace>;

  IncompleteSolve(const IncompleteSolve& analysed, const Factors& factors, const MemoryBudget& budget);
  void allocate(const ExecutionSpace& exec);
  Solves& solves() const { return m_uses_jacobi ? *m_jacobi : *m_exact; }
  std::unique_ptr<Solves> make_jacobi(const ExecutionSpace& exec, const IncompleteSolveOptions& options,
                                      const MemoryBudget& budget) const;
  void choose(const ExecutionSpace& exec);

  Factors m_factors;
  Order m_order;
  bool m_is_symmetric;
  MemoryReservation m_reservation;
  Kokkos::View<Scalar*, Memory> m_hermitian;        ///< [nnz] Uᴴ and U if symmetric
  Kokkos::View<RealOf<Scalar>*, Memory> m_between;  ///< [n] D^(1/2) if symmetric
  Rows m_trial[3];  ///< [n × 1] a right-hand side and both solutions; empty if only one method is possible
  std::unique_ptr<Solves> m_exact, m_jacobi;  ///< null: not used
  bool m_uses_jacobi = false;
  IluApply m_wanted;
  IluCosts m_costs;
  ApplyProperties m_properties;
  std::string m_reason;
};

}  // namespace lutra

#endif
