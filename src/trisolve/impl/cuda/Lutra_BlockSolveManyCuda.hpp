// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKSOLVEMANYCUDA_HPP
#define LUTRA_BLOCKSOLVEMANYCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_BlockSolveCuda.hpp"

namespace lutra::Impl {

// Data-flow solves for several right-hand sides. Neighbouring threads have the columns of one place, two
// each, so that a place is read and written in one piece; such a group of threads takes the entries of two
// neighbouring lanes of a task. With 16 columns a warp takes 8 lanes of a narrow task, and four warps, a
// crew, take the task; they only wait for each other where a row or block has more than 8 lanes.

/// How threads share the lanes of tasks and the columns of places.
template <int Stride>
struct ManyShape {
  static constexpr int place_threads = Stride / 2;                ///< threads of a group
  static constexpr int groups = narrow_lanes / place_threads;     ///< of a warp
  static constexpr int warp_entries = 2 * groups;                 ///< entries a warp has at hand in one step
  static constexpr int crew_warps = narrow_lanes / warp_entries;  ///< warps that take a narrow task
  static constexpr int crew_threads = crew_warps * narrow_lanes;
  static constexpr int crews = wide_lanes / crew_threads;         ///< of a team
  static constexpr int wide_group_lanes = narrow_lanes / groups;  ///< lanes of a wide task that a group takes
};

/// Two neighbours, read or written as one.
template <class T>
struct alignas(2 * sizeof(T)) Two {
  T of[2];
};

/// Part of the two columns of a place: read or written at a time.
template <class Scalar>
using Packet = std::conditional_t<sizeof(Scalar) == 4, Two<std::uint32_t>, Two<std::uint64_t>>;
template <class Scalar>
struct PacketPair {
  static constexpr int count = 2 * sizeof(Scalar) / sizeof(Packet<Scalar>);
  Packet<Scalar> of[count];
};

/// Tells numbers that are not there: 0 for them alone. The upper half of a mark will do, since no number that
/// is written has it. Two numbers of single precision may share a word.
template <class Real>
__device__ __forceinline__ std::uint32_t distance_from_mark(std::uint32_t word) {
  return word ^ Mark<float>::bits;
}
template <class Real>
__device__ __forceinline__ std::uint32_t distance_from_mark(std::uint64_t word) {
  if constexpr (sizeof(Real) == 8) return static_cast<std::uint32_t>(word >> 32) ^ (Mark<double>::bits >> 32);
  return min(static_cast<std::uint32_t>(word) ^ Mark<float>::bits,
             static_cast<std::uint32_t>(word >> 32) ^ Mark<float>::bits);
}
template <class Real, class Word>
__device__ __forceinline__ std::uint32_t distance_from_mark(const Two<Word>& packet) {
  return min(distance_from_mark<Real>(packet.of[0]), distance_from_mark<Real>(packet.of[1]));
}

/// Reads a packet, if its distance from the mark is 0, past the first-level cache, so that what another
/// multiprocessor has written is seen. No branch: the reads of a thread are all on their way together.
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
  const bool looks_marked = static_cast<std::uint32_t>(__double2hiint(value)) == Mark<double>::bits >> 32;
  return looks_marked ? Kokkos::Experimental::quiet_NaN_v<double> : value;
}
__device__ __forceinline__ float cleared(float value) {
  return unmarked(value);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> cleared(const Kokkos::complex<Real>& value) {
  return {cleared(value.real()), cleared(value.imag())};
}
/// The same columns, or NaN where they would look as if they were not there.
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

/// Copies to shared memory in the background.
template <class Value>
__device__ __forceinline__ void copy_later(Value* to, const Value* from) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "n"(sizeof(Value))
      : "memory");
}
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Whether the watchdog has ended the solve; ends it where this wait, begun at `begun`, takes too long. The
/// same for all threads of a warp.
template <class Data>
__device__ __forceinline__ bool is_given_up(const Data& data, std::uint64_t& begun,
                                            std::int64_t waiting_place) {
  if (__any_sync(0xffffffffu, *static_cast<const volatile int*>(data.stop) != 0)) return true;
  const std::uint64_t now = device_nanoseconds();
  if (begun == 0) begun = now;
  if (static_cast<double>(now - begun) > data.watchdog_seconds * 1e9) give_up(data, waiting_place);
  return false;
}

/// Steps of a task whose places a thread asks for at once: as many as registers allow.
template <class Scalar>
inline constexpr int steps_in_flight = ScalarTraits<Scalar>::is_complex ? 2 : 4;

/// Two columns of the places that `Batch` steps wait for, two entries a step.
template <int Batch, class Scalar>
struct PlaceBatch {
  using Real = RealOf<Scalar>;
  static constexpr int packets = PacketPair<Scalar>::count;
  const Packet<Scalar>* from[Batch][2];
  PacketPair<Scalar> x[Batch][2];
  std::uint32_t distance[Batch][2][packets];  ///< from the mark; 0: not there

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
  /// Asks for the columns from `solutions` on of places, −1: of none.
  template <int Stride, class Ordinal>
  __device__ __forceinline__ void ask(const Scalar* solutions, const Two<Ordinal> (&place)[Batch]) {
    for_each_packet([&](int u, int p, int k) {
      const Ordinal needed = place[u].of[p];
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
      distance[u][p][k] = distance_from_mark<Real>(x[u][p].of[k]);
      least = min(least, distance[u][p][k]);
    });
    return least == 0;
  }
  /// Puts NaN where something is missing.
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

/// A place that is solved about one level before the last of those in `place`, if levels are about alike; −1:
/// none. Until it is, a warp that is ahead of its time looks there only, and leaves the memory to others.
template <int Batch, class Ordinal>
__device__ __forceinline__ std::int64_t place_to_watch(const Two<Ordinal> (&place)[Batch],
                                                       std::int64_t first_place) {
  constexpr int far = 1 << 30;
  int distance = far;
#pragma unroll
  for (int u = 0; u < Batch; ++u) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const Ordinal needed = place[u].of[p];
      const auto there = first_place - static_cast<std::int64_t>(needed);
      if (needed >= 0 && there > 0 && there < distance) distance = static_cast<int>(there);
    }
  }
  distance = __reduce_min_sync(0xffffffffu, distance);
  return distance == far ? -1 : first_place - 2 * static_cast<std::int64_t>(distance);
}

/// Waits until a packet, read once already, is there.
template <class Real, class Packet, class Data>
__device__ __forceinline__ void watch(const Data& data, const Packet* from, Packet seen,
                                      std::int64_t waiting_place) {
  std::uint64_t begun = 0;
  for (unsigned spins = 1; __any_sync(0xffffffffu, distance_from_mark<Real>(seen) == 0); ++spins) {
    read_missing(from, 0, seen);
    if (spins % 1024 == 0 && is_given_up(data, begun, waiting_place)) break;
  }
}

/// Reads what is missing of a batch again until all is there. Gives NaN once the watchdog has ended the
/// solve.
template <class Batch, class Data>
__device__ __forceinline__ void wait_for_all(const Data& data, Batch& batch, std::int64_t waiting_place) {
  std::uint64_t begun = 0;
  for (unsigned spins = 1; __any_sync(0xffffffffu, batch.misses_some()); ++spins) {
    batch.ask_again();
    if (spins % 1024 == 0 && is_given_up(data, begun, waiting_place)) {
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

/// Takes entries times solutions from `sum0` and `sum1`, for the two lanes a thread takes entries of.
/// `step_at(s)` is where the thread's entries of step s are. A warp goes through this together. Most narrow
/// tasks are done in one batch; in wide ones places are known one batch ahead, so that what is waited for is
/// asked for at once.
template <bool Wide, int Stride, class Data, class Ordinal, class Value, class Scalar, class StepAt>
__device__ __forceinline__ void gather_columns(const Data& data, const Ordinal* columns, const Value* entries,
                                               int steps, const StepAt& step_at, int column,
                                               std::int64_t first_place, Two<Scalar>& sum0,
                                               Two<Scalar>& sum1) {
  constexpr int batch_steps = steps_in_flight<Scalar>;
  PlaceBatch<batch_steps, Scalar> batch;
  Two<Ordinal> place[batch_steps];
  Two<Value> value[batch_steps];
  if constexpr (Wide) load_pairs(columns, 0, steps, step_at, Ordinal(-1), place);
  for (int s = 0; s < steps; s += batch_steps) {
    if constexpr (!Wide) load_pairs(columns, s, steps, step_at, Ordinal(-1), place);
    batch.template ask<Stride>(data.current + column, place);
    const std::int64_t watched = Wide ? -1 : place_to_watch(place, first_place);
    const auto* watched_at = reinterpret_cast<const Packet<Scalar>*>(data.current + watched * Stride);
    Packet<Scalar> seen = {{0, 0}};
    if constexpr (!Wide) read_missing(watched_at, watched >= 0 ? 0 : 1, seen);
    load_pairs(entries, s, steps, step_at, Value(0), value);
    if constexpr (Wide) load_pairs(columns, s + batch_steps, steps, step_at, Ordinal(-1), place);
    if constexpr (!Wide) watch<RealOf<Scalar>>(data, watched_at, seen, first_place);
    wait_for_all(data, batch, first_place);
#pragma unroll
    for (int u = 0; u < batch_steps; ++u) {
      subtract_product(sum0, Scalar(data.value(&value[u].of[0])), batch.columns(u, 0));
      subtract_product(sum1, Scalar(data.value(&value[u].of[1])), batch.columns(u, 1));
    }
  }
}

/// Sum over neighbouring groups of a warp, in all of them.
template <int Stride, class Scalar>
__device__ __forceinline__ void sum_over_groups(Two<Scalar>& sum, int groups) {
  for (int mask = 1; mask < groups; mask *= 2) {
    sum.of[0] += shuffle_xor(sum.of[0], mask * ManyShape<Stride>::place_threads);
    sum.of[1] += shuffle_xor(sum.of[1], mask * ManyShape<Stride>::place_threads);
  }
}

/// Two columns of a row, in the group that takes the row's first lane.
template <class Scalar, class Ordinal>
struct RowColumns {
  Ordinal place = -1;  ///< −1: there is no such row, or it belongs to another group
  Ordinal out_row = 0;
  Two<Scalar> x = {{Scalar(0), Scalar(0)}};  ///< right-hand sides, at last solutions

  template <class Data, class Task>
  __device__ __forceinline__ void load(const Data& data, const Task& task, int lane, int column) {
    const auto at = position_of_lane<Ordinal>(task, data.block_begin, lane);
    if (!at.active || at.lane != 0) return;
    place = at.place;
    out_row = data.out_row[place];
    const auto in_row = static_cast<std::int64_t>(data.in_row[place]);
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (column + q < data.n_columns) x.of[q] = data.in.scaled(in_row, data.in.at(in_row, column + q));
    }
  }
  /// Hands the solutions on to those who wait.
  template <int Stride, class Data>
  __device__ __forceinline__ void hand_on(const Data& data, int column) const {
    if (place < 0) return;
    write_columns(data.current + static_cast<std::int64_t>(place) * Stride + column, presentable(x));
  }
  /// Gives the solutions to the caller and marks the array of the solve before.
  template <int Stride, class Data>
  __device__ __forceinline__ void deliver(const Data& data, int column) const {
    if (place < 0) return;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (column + q < data.n_columns) data.out.at(out_row, column + q) = data.out.scaled(out_row, x.of[q]);
    }
    Scalar* before = data.previous + static_cast<std::int64_t>(place) * data.previous_stride;
    if (data.previous_stride == Stride) {
      write_columns(before + column, Two<Scalar>{{marked_value<Scalar>(), marked_value<Scalar>()}});
    } else {
      for (int r = column / 2; r < data.previous_stride; r += Stride / 2) before[r] = marked_value<Scalar>();
    }
  }
};

/// What is left to do for solved rows.
template <int Stride, class Data, class Row, int Count>
__device__ __forceinline__ void finish(const Data& data, const Row (&row)[Count], int column) {
#pragma unroll
  for (int p = 0; p < Count; ++p) row[p].template hand_on<Stride>(data, column);
#pragma unroll
  for (int p = 0; p < Count; ++p) row[p].template deliver<Stride>(data, column);
}

/// Shared memory of those who take a task together.
template <int Stride, int InverseEntries, class Scalar, class Value>
struct SharedTask {
  /// All columns of the rows: in narrow tasks by the first lane of each row, so that a warp only writes what
  /// no other warp of its crew may still be reading; in wide ones by row.
  Two<Scalar> sums[most_block_rows * Stride / 2];
  Value inverses[InverseEntries];  ///< as packed
};
/// Narrow blocks have up to 8 entries of the inverse a lane, the widest of the wide ones 2.
template <int Stride, class Scalar, class Value>
using NarrowShared = SharedTask<Stride, 8 * narrow_lanes, Scalar, Value>;
template <int Stride, class Scalar, class Value>
using WideShared = SharedTask<Stride, 2 * wide_lanes, Scalar, Value>;

/// Inverse of a block in shared memory, as the task's lanes hold it.
template <class Data, class Value>
struct SharedInverse {
  const Data& data;
  const Value* values;  ///< of the block's first lane
  int log_lanes;
  int task_lanes;
  __device__ __forceinline__ auto operator()(int i, int j) const {
    const int lanes = 1 << log_lanes;
    return data.value(values + (j >> log_lanes) * task_lanes + (i << log_lanes) + (j & (lanes - 1)));
  }
};

/// Solves a block by substitution: the thread's rows, from i on, become solutions; i < 0: it takes no part.
/// Each row is handed on through `sums`; `meet` waits for all who share the task's blocks.
template <class Inverse, class Row, int Count, class Scalar, class Meet>
__device__ __forceinline__ void substitute_rows(const Inverse& inverse, int rows, int i, Row (&row)[Count],
                                                Two<Scalar>* sums, int row_stride, const Meet& meet) {
#pragma unroll 1
  for (int j = 0; j < rows; ++j) {
#pragma unroll
    for (int p = 0; p < Count; ++p) {
      if (i + p != j || i < 0 || row[p].place < 0) continue;
      row[p].x = sums[j * row_stride] = product(Scalar(inverse(j, j)), row[p].x);
    }
    meet();
#pragma unroll
    for (int p = 0; p < Count; ++p) {
      if (i + p <= j || i < 0 || row[p].place < 0) continue;
      subtract_product(row[p].x, Scalar(inverse(i + p, j)), sums[j * row_stride]);
    }
  }
}

/// Adds every `step`-th entry from `first` on of row i of an inverse times the sums of the block's rows.
template <class Inverse, class Scalar>
__device__ __forceinline__ Two<Scalar> inverse_row(const Inverse& inverse, int i, int first, int step,
                                                   const Two<Scalar>* sums, int row_stride) {
  Two<Scalar> y = {{Scalar(0), Scalar(0)}};
#pragma unroll 4
  for (int j = first; j <= i; j += step) {
    subtract_product(y, -Scalar(inverse(i, j)), sums[j * row_stride]);
  }
  return y;
}

/// Waits for the warps of a crew.
template <int Stride>
__device__ __forceinline__ void meet_crew() {
  using Shape = ManyShape<Stride>;
  if constexpr (Shape::crew_warps == 1) {
    __syncwarp();
  } else {
    const int crew = static_cast<int>(threadIdx.x) / Shape::crew_threads;
    asm volatile("barrier.sync %0, %1;" ::"r"(crew + 1), "n"(Shape::crew_threads) : "memory");
  }
}

/// Sum over the warps that share a row of a narrow task, in all of them.
template <int Stride, class Scalar>
__device__ __forceinline__ void sum_over_crew(Two<Scalar>& sum, int warps, Two<Scalar>* partial) {
  using Shape = ManyShape<Stride>;
  const int thread = static_cast<int>(threadIdx.x) % narrow_lanes;
  const int warp = static_cast<int>(threadIdx.x) / narrow_lanes % Shape::crew_warps;
  const int column = thread % Shape::place_threads;
  // Each warp writes where the sums of its own lanes go.
  constexpr int warp_stride = Shape::warp_entries * Shape::place_threads;
  if (thread < Shape::place_threads) partial[warp * warp_stride + column] = sum;
  meet_crew<Stride>();
  const int first = warp / warps * warps;
  sum = partial[first * warp_stride + column];
  for (int w = first + 1; w < first + warps; ++w) add(sum, partial[w * warp_stride + column]);
  meet_crew<Stride>();
}

/// Where a thread works in narrow tasks.
template <int Stride>
struct NarrowPosition {
  using Shape = ManyShape<Stride>;
  int column = static_cast<int>(threadIdx.x) % Shape::place_threads * 2;
  int lane =
      static_cast<int>(threadIdx.x) / Shape::place_threads % (narrow_lanes / 2) * 2;  ///< and the next one

  __device__ __forceinline__ int warp_lane() const { return lane & ~(Shape::warp_entries - 1); }
};

/// Takes the known part of a task's rows from their right-hand sides.
template <int Stride, class Data, class Task, class Row, class Sums>
__device__ __forceinline__ void gather_narrow(const Data& data, const Task& task,
                                              const NarrowPosition<Stride>& at, Row (&row)[2], Sums* sums) {
  using Shape = ManyShape<Stride>;
  row[0].load(data, task, at.lane, at.column);
  row[1].load(data, task, at.lane + 1, at.column);
  gather_columns<false, Stride>(
      data, data.columns + task.entries + at.lane, data.entries + task.entries + at.lane, task.steps,
      [](int s) { return s * narrow_lanes; }, at.column, static_cast<std::int64_t>(task.first_place),
      row[0].x, row[1].x);
  if (task.shape.log_lanes == 0) return;
  add(row[0].x, row[1].x);
  const int groups = task.shape.lanes() / 2;
  sum_over_groups<Stride>(row[0].x, groups < Shape::groups ? groups : Shape::groups);
  if (groups > Shape::groups) sum_over_crew<Stride>(row[0].x, groups / Shape::groups, sums);
}

/// One narrow task of single rows, by the warps of a crew.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void solve_rows(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                           const BlockTask<Ordinal, Offset>& task,
                                           NarrowShared<Stride, Scalar, Value>& shared) {
  const NarrowPosition<Stride> at;
  const bool together = task.shape.lanes() > ManyShape<Stride>::warp_entries;
  if (!together && at.warp_lane() >> task.shape.log_lanes >= task.blocks) return;
  RowColumns<Scalar, Ordinal> row[2];
  Value reciprocal[2];  // of the diagonal
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const int b = (at.lane + p) >> task.shape.log_lanes;
    reciprocal[p] = b < task.blocks ? data.inverses[task.inverses + b] : Value(0);
  }
  gather_narrow<Stride>(data, task, at, row, shared.sums);
#pragma unroll
  for (int p = 0; p < 2; ++p) row[p].x = product(Scalar(data.value(&reciprocal[p])), row[p].x);
  finish<Stride>(data, row, at.column);
}

/// One narrow task of blocks, by the warps of a crew.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void solve_small_blocks(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                                   const BlockTask<Ordinal, Offset>& task,
                                                   NarrowShared<Stride, Scalar, Value>& shared) {
  using Shape = ManyShape<Stride>;
  const NarrowPosition<Stride> at;
  const bool together = task.shape.block_lanes() > Shape::warp_entries;
  const int block = at.lane / task.shape.block_lanes();
  if (!together && at.warp_lane() / task.shape.block_lanes() >= task.blocks) return;
  const int in_warp = static_cast<int>(threadIdx.x) % narrow_lanes;
  const bool flagged = block < task.blocks && data.substitute[task.first_block + block] != 0;
  const bool any_flagged =
      __any_sync(0xffffffffu, data.substitute[task.first_block + in_warp % task.blocks] != 0);
  const int size = task.shape.inverse_entries() * Shape::warp_entries;
  for (int t = in_warp; t < size; t += narrow_lanes) {
    const int i = t / Shape::warp_entries * narrow_lanes + at.warp_lane() + t % Shape::warp_entries;
    copy_later(shared.inverses + i, data.inverses + task.inverses + i);
  }
  RowColumns<Scalar, Ordinal> row[2];
  gather_narrow<Stride>(data, task, at, row, shared.sums);
  const auto meet = [&]() {
    if (together) {
      meet_crew<Stride>();
    } else {
      __syncwarp();
    }
  };
  const int block_lane = at.lane & ~(task.shape.block_lanes() - 1);
  const int i = (at.lane - block_lane) >> task.shape.log_lanes;
  const int row_stride = Shape::place_threads << task.shape.log_lanes;
  Two<Scalar>* sums = shared.sums + block_lane * Shape::place_threads + at.column / 2;
  const SharedInverse<BlockSolveData<Scalar, Value, Ordinal, Offset>, Value> inverse{
      data, shared.inverses + block_lane, task.shape.log_lanes, narrow_lanes};
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    if (row[p].place >= 0) sums[(i + p) * row_stride] = row[p].x;
  }
  await_copies();
  meet();
  if (any_flagged) substitute_rows(inverse, task.shape.rows(), flagged ? i : -1, row, sums, row_stride, meet);
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    if (!flagged && row[p].place >= 0) row[p].x = inverse_row(inverse, i + p, 0, 1, sums, row_stride);
  }
  finish<Stride>(data, row, at.column);
  meet();  // the next task's sums may come
}

/// One wide task, by a team: a warp takes one row or two.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void solve_wide(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                           const BlockTask<Ordinal, Offset>& task,
                                           WideShared<Stride, Scalar, Value>& shared) {
  using Shape = ManyShape<Stride>;
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % Shape::place_threads * 2;
  const int lane = thread / Shape::place_threads * Shape::wide_group_lanes;
  const int size = task.shape.inverse_entries() * wide_lanes;
  for (int t = thread; t < size; t += wide_lanes) {
    copy_later(shared.inverses + t, data.inverses + task.inverses + t);
  }
  const bool flagged = data.substitute[task.first_block] != 0;
  RowColumns<Scalar, Ordinal> row[1];
  row[0].load(data, task, lane, column);
  Two<Scalar> odd = {{Scalar(0), Scalar(0)}};
  gather_columns<true, Stride>(
      data, data.columns + task.entries + lane, data.entries + task.entries + lane,
      task.steps * Shape::crew_warps,
      [](int s) { return s / Shape::crew_warps * wide_lanes + s % Shape::crew_warps * 2; }, column,
      static_cast<std::int64_t>(task.first_place), row[0].x, odd);
  add(row[0].x, odd);
  sum_over_groups<Stride>(row[0].x, task.shape.lanes() / Shape::wide_group_lanes);
  const int i = lane >> task.shape.log_lanes;
  Two<Scalar>* sums = shared.sums + column / 2;
  if (row[0].place >= 0) sums[i * Shape::place_threads] = row[0].x;
  await_copies();
  __syncthreads();
  const SharedInverse<BlockSolveData<Scalar, Value, Ordinal, Offset>, Value> inverse{
      data, shared.inverses, task.shape.log_lanes, wide_lanes};
  if (flagged) {
    substitute_rows(inverse, task.shape.rows(), i, row, sums, Shape::place_threads,
                    []() { __syncthreads(); });
  } else {  // all groups of the warp share the work on its rows
    const int group = thread / Shape::place_threads % Shape::groups;
    const int warp_row = (thread & ~(narrow_lanes - 1)) >> task.shape.log_lanes;
    const int rows = narrow_lanes >> task.shape.log_lanes;
    for (int k = 0; k < rows; ++k) {
      Two<Scalar> y = inverse_row(inverse, warp_row + k, group, Shape::groups, sums, Shape::place_threads);
      __syncwarp();
      sum_over_groups<Stride>(y, Shape::groups);
      if (warp_row + k == i) row[0].x = y;
    }
  }
  finish<Stride>(data, row, column);
  __syncthreads();
}

/// How the work is split among teams and crews.
struct ManySplit {
  int narrow_teams = 0;  ///< the first ones; the others take the wide tasks
  int narrow_crews = 0;  ///< that go round the narrow tasks, spread over those teams
  int wide_teams = 0;
};

/// As solve_blocks_kernel: some teams' crews go round the narrow tasks, the other teams round the wide ones,
/// each in the order of levels, and all run at once. A narrow task waits for places of lower levels, and
/// watches one of an earlier narrow task, so that the first task that is not finished never waits.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
__global__ void __launch_bounds__(wide_lanes, 1)
    solve_many_kernel(BlockSolveData<Scalar, Value, Ordinal, Offset> data, ManySplit split) {
  extern __shared__ __align__(32) unsigned char many_shared[];
  using Task = BlockTask<Ordinal, Offset>;
  const int team = static_cast<int>(blockIdx.x);
  if (team < split.narrow_teams) {
    const int crew = static_cast<int>(threadIdx.x) / ManyShape<Stride>::crew_threads;
    auto& shared = reinterpret_cast<NarrowShared<Stride, Scalar, Value>*>(many_shared)[crew];
    const int number = crew * split.narrow_teams + team;
    if (number >= split.narrow_crews || number >= data.narrow_tasks) return;
    for (std::int64_t t = number; t < data.narrow_tasks; t += split.narrow_crews) {
      const Task task = data.tasks[t];
      if (task.shape.log_rows == 0) {
        solve_rows<Stride>(data, task, shared);
      } else {
        solve_small_blocks<Stride>(data, task, shared);
      }
    }
  } else {
    auto& shared = *reinterpret_cast<WideShared<Stride, Scalar, Value>*>(many_shared);
    for (std::int64_t t = data.narrow_tasks + team - split.narrow_teams; t < data.n_tasks;
         t += split.wide_teams) {
      const Task task = data.tasks[t];
      solve_wide<Stride>(data, task, shared);
    }
  }
}

/// Splits the teams that can run at once. Crews are spread over the multiprocessors, as far as wide tasks
/// leave room: their reading is what limits them. How many levels they look ahead was measured on an H200:
/// fewer leave loads to be waited for, more take room from wide tasks, or gain nothing.
template <int Stride, class Data>
ManySplit split_teams(const Data& data, int levels, std::int64_t most, std::int64_t wide_tasks) {
  using Shape = ManyShape<Stride>;
  const std::int64_t levels_ahead = wide_tasks > 0 ? 12 : 24;
  const std::int64_t most_narrow = wide_tasks > 0 ? most / 2 : most;
  const std::int64_t wanted = (levels_ahead * data.narrow_tasks + levels - 1) / levels;
  const std::int64_t crews = std::min<std::int64_t>({wanted, data.narrow_tasks, most_narrow * Shape::crews});
  const std::int64_t least = (crews + Shape::crews - 1) / Shape::crews;
  ManySplit split;
  split.narrow_crews = static_cast<int>(crews);
  split.narrow_teams =
      static_cast<int>(std::clamp(most - wide_tasks, least, std::max(least, std::min(crews, most_narrow))));
  split.wide_teams = static_cast<int>(std::min<std::int64_t>(wide_tasks, most - split.narrow_teams));
  return split;
}

/// Solves for up to `Stride` right-hand sides.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
void solve_blocks_many_cuda(const Kokkos::Cuda& exec, BlockSolveData<Scalar, Value, Ordinal, Offset> data,
                            int levels) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::blocks");
  const auto kernel = solve_many_kernel<Stride, Scalar, Value, Ordinal, Offset>;
  constexpr std::size_t shared_bytes =
      std::max(sizeof(NarrowShared<Stride, Scalar, Value>) * ManyShape<Stride>::crews,
               sizeof(WideShared<Stride, Scalar, Value>));
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  int of_a_multiprocessor = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_a_multiprocessor, kernel, wide_lanes, shared_bytes);
  const std::int64_t most = of_a_multiprocessor * exec.cuda_device_prop().multiProcessorCount;
  ManySplit split = split_teams<Stride>(data, levels, most, data.n_tasks - data.narrow_tasks);
  void* arguments[] = {&data, &split};
  cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
                              dim3(static_cast<unsigned>(split.narrow_teams + split.wide_teams)),
                              dim3(wide_lanes), arguments, shared_bytes, exec.cuda_stream());
}

}  // namespace lutra::Impl

#endif
