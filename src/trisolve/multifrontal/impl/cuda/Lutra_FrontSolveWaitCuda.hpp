// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVEWAITCUDA_HPP
#define LUTRA_FRONTSOLVEWAITCUDA_HPP

#include "Lutra_FrontSolveData.hpp"
#include "Lutra_FrontSolveTasks.hpp"
#include "Lutra_PollSolutionsCuda.hpp"
#include "Lutra_ShufflesCuda.hpp"
#include "Lutra_TaskQueueCuda.hpp"

namespace lutra::Impl {

/// Arguments of the kernels of a sweep. All vectors hold self-flagged values:
///
///   solved        written forward, read and reset backward
///   contributions written by a front, read and reset by its parent (forward only)
///   partial_sums  written by the blocks that sum a part, read and reset by the tile's block (backward only)
///   solution      reset forward, written and read backward
///
/// so that resetting needs no launch.
template <class Scalar>
struct FrontSweepLaunch {
  LuSolveData<Scalar> data;
  const Scalar* inverses = nullptr;  ///< inverses of diagonal tiles of the sweep's triangle; or null
  Scalar* partial_sums = nullptr;    ///< of tiles, for each off-diagonal part
  std::int64_t n_parts = 0;          ///< length of `partial_sums`
  int groups = 1;                    ///< groups of right-hand sides
  int* ticket = nullptr;             ///< ticket of this launch, 0 on entry
  int* next_ticket = nullptr;        ///< ticket of the opposite sweep of the same fronts, reset to 0
  RecordingWatchdog watchdog;

  __device__ Scalar* solved_at(int group, std::int64_t index, int width) const {
    return data.solved + (group * data.n + index) * width;
  }
  __device__ Scalar* solution_at(int group, std::int64_t index, int width) const {
    return data.by_index + (group * data.n + index) * width;
  }
  __device__ Scalar* below_at(int group, std::int64_t row, int width) const {
    return data.contributions + (group * data.n_contributions + row) * width;
  }
  __device__ Scalar* partial_sum_at(int group, std::int64_t index, int width) const {
    return partial_sums + (group * n_parts + index) * width;
  }
};

/// Reads `Count` slots once they are computed; null pointers give zeros.
/// @param index reported on a timeout
template <int Count, int Width, class Scalar, class Launch>
__device__ __forceinline__ void take(const Launch& launch, Scalar* const (&from)[Count],
                                     Scalar (&x)[Count][Width], std::int64_t index) {
  bool waiting = false;
  const Scalar* reading[Count];
#pragma unroll
  for (int u = 0; u < Count; ++u) {
    reading[u] = from[u];
#pragma unroll
    for (int w = 0; w < Width; ++w) x[u][w] = Scalar(0);
    if (from[u] != nullptr) read_solution<Width>(reading[u], x[u]);
    waiting = waiting || any_sentinel(x[u]);
  }
  const auto from_slot = [&](int u) { return reading[u]; };
  if (waiting) wait_for_values(launch, from_slot, x, index);
}

template <int Width, class Scalar>
__device__ __forceinline__ void reset(Scalar* index) {
#pragma unroll
  for (int w = 0; w < Width; ++w) index[w] = sentinel_value<Scalar>();
}

template <int Width, class Scalar>
__device__ __forceinline__ void publish(Scalar* index, const Scalar (&x)[Width]) {
#pragma unroll
  for (int w = 0; w < Width; ++w) write_through(index + w, storable(x[w]));
}

/// Moves the sources begin, begin + 1, … before `end` to shared memory, `Together` by each of `Threads`
/// threads, and resets them. Waits for all of them at once, whichever positions they belong to.
template <int Together, int Threads, int Width, class Scalar, class Launch>
__device__ __forceinline__ void take_sources(const Launch& launch, int group, std::uint32_t begin,
                                             std::uint32_t end, int thread, std::int64_t index,
                                             Scalar* shared) {
  Scalar* from[Together];
  Scalar x[Together][Width];
#pragma unroll
  for (int u = 0; u < Together; ++u) {
    const std::uint32_t s = begin + static_cast<std::uint32_t>(thread + u * Threads);
    from[u] = s < end ? launch.below_at(group, launch.data.source[s], Width) : nullptr;
  }
  take(launch, from, x, index);
#pragma unroll
  for (int u = 0; u < Together; ++u) {
    if (from[u] == nullptr) continue;
    reset<Width>(from[u]);
#pragma unroll
    for (int w = 0; w < Width; ++w) shared[(thread + u * Threads) * Width + w] = x[u][w];
  }
}

}  // namespace lutra::Impl

#endif
