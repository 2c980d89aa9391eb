// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEFRONTSOLVECUDA_HPP
#define LUTRA_TILEFRONTSOLVECUDA_HPP

#include "Lutra_FrontSolveWaitCuda.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// The multifrontal substitutions of Lutra_FrontSolveWorker.hpp for large fronts, one thread block per tile
// of rows: the supernodal form of section 2 of "A Message-Driven, Multi-GPU Parallel Sparse Triangular
// Solver", with inverses of the diagonal tiles. Departures: rows gather instead of sending, and values are
// self-flagged.

inline constexpr int tile_solve_threads = 256;  ///< eight warps, which share the columns of a square
inline constexpr int tile_solve_warps = tile_solve_threads / 32;

/// Shared memory of a thread block that solves a tile of `Edge` rows.
template <int Edge, int Width, class Scalar>
struct TileSolveMemory {
  Scalar parts[tile_solve_warps][Edge * Width];  ///< partial sums by warp
  Scalar v[Edge * Width];              ///< the tile's right-hand sides, minus the products computed so far
  Scalar diagonal[Edge * (Edge + 1)];  ///< the tile's triangle, or its inverse
};

/// One tile of rows of a front in a thread block. Its rows of the panels are read in squares of Edge × Edge:
///
///   square s+1   load entries to registers
///   square s     wait for values of its columns (each warp its own eight), multiply, accumulate
///   diagonal     reduce over warps through shared memory, solve, publish
template <int Edge, int Width, class Scalar>
struct TileSweep {
  static constexpr int pitch = Edge + 1;   ///< odd: rows and columns without bank conflicts
  static constexpr int inner = Edge / 32;  ///< entries of a lane along a square's columns or rows
  static constexpr int outer = Edge / tile_solve_warps;  ///< columns or rows of a warp
  static constexpr int lanes_a_row = tile_solve_threads / Edge;
  using Launch = FrontSweepLaunch<Scalar>;
  using Square = Scalar[inner][outer];

  const Launch& launch;
  const FrontSolveTask& task;
  TileSolveMemory<Edge, Width, Scalar>& memory;
  const int group;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;

  __device__ FrontTiles tiles() const { return {task.pivots, task.cb_rows, Edge}; }
  __device__ std::int64_t index_of(int position) const { return task.first_pivot + position; }
  /// The permuted index of the right-hand side or solution of a pivot. Inverses of tiles include the
  /// interchanges.
  __device__ std::int64_t row_index(int pivot) const {
    return has_inverse() ? index_of(pivot) : launch.data.row_at(index_of(pivot));
  }

  /// Loads entries (r, c) of a part of the panels for r < rows, begin ≤ c < end; the entries of a lane are
  /// contiguous.
  __device__ __forceinline__ void load(const PanelPart<Scalar>& part, bool by_columns, int rows, int begin,
                                       int end, Square& a) const {
    const int columns = end - begin < Edge ? end - begin : Edge;
    const Scalar* const first = part.at(0, begin);
    const std::int64_t ld = by_columns ? part.column : part.row;
    const int inner_end = by_columns ? rows : columns, outer_end = by_columns ? columns : rows;
#pragma unroll
    for (int h = 0; h < inner; ++h) {
#pragma unroll
      for (int q = 0; q < outer; ++q) {
        const int i = lane + 32 * h, o = warp + tile_solve_warps * q;
        a[h][q] = i < inner_end && o < outer_end ? launch.data.value(first[i + o * ld]) : Scalar(0);
      }
    }
  }

  /// v −= part(:, begin … end)·x; `at(c)` is the slot of x of column c; in descending order if `backward`.
  template <bool ByColumns, class At>
  __device__ __forceinline__ void subtract(const PanelPart<Scalar>& part, int rows, int begin, int end,
                                           bool descending, const At& at) const {
    constexpr int sums = ByColumns ? inner : outer;
    const int squares = (end - begin + Edge - 1) / Edge;
    if (squares <= 0) return;
    const auto square_begin = [&](int s) { return begin + (descending ? squares - 1 - s : s) * Edge; };
    Scalar sum[sums][Width] = {};
    Square a;
    load(part, ByColumns, rows, square_begin(0), end, a);
    for (int s = 0; s < squares; ++s) {
      const int first = square_begin(s), columns = end - first < Edge ? end - first : Edge;
      Square next;
      if (s + 1 < squares) load(part, ByColumns, rows, square_begin(s + 1), end, next);
      if constexpr (ByColumns) {
        const int c = warp + tile_solve_warps * lane;
        Scalar* const from[1] = {lane < outer && c < columns ? at(first + c) : nullptr};
        Scalar x[1][Width];
        take(launch, from, x, index_of(0));
        __syncwarp();
#pragma unroll
        for (int q = 0; q < outer; ++q) {
#pragma unroll
          for (int w = 0; w < Width; ++w) {
            const Scalar factor = shuffle_from(x[0][w], q);
#pragma unroll
            for (int h = 0; h < inner; ++h) sum[h][w] += a[h][q] * factor;
          }
        }
      } else {
        Scalar* from[inner];
        Scalar x[inner][Width];
#pragma unroll
        for (int h = 0; h < inner; ++h)
          from[h] = lane + 32 * h < columns ? at(first + lane + 32 * h) : nullptr;
        take(launch, from, x, index_of(0));
        __syncwarp();
#pragma unroll
        for (int h = 0; h < inner; ++h) {
#pragma unroll
          for (int q = 0; q < outer; ++q) {
#pragma unroll
            for (int w = 0; w < Width; ++w) sum[q][w] += a[h][q] * x[h][w];
          }
        }
      }
      if (s + 1 < squares) {
#pragma unroll
        for (int h = 0; h < inner; ++h) {
#pragma unroll
          for (int q = 0; q < outer; ++q) a[h][q] = next[h][q];
        }
      }
    }
    reduce<ByColumns>(sum);
  }

  /// Subtracts the sums of all lanes or warps from v.
  template <bool ByColumns, int Sums>
  __device__ __forceinline__ void reduce(Scalar (&sum)[Sums][Width]) const {
    if constexpr (ByColumns) {
#pragma unroll
      for (int h = 0; h < inner; ++h) {
#pragma unroll
        for (int w = 0; w < Width; ++w) memory.parts[warp][(lane + 32 * h) * Width + w] = sum[h][w];
      }
      __syncthreads();
      for (int p = thread; p < Edge * Width; p += tile_solve_threads) {
        Scalar total(0);
#pragma unroll
        for (int other = 0; other < tile_solve_warps; ++other) total += memory.parts[other][p];
        memory.v[p] -= total;
      }
    } else {
#pragma unroll
      for (int q = 0; q < outer; ++q) {
        sum_each_over_lanes(sum[q], 32);
        if (lane != 0) continue;
#pragma unroll
        for (int w = 0; w < Width; ++w) memory.v[(warp + tile_solve_warps * q) * Width + w] -= sum[q][w];
      }
    }
    __syncthreads();
  }

  template <class At>
  __device__ __forceinline__ void subtract_triangle(const PanelPart<Scalar>& part, int rows, int begin,
                                                    int end, bool descending, const At& at) const {
    if (part.by_columns()) {
      subtract<true>(part, rows, begin, end, descending, at);
    } else {
      subtract<false>(part, rows, begin, end, descending, at);
    }
  }

  /// Whether the factorization has stored the inverse of the tile's triangle.
  __device__ bool has_inverse() const {
    return task.inverse >= 0 && launch.inverses != nullptr;
  }

  /// Copies the triangle of pivots first … first + rows, or its inverse, to shared memory. Inverses of L are
  /// stored by columns and those of U by rows, so that transposed ones are read in the same way.
  __device__ __forceinline__ void fetch_diagonal(const PanelPart<Scalar>& triangle, int first,
                                                 int rows) const {
    if (has_inverse()) return fetch_inverse(rows);
    const Scalar* const from = triangle.at(first, first);
    const std::int64_t ld = triangle.by_columns() ? triangle.column : triangle.row;
#pragma unroll 4
    for (int e = thread; e < Edge * Edge; e += tile_solve_threads) {
      const int i = e % Edge, o = e / Edge;
      if (i < rows && o < rows) memory.diagonal[o * pitch + i] = launch.data.value(from[i + o * ld]);
    }
  }

  __device__ __forceinline__ void fetch_inverse(int rows) const {
    const bool whole = launch.data.order_of_pivots != nullptr;  // lines have been interchanged
    const InverseTile layout{FrontTiles::inverse_lines(rows), whole};
    const Offset before =
        whole ? static_cast<Offset>(task.inverse_blocks) * InverseTile::block * Edge : task.inverse;
    const Scalar* const from = launch.inverses + before;
    constexpr int block = InverseTile::block, lines_a_turn = tile_solve_threads / Edge;
    const int i = thread % Edge;
    for (int first = 0; first < layout.lines; first += block) {
      const int begin = layout.begin(first), width = layout.lines - begin;
      const Scalar* const line = from + layout(first, begin) - begin;
#pragma unroll
      for (int o = thread / Edge; o < block; o += lines_a_turn) {
        if (i >= begin && i < rows && first + o < rows)
          memory.diagonal[(first + o) * pitch + i] = launch.data.value(line[o * width + i]);
      }
    }
  }

  /// Calls to(row, values) with the solutions of the tile. v and the diagonal tile must be complete.
  template <class To>
  __device__ __forceinline__ void solve_diagonal(bool by_columns, int rows, const To& to) const {
    if (has_inverse()) {
      multiply_inverse(rows, to);
    } else if (warp == 0) {
      substitute(by_columns ? 1 : pitch, by_columns ? pitch : 1, rows, to);
    }
  }

  template <class To>
  __device__ __forceinline__ void multiply_inverse(int rows, const To& to) const {
    const bool forward = launch.data.sweep.forward;
    const int r = thread / lanes_a_row, l = thread % lanes_a_row;
    // forward sweeps read inverses by columns, backward ones by rows
    const int row = forward ? 1 : pitch, column = forward ? pitch : 1;
    Scalar y[Width] = {};
    if (r < rows) {
      const bool whole = launch.data.order_of_pivots != nullptr;  // lines have been interchanged
      const int begin = forward || whole ? 0 : r, end = forward && !whole ? r + 1 : rows;
      for (int c = begin + l; c < end; c += lanes_a_row) {
        const Scalar a = memory.diagonal[r * row + c * column];
#pragma unroll
        for (int w = 0; w < Width; ++w) y[w] += a * memory.v[c * Width + w];
      }
    }
    sum_each_over_lanes(y, lanes_a_row);
    if (r < rows && l == 0) to(r, y);
  }

  /// Substitution in one warp; a lane takes every 32nd row.
  template <class To>
  __device__ __forceinline__ void substitute(int row, int column, int rows, const To& to) const {
    const bool forward = launch.data.sweep.forward;
    Scalar v[inner][Width], inverse[inner];
#pragma unroll
    for (int h = 0; h < inner; ++h) {
      const int r = lane + 32 * h;
      inverse[h] = Scalar(1);
      if (r < rows && !launch.data.sweep.unit())
        inverse[h] = Scalar(1) / memory.diagonal[r * row + r * column];
#pragma unroll
      for (int w = 0; w < Width; ++w) v[h][w] = r < rows ? memory.v[r * Width + w] : Scalar(0);
    }
#pragma unroll
    for (int k = 0; k < inner; ++k) {
      const int part = forward ? k : inner - 1 - k;
      const int columns = rows - 32 * part < 32 ? rows - 32 * part : 32;
      for (int i = 0; i < columns; ++i) {
        const int l = forward ? i : columns - 1 - i, c = 32 * part + l;
#pragma unroll
        for (int w = 0; w < Width; ++w) {
          Scalar own(0);
#pragma unroll
          for (int h = 0; h < inner; ++h) own = h == part ? v[h][w] * inverse[h] : own;
          const Scalar y = shuffle_from(own, l);
#pragma unroll
          for (int h = 0; h < inner; ++h) {
            const int r = lane + 32 * h;
            if (r == c) v[h][w] = y;
            if (r < rows && (forward ? r > c : r < c)) v[h][w] -= memory.diagonal[r * row + c * column] * y;
          }
        }
      }
    }
#pragma unroll
    for (int h = 0; h < inner; ++h) {
      if (lane + 32 * h < rows) to(lane + 32 * h, v[h]);
    }
  }

  /// Forward: right-hand sides and contributions of children, minus the products with earlier pivots.
  __device__ __forceinline__ void sweep_up() const {
    const auto& data = launch.data;
    const FrontTiles cut = tiles();
    const int first = cut.begin(task.tile), rows = cut.extent(task.tile);
    const bool is_pivot = first < task.pivots;
    const auto triangle = pivot_part(data.panels + task.lower, task, data.sweep);
    if (is_pivot) fetch_diagonal(triangle, first, rows);
    gather_up(first, rows, is_pivot);
    const auto solved = [&](int c) { return launch.solved_at(group, index_of(c), Width); };
    if (!is_pivot) {
      const auto further = off_diagonal_part(data.panels + task.lower, task, data.sweep);
      subtract<true>({further.at(first - task.pivots, 0), further.row, further.column}, rows, 0, task.pivots,
                     false, solved);
      for (int p = thread; p < rows * Width; p += tile_solve_threads) {
        write_through(launch.below_at(group, task.rows + first - task.pivots, Width) + p,
                      storable(memory.v[p]));
      }
      return;
    }
    subtract_triangle({triangle.at(first, 0), triangle.row, triangle.column}, rows, 0, first, false, solved);
    solve_diagonal(triangle.by_columns(), rows, [&](int r, const Scalar(&y)[Width]) {
      publish(launch.solved_at(group, index_of(first + r), Width), y);
      reset<Width>(launch.solution_at(group, index_of(first + r), Width));
    });
  }

  /// Right-hand sides and contributions of children, read in the order of the lists, summed by position.
  __device__ __forceinline__ void gather_up(int first, int rows, bool is_pivot) const {
    constexpr int together = Edge / 32;
    constexpr std::uint32_t batch = together * tile_solve_threads;
    static_assert(sizeof(memory.parts) >= batch * Width * sizeof(Scalar));
    Scalar* const shared = &memory.parts[0][0];
    const std::uint32_t* const bounds = launch.data.source_begin + task.rows + index_of(first);
    const int r = thread / Width, w = thread % Width;
    const bool sums = thread < Edge * Width && r < rows;
    Scalar sum(0);
    std::uint32_t from = 0, last = 0;
    if (sums) {
      const std::int64_t index = is_pivot ? row_index(first + r) : index_of(first + r);
      from = bounds[index - index_of(first)];
      last = bounds[index - index_of(first) + 1];
      if (is_pivot) sum = launch.data.right_side(index, group * Width + w);
    }
    const std::uint32_t end = bounds[rows];
    for (std::uint32_t begin = bounds[0]; begin < end; begin += batch) {
      take_sources<together, tile_solve_threads, Width>(launch, group, begin, end, thread, index_of(0),
                                                        shared);
      __syncthreads();
      const std::uint32_t to = last < begin + batch ? last : begin + batch;
      for (; from < to; ++from) sum += shared[(from - begin) * Width + static_cast<std::uint32_t>(w)];
      __syncthreads();
    }
    if (thread < Edge * Width) memory.v[thread] = sum;
    __syncthreads();
  }

  /// Backward: solutions of the forward sweep, minus the products with solutions of contribution rows and
  /// later pivots.
  __device__ __forceinline__ void sweep_down() const {
    const auto& data = launch.data;
    const FrontTiles cut = tiles();
    const int first = cut.begin(task.tile), rows = cut.extent(task.tile), end = first + rows;
    const auto triangle = pivot_part(data.panels + task.lower, task, data.sweep);
    const auto further = off_diagonal_part(data.panels + task.lower, task, data.sweep);
    const PanelPart<Scalar> beyond{further.at(first, 0), further.row, further.column};
    const auto solution_of_row = [&](int c) {
      return launch.solution_at(group, data.rows[task.rows + c], Width);
    };
    if (task.part >= 0) {
      for (int p = thread; p < Edge * Width; p += tile_solve_threads) memory.v[p] = Scalar(0);
      __syncthreads();
      const int begin = task.part * tiles_per_part * Edge;
      const int most = begin + tiles_per_part * Edge;
      subtract<false>(beyond, rows, begin, most < task.cb_rows ? most : task.cb_rows, true, solution_of_row);
      Scalar* const to = launch.partial_sum_at(group, task.partial_sums + task.part * Edge, Width);
      for (int p = thread; p < rows * Width; p += tile_solve_threads)
        write_through(to + p, storable(memory.v[p]));
      return;
    }
    fetch_diagonal(triangle, first, rows);
    begin_down(first, rows);
    if (task.n_parts == 0) subtract<false>(beyond, rows, 0, task.cb_rows, true, solution_of_row);
    subtract_triangle({triangle.at(first, 0), triangle.row, triangle.column}, rows, end, task.pivots, true,
                      [&](int c) { return launch.solution_at(group, row_index(c), Width); });
    if (task.n_parts > 0) add_partial_sums(rows);
    solve_diagonal(triangle.by_columns(), rows, [&](int r, const Scalar(&x)[Width]) {
      const std::int64_t index = row_index(first + r);
      publish(launch.solution_at(group, index, Width), x);
#pragma unroll
      for (int w = 0; w < Width; ++w) data.write_solution(index, group * Width + w, x[w]);
    });
  }

  __device__ __forceinline__ void begin_down(int first, int rows) const {
    for (int r = thread; r < rows; r += tile_solve_threads) {
      Scalar* const solved = launch.solved_at(group, index_of(first + r), Width);
#pragma unroll
      for (int w = 0; w < Width; ++w) memory.v[r * Width + w] = solved[w];
      reset<Width>(solved);
    }
    __syncthreads();
  }

  __device__ __forceinline__ void add_partial_sums(int rows) const {
    const int r = thread / lanes_a_row, l = thread % lanes_a_row;
    Scalar sum[Width] = {};
    if (r < rows) {
      for (int s = l; s < task.n_parts; s += lanes_a_row) {
        Scalar* const from[1] = {launch.partial_sum_at(group, task.partial_sums + s * Edge + r, Width)};
        Scalar x[1][Width];
        take(launch, from, x, index_of(0));
#pragma unroll
        for (int w = 0; w < Width; ++w) sum[w] += x[0][w];
        reset<Width>(from[0]);
      }
    }
    __syncwarp();
    sum_each_over_lanes(sum, lanes_a_row);
    if (r < rows && l == 0) {
#pragma unroll
      for (int w = 0; w < Width; ++w) memory.v[r * Width + w] += sum[w];
    }
    __syncthreads();
  }
};

/// A sweep through all other fronts, one thread block per tile, as data flow. Tickets are issued in the order
/// of the tasks (FrontSolveTasks). The barriers of a ticket also separate uses of shared memory.
template <bool Up, int Edge, int Width, class Scalar>
__global__ void __launch_bounds__(tile_solve_threads, 2)
    tile_sweep_kernel(FrontSweepLaunch<Scalar> launch, const FrontSolveTask* tasks, int n) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ int taken;
  auto& memory = *reinterpret_cast<TileSolveMemory<Edge, Width, Scalar>*>(shared_memory);
  for (;;) {
    take_ticket_of_block(launch.ticket, taken, launch.next_ticket);
    if (taken >= n * launch.groups) return;
    const FrontSolveTask task = tasks[taken / launch.groups];
    const TileSweep<Edge, Width, Scalar> sweep{launch, task, memory, taken % launch.groups};
    if constexpr (Up) {
      sweep.sweep_up();
    } else {
      sweep.sweep_down();
    }
  }
}

}  // namespace lutra::Impl

#endif
