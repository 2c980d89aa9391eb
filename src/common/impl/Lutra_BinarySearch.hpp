// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BINARYSEARCH_HPP
#define LUTRA_BINARYSEARCH_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_Index.hpp"

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

/// The row that holds an entry of a pattern by rows: the first that ends behind it.
template <class RowMap, class Offset>
KOKKOS_FORCEINLINE_FUNCTION Ordinal row_of_entry(const RowMap& row_map, Ordinal n_rows, Offset entry) {
  return first_not_before(Ordinal(0), n_rows, [&](Ordinal i) { return row_map(i + 1) <= entry; });
}

}  // namespace lutra::Impl

#endif
