// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNKERNELSCUDA_HPP
#define LUTRA_COLUMNKERNELSCUDA_HPP

#include <cstdint>

#include "Lutra_ColumnTuning.hpp"
#include "Lutra_RightLooking.hpp"

namespace lutra::Impl {

// The column right-looking factorization ("End-to-End LU Factorization …", Algorithm 2) as data flow. A task
// is a part of a column's updates, worked by one warp. Tasks are taken by tickets in the order of levels, so
// that who waits, waits for a running warp. Each column counts the columns it waits for as they finish; the
// counts go on from one factorization to the next and are never set back.
//
// L(:, j) stays undivided until the end, where one pass divides all columns: an update subtracts
// L(:, j)·(U(j, k)/pivot). So no task waits for another of its own column.

inline constexpr int column_threads = 256;
inline constexpr int column_warps = column_threads / 32;
inline constexpr int tile_rows = 64;     ///< of L(:, j) in a task of mode C
inline constexpr int tile_updates = 16;  ///< entries of U(j, :) in a task of mode C

template <class Ordinal>
struct ColumnTask {
  Ordinal column;
  int part;
};

/// Into how many parts L(:, j) and U(j, :) are cut.
struct ColumnParts {
  int rows, updates;
};

/// What one factorization meets, all zeros at first.
struct ColumnState {
  unsigned long long largest;    ///< bits of max |entry|, a double
  unsigned long long perturbed;  ///< pivots replaced
  unsigned long long stopped;    ///< 1 + a column that waited too long
  int ticket;
};

template <class Scalar, class Ordinal, class Offset>
struct ColumnLaunch {
  const ColumnTask<Ordinal>* tasks;
  const ColumnParts* parts;                              ///< [n]
  const Offset *row_map, *row_diagonal, *row_to_column;  ///< L + U by rows
  const Ordinal* row_entries;
  const Offset *column_map, *column_diagonal;  ///< L + U by columns
  const Ordinal* column_entries;
  const Offset* map_begin;  ///< [n] a column's updates in `map`
  unsigned* map;            ///< for each U(j, k), for each row of L(:, j): its place in column k
  Scalar* values;           ///< by columns
  Scalar* dense;            ///< [warps × n] zeros
  unsigned char* perturbed;
  unsigned* arrived;   ///< [n] columns finished of those that column j waits for, in all factorizations
  unsigned* finished;  ///< [n] tasks of a column finished, in all factorizations
  ColumnState* state;
  Ordinal n;
  RealOf<Scalar> threshold;
  unsigned run;  ///< number of this factorization
  bool waits;    ///< else all that the tasks need is there
  double watchdog_seconds;
};

/// A column's share in a task: rows of L(:, j) and entries of U(j, :).
template <class Ordinal, class Offset>
struct ColumnShare {
  Offset row_first, row_count;  ///< L(:, j): first position by columns, length
  Offset up_first, up_count;    ///< U(j, :): first position by rows, length
  Offset row_begin, row_end;    ///< of the task
  Offset up_begin, up_end;
  int parts;

  template <class Launch>
  __device__ __forceinline__ ColumnShare(const Launch& launch, Ordinal j, int part) {
    row_first = launch.column_diagonal[j] + 1;
    row_count = launch.column_map[j + 1] - row_first;
    up_first = launch.row_diagonal[j] + 1;
    up_count = launch.row_map[j + 1] - up_first;
    const ColumnParts cut = launch.parts[j];
    parts = cut.rows * cut.updates;
    const int row_part = part % cut.rows, up_part = part / cut.rows;
    row_begin = row_count * row_part / cut.rows;
    row_end = row_count * (row_part + 1) / cut.rows;
    up_begin = up_count * up_part / cut.updates;
    up_end = up_count * (up_part + 1) / cut.updates;
  }
};

/// What a warp knows of a column k while it updates it.
template <class Scalar, class Offset>
struct UpdatedColumn {
  Offset begin;   ///< of column k; of U(j, k) where rows are looked for
  Offset end;     ///< of column k
  Scalar factor;  ///< U(j, k)/pivot
};

template <class Scalar>
__device__ __forceinline__ Scalar load_latest(const Scalar* place) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const auto* const parts = reinterpret_cast<const RealOf<Scalar>*>(place);
    return Scalar(__ldcg(parts), __ldcg(parts + 1));
  } else {
    return __ldcg(place);
  }
}

/// Adds to an entry others may add to; of complex numbers each part by itself.
template <class Scalar>
__device__ __forceinline__ void subtract_shared(Scalar* place, const Scalar& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    auto* const parts = reinterpret_cast<RealOf<Scalar>*>(place);
    atomicAdd(parts, -value.real());
    atomicAdd(parts + 1, -value.imag());
  } else {
    atomicAdd(place, -value);
  }
}

__device__ __forceinline__ unsigned load_relaxed(const unsigned* place) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
  return value;
}

__device__ __forceinline__ void prefetch_line(const void* place) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(place));
}

/// Ends all waiting once one column has waited too long.
template <class Launch>
__device__ bool column_stopped(const Launch& launch, unsigned long long column, std::uint64_t& begun) {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (begun == 0) begun = now;
  if (static_cast<double>(now - begun) > launch.watchdog_seconds * 1e9)
    atomicCAS(&launch.state->stopped, 0ull, column + 1);
  return *static_cast<volatile unsigned long long*>(&launch.state->stopped) != 0;
}

/// Waits until all columns that j waits for are finished: those of U(:, j) and those of L(j, :). For one
/// lane. @returns whether they are
template <class Launch, class Ordinal>
__device__ bool wait_for_columns(const Launch& launch, Ordinal j) {
  const auto above = launch.column_diagonal[j] - launch.column_map[j];
  const auto before = launch.row_diagonal[j] - launch.row_map[j];
  const unsigned target = static_cast<unsigned>(above + before) * launch.run;
  std::uint64_t begun = 0;
  unsigned spins = 0;
  while (const unsigned left = target - load_relaxed(launch.arrived + j)) {
    if (left > 4) __nanosleep(left < 32 ? left * 32 : 1000);
    if (++spins % 256 == 0 && column_stopped(launch, static_cast<unsigned long long>(j), begun)) return false;
  }
  __threadfence();
  return true;
}

/// Tells the columns that wait for j, once all its tasks are done.
template <class Launch, class Ordinal, class Offset>
__device__ __forceinline__ void finish_task(const Launch& launch, Ordinal j,
                                            const ColumnShare<Ordinal, Offset>& share, int lane) {
  __syncwarp();
  if (share.parts > 1) {
    unsigned before = 0;
    if (lane == 0) {
      __threadfence();
      before = atomicAdd(launch.finished + j, 1u);
    }
    before = __shfl_sync(~0u, before, 0);
    if (before + 1 != static_cast<unsigned>(share.parts) * launch.run) return;
  }
  __threadfence();
  for (Offset p = lane; p < share.up_count; p += 32)
    atomicAdd(launch.arrived + launch.row_entries[share.up_first + p], 1u);
  for (Offset q = lane; q < share.row_count; q += 32)
    atomicAdd(launch.arrived + launch.column_entries[share.row_first + q], 1u);
}

/// Positions in L + U of one of the columns k that a task updates; a lane each.
template <class Offset>
struct UpdatePlace {
  Offset factor, begin, end;

  template <class Launch, class Share>
  __device__ __forceinline__ UpdatePlace(const Launch& launch, const Share& share, Offset up) {
    factor = begin = end = 0;
    if (up >= share.up_end) return;
    factor = launch.row_to_column[share.up_first + up];
    const auto k = launch.row_entries[share.up_first + up];
    begin = launch.column_map[k];
    end = launch.column_map[k + 1];
  }
};

/// The updates of a task by positions from maps or by search: up to 32 columns k at once, their factors in
/// shared memory. Lanes go along L(:, j); where it is short, groups of lanes work different columns k.
template <ColumnFormat format, class Scalar, class Ordinal, class Offset>
struct SparseUpdates {
  using Launch = ColumnLaunch<Scalar, Ordinal, Offset>;
  using Share = ColumnShare<Ordinal, Offset>;

  const Launch& launch;
  const Share& share;
  UpdatedColumn<Scalar, Offset>* const columns;  ///< [32] of this warp
  const Offset map_begin;
  const int lane;
  int width = 32;

  __device__ SparseUpdates(const Launch& l, const Share& s, UpdatedColumn<Scalar, Offset>* c, Ordinal j, int at)
      : launch(l),
        share(s),
        columns(c),
        map_begin(format == ColumnFormat::map ? l.map_begin[j] : Offset(0)),
        lane(at) {
    while (width > 1 && width / 2 >= share.row_end - share.row_begin) width /= 2;
  }

  /// Brings the task's part of the map near, while others still work at what it waits for.
  __device__ void prefetch() const {
    if constexpr (format != ColumnFormat::map) return;
    const Offset rows = share.row_end - share.row_begin;
    const Offset lines = (rows * static_cast<Offset>(sizeof(unsigned)) + 127) / 128;
    const Offset ups = min(share.up_end - share.up_begin, Offset(32));
    for (Offset l = lane; l < min(lines * ups, Offset(256)); l += 32) {
      const Offset up = share.up_begin + l / lines;
      prefetch_line(launch.map + map_begin + up * share.row_count + share.row_begin + l % lines * 32);
    }
  }

  /// Position of the row at `row` of L(:, j) in the column `columns[c]`.
  __device__ __forceinline__ Offset find(int c, Offset up, Offset row) const {
    if constexpr (format == ColumnFormat::map) {
      return columns[c].begin +
             static_cast<Offset>(__ldg(launch.map + map_begin + up * share.row_count + row));
    } else {  // rows of L(:, j) are all in column k, so none can stand before this place
      return find_row_at(columns[c].begin + 1 + row, columns[c].end, launch.column_entries[share.row_first + row]);
    }
  }

  __device__ __forceinline__ Offset find_row_at(Offset begin, Offset end, Ordinal row) const {
    const Ordinal* const rows = launch.column_entries;
    Offset step = 1;
    while (begin + step < end && rows[begin + step] <= row) {
      begin += step;
      step *= 2;
    }
    Offset last = min(begin + step, end);
    while (last - begin > 1) {
      const Offset middle = begin + (last - begin) / 2;
      if (rows[middle] <= row) {
        begin = middle;
      } else {
        last = middle;
      }
    }
    return begin;
  }

  __device__ void set_column(const UpdatePlace<Offset>& place, const Scalar& factor) const {
    __syncwarp();
    columns[lane] = {format == ColumnFormat::map ? place.begin : place.factor, place.end, factor};
    __syncwarp();
  }

  /// Calls visit(position, up, row) for each pair of an entry up_begin + 0 … count − 1 of U(j, :) and a row of
  /// the task, four positions looked up at a time; `start(row)` before each row.
  template <class Start, class Visit>
  __device__ __forceinline__ void for_pairs(Offset up_begin, int count, const Start& start,
                                            const Visit& visit) const {
    constexpr int at_once = 4;
    const int groups = 32 / width, group = lane / width;
    for (Offset row = share.row_begin + lane % width; row < share.row_end; row += width) {
      start(row);
      for (int first = group; first < count; first += groups * at_once) {
        Offset position[at_once];
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
          const int c = first + u * groups;
          position[u] = c < count ? find(c, up_begin + c, row) : Offset(-1);
        }
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
          if (position[u] >= 0) visit(position[u], first + u * groups, row);
        }
      }
    }
  }

  __device__ void run(const Scalar& pivot, UpdatePlace<Offset> place) const {
    for (Offset up = share.up_begin; up < share.up_end; up += 32) {
      if (up > share.up_begin) place = UpdatePlace<Offset>(launch, share, up + lane);
      const int count = static_cast<int>(min(share.up_end - up, Offset(32)));
      set_column(place, lane < count ? load_latest(launch.values + place.factor) / pivot : Scalar(0));
      Scalar lower{};
      for_pairs(
          up, count, [&](Offset row) { lower = load_latest(launch.values + share.row_first + row); },
          [&](Offset position, int c, Offset) {
            subtract_shared(launch.values + position, lower * columns[c].factor);
          });
    }
  }
};

/// The updates of a task with L(:, j) spread out in this warp's dense buffer, as in GLU 3.0: each entry of
/// column k below row j looks its row up.
template <class Scalar, class Ordinal, class Offset>
__device__ void update_by_dense(const ColumnLaunch<Scalar, Ordinal, Offset>& launch,
                                const ColumnShare<Ordinal, Offset>& share, const Scalar& pivot, Scalar* buffer,
                                int lane) {
  for (Offset row = lane; row < share.row_count; row += 32)
    buffer[launch.column_entries[share.row_first + row]] = load_latest(launch.values + share.row_first + row);
  __syncwarp();
  for (Offset up = share.up_begin; up < share.up_end; ++up) {
    const UpdatePlace<Offset> place(launch, share, up);
    const Scalar factor = load_latest(launch.values + place.factor) / pivot;
    for (Offset p = place.factor + 1 + lane; p < place.end; p += 32) {
      const Scalar lower = buffer[launch.column_entries[p]];
      if (lower != Scalar(0)) subtract_shared(launch.values + p, lower * factor);
    }
  }
  __syncwarp();
  for (Offset row = lane; row < share.row_count; row += 32)
    buffer[launch.column_entries[share.row_first + row]] = Scalar(0);
  __syncwarp();
}

/// One task. @returns false where the factorization is given up
template <ColumnFormat format, class Scalar, class Ordinal, class Offset>
__device__ __forceinline__ bool work_column_task(const ColumnLaunch<Scalar, Ordinal, Offset>& launch,
                                                 const ColumnTask<Ordinal>& task,
                                                 UpdatedColumn<Scalar, Offset>* columns, Scalar* buffer,
                                                 int lane) {
  const Ordinal j = task.column;
  const ColumnShare<Ordinal, Offset> share(launch, j, task.part);
  const SparseUpdates<format, Scalar, Ordinal, Offset> updates(launch, share, columns, j, lane);
  const UpdatePlace<Offset> place(launch, share, share.up_begin + lane);
  if (launch.waits) {
    updates.prefetch();
    int ready = 1;
    if (lane == 0) ready = wait_for_columns(launch, j);
    if (__shfl_sync(~0u, ready, 0) == 0) return false;
  }
  bool small = false;
  const Scalar pivot = usable_pivot(load_latest(launch.values + share.row_first - 1), launch.threshold, small);
  if constexpr (format == ColumnFormat::dense) {
    update_by_dense(launch, share, pivot, buffer, lane);
  } else {
    updates.run(pivot, place);
  }
  if (launch.waits) finish_task(launch, j, share, lane);
  return true;
}

/// Tasks [begin, end) by tickets where tasks wait for each other, else dealt out.
template <ColumnFormat format, class Scalar, class Ordinal, class Offset>
__global__ void __launch_bounds__(column_threads)
    column_tasks_kernel(ColumnLaunch<Scalar, Ordinal, Offset> launch, int begin, int end) {
  __shared__ __align__(16) char memory[column_threads * sizeof(UpdatedColumn<Scalar, Offset>)];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  auto* const columns = reinterpret_cast<UpdatedColumn<Scalar, Offset>*>(memory) + warp * 32;
  const int worker = static_cast<int>(blockIdx.x) * column_warps + warp;
  Scalar* const buffer =
      format == ColumnFormat::dense ? launch.dense + static_cast<std::size_t>(worker) * launch.n : nullptr;
  if (!launch.waits) {
    for (int t = begin + worker; t < end; t += static_cast<int>(gridDim.x) * column_warps)
      work_column_task<format>(launch, launch.tasks[t], columns, buffer, lane);
    return;
  }
  while (true) {
    int ticket = 0;
    if (lane == 0) ticket = atomicAdd(&launch.state->ticket, 1);
    ticket = begin + __shfl_sync(~0u, ticket, 0);
    if (ticket >= end) return;
    if (!work_column_task<format>(launch, launch.tasks[ticket], columns, buffer, lane)) return;
  }
}

/// Divides columns of L by their pivots, a warp each, and finds the largest entry.
template <class Scalar, class Ordinal, class Offset>
__global__ void __launch_bounds__(column_threads)
    finish_columns_kernel(ColumnLaunch<Scalar, Ordinal, Offset> launch) {
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
    const Scalar pivot = usable_pivot(launch.values[diagonal], launch.threshold, small);
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

/// Fills the maps, task by task.
template <class Scalar, class Ordinal, class Offset>
__global__ void __launch_bounds__(column_threads)
    map_columns_kernel(ColumnLaunch<Scalar, Ordinal, Offset> launch, int tasks) {
  __shared__ __align__(16) char memory[column_threads * sizeof(UpdatedColumn<Scalar, Offset>)];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  auto* const columns = reinterpret_cast<UpdatedColumn<Scalar, Offset>*>(memory) + warp * 32;
  for (int t = static_cast<int>(blockIdx.x) * column_warps + warp; t < tasks;
       t += static_cast<int>(gridDim.x) * column_warps) {
    const Ordinal j = launch.tasks[t].column;
    const ColumnShare<Ordinal, Offset> share(launch, j, launch.tasks[t].part);
    const SparseUpdates<ColumnFormat::search, Scalar, Ordinal, Offset> updates(launch, share, columns, j, lane);
    unsigned* const map = launch.map + launch.map_begin[j];
    for (Offset up = share.up_begin; up < share.up_end; up += 32) {
      updates.set_column(UpdatePlace<Offset>(launch, share, up + lane), Scalar(0));
      const int count = static_cast<int>(min(share.up_end - up, Offset(32)));
      updates.for_pairs(
          up, count, [](Offset) {},
          [&](Offset position, int c, Offset row) {
            const auto k = launch.row_entries[share.up_first + up + c];
            map[(up + c) * share.row_count + row] = static_cast<unsigned>(position - launch.column_map[k]);
          });
    }
  }
}

}  // namespace lutra::Impl

#endif
