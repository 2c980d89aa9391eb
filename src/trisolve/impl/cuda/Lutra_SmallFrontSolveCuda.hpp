// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SMALLFRONTSOLVECUDA_HPP
#define LUTRA_SMALLFRONTSOLVECUDA_HPP

#include "Lutra_FrontSolveWaitCuda.hpp"

namespace lutra::Impl {

inline constexpr int small_solve_warps = 4;  ///< of a team, each with fronts of its own
/// Entries of its row that a lane has on the way.
inline constexpr int small_solve_ahead = 8;

/// A lane's row in a part of the panels, read eight columns ahead.
template <class Scalar, class Data>
struct LaneRow {
  const Data& data;
  const Scalar* first;
  std::int64_t step;  ///< to the next column
  bool active;

  __device__ __forceinline__ void load(int begin, int end, Scalar (&a)[small_solve_ahead]) const {
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u)
      a[u] = active && begin + u < end ? data.value(first[(begin + u) * step]) : Scalar(0);
  }
  /// Columns end − 1, end − 2, …
  __device__ __forceinline__ void load_back(int end, Scalar (&a)[small_solve_ahead]) const {
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u)
      a[u] = active && u < end ? data.value(first[(end - 1 - u) * step]) : Scalar(0);
  }
};

/// Forward through one small front, a lane a row.
template <int Width, class Scalar, class Ordinal, class Offset>
__device__ __forceinline__ void small_sweep_up(const FrontSweepLaunch<Scalar, Ordinal, Offset>& launch,
                                               const FrontSolveTask<Ordinal, Offset>& task, int group,
                                               int lane) {
  const auto& data = launch.data;
  const int pivots = task.pivots;
  const bool active = lane < pivots + task.below, is_pivot = lane < pivots;
  const std::int64_t place = task.first_pivot + lane;
  const auto triangle = pivot_part(data.panels, task, data.sweep);
  const auto further = further_part(data.panels, task, data.sweep);
  const LaneRow<Scalar, FrontSolveData<Scalar, Ordinal, Offset>> row{
      data, is_pivot ? triangle.at(lane, 0) : further.at(lane - pivots, 0),
      is_pivot ? triangle.column : further.column, active};
  Scalar a[small_solve_ahead];
  row.load(0, pivots, a);
  Scalar inverse(1);
  if (is_pivot && !data.sweep.unit()) inverse = pivot_inverse(data.value(*triangle.at(lane, lane)));
  Scalar v[Width];
#pragma unroll
  for (int w = 0; w < Width; ++w)
    v[w] = is_pivot ? data.right_side(place, group * Width + w) : Scalar(0);
  if (active) {
    const auto position = task.rows + place;
    add_sources<Width>(launch, group, data.source_begin[position], data.source_begin[position + 1], 1, place,
                       v);
  }
  __syncwarp();
  for (int begin = 0; begin < pivots; begin += small_solve_ahead) {
    Scalar next[small_solve_ahead];
    row.load(begin + small_solve_ahead, pivots, next);
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u) {
      const int c = begin + u;
      if (c >= pivots) break;
#pragma unroll
      for (int w = 0; w < Width; ++w) {
        const Scalar y = shuffle_from(v[w] * inverse, c);
        if (lane == c) v[w] = y;
        if (lane > c) v[w] -= a[u] * y;
      }
    }
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u) a[u] = next[u];
  }
  if (is_pivot) {
    publish(launch.solved_at(group, place, Width), v);
    mark<Width>(launch.solution_at(group, place, Width));
  } else if (active) {
    publish(launch.below_at(group, task.rows + lane - pivots, Width), v);
  }
}

/// Backward through one small front, a lane a pivot.
template <int Width, class Scalar, class Ordinal, class Offset>
__device__ __forceinline__ void small_sweep_down(const FrontSweepLaunch<Scalar, Ordinal, Offset>& launch,
                                                 const FrontSolveTask<Ordinal, Offset>& task, int group,
                                                 int lane) {
  using Row = LaneRow<Scalar, FrontSolveData<Scalar, Ordinal, Offset>>;
  const auto& data = launch.data;
  const int pivots = task.pivots, below = task.below;
  const bool is_pivot = lane < pivots;
  const std::int64_t place = task.first_pivot + lane;
  const auto triangle = pivot_part(data.panels, task, data.sweep);
  const auto further = further_part(data.panels, task, data.sweep);
  const Row beyond{data, further.at(lane, 0), further.column, is_pivot};
  const Row within{data, triangle.at(lane, 0), triangle.column, is_pivot};
  Scalar a[small_solve_ahead], t[small_solve_ahead];
  beyond.load(0, below, a);
  within.load_back(pivots, t);
  Scalar inverse(1);
  if (is_pivot && !data.sweep.unit()) inverse = pivot_inverse(data.value(*triangle.at(lane, lane)));
  Scalar v[Width], x[1][Width];
#pragma unroll
  for (int w = 0; w < Width; ++w) v[w] = Scalar(0);
  if (is_pivot) {
    Scalar* const solved = launch.solved_at(group, place, Width);
    read_place<Width>(solved, v);
    mark<Width>(solved);
  }
  Scalar* const from[1] = {
      lane < below ? launch.solution_at(group, data.rows[task.rows + lane], Width) : nullptr};
  take(launch, from, x, place);
  __syncwarp();
  for (int begin = 0; begin < below; begin += small_solve_ahead) {
    Scalar next[small_solve_ahead];
    beyond.load(begin + small_solve_ahead, below, next);
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u) {
      if (begin + u >= below) break;
#pragma unroll
      for (int w = 0; w < Width; ++w) v[w] -= a[u] * shuffle_from(x[0][w], begin + u);
    }
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u) a[u] = next[u];
  }
  for (int end = pivots; end > 0; end -= small_solve_ahead) {
    Scalar next[small_solve_ahead];
    within.load_back(end - small_solve_ahead, next);
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u) {
      const int c = end - 1 - u;
      if (c < 0) break;
#pragma unroll
      for (int w = 0; w < Width; ++w) {
        const Scalar y = shuffle_from(v[w] * inverse, c);
        if (lane == c) v[w] = y;
        if (lane < c) v[w] -= t[u] * y;
      }
    }
#pragma unroll
    for (int u = 0; u < small_solve_ahead; ++u) t[u] = next[u];
  }
  if (!is_pivot) return;
  publish(launch.solution_at(group, place, Width), v);
#pragma unroll
  for (int w = 0; w < Width; ++w) data.hand_out(place, group * Width + w, v[w]);
}

/// A sweep through small fronts, a warp each, as data flow.
template <bool Up, int Width, class Scalar, class Ordinal, class Offset>
__global__ void __launch_bounds__(small_solve_warps * 32)
    small_sweep_kernel(FrontSweepLaunch<Scalar, Ordinal, Offset> launch,
                       const FrontSolveTask<Ordinal, Offset>* tasks, int n) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (;;) {
    const int taken = lane == 0 ? take_ticket(launch) : 0;
    const int turn = __shfl_sync(0xffffffffu, taken, 0);
    if (turn >= n * launch.groups) return;
    const FrontSolveTask<Ordinal, Offset> task = tasks[turn / launch.groups];
    if constexpr (Up) {
      small_sweep_up<Width>(launch, task, turn % launch.groups, lane);
    } else {
      small_sweep_down<Width>(launch, task, turn % launch.groups, lane);
    }
    __syncwarp();
  }
}

}  // namespace lutra::Impl

#endif
