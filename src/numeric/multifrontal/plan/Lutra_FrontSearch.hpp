// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSEARCH_HPP
#define LUTRA_FRONTSEARCH_HPP

#include <cstdint>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Locates fronts and positions by binary search.

/// The front that eliminates a permuted index. Requires at least one front.
template <class Fronts>
KOKKOS_FUNCTION Ordinal front_of_pivot(const Fronts& fronts, Ordinal count, Ordinal index) {
  return first_not_before(Ordinal(1), count, [&](Ordinal f) { return fronts(f).first_pivot <= index; }) - 1;
}

/// The front that owns an entry of the contribution row lists.
template <class Fronts>
KOKKOS_FUNCTION Ordinal front_of_row(const Fronts& fronts, Ordinal count, Offset entry) {
  return first_not_before(Ordinal(1), count, [&](Ordinal f) { return fronts(f).rows <= entry; }) - 1;
}

/// Position of a permuted index in a front that contains it.
/// @param rows contribution rows of all fronts
inline KOKKOS_FUNCTION int position_in_front(const Front& front, const Ordinal* rows, Ordinal index) {
  if (index < front.first_pivot + front.pivots) return static_cast<int>(index - front.first_pivot);
  const Ordinal* const own = rows + front.rows;
  return front.pivots + first_not_before(0, front.cb_rows, [&](int r) { return own[r] < index; });
}

}  // namespace lutra::Impl

#endif
