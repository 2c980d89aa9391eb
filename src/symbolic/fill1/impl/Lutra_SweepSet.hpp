// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SWEEPSET_HPP
#define LUTRA_SWEEPSET_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

/// Population count on a host. Compilers call a library function if the target has no instruction for it.
inline int count_bits(std::uint64_t word) {
#ifdef __POPCNT__
  return std::popcount(word);
#else
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<int>(word * 0x0101010101010101u >> 56);
#endif
}

/// Mask of bits `begin` to `end` - 1 of a word, `end` up to 64.
inline std::uint64_t bits_between(std::size_t begin, std::size_t end) {
  return (~std::uint64_t(0) << begin) & (~std::uint64_t(0) >> (64 - end));
}

/// A set of numbers below n that is repeatedly filled and emptied in ascending order: a bit set with two
/// levels of summaries that mark nonempty words. A member, or a word of members, costs a few instructions for
/// any n, and n bits stay in cache.
class SweepSet {
 public:
  using Word = std::uint64_t;
  /// The last level is scanned: n / 64³ words, 39 for ten million numbers.
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
    m_n_last = n;
  }

  void insert(std::size_t k) { insert_word(k / 64, Word(1) << (k % 64)); }

  /// @param bits of word `number`, at least one
  void insert_word(std::size_t number, Word bits) {
    if (number == m_open_number) {
      m_open |= bits;
      return;
    }
    Word& word = m_level[0][number];
    if (word == 0) note(number);
    word |= bits;
  }

  /// Empties the set in ascending order, word by word: calls take(number, bits) when all members of a word
  /// are known.
  /// @param least   lower bound on the members
  /// @param leading leading(number): bits of the members of a word that have successors
  /// @param to_next to_next(number): bits of those members whose only successor is the next number
  /// @param visit   visit(k): inserts the successors of another member, numbers greater than k
  template <class Leading, class ToNext, class Visit, class Take>
  void sweep(std::size_t least, const Leading& leading, const ToNext& to_next, const Visit& visit,
             const Take& take) {
    for (std::size_t number = next_word(least / 64); number != none; number = next_word(number)) {
      const Word mask = leading(number);
      Word bits = m_level[0][number];
      if ((bits & mask) != 0) bits = drain(number, mask, to_next(number), visit);
      close(number);
      take(number, bits);
    }
  }

 private:
  static constexpr std::size_t none = ~std::size_t(0);

  // Visits the members of a word that have successors; finally returns all members. The word stays in a
  // register meanwhile, since many insertions go to it.
  template <class Visit>
  Word drain(std::size_t number, Word leading, Word to_next, const Visit& visit) {
    m_open = m_level[0][number];
    m_open_number = number;
    Word done = 0;
    for (Word rest = m_open & leading; rest != 0; rest = m_open & leading & ~done) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
      const auto run = static_cast<std::size_t>(std::countr_one(to_next >> bit));
      if (run == 0) {
        done |= Word(1) << bit;
        visit(number * 64 + bit);
        continue;
      }
      const std::size_t end = bit + run;
      done |= bits_between(bit, end);
      m_open |= bits_between(bit, end);
      insert(number * 64 + end);
    }
    m_open_number = none;
    return m_open;
  }

  void close(std::size_t number) {
    m_level[0][number] = 0;
    Word& middle = m_level[1][number / 64];
    middle &= ~(Word(1) << (number % 64));
    if (middle == 0) m_level[2][number / 4096] &= ~(Word(1) << (number / 64 % 64));
  }

  // The first nonempty word from `number` on.
  std::size_t next_word(std::size_t number) const {
    std::size_t middle = number / 64;
    const Word here = m_level[1][middle] >> (number % 64);
    if (here != 0) return number + static_cast<std::size_t>(std::countr_zero(here));
    ++middle;
    for (std::size_t top = middle / 64; top < m_n_last; ++top) {
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
  Word m_open = 0;                   // the word being visited
  std::size_t m_open_number = none;  // its index
  std::size_t m_n_last = 0;
};

}  // namespace lutra::Impl

#endif
