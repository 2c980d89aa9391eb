// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INITIALSEPARATOR_HPP
#define LUTRA_INITIALSEPARATOR_HPP

// Separators of the coarsest graphs of multilevel bisection (Karypis and Kumar 1998): grown breadth-first
// from several vertices and refined; the best is kept.

#include <cstdint>

#include "Lutra_Executors.hpp"
#include "Lutra_GraphBatch.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_NodeFm.hpp"

namespace lutra::Impl {

/// Pseudo-peripheral vertex: the last vertex reached by a breadth-first search from `start`, repeated once.
/// @param queue, reached workspace for the graph's vertices; `reached` is indexed by number in the batch
template <class Index>
KOKKOS_FUNCTION Index peripheral_vertex(const typename NodeFm<Index>::Graph& graph, Index first, Index end,
                                        Index start, Index* queue, signed char* reached) {
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

/// Grows and refines separators: trial 0 from a pseudo-peripheral vertex, the others from vertices selected
/// by a hash. One thread per graph and trial.
template <class Executor, class Index, class MemorySpace>
struct GrowSeparator {
  GraphBatch<Index, MemorySpace> graph;
  Piece<signed char, MemorySpace> part;                 ///< [n_vertices · trials]
  Piece<SeparatorWeights<Index>, MemorySpace> weights;  ///< [n_graphs · trials]
  NodeFmArrays<Index> arrays;  ///< for one trial with one thread, else for all trials
  DissectionOptions options;

  KOKKOS_FUNCTION void operator()(const Index i) const {
    const Index trial = i / graph.n_graphs, g = i % graph.n_graphs;
    const Index first = graph.first_vertex(g), end = graph.first_vertex(g + 1);
    if (first == end) return;
    const NodeFmArrays<Index> own =
        arrays.of_graph(first, Executor::one_thread ? 0 : trial * graph.n_vertices);
    signed char* const own_part = part.data() + trial * graph.n_vertices;
    const auto plain = plain_graph(graph);
    const auto random = mix_bits(options.seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(trial));
    Index seed = first + static_cast<Index>(random % static_cast<std::uint64_t>(end - first));
    if (trial == 0) seed = peripheral_vertex(plain, first, end, seed, own.list, own_part);
    NodeFm<Index> fm(plain, own_part, own);
    fm.grow(first, end, seed, options.max_side_share);
    fm.refine(max_refinement_passes);
    weights(i) = fm.weights();
  }
};

/// Selects the best trial of each graph, the first among equals.
template <class Index, class MemorySpace>
struct TakeBestTrial {
  GraphBatch<Index, MemorySpace> graph;
  Piece<signed char, MemorySpace> trial_part, part;
  Piece<SeparatorWeights<Index>, MemorySpace> weights;
  DissectionOptions options;

  KOKKOS_FUNCTION void operator()(const Index g) const {
    const Index max_side = weights(g).max_side(options.max_side_share);
    Index best = 0;
    for (Index trial = 1; trial < options.trials; ++trial)
      if (weights(trial * graph.n_graphs + g).better_than(weights(best * graph.n_graphs + g), max_side))
        best = trial;
    for (Index v = graph.first_vertex(g); v < graph.first_vertex(g + 1); ++v)
      part(v) = trial_part(best * graph.n_vertices + v);
  }
};

/// Vertex separator of each graph of a batch; intended for graphs with some hundred vertices.
/// @param part [n_vertices] result: no edge joins the sides; neither side exceeds options.max_side_share of
/// the graph's weight if the trials found such a separator
template <class Executor, class Index, class MemorySpace>
void initial_separator(const Executor& exec, const GraphBatch<Index, MemorySpace>& graph,
                       const DissectionOptions& options, const Piece<signed char, MemorySpace>& part,
                       DissectionStack<MemorySpace>& stack) {
  const auto mark = stack.mark();
  const auto trials = static_cast<Index>(options.trials);
  const auto trial_part = stack.template take<signed char>(trials * graph.n_vertices);
  const auto weights = stack.template take<SeparatorWeights<Index>>(trials * graph.n_graphs);
  const auto arrays =
      take_node_fm_arrays<Index>((Executor::one_thread ? Index(1) : trials) * graph.n_vertices, stack);
  exec.for_each("lutra::ordering::grow_separators", trials * graph.n_graphs,
                GrowSeparator<Executor, Index, MemorySpace>{graph, trial_part, weights, arrays, options});
  exec.for_each("lutra::ordering::take_best_trial", graph.n_graphs,
                TakeBestTrial<Index, MemorySpace>{graph, trial_part, part, weights, options});
  exec.fence();
  stack.rewind(mark);
}

}  // namespace lutra::Impl

#endif
