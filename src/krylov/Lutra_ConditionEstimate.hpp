// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CONDITIONESTIMATE_HPP
#define LUTRA_CONDITIONESTIMATE_HPP

#include <limits>

#include "Lutra_Factorization.hpp"
#include "Lutra_Refinement.hpp"

namespace lutra {

/// Scales of the matrix that was factorized, Â = D_r·A·D_c, by the user's rows and columns.
template <class Scalar, class MemorySpace>
struct Scales {
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> row;  ///< [n]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> col;  ///< [n]
};

/// How far a matrix is from a singular one.
struct ConditionEstimate {
  /// Skeel's condition number ‖|Â⁻¹|·|Â|‖∞ of the scaled matrix, or a little less
  double condition = 0;
  /// Relative change of the entries of A that makes it singular, to first order; infinity where the condition
  /// number is so small that nothing was looked for
  double distance = std::numeric_limits<double>::infinity();
  int solves = 0;

  /// Whether a matrix within rounding of A, entry by entry, is singular.
  template <class Scalar>
  bool is_singular() const {
    return distance <= 4 * static_cast<double>(epsilon_of<Scalar>);
  }
};

/// Estimates Skeel's condition number by Hager's method (W. W. Hager, SIAM J. Sci. Stat. Comput. 5, 1984;
/// N. J. Higham, ACM Trans. Math. Software 14, 1988) with the weights of M. Arioli, J. W. Demmel and
/// I. S. Duff (SIAM J. Matrix Anal. Appl. 10, 1989), and the distance to a singular matrix.
///
/// Factors are those of A + E, where E holds perturbed pivots and the rounding errors of the elimination, so
/// that a condition number of the factors says little of A beyond 1/‖E‖. The vectors of Hager's method do:
/// near a singular matrix they come to w and z, left and right singular vectors of A + E for its smallest
/// singular value, and |wᴴ·A·z| / |w|ᴴ|A||z| is the relative change of A's entries that makes A singular, to
/// first order, with an error of second order in E. It does not depend on the scaling of A.
///
/// @param A         the matrix in user order
/// @param A_adjoint Aᴴ
/// @param work      workspace of one column; all of it is overwritten. X then holds z, where distance is
/// finite
/// @param inexactness     ‖E‖/‖A‖ or so, of perturbed pivots and grown entries: where it is large, smaller
/// condition
///                        numbers than 1/√ε are looked into
/// @param has_zero_pivots rows without entries have zero pivots, and are left out with them
/// Cost: four solves, five where the condition number is 1/√ε or more; waits for each, and does not allocate
template <class Scalar, class ExecutionSpace>
ConditionEstimate estimate_condition(const ExecutionSpace& exec,
                                     const MatrixOperator<Scalar, ExecutionSpace>& A,
                                     const MatrixOperator<Scalar, ExecutionSpace>& A_adjoint,
                                     Factorization<Scalar, ExecutionSpace>& F,
                                     const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                                     const SolveWorkspace<Scalar, ExecutionSpace>& work, double inexactness,
                                     bool has_zero_pivots);

/// A lower bound of that condition number from one solve, ‖D_c⁻¹·A⁻¹·(g∘s)‖∞ with the row sums g of |A|·D_c
/// and a vector s of entries from 1/2 to 1 with signs that look random: seldom less than the condition number
/// over √n.
/// @param work  workspace of one column; B, X and trial_R are overwritten
template <class Scalar, class ExecutionSpace>
double probe_condition(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                       Factorization<Scalar, ExecutionSpace>& F,
                       const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                       const SolveWorkspace<Scalar, ExecutionSpace>& work);

/// ‖D⁻¹|op(A)⁻¹|(|op(A)||x| + |b|)‖∞ / ‖D⁻¹x‖∞ with D the scale of x, the condition of one solution: times
/// its componentwise backward error it bounds its relative error (Arioli, Demmel and Duff, as above).
/// @param A     op(A) in user order
/// @param work  one column: b in B and x in X. All of it is overwritten; X then holds op(A)⁻¹ times a vector
///              of that size
/// Cost: four solves
template <class Scalar, class ExecutionSpace>
ConditionEstimate estimate_condition_of_solution(
    const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
    Factorization<Scalar, ExecutionSpace>& F, Transposition op,
    const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
    const SolveWorkspace<Scalar, ExecutionSpace>& work);

}  // namespace lutra

#endif
