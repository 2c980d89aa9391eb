// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TEAMBITS_HPP
#define LUTRA_TEAMBITS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// Bit sets of numbers below n, one a team, with a summary bit for each word that is not empty, so that a
/// team finds the few words in use without reading all. They are zero between two uses.
template <class MemorySpace>
struct TeamBits {
  using Word = std::uint64_t;
  Kokkos::View<Word**, Kokkos::LayoutRight, MemorySpace> words;    ///< (team, k / 64)
  Kokkos::View<Word**, Kokkos::LayoutRight, MemorySpace> summary;  ///< (team, k / 4096)

  static std::size_t words_for(std::size_t n) { return (n + 63) / 64; }
  static std::size_t bytes_each(std::size_t n) {
    return (words_for(n) + words_for(words_for(n))) * sizeof(Word);
  }
};

/// `word |= mask` where other threads of the team may do the same; returns what it was.
template <class ExecutionSpace>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t merge_bits(std::uint64_t& word, std::uint64_t mask) {
  if constexpr (is_host_space<ExecutionSpace>) {
    const std::uint64_t before = word;
    word |= mask;
    return before;
  } else {
    return Kokkos::atomic_fetch_or(&word, mask);
  }
}

/// Bits first … last of a word, both counted from its lowest.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t bit_range(int first, int last) {
  return (~std::uint64_t(0) << first) & (~std::uint64_t(0) >> (63 - last));
}

/// Sets bits first … last of an array of words, first to last word; returns the word that held `last` before.
template <class ExecutionSpace>
KOKKOS_FUNCTION std::uint64_t set_bit_range(std::uint64_t* words, std::size_t first, std::size_t last) {
  std::uint64_t before = 0;
  for (std::size_t w = first / 64; w <= last / 64; ++w) {
    const int from = w == first / 64 ? static_cast<int>(first % 64) : 0;
    const int to = w == last / 64 ? static_cast<int>(last % 64) : 63;
    before = merge_bits<ExecutionSpace>(words[w], bit_range(from, to));
  }
  return before;
}

}  // namespace lutra::Impl

#endif
