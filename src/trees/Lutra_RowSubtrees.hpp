// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWSUBTREES_HPP
#define LUTRA_ROWSUBTREES_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_RunControl.hpp"
#include "Lutra_TeamBits.hpp"
#include "Lutra_WordBits.hpp"

namespace lutra::Impl {

/// Partition of 0 … n − 1 into runs of consecutive vertices.
template <class MemorySpace>
struct Runs {
  Ordinal count = 0;
  Kokkos::View<Ordinal*, MemorySpace> of;           ///< [n] run of each vertex
  Kokkos::View<Ordinal*, MemorySpace> last;         ///< [n] last vertex of each run; [count, n) is unused
  Kokkos::View<std::uint64_t*, MemorySpace> heads;  ///< [⌈n/64⌉] bit set of first vertices
};

/// Rows of L of a symmetric pattern: L(i, :) is the part of the elimination tree between the entries of
/// A(i, 0 : i) and i (Liu, SIAM J. Matrix Anal. Appl. 11, 1990). A team processes one row at a time; a thread
/// climbs from an entry towards i and stops where another path has passed. A *chain*, consecutive vertices
/// each of which is the parent of its predecessor, is traversed in one step that sets a range of bits. Read
/// in order, the bits are the sorted row.
///
///     tree: 0 → 1 → 2 → 5 → 6    row 6 with entries at 1 and 3: chains [0 1 2], [3 4], [5 6]
///           3 → 4 ↗              path from 1 sets 1 2, then 5; path from 3 sets 3 4, finds 5 set
///
/// The count pass counts the entries of each row and, from the ends of ranges, of each column. The fill pass
/// writes the rows of L and adds each row to the lists of the supernodes it passes.
template <class ExecutionSpace>
struct RowSubtrees {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Word = std::uint64_t;

  CsrPattern<Ordinal, Offset, Memory> pattern;  ///< paths start from its entries left of the diagonal
  CsrPattern<Ordinal, Offset, Memory> mirror;   ///< further such entries; empty if the pattern is symmetric
  Kokkos::View<const Ordinal*, Memory> parent;  ///< [n]
  Runs<Memory> runs;                            ///< chains in the count pass, supernodes in the fill pass
  TeamBits<Memory> bits;
  /// (team, 2·words): words in use, and offsets
  Kokkos::View<Ordinal**, Kokkos::LayoutRight, Memory> positions;
  Kokkos::View<Ordinal, Memory> next_row;       ///< next row to be taken by a team
  Kokkos::View<Offset*, Memory> row_counts;     ///< [n] entries of L; output of the count pass, input of the
                                                ///< fill pass
  Kokkos::View<Ordinal*, Memory> count_steps;   ///< [n + 1] differences of column counts; output of the count
                                                ///< pass
  Kokkos::View<const Offset*, Memory> row_map;  ///< [n + 1] row map of L + U; input of the fill pass
  Kokkos::View<Ordinal*, Memory> entries;       ///< output of the fill pass
  Kokkos::View<Offset*, Memory> list_ends;  ///< [runs] next free position in each supernode's list; fill pass
                                            ///< only
  Kokkos::View<Ordinal*, Memory> lists;     ///< output of the fill pass
  bool store = false;                       ///< true in the fill pass
  static constexpr int long_row = 512;      ///< minimum entries of a long row
  Kokkos::View<Ordinal*, Memory> long_rows;  ///< empty unless the space has teams of several sizes
  Ordinal n_long_rows = 0;
  bool long_rows_only = false;  ///< whether this launch processes the long rows, else the others
  RunControl::Query query;      ///< no rows are left once the running call has to end

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* row = static_cast<Ordinal*>(team.team_shmem().get_shmem(2 * sizeof(Ordinal)));
    const auto slot = static_cast<std::size_t>(team.league_rank());
    while (true) {
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        row[0] = take_row();
        row[1] = row[0];
      });
      team.team_barrier();
      const Ordinal source = row[0];
      if (source >= pattern.n_rows) return;
      reach_from_row(team, slot, source, pattern, row[1]);
      if (mirror.row_map.extent(0) > 0) reach_from_row(team, slot, source, mirror, row[1]);
      team.team_barrier();  // all bits are set and the lowest vertex is known
      read_off(team, slot, source, row[1]);
      team.team_barrier();  // bits are zero again and all threads have read `row`
    }
  }

  /// The next row of the launch; n if there is none.
  KOKKOS_FUNCTION Ordinal take_row() const {
    if (query.must_stop()) return pattern.n_rows;
    while (true) {
      const Ordinal taken = fetch_add_shared<ExecutionSpace>(next_row(), Ordinal(1));
      if (long_rows_only) {
        return taken < n_long_rows ? long_rows(taken) : pattern.n_rows;
      }
      if (taken >= pattern.n_rows || n_long_rows == 0 || !is_long(taken)) return taken;
    }
  }

  /// Whether a row has enough entries, each the start of a path, for a larger team.
  KOKKOS_FUNCTION bool is_long(Ordinal row) const {
    const Offset mirrored = mirror.row_map.extent(0) > 0 ? mirror.row_map(row + 1) - mirror.row_map(row) : 0;
    return pattern.row_map(row + 1) - pattern.row_map(row) + mirrored >= long_row;
  }

  KOKKOS_FUNCTION void reach_from_row(const Team& team, std::size_t slot, Ordinal source,
                                      const CsrPattern<Ordinal, Offset, Memory>& from, Ordinal& least) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, from.row_map(source), from.row_map(source + 1)),
                         [&](const Offset p) {
                           const Ordinal v = from.entries(p);
                           if (v >= source) return;
                           TeamAtomics<ExecutionSpace>::lower(least, v);
                           follow_path(slot, v, source);
                         });
  }

  KOKKOS_FUNCTION void follow_path(std::size_t slot, Ordinal v, Ordinal source) const {
    while (v < source) {
      if (bits.has(slot, static_cast<std::size_t>(v))) return;
      const Ordinal run_last = runs.last(runs.of(v));
      const Ordinal top = run_last < source ? run_last : source - 1;
      if (bits.template insert_range<ExecutionSpace>(slot, static_cast<std::size_t>(v),
                                                     static_cast<std::size_t>(top))) {
        return;
      }
      v = parent(top);
    }
  }

  /// Converts the bits to counts or entries and clears them. Positions come from a scan over summary words.
  KOKKOS_FUNCTION void read_off(const Team& team, std::size_t slot, Ordinal source, Ordinal least) const {
    const auto begin = static_cast<std::size_t>(least) / 4096,
               end = static_cast<std::size_t>(source) / 4096 + 1;
    if (store) {
      write_row(team, slot, source, begin, end);
      return;
    }
    Ordinal count = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, begin, end),
        [&](const std::size_t s, Ordinal& sum) {
          bits.for_words(slot, s, [&](const std::size_t w, const Word word) {
            sum += static_cast<Ordinal>(count_ones(word));
            add_steps(starts(slot, w, word), w, source);
          });
        },
        count);
    Kokkos::single(Kokkos::PerTeam(team), [&]() { row_counts(source) = count; });
    team.team_barrier();  // threads also read neighbouring threads' words
    bits.clear(team, slot, begin, end);
  }

  /// Bits of a word at which the row enters a run.
  KOKKOS_FUNCTION Word starts(std::size_t slot, std::size_t w, Word word) const {
    const Word carry = w == 0 ? 0 : bits.words(slot, w - 1) >> 63;
    return word & (~((word << 1) | carry) | runs.heads(w));
  }

  KOKKOS_FUNCTION void add_steps(Word at, std::size_t w, Ordinal source) const {
    for (; at != 0; at &= at - 1) {
      const auto first = static_cast<Ordinal>(w * 64 + static_cast<std::size_t>(lowest_one(at)));
      const Ordinal run_last = runs.last(runs.of(first));
      add_shared<ExecutionSpace>(count_steps(first), Ordinal(1));
      add_shared<ExecutionSpace>(count_steps(run_last < source ? run_last + 1 : source), Ordinal(-1));
    }
  }

  KOKKOS_FUNCTION void write_row(const Team& team, std::size_t slot, Ordinal source, std::size_t begin,
                                 std::size_t end) const {
    const Word located = bits.locate(team, slot, begin, end, positions);
    bits.write(team, slot, located, positions, &entries(row_map(source)),
               [&](const std::size_t w, const Word word, const Word eight) {
                 enter_lists(starts(slot, w, word) & eight, w, source);
               });
    team.team_barrier();  // words have been read
    bits.clear(team, slot, begin, end);
  }

  /// Adds `source` to the lists of the supernodes that the row enters here, except its own.
  KOKKOS_FUNCTION void enter_lists(Word at, std::size_t w, Ordinal source) const {
    for (; at != 0; at &= at - 1) {
      const auto first = static_cast<Ordinal>(w * 64 + static_cast<std::size_t>(lowest_one(at)));
      const Ordinal run = runs.of(first);
      if (runs.last(run) < source) {
        lists(fetch_add_shared<ExecutionSpace>(list_ends(run), Offset(1))) = source;
      }
    }
  }
};

}  // namespace lutra::Impl

#endif
