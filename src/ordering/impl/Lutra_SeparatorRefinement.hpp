// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SEPARATORREFINEMENT_HPP
#define LUTRA_SEPARATORREFINEMENT_HPP

#include <type_traits>

#include "Lutra_Executors.hpp"
#include "Lutra_GraphBatch.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_NodeFm.hpp"
#include "Lutra_SeparatorHalfPasses.hpp"
#include "Lutra_SharedLoops.hpp"

namespace lutra::Impl {

/// Refines the separator of each graph by `NodeFm`; one thread a graph.
template <class Index, class MemorySpace>
struct RefineByMoves {
  GraphBatch<Index, MemorySpace> graph;
  Piece<signed char, MemorySpace> part;
  NodeFmArrays<Index> arrays;
  double max_side_share;

  KOKKOS_FUNCTION void operator()(const Index g) const {
    const Index first = graph.first_vertex(g);
    NodeFm<Index> fm(plain_graph(graph), part.data(), arrays.of_graph(first));
    fm.read(first, graph.first_vertex(g + 1), max_side_share);
    fm.refine(max_refinement_passes);
  }
};

/// Makes the separator of each graph of a batch lighter, or the sides more equal at the same weight. A
/// separator whose sides are within options.max_side_share of the graph's weight is never made heavier. One
/// thread of a host, and several threads on small graphs, move single vertices; many threads on large graphs
/// and devices move many at once. Which it is does not depend on how many threads there are.
/// @param part [n_vertices] no edge joins the sides, before and after
/// Cost: one pass over the vertices, and the edges of vertices near the separator.
template <class Executor, class Index, class MemorySpace>
void refine_separator(const Executor& exec, const GraphBatch<Index, MemorySpace>& graph,
                      const DissectionOptions& options, const Piece<signed char, MemorySpace>& part,
                      DissectionStack<MemorySpace>& stack) {
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<typename MemorySpace::execution_space, Kokkos::HostSpace>::accessible;
  constexpr Index large_graph = 20000;
  const auto mark = stack.mark();
  const auto move_single_vertices = [&] {
    const auto arrays = take_node_fm_arrays<Index>(graph.n_vertices, stack);
    exec.for_each("lutra::ordering::refine_separator", graph.n_graphs,
                  RefineByMoves<Index, MemorySpace>{graph, part, arrays, options.max_side_share});
    exec.fence();
  };
  if constexpr (Executor::one_thread || std::is_same_v<Executor, SharedThreads>) {
    move_single_vertices();
  } else if (on_host && graph.n_vertices / large_graph < graph.n_graphs) {
    move_single_vertices();
  } else {
    SeparatorHalfPasses<Executor, Index, MemorySpace>(exec, graph, options.max_side_share, part, stack)
        .refine();
  }
  stack.rewind(mark);
}

}  // namespace lutra::Impl

#endif
