// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INITIALSEPARATOR_HPP
#define LUTRA_INITIALSEPARATOR_HPP

// Separators of the coarsest graphs of multilevel bisection (Karypis and Kumar 1998): grown breadth-first
// from several vertices and refined; the best is kept.

#include <algorithm>
#include <cstdint>

#include "Lutra_DissectionGraph.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_NodeFm.hpp"

namespace lutra::Impl {

/// Pseudo-peripheral vertex: the last vertex reached by a breadth-first search from `start`, repeated once.
/// @param queue, reached [n_vertices] workspace
template <class Index>
Index peripheral_vertex(const DissectionGraph<Index>& graph, Index start, Index* queue,
                        signed char* reached) {
  for (int search = 0; search < 2; ++search) {
    std::fill_n(reached, graph.n_vertices, static_cast<signed char>(0));
    Index size = 0;
    queue[size++] = start;
    reached[start] = 1;
    for (Index i = 0; i < size; ++i) {
      for (Index p = graph.row_map(queue[i]); p < graph.row_map(queue[i] + 1); ++p) {
        const Index u = graph.neighbours(p);
        if (reached[u] == 0) queue[size++] = u;
        reached[u] = 1;
      }
    }
    start = queue[size - 1];
  }
  return start;
}

/// Vertex separator of a graph with some hundred vertices: the best of `trials`, the first among equals.
/// Trial 0 grows from a pseudo-peripheral vertex, the others from vertices selected by a hash.
/// @param part [n_vertices] result: no edge joins the sides; neither side exceeds options.max_side_share of
/// the graph's weight if the trials found such a separator
template <class Index>
void initial_separator(const DissectionGraph<Index>& graph, const DissectionOptions& options,
                       const Piece<signed char>& part, DissectionStack& stack) {
  if (graph.n_vertices == 0) return;
  const auto mark = stack.mark();
  const auto trial_part = stack.take<signed char>(graph.n_vertices);
  const auto arrays = take_node_fm_arrays<Index>(graph.n_vertices, stack);
  SeparatorWeights<Index> best;
  for (int trial = 0; trial < options.trials; ++trial) {
    const auto random = mix_bits(options.seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(trial));
    auto seed = static_cast<Index>(random % static_cast<std::uint64_t>(graph.n_vertices));
    if (trial == 0) seed = peripheral_vertex(graph, seed, arrays.list, trial_part.data());
    NodeFm<Index> fm(graph, trial_part.data(), arrays);
    fm.grow(seed, options.max_side_share);
    fm.refine();
    const SeparatorWeights<Index>& found = fm.weights();
    if (trial > 0 && !found.better_than(best, found.max_side(options.max_side_share))) continue;
    best = found;
    std::copy_n(trial_part.data(), graph.n_vertices, part.data());
  }
  stack.rewind(mark);
}

}  // namespace lutra::Impl

#endif
