// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WORDBITS_HPP
#define LUTRA_WORDBITS_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>

namespace lutra::Impl {

// On devices, popcount, countr_zero and countl_zero of Kokkos 4.6 are loops; its builtin variants are
// instructions.

/// Number of set bits.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION int count_ones(Word word) {
  return Kokkos::Experimental::popcount_builtin(word);
}

/// Index of the lowest set bit; undefined for 0.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION int lowest_one(Word word) {
  return Kokkos::Experimental::countr_zero_builtin(word);
}

/// Index of the highest set bit; undefined for 0.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION int highest_one(Word word) {
  return static_cast<int>(sizeof(Word)) * 8 - 1 - Kokkos::Experimental::countl_zero_builtin(word);
}

}  // namespace lutra::Impl

#endif
