// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVEFLOW_HPP
#define LUTRA_LDLTSOLVEFLOW_HPP

#include "Lutra_FrontSolveTasks.hpp"
#include "Lutra_FrontSolveWorker.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TaskQueue.hpp"

namespace lutra::Impl {

// Solves with multifrontal factors (Duff and Reid 1983): data-flow sweeps with L·D·Lᵀ. Each front of a small
// subtree is processed by a warp, larger ones by gangs of blocks (LdltSolveTasks). Rows of a front
// (eliminated e, delayed d and contribution rows b) are partitioned into tiles; tile t belongs to member t
// mod members. Their number is known once the children are complete.
//
//   forward:   children's flags ─► tile 0 ─flag─► tile 1 ─flag─► …   rows of e; each tile subtracts
//                                     └──────────────┴─► tiles of d and b      products with preceding tiles
//   backward:  parent's flag ─► partial sums of columns with rows of d and b, shared ─count─►
//              last tile of e ─flag─► … ─flag─► tile 0
//
// The last member to finish raises the front's flag. All sums follow one order. Blocks are those of
// Lutra_LdltFlow.hpp, with these additions:
//
//   size                threads(), as a compile-time constant
//   solve_edge<Scalar>  rows of a tile, at most `size` and a divisor of it
//   sum_group(value)    sum over the 32 threads of a group, returned to all of them

/// Data common to all blocks of a sweep.
template <int Width, class Scalar>
struct LdltSolveLaunch : FlaggedRun {
  FrontSolveWorker<Width, LdltSolveData<Scalar>> worker;
  const Ordinal* children = nullptr;
  const LdltSolveTask* tasks = nullptr;
  int n_tasks = 0;
  int* ticket = nullptr;           ///< −1 on entry
  int* done = nullptr;             ///< [count] flags of fronts
  int* finished = nullptr;         ///< [count] members finished; 0 between sweeps, like `arrived`
  int* arrived = nullptr;          ///< [count] partial sums available
  int* tiles = nullptr;            ///< flags of tiles of large fronts
  Scalar* partial_sums = nullptr;  ///< [panels / (2·edge)] of columns, at offsets given by the panels
};

/// Shared memory of a block.
template <class Block, int Width, class Scalar>
struct LdltSolveSpace {
  static constexpr int edge = Block::template solve_edge<Scalar>, pitch = edge + 1;
  Scalar triangle[edge * pitch];      ///< triangle of a tile, below the diagonal
  Scalar v[edge * Width];             ///< values of a tile, overwritten by solutions
  Scalar parts[Block::size * Width];  ///< partial sums by thread
};

/// One member's part in a front.
template <class Block, int Width, class Scalar>
struct LdltFrontSolve {
  using Launch = LdltSolveLaunch<Width, Scalar>;
  using Located = LdltSweptFront<Scalar>;
  using Space = LdltSolveSpace<Block, Width, Scalar>;
  static constexpr int edge = Space::edge, pitch = Space::pitch, size = Block::size;
  static constexpr int groups = size / edge;  ///< threads per row
  static constexpr int share = edge / groups,
                       batch = share < 16 ? share : 16;  ///< columns per thread and pass
  static constexpr int warps = size / 32, warp_columns = edge / warps;
  static constexpr int dots = warp_columns < 8 ? warp_columns : 8;  ///< columns summed by a warp per pass
  static constexpr int lane_rows = (edge + 31) / 32;
  static constexpr int part_rows = 4 * edge;      ///< rows of a partial sum
  static constexpr std::uint32_t long_sum = 512;  ///< terms from which on all threads sum a row
  static_assert(groups * edge == size && share * groups == edge && warp_columns % dots == 0);

  const Block& block;
  const Launch& launch;
  Space& space;
  const LdltSolveTask& task;
  const Located at;
  const int e, rows;  ///< eliminated columns; all rows

  KOKKOS_FUNCTION LdltFrontSolve(const Block& a_block, const Launch& a_launch, const LdltSolveTask& a_task)
      : block(a_block),
        launch(a_launch),
        space(*static_cast<Space*>(a_block.space())),
        task(a_task),
        at(a_launch.worker.data.template locate<Width>(a_task.front)),
        e(at.eliminated),
        rows(at.columns + at.front.cb_rows) {}

  KOKKOS_FUNCTION void forward() const {
    for (auto c = at.front.children + block.thread(); c < at.front.children_end; c += size)
      block.wait_for_flag(launch, launch.done + launch.children[c], static_cast<int>(task.front));
    block.barrier();
    for (int t = task.member; t * edge < rows; t += task.members) forward_tile(t);
  }

  KOKKOS_FUNCTION void backward() const {
    if (at.front.parent >= 0 && block.thread() == 0)
      block.wait_for_flag(launch, launch.done + at.front.parent, static_cast<int>(task.front));
    block.barrier();
    const int tiles = (e + edge - 1) / edge, parts = n_parts();
    for (int i = task.member; i < parts * tiles; i += task.members)
      sum_part(i / tiles, tiles - 1 - i % tiles);
    for (int j = task.member; j < tiles; j += task.members) backward_tile(tiles - 1 - j, tiles, parts);
  }

  /// Raises the front's flag once all members are done.
  KOKKOS_FUNCTION void finish() const {
    block.barrier();
    if (block.thread() != 0) return;
    if (task.members > 1) {
      block.fence();
      if (Kokkos::atomic_fetch_add(launch.finished + task.front, 1) != task.members - 1) return;
      Kokkos::atomic_store(launch.finished + task.front, 0);
      Kokkos::atomic_store(launch.arrived + task.front, 0);
      block.fence();
    }
    block.raise_flag(launch, launch.done + task.front);
  }

 private:
  KOKKOS_FUNCTION const LdltSolveData<Scalar>& data() const { return launch.worker.data; }
  static KOKKOS_FORCEINLINE_FUNCTION int smaller(int a, int b) { return a < b ? a : b; }
  KOKKOS_FUNCTION int column(int w) const { return launch.worker.first_column + w; }
  KOKKOS_FUNCTION Scalar entry(int r, int c) const {
    return data().sweep.value(at.panel[r + c * at.leading()]);
  }
  /// Flags of a front's tiles, not shared with other fronts.
  KOKKOS_FUNCTION int* tile_flag(int k) const {
    return launch.tiles + at.slots / edge + static_cast<Offset>(task.front) + k;
  }
  KOKKOS_FUNCTION void wait_for_tile(int k) const {
    if (task.members == 1) return;
    if (block.thread() == 0) block.wait_for_flag(launch, tile_flag(k), static_cast<int>(task.front));
    block.barrier();
  }
  KOKKOS_FUNCTION void end_tile(int k, bool is_pivot) const {
    block.barrier();
    if (is_pivot && task.members > 1 && block.thread() == 0) block.raise_flag(launch, tile_flag(k));
  }
  /// Writes solutions of a tile in the last sweep; NaN if the watchdog has ended it.
  KOKKOS_FUNCTION void store(int first, int m) const {
    if (!data().stores) return;
    const bool stopped = Kokkos::atomic_load(launch.watchdog.stopped) >= 0;
    for (int q = block.thread(); q < m * Width; q += size) {
      const Scalar value = stopped ? Scalar(Kokkos::Experimental::quiet_NaN_v<RealOf<Scalar>>) : space.v[q];
      data().write_solution(static_cast<std::int64_t>(at.variables[first + q / Width]), column(q % Width),
                            value);
    }
    block.barrier();
  }

  KOKKOS_FUNCTION void forward_tile(int t) const {
    const int first = t * edge, n = smaller(edge, rows - first);
    const int m = smaller(edge, e - first);  // pivots in the tile, if positive
    fetch_triangle(first, m, n);
    gather(first, n);
    subtract_products(first, n);
    if (m > 0) {
      substitute(space.triangle, 1, pitch, space.v, Width, m, n);
      block.barrier();
    }
    for (int q = block.thread(); q < n * Width; q += size) {
      const int p = first + q / Width;
      const Scalar value = space.v[q];
      if (p < at.columns) {
        at.y[first * Width + q] = value;
        if (p >= e) data().by_index[static_cast<std::int64_t>(at.variables[p]) * Width + q % Width] = value;
      } else {
        at.contributions[(first - at.columns) * Width + q] = value;
      }
    }
    end_tile(t, m > 0);
    if (m > 0) store(first, m);
  }

  KOKKOS_FUNCTION void fetch_triangle(int first, int m, int n) const {
    const int r = block.thread() % edge;
    if (r >= n) return;
    for (int c = block.thread() / edge; c < m && c < r; c += groups)
      space.triangle[c * pitch + r] = entry(first + r, first + c);
  }

  /// v = right-hand sides, plus what children have delayed, plus the sum of their contributions.
  KOKKOS_FUNCTION void gather(int first, int n) const {
    const Front& front = at.front;
    const bool many = front.children_end - front.children > 64;
    const int r = block.thread() % edge, g = block.thread() / edge;
    Scalar sum[Width] = {};
    if (r < n) {
      const std::int64_t index = index_of(first + r);
      if (index < 0) {
        for (int w = 0; w < Width && g == 0; ++w) sum[w] = data().by_index[(-1 - index) * Width + w];
      } else {
        const std::int64_t position = front.rows + index;
        const std::uint32_t begin = data().source_begin[position], end = data().source_begin[position + 1];
        if (first + r < at.columns && g == 0) {
          for (int w = 0; w < Width; ++w) sum[w] = data().right_side(index, column(w));
        }
        if (!many || end - begin <= long_sum)
          add_sources(begin + static_cast<std::uint32_t>(g), end, groups, sum);
      }
    }
    add_up(sum, Scalar(0));
    for (int l = 0; many && l < n; ++l) {
      const std::int64_t index = index_of(first + l);
      if (index < 0) continue;
      const std::uint32_t begin = data().source_begin[front.rows + index];
      const std::uint32_t end = data().source_begin[front.rows + index + 1];
      if (end - begin > long_sum) add_long_sum(l, begin, end);
    }
  }
  /// Permuted index of a row whose contributions are summed; −1 − index for a column delayed by a child.
  KOKKOS_FUNCTION std::int64_t index_of(int p) const {
    const Front& front = at.front;
    if (p >= at.columns) return front.first_pivot + front.pivots + (p - at.columns);
    const auto index = static_cast<std::int64_t>(at.variables[p]);
    return index >= front.first_pivot && index < front.first_pivot + front.pivots ? index : -1 - index;
  }
  KOKKOS_FUNCTION void add_sources(std::uint32_t from, std::uint32_t end, int step,
                                   Scalar (&sum)[Width]) const {
    for (std::uint32_t s = from; s < end; s += static_cast<std::uint32_t>(step)) {
      const Scalar* const term = data().contributions + static_cast<std::int64_t>(data().source[s]) * Width;
      for (int w = 0; w < Width; ++w) sum[w] += term[w];
    }
  }
  KOKKOS_FUNCTION void add_long_sum(int l, std::uint32_t begin, std::uint32_t end) const {
    Scalar sum[Width] = {};
    add_sources(begin + static_cast<std::uint32_t>(block.thread()), end, size, sum);
    for (int w = 0; w < Width; ++w) {
      const Scalar of_group = block.sum_group(sum[w]);
      if (block.thread() % 32 == 0) space.parts[block.thread() / 32 * Width + w] = of_group;
    }
    block.barrier();
    if (block.thread() < Width) {
      for (int q = 0; q < warps; ++q)
        space.v[l * Width + block.thread()] += space.parts[q * Width + block.thread()];
    }
    block.barrier();
  }
  /// v = factor·v + the sums of the threads of each row; factor is 0 or 1. Ends with a barrier.
  KOKKOS_FUNCTION void add_up(const Scalar (&sum)[Width], Scalar factor) const {
    const int r = block.thread() % edge;
    for (int w = 0; w < Width; ++w) space.parts[block.thread() * Width + w] = sum[w];
    block.barrier();
    if (block.thread() < edge) {
      for (int w = 0; w < Width; ++w) {
        Scalar all = factor == Scalar(0) ? Scalar(0) : space.v[r * Width + w];
        for (int g = 0; g < groups; ++g) all += space.parts[(g * edge + r) * Width + w];
        space.v[r * Width + w] = all;
      }
    }
    block.barrier();
  }

  /// v −= L·y for the preceding tiles of pivots. Entries are loaded before the wait.
  KOKKOS_FUNCTION void subtract_products(int first, int n) const {
    const int before = smaller(first, e);
    if (before == 0) return;
    const int r = block.thread() % edge, g = block.thread() / edge;
    Scalar sum[Width] = {};
    for (int k = 0; k * edge < before; ++k) {
      const int begin = k * edge + g, end = smaller((k + 1) * edge, e);
      for (int q = 0; q < share; q += batch) {
        Scalar a[batch];
        for (int j = 0; j < batch; ++j) {
          const int c = begin + groups * (q + j);
          a[j] = r < n && c < end ? entry(first + r, c) : Scalar(0);
        }
        if (q == 0) wait_for_tile(k);
        for (int j = 0; j < batch; ++j) {
          const int c = begin + groups * (q + j);
          if (c >= end) continue;
          for (int w = 0; w < Width; ++w) sum[w] -= a[j] * at.y[c * Width + w];
        }
      }
    }
    add_up(sum, Scalar(1));
  }

  /// v = T⁻¹·v for a unit lower triangle with additional rows below, by one group of threads, four columns at
  /// a time: each thread solves for them and updates the rows below. Strides may be negative.
  KOKKOS_FUNCTION void substitute(const Scalar* T, int row, int column_stride, Scalar* v, int stride,
                                  int columns, int n) const {
    if (block.thread() >= 32) return;
    for (int b = 0; b < columns; b += 4) {
      const int width = smaller(4, columns - b);
      Scalar y[4][Width];
      for (int i = 0; i < 4; ++i) {
        for (int w = 0; w < Width; ++w) y[i][w] = i < width ? v[(b + i) * stride + w] : Scalar(0);
        if (i >= width) continue;
        for (int l = 0; l < i; ++l) {
          const Scalar a = T[(b + i) * row + (b + l) * column_stride];
          for (int w = 0; w < Width; ++w) y[i][w] -= a * y[l][w];
        }
      }
      block.group_barrier();  // all have read
      for (int r = b + width + block.thread(); r < n; r += 32) {
        Scalar sum[Width] = {};
        for (int i = 0; i < 4; ++i) {
          if (i >= width) continue;
          const Scalar a = T[r * row + (b + i) * column_stride];
          for (int w = 0; w < Width; ++w) sum[w] += a * y[i][w];
        }
        for (int w = 0; w < Width; ++w) v[r * stride + w] -= sum[w];
      }
      if (block.thread() == 0) {
        for (int i = 1; i < 4; ++i) {
          for (int w = 0; w < Width; ++w) {
            if (i < width) v[(b + i) * stride + w] = y[i][w];
          }
        }
      }
      block.group_barrier();  // the next columns are written
    }
  }

  /// Number of partial sums of each column; 0: each tile sums all its rows.
  KOKKOS_FUNCTION int n_parts() const {
    const int below = rows - e;
    return data().parts.upper && task.members > 1 && below > part_rows ? (below + part_rows - 1) / part_rows
                                                                       : 0;
  }
  KOKKOS_FUNCTION Scalar* partial_sums(int part) const {
    const auto begin = (at.panel - data().panels) / (2 * edge);
    return launch.partial_sums + (begin + static_cast<std::int64_t>(part) * e) * Width;
  }

  /// Adds products of some columns with solutions of rows begin … end − 1, at most one tile.
  /// @param tile to wait for, or −1
  KOKKOS_FUNCTION void add_dots(int begin, int end, int first, int m, int from, int tile,
                                Scalar (&sum)[dots][Width]) const {
    const int lane = block.thread() % 32, warp = block.thread() / 32;
    Scalar a[lane_rows][dots];
    std::int64_t index[lane_rows];
    for (int i = 0; i < lane_rows; ++i) {
      const int r = begin + lane + 32 * i;
      index[i] = -1;
      if (r < end)
        index[i] = static_cast<std::int64_t>(r < at.columns ? at.variables[r]
                                                            : data().rows[at.front.rows + (r - at.columns)]);
      for (int j = 0; j < dots; ++j) {
        const int c = warp + warps * (from + j);
        a[i][j] = r < end && c < m ? entry(r, first + c) : Scalar(0);
      }
    }
    if (tile >= 0) wait_for_tile(tile);
    for (int i = 0; i < lane_rows; ++i) {
      if (index[i] < 0) continue;
      for (int w = 0; w < Width; ++w) {
        const Scalar x = data().by_index[index[i] * Width + w];
        for (int j = 0; j < dots; ++j) sum[j][w] += a[i][j] * x;
      }
    }
  }
  /// Calls to(column of the tile, w, sum) in one thread of each group.
  template <class To>
  KOKKOS_FUNCTION void give_dots(int m, int from, const Scalar (&sum)[dots][Width], const To& to) const {
    for (int j = 0; j < dots; ++j) {
      const int c = block.thread() / 32 + warps * (from + j);
      for (int w = 0; w < Width; ++w) {
        const Scalar all = block.sum_group(sum[j][w]);
        if (block.thread() % 32 == 0 && c < m) to(c, w, all);
      }
    }
  }

  /// Products of the columns of tile k with the rows of a part.
  KOKKOS_FUNCTION void sum_part(int part, int k) const {
    const int first = k * edge, m = smaller(edge, e - first);
    const int begin = e + part * part_rows, end = smaller(begin + part_rows, rows);
    Scalar* const to = partial_sums(part);
    for (int from = 0; from < warp_columns; from += dots) {
      Scalar sum[dots][Width] = {};
      for (int r = begin; r < end; r += edge) add_dots(r, smaller(r + edge, end), first, m, from, -1, sum);
      give_dots(m, from, sum, [&](int c, int w, const Scalar& all) { to[(first + c) * Width + w] = all; });
    }
    block.barrier();
    if (block.thread() == 0) {
      block.fence();
      Kokkos::atomic_inc(launch.arrived + task.front);
    }
  }

  KOKKOS_FUNCTION void backward_tile(int k, int tiles, int parts) const {
    const int first = k * edge, m = smaller(edge, e - first);
    for (int q = block.thread(); q < m * Width; q += size)
      space.v[q] = behind_diagonal(first + q / Width, q % Width);
    if (data().parts.upper) {
      fetch_triangle(first, m, m);
      if (parts > 0 && block.thread() == 0)
        block.wait_for_count(launch, launch.arrived + task.front, parts * tiles,
                             static_cast<int>(task.front));
      block.barrier();
      for (int q = block.thread(); parts > 0 && q < m * Width; q += size) {
        Scalar sum(0);
        for (int p = 0; p < parts; ++p) sum += partial_sums(p)[first * Width + q];
        space.v[q] -= sum;
      }
      block.barrier();
      for (int from = 0; from < warp_columns; from += dots) {
        Scalar sum[dots][Width] = {};
        for (int r = e; parts == 0 && r < rows; r += edge)
          add_dots(r, smaller(r + edge, rows), first, m, from, -1, sum);
        for (int j = tiles - 1; j > k; --j)
          add_dots(j * edge, smaller((j + 1) * edge, e), first, m, from, j, sum);
        give_dots(m, from, sum, [&](int c, int w, const Scalar& all) { space.v[c * Width + w] -= all; });
      }
      block.barrier();
      substitute(space.triangle + (m - 1) * (pitch + 1), -pitch, -1, space.v + (m - 1) * Width, -Width, m, m);
    }
    block.barrier();
    for (int q = block.thread(); q < m * Width; q += size)
      data().by_index[static_cast<std::int64_t>(at.variables[first + q / Width]) * Width + q % Width] =
          space.v[q];
    end_tile(k, true);
    store(first, m);
  }

  /// A value of D⁻¹·y. y is unchanged, because pairs may be split between tiles.
  KOKKOS_FUNCTION Scalar behind_diagonal(int p, int w) const {
    Scalar value = at.y[p * Width + w];
    if (!data().parts.diagonal) return value;
    const FrontSweep D{false, false, data().conjugate};
    const Offset slot = at.slots + p;
    const PivotKind kind = data().kind[slot];
    if (kind == PivotKind::zero) return Scalar(0);
    if (kind == PivotKind::first_of_two) {
      Scalar second = at.y[(p + 1) * Width + w];
      data().solve_two(D, slot, value, second);
    } else if (kind == PivotKind::second_of_two) {
      Scalar first = at.y[(p - 1) * Width + w];
      data().solve_two(D, slot - 1, first, value);
    } else {
      value /= D.value(data().diagonal[slot]);
    }
    return value;
  }
};

/// Processes a block's tasks in sequence.
template <bool Forward, class Block, int Width, class Scalar>
KOKKOS_FUNCTION void sweep_tasks(const Block& block, const LdltSolveLaunch<Width, Scalar>& launch) {
  for (int t = block.next(launch.ticket) + 1; t < launch.n_tasks; t = block.next(launch.ticket) + 1) {
    const LdltSolveTask task = launch.tasks[Forward ? t : launch.n_tasks - 1 - t];
    const LdltFrontSolve<Block, Width, Scalar> solve(block, launch, task);
    if constexpr (Forward) {
      solve.forward();
    } else {
      solve.backward();
    }
    solve.finish();
  }
}

}  // namespace lutra::Impl

#endif
