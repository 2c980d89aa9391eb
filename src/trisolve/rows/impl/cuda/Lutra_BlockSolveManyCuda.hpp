// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKSOLVEMANYCUDA_HPP
#define LUTRA_BLOCKSOLVEMANYCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>

#include "Lutra_GatherColumnsCuda.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Two columns of a row, in the group of threads that holds the first lane of the row.
template <class Scalar>
struct RowColumns {
  Ordinal position = -1;  ///< −1: no row, or a row of another group
  Ordinal out_row = 0;
  Two<Scalar> x = {{Scalar(0), Scalar(0)}};  ///< right-hand sides, finally solutions

  template <class Data, class Task>
  __device__ __forceinline__ void load(const Data& data, const Task& task, int lane, int column) {
    const auto at = position_of_lane(task, data.block_begin, lane);
    if (!at.active || at.lane != 0) return;
    position = at.position;
    out_row = data.out_row[position];
    const auto in_row = static_cast<std::int64_t>(data.in_row[position]);
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (column + q < data.n_columns) x.of[q] = data.in.scaled(in_row, data.in.at(in_row, column + q));
    }
  }
  /// Writes the solutions to the slots that others poll.
  template <int Stride, class Data>
  __device__ __forceinline__ void forward(const Data& data, int column) const {
    if (position < 0) return;
    write_columns(data.current + static_cast<std::int64_t>(position) * Stride + column, presentable(x));
  }
  /// Writes the solutions to the caller and resets the slots of the previous solve.
  template <int Stride, class Data>
  __device__ __forceinline__ void deliver(const Data& data, int column) const {
    if (position < 0) return;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (column + q < data.n_columns) data.out.at(out_row, column + q) = data.out.scaled(out_row, x.of[q]);
    }
    Scalar* before = data.previous + static_cast<std::int64_t>(position) * data.previous_stride;
    if (data.previous_stride == Stride) {
      write_columns(before + column, Two<Scalar>{{sentinel_value<Scalar>(), sentinel_value<Scalar>()}});
    } else {
      for (int r = column / 2; r < data.previous_stride; r += Stride / 2)
        before[r] = sentinel_value<Scalar>();
    }
  }
};

/// Remaining work for solved rows.
template <int Stride, class Data, class Row, int Count>
__device__ __forceinline__ void finish(const Data& data, const Row (&row)[Count], int column) {
#pragma unroll
  for (int p = 0; p < Count; ++p) row[p].template forward<Stride>(data, column);
#pragma unroll
  for (int p = 0; p < Count; ++p) row[p].template deliver<Stride>(data, column);
}

/// Shared memory of the warps that solve a task together.
template <int Stride, int InverseEntries, class Scalar, class Value>
struct SharedTask {
  /// All columns of the rows. Narrow tasks index them by the first lane of each row, so that a warp writes
  /// only what no other warp of the task may still be reading; wide tasks index them by row.
  Two<Scalar> sums[max_block_rows * Stride / 2];
  Value inverses[InverseEntries];  ///< as packed
};
/// Entries of the inverse per lane that shared memory holds of a narrow task: those of the largest blocks,
/// or, if too many tasks are solved concurrently for that, those of the small ones; larger blocks are then
/// read from memory.
template <int Stride, class Value>
inline constexpr int narrow_inverse_entries = ManyShape<Stride>::task_slots* max_block_rows* narrow_lanes *
                                                          sizeof(Value) <=
                                                      (1 << 17)
                                                  ? max_block_rows
                                                  : max_inverse_entries;
template <int Stride, class Scalar, class Value>
using NarrowShared = SharedTask<Stride, narrow_inverse_entries<Stride, Value> * narrow_lanes, Scalar, Value>;
/// The widest blocks have 2 entries of the inverse per lane.
template <int Stride, class Scalar, class Value>
using WideShared = SharedTask<Stride, 2 * wide_lanes, Scalar, Value>;

/// Inverse of a block in shared memory, in the layout of the task's lanes.
template <class Data, class Value>
struct SharedInverse {
  const Data& data;
  const Value* values;  ///< values of the block's first lane
  int log_lanes;
  int task_lanes;
  __device__ __forceinline__ auto operator()(int i, int j) const {
    const int lanes = 1 << log_lanes;
    return data.value(values + (j >> log_lanes) * task_lanes + (i << log_lanes) + (j & (lanes - 1)));
  }
};

/// Solves a block by substitution: the thread's rows, from i on, become solutions; a thread with i < 0 has no
/// row. Each row is passed to the others through `sums`; `sync` is the barrier of all warps of the task.
template <class Inverse, class Row, int Count, class Scalar, class Sync>
__device__ __forceinline__ void substitute_rows(const Inverse& inverse, int rows, int i, Row (&row)[Count],
                                                Two<Scalar>* sums, int row_stride, const Sync& sync) {
#pragma unroll 1
  for (int j = 0; j < rows; ++j) {
#pragma unroll
    for (int p = 0; p < Count; ++p) {
      if (i + p != j || i < 0 || row[p].position < 0) continue;
      row[p].x = sums[j * row_stride] = product(Scalar(inverse(j, j)), row[p].x);
    }
    sync();
#pragma unroll
    for (int p = 0; p < Count; ++p) {
      if (i + p <= j || i < 0 || row[p].position < 0) continue;
      subtract_product(row[p].x, Scalar(inverse(j, i + p)), sums[j * row_stride]);  // T is stored transposed
    }
  }
}

/// Sums the products of every `step`-th entry, from `first` on, of row i of an inverse and the sums of the
/// block's rows.
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

/// Barrier of the warps of a narrow task; each slot of the thread block has a separate barrier.
template <int Stride>
__device__ __forceinline__ void sync_task_warps() {
  using Shape = ManyShape<Stride>;
  if constexpr (Shape::task_warps == 1) {
    __syncwarp();
  } else {
    const int slot = static_cast<int>(threadIdx.x) / Shape::task_threads;
    asm volatile("barrier.sync %0, %1;" ::"r"(slot + 1), "n"(Shape::task_threads) : "memory");
  }
}

/// Sum over the warps that share a row of a narrow task, returned to all of them.
template <int Stride, class Scalar>
__device__ __forceinline__ void sum_over_task_warps(Two<Scalar>& sum, int warps, Two<Scalar>* partial) {
  using Shape = ManyShape<Stride>;
  const int thread = static_cast<int>(threadIdx.x) % narrow_lanes;
  const int warp = static_cast<int>(threadIdx.x) / narrow_lanes % Shape::task_warps;
  const int column = thread % Shape::position_threads;
  // Each warp writes to the location of its own lanes' sums.
  constexpr int warp_stride = Shape::warp_entries * Shape::position_threads;
  if (thread < Shape::position_threads) partial[warp * warp_stride + column] = sum;
  sync_task_warps<Stride>();
  const int first = warp / warps * warps;
  sum = partial[first * warp_stride + column];
  for (int w = first + 1; w < first + warps; ++w) add(sum, partial[w * warp_stride + column]);
  sync_task_warps<Stride>();
}

/// Position of a thread in narrow tasks.
template <int Stride>
struct NarrowPosition {
  using Shape = ManyShape<Stride>;
  int column = static_cast<int>(threadIdx.x) % Shape::position_threads * 2;
  int lane =
      static_cast<int>(threadIdx.x) / Shape::position_threads % (narrow_lanes / 2) * 2;  ///< and the next one

  __device__ __forceinline__ int warp_lane() const { return lane & ~(Shape::warp_entries - 1); }
};

/// Subtracts the known part of a task's rows from their right-hand sides.
template <int Stride, class Data, class Task, class Row, class Sums>
__device__ __forceinline__ void gather_narrow(const Data& data, const Task& task,
                                              const NarrowPosition<Stride>& at, Row (&row)[2], Sums* sums) {
  using Shape = ManyShape<Stride>;
  row[0].load(data, task, at.lane, at.column);
  row[1].load(data, task, at.lane + 1, at.column);
  gather_columns<false, Stride>(
      data, data.columns + task.entries + at.lane, data.entries + task.entries + at.lane, task.steps,
      [](int s) { return s * narrow_lanes; }, at.column, static_cast<std::int64_t>(task.first_position),
      row[0].x, row[1].x);
  if (task.shape.log_lanes == 0) return;
  add(row[0].x, row[1].x);
  const int groups = task.shape.lanes() / 2;
  sum_over_groups<Stride>(row[0].x, groups < Shape::groups ? groups : Shape::groups);
  if (groups > Shape::groups) sum_over_task_warps<Stride>(row[0].x, groups / Shape::groups, sums);
}

/// Solves a narrow task of single rows in its warps.
template <int Stride, class Scalar, class Value>
__device__ __forceinline__ void solve_rows(const BlockSolveData<Scalar, Value>& data, const BlockTask& task,
                                           NarrowShared<Stride, Scalar, Value>& shared) {
  const NarrowPosition<Stride> at;
  const bool together = task.shape.lanes() > ManyShape<Stride>::warp_entries;
  if (!together && at.warp_lane() >> task.shape.log_lanes >= task.blocks) return;
  RowColumns<Scalar> row[2];
  Value reciprocal[2];  // reciprocal diagonals
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

/// Solves a narrow task of blocks in its warps.
template <int Stride, class Scalar, class Value>
__device__ __forceinline__ void solve_small_blocks(const BlockSolveData<Scalar, Value>& data,
                                                   const BlockTask& task,
                                                   NarrowShared<Stride, Scalar, Value>& shared) {
  using Shape = ManyShape<Stride>;
  const NarrowPosition<Stride> at;
  const bool together = task.shape.block_lanes() > Shape::warp_entries;
  const int block = at.lane / task.shape.block_lanes();
  if (!together && at.warp_lane() / task.shape.block_lanes() >= task.blocks) return;
  const int in_warp = static_cast<int>(threadIdx.x) % narrow_lanes;
  const bool flagged = block < task.blocks && data.use[task.first_block + block] != BlockUse::inverse;
  const bool any_flagged =
      __any_sync(0xffffffffu, data.use[task.first_block + in_warp % task.blocks] != BlockUse::inverse);
  const bool shares_inverse = task.shape.inverse_entries() <= narrow_inverse_entries<Stride, Value>;
  const int size = shares_inverse ? task.shape.inverse_entries() * Shape::warp_entries : 0;
  for (int t = in_warp; t < size; t += narrow_lanes) {
    const int i = t / Shape::warp_entries * narrow_lanes + at.warp_lane() + t % Shape::warp_entries;
    copy_later(shared.inverses + i, data.inverses + task.inverses + i);
  }
  RowColumns<Scalar> row[2];
  gather_narrow<Stride>(data, task, at, row, shared.sums);
  const auto sync = [&]() {
    if (together) {
      sync_task_warps<Stride>();
    } else {
      __syncwarp();
    }
  };
  const int block_lane = at.lane & ~(task.shape.block_lanes() - 1);
  const int i = (at.lane - block_lane) >> task.shape.log_lanes;
  const int row_stride = Shape::position_threads << task.shape.log_lanes;
  Two<Scalar>* sums = shared.sums + block_lane * Shape::position_threads + at.column / 2;
  const SharedInverse<BlockSolveData<Scalar, Value>, Value> inverse{
      data, (shares_inverse ? shared.inverses : data.inverses + task.inverses) + block_lane,
      task.shape.log_lanes, narrow_lanes};
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    if (row[p].position >= 0) sums[(i + p) * row_stride] = row[p].x;
  }
  await_copies();
  sync();
  if (any_flagged) substitute_rows(inverse, task.shape.rows(), flagged ? i : -1, row, sums, row_stride, sync);
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    if (!flagged && row[p].position >= 0) row[p].x = inverse_row(inverse, i + p, 0, 1, sums, row_stride);
  }
  finish<Stride>(data, row, at.column);
  sync();  // before the next task overwrites the sums
}

/// Solves a wide task in a team: each warp takes one or two rows.
template <int Stride, class Scalar, class Value>
__device__ __forceinline__ void solve_wide(const BlockSolveData<Scalar, Value>& data, const BlockTask& task,
                                           WideShared<Stride, Scalar, Value>& shared) {
  using Shape = ManyShape<Stride>;
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % Shape::position_threads * 2;
  const int lane = thread / Shape::position_threads * Shape::wide_group_lanes;
  const int size = task.shape.inverse_entries() * wide_lanes;
  for (int t = thread; t < size; t += wide_lanes) {
    copy_later(shared.inverses + t, data.inverses + task.inverses + t);
  }
  const bool flagged = data.use[task.first_block] != BlockUse::inverse;
  RowColumns<Scalar> row[1];
  row[0].load(data, task, lane, column);
  Two<Scalar> odd = {{Scalar(0), Scalar(0)}};
  gather_columns<true, Stride>(
      data, data.columns + task.entries + lane, data.entries + task.entries + lane,
      task.steps * Shape::task_warps,
      [](int s) { return s / Shape::task_warps * wide_lanes + s % Shape::task_warps * 2; }, column,
      static_cast<std::int64_t>(task.first_position), row[0].x, odd);
  add(row[0].x, odd);
  sum_over_groups<Stride>(row[0].x, task.shape.lanes() / Shape::wide_group_lanes);
  const int i = lane >> task.shape.log_lanes;
  Two<Scalar>* sums = shared.sums + column / 2;
  if (row[0].position >= 0) sums[i * Shape::position_threads] = row[0].x;
  await_copies();
  __syncthreads();
  const SharedInverse<BlockSolveData<Scalar, Value>, Value> inverse{data, shared.inverses,
                                                                    task.shape.log_lanes, wide_lanes};
  if (flagged) {
    substitute_rows(inverse, task.shape.rows(), i, row, sums, Shape::position_threads,
                    []() { __syncthreads(); });
  } else {  // all groups of the warp share the work on its rows
    const int group = thread / Shape::position_threads % Shape::groups;
    const int warp_row = (thread & ~(narrow_lanes - 1)) >> task.shape.log_lanes;
    const int rows = narrow_lanes >> task.shape.log_lanes;
    for (int k = 0; k < rows; ++k) {
      Two<Scalar> y = inverse_row(inverse, warp_row + k, group, Shape::groups, sums, Shape::position_threads);
      __syncwarp();
      sum_over_groups<Stride>(y, Shape::groups);
      if (warp_row + k == i) row[0].x = y;
    }
  }
  finish<Stride>(data, row, column);
  __syncthreads();
}

/// Distribution of tasks over thread blocks and their slots for narrow tasks.
struct ManySplit {
  int narrow_teams = 0;  ///< blocks for narrow tasks; the others take wide ones
  int narrow_slots = 0;  ///< slots that stride over the narrow tasks, distributed over those blocks
  int wide_teams = 0;

  bool operator==(const ManySplit&) const = default;
};

/// Like solve_blocks_kernel: slots of some blocks stride over the narrow tasks, the other blocks over the
/// wide ones, each in the order of levels, and all run concurrently. A narrow task waits for positions of
/// lower levels and polls one of an earlier narrow task, so the first unfinished task never waits.
template <int Stride, class Scalar, class Value>
__global__ void __launch_bounds__(wide_lanes, 1)
    solve_many_kernel(BlockSolveData<Scalar, Value> data, ManySplit split) {
  extern __shared__ __align__(32) unsigned char many_shared[];
  using Task = BlockTask;
  const int team = static_cast<int>(blockIdx.x);
  if (team < split.narrow_teams) {
    const int slot = static_cast<int>(threadIdx.x) / ManyShape<Stride>::task_threads;
    auto& shared = reinterpret_cast<NarrowShared<Stride, Scalar, Value>*>(many_shared)[slot];
    const int number = slot * split.narrow_teams + team;
    if (number >= split.narrow_slots || number >= data.narrow_tasks) return;
    for (std::int64_t t = number; t < data.narrow_tasks; t += split.narrow_slots) {
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

/// Divides the teams that can run concurrently. Slots are distributed over the multiprocessors as far as wide
/// tasks permit, because reads limit them. The number of levels that they look ahead was measured on an H200:
/// with fewer, loads have to be waited for; more take resources from wide tasks or gain nothing.
template <int Stride, class Data>
ManySplit split_teams(const Data& data, int levels, std::int64_t most, std::int64_t wide_tasks) {
  using Shape = ManyShape<Stride>;
  const std::int64_t levels_ahead = wide_tasks > 0 ? 12 : 24;
  const std::int64_t max_narrow = wide_tasks > 0 ? most / 2 : most;
  const std::int64_t wanted = (levels_ahead * data.narrow_tasks + levels - 1) / levels;
  const std::int64_t task_slots =
      std::min<std::int64_t>({wanted, data.narrow_tasks, max_narrow * Shape::task_slots});
  const std::int64_t least = (task_slots + Shape::task_slots - 1) / Shape::task_slots;
  ManySplit split;
  split.narrow_slots = static_cast<int>(task_slots);
  split.narrow_teams = static_cast<int>(
      std::clamp(most - wide_tasks, least, std::max(least, std::min(task_slots, max_narrow))));
  split.wide_teams = static_cast<int>(std::min<std::int64_t>(wide_tasks, most - split.narrow_teams));
  return split;
}

/// Solves for up to `Stride` right-hand sides.
template <int Stride, class Scalar, class Value>
void solve_blocks_many_cuda(const Kokkos::Cuda& exec, const BlockSolveData<Scalar, Value>& data, int levels,
                            KernelGraphs& graphs) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::blocks");
  const auto kernel = solve_many_kernel<Stride, Scalar, Value>;
  constexpr std::size_t shared_bytes =
      std::max(sizeof(NarrowShared<Stride, Scalar, Value>) * ManyShape<Stride>::task_slots,
               sizeof(WideShared<Stride, Scalar, Value>));
  KernelGraphs::Shape shape{0, wide_lanes, shared_bytes};
  const std::int64_t most = graphs.teams_at_once(exec, kernel, shape);
  const ManySplit split = split_teams<Stride>(data, levels, most, data.n_tasks - data.narrow_tasks);
  shape.teams = static_cast<unsigned>(split.narrow_teams + split.wide_teams);
  graphs.launch_cooperative(exec.cuda_stream(), kernel, data.current, shape, data, split);
}

}  // namespace lutra::Impl

#endif
