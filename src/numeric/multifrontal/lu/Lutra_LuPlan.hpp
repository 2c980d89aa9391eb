// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUPLAN_HPP
#define LUTRA_LUPLAN_HPP

#include <vector>

#include "Lutra_FrontPlan.hpp"

namespace lutra {

/// Where LU stores its fronts. The panels of a front of f = pivots + cb_rows rows are its first `pivots`
/// columns, f × pivots by columns, L\U of the pivots on top; then U right of the pivots, pivots × cb_rows by
/// rows.
struct LuFrontLayout {
  std::vector<Offset> panels;  ///< [fronts + 1] offset of each front's panels

  LuFrontLayout() : panels(1, 0) {}
  explicit LuFrontLayout(const std::vector<Front>& fronts);
  Offset entries() const { return panels.back(); }
};

/// Everything multifrontal LU needs except values.
template <class MemorySpace>
struct LuPlan : FrontPlan<MemorySpace> {
  LuFrontLayout panel_layout;
  Kokkos::View<const Offset*, MemorySpace> panels;  ///< [count + 1] as in the layout
  double flops = 0;
};

/// Plans fronts as plan_fronts does, and their panels.
/// @throws OutOfMemoryError
template <class ExecutionSpace>
LuPlan<typename ExecutionSpace::memory_space> plan_lu(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const FrontPlanOptions& options = {},
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A = {});

/// Bytes of the lists of a plan that shares A's pattern. O(fronts)
/// @param nnz entries of A
std::size_t bytes_of_lu_lists(const AssemblyTree& tree, std::int64_t nnz);

/// Overload that also locates the entries of L + U.
/// @param source [nnz] out: position in the panels of each entry
/// @throws OutOfMemoryError
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> pattern_of_fronts(
    const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget, Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& source);

}  // namespace lutra

#endif
