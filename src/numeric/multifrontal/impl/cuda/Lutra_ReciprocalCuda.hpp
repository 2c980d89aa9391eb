// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RECIPROCALCUDA_HPP
#define LUTRA_RECIPROCALCUDA_HPP

#include <Kokkos_Core.hpp>

namespace lutra::Impl {

/// Reciprocal of a pivot. In double precision an approximation refined to the last bits by Newton's
/// iteration, at a fraction of a division's latency, which is on the critical path of each pivot.
template <class Real>
__device__ __forceinline__ Real reciprocal(Real value) {
  if constexpr (sizeof(Real) == 8) {
    Real result;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(value));
    result = fma(fma(-value, result, 1.0), result, result);
    return fma(fma(-value, result, 1.0), result, result);
  } else {
    return Real(1) / value;
  }
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> reciprocal(const Kokkos::complex<Real>& value) {
  return Kokkos::complex<Real>(Real(1)) / value;
}

}  // namespace lutra::Impl

#endif
