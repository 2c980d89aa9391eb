// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTDETERMINANT_HPP
#define LUTRA_LDLTDETERMINANT_HPP

#include "Lutra_FrontLdlt.hpp"

namespace lutra {

/// Determinant of A = S⁻¹·Pᵀ·L·D·Lᵀ·P·S⁻¹: det(D) divided by the squared scales. Perturbed pivots enter with
/// their perturbed values. Runs on one host thread, in pivot order; copies D to the host; O(slots) there.
/// Fences.
/// @param factors of a successful factorization
/// @param scale   [n] S in the user's row numbering; empty: ones
template <class Scalar, class ExecutionSpace>
Determinant<Scalar> determinant(
    const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& scale);

}  // namespace lutra

#endif
