// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fill2Road.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_SymbolicRoads.hpp"

namespace lutra::Impl {

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget) {
  return Fill2Road<Ordinal, Offset, ExecutionSpace>(exec, pattern, budget).run();
}

#define LUTRA_FILL2(Ordinal, Offset, Space)                                \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> fill2( \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_FILL2)

}  // namespace lutra::Impl
