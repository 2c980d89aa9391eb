// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKLEVELSCUDA_HPP
#define LUTRA_BLOCKLEVELSCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include "Lutra_BlockLevels.hpp"

namespace lutra::Impl {

inline constexpr int sweep_threads = 128;
inline constexpr unsigned all_lanes = 0xffffffffu;

/// Tickets in order: what is waited for has been begun by a team that is running.
template <class Ordinal>
__device__ Ordinal take_warp_ticket(Ordinal* last_ticket) {
  __shared__ Ordinal first;
  if (threadIdx.x == 0) first = Kokkos::atomic_fetch_add(last_ticket, Ordinal(1)) + 1;
  __syncthreads();
  return first * (sweep_threads / 32) + static_cast<Ordinal>(threadIdx.x / 32);
}

inline constexpr int levels_in_flight = 4;

/// Greatest level a lane finds among every `stride`-th entry of a row from `t` on, up to step `first`; the
/// readings of a batch are in flight together.
template <class Rows, class Blocks, class Ordinal, class Offset>
__device__ Ordinal greatest_level(const Rows& rows, const Blocks& blocks, const Ordinal* level, Ordinal row,
                                  Ordinal first, Offset t, Offset stride) {
  Ordinal greatest = -1;
  const Offset length = rows.length(row);
  while (t < length) {
    const Ordinal* place[levels_in_flight];
    Ordinal found[levels_in_flight];
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u, t += stride) {
      place[u] = nullptr;
      found[u] = 0;
      const Ordinal dependency = t < length ? rows.dependency(row, t) : first;
      if (dependency < first) place[u] = level + blocks.block(dependency);
    }
    bool waiting = true;
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      if (place[u] != nullptr) found[u] = read_level(place[u]);
    }
    while (waiting) {
      waiting = false;
#pragma unroll
      for (int u = 0; u < levels_in_flight; ++u) {
        if (found[u] < 0) found[u] = read_level(place[u]);
      }
#pragma unroll
      for (int u = 0; u < levels_in_flight; ++u) waiting = waiting || found[u] < 0;
    }
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      if (place[u] != nullptr && found[u] > greatest) greatest = found[u];
    }
    if (place[levels_in_flight - 1] == nullptr) break;
  }
  return greatest;
}

/// Up to levels_in_flight steps a lane waits for, the latest of its row first: older ones have mostly been
/// seen when that is there.
template <class Rows>
struct PendingSteps {
  using Ordinal = typename Rows::ordinal_type;
  using Offset = typename Rows::offset_type;
  Ordinal step[levels_in_flight];  ///< −1: none

  /// @param left entries of the row still to be looked at, its first ones
  __device__ void load(const Rows& rows, Ordinal row, Offset left) {
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u)
      step[u] = u < left ? rows.dependency(row, left - 1 - u) : Ordinal(-1);
  }
};

/// Entries from which on a row is not left to one lane.
inline constexpr std::int64_t long_row = 64;

/// Levels of short rows, a lane a row, all of a lane's readings in flight together. Levels of rows of the
/// same warp pass from lane to lane by shuffles, all others through memory.
template <class Rows, class Blocks, class Ordinal>
__global__ void sweep_rows(Rows rows, Blocks, Ordinal* level) {
  using Offset = typename Rows::offset_type;
  const Ordinal first = take_warp_ticket(level + rows.n) * 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Ordinal step = first + lane;
  const bool active = step < rows.n;
  const Ordinal row = active ? rows.mirrored(step) : 0;
  Offset left = active ? rows.length(row) : 0;
  Ordinal greatest = -1, own = active ? Ordinal(-1) : Ordinal(0);
  PendingSteps<Rows> pending;
  pending.load(rows, row, left);
  while (__any_sync(all_lanes, own < 0)) {
    Ordinal found[levels_in_flight];
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      const Ordinal wanted = pending.step[u];
      found[u] = -1;
      if (wanted >= 0 && wanted < first) found[u] = read_level(level + wanted);
      if (!__any_sync(all_lanes, wanted >= first)) continue;
      const Ordinal near = __shfl_sync(all_lanes, own, static_cast<int>((wanted - first) & 31));
      if (wanted >= first) found[u] = near;
    }
    bool waiting = false;
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      if (pending.step[u] < 0) continue;
      if (found[u] < 0) {
        waiting = true;
      } else {
        greatest = found[u] > greatest ? found[u] : greatest;
        pending.step[u] = -1;
      }
    }
    if (waiting || own >= 0) continue;
    left -= levels_in_flight;
    if (left > 0) {
      pending.load(rows, row, left);
    } else {
      own = greatest + 1;
      *static_cast<volatile Ordinal*>(level + step) = own;
    }
  }
  const auto last = static_cast<Ordinal>(__reduce_max_sync(all_lanes, static_cast<int>(own)));
  if (lane == 0) note_level(level + rows.n + 1, last);
}

/// Levels of blocks, `threads` threads (a warp or the team) a block, shared out evenly among its rows.
template <int threads, class Rows, class Blocks, class Ordinal>
__global__ void sweep_blocks(Rows rows, Blocks blocks, Ordinal* level) {
  using Offset = typename Rows::offset_type;
  __shared__ int of_warp[sweep_threads / 32];
  const Ordinal warp = take_warp_ticket(level + blocks.count);
  const Ordinal b = warp / (threads / 32);
  const int lane = static_cast<int>(threadIdx.x) % threads;
  Ordinal greatest = -1;
  if (b < blocks.count) {
    const Ordinal first = blocks.first_step(b), last = blocks.first_step(b + 1);
    int lanes = threads;
    while (lanes > 1 && static_cast<Ordinal>(threads / lanes) < last - first) lanes /= 2;
    const Ordinal step = first + lane / lanes;
    if (step < last) {
      greatest = greatest_level(rows, blocks, level, rows.mirrored(step), first,
                                static_cast<Offset>(lane % lanes), static_cast<Offset>(lanes));
    }
  }
  greatest = __reduce_max_sync(all_lanes, static_cast<int>(greatest));
  if constexpr (threads > 32) {
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = static_cast<int>(greatest);
    __syncthreads();
    for (const int other : of_warp) greatest = other > greatest ? Ordinal(other) : greatest;
  }
  if (lane != 0 || b >= blocks.count) return;
  *static_cast<volatile Ordinal*>(level + b) = greatest + 1;
  note_level(level + blocks.count + 1, greatest + 1);
}

/// As sweep_levels_portable, with warps as the unit of work.
template <class Ordinal, class Offset, class LevelView>
void sweep_levels_cuda(const Kokkos::Cuda& exec, const TriangleRows<Ordinal, Offset, Kokkos::CudaSpace>& rows,
                       const StepBlocks<Ordinal, Kokkos::CudaSpace>& blocks, const RowLengths& lengths,
                       const LevelView& level) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::levels");
  const auto launch = [&](std::int64_t a_team, auto kernel) {
    const auto teams = static_cast<unsigned>((static_cast<std::int64_t>(blocks.count) + a_team - 1) / a_team);
    kernel<<<teams, sweep_threads, 0, exec.cuda_stream()>>>(rows, blocks, level.data());
  };
  using Rows = TriangleRows<Ordinal, Offset, Kokkos::CudaSpace>;
  using Blocks = StepBlocks<Ordinal, Kokkos::CudaSpace>;
  const bool single_rows = blocks.begin.extent(0) == 0;
  if (single_rows && lengths.mean < 12 && lengths.longest < long_row) {
    launch(sweep_threads, sweep_rows<Rows, Blocks, Ordinal>);
  } else if (single_rows || lengths.mean < 24) {
    launch(sweep_threads / 32, sweep_blocks<32, Rows, Blocks, Ordinal>);
  } else {
    launch(1, sweep_blocks<sweep_threads, Rows, Blocks, Ordinal>);
  }
}

}  // namespace lutra::Impl

#endif
