// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GATHERCOLUMNSCUDA_HPP
#define LUTRA_GATHERCOLUMNSCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_BlockSolveCuda.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Data-flow solves for several right-hand sides. Neighbouring threads hold the columns of one position, two
// each, so that a position is read and written in one piece; such a group of threads takes the entries of two
// neighbouring lanes of a task. With 16 columns a warp takes 8 lanes of a narrow task, and four warps share
// the task; they synchronize only if a row or block has more than 8 lanes.

/// Distribution of the lanes of tasks and the columns of positions over threads.
template <int Stride>
struct ManyShape {
  static constexpr int position_threads = Stride / 2;             ///< threads per group
  static constexpr int groups = narrow_lanes / position_threads;  ///< groups per warp
  static constexpr int warp_entries = 2 * groups;                 ///< entries per warp and step
  static constexpr int task_warps = narrow_lanes / warp_entries;  ///< warps per narrow task
  static constexpr int task_threads = task_warps * narrow_lanes;
  static constexpr int task_slots = wide_lanes / task_threads;    ///< narrow tasks per team
  static constexpr int wide_group_lanes = narrow_lanes / groups;  ///< lanes of a wide task per group
};

/// Two neighbours, read or written as one.
template <class T>
struct alignas(2 * sizeof(T)) Two {
  T of[2];
};

/// Unit of the two columns of a position that is read or written at once.
template <class Scalar>
using Packet = std::conditional_t<sizeof(Scalar) == 4, Two<std::uint32_t>, Two<std::uint64_t>>;
template <class Scalar>
struct PacketPair {
  static constexpr int count = 2 * sizeof(Scalar) / sizeof(Packet<Scalar>);
  Packet<Scalar> of[count];
};

/// Distance of packed values from the sentinel: 0 only for the sentinel. Its upper half suffices, since no
/// stored value has it. Two single precision values may share a word.
template <class Real>
__device__ __forceinline__ std::uint32_t distance_from_sentinel(std::uint32_t word) {
  return word ^ Sentinel<float>::bits;
}
template <class Real>
__device__ __forceinline__ std::uint32_t distance_from_sentinel(std::uint64_t word) {
  if constexpr (sizeof(Real) == 8)
    return static_cast<std::uint32_t>(word >> 32) ^ (Sentinel<double>::bits >> 32);
  return min(static_cast<std::uint32_t>(word) ^ Sentinel<float>::bits,
             static_cast<std::uint32_t>(word >> 32) ^ Sentinel<float>::bits);
}
template <class Real, class Word>
__device__ __forceinline__ std::uint32_t distance_from_sentinel(const Two<Word>& packet) {
  return min(distance_from_sentinel<Real>(packet.of[0]), distance_from_sentinel<Real>(packet.of[1]));
}

/// Reads a packet if its distance from the sentinel is 0. Bypasses L1, so that the read observes writes of
/// other multiprocessors. No branch: all reads of a thread are in flight together.
__device__ __forceinline__ void read_missing(const Two<std::uint64_t>* from, std::uint32_t distance,
                                             Two<std::uint64_t>& packet) {
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %3, 0; @p ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2]; }"
               : "+l"(packet.of[0]), "+l"(packet.of[1])
               : "l"(from), "r"(distance));
}
__device__ __forceinline__ void read_missing(const Two<std::uint32_t>* from, std::uint32_t distance,
                                             Two<std::uint32_t>& packet) {
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %3, 0; @p ld.relaxed.gpu.global.v2.b32 {%0, %1}, [%2]; }"
               : "+r"(packet.of[0]), "+r"(packet.of[1])
               : "l"(from), "r"(distance));
}
__device__ __forceinline__ void write_packet(Two<std::uint64_t>* to, const Two<std::uint64_t>& packet) {
  asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(packet.of[0]), "l"(packet.of[1])
               : "memory");
}
__device__ __forceinline__ void write_packet(Two<std::uint32_t>* to, const Two<std::uint32_t>& packet) {
  asm volatile("st.relaxed.gpu.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(packet.of[0]), "r"(packet.of[1])
               : "memory");
}
template <class Scalar>
__device__ __forceinline__ void write_columns(Scalar* to, const Two<Scalar>& x) {
  const auto packets = Kokkos::bit_cast<PacketPair<Scalar>>(x);
#pragma unroll
  for (int k = 0; k < packets.count; ++k)
    write_packet(reinterpret_cast<Packet<Scalar>*>(to) + k, packets.of[k]);
}

__device__ __forceinline__ double cleared(double value) {
  const bool looks_like_sentinel =
      static_cast<std::uint32_t>(__double2hiint(value)) == Sentinel<double>::bits >> 32;
  return looks_like_sentinel ? Kokkos::Experimental::quiet_NaN_v<double> : value;
}
__device__ __forceinline__ float cleared(float value) {
  return storable(value);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> cleared(const Kokkos::complex<Real>& value) {
  return {cleared(value.real()), cleared(value.imag())};
}
/// The same columns, or NaN if they would equal the sentinel.
template <class Scalar>
__device__ __forceinline__ Two<Scalar> presentable(const Two<Scalar>& x) {
  return {{cleared(x.of[0]), cleared(x.of[1])}};
}

template <class Scalar>
__device__ __forceinline__ void add(Two<Scalar>& sum, const Two<Scalar>& x) {
  sum.of[0] += x.of[0];
  sum.of[1] += x.of[1];
}
template <class Scalar>
__device__ __forceinline__ void subtract_product(Two<Scalar>& sum, const Scalar& factor,
                                                 const Two<Scalar>& x) {
  sum.of[0] -= factor * x.of[0];
  sum.of[1] -= factor * x.of[1];
}
template <class Scalar>
__device__ __forceinline__ Two<Scalar> product(const Scalar& factor, const Two<Scalar>& x) {
  return {{factor * x.of[0], factor * x.of[1]}};
}

/// Steps of a task whose positions a thread requests at once: as many as registers permit.
template <class Scalar>
inline constexpr int steps_in_flight = ScalarTraits<Scalar>::is_complex ? 2 : 4;

/// Two columns of the positions that `Batch` steps wait for, two entries per step.
template <int Batch, class Scalar>
struct PlaceBatch {
  using Real = RealOf<Scalar>;
  static constexpr int packets = PacketPair<Scalar>::count;
  const Packet<Scalar>* from[Batch][2];
  PacketPair<Scalar> x[Batch][2];
  std::uint32_t distance[Batch][2][packets];  ///< distance from the sentinel; 0: missing

  template <class Action>
  __device__ __forceinline__ void for_each_packet(const Action& action) {
#pragma unroll
    for (int u = 0; u < Batch; ++u) {
#pragma unroll
      for (int p = 0; p < 2; ++p) {
#pragma unroll
        for (int k = 0; k < packets; ++k) action(u, p, k);
      }
    }
  }
  /// Requests the columns of positions, from `solutions` on; −1: none.
  template <int Stride>
  __device__ __forceinline__ void ask(const Scalar* solutions, const Two<Ordinal> (&position)[Batch]) {
    for_each_packet([&](int u, int p, int k) {
      const Ordinal needed = position[u].of[p];
      from[u][p] =
          reinterpret_cast<const Packet<Scalar>*>(solutions + static_cast<std::int64_t>(needed) * Stride);
      x[u][p].of[k] = {{0, 0}};
      distance[u][p][k] = needed >= 0 ? 0 : 1;
    });
    ask_again();
  }
  __device__ __forceinline__ void ask_again() {
    for_each_packet(
        [&](int u, int p, int k) { read_missing(from[u][p] + k, distance[u][p][k], x[u][p].of[k]); });
  }
  __device__ __forceinline__ bool misses_some() {
    std::uint32_t least = ~0u;
    for_each_packet([&](int u, int p, int k) {
      distance[u][p][k] = distance_from_sentinel<Real>(x[u][p].of[k]);
      least = min(least, distance[u][p][k]);
    });
    return least == 0;
  }
  /// Replaces missing values by NaN.
  __device__ __forceinline__ void abandon() {
    for_each_packet([&](int u, int p, int k) {
      auto& words = x[u][p].of[k].of;
      if (distance[u][p][k] == 0) words[0] = words[1] = ~std::decay_t<decltype(words[0])>(0);
    });
  }
  __device__ __forceinline__ Two<Scalar> columns(int u, int p) const {
    return Kokkos::bit_cast<Two<Scalar>>(x[u][p]);
  }
};

/// A position that is solved about one level before the last of those in `position`, if levels have about the
/// same size; −1: none. Until it is solved, a warp polls only this one, so that waiting warps do not saturate
/// L2.
template <int Batch>
__device__ __forceinline__ std::int64_t position_to_poll(const Two<Ordinal> (&position)[Batch],
                                                         std::int64_t first_position) {
  constexpr int far = 1 << 30;  // no input found yet
  int distance = far;
#pragma unroll
  for (int u = 0; u < Batch; ++u) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const Ordinal needed = position[u].of[p];
      const auto there = first_position - static_cast<std::int64_t>(needed);
      if (needed >= 0 && there > 0 && there < distance) distance = static_cast<int>(there);
    }
  }
  distance = __reduce_min_sync(0xffffffffu, distance);
  return distance == far ? -1 : first_position - 2 * static_cast<std::int64_t>(distance);
}

/// Waits for a packet that has already been read once.
template <class Real, class Packet, class Data>
__device__ __forceinline__ void watch(const Data& data, const Packet* from, Packet seen,
                                      std::int64_t waiting_position) {
  WaitTimer<> timer;
  for (unsigned spins = 1; __any_sync(0xffffffffu, distance_from_sentinel<Real>(seen) == 0); ++spins) {
    read_missing(from, 0, seen);
    if (spins % 1024 == 0 && __any_sync(0xffffffffu, data.watchdog.ends(timer, waiting_position))) break;
  }
}

/// Rereads the missing values of a batch until all have arrived. Returns NaN once the watchdog has ended the
/// solve.
template <class Batch, class Data>
__device__ __forceinline__ void wait_for_all(const Data& data, Batch& batch, std::int64_t waiting_position) {
  WaitTimer<> timer;
  for (unsigned spins = 1; __any_sync(0xffffffffu, batch.misses_some()); ++spins) {
    batch.ask_again();
    if (spins % 1024 == 0 && __any_sync(0xffffffffu, data.watchdog.ends(timer, waiting_position))) {
      batch.abandon();
      break;
    }
  }
}

/// A thread's pairs of steps s, s + 1, …; `none` after the last step.
template <int Batch, class T, class StepAt>
__device__ __forceinline__ void load_pairs(const T* from, int s, int steps, const StepAt& step_at, T none,
                                           Two<T> (&pair)[Batch]) {
#pragma unroll
  for (int u = 0; u < Batch; ++u) {
    pair[u] = s + u < steps ? *reinterpret_cast<const Two<T>*>(from + step_at(s + u)) : Two<T>{{none, none}};
  }
}

/// Subtracts entries times solutions from `sum0` and `sum1`, for the two lanes whose entries a thread takes.
/// `step_at(s)` is the position of the thread's entries of step s. A warp executes this together. Most narrow
/// tasks need one batch; in wide ones positions are known one batch ahead, so that awaited values are
/// requested at once.
template <bool Wide, int Stride, class Data, class Value, class Scalar, class StepAt>
__device__ __forceinline__ void gather_columns(const Data& data, const Ordinal* columns, const Value* entries,
                                               int steps, const StepAt& step_at, int column,
                                               std::int64_t first_position, Two<Scalar>& sum0,
                                               Two<Scalar>& sum1) {
  constexpr int batch_steps = steps_in_flight<Scalar>;
  PlaceBatch<batch_steps, Scalar> batch;
  Two<Ordinal> position[batch_steps];
  Two<Value> value[batch_steps];
  if constexpr (Wide) load_pairs(columns, 0, steps, step_at, Ordinal(-1), position);
  for (int s = 0; s < steps; s += batch_steps) {
    if constexpr (!Wide) load_pairs(columns, s, steps, step_at, Ordinal(-1), position);
    batch.template ask<Stride>(data.current + column, position);
    const std::int64_t watched = Wide ? -1 : position_to_poll(position, first_position);
    const auto* watched_at = reinterpret_cast<const Packet<Scalar>*>(data.current + watched * Stride);
    Packet<Scalar> seen = {{0, 0}};
    if constexpr (!Wide) read_missing(watched_at, watched >= 0 ? 0 : 1, seen);
    load_pairs(entries, s, steps, step_at, Value(0), value);
    if constexpr (Wide) load_pairs(columns, s + batch_steps, steps, step_at, Ordinal(-1), position);
    if constexpr (!Wide) watch<RealOf<Scalar>>(data, watched_at, seen, first_position);
    wait_for_all(data, batch, first_position);
#pragma unroll
    for (int u = 0; u < batch_steps; ++u) {
      subtract_product(sum0, Scalar(data.value(&value[u].of[0])), batch.columns(u, 0));
      subtract_product(sum1, Scalar(data.value(&value[u].of[1])), batch.columns(u, 1));
    }
  }
}

/// Sum over neighbouring groups of a warp, returned to all of them.
template <int Stride, class Scalar>
__device__ __forceinline__ void sum_over_groups(Two<Scalar>& sum, int groups) {
  for (int mask = 1; mask < groups; mask *= 2) {
    sum.of[0] += shuffle_xor(sum.of[0], mask * ManyShape<Stride>::position_threads);
    sum.of[1] += shuffle_xor(sum.of[1], mask * ManyShape<Stride>::position_threads);
  }
}

}  // namespace lutra::Impl

#endif
