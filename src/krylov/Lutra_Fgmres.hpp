// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FGMRES_HPP
#define LUTRA_FGMRES_HPP

#include "Lutra_AsyncResult.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_LinearOperator.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// What flexible GMRES works on, n·(2·restart + 1) scalars; made once, kept from solve to solve.
template <class Scalar, class ExecutionSpace>
struct FgmresWorkspace {
  using Memory = typename ExecutionSpace::memory_space;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;

  int restart = 0;
  Columns basis;       ///< [n × (restart + 1)] orthonormal columns
  Columns directions;  ///< [n × restart] M⁻¹ times the basis, as it was computed
  /// [restart + 2] column of the Hessenberg matrix in both directions, [restart + 2] of the second projection
  Impl::AsyncResult<Scalar, ExecutionSpace> column;
  MemoryReservation reservation;

  /// Vector j of a block, as operators take it.
  static DenseRows<Scalar, Memory> vector(const Columns& columns, int j) {
    return DenseRows<Scalar, Memory>(columns.data() + static_cast<std::size_t>(j) * columns.stride(1),
                                     columns.extent(0), std::size_t(1));
  }
};

/// @param restart iterations a cycle; halved, down to 8, while the budget or memory does not suffice
/// @throws OutOfMemoryError where not even eight fit
template <class Scalar, class ExecutionSpace>
FgmresWorkspace<Scalar, ExecutionSpace> make_fgmres_workspace(const ExecutionSpace& exec, std::size_t n,
                                                              int restart, const MemoryBudget& budget);

/// One cycle of flexible GMRES, from a zero start: the correction D that brings ‖R − A·D‖₂ down most within
/// the directions found (Saad, SIAM J. Sci. Comput. 14, 1993; classical Gram–Schmidt twice, as good as
/// modified Gram–Schmidt: Giraud, Langou, Rozložník and van den Eshof, Numer. Math. 101, 2005).
///
/// Directions are kept as they were computed, since solving again with their sum would bring in the rounding
/// of the preconditioner, which the cycle has not seen and cannot mend.
///
///     v₀ = R/‖R‖;   for each j:   d_j = M⁻¹·v_j,  w = A·d_j
///                                 h = Vᴴ·w, w −= V·h;  h′ = Vᴴ·w, w −= V·h′        two products each
///                                 v_{j+1} = w/‖w‖;  read h + h′ and ‖w‖              one wait
///
/// @param M    approximate inverse, of which op's is applied on the right; may differ from call to call
/// @param R    [n × 1] the residual to start from
/// @param D    [n × 1] the correction; zero where the outcome has no iteration
/// @param goal residual norm, in parts of ‖R‖₂, at which the cycle ends; `outcome.stop` is then `converged`
/// Iterations and history of `outcome` go on from what they were; a cycle of a new solve begins with an empty
/// one. Waits once for each iteration and once for ‖R‖₂; allocates nothing on the device.
template <class Scalar, class ExecutionSpace>
void fgmres_cycle(const ExecutionSpace& exec, const LinearOperator<Scalar, ExecutionSpace>& A,
                  Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                  const DenseRows<Scalar, typename ExecutionSpace::memory_space>& R,
                  const DenseRows<Scalar, typename ExecutionSpace::memory_space>& D, double goal,
                  int max_iterations, const FgmresWorkspace<Scalar, ExecutionSpace>& work,
                  KrylovOutcome& outcome);

/// Solves A·X = B by restarted flexible GMRES with M as right preconditioner.
/// @param B, X [n × 1]; X holds the start and becomes the last iterate
/// @param R    [n × 1] scratch: the residual of X
/// Waits as its cycles do and twice for each.
template <class Scalar, class ExecutionSpace>
KrylovOutcome fgmres(const ExecutionSpace& exec, const LinearOperator<Scalar, ExecutionSpace>& A,
                     Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                     const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
                     const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
                     const DenseRows<Scalar, typename ExecutionSpace::memory_space>& R,
                     const KrylovOptions& options, const FgmresWorkspace<Scalar, ExecutionSpace>& work);

}  // namespace lutra

#endif
