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

/// A thread block in the form that tasks require.
struct RowBlockTeam {
  static constexpr int lanes = 32;
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  __device__ void sync_lanes() const { __syncwarp(); }
  template <class Scalar>
  __device__ Scalar sum_lanes(Scalar value, int stride) const {
    for (int distance = lanes / 2; distance >= stride; distance /= 2) value += shuffle_xor(value, distance);
    return value;
  }
};

/// A batch of ready tasks, one block per task.
template <class Scalar>
__global__ void __launch_bounds__(row_task_threads)
    row_batch_kernel(RowTaskArrays<Scalar> data, const int* tasks) {
  const RowTask task = data.tasks[tasks[blockIdx.x]];
  work_row(RowBlockTeam(), data, task, data.sums + task.sum * data.k, [](std::int64_t) {
    __syncthreads();
    return true;
  });
}

/// @param n number of tasks
/// @param ticket  zero on entry
/// @param epoch   value of this solve's signals
/// @param in_shared whether shared memory holds a row's sum
/// @tparam Window PeerWindow, or one with its members
template <class Scalar, class Window>
__global__ void __launch_bounds__(row_task_threads)
    row_tasks_kernel(RowTaskArrays<Scalar> data, Window window, int n, int* ticket, unsigned long long epoch,
                     bool in_shared) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ int taken;
  const RowBlockTeam team;
  const auto wait = [&](std::int64_t signal) {
    return window.wait(static_cast<std::size_t>(signal), epoch);  // its barrier also covers the team's sum
  };
  for (;;) {
    take_ticket_of_block(ticket, taken);
    if (taken >= n) return;
    const RowTask task = data.tasks[taken];
    Scalar* const sum = in_shared ? reinterpret_cast<Scalar*>(shared_memory) : data.sums + task.sum * data.k;
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
