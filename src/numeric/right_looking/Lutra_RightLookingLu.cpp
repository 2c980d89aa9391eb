// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_RightLookingLu.hpp"

#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RightLookingKernels.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_ColumnModesCuda.hpp"
#endif

namespace lutra {
namespace {

/// Position by columns of each entry by rows, and of the diagonals.
template <class ExecutionSpace, class Plan, class OffsetView>
void invert_source(const ExecutionSpace& exec, const Plan& plan, const OffsetView& row_to_column,
                   const OffsetView& column_diagonal) {
  using Offset = typename OffsetView::value_type;
  const auto source = plan.columns.source;
  const auto row_diagonal = plan.rows.diagonal;
  Kokkos::parallel_for(
      "lutra::numeric::row_to_column",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Offset>(source.extent(0))),
      KOKKOS_LAMBDA(const Offset q) { row_to_column(source(q)) = q; });
  Kokkos::parallel_for(
      "lutra::numeric::column_diagonals",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Offset>(row_diagonal.extent(0))),
      KOKKOS_LAMBDA(const Offset j) { column_diagonal(j) = row_to_column(row_diagonal(j)); });
}

/// Columns released by column i: the columns of U(i, :) and, relaxed double-U, the rows of L(:, i).
template <class Memory>
DependencyGraph<Memory> column_dependencies(const RightLookingLuPlan<Memory>& plan) {
  const auto n = static_cast<std::size_t>(plan.n());
  const auto behind_first = Kokkos::make_pair(std::size_t(1), n + 1);
  return {plan.n(),
          {plan.rows.diagonal, Kokkos::subview(plan.rows.row_map, behind_first), plan.rows.entries, 1},
          {plan.column_diagonal, Kokkos::subview(plan.columns.pattern.row_map, behind_first),
           plan.columns.pattern.entries, 1}};
}

/// Counts divisions, plus one multiplication and addition per pair of entries of L(:, j) and U(j, :).
template <class ExecutionSpace>
double count_flops(const ExecutionSpace& exec,
                   const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan) {
  const auto row_diagonal = plan.rows.diagonal;
  const auto row_map = plan.rows.row_map;
  const auto column_diagonal = plan.column_diagonal;
  const auto column_map = plan.columns.pattern.row_map;
  double flops = 0;
  Kokkos::parallel_reduce(
      "lutra::numeric::flops", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, plan.n()),
      KOKKOS_LAMBDA(const Ordinal j, double& sum) {
        const auto lower = static_cast<double>(column_map(j + 1) - column_diagonal(j) - 1);
        const auto right = static_cast<double>(row_map(j + 1) - row_diagonal(j) - 1);
        sum += lower + 2.0 * lower * right;
      },
      flops);
  return flops;
}

}  // namespace

template <class ExecutionSpace>
RightLookingLuPlan<typename ExecutionSpace::memory_space> Impl::plan_right_looking_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget, const ColumnOptions& options, const ColumnAblation& ablation) {
  check_column_options<ExecutionSpace>(options);
  using OffsetView = Kokkos::View<Offset*, typename ExecutionSpace::memory_space>;
  RightLookingLuPlan<typename ExecutionSpace::memory_space> plan;
  plan.rows = rows;
  plan.options = options;
  plan.columns = transpose(exec, rows.pattern(), budget);
  plan.reservation = MemoryReservation(budget);
  auto column_diagonal =
      plan.reservation.template allocate<OffsetView>(exec, "lutra::numeric::column_diagonal", rows.n);
  auto row_to_column = plan.reservation.template allocate<OffsetView>(exec, "lutra::numeric::row_to_column",
                                                                      rows.entries.extent(0));
  invert_source(exec, plan, row_to_column, column_diagonal);
  plan.row_to_column = row_to_column;
  plan.column_diagonal = column_diagonal;
  plan.levels = levelize(exec, column_dependencies(plan), budget, {options.levels, options.launches});
  plan.modes = make_column_levels(exec, plan);
  plan.flops = count_flops(exec, plan);
  plan.tasks = plan_column_tasks(exec, plan, budget, ablation);
  return plan;
}

template <class ExecutionSpace>
RightLookingLuPlan<typename ExecutionSpace::memory_space> plan_right_looking_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget, const ColumnOptions& options) {
  return Impl::plan_right_looking_lu(exec, rows, budget, options, Impl::ColumnAblation());
}

template <class ExecutionSpace>
RightLookingLuWorkspace<typename ExecutionSpace::memory_space> make_right_looking_lu_workspace(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget) {
  RightLookingLuWorkspace<typename ExecutionSpace::memory_space> work;
  work.budget = budget;
  work.reservation = MemoryReservation(budget);
  Impl::make_column_flags(exec, plan, work);
  if constexpr (!Impl::is_host_space<ExecutionSpace>) {
    if (!plan.tasks) work.changes = {exec, work.reservation, "lutra::numeric::changes of values", 1};
  }
  return work;
}

template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_right_looking(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
  return Impl::factorize_columns(exec, plan, work, values, threshold, perturbed);
}

#define LUTRA_PLAN_RIGHT_LOOKING_LU(Space)                                                        \
  template RightLookingLuPlan<typename Space::memory_space> Impl::plan_right_looking_lu(          \
      const Space&, const LuPattern<typename Space::memory_space>&, const MemoryBudget&,          \
      const ColumnOptions&, const ColumnAblation&);                                               \
  template RightLookingLuPlan<typename Space::memory_space> plan_right_looking_lu(                \
      const Space&, const LuPattern<typename Space::memory_space>&, const MemoryBudget&,          \
      const ColumnOptions&);                                                                      \
  template RightLookingLuWorkspace<typename Space::memory_space> make_right_looking_lu_workspace( \
      const Space&, const RightLookingLuPlan<typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_PLAN_RIGHT_LOOKING_LU)

#define LUTRA_FACTORIZE_COLUMNS(Scalar, Space)                                           \
  template RightLookingLuOutcome factorize_right_looking<Scalar, Space>(                 \
      const Space&, const RightLookingLuPlan<typename Space::memory_space>&,             \
      RightLookingLuWorkspace<typename Space::memory_space>&,                            \
      const Kokkos::View<Scalar*, typename Space::memory_space>&, const PivotThreshold&, \
      const Kokkos::View<unsigned char*, typename Space::memory_space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FACTORIZE_COLUMNS)

}  // namespace lutra
