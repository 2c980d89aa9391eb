// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SHUFFLESCUDA_HPP
#define LUTRA_SHUFFLESCUDA_HPP

#include <Kokkos_Core.hpp>

namespace lutra::Impl {

// Exchange of real and complex values between the lanes of a warp.

template <class Real>
__device__ __forceinline__ Real shuffle_xor(Real value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> shuffle_xor(const Kokkos::complex<Real>& value, int mask) {
  return Kokkos::complex<Real>(__shfl_xor_sync(0xffffffffu, value.real(), mask),
                               __shfl_xor_sync(0xffffffffu, value.imag(), mask));
}
template <class Real>
__device__ __forceinline__ Real shuffle_from(Real value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> shuffle_from(const Kokkos::complex<Real>& value, int lane) {
  return Kokkos::complex<Real>(__shfl_sync(0xffffffffu, value.real(), lane),
                               __shfl_sync(0xffffffffu, value.imag(), lane));
}
/// Sum over groups of `lanes` neighbouring lanes, returned to all of them.
template <class Scalar>
__device__ __forceinline__ Scalar sum_over_lanes(Scalar sum, int lanes) {
  for (int mask = lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  return sum;
}
/// The same for several sums.
template <int Width, class Scalar>
__device__ __forceinline__ void sum_each_over_lanes(Scalar (&sum)[Width], int lanes) {
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
#pragma unroll
    for (int w = 0; w < Width; ++w) sum[w] += shuffle_xor(sum[w], mask);
  }
}

}  // namespace lutra::Impl

#endif
