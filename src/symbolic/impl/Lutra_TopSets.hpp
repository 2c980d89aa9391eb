// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TOPSETS_HPP
#define LUTRA_TOPSETS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SweepSet.hpp"

namespace lutra::Impl {

/// Rows of L + U within the top as sets of bits, a bit for each place in the top. At first a row's set holds
/// what its entries lead to through rows of subtrees. Completed as fill1 completes rows (Fill1.hpp: Rose and
/// Tarjan, with the symmetric pruning of Eisenstat and Liu), but by words of places.
class TopSets {
 public:
  using Word = std::uint64_t;

  TopSets() = default;
  TopSets(MemoryReservation& scratch, std::size_t rows)
      : m_rows(rows), m_words((rows + 63) / 64), m_last(rows, rows), m_only(rows, rows) {
    using Host = Kokkos::DefaultHostExecutionSpace;
    m_sets = scratch.allocate<Words>(Host(), "lutra::symbolic::top_sets", rows * m_words);
    m_to_next = scratch.allocate<Words>(Host(), "lutra::symbolic::to_next", m_words);
    Kokkos::deep_copy(m_to_next, Word(0));
  }

  std::size_t rows() const { return m_rows; }
  std::size_t words() const { return m_words; }
  Word* of(std::size_t row) const { return m_sets.data() + row * m_words; }

  /// Completes set t, for t = 0, 1, ...: walks from its bits before t. Runs of rows that each lead to the
  /// next one only are passed at once.
  void complete(std::size_t t) {
    Word* const set = of(t);
    for (std::size_t w = 0; w <= t / 64; ++w) {
      const Word before = w == t / 64 ? (Word(1) << (t % 64)) - 1 : ~Word(0);
      Word done = 0;  // bits of this word that were walked from
      for (Word rest = set[w] & before; rest != 0; rest = set[w] & before & ~done) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
        const std::size_t k = w * 64 + bit;
        const auto run = static_cast<std::size_t>(std::countr_one(m_to_next(w) >> bit));
        done |= bits_between(bit, bit + (run > 0 ? run : 1));
        if (run > 0) {
          const std::size_t end = bit + run;  // the last one's next
          set[w] |= bits_between(bit, end);
          set[w + end / 64] |= Word(1) << (end % 64);
        } else if (m_only[k] < m_rows) {
          set[m_only[k] / 64] |= Word(1) << (m_only[k] % 64);
        } else {
          merge_and_prune(k, t);
          if (m_only[k] == k + 1) m_to_next(w) |= Word(1) << bit;
        }
      }
    }
  }

  /// Bits of a row's set from `begin` to `end` - 1.
  std::size_t count(std::size_t row, std::size_t begin, std::size_t end) const {
    const Word* const set = of(row);
    std::size_t sum = 0;
    for (std::size_t w = begin / 64; w * 64 < end; ++w) {
      Word bits = set[w];
      if (w == begin / 64) bits &= ~Word(0) << (begin % 64);
      if ((w + 1) * 64 > end) bits &= ~(~Word(0) << (end % 64));
      sum += static_cast<std::size_t>(count_bits(bits));
    }
    return sum;
  }

 private:
  using Words = Kokkos::View<Word*, Kokkos::HostSpace>;

  // Merges row k of U, up to the last entry that has to be walked, into set t; where it has t itself, no row
  // behind t needs more.
  void merge_and_prune(std::size_t k, std::size_t t) {
    const Word* const from = of(k);
    Word* const to = of(t);
    const std::size_t first = k + 1, end = m_last[k] < m_rows ? m_last[k] + 1 : m_rows;
    for (std::size_t w = first / 64; w * 64 < end; ++w) {
      Word bits = from[w];
      if (w == first / 64) bits &= ~Word(0) << (first % 64);
      if ((w + 1) * 64 > end) bits &= ~(~Word(0) << (end % 64));
      to[w] |= bits;
    }
    if (end <= t || (from[t / 64] >> (t % 64) & 1) == 0 || m_last[k] < m_rows) return;
    m_last[k] = t;
    if (count(k, first, t) == 0) m_only[k] = t;
  }

  std::size_t m_rows = 0, m_words = 0;
  std::vector<std::size_t> m_last;  // of a row of U, the last entry that has to be walked
  std::vector<std::size_t> m_only;  // the same where it is the only one
  Words m_sets;                     // [rows, words]
  Words m_to_next;                  // bit set of rows whose only one is the next row
};

}  // namespace lutra::Impl

#endif
