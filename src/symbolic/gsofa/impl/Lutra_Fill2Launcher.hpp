// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2LAUNCHER_HPP
#define LUTRA_FILL2LAUNCHER_HPP

#include <algorithm>

#include "Lutra_Arena.hpp"
#include "Lutra_Fill2.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// The portable search as used by `Fill2Method`: bytes of a workspace slot, number of concurrent searches,
/// launch of a range of sources. Lutra_Fill2Cuda.hpp has a version for CUDA.
template <class ExecutionSpace>
struct Fill2Launcher {
  using Memory = typename ExecutionSpace::memory_space;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;
  using Launch = Fill2Launch<ExecutionSpace>;
  using Search = Fill2Search<ExecutionSpace>;
  using Slots = typename Search::Slots;
  using Bytes = typename Arena<Memory>::Bytes;

  // Threads per team on a device. Frontiers of sparse factors rarely hold more edges than two warps can
  // process.
  static constexpr int team_threads = team_width<ExecutionSpace>(64);

  Slots slots;
  bool window_labels = true;
  std::size_t bound = 0;  ///< all sources of the present range are below it

  Fill2Kernel kernel() const { return Fill2Kernel::portable; }

  void prepare(const ExecutionSpace&, const Pattern&, const Fill2Options& options, MemoryReservation&,
               const MemoryBudget&) {
    window_labels = options.window_labels;
  }

  /// Number of concurrent searches.
  std::size_t running(const ExecutionSpace& exec) const {
    return std::max<std::size_t>(1, static_cast<std::size_t>(exec.concurrency()) / team_threads);
  }

  /// Bytes of a slot for sources below `sources`, of a matrix of n rows.
  std::size_t slot_bytes(std::size_t n, std::size_t sources) const { return Slots::bytes_each(n, sources); }

  /// Bytes an arena should have if slots for all teams take `for_teams`.
  std::size_t arena_bytes(std::int64_t, std::size_t, std::size_t for_teams) const { return for_teams; }

  /// Groups of sources that fit in the arena; 0 if groups do not pay off.
  std::size_t group_slots(std::int64_t, std::size_t, std::size_t) const { return 0; }

  /// Searches by groups. @returns whether the rows of all sources have been found
  bool search_groups(const ExecutionSpace&, const Bytes&, std::size_t, const Launch&, Fill2Statistics&) {
    return false;
  }

  /// Allocates `teams` slots from the arena, for a matrix of n rows and sources below `sources`.
  void divide(const ExecutionSpace& exec, Arena<Memory>& arena, std::size_t teams, std::size_t n,
              std::size_t sources) {
    using Bits = TeamBits<Memory>;
    const std::size_t words = Bits::words_for(n), active = Bits::words_for(sources);
    slots.max_id = arena.template cut<decltype(slots.max_id)>(teams, sources);
    slots.windows = arena.template cut<decltype(slots.windows)>(teams);
    slots.found = {arena.template cut<decltype(slots.found.words)>(teams, words),
                   arena.template cut<decltype(slots.found.words)>(teams, Bits::words_for(words))};
    slots.active = {arena.template cut<decltype(slots.found.words)>(teams, active),
                    arena.template cut<decltype(slots.found.words)>(teams, Bits::words_for(active))};
    slots.positions = arena.template cut<decltype(slots.positions)>(teams, 2 * words);
    slots.found.empty(exec);
    slots.active.empty(exec);
    // No window is left, so that each team resets its labels before its first source.
    using Label = typename Slots::Label;
    Kokkos::deep_copy(exec, slots.windows, static_cast<Label>(~Label(0) / static_cast<Label>(n) - 1));
  }

  void launch(const ExecutionSpace& exec, const Launch& launch) {
    const double mean =
        static_cast<double>(launch.pattern.nnz()) / static_cast<double>(launch.pattern.n_rows);
    const int width = std::min(vector_length_for<ExecutionSpace>(mean), team_threads);
    const auto teams = std::min(static_cast<std::int64_t>(slots.teams()),
                                static_cast<std::int64_t>(launch.end_position - launch.first_position));
    Kokkos::TeamPolicy<ExecutionSpace> policy(exec, static_cast<int>(teams), team_threads / width, width);
    policy.set_scratch_size(0, Kokkos::PerTeam(sizeof(typename Search::RowState) + 16));
    Kokkos::parallel_for(launch.store ? "lutra::symbolic::fill2_positions" : "lutra::symbolic::fill2_counts",
                         policy, Search{launch, slots, window_labels});
  }
};

template <class ExecutionSpace>
Fill2Launcher<ExecutionSpace> make_fill2_launcher(const ExecutionSpace&) {
  return {};
}

}  // namespace lutra::Impl

#endif
