// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SWEEPSET_HPP
#define LUTRA_SWEEPSET_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

/// A set of numbers below n that is emptied in ascending order, while greater numbers still come in: three
/// levels of bits, a bit of a higher level saying that a word below it is not empty. Members cost a few
/// instructions each whatever n is, and n bits of the lowest level stay in cache where n marks would not.
class SweepSet {
 public:
  using Word = std::uint64_t;
  static constexpr std::size_t n_levels = 3;

  /// Words of all levels for numbers below n.
  static std::size_t words(std::size_t n) {
    std::size_t sum = 0;
    for (std::size_t level = 0; level < n_levels; ++level) sum += n = (n + 63) / 64;
    return sum;
  }

  /// @param memory [words(n)] zero, and zero again after each sweep
  SweepSet(Word* memory, std::size_t n) {
    for (std::size_t level = 0; level < n_levels; ++level) {
      m_level[level] = memory;
      memory += n = (n + 63) / 64;
    }
    m_top_words = n;
  }

  void insert(std::size_t k) {
    if (k / 64 == m_open_number) {
      m_open |= Word(1) << (k % 64);
      return;
    }
    Word& word = m_level[0][k / 64];
    if (word == 0) note(k / 64);
    word |= Word(1) << (k % 64);
  }

  /// Empties the set, ascending. For members below `limit`, `visit(k)` may insert numbers greater than k, and
  /// returns how many of the numbers from k on are done with, all of them members now. The others come by
  /// words: take(word number, bits), first that of the limit.
  /// @param least no member is smaller
  template <class Visit, class Take>
  void sweep(std::size_t least, std::size_t limit, const Visit& visit, const Take& take) {
    std::size_t number = next_word(least / 64);
    for (; number < limit / 64; number = next_word(number)) drain(number, ~Word(0), visit);
    if (number == limit / 64) {
      take(number, drain(number, (Word(1) << (limit % 64)) - 1, visit));
      number = next_word(number);
    }
    for (; number != none; number = next_word(number)) {
      const Word bits = m_level[0][number];
      close(number);
      take(number, bits);
    }
  }

 private:
  static constexpr std::size_t none = ~std::size_t(0);

  // Visits the members of a word, of which those in `leading` lead on; returns all that were there in the
  // end. The word stays out of memory while most insertions go to it.
  template <class Visit>
  Word drain(std::size_t number, Word leading, const Visit& visit) {
    m_open = m_level[0][number];
    m_open_number = number;
    Word done = 0;
    for (Word rest = m_open & leading; rest != 0; rest = m_open & leading & ~done) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
      const std::size_t end = bit + visit(number * 64 + bit);
      done |= (~Word(0) << bit) & (end < 64 ? ~(~Word(0) << end) : ~Word(0));
    }
    m_open_number = none;
    close(number);
    return m_open & ~leading;
  }

  void close(std::size_t number) {
    m_level[0][number] = 0;
    Word& middle = m_level[1][number / 64];
    middle &= ~(Word(1) << (number % 64));
    if (middle == 0) m_level[2][number / 4096] &= ~(Word(1) << (number / 64 % 64));
  }

  // The first word from `number` on that is not empty.
  std::size_t next_word(std::size_t number) const {
    std::size_t middle = number / 64;
    const Word here = m_level[1][middle] >> (number % 64);
    if (here != 0) return number + static_cast<std::size_t>(std::countr_zero(here));
    ++middle;
    for (std::size_t top = middle / 64; top < m_top_words; ++top) {
      Word word = m_level[2][top];
      if (top == middle / 64) word &= ~Word(0) << (middle % 64);
      if (word == 0) continue;
      const std::size_t found = top * 64 + static_cast<std::size_t>(std::countr_zero(word));
      return found * 64 + static_cast<std::size_t>(std::countr_zero(m_level[1][found]));
    }
    return none;
  }

  void note(std::size_t word) {
    m_level[1][word / 64] |= Word(1) << (word % 64);
    m_level[2][word / 4096] |= Word(1) << (word / 64 % 64);
  }

  std::array<Word*, n_levels> m_level{};
  Word m_open = 0;                   // the word in work, with members done
  std::size_t m_open_number = none;  // its number
  std::size_t m_top_words = 0;
};

}  // namespace lutra::Impl

#endif
