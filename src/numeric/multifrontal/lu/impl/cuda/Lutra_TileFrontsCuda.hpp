// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEFRONTSCUDA_HPP
#define LUTRA_TILEFRONTSCUDA_HPP

#include "Lutra_DiagonalSweepCuda.hpp"
#include "Lutra_TileAssemblyCuda.hpp"

namespace lutra::Impl {

/// A block's task data, in shared memory to save registers for entries.
template <class Scalar>
struct SharedTask {
  FrontLaunch<Scalar> launch;
  FrontTask task;
  Front front;
  PivotRule<Scalar> rule;
  TaskNumber number;
};
template <class Scalar>
__device__ __forceinline__ SharedTask<Scalar>& shared_task() {
  __shared__ __align__(16) unsigned char space[sizeof(SharedTask<Scalar>)];
  return *reinterpret_cast<SharedTask<Scalar>*>(space);
}

/// Not inlined, so that registers are allocated separately.
template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ __noinline__ void work_tiles() {
  auto& own = shared_task<Scalar>();
  const FrontTiles cut(own.front.pivots, own.front.cb_rows, front_tile<Scalar>);
  TileWork<tiles, interchanges, symmetric, Scalar>{
      own.launch, own.task, own.front, cut, tile_memory<Scalar>(), own.rule, own.number}
      .run();
}

/// Factorizes medium and large fronts as data flow: blocks take tasks in an order in which each follows its
/// dependencies.
template <bool interchanges, bool symmetric, class Scalar>
__global__ void __launch_bounds__(front_threads, 2)
    front_tasks_kernel(FrontLaunch<Scalar> launch, const FrontTask* tasks, int n, int* ticket) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ int ticket_taken;
  Scalar* const S = reinterpret_cast<Scalar*>(shared_memory);
  const PivotRule<Scalar> rule = launch.data.pivot_rule();
  if (threadIdx.x == 0) {
    shared_task<Scalar>().launch = launch;
    shared_task<Scalar>().rule = rule;
  }
  int sweeps_beside = 0;  // on this multiprocessor, as the first thread observed when its task began
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) {
      // a sweep is on the critical path, and slower if it shares the multiprocessor
      if (sweeps_beside > 0) {
        while (read_flag(sweeps_here(launch)) > 0) __nanosleep(500);
      }
      ticket_taken = take_ticket(ticket);
      sweeps_beside = read_flag(sweeps_here(launch));
    }
    __syncthreads();
    const TaskNumber number{ticket_taken, n};
    if (number.task >= n) return;
    const FrontTask task = tasks[number.task];
    if (task.row == FrontTask::clearing) {
      clear_panels(launch, task, number);
      continue;
    }
    const Front front = launch.data.fronts[task.front];
    if (task.row == FrontTask::sweeping) {
      if constexpr (interchanges) {
        if (threadIdx.x == 0) count_task(launch.progress, number.task, number.tasks);
      } else {
        work_diagonal<symmetric>(launch, task, front, rule, number);
      }
      continue;
    }
    if (task.row >= 0) {
      if (threadIdx.x == 0) {
        auto& own = shared_task<Scalar>();
        own.task = task;
        own.front = front;
        own.number = number;
      }
      __syncthreads();
      if (task.rows + task.columns > 2) {
        work_tiles<2, interchanges, symmetric, Scalar>();
      } else {
        work_tiles<1, interchanges, symmetric, Scalar>();
      }
      continue;
    }
    const int parts = (front.size() + 15) / 16;
    if (parts <= 2) {
      work_block_front<2, interchanges, symmetric>(launch, task, front, rule, S, number);
    } else if (parts <= 4) {
      work_block_front<4, interchanges, symmetric>(launch, task, front, rule, S, number);
    } else {
      work_block_front<max_register_parts<Scalar>, interchanges, symmetric>(launch, task, front, rule, S,
                                                                            number);
    }
  }
}

}  // namespace lutra::Impl

#endif
