// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKSOLVECUDA_HPP
#define LUTRA_BLOCKSOLVECUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_CheckCuda.hpp"
#include "Lutra_DiagonalBlocksCuda.hpp"
#include "Lutra_KernelGraphsCuda.hpp"
#include "Lutra_PlaceWaitCuda.hpp"

namespace lutra::Impl {

/// How many of a lane's entries are on their way at once, by right-hand sides: as many as registers allow.
template <int Stride>
inline constexpr int entries_in_flight = Stride == 1   ? 4
                                         : Stride == 4 ? 2
                                                       : 1;

/// A lane's packed entries of some steps: columns are loaded a batch ahead, values while the solutions they
/// go with are on their way.
/// @tparam Lanes of the task
template <int Count, int Lanes, class Value, class Ordinal, class Offset>
struct EntryBatch {
  const Ordinal* column_at;  ///< of step 0
  const Value* value_at;
  int steps;

  template <class Data>
  __device__ __forceinline__ EntryBatch(const Data& data, const BlockTask<Ordinal, Offset>& task, int lane)
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

/// A lane's share of its row: right-hand sides (in the row's first lane) less entries times solutions.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void gather_entries(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                               const BlockTask<Ordinal, Offset>& task, int lane,
                                               Ordinal place, Scalar (&sum)[Stride]) {
  constexpr int ahead = entries_in_flight<Stride>;
  const EntryBatch<ahead, narrow_lanes, Value, Ordinal, Offset> entries(data, task, lane);
  Ordinal next[ahead];
  entries.load_columns(0, next);
  for (int s = 0; s < task.steps; s += ahead) {
    Ordinal column[ahead];
    Value value[ahead];
    Scalar x[ahead][Stride];
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      column[u] = next[u];
#pragma unroll
      for (int r = 0; r < Stride; ++r) x[u][r] = Scalar(0);
      if (column[u] >= 0)
        read_place<Stride>(data.current + static_cast<std::int64_t>(column[u]) * Stride, x[u]);
    }
    entries.load_values(s, column, value);
    entries.load_columns(s + ahead, next);
    bool waiting = false;
#pragma unroll
    for (int u = 0; u < ahead; ++u) waiting = waiting || any_marked(x[u]);
    if (__any_sync(0xffffffffu, waiting)) {
      watch_earlier<Stride>(data, column, task.first_place, task.shape.rows());
    }
    if (waiting) wait_for_columns(data, column, x, place);
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
#pragma unroll
      for (int r = 0; r < Stride; ++r) sum[r] -= Scalar(data.value(&value[u])) * x[u][r];
    }
  }
}

/// Entries of a lane of a wide task that are worked on together.
inline constexpr int wide_batch = 4;
/// Nanoseconds between two looks of a team that is ahead of its time.
inline constexpr unsigned watch_pause = 100;

/// As gather_entries, for a wide task. A team that is ahead of its time must not crowd the memory: one of its
/// warps watches one place while the others rest at a barrier. What is there already is read through the
/// first-level cache, since all warps read about the same places. The last batch, which decides when the
/// block can be solved, is read anew by all warps, from the time on when its first place is there.
/// @param rows of the block
template <class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void gather_wide(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                            const BlockTask<Ordinal, Offset>& task, int lane, int rows,
                                            Ordinal place, Scalar (&sum)[1]) {
  const EntryBatch<wide_batch, wide_lanes, Value, Ordinal, Offset> entries(data, task, lane);
  const int watcher = ((rows - 1) << task.shape.log_lanes) + task.shape.lanes() - 1;  // of the last row
  const bool watches = watcher / narrow_lanes == static_cast<int>(threadIdx.x) / narrow_lanes;
  const auto watch = [&](Ordinal needed) {
    if (watches) {
      needed = shuffle_from(needed, watcher % narrow_lanes);
      if (needed >= 0) watch_place(data, data.current + needed, place, watch_pause);
    }
    __syncthreads();
  };
  bool at_front = false;  // the batch before was not there at once
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
    for (int u = 0; u < wide_batch; ++u) waiting = waiting || any_marked(x[u]);
    if (last || !at_front) {
      at_front = __syncthreads_or(waiting ? 1 : 0) != 0;
      if (at_front) watch(last ? column[0] : column[wide_batch - 1]);
    }
    if (waiting) wait_for_columns(data, column, x, place);
#pragma unroll
    for (int u = 0; u < wide_batch; ++u) sum[0] -= Scalar(data.value(&value[u])) * x[u][0];
  }
}

/// Hands a row's solutions on, first to those who wait, then to the caller; marks the array of the solve
/// before.
template <int Stride, class Scalar, class Data>
__device__ __forceinline__ void finish_row(const Data& data, std::int64_t place, std::int64_t out_row,
                                           const Scalar (&x)[Stride]) {
  Scalar* to = data.current + place * Stride;
#pragma unroll
  for (int r = 0; r < Stride; ++r) write_through(to + r, unmarked(x[r]));
#pragma unroll
  for (int r = 0; r < Stride; ++r) {
    if (r < data.n_columns) data.out.at(out_row, r) = data.out.scaled(out_row, x[r]);
  }
  Scalar* before = data.previous + place * data.previous_stride;
  for (int r = 0; r < data.previous_stride; ++r) before[r] = marked_value<Scalar>();
}

/// One task: by a warp, or where blocks are wide by a whole team with its sums in shared memory.
template <bool Wide, int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void solve_task(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                           const BlockTask<Ordinal, Offset>& task, Scalar* shared_sums) {
  const int lane = static_cast<int>(Wide ? threadIdx.x : threadIdx.x % narrow_lanes);
  const auto at = position_of_lane<Ordinal>(task, data.block_begin, lane);
  Ordinal out_row = 0;
  Scalar sum[Stride];
#pragma unroll
  for (int r = 0; r < Stride; ++r) sum[r] = Scalar(0);
  if (at.active && at.lane == 0) {
    const Ordinal in_row = data.in_row[at.place];
    out_row = data.out_row[at.place];
#pragma unroll
    for (int r = 0; r < Stride; ++r) {
      if (r < data.n_columns) sum[r] = data.in.scaled(in_row, data.in.at(in_row, r));
    }
  }
  Value inverse[most_inverse_entries];
  const auto load_inverse = [&]() {
#pragma unroll
    for (int e = 0; e < (Wide ? most_wide_inverse_entries : most_inverse_entries); ++e) {
      if (e < task.shape.inverse_entries())
        inverse[e] = data.inverses[task.inverses + static_cast<Offset>(e) * task.lanes() + lane];
    }
  };
  TouchedLines<Value> touched;
  BlockUse use = BlockUse::inverse;
  if (task.shape.log_rows == 0) {
    if (at.active) inverse[0] = data.inverses[task.inverses + at.block];
  } else {
    if constexpr (Wide) {
      load_inverse();
    } else {
      touched.touch(data.inverses + task.inverses, task.shape.inverse_entries(), lane);
    }
    if (at.block < task.blocks) use = data.use[task.first_block + at.block];
  }
  if constexpr (Wide) {
    const auto rows = static_cast<int>(data.block_begin[task.first_block + 1] - task.first_place);
    gather_wide(data, task, lane, rows, at.place, sum);
  } else {
    gather_entries(data, task, lane, at.place, sum);
    touched.arrive();
  }
  __syncwarp();
  sum_over_lanes(sum, task.shape.lanes());
  if constexpr (Wide) {
    apply_wide_block(data, task, at, use, inverse, shared_sums, sum);
  } else if (task.shape.log_rows == 0) {
    const Scalar v(data.value(&inverse[0]));
#pragma unroll
    for (int r = 0; r < Stride; ++r) sum[r] = v * sum[r];
  } else if (task.shape.inverse_entries() <= most_inverse_entries) {
    load_inverse();
    apply_narrow_blocks(data, task, at, use, inverse, lane, sum);
  } else {
    const int rows = __popc(__ballot_sync(0xffffffffu, at.active)) >> task.shape.log_lanes;
    const WarpBlock<Scalar, Value, BlockSolveData<Scalar, Value, Ordinal, Offset>> block{
        data, data.inverses + task.inverses, task.shape, rows, lane};
#pragma unroll
    for (int r = 0; r < Stride; ++r) sum[r] = block.solve(sum[r], use);
  }
  if (at.active && at.lane == 0) finish_row(data, at.place, out_row, sum);
}

/// Every `stride`-th task from `first` on.
template <bool Wide, int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void go_round(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                         std::int64_t first, std::int64_t end, std::int64_t stride,
                                         Scalar* shared_sums) {
  for (std::int64_t t = first; t < end; t += stride) {
    const BlockTask<Ordinal, Offset> task = data.tasks[t];
    solve_task<Wide, Stride>(data, task, shared_sums);
    if constexpr (Wide) __syncthreads();
  }
}

/// As solve_blocks_portable, for teams that all run at once: some teams' warps go round the narrow tasks, the
/// other teams round the wide ones, each in the order of levels. The first task that is not finished is then
/// always at hand of someone, and no ticket is needed. Wide tasks near the root of a tree are begun long
/// before their turn and gather what is there. Entries are read by coalesced loads ahead of the wait; a
/// solution travels from one multiprocessor to another in one trip through the second-level cache, inside a
/// block by shuffles or shared memory.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
__global__ void __launch_bounds__(wide_lanes, Stride == 1 ? 2 : 1)
    solve_blocks_kernel(BlockSolveData<Scalar, Value, Ordinal, Offset> data, int narrow_teams) {
  __shared__ alignas(16) unsigned char shared_bytes[most_block_rows * Stride * sizeof(Scalar)];
  const int team = static_cast<int>(blockIdx.x);
  if (team < narrow_teams) {
    constexpr int warps = wide_lanes / narrow_lanes;
    const std::int64_t first = static_cast<std::int64_t>(threadIdx.x / narrow_lanes) * narrow_teams + team;
    go_round<false, Stride>(data, first, data.narrow_tasks, static_cast<std::int64_t>(narrow_teams) * warps,
                            static_cast<Scalar*>(nullptr));
  } else {
    go_round<true, Stride>(data, data.narrow_tasks + team - narrow_teams, data.n_tasks,
                           static_cast<std::int64_t>(gridDim.x) - narrow_teams,
                           reinterpret_cast<Scalar*>(shared_bytes));
  }
}

/// How many levels the warps of the narrow tasks look ahead: enough to hide the loads that come before the
/// wait, few enough not to crowd the second-level cache with readings of what is not there yet.
inline constexpr std::int64_t levels_ahead = 12;

template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
void solve_blocks_cuda(const Kokkos::Cuda& exec, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                       int levels, KernelGraphs& graphs) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::blocks");
  const auto kernel = solve_blocks_kernel<Stride, Scalar, Value, Ordinal, Offset>;
  KernelGraphs::Shape shape{0, wide_lanes, 0};
  const int most = graphs.teams_at_once(exec, kernel, shape);
  const std::int64_t wide_tasks = data.n_tasks - data.narrow_tasks;
  constexpr int warps = wide_lanes / narrow_lanes;
  std::int64_t narrow_teams = (levels_ahead * data.narrow_tasks / levels + warps - 1) / warps;
  narrow_teams = std::min<std::int64_t>(
      {narrow_teams, (data.narrow_tasks + warps - 1) / warps, wide_tasks > 0 ? most / 2 : most});
  if (narrow_teams == 0 && data.narrow_tasks > 0) narrow_teams = 1;
  const auto wide_teams = std::min<std::int64_t>(wide_tasks, most - narrow_teams);
  shape.teams = static_cast<unsigned>(narrow_teams + wide_teams);
  graphs.launch_cooperative(exec.cuda_stream(), kernel, data.current, shape, data,
                            static_cast<int>(narrow_teams));
}

}  // namespace lutra::Impl

#endif
