// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCALEFIT_HPP
#define LUTRA_SCALEFIT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"

// Tests whether the parts of an analysis that depend on values still suit the values of another matrix.

namespace lutra::Impl {

/// Mixes the bits of a number, so that sums of them distinguish arrays (D. Lea's finalizer).
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t mixed_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93ull;
  bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93ull;
  return bits ^ (bits >> 32);
}

/// Reduction that computes the hash of an array of values.
template <class Values>
struct ValueHash {
  using value_type = std::uint64_t;
  Values values;

  KOKKOS_FUNCTION static std::uint64_t bits_of(double value) {
    return Kokkos::bit_cast<std::uint64_t>(value);
  }
  KOKKOS_FUNCTION void operator()(std::int64_t p, value_type& sum) const {
    const auto place = static_cast<std::uint64_t>(p) + 1;
    if constexpr (ScalarTraits<typename Values::non_const_value_type>::is_complex) {
      const Kokkos::complex<double> value(values(p));
      sum += mixed_bits(mixed_bits(bits_of(value.real()) + place) ^ bits_of(value.imag()));
    } else {
      sum += mixed_bits(bits_of(static_cast<double>(values(p))) + place);
    }
  }
};

/// Returns a hash of the values that is the same on every backend. Waits for the device.
template <class ExecutionSpace, class Values>
std::uint64_t hash_of_values(const ExecutionSpace& exec, const Values& values) {
  std::uint64_t hash = 0;
  Kokkos::parallel_reduce("lutra::solver::hash_of_values",
                          Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                              exec, 0, static_cast<std::int64_t>(values.extent(0))),
                          ValueHash<Values>{values}, hash);
  wait_for(exec, "lutra::solver: the hash of values is known");
  return hash;
}

/// Reduction that finds the largest scaled magnitudes of rows and columns.
template <class Pattern, class Values, class Scale, class Maxima>
struct ScaledMaxima {
  Pattern A;
  Values values;
  Scale row_scale, col_scale;
  Maxima columns;  ///< [n] largest magnitudes of the columns; must be zero at the start
  using value_type = Kokkos::MinMaxScalar<double>;

  KOKKOS_FUNCTION void include(double maximum, value_type& range) const {
    if (!(maximum > 0)) return;  // a row of zeros does not count
    range.min_val = Kokkos::min(range.min_val, maximum);
    range.max_val = Kokkos::max(range.max_val, maximum);
  }
  struct OfRows {};
  struct OfColumns {};
  KOKKOS_FUNCTION void operator()(OfRows, std::int64_t i, value_type& range) const {
    using Scalar = typename Values::non_const_value_type;
    double maximum = 0;
    for (auto p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const auto j = A.entries(p);
      const double size = static_cast<double>(ScalarTraits<Scalar>::magnitude(values(p))) *
                          static_cast<double>(row_scale(i)) * static_cast<double>(col_scale(j));
      maximum = Kokkos::max(maximum, size);
      if (size > columns(j)) Kokkos::atomic_max(&columns(j), size);
    }
    include(maximum, range);
  }
  KOKKOS_FUNCTION void operator()(OfColumns, std::int64_t j, value_type& range) const {
    include(columns(j), range);
  }
};

/// Returns whether the largest scaled entries of all rows and columns are within a factor of 2¹⁰ of each
/// other; scales computed for these values would make them all 1. Waits for the device. Costs one pass over
/// A.
/// @throws OutOfMemoryError
template <class ExecutionSpace, class Values, class Scale>
bool scales_fit(const ExecutionSpace& exec,
                const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                const Values& values, const Scale& row_scale, const Scale& col_scale,
                const MemoryBudget& budget) {
  constexpr double max_ratio = 0x1p10;
  using Maxima = Kokkos::View<double*, typename ExecutionSpace::memory_space>;
  MemoryReservation reservation(budget);
  const auto columns =
      reservation.template allocate<Maxima>(exec, "lutra::solver::column_maxima", col_scale.extent(0));
  Kokkos::deep_copy(exec, columns, 0.0);
  using Body = ScaledMaxima<std::decay_t<decltype(A)>, Values, Scale, Maxima>;
  const Body body{A, values, row_scale, col_scale, columns};
  const auto n = static_cast<std::int64_t>(A.n_rows);
  typename Body::value_type rows, cols;
  using Index = Kokkos::IndexType<std::int64_t>;
  Kokkos::parallel_reduce("lutra::solver::row_maxima",
                          Kokkos::RangePolicy<ExecutionSpace, Index, typename Body::OfRows>(exec, 0, n), body,
                          Kokkos::MinMax<double>(rows));
  Kokkos::parallel_reduce("lutra::solver::column_maxima",
                          Kokkos::RangePolicy<ExecutionSpace, Index, typename Body::OfColumns>(exec, 0, n),
                          body, Kokkos::MinMax<double>(cols));
  wait_for(exec, "lutra::solver: the greatest scaled entries are known");
  return Kokkos::max(rows.max_val, cols.max_val) <= max_ratio * Kokkos::min(rows.min_val, cols.min_val);
}

/// Sets scale(i) = |a_ii|^−½, or 1 if a_ii is missing or 0. For a positive definite matrix, the resulting
/// condition number is close to that of the best diagonal scaling (A. van der Sluis, Numer. Math. 14, 1969).
/// Does not wait.
template <class ExecutionSpace, class Values, class Scale>
void scale_by_diagonal(const ExecutionSpace& exec,
                       const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                       const Values& values, const Scale& scale) {
  using Scalar = typename Values::non_const_value_type;
  using Real = RealOf<Scalar>;
  Kokkos::parallel_for(
      "lutra::solver::scale_by_diagonal",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
          exec, 0, static_cast<std::int64_t>(A.n_rows)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        Real size = 0;
        for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p)
          if (A.entries(p) == static_cast<Ordinal>(i)) size = ScalarTraits<Scalar>::magnitude(values(p));
        scale(i) = size > 0 ? Real(1) / Kokkos::sqrt(size) : Real(1);
      });
}

}  // namespace lutra::Impl

#endif
