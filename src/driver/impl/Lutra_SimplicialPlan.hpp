// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SIMPLICIALPLAN_HPP
#define LUTRA_SIMPLICIALPLAN_HPP

#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_LuOptions.hpp"

namespace lutra {

/// Symbolic factorization of F and the plan of the simplicial engine: right-looking on devices, up-looking on
/// hosts. Writes the symbolic method and the times of both steps to `report`.
/// @throws OutOfMemoryError. Fences.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_simplicial(
    const ExecutionSpace& exec,
    const PermutedPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& F,
    const LuOptions& options, const MemoryBudget& budget, Report& report);

}  // namespace lutra

#endif
