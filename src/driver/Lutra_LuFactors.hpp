// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUFACTORS_HPP
#define LUTRA_LUFACTORS_HPP

#include "Lutra_DenseRows.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_LuAnalysis.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

/// Values of L and U of the scaled and permuted matrix of a `LuAnalysis`.
template <class Scalar, class MemorySpace>
struct LuFactors {
  Kokkos::View<Scalar*, MemorySpace>
      column_values;  ///< [nnz(L + U)] by columns; of the simplicial engine on devices
  Kokkos::View<Scalar*, MemorySpace> row_values;        ///< [nnz(L + U)] by rows; for solves by triangles
  Kokkos::View<unsigned char*, MemorySpace> perturbed;  ///< [n] 1 where the pivot was replaced
  Kokkos::View<Scalar*, MemorySpace> F_values;          ///< [nnz(A)] scaled, by rows of F; of the column
                                                        ///< engine on hosts
  UpLookingLuWorkspace<Scalar> row_work;                ///< of the simplicial engine on hosts
  RightLookingLuWorkspace<MemorySpace> column_work;     ///< of the simplicial engine on devices
  MemoryReservation reservation;
};

/// Scales and scatters the values of A, factorizes, and hands the factors to the solves. Allocates `factors`
/// when it is empty.
/// @param A_values   [nnz(A)] in the order of `analysis.pattern`
/// @param perturbation least magnitude of a pivot over the largest of the scaled matrix
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorizationOutcome factorize_lu(
    const ExecutionSpace& exec, const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& A_values, double perturbation,
    const MemoryBudget& budget, LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors);

/// Brings what the analysis' engine has computed last to where its solves read it: for solves by triangles
/// into L + U by rows, for those on fronts it is there already. factorize_lu does so at its end. Does not
/// fence on devices.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void hand_over_factors(const ExecutionSpace& exec,
                       const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
                       const LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors);

/// X = op(A)⁻¹·B by the factors computed last with this analysis, without refinement. X may be B.
/// @param W [n × k] scratch of at least as many columns; of solves by triangles
/// Cost: L and U read once for up to 16 right-hand sides; scaling and permuting ride on the two solves. Does
/// not fence, but for the first transposed solve, which analyses the transposed factors.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void apply_factors(const ExecutionSpace& exec,
                   const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis, Transposition op,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& W);

}  // namespace lutra

#endif
