// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Levelization.hpp"

#include <string>

#include "Lutra_Forest.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Kahn.hpp"
#include "Lutra_LevelizationAblation.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_KahnCuda.hpp"
#endif

namespace lutra {
namespace {

/// @throws InputError unless all nodes have been reached
void require_all_reached(Ordinal reached, Ordinal n) {
  if (reached == n) return;
  throw InputError("graph: " + std::to_string(n - reached) + " of its " + std::to_string(n) +
                   " nodes are on a cycle or reachable from one");
}

}  // namespace

template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> Impl::levelize_with(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options, int small_level) {
  using Memory = typename ExecutionSpace::memory_space;
  using NodeView = Kokkos::View<Ordinal*, Memory>;
  Levels<Memory> result;
  result.level_map = {0};
  if (graph.n == 0) return result;
  result.reservation = MemoryReservation(budget);
  auto order = result.reservation.template allocate<NodeView>(exec, "lutra::levelization::order", graph.n);
  auto level_of =
      result.reservation.template allocate<NodeView>(exec, "lutra::levelization::level_of", graph.n);
  result.level_map = options.portable ? kahn_in_rounds(exec, graph, order, level_of, budget)
                                      : kahn(exec, graph, order, level_of, budget, small_level);
  require_all_reached(result.level_map.back(), graph.n);
  result.order = order;
  result.level_of = level_of;
  return result;
}

template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize(
    const ExecutionSpace& exec, const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const LevelizationOptions& options) {
  return Impl::levelize_with(exec, graph, budget, options, Impl::default_small_level);
}

namespace Impl {
namespace {

template <class ExecutionSpace>
using Parents = Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>;

/// Levels of a forest as those of the graph whose edges lead from nodes to their parents.
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize_edges_to_parents(const ExecutionSpace& exec,
                                                                        const Parents<ExecutionSpace>& parent,
                                                                        const MemoryBudget& budget,
                                                                        const LevelizationOptions& options) {
  MemoryReservation scratch(budget);
  DependencyGraph<typename ExecutionSpace::memory_space> graph;
  graph.n = static_cast<Ordinal>(parent.extent(0));
  graph.first = edges_to_parents(exec, parent, scratch);
  auto result = levelize(exec, graph, budget, options);
  exec.fence("lutra::levelization: edges are no longer needed");
  return result;
}

/// Version for a forest whose parents have larger indices than their children.
template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize_forest_in_order(const ExecutionSpace& exec,
                                                                       const Parents<ExecutionSpace>& parent,
                                                                       const MemoryBudget& budget,
                                                                       const LevelizationOptions& options) {
  return levelize_edges_to_parents(exec, parent, budget, options);
}
template <HostExecution ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize_forest_in_order(const ExecutionSpace& exec,
                                                                       const Parents<ExecutionSpace>& parent,
                                                                       const MemoryBudget& budget,
                                                                       const LevelizationOptions&) {
  using NodeView = Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>;
  Levels<typename ExecutionSpace::memory_space> result;
  result.reservation = MemoryReservation(budget);
  const auto allocate = [&](const char* label) {
    return result.reservation.template allocate<NodeView>(exec, label, parent.extent(0));
  };
  const auto order = allocate("lutra::levelization::order"),
             level_of = allocate("lutra::levelization::level_of");
  exec.fence("lutra::levelization: allocated before it is filled");
  result.level_map = levelize_in_order({parent.data(), parent.extent(0)}, {order.data(), order.extent(0)},
                                       {level_of.data(), level_of.extent(0)});
  result.order = order;
  result.level_of = level_of;
  return result;
}

}  // namespace
}  // namespace Impl

template <class ExecutionSpace>
Levels<typename ExecutionSpace::memory_space> levelize_forest(
    const ExecutionSpace& exec,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& parent,
    const MemoryBudget& budget, const LevelizationOptions& options) {
  const bool in_order = Impl::check_parents(exec, parent);
  if (in_order && !options.portable) return Impl::levelize_forest_in_order(exec, parent, budget, options);
  return Impl::levelize_edges_to_parents(exec, parent, budget, options);
}

#define LUTRA_LEVELIZE(Space)                                                                  \
  template Levels<typename Space::memory_space> levelize(                                      \
      const Space&, const DependencyGraph<typename Space::memory_space>&, const MemoryBudget&, \
      const LevelizationOptions&);                                                             \
  template Levels<typename Space::memory_space> Impl::levelize_with(                           \
      const Space&, const DependencyGraph<typename Space::memory_space>&, const MemoryBudget&, \
      const LevelizationOptions&, int);
LUTRA_FOR_EACH_SPACE(LUTRA_LEVELIZE)

#define LUTRA_LEVELIZE_FOREST(Space)                                                               \
  template Levels<typename Space::memory_space> levelize_forest(                                   \
      const Space&, const Kokkos::View<const Ordinal*, Space::memory_space>&, const MemoryBudget&, \
      const LevelizationOptions&);
LUTRA_FOR_EACH_SPACE(LUTRA_LEVELIZE_FOREST)

}  // namespace lutra
