// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEROWS_HPP
#define LUTRA_TRIANGLEROWS_HPP

#include <string>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TriangleRowsView.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra::Impl {

/// What can be wrong with a row; the least row counts, and of one row the first of these.
enum class RowFault { map, order, diagonal, none };

/// Looks at one row: finds the triangle's part of it and its diagonal. Writes begin, end and diagonal at
/// bounds(row), bounds(n + row), bounds(2 n + row).
template <class Pattern, class Bounds, class Ordinal>
KOKKOS_FUNCTION RowFault split_row(const Pattern& pattern, const Bounds& bounds, Ordinal row, bool upper,
                                   bool unit) {
  using Offset = typename Bounds::non_const_value_type;
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  const Offset first = pattern.row_map(row), last = pattern.row_map(row + 1);
  if (first < 0 || last < first || last > static_cast<Offset>(pattern.entries.extent(0)))
    return RowFault::map;
  Offset below = first;  // one past the entries left of the diagonal
  Offset diagonal = -1;
  auto previous = static_cast<decltype(row)>(-1);
  for (Offset p = first; p < last; ++p) {
    const auto column = pattern.entries(p);
    if (column <= previous || column >= pattern.n_rows) return RowFault::order;
    previous = column;
    if (column < row) below = p + 1;
    if (column == row) diagonal = p;
  }
  const Offset above = diagonal < 0 ? below : diagonal + 1;
  const auto at = static_cast<std::size_t>(row);
  bounds(at) = upper ? above : first;
  bounds(n + at) = upper ? last : below;
  bounds(2 * n + at) = diagonal;
  return !unit && diagonal < 0 ? RowFault::diagonal : RowFault::none;
}

/// The triangle's part of each row of a pattern.
/// @throws InputError naming the first row that is malformed or lacks its diagonal. Fences.
template <class Ordinal, class Offset, class ExecutionSpace>
TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space> split_triangle(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern, TriangleSide side,
    DiagonalKind kind, Charge& charge) {
  TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space> rows;
  rows.n = pattern.n_rows;
  rows.upper = side == TriangleSide::upper;
  rows.entries = pattern.entries;
  const auto bounds = charge.allocate<Kokkos::View<Offset*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::rows", 3 * static_cast<std::size_t>(rows.n));
  const auto part = [&](std::size_t k) {
    const auto n = static_cast<std::size_t>(rows.n);
    return Kokkos::subview(bounds, Kokkos::make_pair(k * n, (k + 1) * n));
  };
  rows.begin = part(0);
  rows.end = part(1);
  const bool unit = kind == DiagonalKind::unit, upper = rows.upper;
  if (!unit) rows.diagonal = part(2);
  constexpr auto kinds = static_cast<std::int64_t>(RowFault::none);
  const auto count = static_cast<std::size_t>(rows.n);
  std::int64_t first_fault = 0;
  Kokkos::parallel_reduce(
      "lutra::trisolve::split_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal row, std::int64_t& least, std::int64_t& sum) {
        const auto fault = split_row(pattern, bounds, row, upper, unit);
        if (fault == RowFault::none) {
          const auto at = static_cast<std::size_t>(row);
          sum += static_cast<std::int64_t>(bounds(count + at) - bounds(at));
          return;
        }
        const auto code = static_cast<std::int64_t>(row) * kinds + static_cast<std::int64_t>(fault);
        if (code < least) least = code;
      },
      Kokkos::Min<std::int64_t>(first_fault), rows.off_diagonal);
  if (first_fault >= static_cast<std::int64_t>(rows.n) * kinds) return rows;
  const std::string row = "triangle: row " + std::to_string(first_fault / kinds);
  switch (static_cast<RowFault>(first_fault % kinds)) {
    case RowFault::map:
      throw InputError(row + " begins or ends outside of the entries");
    case RowFault::order:
      throw InputError(row + " has columns out of range, repeated or not ascending");
    default:
      throw InputError(row + " has no diagonal entry");
  }
}

/// Looks at the values of a triangle.
/// @param source position in `values` of each entry; empty: its own
/// @throws InputError naming the first row whose diagonal is zero or that holds NaN or infinity. Fences.
template <class ExecutionSpace, class Rows, class Values, class Source>
void check_triangle_values(const ExecutionSpace& exec, const Rows& rows, const Values& values,
                           const Source& source) {
  using Ordinal = typename Rows::ordinal_type;
  using Offset = typename Rows::offset_type;
  using Scalar = typename Values::non_const_value_type;
  const bool direct = source.extent(0) == 0;
  std::int64_t first_fault = 0;
  Kokkos::parallel_reduce(
      "lutra::trisolve::check_values", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal row, std::int64_t& least) {
        const auto value = [&](Offset p) { return values(direct ? p : source(p)); };
        bool finite = true;
        for (Offset p = rows.begin(row); p < rows.end(row); ++p) {
          finite = finite && ScalarTraits<Scalar>::is_finite(value(p));
        }
        bool zero = false;
        if (!rows.is_unit()) {
          const Scalar diagonal = value(rows.diagonal(row));
          zero = diagonal == Scalar(0);
          finite = finite && ScalarTraits<Scalar>::is_finite(diagonal);
        }
        const std::int64_t code = 2 * static_cast<std::int64_t>(row) + (zero ? 0 : 1);
        if ((zero || !finite) && code < least) least = code;
      },
      Kokkos::Min<std::int64_t>(first_fault));
  if (first_fault >= 2 * static_cast<std::int64_t>(rows.n)) return;
  throw InputError("triangle: row " + std::to_string(first_fault / 2) +
                   (first_fault % 2 == 0 ? " has a zero on its diagonal" : " holds NaN or infinity"));
}

}  // namespace lutra::Impl

#endif
