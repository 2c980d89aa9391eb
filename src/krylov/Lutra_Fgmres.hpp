// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FGMRES_HPP
#define LUTRA_FGMRES_HPP

#include <utility>
#include <vector>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_Reductions.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Restarted flexible GMRES with right preconditioning for one right-hand side (Saad, SIAM J. Sci. Comput.
/// 14, 1993), with its workspace of n·(2·restart + 1) scalars, on hosts also min(n/512, 256)·(restart + 1),
/// allocated once and reused. On hosts results do not depend on the number of threads.
///
/// Directions are stored as computed. Solving again with their sum would add rounding errors of the
/// preconditioner that the cycle has not seen and cannot correct. A new vector is projected on all of the
/// basis at once, twice: as good as modified Gram–Schmidt (Giraud, Langou, Rozložník and van den Eshof,
/// Numer. Math. 101, 2005).
///
///     v₀ = R/‖R‖;   for each j:   d_j = M⁻¹·v_j,  w = A·d_j
///                                 h = Vᴴ·w, w −= V·h;  h′ = Vᴴ·w, w −= V·h′        two products each
///                                 v_{j+1} = w/‖w‖;  read h + h′ and ‖w‖              one wait
///
/// R and the products w are scaled by powers of two near their largest entries (w by that of the cycle's
/// first iteration), so that squares neither overflow nor underflow.
///
/// Applies op(·)⁻¹ of M, which may differ from call to call.
template <class Scalar, class ExecutionSpace>
class Fgmres {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = DenseRows<Scalar, Memory>;
  using Operator = LinearOperator<Scalar, ExecutionSpace>;
  using ApproximateInverse = Preconditioner<Scalar, ExecutionSpace>;

  Fgmres() = default;
  /// @param restart iterations per cycle; halved, down to 8, while the budget or memory does not suffice
  /// @throws OutOfMemoryError if not even eight fit
  Fgmres(const ExecutionSpace& exec, std::size_t n, int restart, const MemoryBudget& budget);

  /// For vectors whose rows are on several processes. @param reductions outlives this object
  void join_by(const Reductions<Scalar>& reductions) { m_reductions = &reductions; }

  /// Iterations per cycle; 0 before memory is allocated.
  int restart() const { return m_restart; }

  /// One cycle from a zero start: the correction D that minimizes ‖R − A·D‖₂ within the directions found.
  /// @param R    [n × 1] initial residual
  /// @param D    [n × 1] correction, may be R; zero if there was no iteration
  /// @param goal residual norm, relative to ‖R‖₂, at which the cycle ends; `outcome.stop` is then `converged`
  /// Continues iterations and history of `outcome`; the first cycle starts with an empty one. The history of
  /// a cycle holds absolute norms.
  /// @throws InputError for a preconditioner whose order differs from A's; so does `solve`
  /// Waits once for each iteration and once for ‖R‖₂; allocates nothing on the device.
  void cycle(const ExecutionSpace& exec, const Operator& A, ApproximateInverse& M, Transposition op,
             const Rows& R, const Rows& D, double goal, int max_iterations, KrylovOutcome& outcome) const;

  /// Solves A·X = B.
  /// @param B, X [n × 1]; X holds the start and becomes the last iterate
  /// @param R    [n × 1] scratch
  /// Waits as its cycles do and once more for each.
  KrylovOutcome solve(const ExecutionSpace& exec, const Operator& A, ApproximateInverse& M, Transposition op,
                      const Rows& B, const Rows& X, const Rows& R, const KrylovOptions& options) const;

 private:
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
  using Partial = Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory>;
  using Column = Kokkos::View<Scalar*, Kokkos::LayoutLeft, Memory, Kokkos::MemoryUnmanaged>;

  static Rows vector(const Columns& columns, int j);
  Column part_of_column(int begin, int count) const;
  /// The norm value·2^exponent.
  struct Norm {
    RealOf<Scalar> value;
    int exponent;
  };
  /// Vectors whose largest entries are stored in m_sizes.
  enum class Unit { start, product };
  Kokkos::View<RealOf<Scalar>*, Memory> size_of(Unit which) const {
    const auto k = static_cast<std::size_t>(which);
    return Kokkos::subview(m_sizes.device(), std::pair(k, k + 1));
  }
  /// Sets the first basis vector to `from` divided by its norm. Returns the norm. Waits once.
  Norm normalize_start(const ExecutionSpace& exec, const Rows& from) const;
  RealOf<Scalar> fetch_norm(const ExecutionSpace& exec) const;
  Column project(const ExecutionSpace& exec, const Columns& V, const Rows& w, int begin) const;
  void take_unit(const ExecutionSpace& exec, const Rows& w, Unit which, bool measure) const;
  void normalize(const ExecutionSpace& exec, const Rows& w) const;
  std::vector<Scalar> orthogonalize(const ExecutionSpace& exec, int j) const;
  void combine(const ExecutionSpace& exec, std::vector<Scalar> y, int exponent, const Rows& D) const;

  int m_restart = 0;
  const Reductions<Scalar>* m_reductions = nullptr;  ///< null: all rows are here
  Columns m_basis;                                   ///< [n × (restart + 1)] orthonormal columns
  Columns m_directions;                              ///< [n × restart] M⁻¹ times the basis, as computed
  /// [2·(restart + 1) + 1] column of the Hessenberg matrix from the first projection, from the second, and
  /// ‖w‖₂²
  Impl::AsyncResult<Scalar, ExecutionSpace> m_column;
  /// [2] largest entries of the start and of the first product of a cycle; the powers of two near them are
  /// their units
  Impl::AsyncResult<RealOf<Scalar>, ExecutionSpace> m_sizes;
  Partial m_partial;  ///< [chunks of rows × (restart + 1)] sums of a projection on hosts; devices: no rows
  MemoryReservation m_reservation;
};

}  // namespace lutra

#endif
