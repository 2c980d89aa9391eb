// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTDETERMINANT_HPP
#define LUTRA_LDLTDETERMINANT_HPP

#include "Lutra_FrontLdlt.hpp"

namespace lutra {

/// A determinant, whose size would overflow: sign · exp(log_magnitude).
template <class Scalar>
struct Determinant {
  Scalar sign = Scalar(1);   ///< of magnitude 1; 0 for a singular matrix
  double log_magnitude = 0;  ///< natural logarithm of the magnitude; −infinity for a singular matrix
};

/// The determinant of A = S⁻¹·Pᵀ·L·D·Lᵀ·P·S⁻¹: that of D over the squares of the scales. Of perturbed pivots
/// the perturbed values count. On one host thread, in the order of the pivots; copies D to the host; O(slots)
/// there. Fences.
/// @param factors after a factorization that succeeded
/// @param scale   [n] S by the user's rows; empty: ones
template <class Scalar, class ExecutionSpace>
Determinant<Scalar> determinant(
    const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& scale);

}  // namespace lutra

#endif
