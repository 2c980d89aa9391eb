// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EARLYSUMSCUDA_HPP
#define LUTRA_EARLYSUMSCUDA_HPP

#include <cstdint>

#include "Lutra_ShufflesCuda.hpp"

namespace lutra::Impl {

inline constexpr int early_sum_warps = 8;  ///< warps per block, each with its own sum

/// Computes early sums (Lutra_SmallChildListMaker.hpp), one warp each, in a fixed order.
/// @param values entries from the first of the panels on, which `source` counts from
/// @param end    [n] end of each sum's sources in `source`
/// @param sums   [n] results
template <class Scalar>
__global__ void __launch_bounds__(early_sum_warps * 32)
    early_sums_kernel(const Scalar* values, const std::uint32_t* end, const std::uint32_t* source, unsigned n,
                      Scalar* sums) {
  constexpr int at_once = 4;  // sources of a lane in flight
  const unsigned lane = threadIdx.x % 32, sum = blockIdx.x * early_sum_warps + threadIdx.x / 32;
  if (sum >= n) return;
  Scalar partial[at_once] = {};
  std::uint32_t s = (sum > 0 ? end[sum - 1] : 0) + lane;
  const std::uint32_t last = end[sum];
  for (; s + 32 * (at_once - 1) < last; s += 32 * at_once) {
#pragma unroll
    for (int u = 0; u < at_once; ++u) partial[u] += values[source[s + 32 * u]];
  }
  for (; s < last; s += 32) partial[0] += values[source[s]];
#pragma unroll
  for (int u = 1; u < at_once; ++u) partial[0] += partial[u];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) partial[0] += shuffle_xor(partial[0], distance);
  if (lane == 0) sums[sum] = partial[0];
}

}  // namespace lutra::Impl

#endif
