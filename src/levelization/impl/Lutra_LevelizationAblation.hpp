// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELIZATIONABLATION_HPP
#define LUTRA_LEVELIZATIONABLATION_HPP

#include "Lutra_Levelization.hpp"

namespace lutra::Impl {

/// On CUDA, levels of up to so many nodes are processed by one block.
constexpr int default_small_level = 64;

/// `levelize` with another bound for small levels, for tests. Without effect where a space has no kernel of
/// its own.
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize_with(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options, int small_level);

}  // namespace lutra::Impl

#endif
