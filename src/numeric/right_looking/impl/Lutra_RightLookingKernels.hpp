// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGKERNELS_HPP
#define LUTRA_RIGHTLOOKINGKERNELS_HPP

#include <memory>
#include <string>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_ColumnAblation.hpp"
#include "Lutra_ColumnModes.hpp"
#include "Lutra_RightLooking.hpp"

// What execution spaces with kernels of their own overload.

namespace lutra::Impl {

/// Whether the space has kernels of its own.
template <class ExecutionSpace>
inline constexpr bool has_column_kernels = false;

/// @throws InputError for options that exclude each other or that the space lacks
template <class ExecutionSpace>
void check_column_options(const ColumnOptions& options) {
  check_enumerator("columns: mode", options.mode, ColumnMode::C);
  check_enumerator("columns: format", options.format, ColumnFormat::dense);
  if (options.format == ColumnFormat::dense && options.mode == ColumnMode::flow)
    throw InputError(
        "columns: format dense keeps a column per block, which data flow does not have (choose mode levels, "
        "A, "
        "B or C)");
  if (options.format == ColumnFormat::map && (options.portable || !has_column_kernels<ExecutionSpace>))
    throw InputError("columns: format map is of the CUDA kernels (portable kernels have search and dense)");
}

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

/// Factorizes with the portable kernels.
template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_portable(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
  if (plan.options.mode == ColumnMode::flow)
    return factorize_columns_portable(exec, plan, work, values, threshold, perturbed);
  return factorize_by_modes_portable<Scalar>(exec, plan, work, values, threshold, perturbed);
}

template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_columns(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
  return factorize_portable(exec, plan, work, values, threshold, perturbed);
}

}  // namespace lutra::Impl

#endif
