// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INCOMPLETESOLVE_HPP
#define LUTRA_INCOMPLETESOLVE_HPP

#include <memory>
#include <string>

#include "Lutra_IluChoice.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LinearOperator.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

namespace Impl {
template <class Scalar, class ExecutionSpace>
class LuTriangularSolves;
}

/// Where the factorized matrix lies in the user's, F(k, l) = r(i)·A(i, j)·c(j) with i = row_order(k),
/// j = col_order(l). Empty Views: F is A.
template <class Scalar, class MemorySpace>
struct IncompleteOrder {
  Kokkos::View<const Ordinal*, MemorySpace> row_order;         ///< [n]
  Kokkos::View<const Ordinal*, MemorySpace> col_order;         ///< [n]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> row_scale;  ///< [n] r, by the user's row
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> col_scale;  ///< [n] c, by the user's column
};

/// What `IncompleteSolve` is chosen by.
struct IncompleteSolveOptions {
  IluApply apply = IluApply::automatic;
  int jacobi_sweeps = 3;         ///< of each factor
  TriangularOptions triangular;  ///< of the exact solves
  bool symmetric = false;        ///< apply Uᴴ·D⁻¹·U, D the diagonal of U, whatever L holds
};

/// Applies incomplete factors A ≈ L·U to vectors in user order: by triangular solves, or by a fixed number of
/// Jacobi sweeps on each triangle (Anzt, Chow and Dongarra, Euro-Par 2015), which cost one launch each,
/// however many levels the triangle has. Permutations and scales belong to the two parts: L' = R⁻¹·Pᵀ·L and
/// U' = U·Qᵀ·C⁻¹, so that A ≈ L'·U'. Vectors between the parts are by rows of the factors.
///
/// With `symmetric`, L' = U'ᴴ = R⁻¹·Pᵀ·Uᴴ·D^(−1/2): the numbers of U and the real parts of its diagonal count
/// alone, so that what is applied is Hermitian positive definite wherever D is positive, by sweeps too, since
/// a fixed number of them on Uᴴ is the adjoint of as many on U. The pattern must be symmetric and Q = P.
///
/// `automatic` asks `choose_apply`: sweeps are compared with exact solves by predicted times, and with the
/// present values by the solutions of one pseudo-random right-hand side.
template <class Scalar, class ExecutionSpace>
class IncompleteSolve final : public SplitPreconditioner<Scalar, ExecutionSpace> {
 public:
  using Base = SplitPreconditioner<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Order = IncompleteOrder<Scalar, Memory>;

  /// Analyses the triangles of `factors`, whose values are not read and whose Views are shared. Fences.
  /// @throws InputError for fewer sweeps than 1; OutOfMemoryError
  IncompleteSolve(const ExecutionSpace& exec, const Factors& factors, const IncompleteSolveOptions& options,
                  const MemoryBudget& budget, const Order& order = {});
  ~IncompleteSolve() override;

  /// Another on the same analyses, for factors on the same pattern with values of their own: the two may be
  /// used at the same time. This must outlive it.
  /// @throws OutOfMemoryError
  std::unique_ptr<IncompleteSolve> with_own_values(const ExecutionSpace& exec, const Factors& factors,
                                                   const MemoryBudget& budget) const;

  /// Takes the values the factors have now. They must not change before the next call. Where a diagonal is
  /// not positive, symmetric factors become NaN. Allocates the first time. Waits once where
  /// Jacobi sweeps are compared with exact solves; does not fence on devices otherwise.
  void update_values(const ExecutionSpace& exec);

  std::int64_t size() const override { return static_cast<std::int64_t>(m_factors.n); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;
  void apply_lower(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;
  void apply_upper(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;

  bool uses_jacobi() const { return m_uses_jacobi; }
  /// "jacobi", or the method of the triangular solve with U.
  std::string method() const;
  /// Why, in a sentence; empty where the caller has chosen.
  const std::string& reason() const { return m_reason; }
  /// Levels of L.
  std::int64_t levels() const;
  /// The row of the factors at which the watchdog gave up a solve since the last call, or −1. Fences.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

 private:
  using Solves = Impl::LuTriangularSolves<Scalar, ExecutionSpace>;

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
  Kokkos::View<Scalar*, Memory> m_hermitian;        ///< [nnz] symmetric: Uᴴ and U
  Kokkos::View<RealOf<Scalar>*, Memory> m_between;  ///< [n] symmetric: D^(1/2)
  Rows m_trial[3];  ///< [n × 1] a right-hand side, and what both give; empty where only one is in question
  std::unique_ptr<Solves> m_exact, m_jacobi;  ///< null: does not come into question
  bool m_uses_jacobi = false;
  IluApply m_wanted;
  IluCosts m_costs;
  ApplyProperties m_properties;
  std::string m_reason;
};

}  // namespace lutra

#endif
