// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BINARYSEARCH_HPP
#define LUTRA_BINARYSEARCH_HPP

#include <Kokkos_Core.hpp>

namespace lutra::Impl {

/// The first of begin … end − 1 that is not before what is looked for, or `end`.
/// @param is_before is_before(k) does not hold for any number behind one for which it does not
template <class Index, class IsBefore>
KOKKOS_FORCEINLINE_FUNCTION Index first_not_before(Index begin, Index end, const IsBefore& is_before) {
  while (begin < end) {
    const Index middle = begin + (end - begin) / 2;
    if (is_before(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace lutra::Impl

#endif
