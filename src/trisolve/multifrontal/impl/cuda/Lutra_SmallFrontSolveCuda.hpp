// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SMALLFRONTSOLVECUDA_HPP
#define LUTRA_SMALLFRONTSOLVECUDA_HPP

#include "Lutra_FrontSolveWaitCuda.hpp"

namespace lutra::Impl {

// The multifrontal substitutions of Lutra_FrontSolveWorker.hpp for small and middle fronts: one warp per
// front, as data flow on self-flagged values (Lutra_DataFlow.hpp).

inline constexpr int small_solve_warps = 4;  ///< warps per team, each with separate fronts
/// Sources that a lane reads at once. Larger: more latency hidden; more shared memory, which grows with
/// `Width`.
template <int Width>
inline constexpr int warp_sources = Width == 1 ? 4 : 2;

/// One front in a warp: lane l has the rows l, l + 32, …, `Parts` of them. Entries of the next columns are in
/// registers before the values they multiply are known.
template <int Parts, int Width, class Scalar>
struct WarpSweep {
  static constexpr int ahead = Parts == 1 ? 8 : 4;     ///< columns of pivots
  static constexpr int at_once = Parts == 1 ? 16 : 8;  ///< columns beyond the pivots
  using Launch = FrontSweepLaunch<Scalar>;
  using Columns = Scalar[Parts][ahead];
  using Values = Scalar[Parts][Width];

  const Launch& launch;
  const WarpSolveTask& task;
  const int group, lane;
  Scalar* const shared;  ///< [32 · warp_sources · Width]

  __device__ int row(int part) const { return lane + 32 * part; }
  __device__ std::int64_t index_of(int position) const { return task.first_pivot + position; }
  /// The permuted index of the right-hand side or solution of a pivot.
  __device__ std::int64_t row_index(int pivot) const { return launch.data.row_at(index_of(pivot)); }

  /// A lane's rows in a part of the panels.
  struct Rows {
    const Scalar* first[Parts];
    std::int64_t step[Parts];  ///< to the next column
    bool active[Parts];
  };

  /// Loads columns begin, begin + 1, … before `end`, of the parts from `from` on.
  template <int Count>
  __device__ __forceinline__ void load(const Rows& rows, int from, int begin, int end,
                                       Scalar (&a)[Parts][Count]) const {
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        const bool there = h >= from && rows.active[h] && begin + u < end;
        a[h][u] = there ? launch.data.value(rows.first[h][(begin + u) * rows.step[h]]) : Scalar(0);
      }
    }
  }
  /// Loads columns end − 1, end − 2, …, none before `begin`, of the parts up to `last`.
  __device__ __forceinline__ void load_back(const Rows& rows, int last, int begin, int end,
                                            Columns& a) const {
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        const bool there = h <= last && rows.active[h] && end - 1 - u >= begin;
        a[h][u] = there ? launch.data.value(rows.first[h][(end - 1 - u) * rows.step[h]]) : Scalar(0);
      }
    }
  }

  /// Reciprocals of a lane's pivots, ones for a unit triangle.
  __device__ __forceinline__ void invert_pivots(const PanelPart<Scalar>& triangle,
                                                Scalar (&inverse)[Parts]) const {
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      const bool divides = row(h) < task.pivots && !launch.data.sweep.unit();
      inverse[h] = divides ? Scalar(1) / launch.data.value(*triangle.at(row(h), row(h))) : Scalar(1);
    }
  }

  /// Forward: right-hand sides and contributions of children; pivots; contributions to the parent.
  __device__ __forceinline__ void sweep_up() const {
    const auto& data = launch.data;
    const int pivots = task.pivots, size = pivots + task.cb_rows;
    const auto triangle = pivot_part(data.panels + task.lower, task, data.sweep);
    const auto further = off_diagonal_part(data.panels + task.lower, task, data.sweep);
    Rows rows;
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      const bool is_pivot = row(h) < pivots;
      rows.first[h] = is_pivot ? triangle.at(row(h), 0) : further.at(row(h) - pivots, 0);
      rows.step[h] = is_pivot ? triangle.column : further.column;
      rows.active[h] = row(h) < size;
    }
    Columns a;
    load(rows, 0, 0, pivots < 32 ? pivots : 32, a);
    Scalar inverse[Parts];
    invert_pivots(triangle, inverse);
    Values v;
    gather_up(size, v);
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const int end = pivots < 32 * (part + 1) ? pivots : 32 * (part + 1);
      for (int begin = 32 * part; begin < end; begin += ahead) {
        Columns next;
        const int after = begin + ahead;  // in the next part if this one ends
        const bool crosses = after >= 32 * (part + 1);
        load(rows, crosses ? part + 1 : part, after,
             crosses ? (pivots < 32 * (part + 2) ? pivots : 32 * (part + 2)) : end, next);
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          if (begin + u >= end) break;
          eliminate<true>(part, begin + u, inverse[part], a, u, v);
        }
        copy(next, a);
      }
    }
    leave(size, v);
  }

  /// Backward: solutions of the forward sweep, minus products with solutions of contribution rows; pivots.
  __device__ __forceinline__ void sweep_down() const {
    const auto& data = launch.data;
    const int pivots = task.pivots, cb_rows = task.cb_rows;
    const auto triangle = pivot_part(data.panels + task.lower, task, data.sweep);
    const auto further = off_diagonal_part(data.panels + task.lower, task, data.sweep);
    Rows beyond, within;
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      beyond.active[h] = within.active[h] = row(h) < pivots;
      beyond.first[h] = further.at(row(h), 0);
      beyond.step[h] = further.column;
      within.first[h] = triangle.at(row(h), 0);
      within.step[h] = triangle.column;
    }
    constexpr int last = Parts - 1;
    Scalar a[Parts][at_once];
    Columns t;
    load(beyond, 0, 0, cb_rows, a);
    const int last_part = (pivots - 1) / 32;
    load_back(within, last, 32 * last_part, pivots, t);
    Scalar inverse[Parts];
    invert_pivots(triangle, inverse);
    Values v, x;
    begin_down(v, x);
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const int end = cb_rows < 32 * (part + 1) ? cb_rows : 32 * (part + 1);
      for (int begin = 32 * part; begin < end; begin += at_once) {
        if (begin > 0) load(beyond, 0, begin, cb_rows, a);
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
          if (begin + u >= end) break;
          multiply_down(part, begin + u, a, u, x, v);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < Parts; ++k) {
      const int part = Parts - 1 - k, begin = 32 * part;
      for (int end = pivots < begin + 32 ? pivots : begin + 32; end > begin; end -= ahead) {
        Columns next;
        const bool crosses = end - ahead <= begin;
        load_back(within, crosses ? part - 1 : part, crosses ? begin - 32 : begin,
                  crosses ? begin : end - ahead, next);
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          if (end - 1 - u < begin) break;
          eliminate<false>(part, end - 1 - u, inverse[part], t, u, v);
        }
        copy(next, t);
      }
    }
    write_solution(v);
  }

  __device__ __forceinline__ static void copy(const Columns& from, Columns& to) {
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
#pragma unroll
      for (int u = 0; u < ahead; ++u) to[h][u] = from[h][u];
    }
  }

  /// Pivot c of part `part`, then the rows that follow it in this sweep.
  template <bool Up>
  __device__ __forceinline__ void eliminate(int part, int c, const Scalar& inverse, const Columns& a, int u,
                                            Values& v) const {
#pragma unroll
    for (int w = 0; w < Width; ++w) {
      const Scalar y = shuffle_from(v[part][w] * inverse, c - 32 * part);
      if (row(part) == c) v[part][w] = y;
#pragma unroll
      for (int h = 0; h < Parts; ++h) {
        const bool after = Up ? h >= part && row(h) > c : h <= part && row(h) < c;
        if (after) v[h][w] -= a[h][u] * y;
      }
    }
  }
  __device__ __forceinline__ void multiply_down(int part, int c, const Scalar (&a)[Parts][at_once], int u,
                                                const Values& x, Values& v) const {
#pragma unroll
    for (int w = 0; w < Width; ++w) {
      const Scalar factor = shuffle_from(x[part][w], c - 32 * part);
#pragma unroll
      for (int h = 0; h < Parts; ++h) v[h][w] -= a[h][u] * factor;
    }
  }

  __device__ __forceinline__ void gather_up(int size, Values& v) const {
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      const std::int64_t at = row(h) < task.pivots ? row_index(row(h)) : 0;
#pragma unroll
      for (int w = 0; w < Width; ++w)
        v[h][w] = row(h) < task.pivots ? launch.data.right_side(at, group * Width + w) : Scalar(0);
    }
    add_sources(size, v);
  }

  /// Contributions of children, read in the order of the lists, summed by position.
  __device__ __forceinline__ void add_sources(int size, Values& v) const {
    constexpr std::uint32_t batch = 32 * warp_sources<Width>;
    const std::uint32_t* const bounds = launch.data.source_begin + task.rows + index_of(0);
    std::uint32_t first[Parts], last[Parts];
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      const std::int64_t position = row(h) < task.pivots ? row_index(row(h)) - index_of(0) : row(h);
      first[h] = row(h) < size ? bounds[position] : 0;
      last[h] = row(h) < size ? bounds[position + 1] : 0;
    }
    const std::uint32_t end = bounds[size];
    for (std::uint32_t begin = bounds[0]; begin < end; begin += batch) {
      take_sources<warp_sources<Width>, 32, Width>(launch, group, begin, end, lane, index_of(0), shared);
      __syncwarp();
#pragma unroll
      for (int h = 0; h < Parts; ++h) {
        const std::uint32_t to = last[h] < begin + batch ? last[h] : begin + batch;
        for (; first[h] < to; ++first[h]) {
#pragma unroll
          for (int w = 0; w < Width; ++w) v[h][w] += shared[(first[h] - begin) * Width + w];
        }
      }
      __syncwarp();
    }
  }

  __device__ __forceinline__ void leave(int size, const Values& v) const {
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      if (row(h) < task.pivots) {
        publish(launch.solved_at(group, index_of(row(h)), Width), v[h]);
        reset<Width>(launch.solution_at(group, index_of(row(h)), Width));
      } else if (row(h) < size) {
        publish(launch.below_at(group, task.rows + row(h) - task.pivots, Width), v[h]);
      }
    }
  }

  __device__ __forceinline__ void begin_down(Values& v, Values& x) const {
    Scalar* from[Parts];
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      from[h] = row(h) < task.cb_rows ? launch.solution_at(group, launch.data.rows[task.rows + row(h)], Width)
                                      : nullptr;
#pragma unroll
      for (int w = 0; w < Width; ++w) v[h][w] = Scalar(0);
      if (row(h) >= task.pivots) continue;
      Scalar* const solved = launch.solved_at(group, index_of(row(h)), Width);
      read_solution<Width>(solved, v[h]);
      reset<Width>(solved);
    }
    take(launch, from, x, index_of(0));
    __syncwarp();
  }

  __device__ __forceinline__ void write_solution(const Values& v) const {
#pragma unroll
    for (int h = 0; h < Parts; ++h) {
      if (row(h) >= task.pivots) continue;
      const std::int64_t at = row_index(row(h));
      publish(launch.solution_at(group, at, Width), v[h]);
#pragma unroll
      for (int w = 0; w < Width; ++w) launch.data.write_solution(at, group * Width + w, v[h][w]);
    }
  }
};

/// A sweep through fronts of at most 32·Parts rows, one warp per front, as data flow. Warps take tickets in
/// the order of the tasks (FrontSolveTasks), so that the tasks a warp waits for belong to running warps, or
/// were finished by the warp itself.
template <bool Up, int Parts, int Width, class Scalar>
__global__ void __launch_bounds__(small_solve_warps * 32)
    warp_sweep_kernel(FrontSweepLaunch<Scalar> launch, const WarpSolveTask* tasks, int n) {
  constexpr int room = 32 * warp_sources<Width> * Width;
  __shared__ __align__(16) unsigned char shared_memory[small_solve_warps * room * sizeof(Scalar)];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  Scalar* const shared = reinterpret_cast<Scalar*>(shared_memory) + warp * room;
  const int n_tickets = n * launch.groups;
  const auto next_turn = [&] { return take_ticket_of_warp(launch.ticket, launch.next_ticket); };
  // With many tickets per warp the next task is prefetched; with few, the ticket would wait for this warp
  // while others are idle. There is no deadlock: the first unfinished task is never a prefetched one, since
  // the task that its warp is processing precedes it.
  const bool takes_ahead = n_tickets / 4 > static_cast<int>(gridDim.x) * small_solve_warps;
  int next = next_turn();
  WarpSolveTask next_task;
  if (next < n_tickets) next_task = tasks[next / launch.groups];
  while (next < n_tickets) {
    const int taken = next;
    const WarpSolveTask task = next_task;
    if (takes_ahead) {
      next = next_turn();
      if (next < n_tickets) next_task = tasks[next / launch.groups];
    }
    const WarpSweep<Parts, Width, Scalar> sweep{launch, task, taken % launch.groups, lane, shared};
    if constexpr (Up) {
      sweep.sweep_up();
    } else {
      sweep.sweep_down();
    }
    __syncwarp();
    if (takes_ahead) continue;
    next = next_turn();
    if (next < n_tickets) next_task = tasks[next / launch.groups];
  }
}

}  // namespace lutra::Impl

#endif
