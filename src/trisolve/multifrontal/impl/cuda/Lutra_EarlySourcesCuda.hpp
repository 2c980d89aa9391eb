// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EARLYSOURCESCUDA_HPP
#define LUTRA_EARLYSOURCESCUDA_HPP

#include "Lutra_EarlySources.hpp"
#include "Lutra_FrontSolveWaitCuda.hpp"

namespace lutra::Impl {

inline constexpr int early_source_warps = 8;  ///< warps per block, each with its own sum

/// Computes the early sums of a forward sweep, one warp each, in a fixed order, and resets their sources.
/// @param sum_end [n] see EarlySources
/// @param n_rows  contribution rows before the sums
template <int Width, class Scalar>
__global__ void __launch_bounds__(early_source_warps * 32)
    early_sources_kernel(FrontSweepLaunch<Scalar> launch, const std::uint32_t* sum_end,
                         const std::uint32_t* source, int n, std::int64_t n_rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int number = static_cast<int>(blockIdx.x) * early_source_warps + static_cast<int>(threadIdx.x) / 32;
  if (number >= n * launch.groups) return;
  const int sum = number % n, group = number / n;
  Scalar total[Width] = {};
#pragma unroll 4
  for (std::uint32_t s = (sum > 0 ? sum_end[sum - 1] : 0) + static_cast<std::uint32_t>(lane);
       s < sum_end[sum]; s += 32) {
    Scalar* const from = launch.below_at(group, source[s], Width);
#pragma unroll
    for (int w = 0; w < Width; ++w) total[w] += from[w];
    reset<Width>(from);
  }
#pragma unroll
  for (int w = 0; w < Width; ++w) {
    for (int distance = 16; distance > 0; distance /= 2) total[w] += shuffle_xor(total[w], distance);
  }
  if (lane == 0) publish(launch.below_at(group, n_rows + sum, Width), total);
}

}  // namespace lutra::Impl

#endif
