// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NULLVECTOR_HPP
#define LUTRA_NULLVECTOR_HPP

#include "Lutra_ConditionEstimate.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_GmresRefinement.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// Searches for a vector that proves A singular to working precision, and reports rows and columns in
/// `report`.
///
/// With factors of A + E, where E holds the perturbations of pivots, v ← v − (A + E)⁻¹·A·v maps a null vector
/// of A to itself and, if A is well away from singular, everything else to almost nothing. A vector with
/// ‖Âv‖∞ ≤ 32·ε·‖Â‖∞·‖v‖∞ for the scaled matrix Â proves that Â is within rounding of a singular matrix,
/// however the vector was found. The test requires such a vector; a perturbed pivot is not enough.
///
/// @param A     the matrix in user order
/// @param work  workspace of one column; X, R and trial_X are overwritten, and X holds v
/// @returns true if such a vector was found. `report.singular_rows` and `singular_columns` are then replaced
///          by the rows and columns of perturbed pivots that take part in it, or of the pivot of its largest
///          entry
/// Cost: up to twelve solves; waits once for each, and for the row and column indices. Useful if pivots were
/// perturbed.
template <class Scalar, class ExecutionSpace>
bool find_null_vector(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                      Factorization<Scalar, ExecutionSpace>& F,
                      const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                      const SolveWorkspace<Scalar, ExecutionSpace>& work, Report& report);

/// Searches by GMRES, for factors too inexact for the iteration above. If A·y = A·v₀ is solved to rounding
/// level for a v₀ without preferred direction and y ≠ v₀, then z = v₀ − y is nearly a null vector of Â. So is
/// w of Âᴴ. A is singular to working precision if |wᴴ·A·z| ≤ 4ε·|w|ᴴ|A||z|, as in `estimate_condition`: a
/// norm does not suffice, since a graded matrix of condition 1/ε may be far from singular for changes
/// relative to its entries.
/// @param A_adjoint Aᴴ
/// @param work   workspace of one column; overwritten. If the search succeeds, X holds z
/// @param budget charged for z meanwhile
/// Cost: a GMRES solve (Lutra_GmresRefinement.hpp), two if z is found. Call only after plain refinement has
/// stalled.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
bool find_null_vector_by_gmres(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                               MatrixOperator<Scalar, ExecutionSpace>& A_adjoint,
                               Factorization<Scalar, ExecutionSpace>& F,
                               const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                               SolveWorkspace<Scalar, ExecutionSpace>& work,
                               const Fgmres<Scalar, ExecutionSpace>& gmres, const MemoryBudget& budget,
                               Report& report);

/// Replaces the rows and columns named in `report` by those of perturbed and zero pivots that take part in a
/// null vector, or of the pivot of its largest entry.
/// @param scale [n] of v's entries
/// @param v     [n × 1] in user order
/// Fences.
template <class Scalar, class ExecutionSpace>
void name_null_vector(const ExecutionSpace& exec, const Factorization<Scalar, ExecutionSpace>& F,
                      const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& scale,
                      const DenseRows<Scalar, typename ExecutionSpace::memory_space>& v, Report& report);

}  // namespace lutra

#endif
