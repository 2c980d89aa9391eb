// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SEPARATORREFINEMENT_HPP
#define LUTRA_SEPARATORREFINEMENT_HPP

#include "Lutra_Executors.hpp"
#include "Lutra_GraphBatch.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_NodeFm.hpp"

namespace lutra::Impl {

/// Refines the separator of each graph by `NodeFm`; one thread a graph.
template <class Index, class MemorySpace>
struct RefineByMoves {
  GraphBatch<Index, MemorySpace> graph;
  Piece<signed char, MemorySpace> part;
  NodeFmArrays<Index> arrays;
  double max_side_share;

  void operator()(const Index g) const {
    const Index first = graph.first_vertex(g);
    NodeFm<Index> fm(plain_graph(graph), part.data(), arrays.of_graph(first));
    fm.read(first, graph.first_vertex(g + 1), max_side_share);
    fm.refine(max_refinement_passes);
  }
};

/// Makes the separator of each graph of a batch lighter, or the sides more equal at the same weight. A
/// separator whose sides are within options.max_side_share of the graph's weight is never made heavier.
/// @param part [n_vertices] no edge joins the sides, before and after
/// Cost: one pass over the vertices, and the edges of vertices near the separator.
template <class Executor, class Index, class MemorySpace>
void refine_separator(const Executor& exec, const GraphBatch<Index, MemorySpace>& graph,
                      const DissectionOptions& options, const Piece<signed char, MemorySpace>& part,
                      DissectionStack<MemorySpace>& stack) {
  const auto mark = stack.mark();
  exec.for_each(
      "lutra::ordering::refine_separator", graph.n_graphs,
      RefineByMoves<Index, MemorySpace>{graph, part, take_node_fm_arrays<Index>(graph.n_vertices, stack),
                                        options.max_side_share});
  exec.fence();
  stack.rewind(mark);
}

}  // namespace lutra::Impl

#endif
