// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUROW_HPP
#define LUTRA_ILUROW_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_RowAccumulator.hpp"
#include "Lutra_ScalarTraits.hpp"

// Row operation of incomplete factorizations on a fixed pattern, for one row and a group of lanes.

namespace lutra::Impl {

/// Term that a shift adds to a diagonal entry a of a row with the largest magnitude `largest`. It has the
/// direction of a, so that |a| grows.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar shift_of(const Scalar& a, double shift, RealOf<Scalar> largest) {
  const auto size = ScalarTraits<Scalar>::magnitude(a);
  const Scalar grown = Scalar(static_cast<RealOf<Scalar>>(shift) * largest);
  return size > 0 ? grown * (a / size) : grown;
}

/// The largest magnitude in row i.
template <class Lanes, class Scalar, class Memory>
KOKKOS_INLINE_FUNCTION RealOf<Scalar> largest_in_row(const Lanes& lanes,
                                                     const CsrView<Scalar, Ordinal, Offset, Memory>& A,
                                                     Ordinal i) {
  return lanes.template largest<RealOf<Scalar>>(A.row_map(i), A.row_map(i + 1), [&](const Offset q) {
    return ScalarTraits<Scalar>::magnitude(A.values(q));
  });
}

/// The entry of A at (i, j), or 0.
template <class Scalar, class Memory>
KOKKOS_INLINE_FUNCTION Scalar entry_of(const CsrView<Scalar, Ordinal, Offset, Memory>& A, Ordinal i,
                                       Ordinal j) {
  const Offset end = A.row_map(i + 1);
  const Offset q = first_not_before(A.row_map(i), end, [&](Offset at) { return A.entries(at) < j; });
  return q < end && A.entries(q) == j ? A.values(q) : Scalar(0);
}

/// Adds row i of A + shift to an accumulator.
/// @tparam Insert true: columns without a slot get one; false: they are ignored
template <bool Insert, class Lanes, class Accumulator, class Scalar, class Memory>
KOKKOS_INLINE_FUNCTION void add_matrix_row(const Lanes& lanes, Accumulator& w,
                                           const CsrView<Scalar, Ordinal, Offset, Memory>& A, double shift,
                                           Ordinal i) {
  subtract_row<Insert>(lanes, w, A.entries, A.values, A.row_map(i), A.row_map(i + 1), Scalar(-1));
  if (shift == 0) return;
  const auto largest = largest_in_row(lanes, A, i);
  const auto slot = Insert ? w.insert(i) : w.find(i);
  lanes.once([&]() { w.value(slot) += shift_of(w.value(slot), shift, largest); });
}

/// Rows of L and U and the matrix they are computed from.
template <class Scalar, class Memory>
struct FactorRows {
  CsrView<Scalar, Ordinal, Offset, Memory> A;
  double shift;
  Kokkos::View<const Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Ordinal*, Memory> entries;
  Kokkos::View<const Scalar*, Memory> from;  ///< source of other rows
  Kokkos::View<Scalar*, Memory> to;          ///< destination of the row

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const {
    return static_cast<Ordinal>(row_map(i + 1) - row_map(i));
  }
  /// The value of entry p of row i in an accumulator loaded with the row.
  template <class Accumulator>
  KOKKOS_FORCEINLINE_FUNCTION Scalar& loaded(Accumulator& w, Ordinal i, Offset p) const {
    return w.value(w.appended(static_cast<Ordinal>(p - row_map(i)), entries(p)));
  }

  /// Inserts the columns of row i with the values of A.
  template <class Lanes, class Accumulator>
  KOKKOS_INLINE_FUNCTION void load(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    lanes.each(row_map(i), row_map(i + 1), [&](const Offset p) { w.append(entries(p)); });
    add_matrix_row<false>(lanes, w, A, shift, i);
  }

  /// Eliminates the columns left of the diagonal.
  /// @param wait wait(k) returns when row k may be read
  template <class Lanes, class Accumulator, class Wait>
  KOKKOS_INLINE_FUNCTION void eliminate(const Lanes& lanes, Accumulator& w, Ordinal i,
                                        const Wait& wait) const {
    for (Offset p = row_map(i); p < diagonal(i); ++p) {
      const Ordinal k = entries(p);
      wait(k);
      const Offset pivot = diagonal(k);
      Scalar& value = loaded(w, i, p);
      const Scalar l = divide_by_pivot(value, from(pivot));
      subtract_upper(lanes, w, p + 1, row_map(i + 1), pivot + 1, row_map(k + 1), l);
      value = l;  // all lanes write the same value, and none still reads the old one
    }
  }

  /// w −= l·u on the row's entries from `begin` on. A much longer row of U is searched for them.
  template <class Lanes, class Accumulator>
  KOKKOS_INLINE_FUNCTION void subtract_upper(const Lanes& lanes, Accumulator& w, Offset begin, Offset end,
                                             Offset upper, Offset upper_end, const Scalar& l) const {
    if (upper_end - upper <= 16 * (end - begin))
      return subtract_row<false>(lanes, w, entries, from, upper, upper_end, l);
    lanes.each(begin, end, [&](const Offset p) {
      const Ordinal j = entries(p);
      const Offset q = first_not_before(upper, upper_end, [&](const Offset at) { return entries(at) < j; });
      if (q < upper_end && entries(q) == j) subtract_product(w.value(w.find(j)), l, Scalar(from(q)));
    });
  }

  template <class Lanes, class Accumulator>
  KOKKOS_INLINE_FUNCTION void store(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    lanes.each(row_map(i), row_map(i + 1), [&](const Offset p) { to(p) = loaded(w, i, p); });
  }
};

/// One row of a sweep.
template <class Scalar, class Memory>
struct SweepRow {
  FactorRows<Scalar, Memory> rows;

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const { return rows.max_columns(i); }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    rows.load(lanes, w, i);
    rows.eliminate(lanes, w, i, [](const Ordinal) {});
    rows.store(lanes, w, i);
  }
};

}  // namespace lutra::Impl

#endif
