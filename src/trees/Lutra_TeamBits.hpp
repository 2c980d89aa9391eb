// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TEAMBITS_HPP
#define LUTRA_TEAMBITS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_Bytes.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TeamAtomics.hpp"
#include "Lutra_WordBits.hpp"

namespace lutra::Impl {

/// Bits first … last of a word, counted from the lowest.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t bit_range(int first, int last) {
  return (~std::uint64_t(0) << first) & (~std::uint64_t(0) >> (63 - last));
}

/// Sets bits first … last of an array of words, in ascending order of words. @returns the previous value of
/// the word that holds `last`
template <class ExecutionSpace>
KOKKOS_FUNCTION std::uint64_t set_bit_range(std::uint64_t* words, std::size_t first, std::size_t last) {
  std::uint64_t before = 0;
  for (std::size_t w = first / 64; w <= last / 64; ++w) {
    const int from = w == first / 64 ? static_cast<int>(first % 64) : 0;
    const int to = w == last / 64 ? static_cast<int>(last % 64) : 63;
    before = TeamAtomics<ExecutionSpace>::set_bits(words[w], bit_range(from, to));
  }
  return before;
}

/// One bit set of numbers below n per team, with a summary bit for each nonzero word, so that a team finds
/// the few words in use without reading all. All bits are zero between uses.
template <class MemorySpace>
struct TeamBits {
  using Word = std::uint64_t;
  // A scan counts words in use and members in one integer; up to 2³⁵ members fit.
  static constexpr int member_bits = 35;
  static constexpr Word member_mask = (Word(1) << member_bits) - 1;

  Kokkos::View<Word**, Kokkos::LayoutRight, MemorySpace> words;    ///< (team, k / 64)
  Kokkos::View<Word**, Kokkos::LayoutRight, MemorySpace> summary;  ///< (team, k / 4096)

  static std::size_t words_for(std::size_t n) { return (n + 63) / 64; }
  static std::size_t bytes_each(std::size_t n) {
    return (words_for(n) + words_for(words_for(n))) * sizeof(Word);
  }

  /// Clears all sets, once.
  template <class ExecutionSpace>
  void empty(const ExecutionSpace& exec) const {
    set_to_zero(exec, words);
    set_to_zero(exec, summary);
  }

  KOKKOS_FUNCTION bool has(std::size_t slot, std::size_t k) const {
    return ((words(slot, k / 64) >> (k % 64)) & 1) != 0;
  }

  /// Inserts k. @returns true for the one thread that inserted it
  template <class ExecutionSpace>
  KOKKOS_FUNCTION bool insert(std::size_t slot, std::size_t k) const {
    const Word bit = Word(1) << (k % 64);
    const Word before = TeamAtomics<ExecutionSpace>::set_bits(words(slot, k / 64), bit);
    if (before == 0) TeamAtomics<ExecutionSpace>::set_bits(summary(slot, k / 4096), Word(1) << (k / 64 % 64));
    return (before & bit) == 0;
  }

  /// Inserts first … last. @returns whether `last` was already a member
  template <class ExecutionSpace>
  KOKKOS_FUNCTION bool insert_range(std::size_t slot, std::size_t first, std::size_t last) const {
    const Word before = set_bit_range<ExecutionSpace>(&words(slot, 0), first, last);
    set_bit_range<ExecutionSpace>(&summary(slot, 0), first / 64, last / 64);
    return ((before >> (last % 64)) & 1) != 0;
  }

  /// Calls visit(w, word) for the words in use under one summary word.
  template <class Visit>
  KOKKOS_FUNCTION void for_words(std::size_t slot, std::size_t s, const Visit& visit) const {
    for (Word used = summary(slot, s); used != 0; used &= used - 1) {
      const std::size_t w = s * 64 + static_cast<std::size_t>(lowest_one(used));
      visit(w, words(slot, w));
    }
  }

  /// Computes the rank of the members of each word in use: for the i-th such word, its index goes to
  /// positions(slot, i) and the number of preceding members to positions(slot, half + i). All members must be
  /// under summary words begin … end − 1. Ends with a barrier. Only for teams without vector lanes: on CUDA a
  /// team scan adds in shared memory with every lane of a thread and takes 32 threads for a warp, which with
  /// lanes are several (Kokkos 4.6).
  /// @return words in use << member_bits | members, on all threads
  template <class Team, class PositionView>
  KOKKOS_FUNCTION Word locate(const Team& team, std::size_t slot, std::size_t begin, std::size_t end,
                              const PositionView& positions) const {
    Word total = 0;
    Kokkos::parallel_scan(
        Kokkos::TeamThreadRange(team, begin, end),
        [&](const std::size_t s, Word& sum, const bool final) {
          locate_under(slot, s, positions, sum, final);
        },
        total);
    team.team_barrier();
    return total;
  }

  /// Variant of `locate` for teams with vector lanes, by the lanes of the first thread.
  template <class Team, class PositionView>
  KOKKOS_FUNCTION Word locate_by_lanes(const Team& team, std::size_t slot, std::size_t begin, std::size_t end,
                                       const PositionView& positions) const {
    Word total = 0;
    if (team.team_rank() == 0) {
      Kokkos::parallel_scan(
          Kokkos::ThreadVectorRange(team, begin, end),
          [&](const std::size_t s, Word& sum, const bool final) {
            locate_under(slot, s, positions, sum, final);
          },
          total);
    }
    team.team_broadcast(total, 0);
    team.team_barrier();
    return total;
  }

  /// Scan step of `locate` for the words under one summary word.
  template <class PositionView>
  KOKKOS_FUNCTION void locate_under(std::size_t slot, std::size_t s, const PositionView& positions, Word& sum,
                                    bool final) const {
    using Ordinal = typename PositionView::non_const_value_type;
    const std::size_t half = positions.extent(1) / 2;
    for_words(slot, s, [&](const std::size_t w, const Word word) {
      if (final) {
        positions(slot, sum >> member_bits) = static_cast<Ordinal>(w);
        positions(slot, half + (sum >> member_bits)) = static_cast<Ordinal>(sum & member_mask);
      }
      sum += (Word(1) << member_bits) + static_cast<Word>(count_ones(word));
    });
  }

  /// Writes all members to `target` in ascending order; requires `locate`. A thread writes the members of
  /// eight bits, so that adjacent threads write adjacent elements, and calls at_eight(w, word, mask of the
  /// eight) if there are any.
  template <class Team, class PositionView, class AtEight>
  KOKKOS_FUNCTION void write(const Team& team, std::size_t slot, Word located, const PositionView& positions,
                             Ordinal* target, const AtEight& at_eight) const {
    const std::size_t half = positions.extent(1) / 2;
    const std::size_t n_eights = (located >> member_bits) * 8;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, std::size_t(0), n_eights), [&](const std::size_t t) {
      const int shift = static_cast<int>(t % 8) * 8;
      const auto w = static_cast<std::size_t>(positions(slot, t / 8));
      const Word word = words(slot, w), eight = Word(255) << shift;
      if ((word & eight) == 0) return;
      Ordinal* to = target + positions(slot, half + t / 8) + count_ones(word & ~(~Word(0) << shift));
      for (Word rest = word & eight; rest != 0; rest &= rest - 1) {
        *to++ = static_cast<Ordinal>(w * 64 + static_cast<std::size_t>(lowest_one(rest)));
      }
      at_eight(w, word, eight);
    });
  }

  /// Clears a set whose members are all under summary words begin … end − 1.
  template <class Team>
  KOKKOS_FUNCTION void clear(const Team& team, std::size_t slot, std::size_t begin, std::size_t end) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, begin, end), [&](const std::size_t s) {
      for_words(slot, s, [&](const std::size_t w, const Word) { words(slot, w) = 0; });
      summary(slot, s) = 0;
    });
  }
};

}  // namespace lutra::Impl

#endif
