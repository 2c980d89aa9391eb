// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNWRITER_HPP
#define LUTRA_COLUMNWRITER_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "Lutra_SweepSet.hpp"

namespace lutra::Impl {

/// For each value of eight bits the numbers of those that are set, ascending, and how many they are.
template <class Ordinal>
struct BitNumbers {
  alignas(64) std::array<std::array<Ordinal, 8>, 256> numbers{};
  std::array<std::uint8_t, 256> count{};

  constexpr BitNumbers() {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) numbers[byte][count[byte]++] = static_cast<Ordinal>(bit);
      }
    }
  }
};

/// Writes the columns of words, ascending, one behind the other. Of words with many bits it writes eight
/// numbers for each eight bits, of which those beyond the last one set are written over by what follows.
template <class Ordinal>
class ColumnWriter {
 public:
  /// @param limit up to which all will be written by this writer
  ColumnWriter(Ordinal* to, const Ordinal* limit) : m_to(to), m_limit(limit) {}

  void write(SweepSet::Word bits, Ordinal number) {
    Ordinal first = number * 64;
    if (count_bits(bits) >= many && m_limit - m_to >= 64 + 8) {
      for (; bits != 0; bits >>= 8, first += 8) {
        const auto& numbers = table.numbers[bits & 255];
        for (std::size_t k = 0; k < 8; ++k) m_to[k] = first + numbers[k];
        m_to += table.count[bits & 255];
      }
      return;
    }
    for (; bits != 0; bits &= bits - 1) *m_to++ = first + static_cast<Ordinal>(std::countr_zero(bits));
  }

  /// @param begin words with bits() and a number
  template <class RowWord>
  void write(const RowWord* begin, const RowWord* end) {
    for (; begin != end; ++begin) write(begin->bits(), begin->number);
  }

 private:
  static constexpr int many = 12;  // bits, by measurement
  static constexpr BitNumbers<Ordinal> table{};

  Ordinal* m_to;
  const Ordinal* m_limit;
};

}  // namespace lutra::Impl

#endif
