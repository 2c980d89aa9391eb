// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TASKQUEUECUDA_HPP
#define LUTRA_TASKQUEUECUDA_HPP

#include <Kokkos_Core.hpp>

#include <type_traits>

#include "Lutra_TaskQueue.hpp"

namespace lutra::Impl {

// Tickets and flags on CUDA. Lutra_TaskQueue.hpp draws the protocol and shows why it cannot deadlock.

// ---- flags ----

/// Acquire: what was written before the flag was raised is visible to the calling thread.
__device__ __forceinline__ int load_flag(const int* flag) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ __forceinline__ unsigned load_flag(const unsigned* flag) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
/// Release: what the calling thread has written, and what it has observed, is visible before the flag.
__device__ __forceinline__ void raise_flag(int* flag, int value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
/// Relaxed read; the caller provides the fence.
__device__ __forceinline__ int read_flag(const int* flag) {
  int value;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ __forceinline__ void write_flag(int* flag, int value) {
  asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/// Device-scope acquire-release fence; pairs with the relaxed flag accesses on both sides: before
/// `write_flag` and `count_task`, after `read_flag`. Much cheaper than `__threadfence`, which also imposes
/// one order on the fences of all threads.
__device__ __forceinline__ void fence() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/// Flags that other devices of the host read or raise.
__device__ __forceinline__ unsigned long long load_system_flag(const unsigned long long* flag) {
  unsigned long long value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}
__device__ __forceinline__ void raise_system_flag(unsigned long long* flag, unsigned long long value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

// ---- waits ----

/// Waits, by one thread, until `is_raised()`, which reads flags without a fence. Fences once, at the end: a
/// fence with each poll would invalidate the L1 cache, which other blocks of the multiprocessor share.
/// @param number of the front that waits
template <class Run, class IsRaised>
__device__ __forceinline__ void wait_until(const Run& run, int number, const IsRaised& is_raised) {
  WaitTimer<> timer;
  for (unsigned spins = 1; !is_raised(); ++spins) {
    if (spins % 256 == 0 && run.watchdog.ends(timer, number)) break;
  }
  fence();
}
/// Waits until a flag is raised. @param run a FlaggedRun
template <class Run>
__device__ __forceinline__ void wait_for_flag(const Run& run, const int* flag, int number) {
  wait_until(run, number, [&] { return read_flag(flag) == run.run; });
}
/// Waits until count ≥ target.
template <class Run>
__device__ __forceinline__ void wait_for_count(const Run& run, const int* count, int target, int number) {
  wait_until(run, number, [&] { return read_flag(count) >= target; });
}

// ---- tickets ----

/// The next ticket; by one thread.
/// @param other counter of another launch, which is reset by the first ticket of this one; or null
template <class Ticket>
__device__ __forceinline__ Ticket take_ticket(Ticket* counter, Ticket* other = nullptr) {
  Ticket taken;
  if constexpr (std::is_same_v<Ticket, int>) {
    taken = atomicAdd(counter, 1);
  } else {
    taken = Kokkos::atomic_fetch_add(counter, Ticket(1));
  }
  if (other != nullptr && taken == 0) *other = 0;
  return taken;
}
/// The next ticket of a warp, returned to all lanes.
template <class Ticket>
__device__ __forceinline__ Ticket take_ticket_of_warp(Ticket* counter, Ticket* other = nullptr) {
  const Ticket taken = threadIdx.x % 32 == 0 ? take_ticket(counter, other) : 0;
  return __shfl_sync(0xffffffffu, taken, 0);
}
/// The next ticket of a thread block, returned to all threads. The first barrier separates it from the last
/// use of `shared`, the second one orders the new ticket before its use.
/// @param shared in shared memory
template <class Ticket>
__device__ __forceinline__ Ticket take_ticket_of_block(Ticket* counter, Ticket& shared,
                                                       Ticket* other = nullptr) {
  __syncthreads();
  if (threadIdx.x == 0) shared = take_ticket(counter, other);
  __syncthreads();
  return shared;
}

// ---- completed tasks ----

/// Counts a task as complete; by one thread, after a fence that covers the task's reads and writes.
template <class Progress>
__device__ __forceinline__ void count_task(const Progress& progress, int task, int tasks) {
  const int chunk = task / tasks_a_chunk;
  if (chunk < tasks / tasks_a_chunk) atomicAdd(progress.complete + chunk, 1);
}

/// Waits, by one warp, until the first `chunks` chunks of tasks are complete; the memory they have read may
/// then be overwritten. Waiting tasks belong to later chunks.
template <class Run, class Progress>
__device__ __forceinline__ void wait_for_chunks(const Run& run, const Progress& progress, int chunks,
                                                int number, int lane) {
  WaitTimer<> timer;
  for (unsigned spins = 1;; ++spins) {
    const int known = read_flag(progress.known);
    if (known >= chunks) break;
    const int chunk = known + lane;
    const bool complete = chunk < chunks && read_flag(progress.complete + chunk) == tasks_a_chunk;
    fence();  // readers of `known` must also see the effects of these tasks
    const unsigned all = __ballot_sync(0xffffffffu, complete);
    const int more = all == 0xffffffffu ? 32 : __ffs(static_cast<int>(~all)) - 1;
    if (more > 0 && lane == 0) atomicMax(progress.known, known + more);
    __syncwarp();
    if (more == 0 && spins % 256 == 0 && __any_sync(0xffffffffu, run.watchdog.ends(timer, number))) break;
  }
  fence();
}

}  // namespace lutra::Impl

#endif
