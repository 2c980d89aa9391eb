// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELKERNELSCUDA_HPP
#define LUTRA_LEVELKERNELSCUDA_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

#include "Lutra_BlockSolveCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LevelRuns.hpp"

// The level-set method for CUDA:
//
//   gather_rhs -> small levels (one block) -> large level -> ... -> scatter_solution
//
// Right-hand sides are first gathered to the positions of their rows, so that the block that solves small
// levels accesses only consecutive memory; finally solutions are scattered to the caller's rows. Only these
// two launches, which belong to one graph with those in between, depend on the caller's arrays.

namespace lutra::Impl {

/// Packed entries of a lane that are loaded before the values they multiply are known.
/// Larger: more latency hidden, more registers, of which double complex numbers need twice as many.
template <class Scalar>
inline constexpr int level_entries_ahead = sizeof(Scalar) > 8 ? 2 : 4;

// More warps in a run: more tasks at a time, slower barriers. A larger ring: fewer reads of global memory.
inline constexpr int chain_warps = 16;            ///< warps of the team that solves a run of small levels
inline constexpr int level_warps = 8;             ///< warps of each team of a large level
inline constexpr int chain_ring_bytes = 1 << 16;  ///< shared memory for the latest solutions of a chain
inline constexpr int chain_shared_bytes = chain_ring_bytes + 16;  ///< with a 0 at the end

/// Solutions in the ring. A task reads solutions from the ring up to this distance, minus a level, before its
/// position. Older solutions, computed long before, are read from global memory one round of the warps ahead.
template <class Scalar>
inline constexpr int chain_ring_size = chain_ring_bytes / static_cast<int>(sizeof(Scalar));

/// Waits until earlier launches have ended and their writes are visible. Pairs with the end of the preceding
/// kernel, or its griddepcontrol.launch_dependents.
__device__ __forceinline__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Lets the next launch start loading; it waits for the end of this one before it reads solutions.
__device__ __forceinline__ void begin_launch_after() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// State of a lane before its task can be solved. Members are the direct results of loads, so that nothing
/// waits for a load before its value is needed.
template <int Ahead, class Value>
struct LaneTask {
  Offset entries;          ///< first entry of the task, later of the lane
  Ordinal first_position;  ///< position of the task's first row
  Ordinal level;
  int steps;
  std::int16_t blocks;  ///< rows; 0 if there is no task
  std::uint8_t log_lanes;
  Ordinal column[Ahead];
  Value value[Ahead];
  Value inverse;     ///< reciprocal diagonal, in all lanes of the row
  Ordinal row;       ///< position of the lane's row; -1: none
  Ordinal position;  ///< the same if the lane is the row's first; otherwise -1
};

__device__ __forceinline__ int lane_of_warp() {
  return static_cast<int>(threadIdx.x % narrow_lanes);
}

/// Loads the description of a task; beyond the end, an empty one at level `end_level`.
template <class Lane, class Data>
__device__ __forceinline__ void load_task(const Data& data, Ordinal t, Ordinal end_task, Ordinal end_level,
                                          Lane& task) {
  const auto* from = data.tasks + t;
  const bool there = t < end_task;
  task.level = there ? from->level : end_level;
  task.steps = there ? from->steps : 0;
  task.blocks = there ? from->blocks : std::int16_t(0);
  task.log_lanes = there ? from->shape.log_lanes : std::uint8_t(0);
  task.first_position = there ? from->first_position : Ordinal(0);
  task.entries = there ? from->entries : 0;
}

/// Finds the row of a lane from a task's description.
template <class Lane>
__device__ __forceinline__ void position_lane(Lane& task) {
  const int lane = lane_of_warp();
  const int row = lane >> task.log_lanes;
  const bool first = row << task.log_lanes == lane;
  task.entries += lane;
  task.row = row < task.blocks ? task.first_position + row : decltype(task.row)(-1);
  task.position = first ? task.row : decltype(task.row)(-1);
}

/// Loads columns, values and reciprocal diagonals of a task whose rows are known.
template <int Ahead, class Value, class Data>
__device__ __forceinline__ void load_entries(const Data& data, LaneTask<Ahead, Value>& task) {
  const Ordinal* column_at = data.columns + task.entries;
  const Value* value_at = data.entries + task.entries;
#pragma unroll
  for (int u = 0; u < Ahead; ++u) {
    task.column[u] = Ordinal(-1);
    task.value[u] = Value(0);
    if (u < task.steps) task.column[u] = column_at[u * narrow_lanes];
    if (u < task.steps) task.value[u] = value_at[u * narrow_lanes];
  }
  task.inverse = Value(0);
  if (task.row >= 0) task.inverse = data.inverses[task.row];
}

/// From the right-hand side, in the first lane of each row, to the solution, in all lanes of the row. The
/// needed solutions were written to data.current by earlier launches. They are read through L1, since many
/// rows of a level may need the same.
template <int Ahead, class Scalar, class Value, class Data>
__device__ __forceinline__ Scalar solve_settled(const Data& data, const LaneTask<Ahead, Value>& task,
                                                Scalar sum) {
#pragma unroll
  for (int u = 0; u < Ahead; ++u) {
    if (task.column[u] >= 0)
      sum -= Scalar(data.value(&task.value[u])) * read_cached(data.current + task.column[u]);
  }
  Offset p = task.entries + Ahead * narrow_lanes;
  for (int s = Ahead; s < task.steps; ++s, p += narrow_lanes) {
    const Ordinal column = data.columns[p];
    if (column >= 0) sum -= Scalar(data.value(data.entries + p)) * read_cached(data.current + column);
  }
  __syncwarp();
  return Scalar(data.value(&task.inverse)) * sum_over_lanes(sum, 1 << task.log_lanes);
}

/// Loads the data of a task that a warp of a large level's launch can load before the previous level ends.
template <int Ahead, class Scalar, class Value>
__device__ __forceinline__ void load_level_task(const BlockSolveData<Scalar, Value>& data, Ordinal first_task,
                                                Ordinal end_task, LaneTask<Ahead, Value>& task) {
  begin_launch_after();
  const auto warp = static_cast<Ordinal>(blockIdx.x * level_warps + threadIdx.x / narrow_lanes);
  load_task(data, first_task + warp, end_task, Ordinal(0), task);
  position_lane(task);
  load_entries(data, task);
}

/// A large level, one warp per task. All data except right-hand sides and solutions are loaded while the
/// previous level ends; after that wait even cached reads observe all that it has written.
template <class Scalar, class Value>
__global__ void __launch_bounds__(level_warps* narrow_lanes)
    large_level_kernel(BlockSolveData<Scalar, Value> data, Ordinal first_task, Ordinal end_task) {
  LaneTask<level_entries_ahead<Scalar>, Value> task;
  load_level_task(data, first_task, end_task, task);
  wait_for_launch_before();
  Scalar sum(0);
  if (task.position >= 0) sum = read_fresh(data.current + task.position);
  sum = solve_settled(data, task, sum);
  if (task.position >= 0) data.current[task.position] = sum;
}

/// Like large_level_kernel, with right-hand sides and solutions in the caller's rows, so that neither
/// gathering nor scattering is needed.
/// @param is_needed by later levels: solutions are also written to data.current
template <class Scalar, class Value>
__global__ void __launch_bounds__(level_warps* narrow_lanes)
    whole_level_kernel(BlockSolveData<Scalar, Value> data, Ordinal first_task, Ordinal end_task,
                       bool is_needed) {
  LaneTask<level_entries_ahead<Scalar>, Value> task;
  load_level_task(data, first_task, end_task, task);
  Scalar sum(0);
  Ordinal out_row = 0;
  if (task.position >= 0) {
    const Ordinal in_row = data.in_row[task.position];
    out_row = data.out_row == data.in_row ? in_row : data.out_row[task.position];
    sum = data.in.scaled(in_row, data.in.at(in_row, 0));
  }
  wait_for_launch_before();
  sum = solve_settled(data, task, sum);
  if (task.position < 0) return;
  if (is_needed) data.current[task.position] = sum;
  data.out.at(out_row, 0) = data.out.scaled(out_row, sum);
}

/// State of a lane during a run: adds the running sum and solutions already read.
template <int Ahead, class Scalar, class Value>
struct ChainTask : LaneTask<Ahead, Value> {
  Scalar sum;
  Scalar x[Ahead];     ///< if any_read: old solutions; 0 if `column` has become a position in the ring
  Ordinal old[Ahead];  ///< positions of old solutions; -1: none
  bool any_read;       ///< a lane of the warp has already read solutions
};

/// A run of small levels, as seen by a warp.
template <int Warps, class Scalar, class Value>
struct Chain {
  static constexpr int ahead = level_entries_ahead<Scalar>;
  static constexpr Ordinal ring_size = chain_ring_size<Scalar>;
  static_assert(ring_size >= narrow_lanes * (3 * max_small_tasks + Warps + 1));
  using Task = ChainTask<ahead, Scalar, Value>;
  using Unsigned = std::make_unsigned_t<Ordinal>;

  const BlockSolveData<Scalar, Value>& data;
  Scalar* ring;            ///< [ring_size + 1] solution of position p at p mod ring_size, followed by 0
  Scalar* current;         ///< data.current, kept in a register
  Ordinal first_position;  ///< first position of the run
  Ordinal window;          ///< largest distance before the task of a column read from the ring
  Ordinal end_task, end_level;
  Ordinal level;  ///< current level

  __device__ __forceinline__ void load_description(Ordinal t, Task& task) const {
    load_task(data, t, end_task, end_level, task);
  }
  __device__ __forceinline__ void load_factors(Task& task) const {
    load_entries(data, task);
    task.sum = Scalar(0);
    if (task.position >= 0) task.sum = read_fresh(current + task.position);
  }
  /// First position whose solution a task finds in the ring. Earlier positions have been solved for at least
  /// two levels when the warp has finished its preceding task.
  __device__ __forceinline__ Ordinal oldest_in_ring(const Task& task) const {
    const Ordinal oldest = task.first_position - window;
    return oldest > first_position ? oldest : first_position;
  }
  /// Locates in the ring the solutions that a task needs. Old ones are in global memory; `any_read` tells
  /// whether there are any.
  __device__ __forceinline__ void find_solutions(Task& task) const {
    const auto oldest = static_cast<Unsigned>(oldest_in_ring(task));
    bool old = false;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const Ordinal column = task.column[u];
      const bool is_old = static_cast<Unsigned>(column) < oldest;
      old = old || is_old;
      task.old[u] = is_old ? column : Ordinal(-1);
      task.column[u] = is_old || column < 0 ? ring_size : column & (ring_size - 1);
    }
    task.any_read = __any_sync(0xffffffffu, old);
  }
  __device__ __forceinline__ void read_old_solutions(Task& task) const {
    if (!task.any_read) return;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      task.x[u] = Scalar(0);
      if (task.old[u] >= 0) task.x[u] = read_fresh(current + task.old[u]);
    }
  }
  /// Scales the entries by minus the reciprocal diagonal, and computes all that does not depend on the ring.
  __device__ __forceinline__ Scalar prepare(const Task& task, Scalar (&factor)[ahead]) const {
    const Scalar inverse(data.value(&task.inverse));
    Scalar sum = inverse * task.sum;
#pragma unroll
    for (int u = 0; u < ahead; ++u) factor[u] = -(inverse * Scalar(data.value(&task.value[u])));
    if (task.any_read) {
#pragma unroll
      for (int u = 0; u < ahead; ++u) sum += factor[u] * task.x[u];
    }
    return sum;
  }
  /// Contribution of entries beyond those loaded ahead.
  __device__ __forceinline__ Scalar gather_long(const Task& task) const {
    const Ordinal oldest = oldest_in_ring(task);
    Scalar sum(0);
    Offset p = task.entries + ahead * narrow_lanes;
#pragma unroll 1
    for (int s = ahead; s < task.steps; ++s, p += narrow_lanes) {
      const Ordinal column = data.columns[p];
      if (column < 0) continue;
      const Scalar x = column < oldest ? read_fresh(data.current + column) : ring[column & (ring_size - 1)];
      sum += Scalar(data.value(data.entries + p)) * x;
    }
    return Scalar(data.value(&task.inverse)) * sum;
  }
  /// The solution, in the first lane of each row.
  __device__ __forceinline__ Scalar solve(const Task& task, const Scalar (&factor)[ahead], Scalar sum) const {
    const Scalar x0 = ring[task.column[0]], x1 = ring[task.column[1]];
    Scalar other(0);
    if constexpr (ahead == 4) {
      if (task.steps > 2) other = factor[2] * ring[task.column[2]] + factor[3] * ring[task.column[3]];
    }
    if (task.steps > ahead) other -= gather_long(task);
    const Scalar total = ((sum + factor[0] * x0) + factor[1] * x1) + other;
    return task.log_lanes > 0 ? sum_over_lanes(total, 1 << task.log_lanes) : total;
  }
  /// Solves task t, ends its level with a barrier if the next task belongs to a later one, and advances the
  /// pipeline of later tasks by a stage. The barrier precedes all that others do not wait for. Loaded values
  /// are used before new loads start, if possible a level before the task itself, because a warp cannot wait
  /// for only some of its loads. (Zeros unknown to the compiler keep it from using loaded values before the
  /// barriers.)
  __device__ __forceinline__ void step(Ordinal t, Task& now, Task& next, Task& later) {
    Scalar factor[ahead];
#pragma unroll 1
    for (; level + 1 < now.level; ++level) __syncthreads();
    const Scalar zero = read_fresh(ring + ring_size);
    const auto zero_bits = *reinterpret_cast<const volatile int*>(ring + ring_size);
    now.inverse += Value(zero);
#pragma unroll
    for (int u = 0; u < ahead; ++u) next.column[u] += zero_bits;
    const Scalar sum = prepare(now, factor);
    position_lane(later);
    find_solutions(next);
    Scalar* const in_ring = ring + (now.position & (ring_size - 1));
    if (level < now.level) {
      __syncthreads();
      ++level;
    }
    const Scalar x = solve(now, factor, sum);
    if (now.position >= 0) *in_ring = x;
    if (level < next.level) {
      __syncthreads();
      ++level;
    }
    if (now.position >= 0) current[now.position] = x;
    read_old_solutions(next);
    load_factors(later);
    load_description(t + 3 * Warps, now);
  }
};

/// A run of small levels in one block, for one right-hand side. Warps stride over the tasks, in a pipeline:
///
///   stage    task t+3w: load description | t+2w: load entries | t+w: read old solutions | t: solve, publish
///   barrier  one after each level: all solutions of the level are in the ring before the next reads them
///
/// (w: warps of the block.) The latest solutions are in a ring in shared memory.
template <int Warps, class Scalar, class Value>
__global__ void __launch_bounds__(Warps* narrow_lanes, 1)
    small_levels_kernel(BlockSolveData<Scalar, Value> data, Ordinal first_task, Ordinal end_task,
                        Ordinal first_level, Ordinal end_level, Ordinal max_tasks) {
  extern __shared__ __align__(16) unsigned char ring_bytes[];
  begin_launch_after();
  using ThisChain = Chain<Warps, Scalar, Value>;
  ThisChain chain{data,
                  reinterpret_cast<Scalar*>(ring_bytes),
                  data.current,
                  data.tasks[first_task].first_position,
                  ThisChain::ring_size - max_tasks * narrow_lanes,
                  end_task,
                  end_level,
                  first_level};
  asm volatile("" : "+l"(chain.current));  // otherwise it would be reloaded at each use
  if (threadIdx.x == 0) chain.ring[ThisChain::ring_size] = Scalar(0);
  __syncthreads();
  typename ThisChain::Task a, b, c;
  Ordinal t = first_task + static_cast<Ordinal>(threadIdx.x / narrow_lanes);
  chain.load_description(t, a);
  chain.load_description(t + Warps, b);
  chain.load_description(t + 2 * Warps, c);
  position_lane(a);
  position_lane(b);
  wait_for_launch_before();
  chain.load_factors(a);
  chain.load_factors(b);
  chain.find_solutions(a);
  chain.read_old_solutions(a);
  while (t < end_task) {
    chain.step(t, a, b, c);
    if ((t += Warps) >= end_task) break;
    chain.step(t, b, c, a);
    if ((t += Warps) >= end_task) break;
    chain.step(t, c, a, b);
    t += Warps;
  }
  for (; chain.level < end_level; ++chain.level) __syncthreads();
}

/// Whole warps; each thread copies one value.
inline constexpr int staging_threads = 256;

/// Gathers right-hand sides to the positions of their rows.
template <class Scalar, class Value>
__global__ void __launch_bounds__(staging_threads)
    gather_rhs_kernel(BlockSolveData<Scalar, Value> data, std::int64_t n) {
  begin_launch_after();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * staging_threads + threadIdx.x;
  if (i >= n) return;
  const auto row = static_cast<std::int64_t>(data.in_row[i]);
  data.current[i] = data.in.scaled(row, data.in.at(row, 0));
}

/// Scatters solutions to the caller's rows.
template <class Scalar, class Value>
__global__ void __launch_bounds__(staging_threads)
    scatter_solution_kernel(BlockSolveData<Scalar, Value> data, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * staging_threads + threadIdx.x;
  const auto row = i < n ? static_cast<std::int64_t>(data.out_row[i]) : 0;
  wait_for_launch_before();
  if (i < n) data.out.at(row, 0) = data.out.scaled(row, data.current[i]);
}

}  // namespace lutra::Impl

#endif
