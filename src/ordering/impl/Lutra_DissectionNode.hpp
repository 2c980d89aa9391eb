// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISSECTIONNODE_HPP
#define LUTRA_DISSECTIONNODE_HPP

#include <algorithm>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra::Impl {

/// Node of the separator tree: its subtree has the columns begin … end − 1; the node itself has those from
/// own_begin.
template <class Index>
struct DissectionNode {
  Index begin, own_begin, end;
  bool leaf;
};

/// Whether a bisection fails: one side is empty, or the separator has more than a third of the vertices.
template <class Index>
bool is_degenerate(Index side_a, Index side_b, Index separator) {
  return side_a == 0 || side_b == 0 || separator > (side_a + side_b) / 2;
}

/// Sets `order` to the vertices grouped by component, ascending within each.
/// @returns the start of each component, and the end
template <class Index>
std::vector<Index> list_components(const SymmetricGraph<Index>& graph, std::vector<Index>& order) {
  std::vector<Index> first, component(order.size(), -1);
  Index end = 0;
  for (Index root = 0; root < graph.size(); ++root) {
    if (at(component, root) >= 0) continue;
    const auto number = static_cast<Index>(first.size());
    first.push_back(end);
    at(component, root) = number;
    at(order, end++) = root;
    for (Index k = first.back(); k < end; ++k) {
      const Index v = at(order, k);
      for (Index p = at(graph.row_map, v); p < at(graph.row_map, v + 1); ++p) {
        const Index u = at(graph.neighbours, p);
        if (at(component, u) >= 0) continue;
        at(component, u) = number;
        at(order, end++) = u;
      }
    }
  }
  std::vector<Index> next = first;
  for (Index v = 0; v < graph.size(); ++v) at(order, at(next, at(component, v))++) = v;
  first.push_back(end);
  return first;
}

/// Combines components with together at most `limit` vertices; vertices ascend within each range of `order`.
template <class Index>
std::vector<Index> join_components(const std::vector<Index>& first, Index limit, std::vector<Index>& order) {
  std::vector<Index> joined;
  for (std::size_t c = 0; c + 1 < first.size();) {
    std::size_t end = c + 1;
    while (end + 1 < first.size() && first[end + 1] - first[c] <= limit) ++end;
    if (end > c + 1) std::sort(order.begin() + first[c], order.begin() + first[end]);
    joined.push_back(first[c]);
    c = end;
  }
  joined.push_back(first.back());
  return joined;
}

}  // namespace lutra::Impl

#endif
