// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PREFIXSUM_HPP
#define LUTRA_PREFIXSUM_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Prefix sum: sums(i) = counts(0) + … + counts(i − 1); `sums` has one element more than `counts`. Waits.
/// @returns the total
template <class Offset, class ExecutionSpace, class CountView, class SumView>
static Offset prefix_sum(const ExecutionSpace& exec, const CountView& counts, const SumView& sums) {
  Offset total = 0;
  const auto n = static_cast<std::int64_t>(counts.extent(0));
  Kokkos::parallel_scan(
      "lutra::common::prefix_sum", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n + 1),
      KOKKOS_LAMBDA(const std::int64_t i, Offset& sum, const bool final) {
        if (final) sums(i) = sum;
        if (i < n) sum += counts(i);
      },
      total);
  check_launches_on<ExecutionSpace>();
  return total;
}

/// Row map and diagonal positions of L + U from the row counts of L and U, both without the diagonal. Waits.
/// @returns nnz(L + U)
template <class ExecutionSpace, class LowerView, class UpperView, class MapView, class DiagonalView>
Offset make_row_map(const ExecutionSpace& exec, Ordinal n, const LowerView& lower, const UpperView& upper,
                    const MapView& row_map, const DiagonalView& diagonal) {
  Offset nnz = 0;
  Kokkos::parallel_scan(
      "lutra::common::row_map",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(n) + 1),
      KOKKOS_LAMBDA(const std::int64_t i, Offset& sum, const bool final) {
        if (final) row_map(i) = sum;
        if (i == n) return;
        if (final) diagonal(i) = sum + lower(i);
        sum += lower(i) + upper(i) + 1;
      },
      nnz);
  check_launches_on<ExecutionSpace>();
  return nnz;
}

/// Sum of a View. Waits.
template <class Offset, class ExecutionSpace, class CountView>
Offset total_of(const ExecutionSpace& exec, const CountView& counts) {
  Offset total = 0;
  Kokkos::parallel_reduce(
      "lutra::common::sum",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(counts.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, Offset& sum) { sum += counts(i); }, total);
  check_launches_on<ExecutionSpace>();
  return total;
}

}  // namespace lutra::Impl

#endif
