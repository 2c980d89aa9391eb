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

  /// visit(k) for each member, ascending, and removes it. `visit` may insert numbers greater than its own.
  /// @param least no member is smaller
  template <class Visit>
  void sweep(std::size_t least, const Visit& visit) {
    for (std::size_t top = least / (64 * 64 * 64); top < m_top_words; ++top) {
      drain(m_level[2][top], top, [&](std::size_t middle) {
        drain(m_level[1][middle], middle, [&](std::size_t low) { drain_lowest(low, visit); });
      });
    }
  }

 private:
  static constexpr std::size_t none = ~std::size_t(0);

  // visit(number of each bit), lowest first. A bit goes after its visit, in which the word below it may have
  // been emptied and filled again.
  template <class Visit>
  static void drain(Word& word, std::size_t number, const Visit& visit) {
    while (word != 0) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(word));
      visit(number * 64 + bit);
      word &= ~(Word(1) << bit);
    }
  }

  // The same for a word of the lowest level, which stays out of memory while most insertions go to it.
  template <class Visit>
  void drain_lowest(std::size_t number, const Visit& visit) {
    m_open = m_level[0][number];
    m_level[0][number] = 0;
    m_open_number = number;
    while (m_open != 0) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(m_open));
      m_open &= m_open - 1;
      visit(number * 64 + bit);
    }
    m_open_number = none;
  }

  void note(std::size_t word) {
    m_level[1][word / 64] |= Word(1) << (word % 64);
    m_level[2][word / 4096] |= Word(1) << (word / 64 % 64);
  }

  std::array<Word*, n_levels> m_level{};
  Word m_open = 0;                   // what is left of the word in work
  std::size_t m_open_number = none;  // its number
  std::size_t m_top_words = 0;
};

}  // namespace lutra::Impl

#endif
