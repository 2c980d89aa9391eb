// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEASSEMBLYCUDA_HPP
#define LUTRA_TILEASSEMBLYCUDA_HPP

#include "Lutra_TileWorkCuda.hpp"

namespace lutra::Impl {

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::assemble() const {
  const auto& data = launch.data;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const FrontWindow window{cut.begin(task.row), extent(task.row, task.rows), cut.begin(task.column),
                           extent(task.column, task.columns)};
  using Adder = SmallChildAdder<front_threads, Scalar>;
  Adder small_children(*launch.lists, task.parts[0].small, thread);
  for (int e = thread; e < edge * pitch; e += front_threads) memory.space[e] = Scalar(0);
  __syncthreads();
#pragma unroll
  for (int part = 0; part < tiles; ++part) {
    const FrontTaskPart& own = task.parts[part];
    for (Offset e = own.entries + thread; e < own.entries_end; e += front_threads) {
      const FrontPosition position = data.entry_position(e);
      at(position.row - window.row, position.column - window.column) = data.entries[e];
    }
  }
  if (warp == 0) wait_for_children(launch, front, lane);
  if (warp == 1 && task.after > 0 && !in_contribution())
    wait_for_chunks(launch, task.after, task.front, lane);
  __syncthreads();
  if (task.takes_panels && !in_contribution()) {
    add_panel(window);
    __syncthreads();
  }
  small_children.add(data.contributions, [&](int r, int c) -> Scalar& { return at(r, c); });
  if constexpr (tiles > 1) {
    const int r0 = task.rows > 1 ? edge : 0, c0 = edge - r0;
    Adder second(*launch.lists, task.parts[1].small, thread);
    second.add(data.contributions, [&](int r, int c) -> Scalar& { return at(r0 + r, c0 + c); });
  }
  __syncthreads();
  for (Offset c0 = front.children; c0 < task.wide_end; c0 += 32) {  // one child per lane
    int rows_here = 0, columns_here = 0, a = 0, b = 0;
    if (c0 + lane < task.wide_end) {
      const int* const cuts = launch.cuts + launch.children[c0 + lane].cuts;
      a = cuts[task.row];
      rows_here = cuts[task.row + task.rows] - a;
      b = cuts[task.column];
      columns_here = cuts[task.column + task.columns] - b;
      if (launch.children[c0 + lane].passed > 0 && !in_contribution())
        rows_here = 0;  // already added to the panels
    }
    unsigned touching = __ballot_sync(0xffffffffu, rows_here > 0 && columns_here > 0);
    while (touching != 0) {
      const int l = __ffs(static_cast<int>(touching)) - 1;
      touching &= touching - 1;
      const int a0 = __shfl_sync(0xffffffffu, a, l), b0 = __shfl_sync(0xffffffffu, b, l);
      const int a_count = __shfl_sync(0xffffffffu, rows_here, l);
      const int b_count = __shfl_sync(0xffffffffu, columns_here, l);
      add_child_part<width / 32, Scalar>(launch, launch.children[c0 + l], a0, a0 + a_count, b0, b0 + b_count,
                                         window, [&](int r, int c) -> Scalar& { return at(r, c); });
    }
  }
  __syncthreads();
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::add_panel(
    const FrontWindow& window) const {
  const bool by_rows = task.row < pivot_tiles() && task.column >= pivot_tiles();
  const Scalar* const panel = &dense().at(window.row, window.column);
  const int length = by_rows ? window.columns : window.rows;
  const Offset stride = by_rows ? front.cb_rows : front.size();
  BlockWalk walk(length, static_cast<int>(threadIdx.x), front_threads);
  for (int e = static_cast<int>(threadIdx.x); e < window.rows * window.columns;
       e += front_threads, walk.advance()) {
    const Scalar value = panel[walk.row + walk.column * stride];
    (by_rows ? at(walk.column, walk.row) : at(walk.row, walk.column)) += value;
  }
}

}  // namespace lutra::Impl

#endif
