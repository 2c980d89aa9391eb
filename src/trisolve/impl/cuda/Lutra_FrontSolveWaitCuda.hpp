// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVEWAITCUDA_HPP
#define LUTRA_FRONTSOLVEWAITCUDA_HPP

#include "Lutra_BlockSolveCuda.hpp"
#include "Lutra_FrontSolveData.hpp"
#include "Lutra_FrontSolveTasks.hpp"

namespace lutra::Impl {

/// What the kernels of a sweep share. Every place of `solved`, `below` and `shares` is its own flag and is
/// marked again by who takes its value; places of `solution` are marked by the forward sweep before.
template <class Scalar, class Ordinal, class Offset>
struct FrontSweepLaunch {
  FrontSolveData<Scalar, Ordinal, Offset> data;
  const Scalar* inverses = nullptr;  ///< of diagonal tiles, of the sweep's triangle; or none
  Scalar* shares = nullptr;          ///< parts of sums of tiles
  std::int64_t n_shares = 0;         ///< places in `shares`
  int groups = 1;                    ///< of right-hand sides
  int* ticket = nullptr;             ///< of this launch, 0 in
  int* next_ticket = nullptr;        ///< of the same fronts' other sweep, made 0
  int* stop = nullptr;               ///< not 0: the watchdog has given up
  TimeoutRecord* timeout = nullptr;
  std::uint64_t watchdog_ticks = 0;  ///< a longer wait ends the solve

  __device__ Scalar* solved_at(int group, std::int64_t place, int width) const {
    return data.solved + (group * data.n + place) * width;
  }
  __device__ Scalar* solution_at(int group, std::int64_t place, int width) const {
    return data.solution + (group * data.n + place) * width;
  }
  __device__ Scalar* below_at(int group, std::int64_t row, int width) const {
    return data.below + (group * data.n_below + row) * width;
  }
  __device__ Scalar* share_at(int group, std::int64_t place, int width) const {
    return shares + (group * n_shares + place) * width;
  }
};

/// Reads `Count` places once they are there; those that are null give zeros.
/// @param place of F, which a timeout is reported by
template <int Count, int Width, class Scalar, class Launch>
__device__ __forceinline__ void take(const Launch& launch, Scalar* const (&from)[Count],
                                     Scalar (&x)[Count][Width], std::int64_t place) {
  bool waiting = false;
  const Scalar* reading[Count];
#pragma unroll
  for (int u = 0; u < Count; ++u) {
    reading[u] = from[u];
#pragma unroll
    for (int w = 0; w < Width; ++w) x[u][w] = Scalar(0);
    if (from[u] != nullptr) read_place<Width>(reading[u], x[u]);
    waiting = waiting || any_marked(x[u]);
  }
  if (waiting) wait_for_batch(launch, reading, x, place);
}

template <int Width, class Scalar>
__device__ __forceinline__ void mark(Scalar* place) {
#pragma unroll
  for (int w = 0; w < Width; ++w) place[w] = marked_value<Scalar>();
}

template <int Width, class Scalar>
__device__ __forceinline__ void publish(Scalar* place, const Scalar (&x)[Width]) {
#pragma unroll
  for (int w = 0; w < Width; ++w) write_through(place + w, unmarked(x[w]));
}

/// Takes the sources begin, begin + 1, … before `end`, `Together` of each of `Threads` threads, to shared
/// memory: all are waited for at once, whichever positions they belong to.
template <int Together, int Threads, int Width, class Scalar, class Launch>
__device__ __forceinline__ void take_sources(const Launch& launch, int group, std::uint32_t begin,
                                             std::uint32_t end, int thread, std::int64_t place,
                                             Scalar* shared) {
  Scalar* from[Together];
  Scalar x[Together][Width];
#pragma unroll
  for (int u = 0; u < Together; ++u) {
    const std::uint32_t s = begin + static_cast<std::uint32_t>(thread + u * Threads);
    from[u] = s < end ? launch.below_at(group, launch.data.source[s], Width) : nullptr;
  }
  take(launch, from, x, place);
#pragma unroll
  for (int u = 0; u < Together; ++u) {
    if (from[u] == nullptr) continue;
    mark<Width>(from[u]);
#pragma unroll
    for (int w = 0; w < Width; ++w) shared[(thread + u * Threads) * Width + w] = x[u][w];
  }
}

/// Hands out tasks in order; one of the threads that call it takes the ticket.
template <class Launch>
__device__ __forceinline__ int take_ticket(const Launch& launch) {
  const int turn = atomicAdd(launch.ticket, 1);
  if (turn == 0) *launch.next_ticket = 0;
  return turn;
}

}  // namespace lutra::Impl

#endif
