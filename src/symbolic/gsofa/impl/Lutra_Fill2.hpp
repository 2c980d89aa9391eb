// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2_HPP
#define LUTRA_FILL2_HPP

#include <cstdint>
#include <type_traits>

#include "Lutra_CsrView.hpp"
#include "Lutra_RelaxedAccess.hpp"
#include "Lutra_RunControl.hpp"
#include "Lutra_TeamBits.hpp"
#include "Lutra_WordBits.hpp"

namespace lutra::Impl {

/// Workspace of a launch's searches, one slot per team. Between sources everything except `max_id` is empty;
/// `max_id` needs no clearing.
template <class MemorySpace>
struct Fill2Slots {
  /// Windowed labels (GSoFa, section 4): the k-th source of a slot writes labels offset by greatest − (k +
  /// 1)·n. All older ones are greater and count as unset, so that labels are reset only when the range is
  /// exhausted.
  using Label = std::make_unsigned_t<Ordinal>;
  /// (team, v): least maximum of a path to v
  Kokkos::View<Label**, Kokkos::LayoutRight, MemorySpace> max_id;
  Kokkos::View<Label*, MemorySpace> windows;  ///< [teams] windows used since the last reset of labels
  TeamBits<MemorySpace> found;                ///< entries of the row
  TeamBits<MemorySpace> active;               ///< vertices still to be expanded
  Kokkos::View<Ordinal**, Kokkos::LayoutRight, MemorySpace>
      positions;  ///< (team, 2·words): see TeamBits::locate

  std::size_t teams() const { return max_id.extent(0); }

  /// Bytes of one slot for sources below `sources` in a matrix of n rows: vertices from the source on are
  /// never expanded, so they have no label (bubble removal, GSoFa, section 6).
  static std::size_t bytes_each(std::size_t n, std::size_t sources) {
    return sources * sizeof(Label) + TeamBits<MemorySpace>::bytes_each(n) +
           TeamBits<MemorySpace>::bytes_each(sources) +
           2 * TeamBits<MemorySpace>::words_for(n) * sizeof(Ordinal) + sizeof(Label);
  }
};

/// Rows kept by the count pass, in arbitrary order, so that the fill pass need not search them again.
template <class MemorySpace>
struct KeptRows {
  Kokkos::View<Ordinal*, MemorySpace> entries;
  /// Entries requested so far, including those that exceeded the capacity
  Kokkos::View<Offset, MemorySpace> end;
  /// [n] start of a row in `entries`, -1 if not kept
  Kokkos::View<Offset*, MemorySpace> begin;
};

/// The sources of a launch, and the destination of their rows. The same for all kernels.
template <class ExecutionSpace>
struct Fill2Launch {
  using Memory = typename ExecutionSpace::memory_space;

  CsrPattern<Ordinal, Offset, Memory> pattern;
  Kokkos::View<Ordinal, Memory> next;            ///< sources taken so far
  Ordinal first_position = 0, end_position = 0;  ///< positions in `sources`
  Kokkos::View<const Ordinal*, Memory> sources;  ///< rows to search; empty: all, position i being row i
  Kokkos::View<Offset*, Memory> lower_counts;    ///< [n] out in the count pass
  Kokkos::View<Offset*, Memory> counts;          ///< [n] out in the count pass, of L + U
  KeptRows<Memory> kept;                         ///< out in the count pass; `begin` is in for the fill pass
  Kokkos::View<const Offset*, Memory> row_map;   ///< [n + 1] in, fill pass only
  Kokkos::View<Ordinal*, Memory> entries;        ///< out in the fill pass
  Kokkos::View<std::uint64_t*, Memory> statistics;  ///< [4] edges, revisits, groups found and left; added to
  Kokkos::View<Offset*, Memory> work;  ///< not empty: [n] out, frontiers of each source; rows are not kept
  Offset first_entry = 0;              ///< fill pass: offset in L + U of entries(0)
  bool store = false;                  ///< fill pass
  bool last_first = true;              ///< whether the last source of the launch is taken first
  RunControl::Query query{};           ///< no sources are left once the running call has to end

  /// Takes the next source of the launch, starting with the last: its search is the longest and must not
  /// finish last. -1 if none is left.
  KOKKOS_FUNCTION Ordinal take_source() const {
    Ordinal source = -1;
    if (query.must_stop()) return source;
    do {
      const Ordinal taken = fetch_add_shared<ExecutionSpace>(next(), Ordinal(1));
      if (taken >= end_position - first_position) return -1;
      const Ordinal position = last_first ? end_position - 1 - taken : first_position + taken;
      source = sources.extent(0) > 0 ? sources(position) : position;
    } while (store && kept.begin(source) >= 0);
    return source;
  }

  /// Destination of a completed row: in the fill pass its position in the result, in the count pass after the
  /// rows kept so far; -1 if there is no space.
  KOKKOS_FUNCTION Offset reserve_row(Ordinal source, Offset lower, Offset length) const {
    if (store) return row_map(source) - first_entry;
    counts(source) = length;
    if (lower >= 0) lower_counts(source) = lower;
    Offset target = fetch_add_shared<ExecutionSpace>(kept.end(), length);
    if (target + length > static_cast<Offset>(kept.entries.extent(0))) target = -1;
    kept.begin(source) = target;
    return target;
  }
};

/// Search from source rows in the fine-grained form of fill2 (GSoFa, Figure 6): (src, w) is an entry of L + U
/// if A has a path from src to w whose greatest inner vertex, max_id(w), is below w and src. A team searches
/// from one source; a vertex is expanded again when its label decreases.
///
/// Departures from the paper, each for fewer visits or bytes:
/// - Frontiers are bit sets, not queues. No vertex is in a frontier twice and n bits hold any frontier, so
///   that none overflows or must be spilled.
/// - The active vertices in the lowest `group` words are expanded first. With one vertex at a time labels
///   would only increase, as in Dijkstra's algorithm, and no vertex would be visited twice; a group trades
///   some revisits for parallelism.
/// - `fill` is a bit set as well. It is tested before max_id: an entry of L already has its least label, and
///   a vertex beyond the source needs none. Read in order, it is the sorted row.
///
/// One source, by its team; every step ends with a barrier:
///
///     start_row ─► walk_edges(source) ─► fill_queue ─► walk_queue ─► fill_queue ─► … ─► finish_row
///                  sets first active      lowest group   expands it                      counts or writes
template <class ExecutionSpace>
struct Fill2Search : Fill2Launch<ExecutionSpace> {
  using Launch = Fill2Launch<ExecutionSpace>;
  using Launch::pattern, Launch::lower_counts, Launch::kept, Launch::entries, Launch::statistics,
      Launch::store;
  using typename Launch::Memory;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Slots = Fill2Slots<Memory>;
  using Label = typename Slots::Label;
  using Word = std::uint64_t;
  using Atomics = TeamAtomics<ExecutionSpace>;
  static constexpr std::size_t group = team_width<ExecutionSpace>(4);  ///< words expanded at once
  static constexpr std::size_t queue_length = group * 64;              ///< each bit of a group's words

  /// Variables shared by a team while it searches one row.
  struct RowState {
    Ordinal source;
    Ordinal least;                ///< lower bound on the row's entries
    Ordinal lowest;               ///< lower bound on the active vertices
    Ordinal queued;               ///< vertices in `queue`
    Label base;                   ///< labels below base + n belong to this source
    Offset target;                ///< offset of the row in KeptRows
    std::uint64_t edges;          ///< edges followed
    std::uint64_t revisits;       ///< vertices expanded again
    std::uint64_t expanded;       ///< vertices in former queues
    Ordinal queue[queue_length];  ///< vertices expanded at once
  };

  Slots slots;
  bool window_labels = true;  ///< labels of older sources count as unset instead of being reset

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto& state = *static_cast<RowState*>(team.team_shmem().get_shmem(sizeof(RowState)));
    const auto slot = static_cast<std::size_t>(team.league_rank());
    while (true) {
      Kokkos::single(Kokkos::PerTeam(team), [&]() { start_row(slot, state); });
      team.team_barrier();
      if (state.source < 0) break;
      open_window(team, slot, state);
      walk_edges(team, slot, state, state.source, Label(0), true);
      team.team_barrier();  // the first active vertices are known
      while (fill_queue(team, slot, state)) walk_queue(team, slot, state);
      finish_row(team, slot, state);
      team.team_barrier();  // the state may change
    }
  }

  KOKKOS_FUNCTION void start_row(std::size_t slot, RowState& state) const {
    state.source = this->take_source();
    if (state.source < 0) return;
    state.least = state.lowest = state.source;
    state.edges = state.revisits = state.expanded = 0;
    state.queued = 0;
    const auto n = static_cast<Label>(pattern.n_rows);
    const Label window = ++slots.windows(slot);
    state.base = ~Label(0) - window * n;
    if (!window_labels || window > ~Label(0) / n - 1) state.base = 0;  // range exhausted: labels are reset
    slots.found.template insert<ExecutionSpace>(slot, static_cast<std::size_t>(state.source));
  }

  KOKKOS_FUNCTION void open_window(const Team& team, std::size_t slot, RowState& state) const {
    if (state.base != 0) return;
    const std::size_t labels = slots.max_id.extent(1);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, std::size_t(0), labels),
                         [&](const std::size_t v) { slots.max_id(slot, v) = ~Label(0); });
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      slots.windows(slot) = 1;
      state.base = ~Label(0) - static_cast<Label>(pattern.n_rows);
    });
    team.team_barrier();
  }

  /// Follows the edges of `v` with the label of the path to v. From the source itself (`direct`) every
  /// edge is an entry.
  KOKKOS_FUNCTION void walk_edges(const Team& team, std::size_t slot, RowState& state, Ordinal v, Label label,
                                  bool direct) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pattern.row_map(v), pattern.row_map(v + 1)),
                         [&](const Offset p) { visit(slot, state, pattern.entries(p), label, direct); });
  }

  /// A path whose greatest inner vertex is `label` leads to w.
  KOKKOS_FUNCTION void visit(std::size_t slot, RowState& state, Ordinal w, Label label, bool direct) const {
    const auto vertex = static_cast<std::size_t>(w);
    if (slots.found.has(slot, vertex)) return;  // w > src is complete, w < src has its least label
    if (w > state.source || direct || static_cast<Label>(w) > label) {
      if (!slots.found.template insert<ExecutionSpace>(slot, vertex)) return;
      lower_to(state.least, w);
      if (w < state.source) activate(slot, state, w, direct ? Label(0) : label);
      return;
    }
    if (slots.max_id(slot, vertex) > state.base + label) activate(slot, state, w, label);
  }

  /// Lowers the label of w; w becomes active if its label has decreased.
  KOKKOS_FUNCTION void activate(std::size_t slot, RowState& state, Ordinal w, Label label) const {
    const auto vertex = static_cast<std::size_t>(w);
    const Label before = Atomics::lower(slots.max_id(slot, vertex), state.base + label);
    if (before <= state.base + label) return;
    if (!slots.active.template insert<ExecutionSpace>(slot, vertex)) return;
    lower_to(state.lowest, w);
    if (before < state.base + static_cast<Label>(pattern.n_rows)) Atomics::add(state.revisits, 1);
  }

  /// Moves the active vertices of the lowest nonempty group to the queue; false if there are none.
  KOKKOS_FUNCTION bool fill_queue(const Team& team, std::size_t slot, RowState& state) const {
    const auto last = static_cast<std::size_t>(state.source) / 4096;
    const std::size_t first = static_cast<std::size_t>(state.lowest) / 4096;
    std::size_t word = ~std::size_t(0);  // the first active word
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, first, last + 1),
        [&](const std::size_t s, std::size_t& least) {
          const Word used = slots.active.summary(slot, s);
          const std::size_t w = s * 64 + static_cast<std::size_t>(lowest_one(used));
          if (used != 0 && w < least) least = w;
        },
        Kokkos::Min<std::size_t>(word));
    if (word == ~std::size_t(0)) return false;
    const std::size_t begin = word / group * group;
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      state.expanded += static_cast<std::uint64_t>(state.queued);
      state.queued = 0;
      state.lowest = static_cast<Ordinal>(begin) * 64;
    });
    team.team_barrier();  // the queue is empty
    const Word in_group = (group == 64 ? ~Word(0) : (Word(1) << group) - 1) << (begin % 64);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, begin, begin + group), [&](const std::size_t w) {
      if (w >= slots.active.words.extent(1)) return;
      for (Word rest = slots.active.words(slot, w); rest != 0; rest &= rest - 1) {
        const auto v = static_cast<Ordinal>(w * 64 + static_cast<std::size_t>(lowest_one(rest)));
        state.queue[Atomics::add(state.queued, 1)] = v;
      }
      slots.active.words(slot, w) = 0;
    });
    Kokkos::single(Kokkos::PerTeam(team), [&]() { slots.active.summary(slot, begin / 64) &= ~in_group; });
    team.team_barrier();  // the queue is complete, and none of it active
    return true;
  }

  KOKKOS_FUNCTION void walk_queue(const Team& team, std::size_t slot, RowState& state) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, Ordinal(0), state.queued), [&](const Ordinal k) {
      const Ordinal v = state.queue[k];
      const Label reached = slots.max_id(slot, static_cast<std::size_t>(v)) - state.base;
      const Label label = static_cast<Label>(v) > reached ? static_cast<Label>(v) : reached;
      const Offset first = pattern.row_map(v), last = pattern.row_map(v + 1);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, first, last),
                           [&](const Offset p) { visit(slot, state, pattern.entries(p), label, false); });
      Kokkos::single(Kokkos::PerThread(team),
                     [&]() { Atomics::add(state.edges, static_cast<std::uint64_t>(last - first)); });
    });
    team.team_barrier();  // all currently active vertices are known
  }

  /// Stores `found` as counts and a kept row, or as a row of the result, and clears it.
  KOKKOS_FUNCTION void finish_row(const Team& team, std::size_t slot, RowState& state) const {
    const Ordinal source = state.source;
    const std::size_t begin = static_cast<std::size_t>(state.least) / 4096;
    const std::size_t end_of_found = slots.found.summary.extent(1);
    const Word located = slots.found.locate_by_lanes(team, slot, begin, end_of_found, slots.positions);
    const auto length = static_cast<Offset>(located & slots.found.member_mask);
    Kokkos::single(Kokkos::PerTeam(team), [&]() { settle_row(state, length); });
    team.team_barrier();  // the target is known
    const Offset target = state.target;
    const Word word_of_diagonal = static_cast<Word>(source) / 64;
    Ordinal* const to = target < 0 ? nullptr : store ? &entries(target) : &kept.entries(target);
    if (to != nullptr) {
      slots.found.write(team, slot, located, slots.positions, to, [](std::size_t, Word, Word) {});
    }
    if (!store) {
      const auto n_words = static_cast<std::size_t>(located >> slots.found.member_bits);
      const std::size_t half = slots.positions.extent(1) / 2;
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, std::size_t(0), n_words), [&](const std::size_t k) {
        if (static_cast<Word>(slots.positions(slot, k)) != word_of_diagonal) return;
        const Word below = (Word(1) << (source % 64)) - 1;
        lower_counts(source) =
            slots.positions(slot, half + k) + count_ones(slots.found.words(slot, word_of_diagonal) & below);
      });
    }
    team.team_barrier();  // words have been read
    slots.found.clear(team, slot, begin, end_of_found);
  }

  KOKKOS_FUNCTION void settle_row(RowState& state, Offset length) const {
    add_shared<ExecutionSpace>(statistics(0), state.edges);
    add_shared<ExecutionSpace>(statistics(1), state.revisits);
    if (this->work.extent(0) > 0) {
      this->work(state.source) = static_cast<Offset>(state.expanded) + state.queued;
      state.target = -1;
      return;
    }
    state.target = this->reserve_row(state.source, -1, length);
  }

  /// Lowers a bound that threads of the team share. Most values do not, so most calls only read.
  KOKKOS_FUNCTION static void lower_to(Ordinal& location, Ordinal value) {
    if (value < load_relaxed(location)) Atomics::lower(location, value);
  }
};

}  // namespace lutra::Impl

#endif
