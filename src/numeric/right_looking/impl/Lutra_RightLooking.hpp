// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKING_HPP
#define LUTRA_RIGHTLOOKING_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <memory>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PivotRule.hpp"
#include "Lutra_RightLookingLu.hpp"

namespace lutra::Impl {

/// Position of `row` in the ascending entries [begin, end) of a column that contains it: doubling steps from
/// `begin`, then binary search ("End-to-End LU Factorization …", Algorithm 6, started near the row).
template <class Entries>
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

/// One level of the column right-looking factorization: one team per column, for its pivot and all its
/// updates.
template <class Scalar, class ExecutionSpace>
struct RightLookingLevel {
  using Memory = typename ExecutionSpace::memory_space;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  Kokkos::View<const Offset*, Memory> row_map, row_diagonal;  ///< L + U by rows
  Kokkos::View<const Ordinal*, Memory> row_entries;
  Kokkos::View<const Offset*, Memory> row_to_column;
  Kokkos::View<const Offset*, Memory> column_map, column_diagonal;  ///< L + U by columns
  Kokkos::View<const Ordinal*, Memory> column_entries;
  Kokkos::View<const Ordinal*, Memory> order;
  Kokkos::View<Scalar*, Memory> values;  ///< by columns
  Kokkos::View<unsigned char*, Memory> perturbed;
  PivotThreshold threshold;
  Ordinal level_begin;  ///< this level's first column in `order`

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Ordinal j = order(level_begin + static_cast<Ordinal>(team.league_rank()));
    divide_by_pivot(team, j);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, row_diagonal(j) + 1, row_map(j + 1)),
                         [&](const Offset p) { update(team, j, p); });
  }

  /// Perturbs a small pivot and divides the column's part of L by it.
  KOKKOS_FUNCTION void divide_by_pivot(const Team& team, Ordinal j) const {
    const Offset diagonal = column_diagonal(j);
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      bool small = false;
      values(diagonal) = PivotRule<Scalar>{static_cast<RealOf<Scalar>>(threshold())}(values(diagonal), small);
      perturbed(j) = small ? 1 : 0;
    });
    team.team_barrier();  // the pivot is final
    const Scalar pivot = values(diagonal);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, diagonal + 1, column_map(j + 1)),
                         [&](const Offset q) { values(q) /= pivot; });
    team.team_barrier();  // the column of L is final
  }

  /// Subtracts L(:, j)·U(j, k) from column k; `p` is the position of (j, k) by rows. Rows of L(:, j) ascend,
  /// so each search starts after the last.
  KOKKOS_FUNCTION void update(const Team& team, Ordinal j, Offset p) const {
    const Offset at = row_to_column(p);
    const Scalar factor = values(at);
    const Offset end = column_map(row_entries(p) + 1);
    Offset found = at;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, column_diagonal(j) + 1, column_map(j + 1)),
                         [&](const Offset q) {
                           found = find_row(column_entries, found, end, column_entries(q));
                           add_shared<ExecutionSpace>(values(found), -(values(q) * factor));
                         });
  }
};

// Threads per team on a device. Most columns of sparse factors update few others.
inline constexpr int device_team_threads = 128;

/// What a factorization has done to its values: one reduction of both. Kokkos ends the program where it finds
/// no memory for the label of the fence after a reduction to several variables.
template <class Scalar, class ValueView, class FlagView>
struct OutcomeReduction {
  using value_type = FactorChanges;
  ValueView values;
  FlagView flags;  ///< of the pivots; there are at least as many values

  KOKKOS_FUNCTION void operator()(const std::int64_t p, value_type& found) const {
    const bool finite = ScalarTraits<Scalar>::is_finite(values(p));
    const double size = finite ? static_cast<double>(ScalarTraits<Scalar>::magnitude(values(p)))
                               : Kokkos::Experimental::infinity_v<double>;
    if (size > found.largest) found.largest = size;
    if (p < static_cast<std::int64_t>(flags.extent(0))) found.perturbed += flags(p);
  }
  KOKKOS_FUNCTION void init(value_type& found) const { found = {0, 0}; }
  KOKKOS_FUNCTION void join(value_type& found, const value_type& other) const {
    found.largest = Kokkos::max(found.largest, other.largest);
    found.perturbed += other.perturbed;
  }
};

/// Largest magnitude in the factors, infinity if one is not finite, and the number of perturbed pivots. Waits
/// once: for a result on the host Kokkos would wait twice on devices.
/// @param changes [1] on devices
template <class Scalar, class ExecutionSpace, class ValueView, class FlagView, class Changes>
RightLookingLuOutcome outcome_of(const ExecutionSpace& exec, const ValueView& values, const FlagView& flags,
                                 const Changes& changes) {
  using Reduction = OutcomeReduction<Scalar, ValueView, FlagView>;
  const Kokkos::RangePolicy<ExecutionSpace> entries(exec, 0, static_cast<std::int64_t>(values.extent(0)));
  const Reduction reduction{values, flags};
  FactorChanges found{0, 0};
  if constexpr (is_host_space<ExecutionSpace>) {
    Kokkos::parallel_reduce("lutra::numeric::outcome", entries, reduction, found);
  } else {
    Kokkos::parallel_reduce("lutra::numeric::outcome", entries, reduction,
                            Kokkos::subview(changes.device(), 0));
    found = changes.fetch(exec)(0);
  }
  RightLookingLuOutcome outcome;
  outcome.largest = found.largest;
  outcome.perturbed = found.perturbed;
  outcome.finite = Kokkos::isfinite(outcome.largest);
  return outcome;
}

/// Arguments of the kernel, for the first level.
template <class Scalar, class ExecutionSpace, class Plan, class Values, class Flags>
RightLookingLevel<Scalar, ExecutionSpace> make_right_looking_level(const Plan& plan, const Values& values,
                                                                   const PivotThreshold& threshold,
                                                                   const Flags& perturbed) {
  const auto& columns = plan.columns.pattern;
  return {plan.rows.row_map,  plan.rows.diagonal, plan.rows.entries,
          plan.row_to_column, columns.row_map,    plan.column_diagonal,
          columns.entries,    plan.levels.order,  values,
          perturbed,          threshold,          0};
}

/// Level by level.
template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_columns_portable(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    const RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
  auto level = make_right_looking_level<Scalar, ExecutionSpace>(plan, values, threshold, perturbed);
  const double mean_l =
      static_cast<double>(plan.rows.nnz_l) / static_cast<double>(std::max<Ordinal>(1, plan.n()));
  const int vector_length = vector_length_for<ExecutionSpace>(mean_l);
  const int team_size = team_width<ExecutionSpace>(std::max(1, device_team_threads / vector_length));
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    work.budget.run().poll(static_cast<double>(l), static_cast<double>(plan.levels.size()));
    level.level_begin = plan.levels.level_map[l];
    const auto columns_here = static_cast<int>(plan.levels.level_map[l + 1] - level.level_begin);
    Kokkos::parallel_for("lutra::numeric::columns_of_level",
                         Kokkos::TeamPolicy<ExecutionSpace>(exec, columns_here, team_size, vector_length),
                         level);
  }
  return outcome_of<Scalar>(exec, values, perturbed, work.changes);
}

}  // namespace lutra::Impl

#endif
