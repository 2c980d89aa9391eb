// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PLACEWAITCUDA_HPP
#define LUTRA_PLACEWAITCUDA_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockSolve.hpp"

namespace lutra::Impl {

// How CUDA kernels read solutions that others are computing.

/// Reads the solutions of one place. The loads bypass the first-level cache, so that each sees what another
/// multiprocessor has written.
template <int Stride, class Real>
__device__ __forceinline__ void read_place(const Real* place, Real (&x)[Stride]) {
  if constexpr (Stride % 2 == 0 && sizeof(Real) == 8) {
#pragma unroll
    for (int r = 0; r < Stride; r += 2) {
      asm volatile("ld.volatile.global.v2.f64 {%0, %1}, [%2];" : "=d"(x[r]), "=d"(x[r + 1]) : "l"(place + r));
    }
  } else if constexpr (Stride % 4 == 0 && sizeof(Real) == 4) {
#pragma unroll
    for (int r = 0; r < Stride; r += 4) {
      asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(x[r]), "=f"(x[r + 1]), "=f"(x[r + 2]), "=f"(x[r + 3])
                   : "l"(place + r));
    }
  } else {
#pragma unroll
    for (int r = 0; r < Stride; ++r) x[r] = read_fresh(place + r);
  }
}
template <int Stride, class Real>
__device__ __forceinline__ void read_place(const Kokkos::complex<Real>* place,
                                           Kokkos::complex<Real> (&x)[Stride]) {
  Real parts[2 * Stride];
  read_place<2 * Stride>(reinterpret_cast<const Real*>(place), parts);
#pragma unroll
  for (int r = 0; r < Stride; ++r) x[r] = Kokkos::complex<Real>(parts[2 * r], parts[2 * r + 1]);
}

/// Reads what does not change, now: a plain load might be moved behind a wait that comes before its use.
__device__ __forceinline__ BlockUse read_now(const BlockUse* place) {
  unsigned value;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(place));
  return static_cast<BlockUse>(value);
}

/// Reads a solution that may have been there for long, through the first-level cache. A copy there that is
/// not marked is right, since a value is written once.
__device__ __forceinline__ double read_cached(const double* place) {
  double value;
  asm volatile("ld.global.ca.f64 %0, [%1];" : "=d"(value) : "l"(place));
  return value;
}
__device__ __forceinline__ float read_cached(const float* place) {
  float value;
  asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(value) : "l"(place));
  return value;
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> read_cached(const Kokkos::complex<Real>* place) {
  const auto* parts = reinterpret_cast<const Real*>(place);
  return Kokkos::complex<Real>(read_cached(parts), read_cached(parts + 1));
}

template <int Stride, class Scalar>
__device__ __forceinline__ bool any_marked(const Scalar (&x)[Stride]) {
  bool marked = false;
#pragma unroll
  for (int r = 0; r < Stride; ++r) marked = marked || is_marked(x[r]);
  return marked;
}

/// Reads again, all in flight together, the places of a batch that were marked at their first reading, until
/// none is. Gives NaN once the watchdog has ended the solve.
/// @param from (u) gives where place u of the batch stands
template <int Count, int Stride, class Scalar, class From, class Data>
__device__ __forceinline__ void wait_for_places(const Data& data, const From& from,
                                                Scalar (&x)[Count][Stride], std::int64_t waiting_place) {
  WaitTimer<> timer;
  bool waiting = true;
  for (unsigned spins = 1; waiting; ++spins) {
    Scalar probe[Count];
    if constexpr (Stride > 1) {  // one value tells whether it is worth reading the others
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (any_marked(x[u])) probe[u] = read_fresh(from(u));
      }
    }
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      if (any_marked(x[u]) && (Stride == 1 || !is_marked(probe[u]))) read_place<Stride>(from(u), x[u]);
    }
    waiting = false;
#pragma unroll
    for (int u = 0; u < Count; ++u) waiting = waiting || any_marked(x[u]);
    if (spins % 1024 == 0 && is_ended(data, timer, waiting_place)) break;
  }
#pragma unroll
  for (int u = 0; u < Count; ++u) {
#pragma unroll
    for (int r = 0; r < Stride; ++r) x[u][r] = unmarked(x[u][r]);
  }
}

/// wait_for_places, by pointers.
template <int Count, int Stride, class Scalar, class Data>
__device__ __forceinline__ void wait_for_batch(const Data& data, const Scalar* const (&from)[Count],
                                               Scalar (&x)[Count][Stride], std::int64_t waiting_place) {
  wait_for_places(
      data, [&](int u) { return from[u]; }, x, waiting_place);
}
/// wait_for_places, by the numbers of the places.
template <int Count, int Stride, class Scalar, class Ordinal, class Data>
__device__ __forceinline__ void wait_for_columns(const Data& data, const Ordinal (&column)[Count],
                                                 Scalar (&x)[Count][Stride], std::int64_t waiting_place) {
  const auto from = [&](int u) { return data.current + static_cast<std::int64_t>(column[u]) * Stride; };
  wait_for_places(data, from, x, waiting_place);
}

/// Waits until one place is there, or the watchdog has ended the solve.
/// @param pause nanoseconds between two readings
template <class Scalar, class Data>
__device__ __forceinline__ void watch_place(const Data& data, const Scalar* from, std::int64_t waiting_place,
                                            unsigned pause) {
  WaitTimer<> timer;
  for (unsigned spins = 1; is_marked(read_fresh(from)); ++spins) {
    if (pause > 0) __nanosleep(pause);
    if (spins % 1024 == 0 && is_ended(data, timer, waiting_place)) break;
  }
}

/// A warp that is ahead of its time looks, until it is there, at one place that is solved about a level
/// before the last it needs if levels are about alike, and leaves the memory to others. That place belongs to
/// an earlier narrow task.
/// @param rows of the task's blocks: no two levels are nearer
template <int Stride, int Count, class Ordinal, class Data>
__device__ __forceinline__ void watch_earlier(const Data& data, const Ordinal (&column)[Count],
                                              std::int64_t first_place, int rows) {
  constexpr int far = 1 << 30;
  int distance = far;
#pragma unroll
  for (int u = 0; u < Count; ++u) {
    const auto there = first_place - static_cast<std::int64_t>(column[u]);
    if (column[u] >= 0 && there > 0 && there < distance) distance = static_cast<int>(there);
  }
  distance = __reduce_min_sync(0xffffffffu, distance);
  const std::int64_t watched = first_place - distance - static_cast<std::int64_t>(max(distance, rows));
  if (distance < far && watched >= 0) watch_place(data, data.current + watched * Stride, first_place, 0);
}

}  // namespace lutra::Impl

#endif
