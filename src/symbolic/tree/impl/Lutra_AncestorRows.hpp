// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANCESTORROWS_HPP
#define LUTRA_ANCESTORROWS_HPP

#include <type_traits>
#include <utility>

#include "Lutra_AncestorSets.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_WordBits.hpp"

namespace lutra::Impl {

/// Whether vertices 64·w to 64·w + 63 are all in one chain.
template <class MemorySpace>
KOKKOS_FUNCTION bool is_in_one_chain(const Runs<MemorySpace>& chains, Ordinal n, std::size_t w) {
  return (chains.heads(w) >> 1) == 0 && w * 64 + 64 <= static_cast<std::size_t>(n);
}

/// Transposes, in place, the columns of L of 64 vertices in one chain: bit k of word d / 64 of vertex d % 64
/// then tells whether the ancestor at depth d is in the column of vertex k. Set sizes decrease from one
/// vertex to the next, so that each word has a position. 64 × 64 bits are transposed by exchanging halves,
/// quarters and so on (Warren, Hacker's Delight, 7-3).
template <class ExecutionSpace>
struct LowerTranspose {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Sets = AncestorSets<Memory>;
  using Word = typename Sets::Word;

  Ordinal n;
  Sets sets;
  Runs<Memory> chains;

  /// One team per 64 vertices, one thread per word of each.
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto block = static_cast<std::size_t>(team.league_rank());
    if (!is_in_one_chain(chains, n, block)) return;
    const auto first = static_cast<Ordinal>(block * 64);
    const Ordinal depth = sets.depth(first);
    const Offset begin = sets.map(first);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, Sets::words(depth)),
                         [&](const Ordinal w) { transpose(begin + w, depth, w); });
  }

  KOKKOS_FUNCTION void transpose(Offset offset, Ordinal depth, Ordinal w) const {
    // The first sets have as many words as that of the first vertex, the others one less.
    const Ordinal words = Sets::words(depth), long_sets = depth - (words - 1) * 64;
    const auto offset_of = [&](int k) {
      return offset + k * static_cast<Offset>(words) - (k > long_sets ? k - long_sets : 0);
    };
    const auto is_there = [&](int k) { return k < long_sets || w + 1 < words; };
    Word rows[64];
    for_each_index<64>([&](auto index) {
      constexpr int k = decltype(index)::value;
      rows[k] = is_there(k) ? sets.lower(offset_of(k)) : Word(0);
    });
    for_each_index<6>([&](auto step) {
      constexpr int distance = 32 >> decltype(step)::value;
      // Mask of bits whose indices do not contain `distance`.
      constexpr Word mask = ~Word(0) / ((Word(1) << distance) + 1);
      for_each_index<32>([&](auto index) {
        constexpr int number = decltype(index)::value;
        constexpr int k = number / distance * 2 * distance + number % distance;
        const Word swapped = ((rows[k] >> distance) ^ rows[k + distance]) & mask;
        rows[k + distance] ^= swapped;
        rows[k] ^= swapped << distance;
      });
    });
    for_each_index<64>([&](auto index) {
      constexpr int k = decltype(index)::value;
      if (is_there(k)) sets.lower(offset_of(k)) = rows[k];
    });
  }

  /// Calls the function with compile-time indices, so that an array stays in registers.
  template <int n, class Function>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_index(const Function& function) {
    for_each_index(function, std::make_integer_sequence<int, n>());
  }
  template <class Function, int... k>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_index(const Function& function,
                                                         std::integer_sequence<int, k...>) {
    (function(std::integral_constant<int, k>()), ...);
  }
};

/// Rows of L from columns of L: row i of the factors of A + Aᵀ contains all candidates k, and k is an entry
/// if i is in the bit set of its column. A team processes a row at a time and appends it to the completed
/// rows, in arbitrary order.
template <class ExecutionSpace>
struct AncestorLowerRows {
  using Memory = typename ExecutionSpace::memory_space;
  using Subtrees = RowSubtrees<ExecutionSpace>;
  using Team = typename Subtrees::Team;
  using Word = std::uint64_t;

  Subtrees subtrees;  ///< with chains, bits and positions
  AncestorSets<Memory> sets;
  Kokkos::View<Ordinal*, Memory> kept;         ///< [nnz(L)] rows out
  Kokkos::View<Offset, Memory> end;            ///< entries of `kept` taken so far
  Kokkos::View<Offset*, Memory> kept_begin;    ///< [n] out: start of each row in `kept`
  Kokkos::View<Offset*, Memory> lower_counts;  ///< [n] out

  /// Variables shared by a team.
  struct RowState {
    Ordinal source, least;
    Offset target;
  };

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto& row = *static_cast<RowState*>(team.team_shmem().get_shmem(sizeof(RowState)));
    const auto slot = static_cast<std::size_t>(team.league_rank());
    while (true) {
      Kokkos::single(Kokkos::PerTeam(team), [&]() { row.source = row.least = subtrees.take_row(); });
      team.team_barrier();
      if (row.source >= subtrees.pattern.n_rows) return;
      subtrees.reach_from_row(team, slot, row.source, subtrees.pattern, row.least);
      subtrees.reach_from_row(team, slot, row.source, subtrees.mirror, row.least);
      team.team_barrier();  // all bits are set, the least vertex is known
      read_off(team, slot, row);
      team.team_barrier();  // bits are zero again, and `row` may change
    }
  }

  KOKKOS_FUNCTION void read_off(const Team& team, std::size_t slot, RowState& row) const {
    const auto begin = static_cast<std::size_t>(row.least) / 4096;
    const auto end_of_row = static_cast<std::size_t>(row.source) / 4096 + 1;
    sift(team, slot, subtrees.bits.locate(team, slot, begin, end_of_row, subtrees.positions),
         sets.depth(row.source));
    team.team_barrier();  // the number of remaining entries is known
    const Word located = subtrees.bits.locate(team, slot, begin, end_of_row, subtrees.positions);
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      const auto length = static_cast<Offset>(located & subtrees.bits.member_mask);
      lower_counts(row.source) = length;
      row.target = kept_begin(row.source) = fetch_add_shared<ExecutionSpace>(end(), length);
    });
    team.team_barrier();  // the target is known
    subtrees.bits.write(team, slot, located, subtrees.positions, kept.data() + row.target,
                        [](std::size_t, Word, Word) {});
    team.team_barrier();  // words have been read
    subtrees.bits.clear(team, slot, begin, end_of_row);
  }

  /// Removes each k whose column of L does not contain the ancestor at depth d. If all 64 vertices of a word
  /// are in one chain, their columns have been transposed (`LowerTranspose`), and one word covers all.
  KOKKOS_FUNCTION void sift(const Team& team, std::size_t slot, Word located, Ordinal d) const {
    const std::size_t n_eights = (located >> subtrees.bits.member_bits) * 8;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, std::size_t(0), n_eights), [&](const std::size_t t) {
      const auto w = static_cast<std::size_t>(subtrees.positions(slot, t / 8));
      Word& word = subtrees.bits.words(slot, w);
      if (is_in_one_chain(subtrees.runs, subtrees.pattern.n_rows, w)) {
        const auto first = static_cast<Ordinal>(w * 64);
        if (t % 8 == 0) word &= sets.lower(sets.map(first + d % 64) + d / 64);
        return;
      }
      const Word out = missing(word, static_cast<int>(t % 8) * 8, static_cast<Ordinal>(w * 64), d);
      if (out == 0) return;
      TeamAtomics<ExecutionSpace>::clear_bits(word, out);
    });
  }

  /// Among the eight bits of a word from `shift` on, those whose columns do not contain depth d. Free of
  /// branches, so that all eight loads are in flight together.
  /// @param first the vertex of the word's first bit
  KOKKOS_FUNCTION Word missing(Word word, int shift, Ordinal first, Ordinal d) const {
    Offset at[8];
    Word column[8], out = 0;
    for (int k = 0; k < 8; ++k) {
      const bool member = (word >> (shift + k) & 1) != 0;
      at[k] = member ? sets.map(first + shift + k) + d / 64 : Offset(-1);
    }
    for (int k = 0; k < 8; ++k) column[k] = at[k] >= 0 ? sets.lower(at[k]) : ~Word(0);
    for (int k = 0; k < 8; ++k) out |= (~column[k] >> (d % 64) & 1) << (shift + k);
    return out;
  }
};

/// Writes the vertices of the bits of a word, from the highest bit, which is the smallest vertex, down.
/// @param of_bit_zero the vertex of bit 0
template <class ExecutionSpace, class Team>
KOKKOS_FUNCTION void write_vertices(const Team& team, std::uint64_t bits, Ordinal of_bit_zero, Ordinal* to) {
  Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, 64), [&](const int bit) {
    const std::uint64_t from_here = bits >> bit;
    if ((from_here & 1) == 0) return;
    to[count_ones(from_here >> 1)] = of_bit_zero - static_cast<Ordinal>(bit);
  });
}
template <HostExecution ExecutionSpace, class Team>
KOKKOS_FUNCTION void write_vertices(const Team&, std::uint64_t bits, Ordinal of_bit_zero, Ordinal* to) {
  for (std::uint64_t rest = bits; rest != 0;) {
    const int bit = highest_one(rest);
    rest &= ~(std::uint64_t(1) << bit);
    *to++ = of_bit_zero - static_cast<Ordinal>(bit);
  }
}

/// Writes the part of a row of U that is in one chain, from its bit set.
template <class ExecutionSpace>
struct ChainWriter {
  using Sets = AncestorSets<typename ExecutionSpace::memory_space>;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Word = typename Sets::Word;

  /// Writes the members at depths `most` down to `least` of the set of U that starts at `map`: ancestors in
  /// one chain, of which `above` is the deepest. @returns their number
  KOKKOS_FUNCTION static Offset write(const Team& team, const Sets& sets, Offset map, Ordinal above,
                                      Ordinal most, Ordinal least, Ordinal* to) {
    const Ordinal* const begin = to;
    for (Ordinal w = most / 64; w >= least / 64; --w) {
      const Word mask = Sets::below(most + 1, w) & ~Sets::below(least > w * 64 ? least : w * 64, w);
      const Word bits = sets.upper(map + w) & mask;
      if (bits == 0) continue;
      write_vertices<ExecutionSpace>(team, bits, above + (most - w * 64), to);
      to += count_ones(bits);
    }
    return static_cast<Offset>(to - begin);
  }
};

/// Default for spaces without their own writer. Lutra_AncestorsCuda.hpp overloads it.
template <class ExecutionSpace>
ChainWriter<ExecutionSpace> chain_writer(const ExecutionSpace&) {
  return {};
}

/// Writes the rows of L + U. Rows of L are copied from `kept`; rows of U are read from their bit sets chain
/// by chain, starting with the nearest, which are the smallest, ancestors.
template <class ExecutionSpace, class Writer>
struct AncestorRowWriter {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Sets = AncestorSets<Memory>;

  Ordinal n;
  RowTeams share;
  Sets sets;
  Runs<Memory> chains;
  Kokkos::View<const Ordinal*, Memory> kept;
  Kokkos::View<const Offset*, Memory> kept_begin, row_map, diagonal;
  Kokkos::View<Ordinal*, Memory> entries;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    share.visit_rows(team, n, [&](const Ordinal i) {
      const Offset to = row_map(i), from = kept_begin(i), middle = diagonal(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, middle - to),
                           [&](const Offset k) { entries(to + k) = kept(from + k); });
      Kokkos::single(Kokkos::PerThread(team), [&]() { entries(middle) = i; });
      write_upper(team, i, middle + 1, row_map(i + 1));
    });
  }

  KOKKOS_FUNCTION void write_upper(const Team& team, Ordinal i, Offset to, Offset row_end) const {
    for (Ordinal above = sets.parent(i); to < row_end;) {
      const Ordinal last = chains.last(chains.of(above));
      to += Writer::write(team, sets, sets.map(i), above, sets.depth(above), sets.depth(last),
                          entries.data() + to);
      above = sets.parent(last);
    }
  }
};

}  // namespace lutra::Impl

#endif
