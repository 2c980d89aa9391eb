// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Levelization.hpp"

#include <KokkosSparse_SortCrs.hpp>
#include <string>

#include "Lutra_Forest.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KahnSpecial.hpp"

namespace lutra {
namespace {

/// Sorts the nodes of each level, so that the result does not depend on which thread queued a node first.
template <class Ordinal, class ExecutionSpace, class OrderView>
void sort_levels(const ExecutionSpace& exec, const std::vector<Ordinal>& level_map, const OrderView& order,
                 const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  MemoryReservation scratch(budget);
  auto device_map = scratch.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::levelization::level_map",
                                                                     level_map.size());
  Kokkos::View<const Ordinal*, Kokkos::HostSpace> host_map(level_map.data(), level_map.size());
  exec.fence("lutra::levelization: the map is copied from the host");
  Kokkos::deep_copy(device_map, host_map);
  KokkosSparse::sort_crs_graph(exec, device_map, order, static_cast<Ordinal>(order.extent(0)));
  exec.fence("lutra::levelization: the map is freed");
}

/// @throws InputError unless all nodes have been reached
template <class Ordinal>
void require_all_reached(Ordinal reached, Ordinal n) {
  if (reached == n) return;
  throw InputError("graph: " + std::to_string(n - reached) + " of its " + std::to_string(n) +
                   " nodes are on or behind a cycle");
}

/// The rounds of Kahn's algorithm, a launch each; fills `level_map` and the two arrays.
template <class Ordinal, class Offset, class ExecutionSpace, class NodeView>
void levelize_in_rounds(const ExecutionSpace& exec,
                        const DependencyGraph<Ordinal, Offset, typename ExecutionSpace::memory_space>& graph,
                        const NodeView& queue, const NodeView& level_of, std::vector<Ordinal>& level_map,
                        const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  MemoryReservation scratch(budget);
  auto degrees = scratch.allocate<NodeView>(exec, "lutra::levelization::in_degrees", graph.n);
  auto queue_end = scratch.allocate<Kokkos::View<Ordinal, Memory>>(exec, "lutra::levelization::queue_end");
  Impl::count_in_degrees(exec, graph, degrees);
  Kokkos::deep_copy(exec, queue_end, Ordinal(0));
  Impl::start_queue(exec, degrees, queue, level_of, queue_end);
  level_map.push_back(0);
  Ordinal begin = 0, end = 0;
  const auto read_end = [&]() {
    Kokkos::deep_copy(exec, end, queue_end);
    exec.fence("lutra::levelization: the length of the next level is needed on the host");
  };
  read_end();
  for (Ordinal level = 1; begin < end; ++level) {
    level_map.push_back(end);
    Impl::advance_queue(exec, graph, begin, end, level, degrees, queue, level_of, queue_end);
    begin = end;
    read_end();
  }
  require_all_reached(end, graph.n);
  sort_levels(exec, level_map, queue, budget);
}

}  // namespace

template <class Ordinal, class Offset, class ExecutionSpace>
Levels<Ordinal, typename ExecutionSpace::memory_space> levelize(
    const ExecutionSpace& exec,
    const DependencyGraph<Ordinal, Offset, typename ExecutionSpace::memory_space>& graph,
    const MemoryBudget& budget, const Impl::LevelizationTuning& tuning) {
  using Memory = typename ExecutionSpace::memory_space;
  using NodeView = Kokkos::View<Ordinal*, Memory>;
  using Special = Impl::KahnSpecial<Ordinal, Offset, ExecutionSpace>;
  Levels<Ordinal, Memory> result;
  result.reservation = MemoryReservation(budget);
  auto order = result.reservation.template allocate<NodeView>(exec, "lutra::levelization::order", graph.n);
  auto level_of =
      result.reservation.template allocate<NodeView>(exec, "lutra::levelization::level_of", graph.n);
  bool done = false;
  if constexpr (Special::exists) {
    if (!tuning.portable && graph.n > 0) {
      result.level_map.push_back(0);
      for (const Ordinal width : Special::run(exec, graph, order, level_of, budget, tuning))
        result.level_map.push_back(result.level_map.back() + width);
      require_all_reached(result.level_map.back(), graph.n);
      done = true;
    }
  }
  if (!done) levelize_in_rounds(exec, graph, order, level_of, result.level_map, budget);
  result.order = order;
  result.level_of = level_of;
  return result;
}

template <class Ordinal, class ExecutionSpace>
Levels<Ordinal, typename ExecutionSpace::memory_space> levelize_forest(
    const ExecutionSpace& exec,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& parent,
    const MemoryBudget& budget, const Impl::LevelizationTuning& tuning) {
  using Memory = typename ExecutionSpace::memory_space;
  using NodeView = Kokkos::View<Ordinal*, Memory>;
  using Offset = std::int64_t;
  const bool in_order = Impl::check_parents<Ordinal>(exec, parent);
  const auto n = static_cast<Ordinal>(parent.extent(0));
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    if (in_order && !tuning.portable) {
      Levels<Ordinal, Memory> result;
      result.reservation = MemoryReservation(budget);
      const auto order =
          result.reservation.template allocate<NodeView>(exec, "lutra::levelization::order", n);
      const auto level_of =
          result.reservation.template allocate<NodeView>(exec, "lutra::levelization::level_of", n);
      exec.fence("lutra::levelization: allocated before it is filled");
      result.level_map =
          Impl::levelize_in_order<Ordinal>({parent.data(), parent.extent(0)}, {order.data(), order.extent(0)},
                                           {level_of.data(), level_of.extent(0)});
      result.order = order;
      result.level_of = level_of;
      return result;
    }
  }
  MemoryReservation scratch(budget);
  DependencyGraph<Ordinal, Offset, Memory> graph;
  graph.n = n;
  graph.first = Impl::edges_to_parents<Ordinal, Offset>(exec, parent, scratch);
  auto result = levelize(exec, graph, budget, tuning);
  exec.fence("lutra::levelization: edges are no longer needed");
  return result;
}

#define LUTRA_LEVELIZE(Ordinal, Offset, Space)                                             \
  template Levels<Ordinal, typename Space::memory_space> levelize(                         \
      const Space&, const DependencyGraph<Ordinal, Offset, typename Space::memory_space>&, \
      const MemoryBudget&, const Impl::LevelizationTuning&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_LEVELIZE)

#define LUTRA_LEVELIZE_FOREST(Ordinal, Offset, Space)                                              \
  template Levels<Ordinal, typename Space::memory_space> levelize_forest(                          \
      const Space&, const Kokkos::View<const Ordinal*, Space::memory_space>&, const MemoryBudget&, \
      const Impl::LevelizationTuning&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_LEVELIZE_FOREST)

}  // namespace lutra
