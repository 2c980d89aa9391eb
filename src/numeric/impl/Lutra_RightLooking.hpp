// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKING_HPP
#define LUTRA_RIGHTLOOKING_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontKernels.hpp"
#include "Lutra_RightLookingLu.hpp"

namespace lutra::Impl {

/// Position of `row` in the ascending entries [begin, end) of a column that holds it: doubling steps from
/// `begin`, then binary search ("End-to-End LU Factorization …", Algorithm 6, entered near the place).
template <class Entries, class Offset, class Ordinal>
KOKKOS_FORCEINLINE_FUNCTION Offset find_row(const Entries& rows, Offset begin, Offset end, Ordinal row) {
  Offset step = 1;
  while (begin + step < end && rows[begin + step] <= row) {
    begin += step;
    step *= 2;
  }
  Offset last = begin + step < end ? begin + step : end;  // rows(begin) ≤ row < rows(last)
  while (last - begin > 1) {
    const Offset middle = begin + (last - begin) / 2;
    if (rows[middle] <= row) {
      begin = middle;
    } else {
      last = middle;
    }
  }
  return begin;
}

/// The kernels of one level of the column right-looking factorization.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct RightLookingLevel {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Real = RealOf<Scalar>;

  struct WholeColumns {};   ///< a team a column: pivot and all its updates
  struct PivotsOnly {};     ///< a team a column: pivot and division
  struct SingleUpdates {};  ///< a team an update of one later column

  Kokkos::View<const Offset*, Memory> row_map, row_diagonal;  ///< L + U by rows
  Kokkos::View<const Ordinal*, Memory> row_entries;
  Kokkos::View<const Offset*, Memory> row_to_column;
  Kokkos::View<const Offset*, Memory> column_map, column_diagonal;  ///< L + U by columns
  Kokkos::View<const Ordinal*, Memory> column_entries;
  Kokkos::View<const Ordinal*, Memory> order;
  Kokkos::View<const Offset*, Memory> update_map;
  Kokkos::View<Scalar*, Memory> values;  ///< by columns
  Kokkos::View<unsigned char*, Memory> perturbed;
  Real threshold;
  Ordinal level_begin, level_end;  ///< this level's columns in `order`
  Offset first_update;             ///< update_map(level_begin)

  KOKKOS_FUNCTION void operator()(WholeColumns, const Team& team) const {
    const Ordinal j = order(level_begin + static_cast<Ordinal>(team.league_rank()));
    divide_by_pivot(team, j);
    Kokkos::parallel_for(
        Kokkos::TeamThreadRange(team, row_diagonal(j) + 1, row_map(j + 1)), [&](const Offset p) {
          update(Kokkos::ThreadVectorRange(team, column_diagonal(j) + 1, column_map(j + 1)), p);
        });
  }

  KOKKOS_FUNCTION void operator()(PivotsOnly, const Team& team) const {
    divide_by_pivot(team, order(level_begin + static_cast<Ordinal>(team.league_rank())));
  }

  KOKKOS_FUNCTION void operator()(SingleUpdates, const Team& team) const {
    const Offset task = first_update + static_cast<Offset>(team.league_rank());
    Ordinal begin = level_begin, end = level_end;  // the column whose updates hold `task`
    while (end - begin > 1) {
      const Ordinal middle = begin + (end - begin) / 2;
      if (update_map(middle) <= task) {
        begin = middle;
      } else {
        end = middle;
      }
    }
    const Ordinal j = order(begin);
    update(Kokkos::TeamVectorRange(team, column_diagonal(j) + 1, column_map(j + 1)),
           row_diagonal(j) + 1 + (task - update_map(begin)));
  }

  /// Replaces a pivot that is too small and divides the column's part of L by it.
  KOKKOS_FUNCTION void divide_by_pivot(const Team& team, Ordinal j) const {
    const Offset diagonal = column_diagonal(j);
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      bool small = false;
      values(diagonal) = PivotRule<Scalar>{threshold}(values(diagonal), small);
      perturbed(j) = small ? 1 : 0;
    });
    team.team_barrier();  // the pivot is final
    const Scalar pivot = values(diagonal);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, diagonal + 1, column_map(j + 1)),
                         [&](const Offset q) { values(q) /= pivot; });
    team.team_barrier();  // the column of L is final
  }

  /// Subtracts L(:, j)·U(j, k) from column k, `p` being the position of (j, k) by rows and `range` column j's
  /// L.
  template <class Range>
  KOKKOS_FUNCTION void update(const Range& range, Offset p) const {
    const Ordinal k = row_entries(p);
    const Offset at = row_to_column(p);
    const Scalar factor = values(at);
    const Offset end = column_map(k + 1);
    Offset found = at;  // rows of L(:, j) ascend, so each is found behind the last
    if constexpr (is_serial_space<ExecutionSpace>) {
      update_in_runs(range.start, range.end, found, end, factor);
    } else {
      Kokkos::parallel_for(range, [&](const Offset q) {
        found = find_row(column_entries, found, end, column_entries(q));
        add_shared<ExecutionSpace>(values(found), -(values(q) * factor));
      });
    }
  }

  /// The same by one thread, which can do better: every row of L(:, j) is in column k, so where the last of a
  /// few rows stands as far behind the last match as there are rows, they stand side by side in both columns.
  KOKKOS_FUNCTION void update_in_runs(Offset q, Offset q_end, Offset found, Offset end, Scalar factor) const {
    constexpr Offset run = 8;
    while (q < q_end) {
      if (q + run <= q_end && found + run < end &&
          column_entries(found + run) == column_entries(q + run - 1)) {
        Scalar* KOKKOS_RESTRICT to = &values(found + 1);  // column k; column j is another one
        const Scalar* KOKKOS_RESTRICT from = &values(q);
        for (Offset m = 0; m < run; ++m) to[m] -= from[m] * factor;
        found += run;
        q += run;
      } else {
        found = find_row(column_entries, found, end, column_entries(q));
        values(found) -= values(q) * factor;
        ++q;
      }
    }
  }
};

}  // namespace lutra::Impl

#endif
