// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGCUDA_HPP
#define LUTRA_RIGHTLOOKINGCUDA_HPP

#include <cuda_pipeline.h>

#include <cstdint>

#include "Lutra_ColumnAblation.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RightLooking.hpp"
#include "Lutra_SharedEntryCuda.hpp"
#include "Lutra_TaskQueueCuda.hpp"

namespace lutra::Impl {

// Column right-looking factorization ("End-to-End LU Factorization …", Algorithm 2) as data flow. A task is a
// tile of a column's updates, some rows of L(:, j) × some entries of U(j, :), performed by one warp. Warps
// take tasks by tickets in level order, so that a waiting warp always waits for a running one. A completed
// task signals only the columns its entries belong to: columns k of its U(j, k), which it has updated, and
// columns i of its L(i, j), whose rows of U it has updated. A column is ready when all tasks that signal it
// have done so; counts accumulate over factorizations and are never reset.
//
//     task (j, part)                                    task of column k
//       wait until arrived[j] = needed[j] · run
//       subtract L(:, j)·U(j, k)/pivot, atomically
//       fence (release)
//       arrived[k] += 1  ───────────────────────────────► wait until arrived[k] = needed[k] · run (acquire)
//
// L(:, j) stays undivided until a final pass divides all columns: an update subtracts L(:, j)·(U(j,
// k)/pivot). Hence no task waits for another of its own column. All pattern data, including positions in
// columns k, is loaded before a task waits.

inline constexpr int column_threads = 256;  ///< with `column_blocks` resident, 64 registers per thread
inline constexpr int column_warps = column_threads / 32;
inline constexpr int lane_rows = 2;      ///< rows of a tile per lane
inline constexpr int lane_updates = 16;  ///< entries of U(j, :) of a tile per lane
inline constexpr int tile_rows = 32 * lane_rows;
inline constexpr int tile_updates = lane_updates;
inline constexpr int column_blocks = 4;  ///< least number of resident blocks per multiprocessor

struct ColumnTask {
  Ordinal column;
  int part;
};

/// Numbers of parts of L(:, j) and U(j, :).
struct ColumnParts {
  int rows, updates;
};

template <class Scalar>
struct ColumnLaunch {
  const ColumnTask* tasks;
  const ColumnParts* parts;                              ///< [n]
  const Offset *row_map, *row_diagonal, *row_to_column;  ///< L + U by rows
  const Ordinal* row_entries;
  const Offset *column_map, *column_diagonal;  ///< L + U by columns
  const Ordinal* column_entries;
  const Offset* map_begin;  ///< [n] offset in `map` of a column's updates
  const unsigned* map;      ///< for each U(j, k), for each row of L(:, j): its position in column k
  Scalar* values;           ///< by columns
  unsigned char* perturbed;
  const unsigned* needed;  ///< [n] tasks that signal column j
  unsigned* arrived;       ///< [n] signals received, summed over all factorizations
  ColumnState* state;
  Ordinal n;
  PivotThreshold threshold;
  unsigned run;  ///< number of this factorization
  Watchdog<unsigned long long, 0> watchdog;
};

/// A task's part of a column: rows [row_begin, row_end) of L(:, j), entries [up_begin, up_end) of U(j, :).
struct ColumnShare {
  Offset row_first, up_first;  ///< start of L(:, j) by columns and of U(j, :) by rows
  int row_count;               ///< length of the whole L(:, j)
  int row_begin, row_end, up_begin, up_end;

  template <class Launch>
  __device__ __forceinline__ ColumnShare(const Launch& launch, Ordinal j, int part) {
    const ColumnParts cut = launch.parts[j];
    row_first = launch.column_diagonal[j] + 1;
    row_count = static_cast<int>(launch.column_map[j + 1] - row_first);
    up_first = launch.row_diagonal[j] + 1;
    const int up_count = static_cast<int>(launch.row_map[j + 1] - up_first);
    row_begin = up_begin = 0;
    row_end = row_count;
    up_end = up_count;
    if (cut.rows > 1) share_out(row_count, cut.rows, part % cut.rows, row_begin, row_end);
    if (cut.updates > 1) share_out(up_count, cut.updates, part / cut.rows, up_begin, up_end);
  }

  __device__ static __forceinline__ void share_out(int count, int parts, int part, int& begin, int& end) {
    const int each = (count + parts - 1) / parts;
    begin = min(part * each, count);
    end = min(begin + each, count);
  }
};

/// A warp's data about a column k while updating it.
template <class Scalar>
struct UpdatedColumn {
  Offset begin;   ///< start of column k
  Scalar factor;  ///< U(j, k)/pivot
};

template <class Scalar>
__device__ __forceinline__ Scalar load_latest(const Scalar* address) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const auto* const parts = reinterpret_cast<const RealOf<Scalar>*>(address);
    return Scalar(__ldcg(parts), __ldcg(parts + 1));
  } else {
    return __ldcg(address);
  }
}

/// Waits until all tasks that signal column j have done so. For one lane. @returns false at a timeout
template <class Launch>
__device__ bool wait_for_columns(const Launch& launch, Ordinal j, unsigned needed) {
  const unsigned target = needed * launch.run;
  WaitTimer<> timer;
  unsigned spins = 0;
  while (const unsigned left = target - load_flag(launch.arrived + j)) {
    if (left > 64) __nanosleep(left < 1024 ? left : 1024);
    if (++spins % 256 == 0 && launch.watchdog.ends(timer, static_cast<unsigned long long>(j))) return false;
  }
  return true;
}

/// Increments the count of each column that a task signals.
template <class Launch>
__device__ __forceinline__ void signal_columns(const Launch& launch, unsigned* counts,
                                               const ColumnShare& share, int lane) {
  for (int up = share.up_begin + lane; up < share.up_end; up += 32)
    atomicAdd(counts + launch.row_entries[share.up_first + up], 1u);
  for (int row = share.row_begin + lane; row < share.row_end; row += 32)
    atomicAdd(counts + launch.column_entries[share.row_first + row], 1u);
}

/// Positions in L + U for one of the columns k that a task updates; one per lane.
struct UpdateRange {
  Offset factor = 0, begin = 0, end = 0;

  template <class Launch, class Share>
  __device__ __forceinline__ UpdateRange(const Launch& launch, const Share& share, int up) {
    if (up >= share.up_end) return;
    factor = launch.row_to_column[share.up_first + up];
    const auto k = launch.row_entries[share.up_first + up];
    begin = launch.column_map[k];
    end = launch.column_map[k + 1];
  }
};

/// Shared memory of a warp.
template <class Scalar>
struct WarpMemory {
  UpdatedColumn<Scalar> columns[32];
  unsigned positions[lane_updates * lane_rows][32];  ///< positions in columns k of a tile's entries; each
                                                     ///< lane uses its own
};

/// A tile of a task: up to 32 columns k, and rows of L(:, j) across the lanes; for few rows, groups of lanes
/// take different columns k.
template <ColumnFormat format, class Scalar>
struct ColumnTile {
  using Launch = ColumnLaunch<Scalar>;
  using Share = ColumnShare;

  const Launch& launch;
  const Share& share;
  WarpMemory<Scalar>& memory;
  const int lane;
  int width = 32;  ///< lanes per group
  int group, groups;
  int up, row;  ///< first update and row of the tile
  UpdateRange mine;

  __device__ __forceinline__ ColumnTile(const Launch& l, const Share& s, WarpMemory<Scalar>& m, int at)
      : launch(l),
        share(s),
        memory(m),
        lane(at),
        up(s.up_begin),
        row(s.row_begin),
        mine(l, s, s.up_begin + at) {
    while (width > 1 && width / 2 >= share.row_end - share.row_begin) width /= 2;
    groups = 32 / width;
    group = lane / width;
  }

  __device__ __forceinline__ int max_updates() const { return min(32, groups * lane_updates); }
  __device__ __forceinline__ int count() const { return min(share.up_end - up, max_updates()); }
  /// Row of this lane's r-th line.
  __device__ __forceinline__ int row_of(int r) const { return row + r * width + lane % width; }

  /// Advances to the next tile, rows first. @returns whether it exists
  __device__ __forceinline__ bool advance() {
    row += lane_rows * width;
    if (row < share.row_end) return true;
    row = share.row_begin;
    up += max_updates();
    if (up >= share.up_end) return false;
    mine = UpdateRange(launch, share, up + lane);
    return true;
  }

  /// Whether this lane has an r-th row and a u-th column.
  __device__ __forceinline__ bool has(int r, int u, int updates) const {
    return group + u * groups < updates && row_of(r) < share.row_end;
  }

  /// Starts loading all positions from the column's map.
  __device__ __forceinline__ void load_positions(const unsigned* map) const {
    const int updates = count();
    const unsigned* at = map + static_cast<Offset>(up + group) * share.row_count + row_of(0);
    const Offset step = static_cast<Offset>(groups) * share.row_count;
#pragma unroll 4
    for (int u = 0; u < lane_updates && u * groups < updates; ++u, at += step) {
#pragma unroll
      for (int r = 0; r < lane_rows; ++r) {
        if (has(r, u, updates))
          __pipeline_memcpy_async(&memory.positions[u * lane_rows + r][lane], at + r * width,
                                  sizeof(unsigned));
      }
    }
    __pipeline_commit();
  }

  /// Searches for all positions. All rows of L(:, j) occur in column k, so the i-th is at least i positions
  /// after U(j, k).
  __device__ __forceinline__ void search_positions() const {
    const int updates = count();
    for (int u = 0; u < lane_updates && u * groups < updates; ++u) {
      const int c = (group + u * groups) % 32;
      const Offset begin = __shfl_sync(~0u, mine.begin, c);
      const Offset end = __shfl_sync(~0u, mine.end, c);
      Offset found = __shfl_sync(~0u, mine.factor, c) + 1 + row_of(0);
#pragma unroll
      for (int r = 0; r < lane_rows; ++r, found += width) {
        if (!has(r, u, updates)) continue;
        found =
            find_row(launch.column_entries, found, end, launch.column_entries[share.row_first + row_of(r)]);
        memory.positions[u * lane_rows + r][lane] = static_cast<unsigned>(found - begin);
      }
    }
  }

  __device__ __forceinline__ void find_positions(const unsigned* map) const {
    if constexpr (format == ColumnFormat::map) {
      load_positions(map);
    } else {
      search_positions();
    }
  }

  /// Subtracts this tile's updates.
  __device__ __forceinline__ void apply(const Scalar& pivot) const {
    Scalar lower[lane_rows];
#pragma unroll
    for (int r = 0; r < lane_rows; ++r) {
      lower[r] =
          row_of(r) < share.row_end ? load_latest(launch.values + share.row_first + row_of(r)) : Scalar(0);
    }
    const int updates = count();
    __syncwarp();  // the previous tile's columns have been read
    memory.columns[lane] = {mine.begin,
                            lane < updates ? load_latest(launch.values + mine.factor) / pivot : Scalar(0)};
    __syncwarp();
    if constexpr (format == ColumnFormat::map) __pipeline_wait_prior(0);
#pragma unroll 4
    for (int u = 0; u < lane_updates && u * groups < updates; ++u) {
      const UpdatedColumn<Scalar> column = memory.columns[(group + u * groups) % 32];
#pragma unroll
      for (int r = 0; r < lane_rows; ++r) {
        if (has(r, u, updates)) {
          subtract_shared(launch.values + column.begin + memory.positions[u * lane_rows + r][lane],
                          lower[r] * column.factor);
        }
      }
    }
  }
};

/// Whether column j is ready; the same answer for all lanes.
template <class Launch>
__device__ __forceinline__ bool is_ready(const Launch& launch, Ordinal j, int lane) {
  int ready = 1;
  if (lane == 0) ready = wait_for_columns(launch, j, launch.needed[j]);
  return __shfl_sync(~0u, ready, 0) != 0;
}

template <class Scalar>
__device__ __forceinline__ Scalar load_pivot(const ColumnLaunch<Scalar>& launch, const ColumnShare& share) {
  bool small = false;
  return PivotRule<Scalar>{static_cast<RealOf<Scalar>>(launch.threshold())}(
      load_latest(launch.values + share.row_first - 1), small);
}

/// Executes one task. @returns false if the factorization is aborted
template <ColumnFormat format, class Scalar>
__device__ __forceinline__ bool work_column_task(const ColumnLaunch<Scalar>& launch, const ColumnTask& task,
                                                 WarpMemory<Scalar>& memory, int lane) {
  const Ordinal j = task.column;
  const ColumnShare share(launch, j, task.part);
  ColumnTile<format, Scalar> tile(launch, share, memory, lane);
  const unsigned* const map = format == ColumnFormat::map ? launch.map + launch.map_begin[j] : nullptr;
  const bool any = share.row_end > share.row_begin && share.up_end > share.up_begin;
  if (any) tile.find_positions(map);
  if (!is_ready(launch, j, lane)) return false;
  if (any) {
    const Scalar pivot = load_pivot(launch, share);
    tile.apply(pivot);
    while (tile.advance()) {
      tile.find_positions(map);
      tile.apply(pivot);
    }
  }
  __threadfence();  // makes the additions visible before the counts that signal them
  signal_columns(launch, launch.arrived, share, lane);
  return true;
}

/// Executes the first `n` tasks, by tickets: a waiting warp always waits for a running one.
template <ColumnFormat format, class Scalar>
__global__ void __launch_bounds__(column_threads, column_blocks)
    column_tasks_kernel(ColumnLaunch<Scalar> launch, int n) {
  __shared__ __align__(16) char shared[column_warps * sizeof(WarpMemory<Scalar>)];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  auto& memory = reinterpret_cast<WarpMemory<Scalar>*>(shared)[warp];
  while (true) {
    const int ticket = take_ticket_of_warp(&launch.state->ticket);
    if (ticket >= n) return;
    if (!work_column_task<format>(launch, launch.tasks[ticket], memory, lane)) return;
  }
}

/// Divides columns of L by their pivots, one warp per column, and finds the largest entry.
template <class Scalar>
__global__ void __launch_bounds__(column_threads) finish_columns_kernel(ColumnLaunch<Scalar> launch) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto worker =
      static_cast<Ordinal>(blockIdx.x) * column_warps + static_cast<Ordinal>(threadIdx.x) / 32;
  double most = 0;
  const auto note = [&](const Scalar& value) {
    const double size = ScalarTraits<Scalar>::is_finite(value)
                            ? static_cast<double>(ScalarTraits<Scalar>::magnitude(value))
                            : Kokkos::Experimental::infinity_v<double>;
    if (size > most) most = size;
  };
  for (Ordinal j = worker; j < launch.n; j += static_cast<Ordinal>(gridDim.x) * column_warps) {
    const Offset diagonal = launch.column_diagonal[j];
    bool small = false;
    const Scalar pivot =
        PivotRule<Scalar>{static_cast<RealOf<Scalar>>(launch.threshold())}(launch.values[diagonal], small);
    __syncwarp();  // all lanes have read it
    if (lane == 0) {
      launch.perturbed[j] = small ? 1 : 0;
      if (small) {
        launch.values[diagonal] = pivot;
        atomicAdd(&launch.state->perturbed, 1ull);
      }
      note(pivot);
    }
    for (Offset p = launch.column_map[j] + lane; p < launch.column_map[j + 1]; p += 32) {
      if (p == diagonal) continue;
      Scalar value = launch.values[p];
      if (p > diagonal) launch.values[p] = value = value / pivot;
      note(value);
    }
  }
  for (int step = 16; step > 0; step /= 2) most = fmax(most, __shfl_down_sync(~0u, most, step));
  if (lane == 0 && most > 0)
    atomicMax(&launch.state->largest, static_cast<unsigned long long>(__double_as_longlong(most)));
}

/// Counts the tasks that signal each column and fills the map, if any, task by task.
template <class Scalar>
__global__ void __launch_bounds__(column_threads)
    survey_columns_kernel(ColumnLaunch<Scalar> launch, unsigned* needed, unsigned* map, int tasks) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int worker = static_cast<int>(blockIdx.x) * column_warps + static_cast<int>(threadIdx.x) / 32;
  for (int t = worker; t < tasks; t += static_cast<int>(gridDim.x) * column_warps) {
    const Ordinal j = launch.tasks[t].column;
    const ColumnShare share(launch, j, launch.tasks[t].part);
    signal_columns(launch, needed, share, lane);
    if (map == nullptr) continue;
    for (int up = share.up_begin; up < share.up_end; ++up) {
      const UpdateRange range(launch, share, up);
      unsigned* const positions = map + launch.map_begin[j] + static_cast<Offset>(up) * share.row_count;
      for (int row = share.row_begin + lane; row < share.row_end; row += 32) {
        positions[row] =
            static_cast<unsigned>(find_row(launch.column_entries, range.factor + 1 + row, range.end,
                                           launch.column_entries[share.row_first + row]) -
                                  range.begin);
      }
    }
  }
}

}  // namespace lutra::Impl

#endif
