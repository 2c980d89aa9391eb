// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CONDITIONESTIMATE_HPP
#define LUTRA_CONDITIONESTIMATE_HPP

#include <limits>

#include "Lutra_Factorization.hpp"
#include "Lutra_Refinement.hpp"

namespace lutra {

/// Scales of the factorized matrix, Â = D_r·A·D_c, in the user's row and column numbering.
template <class Scalar, class MemorySpace>
struct Scales {
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> row;  ///< [n]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> col;  ///< [n]
};

/// Condition of a matrix and its distance to a singular one.
struct ConditionEstimate {
  /// Skeel's condition number ‖|Â⁻¹|·|Â|‖∞ of the scaled matrix, or a slightly smaller lower bound
  double condition = 0;
  /// relative change of the entries of A that makes it singular, to first order; infinity if the condition
  /// number was too small to compute it
  double distance = std::numeric_limits<double>::infinity();
  int solves = 0;

  /// Whether a matrix within entrywise rounding of A is singular.
  template <class Scalar>
  bool is_singular() const {
    return distance <= 4 * static_cast<double>(epsilon_of<Scalar>);
  }
};

/// Estimates Skeel's condition number by Hager's method (W. W. Hager, SIAM J. Sci. Stat. Comput. 5, 1984; N.
/// J. Higham, ACM Trans. Math. Software 14, 1988) with the weights of M. Arioli, J. W. Demmel and I. S. Duff
/// (SIAM J. Matrix Anal. Appl. 10, 1989), and the distance to a singular matrix.
///
/// The factors are those of A + E, where E holds perturbed pivots and the rounding errors of the elimination,
/// so a condition number of the factors says little about A beyond 1/‖E‖. The vectors of Hager's method do:
/// near a singular matrix they converge to left and right singular vectors w and z of A + E for its smallest
/// singular value. The relative change of A's entries that makes A singular is |wᴴ·A·z| / |w|ᴴ|A||z| to first
/// order, with an error of second order in E. It does not depend on the scaling of A. The form may vanish by
/// chance: if A·z is not small, its relative size is the distance.
///
/// @param A         the matrix in user order
/// @param A_adjoint Aᴴ
/// @param work      workspace of one column; overwritten. If the distance is finite, X holds z on return
/// @param inexactness     about ‖E‖/‖A‖, from perturbed pivots and element growth; if it is large, condition
///                        numbers below 1/√ε are examined too
/// @param has_zero_pivots whether rows without entries have zero pivots; such rows are left out
/// Cost: three or four solves, two more if the condition number is 1/√ε or more; if the inexactness is √ε or
/// more, up to 33 in all, while each two lower the distance to a quarter. Waits for each solve. Does not
/// allocate.
template <class Scalar, class ExecutionSpace>
ConditionEstimate estimate_condition(const ExecutionSpace& exec,
                                     const MatrixOperator<Scalar, ExecutionSpace>& A,
                                     const MatrixOperator<Scalar, ExecutionSpace>& A_adjoint,
                                     Factorization<Scalar, ExecutionSpace>& F,
                                     const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                                     const SolveWorkspace<Scalar, ExecutionSpace>& work, double inexactness,
                                     bool has_zero_pivots);

/// Lower bound of that condition number from one solve, ‖D_c⁻¹·A⁻¹·(g∘s)‖∞, with the row sums g of |A|·D_c
/// and a vector s with magnitudes from 1/2 to 1 and pseudo-random signs. The bound is seldom below the
/// condition number divided by √n.
/// If rows are on several processes, all of them call it, and it joins their maxima.
/// @param work  workspace of one column; B, X and trial_R are overwritten
template <class Scalar, class ExecutionSpace>
double probe_condition(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                       Preconditioner<Scalar, ExecutionSpace>& F,
                       const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                       const SolveWorkspace<Scalar, ExecutionSpace>& work);

/// ‖D⁻¹|op(A)⁻¹|(|op(A)||x| + |b|)‖∞ / ‖D⁻¹x‖∞ with D the scale of x: the condition of one solution. Its
/// product with the componentwise backward error bounds the relative error (Arioli, Demmel and Duff, as
/// above).
/// @param A     op(A) in user order
/// @param work  one column: b in B and x in X. Overwritten; X then holds op(A)⁻¹ times a vector of that size
/// Cost: four solves
template <class Scalar, class ExecutionSpace>
ConditionEstimate estimate_condition_of_solution(
    const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
    Factorization<Scalar, ExecutionSpace>& F, Transposition op,
    const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
    const SolveWorkspace<Scalar, ExecutionSpace>& work);

}  // namespace lutra

#endif
