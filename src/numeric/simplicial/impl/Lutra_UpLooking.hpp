// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOOKING_HPP
#define LUTRA_UPLOOKING_HPP

#include <algorithm>
#include <cmath>
#include <limits>

#include "Lutra_Index.hpp"
#include "Lutra_UpLookingLu.hpp"

namespace lutra::Impl {

/// Maximum number of rows of a run subtracted together, in a single pass over the working row.
inline constexpr int max_rows_together = 4;

/// The largest magnitude of many values; infinity once one is not finite. Complex magnitudes are computed
/// only for candidates.
template <class Real>
class Greatest {
 public:
  void note(Real value) {
    const Real size = std::abs(value);
    if (!(size <= m_most)) m_most = std::isfinite(size) ? size : std::numeric_limits<Real>::infinity();
  }
  void note(const Kokkos::complex<Real>& value) {
    const Real larger = std::max(std::abs(value.real()), std::abs(value.imag()));
    const bool comparable = larger == larger && value.imag() == value.imag();
    if (comparable && Real(1.5) * larger <= m_most) return;
    note(ScalarTraits<Kokkos::complex<Real>>::is_finite(value) ? Kokkos::abs(value)
                                                               : std::numeric_limits<Real>::infinity());
  }
  Real most() const { return m_most; }

 private:
  Real m_most = 0;
};

/// Computes rows of the up-looking factorization, each by one thread.
template <class Scalar>
struct UpLookingRows {
  const Offset* F_map;  ///< F by rows
  const Ordinal* F_entries;
  const Scalar* F_values;
  const Offset* row_map;  ///< L + U by rows
  const Offset* diagonal;
  const Ordinal* entries;
  const Ordinal* run_end;
  Scalar* values;
  Scalar* inverse;
  unsigned char* perturbed;
  RealOf<Scalar> threshold;

  /// @param x       [n] zero before and after
  /// @param wait    called as wait(first, end) before rows are read
  /// @param largest magnitude in L\U so far
  /// @returns whether the pivot was perturbed
  template <class Wait>
  bool work(Ordinal i, Scalar* x, const Wait& wait, Greatest<RealOf<Scalar>>& largest) const {
    for (Offset q = F_map[i]; q < F_map[i + 1]; ++q) x[F_entries[q]] = F_values[q];
    const Offset pivot = diagonal[i];
    for (Offset p = row_map[i]; p < pivot;) {
      const Ordinal k = entries[p];
      const auto together = static_cast<int>(std::min<Ordinal>(run_end[k] - k, max_rows_together));
      // A row with an entry in a run also has all later entries of the run left of its diagonal.
      const auto rows = static_cast<int>(std::min<Offset>(together, pivot - p));
      wait(k, static_cast<Ordinal>(k + rows));
      switch (rows) {
        case 1:
          subtract<1>(p, k, x, largest);
          break;
        case 2:
          subtract<2>(p, k, x, largest);
          break;
        case 3:
          subtract<3>(p, k, x, largest);
          break;
        default:
          subtract<4>(p, k, x, largest);
      }
      p += rows;
    }
    for (Offset p = pivot; p < row_map[i + 1]; ++p) {
      const Scalar value = x[entries[p]];
      x[entries[p]] = Scalar(0);
      values[p] = value;
      largest.note(value);
    }
    return finish_pivot(i, pivot);
  }

 private:
  /// Subtracts multiples of the rows k, … from x, for the entries of L from p on.
  template <int Rows>
  void subtract(Offset p, Ordinal k, Scalar* KOKKOS_RESTRICT x, Greatest<RealOf<Scalar>>& largest) const {
    Scalar factor[Rows];
    const Scalar* U[Rows];
    for (int r = 0; r < Rows; ++r) {
      Scalar sum = x[k + r];
      for (int s = 0; s < r; ++s) sum -= factor[s] * values[diagonal[k + s] + (r - s)];
      x[k + r] = Scalar(0);
      factor[r] = sum * inverse[k + r];
      values[p + r] = factor[r];
      largest.note(factor[r]);
      U[r] = values + diagonal[k + r] + (Rows - r);
    }
    const Offset begin = diagonal[k + Rows - 1] + 1;
    const Ordinal* const column = entries + begin;
    const Offset length = row_map[k + Rows] - begin;
    for (Offset q = 0; q < length; ++q) {
      Scalar sum = factor[0] * U[0][q];
      for (int r = 1; r < Rows; ++r) sum += factor[r] * U[r][q];
      x[column[q]] -= sum;
    }
  }

  bool finish_pivot(Ordinal i, Offset pivot) const {
    const auto size = ScalarTraits<Scalar>::magnitude(values[pivot]);
    const bool small = size < threshold;
    if (small) values[pivot] = size > 0 ? values[pivot] * (threshold / size) : Scalar(threshold);
    perturbed[i] = small ? 1 : 0;
    inverse[i] = Scalar(1) / values[pivot];
    return small;
  }
};

}  // namespace lutra::Impl

#endif
