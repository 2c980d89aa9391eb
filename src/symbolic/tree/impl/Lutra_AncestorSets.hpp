// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANCESTORSETS_HPP
#define LUTRA_ANCESTORSETS_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_PatternSymmetry.hpp"
#include "Lutra_RowSubtrees.hpp"
#include "Lutra_WordBits.hpp"

namespace lutra::Impl {

/// Ancestor bit sets. The columns of row k of U, and the rows of column k of L, are ancestors of k in the
/// elimination tree of A + Aᵀ. An ancestor is identified by its depth, the number of its own ancestors, so
/// that sets along a path to the root are aligned: an ancestor at depth d inherits the first d bits of k.
template <class MemorySpace>
struct AncestorSets {
  using Word = std::uint64_t;
  Kokkos::View<const Ordinal*, MemorySpace> parent;  ///< [n] n for roots
  Kokkos::View<const Ordinal*, MemorySpace> depth;   ///< [n]
  Kokkos::View<const Offset*, MemorySpace> map;      ///< [n + 1] first word of each set, the same for both
  Kokkos::View<Word*, MemorySpace> upper;            ///< bit d of k: U(k, ancestor at depth d)
  Kokkos::View<Word*, MemorySpace> lower;            ///< bit d of k: L(ancestor at depth d, k)

  KOKKOS_FUNCTION static Ordinal words(Ordinal depth) { return (depth + 63) / 64; }

  /// Bits of word w of a set that represent depths below `depth`.
  KOKKOS_FUNCTION static Word below(Ordinal depth, Ordinal w) {
    const Ordinal left = depth - w * 64;
    return left >= 64 ? ~Word(0) : (Word(1) << left) - 1;
  }

  KOKKOS_FUNCTION static bool has(const Kokkos::View<Word*, MemorySpace>& sets, Offset first, Ordinal d) {
    return ((sets(first + d / 64) >> (d % 64)) & 1) != 0;
  }
};

/// `word |= bits`, atomic if other teams may write too.
template <class ExecutionSpace>
KOKKOS_FORCEINLINE_FUNCTION void merge_shared(std::uint64_t& word, std::uint64_t bits) {
  if constexpr (is_serial_space<ExecutionSpace>) {
    word |= bits;
  } else {
    Kokkos::atomic_or(&word, bits);
  }
}

/// Inserts the entries of A into the sets; `p` is an entry of the pattern.
template <class ExecutionSpace>
struct AncestorSetFiller {
  using Memory = typename ExecutionSpace::memory_space;
  CsrPattern<Ordinal, Offset, Memory> pattern;
  AncestorSets<Memory> sets;

  KOKKOS_FUNCTION void operator()(const Offset p) const {
    const Ordinal r = row_of_entry(pattern.row_map, pattern.n_rows, p), c = pattern.entries(p);
    if (r == c) return;
    const Ordinal d = sets.depth(r < c ? c : r);
    const auto bit = std::uint64_t(1) << (d % 64);
    if (r < c) {
      merge_shared<ExecutionSpace>(sets.upper(sets.map(r) + d / 64), bit);
    } else {
      merge_shared<ExecutionSpace>(sets.lower(sets.map(c) + d / 64), bit);
    }
  }
};

/// Elimination on ancestor bit sets, from all leaves at once towards the roots. Once k is eliminated, row i
/// of U absorbs that of k for each L(i, k), and column j of L that of k for each U(k, j), but only up to the
/// nearest ancestor p with both L(p, k) and U(k, p): ancestors above p inherit everything from p (symmetric
/// pruning, Eisenstat and Liu, SIAM J. Matrix Anal. Appl. 13, 1992). If the pattern is nearly symmetric, p is
/// mostly the parent, and a vertex costs its depth in bits.
///
/// A team eliminates the path from a leaf towards the root. At a vertex with several children it stops unless
/// it is the last to arrive:
///
///     c1 ──┐ pending(v): 3 → 2, team stops
///     c2 ──┤ pending(v): 2 → 1, team stops
///     c3 ──┴ pending(v): 1 → 0, team eliminates v and continues
///
/// so that no team ever waits for another.
template <class ExecutionSpace>
struct AncestorElimination {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Sets = AncestorSets<Memory>;
  using Word = typename Sets::Word;

  Ordinal n;
  Sets sets;
  Runs<Memory> chains;
  Kokkos::View<const Ordinal*, Memory> children;  ///< [n] number of children of each vertex
  Kokkos::View<Ordinal*, Memory> pending;         ///< [n] unfinished children; in: all
  Kokkos::View<Ordinal, Memory> next;             ///< vertices examined so far, in the search for leaves
  RunControl::Query query{};                      ///< no leaves are left once the running call has to end

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    for (Ordinal v = take_leaf(team); v < n; v = take_leaf(team)) eliminate_path(team, v);
  }

  /// A leaf that no team has taken; n if none is left.
  KOKKOS_FUNCTION Ordinal take_leaf(const Team& team) const {
    while (true) {
      Ordinal v = 0;
      Kokkos::single(
          Kokkos::PerThread(team),
          [&](Ordinal& taken) {
            taken = query.must_stop() ? n : fetch_add_shared<ExecutionSpace>(next(), Ordinal(1));
          },
          v);
      if (v >= n) return n;
      if (children(v) == 0) return v;
    }
  }

  /// Eliminates v and its ancestors up to one with unfinished children.
  KOKKOS_FUNCTION void eliminate_path(const Team& team, Ordinal v) const {
    for (Ordinal above = sets.parent(v); above < n; v = above, above = sets.parent(v)) {
      const bool only = children(above) == 1;
      eliminate(team, v, above, only);
      if (!only && !is_last(team, above)) return;
    }
  }

  /// Counts a child of v as done. Returns whether it was the last one; the sets its siblings wrote are then
  /// visible.
  KOKKOS_FUNCTION bool is_last(const Team& team, Ordinal v) const {
    int last = 0;
    Kokkos::single(
        Kokkos::PerThread(team),
        [&](int& done) {
          Kokkos::memory_fence();  // releases this team's writes …
          done = fetch_add_shared<ExecutionSpace>(pending(v), Ordinal(-1)) == 1 ? 1 : 0;
          Kokkos::memory_fence();  // … and acquires those of teams that counted before
        },
        last);
    return last != 0;
  }

  /// @param exclusive no other team currently writes to the sets of `above`, the parent
  KOKKOS_FUNCTION void eliminate(const Team& team, Ordinal v, Ordinal above, bool exclusive) const {
    const Ordinal d = sets.depth(above);
    const Offset from = sets.map(v);
    if (Sets::has(sets.upper, from, d) && Sets::has(sets.lower, from, d)) {
      propagate(team, sets.upper, from, above, d, exclusive);
      propagate(team, sets.lower, from, above, d, exclusive);
      return;
    }
    eliminate_beyond(team, v, above, d);
  }

  /// Merges the first d bits of the set at `from` into that of `target`, whose depth is d.
  KOKKOS_FUNCTION void propagate(const Team& team, const Kokkos::View<Word*, Memory>& of, Offset from,
                                 Ordinal target, Ordinal d, bool exclusive) const {
    const Offset to = sets.map(target);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, Sets::words(d)), [&](const Ordinal w) {
      const Word bits = of(from + w) & Sets::below(d, w);
      if (bits == 0) return;
      if (exclusive) {
        of(to + w) |= bits;
      } else {
        merge_shared<ExecutionSpace>(of(to + w), bits);
      }
    });
  }

  /// The greatest depth with a bit set in `pick`; -1 if none.
  template <class Pick>
  KOKKOS_FUNCTION Ordinal deepest(const Team& team, Ordinal n_words, const Pick& pick) const {
    Ordinal found = -1;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, n_words),
        [&](const Ordinal w, Ordinal& most) {
          const Word bits = pick(w);
          const Ordinal d = bits == 0 ? -1 : w * 64 + static_cast<Ordinal>(highest_one(bits));
          if (d > most) most = d;
        },
        Kokkos::Max<Ordinal>(found));
    return found < 0 ? Ordinal(-1) : found;
  }

  /// Propagates to the ancestors chain by chain, if the parent is not in both L and U.
  KOKKOS_FUNCTION void eliminate_beyond(const Team& team, Ordinal v, Ordinal above, Ordinal d) const {
    const Offset from = sets.map(v);
    const Ordinal n_words = Sets::words(d + 1);
    const Ordinal last_upper = deepest(team, n_words, [&](Ordinal w) { return sets.upper(from + w); });
    const Ordinal last_lower = deepest(team, n_words, [&](Ordinal w) { return sets.lower(from + w); });
    if (last_upper < 0 || last_lower < 0) return;
    const Ordinal common =
        deepest(team, n_words, [&](Ordinal w) { return sets.upper(from + w) & sets.lower(from + w); });
    const Ordinal least = common < 0 ? 0 : common;
    while (above < n && d >= least) {
      const Ordinal top = chains.last(chains.of(above));
      const Ordinal top_depth = sets.depth(top);
      propagate_to_chain(team, from, above, d, top_depth < least ? least : top_depth);
      above = sets.parent(top);
      d = top_depth - 1;
    }
  }

  /// Propagates to the ancestors at depths `most` down to `least` of one chain; `first` is the deepest of
  /// them.
  KOKKOS_FUNCTION void propagate_to_chain(const Team& team, Offset from, Ordinal first, Ordinal most,
                                          Ordinal least) const {
    for (Ordinal w = most / 64; w >= least / 64; --w) {
      const Word low = sets.lower(from + w), up = sets.upper(from + w);
      Word rest = (low | up) & Sets::below(most + 1, w) & ~Sets::below(least > w * 64 ? least : w * 64, w);
      while (rest != 0) {
        const int bit = highest_one(rest);
        const Word mask = Word(1) << bit;
        rest &= ~mask;
        const Ordinal d = w * 64 + static_cast<Ordinal>(bit);
        const Ordinal target = first + (most - d);
        if ((low & mask) != 0) propagate(team, sets.upper, from, target, d, false);
        if ((up & mask) != 0) propagate(team, sets.lower, from, target, d, false);
      }
    }
  }
};

template <class ExecutionSpace>
void eliminate_portably(const ExecutionSpace& exec, const AncestorElimination<ExecutionSpace>& elimination,
                        std::size_t teams) {
  Kokkos::parallel_for("lutra::symbolic::ancestor_elimination",
                       Kokkos::TeamPolicy<ExecutionSpace>(exec, static_cast<int>(teams), 1,
                                                          vector_length_for<ExecutionSpace>(32)),
                       elimination);
}

/// Default for spaces without their own kernels: `eliminate_portably`. Lutra_LongChainsCuda.hpp overloads it.
/// @param teams number of concurrent teams
template <class ExecutionSpace, class Elimination>
void eliminate_ancestors(const ExecutionSpace& exec, const Elimination& elimination, std::size_t teams,
                         MemoryReservation&) {
  eliminate_portably(exec, elimination, teams);
}

}  // namespace lutra::Impl

#endif
