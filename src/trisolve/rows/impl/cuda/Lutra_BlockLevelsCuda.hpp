// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKLEVELSCUDA_HPP
#define LUTRA_BLOCKLEVELSCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TaskQueueCuda.hpp"
#include "Lutra_TriangleGroups.hpp"

namespace lutra::Impl {

inline constexpr int sweep_threads = 128;  ///< with 8 teams per multiprocessor, 64 registers per thread
inline constexpr unsigned all_lanes = 0xffffffffu;

inline constexpr int levels_in_flight = 4;  ///< reads of a batch; larger: more latency hidden, more registers

/// Largest level among every `stride`-th entry of a row from `t` on, for steps before `first`; the reads of a
/// batch are in flight together.
template <class Rows, class Blocks>
__device__ Ordinal greatest_level(const Rows& rows, const Blocks& blocks, const Ordinal* level, Ordinal row,
                                  Ordinal first, Offset t, Offset stride) {
  Ordinal greatest = -1;
  const Offset length = rows.length(row);
  while (t < length) {
    const Ordinal* position[levels_in_flight];
    Ordinal found[levels_in_flight];
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u, t += stride) {
      position[u] = nullptr;
      found[u] = 0;
      const Ordinal dependency = t < length ? rows.dependency(row, t) : first;
      if (dependency < first) position[u] = level + blocks.block(dependency);
    }
    bool waiting = true;
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      if (position[u] != nullptr) found[u] = read_level(position[u]);
    }
    while (waiting) {
      waiting = false;
#pragma unroll
      for (int u = 0; u < levels_in_flight; ++u) {
        if (found[u] < 0) found[u] = read_level(position[u]);
      }
#pragma unroll
      for (int u = 0; u < levels_in_flight; ++u) waiting = waiting || found[u] < 0;
    }
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      if (position[u] != nullptr && found[u] > greatest) greatest = found[u];
    }
    if (position[levels_in_flight - 1] == nullptr) break;
  }
  return greatest;
}

/// Length from which on a row takes more than one lane.
inline constexpr std::int64_t long_row = 64;

/// Levels of 32 consecutive rows in a warp, one row per lane. Levels of the warp's own rows pass between
/// lanes by shuffles, repeated while any row advances, before levels of other rows are polled in memory,
/// which takes ten times as long.
template <class Rows>
class RowSweep {
 public:
  __device__ RowSweep(const Rows& rows, Ordinal* level, Ordinal first)
      : m_rows(rows), m_level(level), m_first(first), m_step(first + static_cast<Ordinal>(threadIdx.x % 32)) {
    const bool active = m_step < rows.n;
    m_row = active ? rows.mirrored(m_step) : Ordinal(0);
    m_length = active ? rows.length(m_row) : Offset(0);
    m_own = active ? Ordinal(-1) : Ordinal(0);
    load();
  }

  /// @returns the last of their levels, to all lanes
  __device__ int run() {
    while (__any_sync(all_lanes, m_own < 0)) {
      look_elsewhere();
      while (pass_on()) {
      }
    }
    return static_cast<int>(__reduce_max_sync(all_lanes, static_cast<int>(m_own)));
  }

 private:
  /// Loads the next steps whose levels the lane needs. Entries are in the order of steps, so the last ones to
  /// become known come last.
  __device__ void load() {
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u, ++m_taken)
      m_pending[u] = m_taken < m_length ? m_rows.dependency(m_row, m_taken) : Ordinal(-1);
  }

  __device__ void settle(int u, Ordinal found) {
    m_greatest = found > m_greatest ? found : m_greatest;
    m_pending[u] = -1;
  }

  /// Polls levels of rows before the warp's own; all reads of a lane are in flight together.
  __device__ void look_elsewhere() {
    Ordinal found[levels_in_flight];
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      const Ordinal wanted = m_pending[u];
      found[u] = wanted >= 0 && wanted < m_first ? read_level(m_level + wanted) : Ordinal(-1);
    }
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      if (found[u] >= 0) settle(u, found[u]);
    }
  }

  /// Receives levels from other lanes, then advances lanes that wait for nothing more.
  /// @returns whether any lane advanced
  __device__ bool pass_on() {
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) {
      const Ordinal wanted = m_pending[u];
      if (!__any_sync(all_lanes, wanted >= m_first)) continue;
      const Ordinal found = __shfl_sync(all_lanes, m_own, static_cast<int>((wanted - m_first) & 31));
      if (wanted >= m_first && found >= 0) settle(u, found);
    }
    bool waits = m_own >= 0;
#pragma unroll
    for (int u = 0; u < levels_in_flight; ++u) waits = waits || m_pending[u] >= 0;
    if (!waits) {
      if (m_taken < m_length) {
        load();
      } else {
        m_own = m_greatest + 1;
        *static_cast<volatile Ordinal*>(m_level + m_step) = m_own;
      }
    }
    return __any_sync(all_lanes, !waits);
  }

  const Rows& m_rows;
  Ordinal* m_level;
  Ordinal m_first, m_step, m_row, m_greatest = -1, m_own;
  Offset m_length, m_taken = 0;         ///< entries of the row; entries already looked up
  Ordinal m_pending[levels_in_flight];  ///< steps whose levels the lane waits for; −1: none
};

/// The largest level that a block depends on, by `threads` threads (a warp or the team), divided evenly among
/// its rows.
template <int threads, class Rows, class Blocks>
__device__ Ordinal greatest_of_block(const Rows& rows, const Blocks& blocks, const Ordinal* level, Ordinal b,
                                     int* of_warp) {
  const int lane = static_cast<int>(threadIdx.x) % threads;
  Ordinal greatest = -1;
  if (b < blocks.size()) {
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
    for (int w = 0; w < threads / 32; ++w) greatest = of_warp[w] > greatest ? Ordinal(of_warp[w]) : greatest;
  }
  return greatest;
}

/// Calls work(number) for successive tickets. Tickets are issued in order, so the work that a team polls for
/// belongs to running teams.
template <class Work>
__device__ void work_by_tickets(Ordinal* last_ticket, Ordinal count, const Work& work) {
  __shared__ Ordinal taken;
  for (;;) {
    const Ordinal number = take_ticket_of_block(last_ticket, taken) + 1;
    if (number >= count) return;
    work(number);
  }
}

/// Levels of rows or blocks; the shorter the rows on average, the fewer threads per row.
/// @param single whether the blocks are single rows
template <bool single, class Rows, class Leveled>
__device__ void sweep_leveled(const Rows& rows, const Leveled& leveled, const RowSummary& lengths,
                              std::int64_t* last_level) {
  __shared__ int of_warp[sweep_threads / 32];
  const auto& blocks = leveled.blocks;
  Ordinal* const level = leveled.level.data();
  Ordinal* const ticket = leveled.ticket.data();
  const Ordinal count = blocks.size(), warp = static_cast<Ordinal>(threadIdx.x / 32);
  constexpr auto warps = static_cast<Ordinal>(sweep_threads / 32);
  const auto n = static_cast<std::int64_t>(rows.n);
  if (single && lengths.total < 12 * n && lengths.longest < long_row) {
    const Ordinal rows_a_ticket = sweep_threads;
    work_by_tickets(ticket, (count + rows_a_ticket - 1) / rows_a_ticket, [&](Ordinal number) {
      const int last = RowSweep<Rows>(rows, level, number * rows_a_ticket + warp * 32).run();
      if (threadIdx.x % 32 == 0) note_level(last_level, static_cast<std::int64_t>(last));
    });
    return;
  }
  const auto finish = [&](Ordinal b, Ordinal greatest, bool leads) {
    if (!leads || b >= count) return;
    *static_cast<volatile Ordinal*>(level + b) = greatest + 1;
    note_level(last_level, static_cast<std::int64_t>(greatest + 1));
  };
  if (single || lengths.total < 24 * n) {
    work_by_tickets(ticket, (count + warps - 1) / warps, [&](Ordinal number) {
      const Ordinal b = number * warps + warp;
      finish(b, greatest_of_block<32>(rows, blocks, level, b, of_warp), threadIdx.x % 32 == 0);
    });
  } else {
    work_by_tickets(ticket, count, [&](Ordinal b) {
      finish(b, greatest_of_block<sweep_threads>(rows, blocks, level, b, of_warp), threadIdx.x == 0);
    });
  }
}

/// Levels of rows and of blocks. If there are blocks, thread blocks of odd number search their levels, all
/// others those of rows.
template <class Rows, class Leveled>
__global__ void __launch_bounds__(sweep_threads, 8)
    sweep_levels_kernel(Rows rows, Leveled single, Leveled blocked, TriangleStatistics* statistics) {
  const RowSummary lengths = statistics->rows;
  if (statistics->blocks > 0 && blockIdx.x % 2 == 1) {
    sweep_leveled<false>(rows, blocked, lengths, &statistics->last_block_level);
  } else {
    sweep_leveled<true>(rows, single, lengths, &statistics->last_row_level);
  }
}

/// Like sweep_all_levels_portable, for rows and (unless they are empty) blocks at the same time.
inline void sweep_all_levels(const Kokkos::Cuda& exec, const RowAccess& rows,
                             const Groupings<Kokkos::CudaSpace>& found, double) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::levels");
  // As many teams as the launch bound makes resident, and at least a row per warp.
  constexpr std::int64_t teams_a_multiprocessor = 8, min_rows_a_team = sweep_threads / 32;
  const std::int64_t most = teams_a_multiprocessor * exec.cuda_device_prop().multiProcessorCount;
  const std::int64_t wanted = (static_cast<std::int64_t>(rows.n) + min_rows_a_team - 1) / min_rows_a_team;
  const auto teams = static_cast<unsigned>(2 * std::min(wanted, most / 2));
  sweep_levels_kernel<<<teams, sweep_threads, 0, exec.cuda_stream()>>>(rows, found.single, found.blocked,
                                                                       found.statistics.data());
}

}  // namespace lutra::Impl

#endif
