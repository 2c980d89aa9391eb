// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELIZATIONABLATION_HPP
#define LUTRA_LEVELIZATIONABLATION_HPP

#include "Lutra_Levelization.hpp"

namespace lutra::Impl {

/// Largest level that one block processes on CUDA.
constexpr int default_small_level = 64;

/// `levelize` with a different bound for small levels, for tests. The bound has no effect on spaces without
/// their own kernel.
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize_with(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options, int small_level);

}  // namespace lutra::Impl

#endif
