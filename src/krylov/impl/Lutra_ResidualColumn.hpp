// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RESIDUALCOLUMN_HPP
#define LUTRA_RESIDUALCOLUMN_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BackwardError.hpp"
#include "Lutra_CsrKernels.hpp"
#include "Lutra_ForRange.hpp"

namespace lutra::Impl {

/// ResidualRow for one column of an operator that is stored as it is applied, on hosts: the same sums in the
/// same order, with half as many instructions per entry, since arrays are contiguous.
template <class Scalar>
struct ResidualColumn {
  using Real = RealOf<Scalar>;
  static constexpr std::int64_t chunk = 512;  // rows per thread at once
  std::int64_t n;
  const Offset* row_map;
  const Ordinal* entries;
  const Scalar* values;
  const Scalar* b;
  const Scalar* x;
  Scalar* r;
  double* slots;  ///< maxima of column 0

  KOKKOS_FORCEINLINE_FUNCTION static Real size_of(const Scalar& value) {
    constexpr auto smallest = Kokkos::Experimental::norm_min_v<Real>;
    const Real size = ScalarTraits<Scalar>::magnitude(value);
    return size < smallest ? smallest : size;
  }

  KOKKOS_FUNCTION void operator()(const std::int64_t part) const {
    const std::int64_t end = (part + 1) * chunk < n ? (part + 1) * chunk : n;
    double ratio = 0, residual = 0, solution = 0, right_side = 0, differences = 0;
    for (std::int64_t i = part * chunk; i < end; ++i) {
      Scalar rest = b[i];
      Real size = size_of(rest);
      for (Offset p = row_map[i]; p < row_map[i + 1]; ++p) {
        const Scalar known = x[entries[p]];
        rest -= values[p] * known;
        size += ScalarTraits<Scalar>::magnitude(values[p]) * size_of(known);
      }
      r[i] = rest;
      const auto left = static_cast<double>(ScalarTraits<Scalar>::magnitude(rest));
      const auto of_x = static_cast<double>(ScalarTraits<Scalar>::magnitude(x[i]));
      const auto all = static_cast<double>(size);
      differences += (left - left) + (of_x - of_x) + (all - all);  // 0 if all are finite, and NaN otherwise
      raise_to(ratio, left == 0 ? 0.0 : left / all);
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
template <class Scalar, HostExecution ExecutionSpace, class Rows, class Slots>
void residual_of_column(const ExecutionSpace& exec,
                        const CsrRows<Scalar, typename ExecutionSpace::memory_space>& A, const Rows& B,
                        const Rows& X, const Rows& R, const Slots& slots) {
  const auto n = static_cast<std::int64_t>(A.pattern.n_rows);
  const ResidualColumn<Scalar> column{n,
                                      A.pattern.row_map.data(),
                                      A.pattern.entries.data(),
                                      A.values.data(),
                                      B.data(),
                                      X.data(),
                                      R.data(),
                                      slots.data()};
  for_range(exec, "lutra::krylov::residual", (n + column.chunk - 1) / column.chunk, column);
}

}  // namespace lutra::Impl

#endif
