// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WORDBITS_HPP
#define LUTRA_WORDBITS_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>

namespace lutra::Impl {

// On devices Kokkos 4.6's popcount, countr_zero and countl_zero are loops; those it calls builtin are
// instructions.

/// How many bits of `word` are set.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION int count_ones(Word word) {
  return Kokkos::Experimental::popcount_builtin(word);
}

/// Number of the lowest bit that is set; means nothing for 0.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION int lowest_one(Word word) {
  return Kokkos::Experimental::countr_zero_builtin(word);
}

/// Number of the highest bit that is set; means nothing for 0.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION int highest_one(Word word) {
  return static_cast<int>(sizeof(Word)) * 8 - 1 - Kokkos::Experimental::countl_zero_builtin(word);
}

}  // namespace lutra::Impl

#endif
