// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KAHN_HPP
#define LUTRA_KAHN_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Levelization.hpp"

namespace lutra::Impl {

/// Calls visit(successor) for every edge of v in one part of the graph.
template <class Ordinal, class Offset, class MemorySpace, class Visitor>
KOKKOS_FORCEINLINE_FUNCTION void for_each_successor(const Successors<Ordinal, Offset, MemorySpace>& part,
                                                    Ordinal v, const Visitor& visit) {
  if (part.entries.extent(0) == 0) return;
  for (Offset p = part.begin(v) + part.skip; p < part.end(v); ++p) visit(part.entries(p));
}

/// In-degrees of all nodes ("cnt_indegree").
template <class Ordinal, class Offset, class ExecutionSpace, class DegreeView>
void count_in_degrees(const ExecutionSpace& exec,
                      const DependencyGraph<Ordinal, Offset, typename ExecutionSpace::memory_space>& graph,
                      const DegreeView& degrees) {
  Kokkos::deep_copy(exec, degrees, Ordinal(0));
  Kokkos::parallel_for(
      "lutra::levelization::count_in_degrees", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, graph.n),
      KOKKOS_LAMBDA(const Ordinal v) {
        const auto count = [&](const Ordinal w) { add_shared<ExecutionSpace>(degrees(w), Ordinal(1)); };
        for_each_successor(graph.first, v, count);
        for_each_successor(graph.second, v, count);
      });
}

/// Puts the nodes without predecessors at the front of the queue.
template <class ExecutionSpace, class DegreeView, class LevelView, class EndView>
void start_queue(const ExecutionSpace& exec, const DegreeView& degrees, const DegreeView& queue,
                 const LevelView& level_of, const EndView& queue_end) {
  using Ordinal = typename DegreeView::value_type;
  Kokkos::parallel_for(
      "lutra::levelization::start",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<Ordinal>(degrees.extent(0))),
      KOKKOS_LAMBDA(const Ordinal v) {
        if (degrees(v) != 0) return;
        level_of(v) = 0;
        queue(fetch_add_shared<ExecutionSpace>(queue_end(), Ordinal(1))) = v;
      });
}

/// One round ("update" and "cons_queue"): nodes queue[begin, end) are done, their successors that wait for
/// nothing else are put behind them and belong to `level`.
template <class Ordinal, class Offset, class ExecutionSpace, class DegreeView, class LevelView, class EndView>
void advance_queue(const ExecutionSpace& exec,
                   const DependencyGraph<Ordinal, Offset, typename ExecutionSpace::memory_space>& graph,
                   Ordinal begin, Ordinal end, Ordinal level, const DegreeView& degrees,
                   const DegreeView& queue, const LevelView& level_of, const EndView& queue_end) {
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

}  // namespace lutra::Impl

#endif
