// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNABLATION_HPP
#define LUTRA_COLUMNABLATION_HPP

#include <cstddef>

#include "Lutra_RightLookingLu.hpp"

namespace lutra::Impl {

/// Switches of the right-looking engine for tests and benchmarks, beyond ColumnOptions.
struct ColumnAblation {
  int blocks = 0;  ///< data flow: blocks per multiprocessor; 0: chosen by the tasks of a level
  std::size_t max_map_bytes = std::size_t(1) << 32;  ///< limit on maps, subject to the memory budget
  double watchdog_seconds = 10;                      ///< a column that waits longer aborts the factorization
};

/// lutra::plan_right_looking_lu with ablation switches.
template <class ExecutionSpace>
RightLookingLuPlan<typename ExecutionSpace::memory_space> plan_right_looking_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget, const ColumnOptions& options, const ColumnAblation& ablation);

}  // namespace lutra::Impl

#endif
