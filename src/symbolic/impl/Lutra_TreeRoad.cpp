// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TreeRoad.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_PatternSymmetry.hpp"
#include "Lutra_SymbolicRoads.hpp"

namespace lutra::Impl {

template <class Ordinal, class Offset, class ExecutionSpace>
std::optional<LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>> etree(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern, bool exact,
    const MemoryBudget& budget) {
  using Pattern = CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;
  const bool may_be_symmetric = sample_is_symmetric<Ordinal, Offset, ExecutionSpace>(exec, pattern);
  if (exact && !may_be_symmetric) return std::nullopt;
  Charge scratch(budget);
  Pattern mirror = mirror_upper<Ordinal, Offset, ExecutionSpace>(exec, pattern, scratch);
  const bool symmetric =
      may_be_symmetric && is_symmetric<Ordinal, Offset, ExecutionSpace>(exec, pattern, mirror, budget);
  if (exact && !symmetric) return std::nullopt;
  if (symmetric) {
    mirror = {};
    scratch = Charge(budget);
  }
  auto result = TreeRoad<Ordinal, Offset, ExecutionSpace>(exec, pattern, budget).run(mirror);
  result.road = SymbolicRoad::etree;
  result.exact = symmetric;
  return result;
}

#define LUTRA_ETREE(Ordinal, Offset, Space)                                                 \
  template std::optional<LuPattern<Ordinal, Offset, typename Space::memory_space>> etree(   \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, bool, \
      const MemoryBudget&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_ETREE)

}  // namespace lutra::Impl
