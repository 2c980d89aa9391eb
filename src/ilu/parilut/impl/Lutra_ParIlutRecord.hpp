// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARILUTRECORD_HPP
#define LUTRA_PARILUTRECORD_HPP

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>

#include "Lutra_IluRow.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PowerOfTwo.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_ScalarTraits.hpp"

// What a step of ParILUT reports: entries kept, thresholds, and the nonlinear residual.

namespace lutra::Impl {

/// L and U after a step, as the device knows them.
struct KeptCounts {
  std::int64_t lower = 0, upper = 0;                ///< entries of L without, of U with its diagonal
  double lower_threshold = 0, upper_threshold = 0;  ///< least keys; negative: no threshold was needed
  double residual = 0;                              ///< sum of the squares that PatternResidualRow leaves

  KOKKOS_FUNCTION KeptCounts& operator+=(const KeptCounts& other) {
    lower += other.lower;
    upper += other.upper;
    lower_threshold += other.lower_threshold;
    upper_threshold += other.upper_threshold;
    residual += other.residual;
    return *this;
  }
};

/// Squares of A − L·U in row i, summed over the row's pattern, with A over a power of two near its largest
/// entry so that they neither overflow nor vanish.
template <class Scalar, class Memory>
struct PatternResidualRow {
  FactorRows<Scalar, Memory> rows;
  Kokkos::View<double*, Memory> squares;  ///< [n]
  int exponent;                           ///< of that power

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const { return rows.max_columns(i); }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    const Offset end = rows.row_map(i + 1), diagonal = rows.diagonal(i);
    rows.load(lanes, w, i);
    for (Offset p = rows.row_map(i); p < diagonal; ++p) {
      const Ordinal k = rows.entries(p);
      rows.subtract_upper(lanes, w, p, end, rows.diagonal(k), rows.row_map(k + 1), Scalar(rows.from(p)));
    }
    const double sum = lanes.template sum<double>(rows.row_map(i), end, [&](const Offset p) {
      Scalar difference = rows.loaded(w, i, p);
      if (p >= diagonal) difference -= rows.from(p);
      const auto part =
          static_cast<double>(scale_by_power(ScalarTraits<Scalar>::magnitude(difference), -exponent));
      return part * part;
    });
    lanes.once([&]() { squares(i) = sum; });
  }
};

/// Reduction over the rows of L and U.
template <class Threshold, class Memory>
struct CountKeptEntries {
  Kokkos::View<const Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Threshold*, Memory> thresholds;  ///< [2] of L, of U
  Kokkos::View<const double*, Memory> squares;        ///< [n]; empty if no residual is wanted

  KOKKOS_FUNCTION void operator()(const std::int64_t i, KeptCounts& sum) const {
    sum.lower += static_cast<std::int64_t>(diagonal(i) - row_map(i));
    sum.upper += static_cast<std::int64_t>(row_map(i + 1) - diagonal(i));
    if (squares.extent(0) > 0) sum.residual += squares(i);
    if (i > 0) return;
    sum.lower_threshold += static_cast<double>(thresholds(0).lower);
    sum.upper_threshold += static_cast<double>(thresholds(1).lower);
  }
};

/// Completes the record of a step.
/// @param exponent  of PatternResidualRow; used if `has_residual`
inline void finish_record(const KeptCounts& kept, bool has_residual, int exponent, ParIlutStep& step) {
  step.nnz_l = kept.lower;
  step.nnz_u = kept.upper;
  if (!(kept.lower_threshold < 0)) step.threshold_l = kept.lower_threshold;
  if (!(kept.upper_threshold < 0)) step.threshold_u = kept.upper_threshold;
  if (has_residual) step.nonlinear_residual = std::ldexp(std::sqrt(kept.residual), exponent);
}

}  // namespace lutra::Impl

#endif
