// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KAHN_HPP
#define LUTRA_KAHN_HPP

#include <Kokkos_Core.hpp>
#include <vector>

#include "Lutra_Bytes.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Levelization.hpp"
#include "Lutra_SortRows.hpp"

namespace lutra::Impl {

/// Calls visit(successor) for every edge of v in one part of the graph.
template <class MemorySpace, class Visitor>
KOKKOS_FORCEINLINE_FUNCTION void for_each_successor(const Successors<MemorySpace>& part, Ordinal v,
                                                    const Visitor& visit) {
  if (part.entries.extent(0) == 0) return;
  for (Offset p = part.begin(v) + part.skip; p < part.end(v); ++p) visit(part.entries(p));
}

/// In-degrees of all nodes ("cnt_indegree").
template <class ExecutionSpace, class DegreeView>
void count_in_degrees(const ExecutionSpace& exec,
                      const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
                      const DegreeView& degrees) {
  set_to_zero(exec, degrees);
  Kokkos::parallel_for(
      "lutra::levelization::count_in_degrees", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, graph.n),
      KOKKOS_LAMBDA(const Ordinal v) {
        const auto count = [&](const Ordinal w) { add_shared<ExecutionSpace>(degrees(w), Ordinal(1)); };
        for_each_successor(graph.first, v, count);
        for_each_successor(graph.second, v, count);
      });
}

/// Puts the nodes without predecessors at the start of the queue.
template <class ExecutionSpace, class DegreeView, class LevelView, class EndView>
void start_queue(const ExecutionSpace& exec, const DegreeView& degrees, const DegreeView& queue,
                 const LevelView& level_of, const EndView& queue_end) {
  Kokkos::parallel_for(
      "lutra::levelization::start",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Ordinal>(degrees.extent(0))),
      KOKKOS_LAMBDA(const Ordinal v) {
        if (degrees(v) != 0) return;
        level_of(v) = 0;
        queue(fetch_add_shared<ExecutionSpace>(queue_end(), Ordinal(1))) = v;
      });
}

/// One round ("update" and "cons_queue"). Nodes queue[begin, end) are done; their successors whose in-degree
/// drops to zero are appended to the queue and belong to `level`.
template <class ExecutionSpace, class DegreeView, class LevelView, class EndView>
void advance_queue(const ExecutionSpace& exec,
                   const DependencyGraph<typename ExecutionSpace::memory_space>& graph, Ordinal begin,
                   Ordinal end, Ordinal level, const DegreeView& degrees, const DegreeView& queue,
                   const LevelView& level_of, const EndView& queue_end) {
  Kokkos::parallel_for(
      "lutra::levelization::advance", Kokkos::RangePolicy<ExecutionSpace>(exec, begin, end),
      KOKKOS_LAMBDA(const Ordinal q) {
        const auto release = [&](const Ordinal w) {
          if (fetch_add_shared<ExecutionSpace>(degrees(w), Ordinal(-1)) != 1) return;
          level_of(w) = level;
          queue(fetch_add_shared<ExecutionSpace>(queue_end(), Ordinal(1))) = w;
        };
        for_each_successor(graph.first, queue(q), release);
        for_each_successor(graph.second, queue(q), release);
      });
}

/// Sorts the nodes of each level, so that the result is independent of the order in which threads queued
/// them.
template <class ExecutionSpace, class OrderView>
void sort_levels(const ExecutionSpace& exec, const std::vector<Ordinal>& level_map, const OrderView& order,
                 const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  MemoryReservation scratch(budget);
  auto device_map = scratch.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::levelization::level_map",
                                                                     level_map.size());
  const Kokkos::View<const Ordinal*, Kokkos::HostSpace> host_map(level_map.data(), level_map.size());
  Kokkos::deep_copy(exec, device_map, host_map);
  exec.fence("lutra::levelization: the map has left the host");
  sort_rows("lutra::levelization::sorted_levels", exec, device_map, order,
            static_cast<Ordinal>(order.extent(0)));
  exec.fence("lutra::levelization: the map is freed");
}

/// Kahn's algorithm with one launch per level. Fills `order` and `level_of`, [n] each.
/// @returns start of each level in `order`; the last entry is n unless the graph has a cycle
template <class ExecutionSpace, class NodeView>
std::vector<Ordinal> kahn_in_rounds(const ExecutionSpace& exec,
                                    const DependencyGraph<typename ExecutionSpace::memory_space>& graph,
                                    const NodeView& order, const NodeView& level_of,
                                    const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  MemoryReservation scratch(budget);
  auto degrees = scratch.allocate<NodeView>(exec, "lutra::levelization::in_degrees", graph.n);
  auto queue_end = scratch.allocate<Kokkos::View<Ordinal, Memory>>(exec, "lutra::levelization::queue_end");
  count_in_degrees(exec, graph, degrees);
  set_to_zero(exec, queue_end);
  start_queue(exec, degrees, order, level_of, queue_end);
  std::vector<Ordinal> level_map{0};
  Ordinal begin = 0, end = 0;
  const auto read_end = [&]() {
    Kokkos::deep_copy(exec, end, queue_end);
    exec.fence("lutra::levelization: the length of the next level is needed on the host");
  };
  read_end();
  for (Ordinal level = 1; begin < end; ++level) {
    budget.run().poll(static_cast<double>(begin), static_cast<double>(graph.n));
    level_map.push_back(end);
    advance_queue(exec, graph, begin, end, level, degrees, order, level_of, queue_end);
    begin = end;
    read_end();
  }
  if (end == graph.n) sort_levels(exec, level_map, order, budget);
  return level_map;
}

/// Whether the space has kernels of its own.
template <class ExecutionSpace>
inline constexpr bool has_kahn_kernels = false;

/// Default for spaces without their own kernels: `kahn_in_rounds`. Lutra_KahnCuda.hpp overloads it.
/// @param small_level unused
/// @param launches    unused
template <class ExecutionSpace, class Graph, class NodeView>
auto kahn(const ExecutionSpace& exec, const Graph& graph, const NodeView& order, const NodeView& level_of,
          const MemoryBudget& budget, [[maybe_unused]] int small_level,
          [[maybe_unused]] const DeviceLaunches* launches) {
  return kahn_in_rounds(exec, graph, order, level_of, budget);
}

}  // namespace lutra::Impl

#endif
