// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGPORTABLE_HPP
#define LUTRA_RIGHTLOOKINGPORTABLE_HPP

#include <algorithm>
#include <memory>

#include "Lutra_ColumnAblation.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RightLooking.hpp"

namespace lutra::Impl {

// Threads per team on a device. Most columns of sparse factors update few others.
inline constexpr int device_team_threads = 128;

/// Largest magnitude in the factors, infinity if one is not finite, and the number of perturbed pivots. Waits
/// once.
template <class Scalar, class ExecutionSpace, class ValueView, class FlagView>
RightLookingLuOutcome outcome_of(const ExecutionSpace& exec, const ValueView& values, const FlagView& flags) {
  RightLookingLuOutcome outcome;
  const auto n = static_cast<std::int64_t>(flags.extent(0));
  Kokkos::parallel_reduce(
      "lutra::numeric::outcome",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p, double& most, std::int64_t& count) {
        const bool finite = ScalarTraits<Scalar>::is_finite(values(p));
        const double size = finite ? static_cast<double>(ScalarTraits<Scalar>::magnitude(values(p)))
                                   : Kokkos::Experimental::infinity_v<double>;
        if (size > most) most = size;
        if (p < n) count += flags(p);  // there are at least n values, the pivots
      },
      Kokkos::Max<double>(outcome.largest), outcome.perturbed);
  outcome.finite = Kokkos::isfinite(outcome.largest);
  return outcome;
}

/// Level by level.
template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_columns_portable(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
  using Level = RightLookingLevel<Scalar, ExecutionSpace>;
  const auto& columns = plan.columns.pattern;
  Level level{plan.rows.row_map,  plan.rows.diagonal, plan.rows.entries,
              plan.row_to_column, columns.row_map,    plan.column_diagonal,
              columns.entries,    plan.levels.order,  values,
              perturbed,          threshold,          0};
  const double mean_l =
      static_cast<double>(plan.rows.nnz_l) / static_cast<double>(std::max<Ordinal>(1, plan.n()));
  const int vector_length = vector_length_for<ExecutionSpace>(mean_l);
  const int team_size = team_width<ExecutionSpace>(std::max(1, device_team_threads / vector_length));
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    level.level_begin = plan.levels.level_map[l];
    const auto columns_here = static_cast<int>(plan.levels.level_map[l + 1] - level.level_begin);
    Kokkos::parallel_for("lutra::numeric::columns_of_level",
                         Kokkos::TeamPolicy<ExecutionSpace>(exec, columns_here, team_size, vector_length),
                         level);
  }
  return outcome_of<Scalar>(exec, values, perturbed);
}

// ---- overloaded by execution spaces with their own kernels

/// Plans tasks of the backend's kernels; none here.
template <class ExecutionSpace>
std::shared_ptr<const ColumnTaskPlan<typename ExecutionSpace::memory_space>> plan_column_tasks(
    const ExecutionSpace&, const RightLookingLuPlan<typename ExecutionSpace::memory_space>&,
    const MemoryBudget&, const ColumnAblation&) {
  return {};
}

/// Allocates flags of the backend's kernels; none here.
template <class ExecutionSpace>
void make_column_flags(const ExecutionSpace&,
                       const RightLookingLuPlan<typename ExecutionSpace::memory_space>&,
                       RightLookingLuWorkspace<typename ExecutionSpace::memory_space>&) {}

template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_columns(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>&,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
  return factorize_columns_portable(exec, plan, values, threshold, perturbed);
}

}  // namespace lutra::Impl

#endif
