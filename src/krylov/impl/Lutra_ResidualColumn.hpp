// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RESIDUALCOLUMN_HPP
#define LUTRA_RESIDUALCOLUMN_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BackwardError.hpp"
#include "Lutra_CsrKernels.hpp"
#include "Lutra_ForRange.hpp"

namespace lutra::Impl {

/// ResidualRow for one column of an operator that is stored as it is applied, on hosts: the same residuals,
/// with fewer than half of the instructions per entry, since arrays are contiguous. The sums |b| + |A|·|x|
/// may differ in the last bit where x has entries below the smallest normal number.
template <class Scalar>
struct ResidualColumn {
  using Real = RealOf<Scalar>;
  using Sum = ResidualSum<Scalar>;
  static constexpr std::int64_t chunk = 512;  // rows per thread at once
  std::int64_t n;
  const Offset* row_map;
  const Ordinal* entries;
  const Scalar* values;
  const Scalar* b;
  const Scalar* x;
  Scalar* r;
  double* slots;          ///< maxima of column 0
  double norm;            ///< ‖op(A)‖∞; negative if it is in a slot
  std::size_t norm_slot;  ///< 0 there: unknown

  KOKKOS_FORCEINLINE_FUNCTION static Real size_of(const Scalar& value) {
    constexpr auto smallest = Kokkos::Experimental::norm_min_v<Real>;
    const Real size = ScalarTraits<Scalar>::magnitude(value);
    return size < smallest ? smallest : size;
  }

  /// Least sum |b| + |A|·|x| of a row in which x below the smallest normal number makes no difference: their
  /// products are at most ‖A‖∞ times that number, which is less than ε² times the sum.
  KOKKOS_FORCEINLINE_FUNCTION double least_plain_size() const {
    constexpr auto smallest = static_cast<double>(Kokkos::Experimental::norm_min_v<Real>);
    constexpr auto epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Real>);
    const double known = norm < 0 ? slots[norm_slot] : norm;
    return known > 0 ? known * (smallest / (epsilon * epsilon)) : Kokkos::Experimental::infinity_v<double>;
  }

  KOKKOS_FORCEINLINE_FUNCTION Sum sum_of(std::int64_t i) const {
    Sum sum{b[i], size_of(b[i])};
    for (Offset p = row_map[i]; p < row_map[i + 1]; ++p) {
      const Scalar known = x[entries[p]];
      sum.rest -= values[p] * known;
      sum.size += ScalarTraits<Scalar>::magnitude(values[p]) * size_of(known);
    }
    return sum;
  }

  /// The same for real numbers without regard to small x: |a·x| is |a|·|x|, rounded in the same way. Two
  /// entries at a time, since the loop takes as many instructions as its entry.
  KOKKOS_FORCEINLINE_FUNCTION Sum plain_sum_of(std::int64_t i, Offset p, Offset end) const {
    Sum sum{b[i], size_of(b[i])};
    const auto take = [&](const Scalar& product) {
      sum.rest -= product;
      sum.size += ScalarTraits<Scalar>::magnitude(product);
    };
    for (; p + 1 < end; p += 2) {
      const Scalar first = values[p] * x[entries[p]], second = values[p + 1] * x[entries[p + 1]];
      take(first);
      take(second);
    }
    if (p < end) take(values[p] * x[entries[p]]);
    return sum;
  }

  KOKKOS_FORCEINLINE_FUNCTION Sum sum_of(std::int64_t i, Offset p, Offset end, double least) const {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return sum_of(i);
    } else {
      const Sum sum = plain_sum_of(i, p, end);
      return static_cast<double>(sum.size) >= least ? sum : sum_of(i);
    }
  }

  KOKKOS_FUNCTION void operator()(const std::int64_t part) const {
    const std::int64_t begin = part * chunk, end = begin + chunk < n ? begin + chunk : n;
    const double least = least_plain_size();
    double ratio = 0, residual = 0, solution = 0, right_side = 0, differences = 0;
    Offset p = row_map[begin];
    for (std::int64_t i = begin; i < end; ++i) {
      const Offset row_end = row_map[i + 1];
      const Sum sum = sum_of(i, p, row_end, least);
      p = row_end;
      r[i] = sum.rest;
      const auto left = static_cast<double>(ScalarTraits<Scalar>::magnitude(sum.rest));
      const auto of_x = static_cast<double>(ScalarTraits<Scalar>::magnitude(x[i]));
      const auto all = static_cast<double>(sum.size);
      differences += (left - left) + (of_x - of_x) + (all - all);  // 0 if all are finite, and NaN otherwise
      if (left >= ratio * all) raise_to(ratio, left / all);        // few rows are divided
      raise_to(residual, left);
      raise_to(solution, of_x);
      raise_to(right_side, static_cast<double>(ScalarTraits<Scalar>::magnitude(b[i])));
    }
    if (differences != 0) ratio = residual = Kokkos::Experimental::infinity_v<double>;
    raise(ColumnMaximum::ratio, ratio);
    raise(ColumnMaximum::residual, residual);
    raise(ColumnMaximum::solution, solution);
    raise(ColumnMaximum::right_side, right_side);
  }
  KOKKOS_FUNCTION void raise(ColumnMaximum which, double value) const {
    double* const slot = slots + slot_of(0, which);
    if (value > *slot) Kokkos::atomic_max(slot, value);
  }
};

/// R = B − A·X for one column, with the maxima of backward errors.
/// @param norm ‖A‖∞, or a negative number if the maxima have it
template <class Scalar, HostExecution ExecutionSpace, class Rows>
void residual_of_column(const ExecutionSpace& exec,
                        const CsrRows<Scalar, typename ExecutionSpace::memory_space>& A, double norm,
                        const Rows& B, const Rows& X, const Rows& R,
                        const ResidualMaxima<ExecutionSpace>& maxima) {
  const auto n = static_cast<std::int64_t>(A.pattern.n_rows);
  const ResidualColumn<Scalar> column{n,
                                      A.pattern.row_map.data(),
                                      A.pattern.entries.data(),
                                      A.values.data(),
                                      B.data(),
                                      X.data(),
                                      R.data(),
                                      maxima.slots().data(),
                                      norm,
                                      maxima.norm_slot()};
  for_range(exec, "lutra::krylov::residual", (n + column.chunk - 1) / column.chunk, column);
}

}  // namespace lutra::Impl

#endif
