// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SEPARATORREFINEMENT_HPP
#define LUTRA_SEPARATORREFINEMENT_HPP

#include <cstddef>

#include "Lutra_Executors.hpp"
#include "Lutra_GraphBatch.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_NodeFm.hpp"

namespace lutra::Impl {

/// Refines the separator of each graph by `NodeFm`; one thread per graph.
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

/// Reduces the weight of each graph's separator in a batch, or balances the sides at equal weight, by moves
/// of single vertices. A separator whose sides are within options.max_side_share of the graph's weight never
/// gets heavier. Devices use `refine_collected`. Cost: one pass over the vertices, and the edges of vertices
/// near the separator.
/// @param part [n_vertices] no edge joins the sides, before and after
template <class Executor, class Index, class MemorySpace>
void refine_separator(const Executor& exec, const GraphBatch<Index, MemorySpace>& graph,
                      const DissectionOptions& options, const Piece<signed char, MemorySpace>& part,
                      DissectionStack<MemorySpace>& stack) {
  const auto mark = stack.mark();
  const auto arrays = take_node_fm_arrays<Index>(graph.n_vertices, stack);
  exec.for_each("lutra::ordering::refine_separator", graph.n_graphs,
                RefineByMoves<Index, MemorySpace>{graph, part, arrays, options.max_side_share});
  exec.fence();
  stack.rewind(mark);
}

/// Refinement of large separators on a device: all threads collect the separator, one thread per graph moves
/// its vertices. (Concurrent moves of many vertices led to worse minima: 1.2 times the entries of L.)
template <class Executor, class Index, class MemorySpace>
struct CollectedSeparators {
  using Graph = GraphBatch<Index, MemorySpace>;

  /// Weights of a graph's parts and length of its list.
  struct State {
    SeparatorWeights<Index> weights;
    Index length = 0;
  };

  Graph graph;
  Piece<signed char, MemorySpace> part;
  NodeFmArrays<Index> arrays;
  double max_side_share;
  Index max_patience;  ///< maximum number of moves after the best state of a pass
  int max_passes;

  KOKKOS_FUNCTION NodeFm<Index> moves(Index first) const {
    return NodeFm<Index>(plain_graph(graph), part.data(), arrays.of_graph(first));
  }

  /// Adds the vertices begin … end − 1 of a graph that starts at `first`, in any order.
  KOKKOS_FUNCTION void collect(State& state, Index first, Index begin, Index end) const {
    Index sum[3] = {0, 0, 0};
    NodeFm<Index> fm = moves(first);
    for (Index v = begin; v < end; ++v) {
      sum[part(v)] += graph.vertex_weights(v);
      if (part(v) != separator) continue;
      arrays.list[first + Executor::fetch_add(&state.length, Index(1))] = v;
      fm.find_pull(v);
    }
    for (int k = 0; k < 3; ++k)
      if (sum[k] != 0) Executor::fetch_add(&state.weights.part[k], sum[k]);
  }

  /// Called by one thread.
  KOKKOS_FUNCTION void refine(State& state, Index first, Index end) const {
    NodeFm<Index> fm = moves(first);
    fm.take_over(state.length, end, state.weights, state.weights.max_side(max_side_share), max_patience);
    fm.refine(max_passes);
    state.weights = fm.weights();
  }

  /// Vertices of a thread in `collect`. Larger: fewer atomic additions to the weights, fewer threads.
  static constexpr Index chunk = 32;
};

/// Weights and separators of a chunk of consecutive vertices, of one or several graphs.
template <class Separators, class States>
struct CollectChunk {
  Separators separators;
  States states;
  template <class Index>
  KOKKOS_FUNCTION void operator()(const Index c) const {
    const auto& graph = separators.graph;
    const Index chunk = Separators::chunk;
    const Index end = (c + 1) * chunk < graph.n_vertices ? (c + 1) * chunk : graph.n_vertices;
    for (Index v = c * chunk; v < end;) {
      const Index g = graph.graph_of(v), next = graph.first_vertex(g + 1), stop = next < end ? next : end;
      separators.collect(states(g), graph.first_vertex(g), v, stop);
      v = stop;
    }
  }
};

template <class Separators, class States>
struct RefineCollected {
  Separators separators;
  States states;
  static std::size_t scratch_bytes() { return 0; }
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    if (member.team_rank() != 0) return;
    const auto& first = separators.graph.first_vertex;
    const auto g = member.league_rank();
    separators.refine(states(g), first(g), first(g + 1));
  }
};

/// Refines the separators of a batch in two launches.
template <class Executor, class Index, class MemorySpace>
void refine_collected(const Executor& exec, const GraphBatch<Index, MemorySpace>& graph,
                      const DissectionOptions& options, const Piece<signed char, MemorySpace>& part,
                      DissectionStack<MemorySpace>& stack) {
  using Separators = CollectedSeparators<Executor, Index, MemorySpace>;
  using States = Piece<typename Separators::State, MemorySpace>;
  const auto mark = stack.mark();
  const auto arrays = take_node_fm_arrays<Index>(graph.n_vertices, stack);
  const States states = stack.template take<typename Separators::State>(graph.n_graphs);
  const Separators separators{graph, part, arrays, options.max_side_share, Index(200), 4};
  exec.fill(states, typename Separators::State());
  exec.for_each("lutra::ordering::collect_separators",
                (graph.n_vertices + Separators::chunk - 1) / Separators::chunk,
                CollectChunk<Separators, States>{separators, states});
  exec.template for_each_team<32>("lutra::ordering::refine_separators", graph.n_graphs, 32,
                                  RefineCollected<Separators, States>{separators, states});
  exec.fence();
  stack.rewind(mark);
}

}  // namespace lutra::Impl

#endif
