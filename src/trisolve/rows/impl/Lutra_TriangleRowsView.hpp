// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEROWSVIEW_HPP
#define LUTRA_TRIANGLEROWSVIEW_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TriangleStatistics.hpp"

namespace lutra::Impl {

/// A pointer to an array, as a kernel argument. A View is three times as large, and Kokkos waits for earlier
/// launches before one with more than 512 bytes of arguments.
template <class T>
struct ArrayRef {
  T* data = nullptr;

  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION T& operator()(Index i) const {
    return data[i];
  }
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION T& operator[](Index i) const {
    return data[i];
  }
};

/// TriangleRows in the form of kernel arguments.
struct RowAccess {
  Ordinal n = 0;
  bool upper = false;
  ArrayRef<const Ordinal> entries;
  ArrayRef<const Offset> begin, end, diagonal;

  /// Row of a step, and step of a row.
  KOKKOS_FORCEINLINE_FUNCTION Ordinal mirrored(Ordinal p) const { return upper ? n - 1 - p : p; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_unit() const { return diagonal.data == nullptr; }
  /// Off-diagonal entries of a row.
  KOKKOS_FORCEINLINE_FUNCTION Offset length(Ordinal row) const { return end(row) - begin(row); }
  /// Position of the t-th entry of a row in the order of the steps that its entries depend on.
  KOKKOS_FORCEINLINE_FUNCTION Offset position(Ordinal row, Offset t) const {
    return upper ? end(row) - 1 - t : begin(row) + t;
  }
  /// Step of the t-th entry of a row; ascending in t.
  KOKKOS_FORCEINLINE_FUNCTION Ordinal dependency(Ordinal row, Offset t) const {
    return mirrored(entries(position(row, t)));
  }
  /// Entries of a row that depend on steps before `first`, if at most `most` depend on later ones.
  KOKKOS_FORCEINLINE_FUNCTION Offset length_before(Ordinal row, Ordinal first, int most) const {
    const Offset all = length(row);
    return first_not_before(all > most ? all - most : Offset(0), all,
                            [&](Offset t) { return dependency(row, t) < first; });
  }
};

/// One triangle of a square pattern by rows, in the order of substitution: step p solves row p of a lower
/// triangle and row n − 1 − p of an upper one, so that every step depends on earlier steps only.
template <class Memory>
struct TriangleRows {
  Ordinal n = 0;
  bool upper = false;
  Kokkos::View<const Ordinal*, Memory> entries;  ///< columns of the pattern, ascending in each row
  Kokkos::View<const Offset*, Memory> begin;     ///< [n] by row: first off-diagonal entry of the triangle
  Kokkos::View<const Offset*, Memory> end;       ///< [n] by row: one past the last off-diagonal entry
  Kokkos::View<const Offset*, Memory> diagonal;  ///< [n] by row: position of the diagonal; empty: unit
  /// the part `rows` summarizes these rows; empty: not checked, known to be valid
  StatisticsView<Memory> statistics;

  RowAccess access() const {
    return {n, upper, {entries.data()}, {begin.data()}, {end.data()}, {diagonal.data()}};
  }
};

}  // namespace lutra::Impl

#endif
