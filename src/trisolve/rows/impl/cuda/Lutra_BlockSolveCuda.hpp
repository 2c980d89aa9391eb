// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKSOLVECUDA_HPP
#define LUTRA_BLOCKSOLVECUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_CheckCuda.hpp"
#include "Lutra_DiagonalBlocksCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_KernelGraphsCuda.hpp"
#include "Lutra_PollSolutionsCuda.hpp"

namespace lutra::Impl {

/// Entries per lane whose solutions are in flight together.
inline constexpr int entries_in_flight = 4;

/// Packed entries of some steps of a lane: columns are loaded one batch ahead, values while the solutions
/// they multiply are in flight.
/// @tparam Lanes of the task
template <int Count, int Lanes, class Value>
struct EntryBatch {
  const Ordinal* column_at;  ///< columns of step 0
  const Value* value_at;
  int steps;

  template <class Data>
  __device__ __forceinline__ EntryBatch(const Data& data, const BlockTask& task, int lane)
      : column_at(data.columns + task.entries + lane),
        value_at(data.entries + task.entries + lane),
        steps(task.steps) {}
  __device__ __forceinline__ void load_columns(int s, Ordinal (&column)[Count]) const {
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      const bool there = s + u >= 0 && s + u < steps;
      column[u] = there ? column_at[static_cast<Offset>(s + u) * Lanes] : Ordinal(-1);
    }
  }
  __device__ __forceinline__ void load_values(int s, const Ordinal (&column)[Count],
                                              Value (&value)[Count]) const {
#pragma unroll
    for (int u = 0; u < Count; ++u)
      value[u] = column[u] >= 0 ? value_at[static_cast<Offset>(s + u) * Lanes] : Value(0);
  }
};

/// Partial sum of a lane: right-hand sides (in the first lane of the row) minus entries times solutions. The
/// last batch is a full one, so that all late values arrive in one round trip.
/// @param meanwhile called while the first loads are in flight
template <class Scalar, class Value, class Meanwhile>
__device__ __forceinline__ void gather_entries(const BlockSolveData<Scalar, Value>& data,
                                               const BlockTask& task, int lane, Ordinal position,
                                               const Meanwhile& meanwhile, Scalar& sum) {
  constexpr int ahead = entries_in_flight;
  const EntryBatch<ahead, narrow_lanes, Value> entries(data, task, lane);
  int s = task.steps - (task.steps + ahead - 1) / ahead * ahead;
  Ordinal next[ahead];
  entries.load_columns(s, next);
  meanwhile();
  for (; s < task.steps; s += ahead) {
    Ordinal column[ahead];
    Value value[ahead];
    Scalar x[ahead][1];
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      column[u] = next[u];
      x[u][0] = Scalar(0);
      if (column[u] >= 0) read_solution<1>(data.current + static_cast<std::int64_t>(column[u]), x[u]);
    }
    entries.load_values(s, column, value);
    entries.load_columns(s + ahead, next);
    bool waiting = false;
#pragma unroll
    for (int u = 0; u < ahead; ++u) waiting = waiting || any_sentinel(x[u]);
    if (__any_sync(0xffffffffu, waiting)) poll_earlier(data, column, task.first_position, task.shape.rows());
    if (waiting) wait_for_columns(data, column, x, position);
#pragma unroll
    for (int u = 0; u < ahead; ++u) sum -= Scalar(data.value(&value[u])) * x[u][0];
  }
}

/// Entries of a lane of a wide task in a batch.
inline constexpr int wide_batch = 4;
/// Nanoseconds between two reads of a block waiting for its inputs. Longer: less load on L2, later answers.
inline constexpr unsigned poll_pause = 100;

/// Like gather_entries, for a wide task. Blocks waiting for inputs must not saturate L2 with polling: one
/// warp (the poller) polls one value of the batch, the others wait at a barrier:
///
///   poller      poll ... poll value | __syncthreads | read the batch
///   15 warps    __syncthreads ------------------------> read the batch
///
/// Values that may be old are read through L1, since all warps read about the same ones; a cached copy other
/// than the sentinel is valid. The last batch, which decides when the block can be solved, is read from L2 by
/// all warps once its polled value has arrived.
/// @param rows of the block
template <class Scalar, class Value>
__device__ __forceinline__ void gather_wide(const BlockSolveData<Scalar, Value>& data, const BlockTask& task,
                                            int lane, int rows, Ordinal position, Scalar& sum) {
  const EntryBatch<wide_batch, wide_lanes, Value> entries(data, task, lane);
  const int watcher = ((rows - 1) << task.shape.log_lanes) + task.shape.lanes() - 1;  // lane of the last row
  const bool watches = watcher / narrow_lanes == static_cast<int>(threadIdx.x) / narrow_lanes;
  const auto watch = [&](Ordinal needed) {
    if (watches) {
      needed = shuffle_from(needed, watcher % narrow_lanes);
      if (needed >= 0) poll_value(data, data.current + needed, position, poll_pause);
    }
    __syncthreads();
  };
  bool at_front = false;  // the previous batch had to be waited for
  int s = task.steps - (task.steps + wide_batch - 1) / wide_batch * wide_batch;
  Ordinal next[wide_batch];
  entries.load_columns(s, next);
  for (; s < task.steps; s += wide_batch) {
    const bool last = s + wide_batch >= task.steps;
    Ordinal column[wide_batch];
    Value value[wide_batch];
    Scalar x[wide_batch][1];
#pragma unroll
    for (int u = 0; u < wide_batch; ++u) column[u] = next[u];
    if (at_front && !last) watch(column[wide_batch - 1]);
#pragma unroll
    for (int u = 0; u < wide_batch; ++u) {
      const Scalar* from = data.current + static_cast<std::int64_t>(column[u]);
      x[u][0] = Scalar(0);
      if (column[u] >= 0) x[u][0] = last ? read_fresh(from) : read_cached(from);
    }
    entries.load_values(s, column, value);
    entries.load_columns(s + wide_batch, next);
    bool waiting = false;
#pragma unroll
    for (int u = 0; u < wide_batch; ++u) waiting = waiting || any_sentinel(x[u]);
    if (last || !at_front) {
      at_front = __syncthreads_or(waiting ? 1 : 0) != 0;
      if (at_front) watch(last ? column[0] : column[wide_batch - 1]);
    }
    if (waiting) wait_for_columns(data, column, x, position);
#pragma unroll
    for (int u = 0; u < wide_batch; ++u) sum -= Scalar(data.value(&value[u])) * x[u][0];
  }
}

/// Writes the solutions of a row, first to the slots that others poll, then to the caller, and resets the
/// slots of the previous solve.
template <class Scalar, class Data>
__device__ __forceinline__ void finish_row(const Data& data, std::int64_t position, std::int64_t out_row,
                                           const Scalar& x) {
  write_through(data.current + position, storable(x));
  data.out.at(out_row, 0) = data.out.scaled(out_row, x);
  Scalar* before = data.previous + position * data.previous_stride;
  for (int r = 0; r < data.previous_stride; ++r) before[r] = sentinel_value<Scalar>();
}

/// The right-hand side of the row in its first lane, 0 in others.
/// @param out_row receives the caller's row of its solution
template <class Scalar, class Data, class Position>
__device__ __forceinline__ Scalar take_right_hand_side(const Data& data, const Position& at,
                                                       Ordinal& out_row) {
  out_row = 0;
  if (!at.active || at.lane != 0) return Scalar(0);
  const Ordinal in_row = data.in_row[at.position];
  out_row = data.out_row[at.position];
  return data.in.scaled(in_row, data.in.at(in_row, 0));
}

/// Solves a task of single rows in a warp.
template <class Scalar, class Value>
__device__ __forceinline__ void solve_single_rows(const BlockSolveData<Scalar, Value>& data,
                                                  const BlockTask& task) {
  const int lane = static_cast<int>(threadIdx.x % narrow_lanes);
  const auto at = position_of_lane(task, data.block_begin, lane);
  Ordinal out_row;
  Scalar sum = take_right_hand_side<Scalar>(data, at, out_row);
  Value reciprocal(0);
  if (at.active) reciprocal = read_cached(data.inverses + task.inverses + at.block);
  gather_entries(
      data, task, lane, at.position, [] {}, sum);
  __syncwarp();
  sum = sum_over_lanes(sum, task.shape.lanes());
  if (at.active && at.lane == 0)
    finish_row(data, at.position, out_row, Scalar(data.value(&reciprocal)) * sum);
}

/// Solves a narrow task of blocks in a warp.
template <class Scalar, class Value>
__device__ __forceinline__ void solve_narrow_blocks(const BlockSolveData<Scalar, Value>& data,
                                                    const BlockTask& task,
                                                    WarpShared<Scalar, Value>& shared) {
  const int lane = static_cast<int>(threadIdx.x % narrow_lanes);
  const auto at = position_of_lane(task, data.block_begin, lane);
  Ordinal out_row;
  Scalar sum = take_right_hand_side<Scalar>(data, at, out_row);
  const BlockUse use =
      at.block < task.blocks ? read_now(data.use + task.first_block + at.block) : BlockUse::inverse;
  const auto stage = [&] {
    stage_inverses(data.inverses + task.inverses, task.shape.inverse_entries(), lane, shared.inverses);
  };
  gather_entries(data, task, lane, at.position, stage, sum);
  await_copies();
  __syncwarp();
  sum = sum_over_lanes(sum, task.shape.lanes());
  if (task.shape.inverse_entries() <= max_inverse_entries) {
    sum = apply_narrow_blocks(data, task.shape, at, use, shared.inverses, lane, sum);
  } else {
    const int rows = __popc(__ballot_sync(0xffffffffu, at.active)) >> task.shape.log_lanes;
    const WarpBlock<Scalar, Value, BlockSolveData<Scalar, Value>> block{data, shared, task.shape, rows, lane};
    sum = block.solve(sum, use);
  }
  if (at.active && at.lane == 0) finish_row(data, at.position, out_row, sum);
}

/// Solves a wide task in a whole team.
/// @param staged its inverse in shared memory
template <class Scalar, class Value>
__device__ __forceinline__ void solve_wide_task(const BlockSolveData<Scalar, Value>& data,
                                                const BlockTask& task, Value* staged, Scalar* shared_sums) {
  const int lane = static_cast<int>(threadIdx.x);
  const auto at = position_of_lane(task, data.block_begin, lane);
  Ordinal out_row;
  Scalar sum = take_right_hand_side<Scalar>(data, at, out_row);
#pragma unroll
  for (int e = 0; e < max_wide_inverse_entries; ++e) {
    const int p = e * wide_lanes + lane;
    if (e < task.shape.inverse_entries())
      copy_later(staged + staged_wide_position(p), data.inverses + task.inverses + p);
  }
  const BlockUse use =
      at.block < task.blocks ? read_now(data.use + task.first_block + at.block) : BlockUse::inverse;
  const auto rows = static_cast<int>(data.block_begin[task.first_block + 1] - task.first_position);
  gather_wide(data, task, lane, rows, at.position, sum);
  await_copies();
  __syncwarp();
  sum = sum_over_lanes(sum, task.shape.lanes());
  sum = apply_wide_block(data, task.shape, at, use, staged, shared_sums, sum);
  if (at.active && at.lane == 0) finish_row(data, at.position, out_row, sum);
}

/// Distribution of the tasks of a launch over thread blocks.
struct TeamSplit {
  int narrow_teams = 0;  ///< thread blocks for narrow tasks; the others take wide ones
  int narrow_warps = 0;  ///< warps that stride over the narrow tasks, distributed over those blocks

  bool operator==(const TeamSplit&) const = default;
};

/// Like solve_blocks_portable, for a cooperative launch, in which all blocks run:
///
///   blocks 0 .. narrow_teams-1    warps stride over the narrow tasks    in the order of levels
///   the other blocks              blocks stride over the wide tasks     in the order of levels
///
/// The first unfinished task is always assigned to a warp or block that is running and has finished its
/// earlier ones, so that it makes progress and no ticket is needed. Wide tasks near the root of a tree begin
/// early and gather what is known. Entries are loaded (coalesced) before the wait. A solution reaches another
/// multiprocessor in one round trip through L2, another row of its block by shuffles or shared memory.
/// __syncthreads after a wide task frees its shared memory for the next.
/// @tparam HasBlocks there are blocks of several rows; otherwise all tasks are narrow
template <bool HasBlocks, class Scalar, class Value>
__global__ void __launch_bounds__(wide_lanes, 2)
    solve_blocks_kernel(BlockSolveData<Scalar, Value> data, TeamSplit split) {
  // With blocks: one WarpShared per warp, or the staged inverse of a wide task.
  extern __shared__ __align__(16) unsigned char team_shared[];
  __shared__ alignas(16) unsigned char shared_sums[max_block_rows * sizeof(Scalar)];
  const int team = static_cast<int>(blockIdx.x);
  if (team < split.narrow_teams) {
    const int warp = static_cast<int>(threadIdx.x / narrow_lanes);
    const int number = warp * split.narrow_teams + team;
    if (number >= split.narrow_warps) return;
    for (std::int64_t t = number; t < data.narrow_tasks; t += split.narrow_warps) {
      const BlockTask task = data.tasks[t];
      if (HasBlocks && task.shape.log_rows > 0) {
        solve_narrow_blocks(data, task, reinterpret_cast<WarpShared<Scalar, Value>*>(team_shared)[warp]);
      } else {
        solve_single_rows(data, task);
      }
    }
  } else if constexpr (HasBlocks) {
    const auto wide_teams = static_cast<std::int64_t>(gridDim.x) - split.narrow_teams;
    for (std::int64_t t = data.narrow_tasks + team - split.narrow_teams; t < data.n_tasks; t += wide_teams) {
      const BlockTask task = data.tasks[t];
      solve_wide_task(data, task, reinterpret_cast<Value*>(team_shared),
                      reinterpret_cast<Scalar*>(shared_sums));
      __syncthreads();
    }
  }
}

/// Divides the thread blocks that can run concurrently. Narrow tasks get warps for some levels: enough to
/// hide the loads before a wait, few enough not to saturate L2 with polling. If blocks make levels uneven,
/// narrow tasks also get what wide tasks do not use, distributed over the multiprocessors.
/// @param max_warps of a thread block that can take narrow tasks
template <bool HasBlocks>
TeamSplit divide_teams(std::int64_t narrow_tasks, std::int64_t wide_tasks, std::int64_t levels,
                       std::int64_t most, std::int64_t max_warps) {
  constexpr std::int64_t levels_ahead = HasBlocks ? 6 : 12;
  const std::int64_t max_narrow = wide_tasks > 0 ? most / 2 : most;
  const std::int64_t left = HasBlocks ? std::clamp<std::int64_t>(most - wide_tasks, 0, max_narrow) : 0;
  const std::int64_t ahead = (levels_ahead * narrow_tasks + levels - 1) / levels;
  const std::int64_t warps =
      std::min({narrow_tasks, std::max(ahead, left * max_warps), max_narrow * max_warps});
  const std::int64_t least = (warps + max_warps - 1) / max_warps;
  return {static_cast<int>(std::max(least, std::min(warps, left))), static_cast<int>(warps)};
}

/// @tparam HasBlocks there are blocks of several rows
template <bool HasBlocks, class Scalar, class Value>
void solve_blocks_cuda(const Kokkos::Cuda& exec, const BlockSolveData<Scalar, Value>& data, int levels,
                       KernelGraphs& graphs) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::blocks");
  const auto kernel = solve_blocks_kernel<HasBlocks, Scalar, Value>;
  // 72 KiB: three thread blocks share the 228 KiB of a multiprocessor of an H100.
  constexpr std::size_t warp_bytes = sizeof(WarpShared<Scalar, Value>), team_bytes = std::size_t(72) << 10;
  constexpr std::size_t all_warps = wide_lanes / narrow_lanes;
  constexpr std::size_t warps = HasBlocks ? std::min(all_warps, team_bytes / warp_bytes) : all_warps;
  KernelGraphs::Shape shape{0, wide_lanes, HasBlocks ? warps * warp_bytes : 0};
  const int most = graphs.teams_at_once(exec, kernel, shape);
  const std::int64_t wide_tasks = data.n_tasks - data.narrow_tasks;
  const TeamSplit split = divide_teams<HasBlocks>(data.narrow_tasks, wide_tasks, levels, most, warps);
  const auto wide_teams = std::min<std::int64_t>(wide_tasks, most - split.narrow_teams);
  shape.teams = static_cast<unsigned>(split.narrow_teams + wide_teams);
  graphs.launch_cooperative(exec.cuda_stream(), kernel, data.current, shape, data, split);
}

}  // namespace lutra::Impl

#endif
