// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROOTSEPARATOR_HPP
#define LUTRA_ROOTSEPARATOR_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_CsrView.hpp"
#include "Lutra_RelaxedAccess.hpp"
#include "Lutra_WordBits.hpp"

namespace lutra::Impl {

/// An ancestor of v nearer to the root, n where v is a root.
template <class Ordinal, class View>
KOKKOS_FORCEINLINE_FUNCTION Ordinal ancestor_of(const View& parent, const View& shortcut, Ordinal v) {
  const Ordinal known = load_relaxed(shortcut(v)),
                above = load_relaxed(parent(v));  // both loads in flight at once
  return known > v ? known : above;
}

/// The root of v's tree; vertices on the path get shortcuts (path halving).
template <class Ordinal, class View>
KOKKOS_FUNCTION Ordinal root_of(const View& parent, const View& shortcut, Ordinal v, Ordinal n) {
  Ordinal before = v, at = v;
  while (true) {
    const Ordinal above = ancestor_of(parent, shortcut, at);
    if (above >= n) break;
    if (before != at) store_relaxed(shortcut(before), above);
    before = at;
    at = above;
  }
  if (before != at && v != before) store_relaxed(shortcut(v), at);
  return at;
}

/// The last rows of the elimination tree, a root separator. They form a chain, along which edges would
/// propagate one behind the other (see EdgePropagation), so one team takes them in panels of 64 rows by
/// elimination:
///
///     panel rows   0 1 2 … 63
///     subtree a    . 1 . … 1
///     subtree b    1 1 . … .
///
/// An entry (row, v) says that the subtree with v lies below the row. Of each subtree, named by its root, the
/// panel's rows above it are a set of 64 bits. The least row of a set is the root's parent (a: 1, b: 0); the
/// other rows of the set are ancestors of that row and join its own set (row 0: {1}, row 1: {63}).
///
/// gather: sets of roots and rows, by all threads. link_roots: parents of roots. link_rows: the elimination
/// among the panel's 64 rows, by one thread. find_tops: the last ancestor of each row in the panel, by
/// pointer jumping.
template <class Ordinal, class Offset, class ExecutionSpace>
struct RootSeparator {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Word = std::uint64_t;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;
  static constexpr int panel = 64;
  static constexpr Ordinal max_rows = 1 << 18;  ///< for which what a team shares has room

  Pattern pattern;
  Pattern mirror;                           ///< empty where the pattern is symmetric
  Ordinal first;                            ///< of the rows; for those before, the tree is complete
  Kokkos::View<Ordinal*, Memory> parent;    ///< [n] n where there is none yet
  Kokkos::View<Ordinal*, Memory> shortcut;  ///< [n] an ancestor, the vertex itself where none is known
  Kokkos::View<Word*, Memory> above;        ///< [n] of roots, rows of the panel above them; 0 in and out
  Kokkos::View<Ordinal*, Memory> roots;     ///< [n] those with rows above them

  /// Variables the team shares.
  struct Panel {
    Word above[panel];  ///< of each row, rows of the panel above it
    Offset ends[2][panel + 1];
    int parent[panel];  ///< row of the panel; the row itself where there is none
    int top[2][panel];  ///< the last of its ancestors in the panel
    int n_roots;
  };

  static std::size_t scratch_bytes(Ordinal rows) {
    return sizeof(Panel) + static_cast<std::size_t>(rows / panel + 1) * sizeof(Ordinal) + 32;
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Ordinal n = pattern.n_rows;
    auto& shared = *static_cast<Panel*>(team.team_shmem().get_shmem(sizeof(Panel)));
    // An ancestor of the last row of each panel so far, so that paths over panels stay short.
    auto* tails = static_cast<Ordinal*>(
        team.team_shmem().get_shmem(static_cast<std::size_t>((n - first) / panel + 1) * sizeof(Ordinal)));
    for (Ordinal begin = first; begin < n; begin += panel) {
      const int rows = static_cast<int>(n - begin < panel ? n - begin : panel);
      clear(team, shared, begin, rows);
      team.team_barrier();  // the panel is empty
      gather(team, shared, begin, rows);
      team.team_barrier();  // all sets are known
      const int n_roots = shared.n_roots;
      link_roots(team, shared, begin, n_roots);
      team.team_barrier();  // roots have parents
      Kokkos::single(Kokkos::PerTeam(team), [&]() { link_rows(shared, rows); });
      team.team_barrier();  // rows have parents
      const int* top = find_tops(team, shared);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows), [&](const int k) {
        parent(begin + k) = shared.parent[k] == k ? n : begin + shared.parent[k];
        shortcut(begin + k) = begin + top[k];
      });
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n_roots), [&](const int k) {
        const Ordinal root = roots(k);
        shortcut(root) = begin + top[parent(root) - begin];
      });
      team.team_barrier();  // the tree is complete up to here
      shorten_tails(team, tails, begin, rows);
    }
  }

  KOKKOS_FUNCTION void clear(const Team& team, Panel& shared, Ordinal begin, int rows) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, panel + 1), [&](const int k) {
      if (k < panel) {
        shared.above[k] = 0;
        shared.top[0][k] = k;
      }
      const Ordinal row = begin + (k < rows ? k : rows);
      shared.ends[0][k] = pattern.row_map(row);
      shared.ends[1][k] = mirror.row_map.extent(0) > 0 ? mirror.row_map(row) : Offset(0);
    });
    Kokkos::single(Kokkos::PerTeam(team), [&]() { shared.n_roots = 0; });
  }

  /// Entries of the rows in the pattern, and behind them those in its mirror.
  KOKKOS_FUNCTION void gather(const Team& team, Panel& shared, Ordinal begin, int rows) const {
    const Offset own = shared.ends[0][rows] - shared.ends[0][0];
    const Offset mirrored = shared.ends[1][rows] - shared.ends[1][0];
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, own + mirrored), [&](const Offset k) {
      const int kind = k < own ? 0 : 1;
      const Offset* ends = shared.ends[kind];
      const Offset p = ends[0] + (kind == 0 ? k : k - own);
      const Ordinal v = kind == 0 ? pattern.entries(p) : mirror.entries(p);
      int row = 0;
      for (int step = panel / 2; step > 0; step /= 2) {
        if (ends[row + step] <= p) row += step;
      }
      if (v >= begin + row) return;
      const Word bit = Word(1) << row;
      if (v >= begin) {
        Kokkos::atomic_or(&shared.above[v - begin], bit);
        return;
      }
      const Ordinal root = root_of(parent, shortcut, v, pattern.n_rows);
      if ((load_relaxed(above(root)) & bit) != 0) return;
      if (Kokkos::atomic_fetch_or(&above(root), bit) != 0) return;
      roots(Kokkos::atomic_fetch_add(&shared.n_roots, 1)) = root;
    });
  }

  KOKKOS_FUNCTION void link_roots(const Team& team, Panel& shared, Ordinal begin, int n_roots) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n_roots), [&](const int k) {
      const Ordinal root = roots(k);
      const Word rows = Kokkos::atomic_exchange(&above(root), Word(0));
      const int least = lowest_one(rows);
      parent(root) = begin + least;
      if ((rows & (rows - 1)) != 0) Kokkos::atomic_or(&shared.above[least], rows & (rows - 1));
    });
  }

  /// Elimination on sets of 64 bits by one thread: the set of row k + 1 is loaded while row k is worked, and
  /// what row k passes to it stays in a register.
  KOKKOS_FUNCTION void link_rows(Panel& shared, int rows) const {
    Word passed = 0, own = shared.above[0];
    for (int k = 0; k < rows; ++k) {
      const Word above_row = own | passed;
      own = k + 1 < rows ? shared.above[k + 1] : Word(0);
      const int least = above_row == 0 ? k : lowest_one(above_row);
      const Word rest = above_row & (above_row - 1);
      shared.parent[k] = shared.top[0][k] = least;
      passed = least == k + 1 ? rest : Word(0);
      if (least > k + 1) shared.above[least] |= rest;
    }
  }

  /// By pointer jumping.
  KOKKOS_FUNCTION const int* find_tops(const Team& team, Panel& shared) const {
    int now = 0;
    for (int known = 1; known < panel; known *= 2, now = 1 - now) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, panel), [&](const int k) {
        const int* from = shared.top[now];
        shared.top[1 - now][k] = from[from[k]];
      });
      team.team_barrier();  // top[1 - now] spans twice as many steps
    }
    return shared.top[now];
  }

  KOKKOS_FUNCTION void shorten_tails(const Team& team, Ordinal* tails, Ordinal begin, int rows) const {
    const Ordinal n_panels = (begin - first) / panel;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n_panels + 1), [&](const Ordinal k) {
      if (k == n_panels) {
        tails[k] = begin + rows - 1;
        return;
      }
      const Ordinal known = load_relaxed(shortcut(tails[k]));
      if (known == tails[k]) return;
      tails[k] = known;
      store_relaxed(shortcut(first + (k + 1) * panel - 1), known);
    });
  }
};

}  // namespace lutra::Impl

#endif
