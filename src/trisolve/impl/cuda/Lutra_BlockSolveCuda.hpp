// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKSOLVECUDA_HPP
#define LUTRA_BLOCKSOLVECUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_CheckCuda.hpp"

namespace lutra::Impl {

/// How many of a lane's entries are on their way at once, by right-hand sides: as many as registers allow.
template <int Stride>
inline constexpr int entries_in_flight = Stride == 1   ? 4
                                         : Stride == 4 ? 2
                                                       : 1;

__device__ inline std::uint64_t device_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

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

template <int Stride, class Scalar>
__device__ __forceinline__ bool any_marked(const Scalar (&x)[Stride]) {
  bool marked = false;
#pragma unroll
  for (int r = 0; r < Stride; ++r) marked = marked || is_marked(x[r]);
  return marked;
}

/// Reads again, all in flight together, the places of a batch that were marked at their first reading, until
/// none is. Gives NaN once the watchdog has ended the solve.
template <int Count, int Stride, class Scalar, class Data>
__device__ __forceinline__ void wait_for_batch(const Data& data, const Scalar* const (&from)[Count],
                                               Scalar (&x)[Count][Stride], std::int64_t waiting_place) {
  std::uint64_t begun = 0;
  bool waiting = true;
  for (unsigned spins = 1; waiting; ++spins) {
    Scalar probe[Count];
    if constexpr (Stride > 1) {  // one value tells whether it is worth reading the others
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (any_marked(x[u])) probe[u] = read_fresh(from[u]);
      }
    }
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      if (any_marked(x[u]) && (Stride == 1 || !is_marked(probe[u]))) read_place<Stride>(from[u], x[u]);
    }
    waiting = false;
#pragma unroll
    for (int u = 0; u < Count; ++u) waiting = waiting || any_marked(x[u]);
    if (spins % 1024 != 0) continue;
    if (*static_cast<const volatile int*>(data.stop) != 0) break;
    const std::uint64_t now = device_nanoseconds();
    if (begun == 0) begun = now;
    if (static_cast<double>(now - begun) > data.watchdog_seconds * 1e9) give_up(data, waiting_place);
  }
#pragma unroll
  for (int u = 0; u < Count; ++u) {
#pragma unroll
    for (int r = 0; r < Stride; ++r) x[u][r] = unmarked(x[u][r]);
  }
}

/// Sum over the lanes of a row, in all of them.
template <class Real>
__device__ __forceinline__ Real shuffle_xor(Real value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> shuffle_xor(const Kokkos::complex<Real>& value, int mask) {
  return Kokkos::complex<Real>(__shfl_xor_sync(0xffffffffu, value.real(), mask),
                               __shfl_xor_sync(0xffffffffu, value.imag(), mask));
}
template <class Real>
__device__ __forceinline__ Real shuffle_from(Real value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> shuffle_from(const Kokkos::complex<Real>& value, int lane) {
  return Kokkos::complex<Real>(__shfl_sync(0xffffffffu, value.real(), lane),
                               __shfl_sync(0xffffffffu, value.imag(), lane));
}
template <int Stride, class Scalar>
__device__ __forceinline__ void sum_over_lanes(Scalar (&sum)[Stride], int lanes) {
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
#pragma unroll
    for (int r = 0; r < Stride; ++r) sum[r] += shuffle_xor(sum[r], mask);
  }
}

/// A lane's share of its row: right-hand sides (in the row's first lane) less entries times solutions.
/// Columns and values of the entries ahead are loaded before the wait for those at hand.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void gather_entries(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                               const BlockTask<Ordinal, Offset>& task, int lane,
                                               std::int64_t place, Scalar (&sum)[Stride]) {
  constexpr int ahead = entries_in_flight<Stride>;
  const int lanes = task.lanes();
  const Ordinal* column_at = data.columns + task.entries + lane;
  const Value* value_at = data.entries + task.entries + lane;
  Ordinal column[ahead];
  Value value[ahead];
  const auto load = [&](int s) {
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const bool there = s + u < task.steps;
      column[u] = there ? column_at[static_cast<Offset>(s + u) * lanes] : Ordinal(-1);
      value[u] = there ? data.value(value_at + static_cast<Offset>(s + u) * lanes) : Value(0);
    }
  };
  load(0);
  for (int s = 0; s < task.steps; s += ahead) {
    Scalar x[ahead][Stride];
    Scalar factor[ahead];
    const Scalar* from[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      from[u] = column[u] < 0 ? nullptr : data.current + static_cast<std::int64_t>(column[u]) * Stride;
      factor[u] = Scalar(value[u]);
#pragma unroll
      for (int r = 0; r < Stride; ++r) x[u][r] = Scalar(0);
      if (from[u] != nullptr) read_place<Stride>(from[u], x[u]);
    }
    load(s + ahead);
    bool waiting = false;
#pragma unroll
    for (int u = 0; u < ahead; ++u) waiting = waiting || any_marked(x[u]);
    if (waiting) wait_for_batch(data, from, x, place);
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
#pragma unroll
      for (int r = 0; r < Stride; ++r) sum[r] -= factor[u] * x[u][r];
    }
  }
}

/// Row `row` of V·s, in all lanes of the row. `from_row(j, r)` gives row j's s to every lane.
template <int Stride, class Scalar, class Value, class Data, class FromRow>
__device__ __forceinline__ void multiply_inverse(const Data& data, BlockShape shape,
                                                 const Value (&inverse)[most_inverse_entries], int row,
                                                 int row_lane, const FromRow& from_row, Scalar (&y)[Stride]) {
#pragma unroll
  for (int r = 0; r < Stride; ++r) y[r] = Scalar(0);
#pragma unroll
  for (int e = 0; e < most_inverse_entries; ++e) {
    if (e >= shape.inverse_entries()) break;
    const int j = row_lane + (e << shape.log_lanes);
    const Scalar v = j <= row ? Scalar(data.value(&inverse[e])) : Scalar(0);
#pragma unroll
    for (int r = 0; r < Stride; ++r) y[r] += v * from_row(j < shape.rows() ? j : 0, r);
  }
  sum_over_lanes(y, shape.lanes());
}

/// Row `row` of s − T·y, in all lanes of the row; s and y in are the row's own.
template <int Stride, class Scalar, class Block, class FromRow>
__device__ __forceinline__ void block_residual(const Block& block, BlockShape shape, int row, int row_lane,
                                               const Scalar (&s)[Stride], const Scalar (&y)[Stride],
                                               const FromRow& from_row, Scalar (&residual)[Stride]) {
#pragma unroll
  for (int r = 0; r < Stride; ++r) residual[r] = Scalar(0);
  for (int j = row_lane; j < row; j += shape.lanes()) {
    const Scalar t = block.entry(row, j);
#pragma unroll
    for (int r = 0; r < Stride; ++r) residual[r] -= t * from_row(j, r);
  }
  sum_over_lanes(residual, shape.lanes());
  const Scalar reciprocal = block.inverse(row, row);
#pragma unroll
  for (int r = 0; r < Stride; ++r) residual[r] += s[r] - y[r] / reciprocal;
}

/// Substitution in a block: rows one after the other, each handed on by `broadcast(j, r, value)`, which all
/// lanes of the task call. Lanes that do not take part leave their sums alone.
template <int Stride, class Scalar, class Block, class Broadcast>
__device__ __forceinline__ void substitute_block(const Block& block, BlockShape shape, int row,
                                                 bool takes_part, Scalar (&sum)[Stride],
                                                 const Broadcast& broadcast) {
  for (int j = 0; j < shape.rows(); ++j) {
    Scalar t(0);
    if (takes_part && j <= row) t = j < row ? block.entry(row, j) : block.inverse(row, row);
#pragma unroll
    for (int r = 0; r < Stride; ++r) {
      if (takes_part && j == row) sum[r] = t * sum[r];
      const Scalar x = broadcast(j, r, sum[r]);
      if (takes_part && j < row) sum[r] -= t * x;
    }
  }
}

/// The diagonal block of a wide task, by the whole team; sums in, solutions out, in all lanes of a row.
template <int Stride, class Scalar, class Value, class Data, class Task, class Position>
__device__ __forceinline__ void apply_wide_block(const Data& data, const Task& task, const Position& at,
                                                 BlockUse use, const Value (&inverse)[most_inverse_entries],
                                                 Scalar* shared, Scalar (&sum)[Stride]) {
  const PackedBlock<Scalar, Data, Task> block{data, task, at.block};
  const auto from_row = [&](int j, int r) { return shared[j * Stride + r]; };
  const auto share = [&](const Scalar(&values)[Stride]) {
    __syncthreads();
    if (at.lane == 0) {
#pragma unroll
      for (int r = 0; r < Stride; ++r) shared[at.row * Stride + r] = values[r];
    }
    __syncthreads();
  };
  if (use == BlockUse::substitute) {
    substitute_block(block, task.shape, at.row, at.active, sum, [&](int j, int r, const Scalar& value) {
      if (at.row == j && at.lane == 0) shared[j * Stride + r] = value;
      __syncthreads();
      return shared[j * Stride + r];
    });
    return;
  }
  Scalar y[Stride];
  share(sum);
  multiply_inverse(data, task.shape, inverse, at.row, at.lane, from_row, y);
  if (use == BlockUse::refined) {
    Scalar residual[Stride], correction[Stride];
    share(y);
    block_residual(block, task.shape, at.active ? at.row : 0, at.lane, sum, y, from_row, residual);
    share(residual);
    multiply_inverse(data, task.shape, inverse, at.row, at.lane, from_row, correction);
#pragma unroll
    for (int r = 0; r < Stride; ++r) y[r] += correction[r];
  }
#pragma unroll
  for (int r = 0; r < Stride; ++r) sum[r] = y[r];
}

/// The diagonal blocks of a narrow task, by shuffles; blocks have up to eight rows, so that substitution does
/// where an inverse would lose accuracy.
template <int Stride, class Scalar, class Value, class Data, class Task, class Position>
__device__ __forceinline__ void apply_narrow_blocks(const Data& data, const Task& task, const Position& at,
                                                    BlockUse use,
                                                    const Value (&inverse)[most_inverse_entries], int lane,
                                                    Scalar (&sum)[Stride]) {
  const PackedBlock<Scalar, Data, Task> block{data, task, at.block};
  const int lane_of_row0 = lane & ~(task.shape.block_lanes() - 1);
  const int row_lanes = task.shape.lanes();
  Scalar s[Stride];
#pragma unroll
  for (int r = 0; r < Stride; ++r) s[r] = sum[r];
  multiply_inverse(
      data, task.shape, inverse, at.row, at.lane,
      [&](int j, int r) { return shuffle_from(s[r], lane_of_row0 + j * row_lanes); }, sum);
  const bool takes_part = at.active && use != BlockUse::inverse;
  if (!__any_sync(0xffffffffu, takes_part)) return;
  substitute_block(block, task.shape, at.row, takes_part, s, [&](int j, int r, const Scalar& value) {
    return shuffle_from(value, lane_of_row0 + j * row_lanes);
  });
#pragma unroll
  for (int r = 0; r < Stride; ++r) sum[r] = takes_part ? s[r] : sum[r];
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
  const auto place = static_cast<std::int64_t>(at.place);
  std::int64_t out_row = 0;
  Scalar sum[Stride];
#pragma unroll
  for (int r = 0; r < Stride; ++r) sum[r] = Scalar(0);
  if (at.active && at.lane == 0) {
    const auto in_row = static_cast<std::int64_t>(data.in_row[place]);
    out_row = static_cast<std::int64_t>(data.out_row[place]);
#pragma unroll
    for (int r = 0; r < Stride; ++r) {
      if (r < data.n_columns) sum[r] = data.in.scaled(in_row, data.in.at(in_row, r));
    }
  }
  Value inverse[most_inverse_entries];
  BlockUse use = BlockUse::inverse;
  if (task.shape.log_rows == 0) {
    if (at.active) inverse[0] = data.inverses[task.inverses + at.block];
  } else {
#pragma unroll
    for (int e = 0; e < most_inverse_entries; ++e) {
      if (e < task.shape.inverse_entries()) {
        inverse[e] = data.inverses[task.inverses + static_cast<Offset>(e) * task.lanes() + lane];
      }
    }
    if (at.block < task.blocks) use = data.use[task.first_block + at.block];
  }
  gather_entries(data, task, lane, place, sum);
  __syncwarp();
  sum_over_lanes(sum, task.shape.lanes());
  if constexpr (Wide) {
    apply_wide_block(data, task, at, use, inverse, shared_sums, sum);
  } else if (task.shape.log_rows == 0) {
    const Scalar v(data.value(&inverse[0]));
#pragma unroll
    for (int r = 0; r < Stride; ++r) sum[r] = v * sum[r];
  } else {
    apply_narrow_blocks(data, task, at, use, inverse, lane, sum);
  }
  if (at.active && at.lane == 0) finish_row(data, place, out_row, sum);
}

/// Every `stride`-th task from `first` on. The description of the next task is on its way while one is worked
/// on.
template <bool Wide, int Stride, class Scalar, class Value, class Ordinal, class Offset>
__device__ __forceinline__ void go_round(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                         std::int64_t first, std::int64_t end, std::int64_t stride,
                                         Scalar* shared_sums) {
  if (first >= end) return;
  BlockTask<Ordinal, Offset> task = data.tasks[first];
  for (std::int64_t t = first; t < end; t += stride) {
    const BlockTask<Ordinal, Offset> next = data.tasks[t + stride < end ? t + stride : t];
    solve_task<Wide, Stride>(data, task, shared_sums);
    if constexpr (Wide) __syncthreads();
    task = next;
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

/// Teams of a kernel that run at the same time on the whole device.
template <class Kernel>
int teams_at_once(const Kokkos::Cuda& exec, Kernel kernel) {
  int of_a_multiprocessor = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_a_multiprocessor, kernel, wide_lanes, 0),
             "looking up how many teams run at once");
  return of_a_multiprocessor * exec.cuda_device_prop().multiProcessorCount;
}

template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
void solve_blocks_cuda(const Kokkos::Cuda& exec, BlockSolveData<Scalar, Value, Ordinal, Offset> data,
                       int levels) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::blocks");
  const auto kernel = solve_blocks_kernel<Stride, Scalar, Value, Ordinal, Offset>;
  const int most = teams_at_once(exec, kernel);
  const std::int64_t wide_tasks = data.n_tasks - data.narrow_tasks;
  constexpr int warps = wide_lanes / narrow_lanes;
  std::int64_t narrow_teams = (levels_ahead * data.narrow_tasks / levels + warps - 1) / warps;
  narrow_teams = std::min<std::int64_t>(
      {narrow_teams, (data.narrow_tasks + warps - 1) / warps, wide_tasks > 0 ? most / 2 : most});
  if (narrow_teams == 0 && data.narrow_tasks > 0) narrow_teams = 1;
  const auto wide_teams = std::min<std::int64_t>(wide_tasks, most - narrow_teams);
  int teams = static_cast<int>(narrow_teams);
  void* arguments[] = {&data, &teams};
  check_cuda(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
                                         dim3(static_cast<unsigned>(narrow_teams + wide_teams)),
                                         dim3(wide_lanes), arguments, 0, exec.cuda_stream()),
             "launching a triangular solve");
}

}  // namespace lutra::Impl

#endif
