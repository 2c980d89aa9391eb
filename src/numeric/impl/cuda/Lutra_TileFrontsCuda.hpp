// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEFRONTSCUDA_HPP
#define LUTRA_TILEFRONTSCUDA_HPP

#include "Lutra_FrontTiles.hpp"
#include "Lutra_TileInverseCuda.hpp"

namespace lutra::Impl {

// Large fronts as tiles, left-looking: the task of tile (i, j) assembles it, subtracts L(i, s)·U(s, j) for
// all pivot tiles s before it as they become ready, and finishes it: factorizes a diagonal tile and inverts
// its triangles, multiplies a tile of L or U by one of those inverses, or leaves the tile to the parent. So
// each tile is read and written once, and no task list but the tiles themselves is needed.

/// Shared memory of the data-flow kernel.
template <class Scalar>
struct TileMemory {
  static constexpr int edge = front_tile<Scalar>, pitch = operand_pitch<Scalar>;
  Scalar tile[edge * pitch];                     ///< the tile as it stands before its own last step
  Scalar operands[2][2][operand_words<Scalar>];  ///< two turns of A and B
  Scalar reciprocals[edge];                      ///< of a diagonal tile's pivots
  int ready;                                     ///< pivot tiles whose parts of L and U are there
};

/// All a tile's steps need to know.
template <class Scalar, class Ordinal, class Offset>
struct TileWork {
  const FrontLaunch<Scalar, Ordinal, Offset>& launch;
  const FrontTask<Ordinal, Offset>& task;
  const Front<Ordinal, Offset> front;
  const FrontTiles tiles;
  TileMemory<Scalar>& memory;
  const PivotRule<Scalar>& rule;

  static constexpr int edge = front_tile<Scalar>, pitch = operand_pitch<Scalar>;

  __device__ int pivot_tiles() const { return tiles.pivot_tiles(); }
  __device__ int steps() const {  // pivot tiles before this tile
    const int least = task.row < task.column ? task.row : task.column;
    return least < pivot_tiles() ? least : pivot_tiles();
  }
  __device__ bool in_upper() const { return task.row < task.column && task.row < pivot_tiles(); }
  /// The tile in shared memory: by rows for U, which is multiplied from the left, else by columns.
  __device__ Scalar& at(int r, int c) const {
    return in_upper() ? memory.tile[r * pitch + c] : memory.tile[c * pitch + r];
  }
  __device__ int* flag(int i, int j) const {
    return launch.tile_done + task.flags + static_cast<Offset>(i) * tiles.count() + j;
  }
  /// Inverses of L (by columns) and U (by rows) of pivot tile s.
  __device__ Scalar* inverse(int s, bool of_upper) const {
    return launch.inverses + task.inverses + static_cast<Offset>(2 * s + (of_upper ? 1 : 0)) * edge * edge;
  }

  __device__ GlobalPart<Scalar> part_of_lower(int i, int s) const {
    const Offset size = front.size();
    return {launch.data.panels + front.lower + tiles.begin(i) + tiles.begin(s) * size, size, 1,
            tiles.extent(s), tiles.extent(i)};
  }
  __device__ GlobalPart<Scalar> part_of_upper(int s, int j) const {
    const Offset size = front.size();
    if (j < pivot_tiles()) {
      return {launch.data.panels + front.lower + tiles.begin(s) + tiles.begin(j) * size, 1, size,
              tiles.extent(s), tiles.extent(j)};
    }
    const Scalar* const first = launch.data.panels + front.upper +
                                static_cast<Offset>(tiles.begin(s)) * front.below +
                                (tiles.begin(j) - front.pivots);
    return {first, front.below, 1, tiles.extent(s), tiles.extent(j)};
  }

  __device__ void assemble() const {
    const auto& data = launch.data;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const FrontWindow window{tiles.begin(task.row), tiles.extent(task.row), tiles.begin(task.column),
                             tiles.extent(task.column)};
    GatherTurn<front_threads, Scalar, Offset> narrow(*launch.lists, task.targets, task.targets_end, thread);
    for (int e = thread; e < edge * pitch; e += front_threads) memory.tile[e] = Scalar(0);
    __syncthreads();
    for (Offset e = task.entries + thread; e < task.entries_end; e += front_threads) {
      const FrontPlace place = data.entry_place[e];
      at(place.row - window.row, place.column - window.column) = data.entries[e];
    }
    if (warp == 0) wait_for_children(launch, front, lane);
    __syncthreads();
    narrow.add(data.corners, [&](int r, int c) -> Scalar& { return at(r, c); });
    __syncthreads();
    for (Offset c0 = front.children; c0 < task.wide_end; c0 += 32) {  // a lane looks at a child
      int rows_here = 0, columns_here = 0, a = 0, b = 0;
      if (c0 + lane < task.wide_end) {
        const int* const cut = launch.cuts + launch.children[c0 + lane].cuts;
        a = cut[task.row];
        rows_here = cut[task.row + 1] - a;
        b = cut[task.column];
        columns_here = cut[task.column + 1] - b;
      }
      unsigned touching = __ballot_sync(0xffffffffu, rows_here > 0 && columns_here > 0);
      while (touching != 0) {
        const int l = __ffs(static_cast<int>(touching)) - 1;
        touching &= touching - 1;
        const int a0 = __shfl_sync(0xffffffffu, a, l), b0 = __shfl_sync(0xffffffffu, b, l);
        const int a_count = __shfl_sync(0xffffffffu, rows_here, l);
        const int b_count = __shfl_sync(0xffffffffu, columns_here, l);
        add_child_part<Scalar>(launch, launch.children[c0 + l], a0, a0 + a_count, b0, b0 + b_count, window,
                               [&](int r, int c) -> Scalar& { return at(r, c); });
      }
    }
    __syncthreads();
  }

  /// Waits until pivot tile s has both its parts, and returns how many have.
  __device__ int wait_for_step(int s) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (threadIdx.x < 32) {
      const int step = s + lane;
      const bool asked = step < steps();
      const int left = asked ? load_flag(flag(task.row, step)) : 0;
      const int above = asked ? load_flag(flag(step, task.column)) : 0;
      const unsigned there = __ballot_sync(0xffffffffu, left == launch.run && above == launch.run);
      if ((there & 1u) == 0 && lane < 2) {
        wait_for_flag(launch, lane == 0 ? flag(task.row, s) : flag(s, task.column), task.front);
      }
      __syncwarp();
      const int run = there == 0xffffffffu ? 32 : __ffs(static_cast<int>(~there)) - 1;  // ready without a gap
      if (lane == 0) memory.ready = s + (run > 0 ? run : 1);
    }
    __syncthreads();
    const int ready = memory.ready;
    __syncthreads();
    return ready;
  }

  __device__ void send_step(int q) const {
    constexpr int parts = edge / product_depth;
    const int s = q / parts, first = q % parts * product_depth;
    send_part(part_of_lower(task.row, s), first, memory.operands[q % 2][0]);
    send_part(part_of_upper(s, task.column), first, memory.operands[q % 2][1]);
    __pipeline_commit();
  }

  /// Subtracts the products of all pivot tiles before this one.
  __device__ void subtract_products() const {
    constexpr int parts = edge / product_depth;
    const int last = steps() * parts;
    if (last == 0) return;
    TileProduct<Scalar> product;
    int ready = wait_for_step(0);
    send_step(0);
    for (int q = 0; q < last; ++q) {
      const bool ahead = q + 1 < last && (q + 1) / parts < ready;
      if (ahead) send_step(q + 1);
      if (ahead) {
        __pipeline_wait_prior(1);
      } else {
        __pipeline_wait_prior(0);
      }
      __syncthreads();
      product.add(memory.operands[q % 2][0], memory.operands[q % 2][1], product_depth);
      __syncthreads();
      if (q + 1 < last && !ahead) {
        ready = wait_for_step((q + 1) / parts);
        send_step(q + 1);
      }
    }
    product.for_each([&](int r, int c, const Scalar& value) { at(r, c) -= value; });
    __syncthreads();
  }

  __device__ void store(int r, int c, const Scalar& value) const {
    if (r < tiles.extent(task.row) && c < tiles.extent(task.column))
      launch.data.dense(front).at(tiles.begin(task.row) + r, tiles.begin(task.column) + c) = value;
  }

  /// LU of a diagonal tile, and the inverses of its triangles.
  __device__ void factorize_diagonal() const {
    constexpr int R = edge / 16;
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
    Scalar* const operands = &memory.operands[0][0][0];
    const int first = tiles.begin(task.row), pivots = tiles.extent(task.row);
    RegisterMatrix<R, Scalar> A;
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int c = 0; c < R; ++c) A.a[i][c] = at(x + 16 * i, y + 16 * c);
    }
    eliminate_registers<R>(A, pivots, rule, *reinterpret_cast<PivotExchange<R, Scalar>*>(operands),
                           [&](int j, bool replaced) { launch.data.note_pivot(front, first + j, replaced); });
    Scalar* const panel =
        launch.data.panels + front.lower + first + static_cast<Offset>(first) * front.size();
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int c = 0; c < R; ++c) {
        const int row = x + 16 * i, column = y + 16 * c;
        at(row, column) = A.a[i][c];
        if (row < pivots && column < pivots)
          panel[row + static_cast<Offset>(column) * front.size()] = A.a[i][c];
        if (row == column) memory.reciprocals[row] = row < pivots ? reciprocal(A.a[i][c]) : Scalar(1);
      }
    }
    __syncthreads();
    const TileInverse<Scalar> inverses{memory.tile, memory.reciprocals, operands, operands + edge * pitch,
                                       pivots};
    inverses.run();
    Scalar* const lower = inverse(task.row, false);
    Scalar* const upper = inverse(task.row, true);
#pragma unroll 4
    for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads) {
      const int inner = e / edge, outer = e % edge;  // column and row of L, row and column of U
      lower[e] = outer >= inner ? inverses.lower[inner * pitch + outer] : Scalar(0);
      upper[e] = outer >= inner ? inverses.upper[inner * pitch + outer] : Scalar(0);
    }
  }

  /// A tile of L times the inverse of its column's U, or the inverse of its row's L times a tile of U.
  __device__ void multiply_by_inverse() const {
    const bool upper = in_upper();
    const int s = upper ? task.row : task.column;
    if (threadIdx.x == 0) wait_for_flag(launch, flag(s, s), task.front);
    __syncthreads();
    Scalar* const operand = &memory.operands[0][0][0];  // room for a whole tile
    const GlobalPart<Scalar> from{inverse(s, !upper), edge, 1, edge, edge};
#pragma unroll
    for (int first = 0; first < edge; first += product_depth)
      if (first < tiles.extent(s)) send_part(from, first, operand + first * pitch);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    TileProduct<Scalar> product;
    const int depth = (tiles.extent(s) + 7) / 8 * 8;
    product.add(upper ? operand : memory.tile, upper ? memory.tile : operand, depth);
    product.for_each([&](int r, int c, const Scalar& value) { store(r, c, value); });
  }

  __device__ void leave_to_parent() const {
    Scalar* const corner = launch.data.corners + front.corner;
    const int row = tiles.begin(task.row) - front.pivots, column = tiles.begin(task.column) - front.pivots;
    const int rows = tiles.extent(task.row), columns = tiles.extent(task.column);
    for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads) {
      const int r = e % edge, c = e / edge;
      if (r < rows && c < columns) corner[row + r + static_cast<Offset>(column + c) * front.below] = at(r, c);
    }
  }

  /// Raises the tile's flag, and the front's where it was the last of the contribution.
  __device__ void tell() const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (task.row < pivot_tiles() || task.column < pivot_tiles()) {
      raise_flag(flag(task.row, task.column), launch.run);
      return;
    }
    __threadfence();
    const int edge_tiles = tiles.count() - pivot_tiles();
    if (atomicAdd(launch.arrived + task.front, 1) + 1 < edge_tiles * edge_tiles) return;
    __threadfence();
    launch.arrived[task.front] = 0;  // for the next factorization
    raise_flag(launch.done + task.front, launch.run);
  }

  __device__ void run() const {
    assemble();
    subtract_products();
    if (task.row >= pivot_tiles() && task.column >= pivot_tiles()) {
      leave_to_parent();
    } else if (task.row == task.column) {
      factorize_diagonal();
    } else {
      multiply_by_inverse();
    }
    tell();
  }
};

/// Middle and large fronts as data flow: blocks take tasks in an order in which each follows all it needs.
template <class Scalar, class Ordinal, class Offset>
__global__ void __launch_bounds__(front_threads, 2)
    front_tasks_kernel(FrontLaunch<Scalar, Ordinal, Offset> launch, const FrontTask<Ordinal, Offset>* tasks,
                       int n, int* ticket) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ int turn;
  auto& memory = *reinterpret_cast<TileMemory<Scalar>*>(shared_memory);
  Scalar* const S = reinterpret_cast<Scalar*>(shared_memory);
  const PivotRule<Scalar> rule = launch.data.pivot_rule();
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) turn = atomicAdd(ticket, 1);
    __syncthreads();
    if (turn >= n) return;
    const FrontTask<Ordinal, Offset> task = tasks[turn];
    const Front<Ordinal, Offset> front = launch.data.fronts[task.front];
    if (task.row >= 0) {
      const TileWork<Scalar, Ordinal, Offset> work{
          launch, task, front, FrontTiles(front.pivots, front.below, front_tile<Scalar>), memory, rule};
      work.run();
      continue;
    }
    const int parts = (front.size() + 15) / 16;
    if (parts <= 2) {
      work_block_front<2>(launch, task, front, rule, S);
    } else if (parts <= 4) {
      work_block_front<4>(launch, task, front, rule, S);
    } else {
      work_block_front<most_register_parts<Scalar>>(launch, task, front, rule, S);
    }
  }
}

}  // namespace lutra::Impl

#endif
