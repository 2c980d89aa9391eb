// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INCOMPLETEFACTORS_HPP
#define LUTRA_INCOMPLETEFACTORS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// L and U of an incomplete factorization A ≈ L·U in one pattern by rows, columns ascending:
///
///     row i:   l_i,0 … l_i,i−1 | u_ii … u_i,n−1        L has a unit diagonal, which is not stored
///                                ▲ diagonal(i)
///
/// One array serves both factors: `TriangularSolver` accepts the lower or upper triangle of such a pattern
/// directly, and a row of U starts at its diagonal entry.
template <class Scalar, class MemorySpace>
struct IncompleteFactors {
  Ordinal n = 0;
  Kokkos::View<Offset*, MemorySpace> row_map;   ///< [n + 1] offset of each row
  Kokkos::View<Ordinal*, MemorySpace> entries;  ///< [nnz] column of each entry
  Kokkos::View<Scalar*, MemorySpace> values;    ///< [nnz]
  Kokkos::View<Offset*, MemorySpace> diagonal;  ///< [n] position of u_ii
  MemoryReservation reservation;                ///< bytes of these Views

  Offset nnz() const { return static_cast<Offset>(entries.extent(0)); }
  CsrPattern<Ordinal, Offset, MemorySpace> pattern() const { return {n, n, row_map, entries}; }
  CsrView<Scalar, Ordinal, Offset, MemorySpace> view() const { return {n, n, row_map, entries, values}; }

  /// Factors that share the Views of this pattern and have their own values, not set.
  /// @throws OutOfMemoryError
  template <class ExecutionSpace>
  IncompleteFactors with_own_values(const ExecutionSpace& exec, const MemoryBudget& budget) const {
    IncompleteFactors result{n, row_map, entries, {}, diagonal, MemoryReservation(budget)};
    result.values = result.reservation.template allocate<Kokkos::View<Scalar*, MemorySpace>>(
        exec, "lutra::ilu::values", entries.extent(0));
    return result;
  }
};

/// Magnitudes found in the values of incomplete factors. They refer to the factors of D·A, where D divides
/// each row of A by its largest magnitude m_i, so that the units of rows and of A cancel. Infinity if an
/// entry is NaN or infinite.
struct IncompleteOutcome {
  double largest_lower = 0;   ///< max |l_ik|·m_k/m_i
  double largest_upper = 0;   ///< max |u_ij|/m_i
  std::int64_t bad_row = -1;  ///< first row whose pivot is zero, or that holds NaN or infinity; −1: none

  /// The larger of the growth of L, relative to its unit diagonal, and of U, relative to the entries of D·A.
  double growth() const { return largest_lower < largest_upper ? largest_upper : largest_lower; }
  bool is_finite() const { return growth() < std::numeric_limits<double>::infinity(); }
  bool is_usable() const { return is_finite() && bad_row < 0; }
};

}  // namespace lutra

#endif
