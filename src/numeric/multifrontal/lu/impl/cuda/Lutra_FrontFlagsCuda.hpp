// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTFLAGSCUDA_HPP
#define LUTRA_FRONTFLAGSCUDA_HPP

#include "Lutra_FrontTask.hpp"
#include "Lutra_FrontsPortable.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Flags that synchronize blocks of one launch. A flag holds the number of the factorization that last raised
// it, so flags are never reset. Tasks are taken in an order in which each follows its dependencies
// (Lutra_FrontTask.hpp): a waiting block always waits for a running one.

inline constexpr double front_watchdog_seconds = 10;  ///< default of a run state

struct SmallChildArrays;

/// Completion state of a launch's tasks.
struct TaskProgress {
  int* known = nullptr;     ///< chunks known to be complete, with all before them
  int* complete = nullptr;  ///< [tasks / tasks_a_chunk] completed tasks of each full chunk
};

/// Data shared by the kernels of a schedule.
template <class Scalar>
struct FrontLaunch {
  FrontLuData<Scalar> data;
  const ChildRef* children = nullptr;           ///< children of each front, wide ones first
  const Contribution* contributions = nullptr;  ///< [count]
  const SmallChildArrays* lists = nullptr;      ///< small-child lists, in device memory
  const int* cuts = nullptr;         ///< first row of a child in each tile of its parent, and number of rows
  int* done = nullptr;               ///< [count] completion flags of fronts
  int* tile_done = nullptr;          ///< completion flags of tiles
  int* arrived = nullptr;            ///< [count] completed tiles of a contribution
  Scalar* lower_inverses = nullptr;  ///< inverses of L of pivot tiles, after those of U
  Scalar* links = nullptr;           ///< hand-off buffers for neighbours of diagonal tiles
  TaskProgress progress;             ///< of the second launch
  int* sweeps = nullptr;             ///< [multiprocessors] number of diagonal sweeps running on each
  int multiprocessors = 1;
  bool hermitian = false;  ///< whether symmetric tasks conjugate
  int run = 0;             ///< number of this factorization
  double watchdog_seconds = front_watchdog_seconds;
};

__device__ __forceinline__ int load_flag(const int* flag) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
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

/// Counter of the sweeps on this multiprocessor. Multiprocessor ids may exceed their count, so two may share
/// a counter.
template <class Launch>
__device__ __forceinline__ int* sweeps_here(const Launch& launch) {
  int number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return launch.sweeps + number % launch.multiprocessors;
}

/// Aborts all waits once one team has timed out.
template <class Launch>
__device__ bool waited_too_long(const Launch& launch, int front, std::uint64_t& begun) {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (begun == 0) begun = now;
  int* const stopped = &launch.data.outcome->stopped_front;
  if (static_cast<double>(now - begun) > launch.watchdog_seconds * 1e9) atomicCAS(stopped, -1, front);
  return *static_cast<const volatile int*>(stopped) >= 0;
}

/// Waits until a flag holds this factorization's number. Fences once, at the end: a fence with each poll
/// would invalidate the L1 cache, which the other block on the multiprocessor shares.
template <class Launch>
__device__ __forceinline__ void wait_for_flag(const Launch& launch, const int* flag, int front) {
  std::uint64_t begun = 0;
  for (unsigned spins = 1; read_flag(flag) != launch.run; ++spins) {
    if (spins % 256 == 0 && waited_too_long(launch, front, begun)) break;
  }
  fence();
}

/// Waits for all children of a front, distributed over the lanes of a warp.
template <class Launch, class Front>
__device__ __forceinline__ void wait_for_children(const Launch& launch, const Front& front, int lane) {
  for (auto c = front.children + lane; c < front.children_end; c += 32) {
    const int number = launch.children[c].number;
    wait_for_flag(launch, launch.done + number, number);
  }
  __syncwarp();
}

/// Waits, by one warp, until the first `chunks` chunks of tasks are complete; the memory they have read may
/// then be overwritten. Waiting tasks belong to later chunks.
template <class Launch>
__device__ __forceinline__ void wait_for_chunks(const Launch& launch, int chunks, int front, int lane) {
  std::uint64_t begun = 0;
  for (unsigned spins = 1;; ++spins) {
    const int known = read_flag(launch.progress.known);
    if (known >= chunks) break;
    const int chunk = known + lane;
    const bool complete = chunk < chunks && read_flag(launch.progress.complete + chunk) == tasks_a_chunk;
    fence();  // readers of `known` must also see the effects of these tasks
    const unsigned all = __ballot_sync(0xffffffffu, complete);
    const int more = all == 0xffffffffu ? 32 : __ffs(static_cast<int>(~all)) - 1;
    if (more > 0 && lane == 0) atomicMax(launch.progress.known, known + more);
    __syncwarp();
    if (more == 0 && spins % 256 == 0 && __any_sync(0xffffffffu, waited_too_long(launch, front, begun)))
      break;
  }
  fence();
}

/// Counts a task as complete; by one thread, after a fence that covers the task's reads and writes.
__device__ __forceinline__ void count_task(const TaskProgress& progress, int task, int tasks) {
  const int chunk = task / tasks_a_chunk;
  if (chunk < tasks / tasks_a_chunk) atomicAdd(progress.complete + chunk, 1);
}

/// Reciprocal of a pivot. In double precision an approximation refined to the last bits by Newton's
/// iteration, at a fraction of a division's latency, which is on the critical path of each pivot.
template <class Real>
__device__ __forceinline__ Real reciprocal(Real value) {
  if constexpr (sizeof(Real) == 8) {
    Real result;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(value));
    result = fma(fma(-value, result, 1.0), result, result);
    return fma(fma(-value, result, 1.0), result, result);
  } else {
    return Real(1) / value;
  }
}
template <class Real>
__device__ __forceinline__ Kokkos::complex<Real> reciprocal(const Kokkos::complex<Real>& value) {
  return Kokkos::complex<Real>(Real(1)) / value;
}

/// A running position (row, column) in a column-major block with `rows` rows, advanced by `step` entries
/// without division.
struct BlockWalk {
  int rows, step_rows, step_columns, row, column;
  __device__ BlockWalk(int block_rows, int start, int step)
      : rows(block_rows),
        step_rows(step % block_rows),
        step_columns(step / block_rows),
        row(start % block_rows),
        column(start / block_rows) {}
  __device__ __forceinline__ void advance() {
    row += step_rows;
    column += step_columns;
    if (row >= rows) {
      row -= rows;
      ++column;
    }
  }
};

/// Writes a front, given by `at(row, column)`, to its three blocks; by threads first, first + step, …
template <class Scalar, class At>
__device__ __forceinline__ void store_front(const DenseFront<Scalar>& front, int first, int step,
                                            const At& at) {
  const int size = front.size(), cb_rows = front.cb_rows, pivots = front.pivots;
  BlockWalk lower(size, first, step);
  for (int e = first; e < size * pivots; e += step, lower.advance())
    front.lower[e] = at(lower.row, lower.column);
  if (cb_rows == 0) return;
  BlockWalk upper(cb_rows, first, step);  // by rows
  for (int e = first; e < pivots * cb_rows; e += step, upper.advance()) {
    front.upper[e] = at(upper.column, pivots + upper.row);
  }
  BlockWalk contribution(cb_rows, first, step);
  for (int e = first; e < cb_rows * cb_rows; e += step, contribution.advance()) {
    front.contribution[e] = at(pivots + contribution.row, pivots + contribution.column);
  }
}

}  // namespace lutra::Impl

#endif
