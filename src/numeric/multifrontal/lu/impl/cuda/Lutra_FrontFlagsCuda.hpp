// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTFLAGSCUDA_HPP
#define LUTRA_FRONTFLAGSCUDA_HPP

#include "Lutra_FrontTask.hpp"
#include "Lutra_FrontsPortable.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ReciprocalCuda.hpp"
#include "Lutra_TaskQueueCuda.hpp"

namespace lutra::Impl {

// What the kernels of one factorization share. Blocks are synchronized by flags (Lutra_TaskQueue.hpp), which
// hold the number of the factorization that last raised them. Lutra_FrontTask.hpp shows the order of tasks.

inline constexpr double front_watchdog_seconds = 10;  ///< default of a run state

struct SmallChildArrays;

/// Data shared by the kernels of a schedule.
template <class Scalar>
struct FrontLaunch : FlaggedRun {
  FrontLuData<Scalar> data;
  const ChildRef* children = nullptr;           ///< children of each front, wide ones first
  const Contribution* contributions = nullptr;  ///< [count]
  const SmallChildArrays* lists = nullptr;      ///< small-child lists, in device memory
  const int* cuts = nullptr;         ///< first row of a child in each tile of its parent, and number of rows
  int* done = nullptr;               ///< [count] completion flags of fronts
  int* tile_done = nullptr;          ///< completion flags of tiles
  int* arrived = nullptr;            ///< [count] completed tiles of a contribution
  Scalar* upper_inverses = nullptr;  ///< inverses of U of pivot tiles
  Scalar* lower_inverses = nullptr;  ///< inverses of L, after those of U
  Scalar* links = nullptr;           ///< hand-off buffers for neighbours of diagonal tiles
  TaskProgress progress;             ///< of the second launch
  int* sweeps = nullptr;             ///< [multiprocessors] number of diagonal sweeps running on each
  int multiprocessors = 1;
  bool hermitian = false;  ///< whether symmetric tasks conjugate
};

/// Counter of the sweeps on this multiprocessor. Multiprocessor ids may exceed their count, so two may share
/// a counter.
template <class Launch>
__device__ __forceinline__ int* sweeps_here(const Launch& launch) {
  int number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return launch.sweeps + number % launch.multiprocessors;
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

/// Waits, by one warp, until the first `chunks` chunks of this launch's tasks are complete.
template <class Launch>
__device__ __forceinline__ void wait_for_chunks(const Launch& launch, int chunks, int front, int lane) {
  wait_for_chunks(launch, launch.progress, chunks, front, lane);
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
