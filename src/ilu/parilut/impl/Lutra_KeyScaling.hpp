// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KEYSCALING_HPP
#define LUTRA_KEYSCALING_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_CsrView.hpp"
#include "Lutra_PowerOfTwo.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// diag(row)·A·diag(column): one step of Ruiz' scaling, which brings the largest magnitudes of rows and
/// columns near one. Roots are taken after scaling A by the power of two below its largest entry, so those of
/// A·2^p, and the keys, are the same bit for bit.
template <class Real, class Memory>
struct KeyScaling {
  Kokkos::View<Real*, Memory> row_size;  ///< [n] largest magnitude of each row of A; one for zero rows
  Kokkos::View<Real*, Memory> row;       ///< [n] 1/√(row_size/2^exponent)
  Kokkos::View<Real*, Memory> column;    ///< [n] likewise for columns, times 2^−exponent for key()

  /// The magnitude of entry (i, j) of L or U in the factors of the scaled matrix.
  KOKKOS_FUNCTION Real key(Ordinal i, Ordinal j, Real size) const {
    return size * row(i) * (j < i ? 1 / row(j) : column(j));
  }
};

/// Entries of A's strict triangles, and the length of its longest row.
struct TriangleCounts {
  std::int64_t lower = 0, upper = 0, longest = 0;

  KOKKOS_FUNCTION TriangleCounts& operator+=(const TriangleCounts& other) {
    lower += other.lower;
    upper += other.upper;
    longest = Kokkos::max(longest, other.longest);
    return *this;
  }
};

/// Largest magnitudes and lengths of A's rows and columns.
///
///     rows      lanes of a row: row_size, lengths; column, zeroed before, takes maxima by atomics
///     largest   entry of A, from the columns
///     finish    roots and reciprocals; sums of the lengths
template <class Scalar, class Memory>
struct MeasureMatrix {
  using Real = RealOf<Scalar>;
  CsrView<Scalar, Ordinal, Offset, Memory> A;
  KeyScaling<Real, Memory> to;
  Kokkos::View<Ordinal*, Memory> n_lower, n_upper;  ///< [n] entries of A's strict triangles
  RowTeams rows;
  int exponent = 0;  ///< exponent of the largest entry

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    rows.visit_rows(team, A.n_rows, [&](const Ordinal i) {
      const auto entries = Kokkos::ThreadVectorRange(team, A.row_map(i), A.row_map(i + 1));
      Real size = 0;
      Kokkos::parallel_reduce(
          entries,
          [&](const Offset p, Real& max) {
            const Real a = ScalarTraits<Scalar>::magnitude(A.values(p));
            max = Kokkos::max(max, a);
            Kokkos::atomic_max(&to.column(A.entries(p)), a);
          },
          Kokkos::Max<Real>(size));
      Ordinal left = 0, diagonal = 0;
      Kokkos::parallel_reduce(
          entries, [&](const Offset p, Ordinal& sum) { sum += A.entries(p) < i ? 1 : 0; }, left);
      Kokkos::parallel_reduce(
          entries, [&](const Offset p, Ordinal& sum) { sum += A.entries(p) == i ? 1 : 0; }, diagonal);
      Kokkos::single(Kokkos::PerThread(team), [&]() {
        to.row_size(i) = size > 0 ? size : Real(1);
        n_lower(i) = left;
        n_upper(i) = static_cast<Ordinal>(A.row_map(i + 1) - A.row_map(i)) - left - diagonal;
      });
    });
  }

  KOKKOS_FUNCTION void operator()(const std::int64_t i, Real& largest) const {
    largest = Kokkos::max(largest, to.column(i));
  }
  KOKKOS_FUNCTION void operator()(const std::int64_t i, TriangleCounts& sum) const {
    to.row(i) = 1 / Kokkos::sqrt(scale_by_power(to.row_size(i), -exponent));
    const Real column =
        to.column(i) > 0 ? 1 / Kokkos::sqrt(scale_by_power(to.column(i), -exponent)) : Real(1);
    to.column(i) = scale_by_power(column, -exponent);
    sum += {n_lower(i), n_upper(i), static_cast<std::int64_t>(A.row_map(i + 1) - A.row_map(i))};
  }
};

}  // namespace lutra::Impl

#endif
