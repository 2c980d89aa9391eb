// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWTASKSCUDA_HPP
#define LUTRA_ROWTASKSCUDA_HPP

#include "Lutra_RowTasks.hpp"
#include "Lutra_ShufflesCuda.hpp"
#include "Lutra_TaskQueueCuda.hpp"

namespace lutra::Impl {

// One persistent kernel for a distributed triangular solve, whose messages a window puts (N. Ding, Y. Liu, S.
// Williams and X. S. Li, A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver, 2020, section 3; one
// kernel replaces the paper's waiting and solving kernels). Blocks take tasks by a ticket, in order
// (Lutra_RowTasks.hpp), and poll the signals of this rank's inbox for the inputs of a task:
//
//     rank 0, block of row I                          rank 1, block of row J
//     x(I) to the own slot, __syncthreads
//     thread 0: st.release.sys own signal of x(I) ──► blocks of rank 0 that wait for x(I)
//     all threads: x(I) to the slot on rank 1
//     __syncthreads, thread 0: st.release.sys ──────► thread 0: ld.acquire.sys of the slot's signal ≥ epoch
//                                                     __syncthreads, all threads: read x(I)

/// Larger: more threads share a long row; smaller: more tasks in flight.
inline constexpr int row_task_threads = 256;

/// Shared memory that a kernel may take without asking for more, in bytes.
inline constexpr std::size_t default_shared_memory = 48 << 10;

/// Bytes of shared memory that hold any diagonal block; 0 if that is more than `room`, and it is read from
/// global memory.
template <class Scalar>
std::size_t bytes_of_triangle(int max_width, std::size_t room) {
  const std::size_t bytes = static_cast<std::size_t>(max_width) * max_width * sizeof(Scalar);
  return bytes <= room ? bytes : 0;
}

/// A thread block in the form that tasks require.
struct RowBlockTeam {
  static constexpr int lanes = 32;
  void* triangle = nullptr;  ///< shared memory for a diagonal block, or null

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  __device__ void sync_lanes() const { __syncwarp(); }
  /// Copies a diagonal block to shared memory, while the inputs of its row are on their way. The team's next
  /// barrier completes it.
  template <class Scalar>
  __device__ void prefetch(const RowTaskArrays<Scalar>& data, const RowTask& task) const {
    if (triangle == nullptr) return;
    const Scalar* const from = data.triangles + task.triangle;
    for (int e = rank(); e < task.width * task.width; e += size())
      static_cast<Scalar*>(triangle)[e] = from[e];
  }
  template <class Scalar>
  __device__ Scalar sum_lanes(Scalar value, int stride) const {
    for (int distance = lanes / 2; distance >= stride; distance /= 2) value += shuffle_xor(value, distance);
    return value;
  }
};

/// x = T(I, I)⁻¹·sum for one right-hand side, by a warp that keeps two rows a lane in registers. Each step
/// passes one element of x to all lanes. A substitution in memory takes a microsecond a step, this one 50 ns.
template <class Scalar>
__device__ __forceinline__ void solve_triangle_in_registers(const Scalar* triangle, const RowTask& task,
                                                            const Scalar* sum, Scalar* x, int k) {
  const int width = task.width, lane = static_cast<int>(threadIdx.x) % 32;
  Scalar rest[2], scale[2];  // of rows lane and lane + 32: the sum that is left, the inverse of the diagonal
  for (int h = 0; h < 2; ++h) {
    const int i = lane + 32 * h;
    rest[h] = i < width ? sum[i * k] : Scalar(0);
    scale[h] = task.is_stored && i < width ? Scalar(1) / triangle[i * width + i] : Scalar(1);
  }
  for (int step = 0; step < width; ++step) {
    const int j = task.is_lower ? step : width - 1 - step;
    const Scalar value = shuffle_from(j < 32 ? rest[0] * scale[0] : rest[1] * scale[1], j % 32);
    if (lane == 0) x[j * k] = value;
    for (int h = 0; h < 2; ++h) {
      const int i = lane + 32 * h;
      if (i < width && (task.is_lower ? i > j : i < j)) rest[h] -= triangle[j * width + i] * value;
    }
  }
}

/// `solve_row_triangle` for thread blocks; each warp takes a right-hand side.
template <class Scalar>
__device__ __forceinline__ void solve_row_triangle(const RowBlockTeam& team,
                                                   const RowTaskArrays<Scalar>& data, const RowTask& task,
                                                   Scalar* sum) {
  if (task.width > 64) return solve_row_triangle<RowBlockTeam, Scalar>(team, data, task, sum);
  const auto k = static_cast<int>(data.k);
  const Scalar* const triangle =
      team.triangle != nullptr ? static_cast<const Scalar*>(team.triangle) : data.triangles + task.triangle;
  Scalar* const x = data.slots + task.x.offset * k;
  for (int c = team.rank() / 32; c < k; c += team.size() / 32)
    solve_triangle_in_registers(triangle, task, sum + c, x + c, k);
}

/// A batch of ready tasks, one block per task. @param prefetches whether dynamic shared memory holds a
/// diagonal block
template <class Scalar>
__global__ void __launch_bounds__(row_task_threads)
    row_batch_kernel(RowTaskArrays<Scalar> data, const int* tasks, bool prefetches) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const RowTask task = data.tasks[tasks[blockIdx.x]];
  const RowBlockTeam team{prefetches ? shared_memory : nullptr};
  work_row(team, data, task, data.sums + task.sum * data.k, [](std::int64_t) {
    __syncthreads();
    return true;
  });
}

/// @param n number of tasks
/// @param ticket  zero on entry
/// @param epoch   value of this solve's signals
/// @param triangle_bytes of shared memory for a diagonal block, or 0
/// @param in_shared whether shared memory behind it holds a row's sum
/// @tparam Window PeerWindow, or one with its members
template <class Scalar, class Window>
__global__ void __launch_bounds__(row_task_threads)
    row_tasks_kernel(RowTaskArrays<Scalar> data, Window window, int n, int* ticket, unsigned long long epoch,
                     unsigned triangle_bytes, bool in_shared) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ int taken;
  const RowBlockTeam team{triangle_bytes > 0 ? shared_memory : nullptr};
  const auto wait = [&](std::int64_t signal) {
    return window.wait(static_cast<std::size_t>(signal), epoch);  // its barrier also covers the team's sum
  };
  for (;;) {
    take_ticket_of_block(ticket, taken);
    if (taken >= n) return;
    const RowTask task = data.tasks[taken];
    Scalar* const sum =
        in_shared ? reinterpret_cast<Scalar*>(shared_memory + triangle_bytes) : data.sums + task.sum * data.k;
    const bool there = task.passes_on ? wait(task.x.signal) : work_row(team, data, task, sum, wait);
    if (!there) return;
    if (task.has_diagonal && threadIdx.x == 0) window.raise(static_cast<std::size_t>(task.x.signal), epoch);
    const bool sends_x = task.has_diagonal || task.passes_on;
    const Scalar* const from = sends_x ? data.slots + task.x.offset * data.k : sum;
    for (std::int64_t t = task.first_target; t < task.end_target; ++t) {
      const RowSlot to = data.targets[t];
      window.put(to.rank, static_cast<std::size_t>(to.offset * data.k) * sizeof(Scalar), from,
                 static_cast<std::size_t>(task.width * data.k), static_cast<std::size_t>(to.signal), epoch);
    }
  }
}

}  // namespace lutra::Impl

#endif
