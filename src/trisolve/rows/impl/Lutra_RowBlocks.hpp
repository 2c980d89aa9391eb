// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWBLOCKS_HPP
#define LUTRA_ROWBLOCKS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_TrianglePlan.hpp"

namespace lutra::Impl {

inline constexpr int block_search_steps = 128;  ///< steps that one thread partitions into blocks

/// Properties of the steps of a segment, in team scratch, [block_search_steps] each. Steps are relative to
/// the first step of the segment.
struct SegmentProperties {
  int* needed_by;   ///< nearest later step of the segment that depends on the step; block_search_steps: none
  int* nearest;     ///< latest step of the segment that the step depends on; −1: none
  int* reach;       ///< last step of the block that would begin at the step
  Ordinal* length;  ///< entries of the step's row; later, at the first step of a block, entries outside it in
                    ///< its longest row, −1 elsewhere

  static constexpr std::size_t bytes = (3 * sizeof(int) + sizeof(Ordinal)) * block_search_steps;
  template <class Member>
  KOKKOS_FUNCTION explicit SegmentProperties(const Member& team)
      : needed_by(static_cast<int*>(team.team_scratch(0).get_shmem(std::size_t(bytes)))),
        nearest(needed_by + block_search_steps),
        reach(nearest + block_search_steps),
        length(reinterpret_cast<Ordinal*>(reach + block_search_steps)) {}
};

/// Finds the dependencies of step i within its segment. `needed_by` is block_search_steps throughout on
/// entry.
template <class Rows, class Properties>
KOKKOS_FUNCTION void find_step_properties(const Rows& rows, Ordinal begin, int i,
                                          const Properties& properties) {
  const auto row = rows.mirrored(begin + i);
  const Offset length = rows.length(row);
  properties.length[i] = static_cast<Ordinal>(length);
  properties.nearest[i] = -1;
  for (Offset t = length - 1; t >= 0; --t) {
    const auto dependency = rows.dependency(row, t);
    if (dependency < begin || begin + i - dependency >= max_block_rows) break;
    const auto step = static_cast<int>(dependency - begin);
    if (t == length - 1) properties.nearest[i] = step;
    Kokkos::atomic_min(&properties.needed_by[step], i);
  }
}

/// Last step of a block that begins at `first`. It is the last one such that either all steps of the block
/// but the last are needed by another step of the block (a subtree of an elimination tree with its root), or
/// all but the first need another one (a path from a root downwards). Then no row outside waits longer than
/// before: in a factor with the pattern of an elimination tree, whatever depends on a step of the block also
/// depends on its last step, or the block depends only on ancestors of its first. Rows much shorter than the
/// longest are excluded, which bounds the padding.
template <class Properties>
KOKKOS_FUNCTION int last_of_block(const Properties& properties, int first, int limit) {
  int best = first, farthest = properties.needed_by[first];
  std::int64_t longest = properties.length[first], total = longest;
  bool path = true;
  for (int step = first + 1; step < limit; ++step) {
    const std::int64_t length = properties.length[step];
    longest = length > longest ? length : longest;
    total += length;
    if ((step - first + 1) * longest > 3 * total + 256) break;
    path = path && properties.nearest[step] >= first;
    if (path || farthest <= step) best = step;
    if (!path && farthest >= limit) break;
    farthest = properties.needed_by[step] > farthest ? properties.needed_by[step] : farthest;
  }
  return best;
}

/// Partitions segments of steps into blocks of maximal length. Writes to `starts` [n], at the first step of a
/// block, the entries outside it in its longest row, and −1 elsewhere. Barriers separate the phases of a
/// segment, each of which reads what all threads wrote in the previous one.
template <class ExecutionSpace, class Rows, class View>
void cut_blocks(const ExecutionSpace& exec, const Rows& rows, const View& starts) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Properties = SegmentProperties;
  const auto segments = static_cast<int>((rows.n + block_search_steps - 1) / block_search_steps);
  const int threads = team_width<ExecutionSpace>(block_search_steps);
  const auto scratch = Kokkos::PerTeam(static_cast<int>(Properties::bytes));
  Kokkos::parallel_for(
      "lutra::trisolve::cut_blocks", Policy(exec, segments, threads, 1).set_scratch_size(0, scratch),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const Properties properties(team);
        const auto begin = static_cast<Ordinal>(team.league_rank()) * block_search_steps;
        const auto steps = static_cast<int>(Kokkos::min(rows.n - begin, Ordinal(block_search_steps)));
        const auto each = Kokkos::TeamThreadRange(team, steps);
        Kokkos::parallel_for(each, [&](const int i) { properties.needed_by[i] = block_search_steps; });
        team.team_barrier();
        Kokkos::parallel_for(each, [&](const int i) { find_step_properties(rows, begin, i, properties); });
        team.team_barrier();
        Kokkos::parallel_for(each, [&](const int i) {
          properties.reach[i] = last_of_block(properties, i, Kokkos::min(steps, i + max_block_rows));
        });
        team.team_barrier();
        Kokkos::parallel_for(each, [&](const int i) { properties.length[i] = -1; });
        team.team_barrier();
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          for (int first = 0; first < steps; first = properties.reach[first] + 1)
            properties.length[first] = 0;
        });
        team.team_barrier();
        Kokkos::parallel_for(each, [&](const int i) {
          int first = i;
          while (properties.length[first] < 0) --first;
          const auto outside = static_cast<Ordinal>(
              rows.length_before(rows.mirrored(begin + i), begin + first, max_block_rows));
          if (outside > 0) Kokkos::atomic_max(&properties.length[first], outside);
        });
        team.team_barrier();
        Kokkos::parallel_for(each, [&](const int i) { starts(begin + i) = properties.length[i]; });
      });
}

/// Cuts given supernodes into blocks of up to max_block_rows. A thread takes a supernode.
template <class Memory>
struct CutSupernodes {
  RowAccess rows;
  Kokkos::View<const Ordinal*, Memory> partition;  ///< [supernodes + 1] first rows; n at the end
  Kokkos::View<Ordinal*, Memory> starts;           ///< as by cut_blocks

  KOKKOS_FUNCTION void operator()(const Ordinal s) const {
    const Ordinal last = partition(s + 1) - 1;
    const Ordinal begin = rows.upper ? rows.mirrored(last) : partition(s),
                  end = begin + last + 1 - partition(s);
    for (Ordinal first = begin; first < end; first += max_block_rows) {
      Ordinal longest = 0;
      for (Ordinal step = first; step < end && step < first + max_block_rows; ++step) {
        const auto outside =
            static_cast<Ordinal>(rows.length_before(rows.mirrored(step), first, max_block_rows));
        longest = Kokkos::max(longest, outside);
        starts(step) = -1;
      }
      starts(first) = longest;
    }
  }
};

/// Scan that numbers the blocks. If there are hardly fewer blocks than rows, blocks gain nothing and are
/// dropped, unless requested.
template <class Memory>
struct NumberBlocks {
  using value_type = Ordinal;
  using View = Kokkos::View<Ordinal*, Memory>;
  Ordinal n;
  View starts, begin, block_of, longest;
  StatisticsView<Memory> statistics;
  bool asked_for;

  KOKKOS_FUNCTION void operator()(const Ordinal step, Ordinal& count, const bool final) const {
    const bool starts_here = starts(step) >= 0;
    if (starts_here) ++count;
    if (!final || count < 1 || count > n) return;  // out of range: the first pass was not launched
    block_of(step) = count - 1;
    if (starts_here) {
      begin(count - 1) = step;
      longest(count - 1) = starts(step);
    }
    if (step < n - 1) return;
    begin(count) = n;
    const auto blocks = static_cast<std::int64_t>(count);
    statistics().blocks = asked_for || 10 * blocks <= 9 * static_cast<std::int64_t>(n) ? blocks : 0;
  }
};

/// Partitions the steps into blocks of up to max_block_rows, those of `partition` if it is given. Stores
/// their number in `statistics`. Does not fence on devices. Cost: nearly linear in n; reads only entries less
/// than a block from the diagonal.
template <class ExecutionSpace>
StepBlocks<typename ExecutionSpace::memory_space> find_row_blocks(
    const ExecutionSpace& exec, const RowAccess& rows,
    const StatisticsView<typename ExecutionSpace::memory_space>& statistics, bool asked_for,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& partition,
    MemoryReservation& reservation) {
  using Memory = typename ExecutionSpace::memory_space;
  using View = Kokkos::View<Ordinal*, Memory>;
  const auto n = static_cast<std::size_t>(rows.n);
  const auto pool = reservation.allocate<View>(exec, "lutra::trisolve::row_blocks", 4 * n + 1);
  const auto part = [&](std::size_t from, std::size_t to) {
    return View(Kokkos::subview(pool, Kokkos::make_pair(from, to)));
  };
  const View begin = part(0, n + 1), starts = part(n + 1, 2 * n + 1);
  const View block_of = part(2 * n + 1, 3 * n + 1), longest = part(3 * n + 1, 4 * n + 1);
  if (partition.extent(0) == 0) {
    cut_blocks(exec, rows, starts);
  } else {
    const auto supernodes = static_cast<Ordinal>(partition.extent(0) - 1);
    Kokkos::parallel_for("lutra::trisolve::cut_supernodes",
                         Kokkos::RangePolicy<ExecutionSpace>(exec, 0, supernodes),
                         CutSupernodes<Memory>{rows, partition, starts});
  }
  check_launches_on<ExecutionSpace>();
  Kokkos::parallel_scan(
      "lutra::trisolve::number_blocks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      NumberBlocks<Memory>{rows.n, starts, begin, block_of, longest, statistics, asked_for});
  check_launches_on<ExecutionSpace>();  // before the numbers are indices
  StepBlocks<Memory> blocks;
  blocks.count = rows.n;
  blocks.counted = &statistics.data()->blocks;
  blocks.begin = begin;
  blocks.block_of = block_of;
  blocks.longest = longest;
  return blocks;
}

}  // namespace lutra::Impl

#endif
