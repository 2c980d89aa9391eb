// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BINARYSEARCH_HPP
#define LUTRA_BINARYSEARCH_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Binary search in begin … end − 1 for the first k without is_before(k); `end` if there is none.
/// @param is_before monotone: once false, false for all larger k
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

/// Row that contains an entry of a pattern: the first that ends after it.
template <class RowMap, class Offset>
KOKKOS_FORCEINLINE_FUNCTION Ordinal row_of_entry(const RowMap& row_map, Ordinal n_rows, Offset entry) {
  return first_not_before(Ordinal(0), n_rows, [&](Ordinal i) { return row_map(i + 1) <= entry; });
}

}  // namespace lutra::Impl

#endif
