// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ENTRYCOSTS_HPP
#define LUTRA_ENTRYCOSTS_HPP

#include <cfloat>
#include <cstdint>

#include "Lutra_At.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MatchingParts.hpp"
#include "Lutra_RowLanes.hpp"

namespace lutra::Impl {

/// value| in double; the largest double on overflow.
template <class Real>
KOKKOS_INLINE_FUNCTION double magnitude_in_double(const Real& value) {
  return Kokkos::abs(static_cast<double>(value));
}

template <class Real>
KOKKOS_INLINE_FUNCTION double magnitude_in_double(const Kokkos::complex<Real>& value) {
  const double length = Kokkos::hypot(static_cast<double>(value.real()), static_cast<double>(value.imag()));
  return length < DBL_MAX ? length : DBL_MAX;
}

/// Costs of a row's entries, log(row maximum) − log|a|, and log(row maximum).
template <class Scalar, class ExecutionSpace>
struct EntryCosts {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  CsrView<Scalar, Ordinal, Offset, Memory> matrix;
  Kokkos::View<double*, Memory> cost;    // [nnz] infinity for a zero
  Kokkos::View<double*, Memory> origin;  // [n] log(row maximum); 0 for a row without nonzero entries

  KOKKOS_FUNCTION void operator()(const Team& team, std::int64_t& zeros) const {
    for_rows<ExecutionSpace>(
        team, matrix.row_map, matrix.n_rows, [](const Ordinal r) { return r; },
        [&](const auto& lanes, const Ordinal r) { cost_row(lanes, r, zeros); });
  }

  /// Computes the costs of row r; one lane adds the number of zero values to `zeros`.
  template <class Lanes>
  KOKKOS_FUNCTION void cost_row(const Lanes& lanes, const Ordinal r, std::int64_t& zeros) const {
    const Offset begin = matrix.row_map(r), end = matrix.row_map(r + 1);
    double largest = 0;
    Kokkos::parallel_reduce(
        lanes.over(begin, end),
        [&](const Offset k, double& own) {
          const double size = magnitude_in_double(matrix.values(k));
          own = size > own ? size : own;
        },
        Kokkos::Max<double>(largest));
    if (!(largest > 0)) largest = 1;  // also for a row without entries
    const double row_origin = Kokkos::log(largest);
    std::int64_t row_zeros = 0;
    Kokkos::parallel_reduce(
        lanes.over(begin, end),
        [&](const Offset k, std::int64_t& own) {
          const double size = magnitude_in_double(matrix.values(k));
          cost(k) = size > 0 ? row_origin - Kokkos::log(size) : Kokkos::Experimental::infinity_v<double>;
          own += size > 0 ? 0 : 1;
        },
        Kokkos::Sum<std::int64_t>(row_zeros));
    lanes.once([&]() {
      origin(r) = row_origin;
      zeros += row_zeros;
    });
  }
};

/// Computes `cost` and `origin`. Waits. @returns the number of entries with value zero
template <class Scalar, class ExecutionSpace, class CostView>
std::int64_t find_costs(const ExecutionSpace& exec,
                        const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix,
                        const CostView& cost, const CostView& origin) {
  if (matrix.n_rows == 0) return 0;
  std::int64_t zeros = 0;
  Kokkos::parallel_reduce("lutra::preprocess::entry_costs",
                          rows_policy(exec, matrix.n_rows,
                                      static_cast<double>(matrix.nnz()) / static_cast<double>(matrix.n_rows)),
                          EntryCosts<Scalar, ExecutionSpace>{matrix, cost, origin}, zeros);
  exec.fence("lutra::preprocess: the number of zeros is read");
  return zeros;
}

/// Costs on the host, most of them deferred: if single entries dominate rows and columns, the logarithms cost
/// as much as the rest of a matching.
template <class Scalar>
struct HostCosts : MatchingCosts {
  static constexpr double pending = 1e300;  ///< deferred cost, minimal in neither its row nor its column

  explicit HostCosts(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A) : matrix(A) {
    of_entry.resize(matrix.entries.extent(0));
    row_origin.resize(static_cast<std::size_t>(matrix.n_rows));
    // Maxima of |a| / row maximum, then the least ratio whose cost is computed.
    std::vector<double> column(static_cast<std::size_t>(matrix.n_cols), 0.0);
    for (Ordinal r = 0; r < matrix.n_rows; ++r) set_ratios(r, column.data());
    // Ratios suffice to compare costs unless they are equal up to rounding, or so small that they lose
    // digits.
    constexpr double margin = 1 - 1e-9, least_precise = 1e-290;
    for (double& most : column) most = most < least_precise ? 0.0 : margin * most;
    const Ordinal* const columns = matrix.entries.data();
    for (Ordinal r = 0; r < matrix.n_rows; ++r) {
      for (Offset k = matrix.row_map(r), end = matrix.row_map(r + 1); k < end; ++k) {
        const double ratio = at(of_entry, k);
        at(of_entry, k) = ratio < at(column, columns[k]) && ratio > 0 ? pending : exact(r, k);
      }
    }
  }

  /// Computes the deferred costs of a row.
  void complete(Ordinal r) {
    for (Offset k = matrix.row_map(r); k < matrix.row_map(r + 1); ++k)
      if (at(of_entry, k) == pending) at(of_entry, k) = exact(r, k);
  }

  /// The cost of an entry; infinity for a zero.
  double exact(Ordinal r, Offset k) const {
    const double size = magnitude_in_double(matrix.values(k));
    return size > 0 ? at(row_origin, r) - Kokkos::log(size) : Kokkos::Experimental::infinity_v<double>;
  }

  /// Stores |a| / row maximum for the entries of a row, and raises the maxima of columns.
  void set_ratios(Ordinal r, double* column_max) {
    const Offset begin = matrix.row_map(r), end = matrix.row_map(r + 1);
    const Ordinal* const columns = matrix.entries.data();
    double* const ratios = of_entry.data();
    double largest = 0;
    bool zeros = false;
    for (Offset k = begin; k < end; ++k) {
      const double size = ratios[k] = magnitude_in_double(matrix.values(k));
      largest = size > largest ? size : largest;
      zeros = zeros || !(size > 0);
    }
    has_zeros = has_zeros || zeros;
    if (!(largest > 0)) largest = 1;  // also for a row without entries
    at(row_origin, r) = Kokkos::log(largest);
    const double inverse = 1 / largest;
    const bool is_precise = largest > DBL_MIN && inverse > DBL_MIN;
    for (Offset k = begin; k < end; ++k) {
      ratios[k] = is_precise ? ratios[k] * inverse : ratios[k] / largest;
      double& most = column_max[columns[k]];
      most = ratios[k] > most ? ratios[k] : most;
    }
  }

  CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace> matrix;
};

}  // namespace lutra::Impl

#endif
