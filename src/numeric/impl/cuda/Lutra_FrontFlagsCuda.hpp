// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTFLAGSCUDA_HPP
#define LUTRA_FRONTFLAGSCUDA_HPP

#include "Lutra_FrontTask.hpp"
#include "Lutra_FrontsPortable.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Flags by which blocks of one launch wait for each other. A flag holds the number of the factorization that
// raised it last, so that none is ever reset. Tasks are taken in an order in which each follows all it waits
// for (Lutra_FrontTask.hpp): a block that waits, waits for a block that is running.

inline constexpr double front_watchdog_seconds = 10;  ///< unless a state has another one

struct SmallChildArrays;

/// Which tasks of a launch are complete.
struct TaskProgress {
  int* known = nullptr;     ///< chunks known to be complete with all before them
  int* complete = nullptr;  ///< [tasks / tasks_a_chunk] complete tasks of each whole chunk
};

/// What the kernels of a schedule share.
template <class Scalar>
struct FrontLaunch {
  FrontLuData<Scalar> data;
  const ChildRef* children = nullptr;           ///< of each front, wide ones first
  const Contribution* contributions = nullptr;  ///< [count]
  const SmallChildArrays* lists = nullptr;      ///< of small children, in device memory
  const int* cuts = nullptr;         ///< first of a child's rows in each tile of its parent, and their number
  int* done = nullptr;               ///< [count] flags of fronts
  int* tile_done = nullptr;          ///< flags of tiles
  int* arrived = nullptr;            ///< [count] tiles of a contribution that are there
  Scalar* lower_inverses = nullptr;  ///< of pivots' tiles; those of U are the first
  Scalar* links = nullptr;           ///< tiles next to diagonal ones, on their way to the next diagonal tile
  TaskProgress progress;             ///< of the second launch
  int* sweeps = nullptr;             ///< [multiprocessors] blocks on each that sweep down a front's diagonal
  int multiprocessors = 1;
  bool hermitian = false;  ///< of symmetric tasks
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
/// The same without order, beside a fence of one's own.
__device__ __forceinline__ int read_flag(const int* flag) {
  int value;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ __forceinline__ void write_flag(int* flag, int value) {
  asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/// Device-scope acquire-release fence; pairs with the relaxed accesses to a flag on both sides: in front of
/// `write_flag` and of `count_task`, behind `read_flag`. Costs a fraction of `__threadfence`, which also puts
/// all threads' fences into one order.
__device__ __forceinline__ void fence() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/// Counts the sweeps on this multiprocessor. Its number need not be below that of all of them: two may share
/// a count.
template <class Launch>
__device__ __forceinline__ int* sweeps_here(const Launch& launch) {
  int number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return launch.sweeps + number % launch.multiprocessors;
}

/// Ends all waiting once one team has waited too long.
template <class Launch>
__device__ bool waited_too_long(const Launch& launch, int front, std::uint64_t& begun) {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (begun == 0) begun = now;
  int* const stopped = &launch.data.outcome->stopped_front;
  if (static_cast<double>(now - begun) > launch.watchdog_seconds * 1e9) atomicCAS(stopped, -1, front);
  return *static_cast<const volatile int*>(stopped) >= 0;
}

/// Waits until a flag stands at this factorization's number. Order is made once, at the end: with each look
/// it would empty the first level cache, of the other block on the multiprocessor too.
template <class Launch>
__device__ __forceinline__ void wait_for_flag(const Launch& launch, const int* flag, int front) {
  std::uint64_t begun = 0;
  for (unsigned spins = 1; read_flag(flag) != launch.run; ++spins) {
    if (spins % 256 == 0 && waited_too_long(launch, front, begun)) break;
  }
  fence();
}

/// Waits for all children of a front, lanes of a warp each for some of them.
template <class Launch, class Front>
__device__ __forceinline__ void wait_for_children(const Launch& launch, const Front& front, int lane) {
  for (auto c = front.children + lane; c < front.children_end; c += 32) {
    const int number = launch.children[c].number;
    wait_for_flag(launch, launch.done + number, number);
  }
  __syncwarp();
}

/// Waits until the first `chunks` chunks of tasks are complete, by one warp: whatever they have read may be
/// written anew then. Tasks that wait belong to later chunks.
template <class Launch>
__device__ __forceinline__ void wait_for_chunks(const Launch& launch, int chunks, int front, int lane) {
  std::uint64_t begun = 0;
  for (unsigned spins = 1;; ++spins) {
    const int known = read_flag(launch.progress.known);
    if (known >= chunks) break;
    const int chunk = known + lane;
    const bool complete = chunk < chunks && read_flag(launch.progress.complete + chunk) == tasks_a_chunk;
    fence();  // whoever reads what is known next sees what these tasks have read and written
    const unsigned all = __ballot_sync(0xffffffffu, complete);
    const int more = all == 0xffffffffu ? 32 : __ffs(static_cast<int>(~all)) - 1;
    if (more > 0 && lane == 0) atomicMax(launch.progress.known, known + more);
    __syncwarp();
    if (more == 0 && spins % 256 == 0 && __any_sync(0xffffffffu, waited_too_long(launch, front, begun)))
      break;
  }
  fence();
}

/// Counts a task as complete; by one thread, what the task has read and written being behind a fence.
__device__ __forceinline__ void count_task(const TaskProgress& progress, int task, int tasks) {
  const int chunk = task / tasks_a_chunk;
  if (chunk < tasks / tasks_a_chunk) atomicAdd(progress.complete + chunk, 1);
}

/// What a column is multiplied by to divide it by a pivot. In double precision an approximation made exact to
/// the last bits by Newton's iteration, a fraction of a division's latency, which each pivot waits for.
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

/// A running position (row, column) in a block of `rows` rows stored by columns, advanced by `step` entries
/// at once without division.
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

/// Writes a front, whose entries `at(row, column)` gives, to its three blocks; by threads first, first +
/// step, …
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
