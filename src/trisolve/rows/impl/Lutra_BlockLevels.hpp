// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKLEVELS_HPP
#define LUTRA_BLOCKLEVELS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TriangleRowsView.hpp"
#include "Lutra_TriangleStatistics.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

/// Partition of the steps into blocks of consecutive steps. Empty Views: one step per block.
template <class Memory>
struct StepBlocks {
  Ordinal count = 0;                              ///< an upper bound while only the device knows the number
  const std::int64_t* counted = nullptr;          ///< number of blocks on the device; null: `count`
  Kokkos::View<const Ordinal*, Memory> begin;     ///< [count + 1] first step of each block
  Kokkos::View<const Ordinal*, Memory> block_of;  ///< [n] block of each step
  Kokkos::View<const Ordinal*, Memory> longest;   ///< [count] entries of its longest row outside the block

  KOKKOS_FORCEINLINE_FUNCTION Ordinal size() const {
    return counted == nullptr ? count : static_cast<Ordinal>(*counted);
  }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal first_step(Ordinal b) const {
    return begin.extent(0) == 0 ? b : begin(b);
  }
  KOKKOS_FORCEINLINE_FUNCTION Ordinal block(Ordinal step) const {
    return block_of.extent(0) == 0 ? step : block_of(step);
  }
};

/// Blocks with their levels.
template <class Memory>
struct LeveledBlocks {
  StepBlocks<Memory> blocks;
  Kokkos::View<Ordinal*, Memory> level;   ///< [blocks.count]; −1 while unknown during the search
  Kokkos::View<Ordinal*, Memory> ticket;  ///< [1] last ticket taken during the search for levels
  Ordinal levels = 0;                     ///< number of levels, once known to the host
};

/// Input of the choice of a method.
template <class Memory>
struct Groupings {
  LeveledBlocks<Memory> single, blocked;  ///< single rows; blocks, empty if not wanted
  StatisticsView<Memory> statistics;
};

template <class Level>
KOKKOS_FORCEINLINE_FUNCTION Level read_level(const Level* position) {
  return *static_cast<const volatile Level*>(position);
}

/// Raises `last` to at least a level.
template <class Level>
KOKKOS_FORCEINLINE_FUNCTION void note_level(Level* last, Level level) {
  if (read_level(last) < level) Kokkos::atomic_max(last, level);
}

/// Limits the waits of a search for levels, by the first steps of the blocks that wait.
using LevelWatchdog = Watchdog<std::int64_t, 0>;

/// Computes the levels of blocks in one launch, like a synchronization-free solve: the level of a block is
/// one more than the largest level it depends on, and serves as its own flag (−1: unknown). Teams take
/// tickets in order, so a team polls only for blocks of teams that are already running. A lane does not spin
/// on one level but rereads it in the next pass of its loop, so that lanes that advance in lockstep cannot
/// block each other.
///
/// @param leveled    levels all −1 on entry, from 0 on return; ticket −1 on entry
/// @param last_level nonnegative on entry; at least the largest level on return
/// @param watchdog   ends the search if a block waits too long; the levels are then meaningless
template <class ExecutionSpace>
void sweep_levels_portable(const ExecutionSpace& exec, const RowAccess& rows,
                           const LeveledBlocks<typename ExecutionSpace::memory_space>& leveled,
                           std::int64_t* last_level, const LevelWatchdog& watchdog) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  constexpr int chunk = 32;  // blocks of a ticket: one per lane of a warp
  const auto blocks = leveled.blocks;
  const auto level = leveled.level, ticket = leveled.ticket;
  const auto teams = static_cast<std::int64_t>((blocks.count + chunk - 1) / chunk);
  const int vector_length = vector_length_for<ExecutionSpace>(chunk);
  Kokkos::parallel_for(
      "lutra::trisolve::levels", Policy(exec, static_cast<int>(teams), 1, vector_length),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        Ordinal taken = 0;
        Kokkos::single(
            Kokkos::PerTeam(team),
            [&](Ordinal& value) { value = fetch_add_shared<ExecutionSpace>(ticket(0), Ordinal(1)) + 1; },
            taken);
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, chunk), [&](const int lane) {
          const Ordinal b = taken * chunk + lane;
          if (b >= blocks.size()) return;
          const Ordinal first = blocks.first_step(b), last = blocks.first_step(b + 1);
          Ordinal step = first, greatest = -1;
          Offset t = 0;
          bool done = false;
          WaitTimer<> timer;
          unsigned readings = 0;
          while (!done) {
            if (step == last) {
              *static_cast<volatile Ordinal*>(&level(b)) = greatest + 1;
              note_level(last_level, static_cast<std::int64_t>(greatest + 1));
              done = true;
            } else if (t == rows.length(rows.mirrored(step)) ||
                       rows.dependency(rows.mirrored(step), t) >= first) {
              ++step;
              t = 0;
            } else {
              const Ordinal found = read_level(&level(blocks.block(rows.dependency(rows.mirrored(step), t))));
              if (found > greatest) greatest = found;
              if (found >= 0) {
                ++t;
              } else if (++readings % 256 == 0) {
                if (watchdog.ends(timer, static_cast<std::int64_t>(first))) step = last;
                yield_to_others();
              }
            }
          }
        });
      });
}

}  // namespace lutra::Impl

#endif
