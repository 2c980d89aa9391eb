// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEGROUPS_HPP
#define LUTRA_TRIANGLEGROUPS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_HostSubstitution.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RowBlocks.hpp"
#include "Lutra_TriangleSchedule.hpp"
#include "Lutra_TrisolveModel.hpp"

namespace lutra::Impl {

/// Sums the lengths of valid rows.
template <class Rows>
struct MeasureRows {
  using value_type = RowSummary;
  Rows rows;

  KOKKOS_FUNCTION void init(value_type& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(value_type& sum, const value_type& other) const { sum.join(other); }
  KOKKOS_FUNCTION void operator()(const Ordinal row, value_type& sum) const {
    const auto length = static_cast<std::int64_t>(rows.length(row));
    sum.join({value_type().fault, length, length});
  }
};

/// Statistics of a triangle with the part `rows` filled in once queued work has run.
template <class ExecutionSpace, class Rows>
StatisticsView<typename ExecutionSpace::memory_space> statistics_of_rows(const ExecutionSpace& exec,
                                                                         const Rows& whole,
                                                                         MemoryReservation& reservation) {
  if (whole.statistics.data() != nullptr) return whole.statistics;
  const auto statistics = allocate_statistics(exec, reservation);
  const auto rows = whole.access();
  Kokkos::parallel_reduce("lutra::trisolve::measure_rows",
                          Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
                          MeasureRows<decltype(whole.access())>{rows}, summary_of(statistics));
  return statistics;
}

/// Levels of the rows on a device.
template <class ExecutionSpace>
void sweep_row_levels(const ExecutionSpace& exec, const RowAccess& rows,
                      const LeveledBlocks<typename ExecutionSpace::memory_space>& single,
                      std::int64_t* last_level, const LevelWatchdog& watchdog) {
  sweep_levels_portable(exec, rows, single, last_level, watchdog);
}
/// Overload for hosts, where one thread takes the rows in their order.
template <HostExecution ExecutionSpace>
void sweep_row_levels(const ExecutionSpace& exec, const RowAccess& rows,
                      const LeveledBlocks<typename ExecutionSpace::memory_space>& single,
                      std::int64_t* last_level, const LevelWatchdog&) {
  exec.fence("lutra::trisolve: the host reads the pattern");
  *last_level = static_cast<std::int64_t>(find_levels_in_order(rows, single.level)) - 1;
}

/// Levels of the rows, and of the blocks if there are any, by portable kernels. Does not fence on devices.
template <class ExecutionSpace>
void sweep_all_levels_portable(const ExecutionSpace& exec, const RowAccess& rows,
                               const Groupings<typename ExecutionSpace::memory_space>& found,
                               double watchdog_seconds) {
  TriangleStatistics* const statistics = found.statistics.data();
  const LevelWatchdog watchdog{&statistics->stopped, watchdog_ticks<ExecutionSpace>(watchdog_seconds)};
  sweep_row_levels(exec, rows, found.single, &statistics->last_row_level, watchdog);
  if (found.blocked.blocks.count > 0)
    sweep_levels_portable(exec, rows, found.blocked, &statistics->last_block_level, watchdog);
}

/// Levels with the kernels of a space. This overload is for spaces with only portable ones.
template <class ExecutionSpace>
void sweep_all_levels(const ExecutionSpace& exec, const RowAccess& rows,
                      const Groupings<typename ExecutionSpace::memory_space>& found,
                      double watchdog_seconds) {
  sweep_all_levels_portable(exec, rows, found, watchdog_seconds);
}

/// Adds the properties of blocks to the statistics. Does not fence on devices.
/// @param steps [n] zeros on entry; overwritten
template <class ExecutionSpace, class Rows, class Leveled, class StepsView, class Numbers>
void describe_blocks(const ExecutionSpace& exec, const Rows& rows, const Leveled& blocked,
                     const StepsView& steps, const Numbers& statistics) {
  const auto blocks = blocked.blocks;
  const auto level = blocked.level;
  Kokkos::parallel_for(
      "lutra::trisolve::describe_blocks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal b) {
        if (b >= blocks.size()) return;
        const std::int64_t longest = longest_row(rows, blocks, b);
        const auto size = static_cast<int>(blocks.first_step(b + 1) - blocks.first_step(b));
        const BlockShape block = shape_for(size, longest, true);
        const auto lane_steps = static_cast<Ordinal>((longest + block.lanes() - 1) / block.lanes());
        if (lane_steps > steps(level(b))) {
          const Ordinal before = Kokkos::atomic_fetch_max(&steps(level(b)), lane_steps);
          if (lane_steps > before) {
            Kokkos::atomic_add(&statistics().critical_steps, static_cast<std::int64_t>(lane_steps - before));
          }
        }
        if (block.is_wide()) Kokkos::atomic_add(&statistics().wide_blocks, std::int64_t(1));
      });
}

/// Successive subarrays of `unknown` for the search for levels.
template <class Memory>
void take_level_arrays(const Kokkos::View<Ordinal*, Memory>& unknown, std::size_t first, std::size_t n,
                       LeveledBlocks<Memory>& leveled) {
  leveled.level = Kokkos::subview(unknown, Kokkos::make_pair(first, first + n));
  leveled.ticket = Kokkos::subview(unknown, Kokkos::make_pair(first + n, first + n + 1));
}

/// Single rows and, if wanted, blocks, both with their levels; only the statistics hold the numbers of levels
/// and blocks. Does not fence on devices.
/// @param options   method automatic: blocks if they may be faster; supernodal: blocks; others: none
/// @param partition first rows of supernodes, which the blocks are; empty: blocks are searched
template <class ExecutionSpace>
Groupings<typename ExecutionSpace::memory_space> group_rows(
    const ExecutionSpace& exec, const TriangleRows<typename ExecutionSpace::memory_space>& whole,
    const TriangularOptions& options,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& partition,
    MemoryReservation& reservation) {
  const TrisolveMethod method = options.method;
  using Memory = typename ExecutionSpace::memory_space;
  using View = Kokkos::View<Ordinal*, Memory>;
  Groupings<Memory> found;
  const bool asked_for = method == TrisolveMethod::supernodal;
  const bool with_blocks =
      asked_for || (method == TrisolveMethod::automatic && !is_host_space<ExecutionSpace>);
  found.statistics = statistics_of_rows(exec, whole, reservation);
  found.single.blocks.count = whole.n;
  const auto rows = whole.access();
  const auto n = static_cast<std::size_t>(whole.n);
  const std::size_t unknowns = (with_blocks ? 2 : 1) * (n + 1), zeros = with_blocks ? n : 0;
  const auto pool = reservation.allocate<View>(exec, "lutra::trisolve::level", unknowns + zeros);
  const auto statistics = found.statistics;
  Kokkos::parallel_for(
      "lutra::trisolve::clear",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(unknowns + zeros)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        pool(i) = static_cast<std::size_t>(i) < unknowns ? -1 : 0;
        if (i == 0) statistics().clear_all_but_rows();
      });
  take_level_arrays(pool, 0, n, found.single);
  if (with_blocks) {
    take_level_arrays(pool, n + 1, n, found.blocked);
    found.blocked.blocks = find_row_blocks(exec, rows, found.statistics, asked_for, partition, reservation);
  }
  if (options.portable) {
    sweep_all_levels_portable(exec, rows, found, options.watchdog_seconds);
  } else {
    sweep_all_levels(exec, rows, found, options.watchdog_seconds);
  }
  if (with_blocks) {
    const auto steps = Kokkos::subview(pool, Kokkos::make_pair(unknowns, unknowns + zeros));
    describe_blocks(exec, rows, found.blocked, steps, found.statistics);
  }
  return found;
}

/// Copies the numbers of levels and blocks into the groupings.
template <class Groupings>
void adopt_statistics(Groupings& found, const TriangleStatistics& statistics) {
  found.single.levels = static_cast<Ordinal>(statistics.last_row_level + 1);
  if (found.blocked.blocks.count == 0) return;
  found.blocked.levels = static_cast<Ordinal>(statistics.last_block_level + 1);
  found.blocked.blocks.count = static_cast<Ordinal>(statistics.blocks);
  found.blocked.blocks.counted = nullptr;
}

}  // namespace lutra::Impl

#endif
