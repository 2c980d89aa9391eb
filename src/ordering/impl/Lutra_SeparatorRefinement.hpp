// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SEPARATORREFINEMENT_HPP
#define LUTRA_SEPARATORREFINEMENT_HPP

#include "Lutra_DissectionGraph.hpp"
#include "Lutra_NodeFm.hpp"

namespace lutra::Impl {

/// Reduces the weight of a separator, or balances the sides at equal weight, by moves of single vertices. A
/// separator whose sides are within max_side_share of the graph's weight never gets heavier. Cost: one pass
/// over the vertices, and the edges of vertices near the separator. (Concurrent moves of many vertices led to
/// worse minima: 1.2 times the entries of L.)
/// @param part [n_vertices] no edge joins the sides, before and after
template <class Index>
void refine_separator(const DissectionGraph<Index>& graph, double max_side_share,
                      const Piece<signed char>& part, DissectionStack& stack) {
  const auto mark = stack.mark();
  NodeFm<Index> fm(graph, part.data(), take_node_fm_arrays<Index>(graph.n_vertices, stack));
  fm.read(max_side_share);
  fm.refine();
  stack.rewind(mark);
}

}  // namespace lutra::Impl

#endif
