// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FOREST_HPP
#define LUTRA_FOREST_HPP

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Levelization.hpp"

namespace lutra::Impl {

/// Whether every parent has a larger index than its children.
/// @throws InputError naming the first node whose parent is neither −1 nor another node
template <class ExecutionSpace>
bool check_parents(const ExecutionSpace& exec,
                   const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& parent) {
  const auto n = static_cast<Ordinal>(parent.extent(0));
  Ordinal first_bad = std::numeric_limits<Ordinal>::max(), backward = 0;
  Kokkos::parallel_reduce(
      "lutra::levelization::check_parents", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const Ordinal v, Ordinal& bad, Ordinal& behind) {
        const Ordinal p = parent(v);
        if ((p < -1 || p >= n || p == v) && v < bad) bad = v;
        if (p >= 0 && p < v) ++behind;
      },
      Kokkos::Min<Ordinal>(first_bad), Kokkos::Sum<Ordinal>(backward));
  exec.fence("lutra::levelization: parents are checked");
  if (n > 0 && first_bad < n)
    throw InputError("parent: node " + std::to_string(first_bad) + " of " + std::to_string(n) +
                     " has a parent that is not another node");
  return backward == 0;
}

/// Edges from each node to its parent, as one part of a graph.
template <class ExecutionSpace>
Successors<typename ExecutionSpace::memory_space> edges_to_parents(
    const ExecutionSpace& exec,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& parent,
    MemoryReservation& reservation) {
  using OffsetView = Kokkos::View<Offset*, typename ExecutionSpace::memory_space>;
  const auto n = parent.extent(0);
  const auto begin = reservation.allocate<OffsetView>(exec, "lutra::levelization::edge_begin", n);
  const auto end = reservation.allocate<OffsetView>(exec, "lutra::levelization::edge_end", n);
  Kokkos::parallel_for(
      "lutra::levelization::edges_to_parents",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Ordinal>(n)), KOKKOS_LAMBDA(const Ordinal v) {
        begin(v) = v;
        end(v) = v + (parent(v) >= 0 ? 1 : 0);
      });
  return {begin, end, parent, 0};
}

/// Levels of a forest on the host whose parents have larger indices than their children: one pass raises each
/// parent above its children, and a counting sort orders the nodes.
/// @param order    [n] out: nodes level by level, ascending within a level
/// @param level_of [n] out
/// @returns [levels + 1] start of each level in `order`
inline std::vector<Ordinal> levelize_in_order(std::span<const Ordinal> parent, std::span<Ordinal> order,
                                              std::span<Ordinal> level_of) {
  const auto at = [](auto& array, Ordinal i) -> auto& {
    return array[static_cast<std::size_t>(i)];
  };
  const auto n = static_cast<Ordinal>(parent.size());
  Ordinal levels = 0;
  std::fill(level_of.begin(), level_of.end(), Ordinal(0));
  for (Ordinal v = 0; v < n; ++v) {
    const auto above = static_cast<Ordinal>(at(level_of, v) + 1);
    levels = std::max(levels, above);
    if (at(parent, v) >= 0) at(level_of, at(parent, v)) = std::max(at(level_of, at(parent, v)), above);
  }
  std::vector<Ordinal> level_map(static_cast<std::size_t>(levels) + 1, 0);
  for (const Ordinal level : level_of) ++at(level_map, level + 1);
  std::partial_sum(level_map.begin(), level_map.end(), level_map.begin());
  std::vector<Ordinal> next(level_map.begin(), level_map.end() - 1);
  for (Ordinal v = 0; v < n; ++v) at(order, at(next, at(level_of, v))++) = v;
  return level_map;
}

}  // namespace lutra::Impl

#endif
