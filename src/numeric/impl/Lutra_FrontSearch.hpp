// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSEARCH_HPP
#define LUTRA_FRONTSEARCH_HPP

#include <cstdint>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Positions in fronts, by binary searches.

/// The front that eliminates a permuted index. There is one front at least.
template <class Fronts>
KOKKOS_FUNCTION Ordinal front_of_pivot(const Fronts& fronts, Ordinal count, Ordinal index) {
  return first_not_before(Ordinal(1), count, [&](Ordinal f) { return fronts(f).first_pivot <= index; }) - 1;
}

/// The front that has an entry of the lists of contribution rows.
template <class Fronts>
KOKKOS_FUNCTION Ordinal front_of_row(const Fronts& fronts, Ordinal count, Offset entry) {
  return first_not_before(Ordinal(1), count, [&](Ordinal f) { return fronts(f).rows <= entry; }) - 1;
}

/// Position in a front of a permuted index that it holds.
/// @param rows contribution rows of all fronts
inline KOKKOS_FUNCTION int position_in_front(const Front& front, const Ordinal* rows, Ordinal index) {
  if (index < front.first_pivot + front.pivots) return static_cast<int>(index - front.first_pivot);
  const Ordinal* const own = rows + front.rows;
  return front.pivots + first_not_before(0, front.cb_rows, [&](int r) { return own[r] < index; });
}

}  // namespace lutra::Impl

#endif
