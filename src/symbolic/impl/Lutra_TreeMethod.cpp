// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TreeMethod.hpp"

#include "Lutra_AncestorMethod.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PatternSymmetry.hpp"
#include "Lutra_SymbolicMethods.hpp"

namespace lutra::Impl {
template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> etree(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget) {
  const MirroredPattern<Ordinal, Offset, ExecutionSpace> both(exec, pattern, budget);
  auto result = TreeMethod<Ordinal, Offset, ExecutionSpace>(exec, pattern, budget).run(both.mirror);
  result.method = SymbolicMethod::etree;
  result.exact = both.symmetric;
  return result;
}

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> ancestors(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, bool portable) {
  MemoryReservation reservation(budget);
  const auto mirror = mirror_upper<Ordinal, Offset, ExecutionSpace>(exec, pattern, reservation);
  TreeMethod<Ordinal, Offset, ExecutionSpace> tree(exec, pattern, budget);
  tree.build(mirror);
  return AncestorMethod<Ordinal, Offset, ExecutionSpace>(tree, tree.depths(), portable).run();
}

template <class Ordinal, class Offset, class ExecutionSpace>
std::optional<LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>> tree_method_if_best(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, bool portable,
    bool (*ancestors_are_best)(const MethodForecast&, const MemoryBudget&), MethodForecast& forecast) {
  const MirroredPattern<Ordinal, Offset, ExecutionSpace> both(exec, pattern, budget);
  TreeMethod<Ordinal, Offset, ExecutionSpace> tree(exec, pattern, budget);
  if (both.symmetric) {
    auto result = tree.run(both.mirror);
    result.method = SymbolicMethod::etree;
    return result;
  }
  tree.build(both.mirror);
  const auto depth = tree.depths();
  forecast.rows = static_cast<double>(pattern.n_rows);
  forecast.entries = static_cast<double>(pattern.nnz());
  tree.measure_sets(depth, forecast);
  if (ancestors_are_best(forecast, budget)) {
    return AncestorMethod<Ordinal, Offset, ExecutionSpace>(tree, depth, portable).run();
  }
  tree.forecast(depth, forecast);
  return std::nullopt;
}

#define LUTRA_ETREE(Ordinal, Offset, Space)                                                                 \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> etree(                                  \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&); \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> ancestors(                              \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&,  \
      bool);                                                                                                \
  template std::optional<LuPattern<Ordinal, Offset, typename Space::memory_space>> tree_method_if_best(     \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&,  \
      bool, bool (*)(const MethodForecast&, const MemoryBudget&), MethodForecast&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_ETREE)

}  // namespace lutra::Impl
