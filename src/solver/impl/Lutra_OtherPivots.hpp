// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OTHERPIVOTS_HPP
#define LUTRA_OTHERPIVOTS_HPP

#include "Lutra_Numeric.hpp"

namespace lutra::Impl {

/// What LU does where the entries of its factors grow although large entries are its pivots.
enum class PivotChange {
  diagonal,  ///< keeps the diagonal, as LDLᵀ does, in place of the matching's permutation
  threshold  ///< keeps the matching; both interchange rows within fronts
};
inline constexpr int pivot_changes = 2;

/// Analyzes the pattern of `former`, which is of LU, for fronts with threshold pivoting. The plan is null if
/// these values make the matrix structurally singular. Fences.
/// @param values [nnz] values on the pattern of F
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> with_other_pivots(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values, PivotChange change,
    const MemoryBudget& budget);

}  // namespace lutra::Impl

#endif
