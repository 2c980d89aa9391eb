// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTMATRICES_HPP
#define LUTRA_LDLTMATRICES_HPP

#include "Lutra_FrontLdlt.hpp"

// LDLᵀ of several matrices of one pattern at once: of their block diagonal matrix, whose plan has as many
// copies of one assembly tree.
//
//      matrix 0   matrix 1       matrix M − 1
//        o          o      …          o          front f of matrix m is front m·fronts + f; its rows and
//       ╱ ╲        ╱ ╲               ╱ ╲         entries are those of one matrix, shifted by m·n and m·nnz
//
// Trees share no numbers. With tolerances by the entries of each matrix (LdltPivotRule::largest_entries) no
// pivot of a matrix depends on another one. A front that stops, since delayed columns do not fit, a pivot is
// not positive or a value not finite, stops its own ancestors only.

namespace lutra {

/// What a factorization has found of one matrix.
struct LdltMatrixOutcome : LdltOutcome {
  /// First front without factors, numbered within its tree, for any of the reasons above. The members of
  /// LdltOutcome that name such a front, or its pivot, are not set.
  std::int64_t incomplete = none;

  bool is_complete() const { return incomplete == none; }
};

/// Finds the largest scaled entry of each matrix. Does not fence on devices.
/// @param largest [matrices] out
template <class Scalar, class ExecutionSpace>
void find_largest_entries(const ExecutionSpace& exec,
                          const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                          const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A,
                          const Kokkos::View<double*, typename ExecutionSpace::memory_space>& largest);

/// Finds the outcome of each matrix from the records, L and D of a factorization. Here `largest_factor` is
/// that of D·Lᵀ, hence of the rows that were eliminated; `largest_entry` is not set. Fronts without factors
/// get no pivots, so that solves may pass them: solutions of their matrices are undefined, those of others
/// are not affected. Cost: one read of L. Does not fence on devices.
/// @param outcomes [matrices] out
template <class Scalar, class ExecutionSpace>
void inspect_matrices(
    const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<LdltMatrixOutcome*, typename ExecutionSpace::memory_space>& outcomes);

}  // namespace lutra

#endif
