// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_POLLSOLUTIONSCUDA_HPP
#define LUTRA_POLLSOLUTIONSCUDA_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_DataFlow.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

// Reading solutions that other thread blocks compute.

/// Reads the solutions of one position, bypassing L1, so that each read observes the writes of other
/// multiprocessors. Pairs with write_through.
template <int Stride, class Real>
__device__ __forceinline__ void read_solution(const Real* position, Real (&x)[Stride]) {
  if constexpr (Stride % 2 == 0 && sizeof(Real) == 8) {
#pragma unroll
    for (int r = 0; r < Stride; r += 2) {
      asm volatile("ld.volatile.global.v2.f64 {%0, %1}, [%2];"
                   : "=d"(x[r]), "=d"(x[r + 1])
                   : "l"(position + r));
    }
  } else if constexpr (Stride % 4 == 0 && sizeof(Real) == 4) {
#pragma unroll
    for (int r = 0; r < Stride; r += 4) {
      asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(x[r]), "=f"(x[r + 1]), "=f"(x[r + 2]), "=f"(x[r + 3])
                   : "l"(position + r));
    }
  } else {
#pragma unroll
    for (int r = 0; r < Stride; ++r) x[r] = read_fresh(position + r);
  }
}
template <int Stride, class Real>
__device__ __forceinline__ void read_solution(const Kokkos::complex<Real>* position,
                                              Kokkos::complex<Real> (&x)[Stride]) {
  Real parts[2 * Stride];
  read_solution<2 * Stride>(reinterpret_cast<const Real*>(position), parts);
#pragma unroll
  for (int r = 0; r < Stride; ++r) x[r] = Kokkos::complex<Real>(parts[2 * r], parts[2 * r + 1]);
}

/// Reads a possibly old solution through L1. A cached copy other than the sentinel is valid, since a value is
/// written once.
__device__ __forceinline__ double read_cached(const double* position) {
  double value;
  asm volatile("ld.global.ca.f64 %0, [%1];" : "=d"(value) : "l"(position));
  return value;
}
__device__ __forceinline__ float read_cached(const float* position) {
  float value;
  asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(value) : "l"(position));
  return value;
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> read_cached(const Kokkos::complex<Real>* position) {
  const auto* parts = reinterpret_cast<const Real*>(position);
  return Kokkos::complex<Real>(read_cached(parts), read_cached(parts + 1));
}

template <int Stride, class Scalar>
__device__ __forceinline__ bool any_sentinel(const Scalar (&x)[Stride]) {
  bool missing = false;
#pragma unroll
  for (int r = 0; r < Stride; ++r) missing = missing || is_sentinel(x[r]);
  return missing;
}

/// Polls the values of a batch that were sentinels when first read, all in flight together, until none is.
/// Returns NaN once the watchdog has ended the solve.
/// @param from from(u) is the address of value u of the batch
template <int Count, int Stride, class Scalar, class From, class Data>
__device__ __forceinline__ void wait_for_values(const Data& data, const From& from,
                                                Scalar (&x)[Count][Stride], std::int64_t waiting_position) {
  WaitTimer<> timer;
  bool waiting = true;
  for (unsigned spins = 1; waiting; ++spins) {
    Scalar probe[Count];
    if constexpr (Stride > 1) {  // one value shows whether reading the others is worthwhile
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (any_sentinel(x[u])) probe[u] = read_fresh(from(u));
      }
    }
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      if (any_sentinel(x[u]) && (Stride == 1 || !is_sentinel(probe[u]))) read_solution<Stride>(from(u), x[u]);
    }
    waiting = false;
#pragma unroll
    for (int u = 0; u < Count; ++u) waiting = waiting || any_sentinel(x[u]);
    if (spins % 1024 == 0 && data.watchdog.ends(timer, waiting_position)) break;
  }
#pragma unroll
  for (int u = 0; u < Count; ++u) {
#pragma unroll
    for (int r = 0; r < Stride; ++r) x[u][r] = storable(x[u][r]);
  }
}

/// wait_for_values, given positions.
template <int Count, class Scalar, class Data>
__device__ __forceinline__ void wait_for_columns(const Data& data, const Ordinal (&column)[Count],
                                                 Scalar (&x)[Count][1], std::int64_t waiting_position) {
  const auto from = [&](int u) { return data.current + static_cast<std::int64_t>(column[u]); };
  wait_for_values(data, from, x, waiting_position);
}

/// Polls one value until it is computed or the watchdog has ended the solve.
/// @param pause nanoseconds between two reads
template <class Scalar, class Data>
__device__ __forceinline__ void poll_value(const Data& data, const Scalar* from,
                                           std::int64_t waiting_position, unsigned pause) {
  WaitTimer<> timer;
  for (unsigned spins = 1; is_sentinel(read_fresh(from)); ++spins) {
    if (pause > 0) __nanosleep(pause);
    if (spins % 1024 == 0 && data.watchdog.ends(timer, waiting_position)) break;
  }
}

/// Warps waiting for inputs must not saturate L2 with polling: before a warp polls all values it needs, it
/// polls a single one that is solved about a level before the last of them, if levels have about the same
/// size. It belongs to an earlier narrow task.
/// @param rows of the blocks of the task: two levels are at least this far apart
template <int Count, class Data>
__device__ __forceinline__ void poll_earlier(const Data& data, const Ordinal (&column)[Count],
                                             std::int64_t first_position, int rows) {
  constexpr int far = 1 << 30;  // no input found yet
  int distance = far;
#pragma unroll
  for (int u = 0; u < Count; ++u) {
    const auto there = first_position - static_cast<std::int64_t>(column[u]);
    if (column[u] >= 0 && there > 0 && there < distance) distance = static_cast<int>(there);
  }
  distance = __reduce_min_sync(0xffffffffu, distance);
  const std::int64_t watched = first_position - distance - static_cast<std::int64_t>(max(distance, rows));
  if (distance < far && watched >= 0) poll_value(data, data.current + watched, first_position, 0);
}

}  // namespace lutra::Impl

#endif
