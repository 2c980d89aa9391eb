// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INITIALSEPARATOR_HPP
#define LUTRA_INITIALSEPARATOR_HPP

#include <cstdint>

#include "Lutra_Executors.hpp"
#include "Lutra_GraphBatch.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_NodeFm.hpp"

namespace lutra::Impl {

/// The vertex that a breadth-first search from `start` reaches last, twice over: near one end of the graph.
/// @param queue, reached room for the graph's vertices; `reached` by number in the batch
template <class Index>
Index peripheral_vertex(const typename NodeFm<Index>::Graph& graph, Index first, Index end, Index start,
                        Index* queue, signed char* reached) {
  for (int search = 0; search < 2; ++search) {
    for (Index v = first; v < end; ++v) reached[v] = 0;
    Index size = 0;
    queue[size++] = start;
    reached[start] = 1;
    for (Index i = 0; i < size; ++i) {
      for (Index p = graph.row_map[queue[i]]; p < graph.row_map[queue[i] + 1]; ++p) {
        const Index u = graph.neighbours[p];
        if (reached[u] == 0) queue[size++] = u;
        reached[u] = 1;
      }
    }
    start = queue[size - 1];
  }
  return start;
}

/// The best of several separators of each graph, each grown from another vertex and refined: the first from
/// an end of the graph, the others from vertices drawn by hash. Of equal separators the first one is kept.
/// Cost: trials · edges; one thread a graph.
template <class Index, class MemorySpace>
struct GrowSeparators {
  GraphBatch<Index, MemorySpace> graph;
  Piece<signed char, MemorySpace> part, trial_part;  ///< [n_vertices] the best, and the present trial
  NodeFmArrays<Index> arrays;
  DissectionOptions options;

  void operator()(const Index g) const {
    const Index first = graph.first_vertex(g), end = graph.first_vertex(g + 1);
    if (first == end) return;
    const auto plain = plain_graph(graph);
    SeparatorWeights<Index> best;
    for (int trial = 0; trial < options.trials; ++trial) {
      const auto random = mix_bits(options.seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(trial));
      Index seed = first + static_cast<Index>(random % static_cast<std::uint64_t>(end - first));
      if (trial == 0)
        seed = peripheral_vertex(plain, first, end, seed, arrays.list + first, trial_part.data());
      NodeFm<Index> fm(plain, trial_part.data(), arrays.of_graph(first));
      fm.grow(first, end, seed, options.max_side_share);
      fm.refine(max_refinement_passes);
      if (trial > 0 && !fm.weights().better_than(best, fm.max_side())) continue;
      best = fm.weights();
      for (Index v = first; v < end; ++v) part(v) = trial_part(v);
    }
  }
};

/// A vertex separator of each graph of a batch, meant for graphs of some hundred vertices.
/// @param part [n_vertices] result: no edge joins the sides; neither weighs more than
///             options.max_side_share of the graph where the trials found such a separator
template <class Executor, class Index, class MemorySpace>
void initial_separator(const Executor& exec, const GraphBatch<Index, MemorySpace>& graph,
                       const DissectionOptions& options, const Piece<signed char, MemorySpace>& part,
                       DissectionStack<MemorySpace>& stack) {
  const auto mark = stack.mark();
  const auto trial_part = stack.template take<signed char>(graph.n_vertices);
  exec.for_each("lutra::ordering::initial_separator", graph.n_graphs,
                GrowSeparators<Index, MemorySpace>{
                    graph, part, trial_part, take_node_fm_arrays<Index>(graph.n_vertices, stack), options});
  exec.fence();
  stack.rewind(mark);
}

}  // namespace lutra::Impl

#endif
