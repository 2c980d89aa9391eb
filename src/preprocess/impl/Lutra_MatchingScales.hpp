// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATCHINGSCALES_HPP
#define LUTRA_MATCHINGSCALES_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

namespace lutra::Impl {

/// Largest exponent whose exp() is finite and normal in double, with a margin for one more rounding.
inline constexpr double largest_exponent = 707.0;

template <class ExecutionSpace, class ViewType>
static Kokkos::MinMaxScalar<double> range_of(const ExecutionSpace& exec, const ViewType& values) {
  Kokkos::MinMaxScalar<double> range;
  Kokkos::parallel_reduce(
      "lutra::preprocess::range", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, values.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i, Kokkos::MinMaxScalar<double>& own) {
        const double value = values(i);
        own.min_val = value < own.min_val ? value : own.min_val;
        own.max_val = value > own.max_val ? value : own.max_val;
      },
      Kokkos::MinMax<double>(range));
  exec.fence("lutra::preprocess: the range is on the host");
  return range;
}

template <class ExecutionSpace, class ViewType>
static void exponentiate(const ExecutionSpace& exec, const ViewType& values, double shift) {
  Kokkos::parallel_for(
      "lutra::preprocess::scales", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, values.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i) {
        const double exponent = values(i) + shift;
        values(i) = Kokkos::exp(exponent < -largest_exponent  ? -largest_exponent
                                : exponent > largest_exponent ? largest_exponent
                                                              : exponent);
      });
}

/// Converts row and column exponents to scales by exp(), in place. Shifting a constant from all rows to all
/// columns changes no product; it is chosen to keep both in range. Values still out of range are clamped.
/// Neither array may be empty. Does not fence at its end.
template <class ExecutionSpace, class ViewType>
void exponents_to_scales(const ExecutionSpace& exec, const ViewType& rows, const ViewType& columns) {
  const auto row = range_of(exec, rows), column = range_of(exec, columns);
  const double too_far_up = std::max(row.max_val, -column.min_val);
  const double too_far_down = std::max(column.max_val, -row.min_val);
  const bool in_range = std::max(too_far_up, too_far_down) <= largest_exponent;
  const double shift = in_range ? 0.0 : (too_far_down - too_far_up) / 2;
  exponentiate(exec, rows, shift);
  exponentiate(exec, columns, -shift);
}

}  // namespace lutra::Impl

#endif
