// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEROWS_HPP
#define LUTRA_TRIANGLEROWS_HPP

#include <string>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TriangleRowsView.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra::Impl {

/// Faults of a row, in the order in which they are reported.
enum class RowFault { map, order, diagonal, none };

/// Teams for rows with this total number of entries, a few of which may be much longer than the mean.
template <class ExecutionSpace>
RowTeams teams_for_rows(const ExecutionSpace& exec, std::size_t n_rows, std::size_t entries) {
  const std::size_t mean = entries / n_rows;
  return {exec, mean < 8 ? 4 : mean < 32 ? 8 : 32, 1024};
}

/// Finds the part of a row that belongs to the triangle, and its diagonal, by the lanes of a thread. Writes
/// begin, end and diagonal to bounds(row), bounds(n + row), bounds(2n + row) and returns the length of the
/// part. A malformed row becomes empty, so that later kernels may run before the host knows of it.
template <class Member, class Pattern, class Bounds>
KOKKOS_FUNCTION RowFault split_row(const Member& team, const Pattern& pattern, const Bounds& bounds,
                                   Ordinal row, bool upper, bool unit, std::int64_t& length) {
  using Offset = typename Bounds::non_const_value_type;
  const auto n = static_cast<std::size_t>(pattern.n_rows), at = static_cast<std::size_t>(row);
  const Offset first = pattern.row_map(row), last = pattern.row_map(row + 1);
  const auto write = [&](Offset begin, Offset end, Offset diagonal) {
    Kokkos::single(Kokkos::PerThread(team), [&]() {
      bounds(at) = begin;
      bounds(n + at) = end;
      bounds(2 * n + at) = diagonal;
    });
    length = static_cast<std::int64_t>(end - begin);
  };
  if (first < 0 || last < first || last > static_cast<Offset>(pattern.entries.extent(0))) {
    write(0, 0, -1);
    return RowFault::map;
  }
  const auto entries = Kokkos::ThreadVectorRange(team, last - first);
  Offset left = 0;  // entries left of the diagonal
  Kokkos::parallel_reduce(
      entries, [&](const Offset t, Offset& sum) { sum += pattern.entries(first + t) < row ? 1 : 0; }, left);
  // One maximum gives both: whether a column is out of order, and otherwise 1 + the position of the diagonal.
  constexpr Offset out_of_order = Kokkos::reduction_identity<Offset>::min();
  Offset found = 0;
  Kokkos::parallel_reduce(
      entries,
      [&](const Offset t, Offset& most) {
        const auto column = pattern.entries(first + t);
        const auto before = t == 0 ? static_cast<decltype(row)>(-1) : pattern.entries(first + t - 1);
        const Offset own = column <= before || column >= pattern.n_rows ? out_of_order
                           : column == row                              ? t + 1
                                                                        : Offset(0);
        if (own > most) most = own;
      },
      Kokkos::Max<Offset>(found));
  if (found == out_of_order) {
    write(0, 0, -1);
    return RowFault::order;
  }
  const bool has_diagonal = found > 0;
  const Offset diagonal = first + found - 1, right = first + left;
  write(!upper         ? first
        : has_diagonal ? diagonal + 1
                       : right,
        upper ? last : right, has_diagonal ? diagonal : Offset(-1));
  return !unit && !has_diagonal ? RowFault::diagonal : RowFault::none;
}

inline constexpr auto row_faults = static_cast<std::int64_t>(RowFault::none);  ///< number of kinds

/// Splits the rows of a pattern and summarizes them.
template <class Member, class Pattern, class Bounds>
struct SplitRows {
  using value_type = RowSummary;
  RowTeams share;
  Pattern pattern;
  Bounds bounds;
  bool upper, unit;

  KOKKOS_FUNCTION void init(value_type& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(value_type& sum, const value_type& other) const { sum.join(other); }
  KOKKOS_FUNCTION void operator()(const Member& team, value_type& sum) const {
    share.visit_rows(team, pattern.n_rows, [&](const auto row) {
      RowSummary own;
      const auto fault = split_row(team, pattern, bounds, row, upper, unit, own.total);
      own.longest = own.total;
      if (fault != RowFault::none)
        own.fault = static_cast<std::int64_t>(row) * row_faults + static_cast<std::int64_t>(fault);
      Kokkos::single(Kokkos::PerThread(team), [&]() { sum.join(own); });
    });
  }
};

/// The part of each row of a pattern that belongs to the triangle. throw_row_fault reports faults once the
/// host has the statistics. Does not fence on devices.
template <class ExecutionSpace>
TriangleRows<typename ExecutionSpace::memory_space> split_triangle(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern, TriangleSide side,
    DiagonalKind kind, MemoryReservation& reservation) {
  using Memory = typename ExecutionSpace::memory_space;
  TriangleRows<Memory> rows;
  rows.n = pattern.n_rows;
  rows.upper = side == TriangleSide::upper;
  rows.entries = pattern.entries;
  using Bounds = Kokkos::View<Offset*, Memory>;
  const auto bounds =
      reservation.allocate<Bounds>(exec, "lutra::trisolve::rows", 3 * static_cast<std::size_t>(rows.n));
  const auto part = [&](std::size_t k) {
    const auto n = static_cast<std::size_t>(rows.n);
    return Kokkos::subview(bounds, Kokkos::make_pair(k * n, (k + 1) * n));
  };
  rows.begin = part(0);
  rows.end = part(1);
  if (kind != DiagonalKind::unit) rows.diagonal = part(2);
  rows.statistics = allocate_statistics(exec, reservation);
  const RowTeams share = teams_for_rows(exec, static_cast<std::size_t>(rows.n), pattern.entries.extent(0));
  const auto policy = share.policy(exec, rows.n);
  using Split =
      SplitRows<typename decltype(policy)::member_type, CsrPattern<Ordinal, Offset, Memory>, Bounds>;
  Kokkos::parallel_reduce("lutra::trisolve::split_rows", policy,
                          Split{share, pattern, bounds, rows.upper, kind == DiagonalKind::unit},
                          summary_of(rows.statistics));
  return rows;
}

/// @param fault smallest code of a fault, as in RowSummary
/// @throws InputError naming the row, if there is one
inline void throw_row_fault(std::int64_t fault) {
  if (fault == RowSummary().fault) return;
  const std::string row = "triangle: row " + std::to_string(fault / row_faults);
  switch (static_cast<RowFault>(fault % row_faults)) {
    case RowFault::map:
      throw InputError(row + " begins or ends outside of the entries");
    case RowFault::order:
      throw InputError(row + " has columns out of range, repeated or not ascending");
    default:
      throw InputError(row + " has no diagonal entry");
  }
}

/// Checks the values of a triangle. Fences.
/// @param source position in `values` of each entry; empty: identity
/// @throws InputError naming the first row with a zero diagonal, NaN or infinity
template <class ExecutionSpace, class Rows, class Values, class Source>
void check_triangle_values(const ExecutionSpace& exec, const Rows& whole, const Values& values,
                           const Source& source) {
  using Scalar = typename Values::non_const_value_type;
  const bool direct = source.extent(0) == 0;
  const RowTeams share = teams_for_rows(exec, static_cast<std::size_t>(whole.n), whole.entries.extent(0));
  const auto rows = whole.access();
  const auto policy = share.policy(exec, rows.n);
  using Member = typename decltype(policy)::member_type;
  std::int64_t first_fault = 0;
  Kokkos::parallel_reduce(
      "lutra::trisolve::check_values", policy,
      KOKKOS_LAMBDA(const Member& team, std::int64_t& least) {
        share.visit_rows(team, rows.n, [&](const Ordinal row) {
          const auto value = [&](Offset p) { return values(direct ? p : source(p)); };
          const Offset first = rows.begin(row);
          int wrong = 0;
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(team, rows.length(row)),
              [&](const Offset t, int& sum) {
                sum += ScalarTraits<Scalar>::is_finite(value(first + t)) ? 0 : 1;
              },
              wrong);
          const Scalar diagonal = rows.is_unit() ? Scalar(1) : value(rows.diagonal(row));
          const bool zero = diagonal == Scalar(0),
                     finite = wrong == 0 && ScalarTraits<Scalar>::is_finite(diagonal);
          const std::int64_t code = 2 * static_cast<std::int64_t>(row) + (zero ? 0 : 1);
          if (zero || !finite)
            Kokkos::single(Kokkos::PerThread(team), [&]() { least = code < least ? code : least; });
        });
      },
      Kokkos::Min<std::int64_t>(first_fault));
  if (first_fault >= 2 * static_cast<std::int64_t>(rows.n)) return;
  throw InputError("triangle: row " + std::to_string(first_fault / 2) +
                   (first_fault % 2 == 0 ? " has a zero on its diagonal" : " holds NaN or infinity"));
}

}  // namespace lutra::Impl

#endif
