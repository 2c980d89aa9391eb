// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TreeMethod.hpp"

#include "Lutra_AncestorMethod.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PatternSymmetry.hpp"
#include "Lutra_SymbolicMethods.hpp"

namespace lutra::Impl {
namespace {

/// A pattern with its mirror, which is empty where it says nothing new.
template <class Ordinal, class Offset, class ExecutionSpace>
struct MirroredPattern {
  using Pattern = CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;
  MirroredPattern(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget)
      : reservation(budget) {
    const bool may_be_symmetric = sample_is_symmetric<Ordinal, Offset, ExecutionSpace>(exec, pattern);
    mirror = mirror_upper<Ordinal, Offset, ExecutionSpace>(exec, pattern, reservation);
    symmetric =
        may_be_symmetric && is_symmetric<Ordinal, Offset, ExecutionSpace>(exec, pattern, mirror, budget);
    if (!symmetric) return;
    mirror = {};
    reservation = MemoryReservation(budget);
  }
  Pattern mirror;
  MemoryReservation reservation;
  bool symmetric = false;
};

}  // namespace

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
ColumnTree<Ordinal, typename ExecutionSpace::memory_space> column_tree(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget) {
  const MirroredPattern<Ordinal, Offset, ExecutionSpace> both(exec, pattern, budget);
  // Who asks for no more than counts is to keep what fits its entries, so that workspaces are no peak of its
  // memory: some hundred rows at once, which the device works in a few milliseconds.
  constexpr std::size_t bytes_an_entry = 40;
  const std::size_t workspace = bytes_an_entry * static_cast<std::size_t>(pattern.nnz());
  return TreeMethod<Ordinal, Offset, ExecutionSpace>(exec, pattern, budget).tree(both.mirror, workspace);
}

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> ancestors(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, bool portable) {
  MemoryReservation reservation(budget);
  const auto mirror = mirror_upper<Ordinal, Offset, ExecutionSpace>(exec, pattern, reservation);
  TreeMethod<Ordinal, Offset, ExecutionSpace> tree(exec, pattern, budget);
  tree.plant(mirror);
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
  tree.plant(both.mirror);
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
  template ColumnTree<Ordinal, typename Space::memory_space> column_tree(                                   \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&); \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> ancestors(                              \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&,  \
      bool);                                                                                                \
  template std::optional<LuPattern<Ordinal, Offset, typename Space::memory_space>> tree_method_if_best(     \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&,  \
      bool, bool (*)(const MethodForecast&, const MemoryBudget&), MethodForecast&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_ETREE)

}  // namespace lutra::Impl
