// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ENTRYCOSTS_HPP
#define LUTRA_ENTRYCOSTS_HPP

#include <cfloat>
#include <cstdint>

#include "Lutra_MatchingParts.hpp"
#include "Lutra_RowLanes.hpp"

namespace lutra::Impl {

/// |value| in double; the largest double where that overflows.
template <class Real>
KOKKOS_INLINE_FUNCTION double magnitude_in_double(const Real& value) {
  return Kokkos::abs(static_cast<double>(value));
}

template <class Real>
KOKKOS_INLINE_FUNCTION double magnitude_in_double(const Kokkos::complex<Real>& value) {
  const double length = Kokkos::hypot(static_cast<double>(value.real()), static_cast<double>(value.imag()));
  return length < DBL_MAX ? length : DBL_MAX;
}

/// Costs of a row's entries, log(largest of the row) − log|a|, and log(largest of the row).
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct EntryCosts {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  CsrView<Scalar, Ordinal, Offset, Memory> matrix;
  Kokkos::View<double*, Memory> cost;    // [nnz] infinity for a zero
  Kokkos::View<double*, Memory> origin;  // [n] 0 for a row without nonzero entry

  KOKKOS_FUNCTION void operator()(const Team& team, std::int64_t& zeros) const {
    for_rows<ExecutionSpace>(
        team, matrix.row_map, matrix.n_rows, [](const Ordinal r) { return r; },
        [&](const auto& lanes, const Ordinal r) { cost_row(lanes, r, zeros); });
  }

  /// Costs of row r; one lane adds its zero values to `zeros`.
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
    if (!(largest > 0)) largest = 1;  // and for a row without entries
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

/// Computes `cost` and `origin`; returns the number of entries of value zero, for which it waits.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace, class CostView>
std::int64_t find_costs(const ExecutionSpace& exec,
                        const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix,
                        const CostView& cost, const CostView& origin) {
  if (matrix.n_rows == 0) return 0;
  std::int64_t zeros = 0;
  Kokkos::parallel_reduce("lutra::preprocess::entry_costs",
                          rows_policy(exec, matrix.n_rows,
                                      static_cast<double>(matrix.nnz()) / static_cast<double>(matrix.n_rows)),
                          EntryCosts<Scalar, Ordinal, Offset, ExecutionSpace>{matrix, cost, origin}, zeros);
  exec.fence("lutra::preprocess: the number of zeros is read");
  return zeros;
}

/// The same for a matrix on the host.
template <class Scalar, class Ordinal, class Offset>
MatchingCosts host_costs(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  using View = Kokkos::View<double*, Kokkos::HostSpace>;
  MatchingCosts result;
  result.of_entry.resize(matrix.entries.extent(0));
  result.row_origin.resize(static_cast<std::size_t>(matrix.n_rows));
  result.has_zeros = find_costs(Kokkos::DefaultHostExecutionSpace(), matrix,
                                View(result.of_entry.data(), result.of_entry.size()),
                                View(result.row_origin.data(), result.row_origin.size())) > 0;
  return result;
}

}  // namespace lutra::Impl

#endif
