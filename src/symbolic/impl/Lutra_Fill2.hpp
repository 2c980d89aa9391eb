// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2_HPP
#define LUTRA_FILL2_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_CsrView.hpp"
#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// What one team needs to search from a row. All of it is reused from row to row: `fill` never needs
/// clearing, because each row marks with its own number, and a search leaves `pending` empty.
template <class Ordinal, class MemorySpace>
struct Fill2Workspaces {
  Kokkos::View<Ordinal**, Kokkos::LayoutRight, MemorySpace>
      fill;  ///< (team, vertex): last source that met it
  Kokkos::View<Ordinal**, Kokkos::LayoutRight, MemorySpace>
      queue;  ///< (team, ·): vertices met under a threshold
  Kokkos::View<std::uint64_t**, Kokkos::LayoutRight, MemorySpace>
      pending;  ///< (team, ·): bit set of L still to expand

  static std::size_t words(std::size_t n) { return (n + 63) / 64; }
  static std::size_t bytes_each(std::size_t n) {
    return 2 * n * sizeof(Ordinal) + words(n) * sizeof(std::uint64_t);
  }
};

/// Search from source rows after fill2 ("End-to-End LU Factorization …", Algorithm 1): an entry (src, w) of L
/// + U is a path in A from src to w through vertices smaller than both. Thresholds are the entries of L(src,
/// :) in ascending order; from each, vertices below it are walked through and vertices above it are new
/// entries.
///
/// Departures from the paper: the next threshold is found in a bit set instead of by a scan over `fill`, and
/// a team takes its next row from a counter, so that long rows at the end do not wait behind each other.
template <class Ordinal, class Offset, class ExecutionSpace>
struct Fill2Search {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  /// Variables a team shares while it searches from one row.
  struct RowState {
    Ordinal source;
    Ordinal queue_end;  ///< one past the last vertex in the queue
    Offset n_lower;     ///< entries of L found
    Offset n_upper;     ///< entries of U found, the diagonal among them
  };

  CsrPattern<Ordinal, Offset, Memory> pattern;
  Fill2Workspaces<Ordinal, Memory> workspaces;
  Kokkos::View<Ordinal, Memory> next_row;       ///< row the next idle team takes
  Ordinal end_row;                              ///< rows from here on belong to a later chunk
  Kokkos::View<Offset*, Memory> lower_counts;   ///< [n] out in stage one
  Kokkos::View<Offset*, Memory> counts;         ///< [n] out in stage one, all of L + U
  Kokkos::View<const Offset*, Memory> row_map;  ///< [n + 1] in, stage two only
  Kokkos::View<Ordinal*, Memory> entries;       ///< out in stage two, rows unsorted
  bool store;                                   ///< stage two

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* state = static_cast<RowState*>(team.team_shmem().get_shmem(sizeof(RowState)));
    const auto slot = static_cast<std::size_t>(team.league_rank());
    while (true) {
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        *state = {fetch_add_shared<ExecutionSpace>(next_row(), Ordinal(1)), 0, 0, 0};
      });
      team.team_barrier();
      const Ordinal source = state->source;
      if (source >= end_row) return;
      search(team, slot, source, *state);
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        if (!store) {
          lower_counts(source) = state->n_lower;
          counts(source) = state->n_lower + state->n_upper;
        }
      });
      team.team_barrier();  // the counts are read before the next row resets them
    }
  }

  KOKKOS_FUNCTION void search(const Team& team, std::size_t slot, Ordinal source, RowState& state) const {
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      workspaces.fill(slot, source) = source;
      add_entry(slot, source, source, state);
    });
    team.team_barrier();
    const Offset begin = pattern.row_map(source), end = pattern.row_map(source + 1);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, begin, end), [&](const Offset p) {
      const Ordinal v = pattern.entries(p);
      if (mark(slot, v, source)) add_entry(slot, source, v, state);
    });
    team.team_barrier();
    const auto last_word = static_cast<std::size_t>(source) / 64;
    for (std::size_t word = next_word(team, slot, 0, last_word); word <= last_word;
         word = next_word(team, slot, word, last_word)) {
      const Ordinal threshold = take_lowest(team, slot, word);
      expand(team, slot, source, threshold, state);
    }
  }

  /// Walks through all vertices below `threshold` that can be reached from it, level by level of the search.
  KOKKOS_FUNCTION void expand(const Team& team, std::size_t slot, Ordinal source, Ordinal threshold,
                              RowState& state) const {
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      workspaces.queue(slot, 0) = threshold;
      state.queue_end = 1;
    });
    team.team_barrier();
    Ordinal frontier_begin = 0, frontier_end = 1;
    while (frontier_begin < frontier_end) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, frontier_begin, frontier_end), [&](const Ordinal f) {
        const Ordinal v = workspaces.queue(slot, f);
        const Offset begin = pattern.row_map(v), end = pattern.row_map(v + 1);
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin, end), [&](const Offset p) {
          const Ordinal w = pattern.entries(p);
          if (!mark(slot, w, source)) return;
          if (w > threshold) {
            add_entry(slot, source, w, state);
          } else {
            workspaces.queue(slot, add_in_team(state.queue_end, Ordinal(1))) = w;
          }
        });
      });
      team.team_barrier();  // the queue and its end are complete
      frontier_begin = frontier_end;
      frontier_end = state.queue_end;
      team.team_barrier();  // everyone has read the end before anyone pushes again
    }
  }

  /// Marks `v` as met by `source`; true for the one thread that did it.
  KOKKOS_FUNCTION bool mark(std::size_t slot, Ordinal v, Ordinal source) const {
    Ordinal& place = workspaces.fill(slot, v);
    if (place == source) return false;
    if constexpr (is_host_space<ExecutionSpace>) {
      place = source;
      return true;
    } else {
      return Kokkos::atomic_exchange(&place, source) != source;
    }
  }

  KOKKOS_FUNCTION void add_entry(std::size_t slot, Ordinal source, Ordinal w, RowState& state) const {
    const bool lower = w < source;
    if (lower) set_pending(slot, w);
    const Offset before = add_in_team(lower ? state.n_lower : state.n_upper, Offset(1));
    // L grows from the start of the row and U from its end, so that the two need no common counter.
    if (store) entries(lower ? row_map(source) + before : row_map(source + 1) - 1 - before) = w;
  }

  KOKKOS_FUNCTION void set_pending(std::size_t slot, Ordinal v) const {
    std::uint64_t& word = workspaces.pending(slot, static_cast<std::size_t>(v) / 64);
    const std::uint64_t bit = std::uint64_t(1) << (static_cast<std::uint64_t>(v) % 64);
    if constexpr (is_host_space<ExecutionSpace>) {
      word |= bit;
    } else {
      Kokkos::atomic_fetch_or(&word, bit);
    }
  }

  /// The first word of the bit set from `word` on that is not empty, or last_word + 1.
  KOKKOS_FUNCTION std::size_t next_word(const Team& team, std::size_t slot, std::size_t word,
                                        std::size_t last_word) const {
    const auto width = static_cast<std::size_t>(team.team_size());
    for (; word <= last_word; word += width) {
      const std::size_t end = word + width <= last_word + 1 ? word + width : last_word + 1;
      std::size_t first = last_word + 1;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, word, end),
          [&](const std::size_t k, std::size_t& least) {
            if (workspaces.pending(slot, k) != 0 && k < least) least = k;
          },
          Kokkos::Min<std::size_t>(first));
      if (first < end) return first;
    }
    return last_word + 1;
  }

  /// Removes the lowest vertex from a word of the bit set that is not empty.
  KOKKOS_FUNCTION Ordinal take_lowest(const Team& team, std::size_t slot, std::size_t word) const {
    const std::uint64_t bits = workspaces.pending(slot, word);
    team.team_barrier();  // everyone has read the word before it changes
    Kokkos::single(Kokkos::PerTeam(team), [&]() { workspaces.pending(slot, word) = bits & (bits - 1); });
    const auto lowest = static_cast<std::size_t>(Kokkos::countr_zero(bits));
    return static_cast<Ordinal>(word * 64 + lowest);
  }

  /// fetch_add on a variable only this team sees.
  template <class T>
  KOKKOS_FUNCTION static T add_in_team(T& counter, T value) {
    if constexpr (is_host_space<ExecutionSpace>) {
      const T before = counter;
      counter += value;
      return before;
    } else {
      return Kokkos::atomic_fetch_add(&counter, value);
    }
  }
};

}  // namespace lutra::Impl

#endif
