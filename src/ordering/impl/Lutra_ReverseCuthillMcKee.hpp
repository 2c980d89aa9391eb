// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REVERSECUTHILLMCKEE_HPP
#define LUTRA_REVERSECUTHILLMCKEE_HPP

#include <algorithm>
#include <vector>

#include "Lutra_SymmetricGraph.hpp"

namespace lutra::Impl {

/// Reverse Cuthill–McKee: breadth-first search from a pseudo-peripheral vertex of each component, neighbours
/// by ascending degree, reversed (George and Liu, Computer Solution of Large Sparse Positive Definite
/// Systems, ch. 4). O(nnz log(degree)) for each of the few searches for such a vertex.
template <class Index>
class ReverseCuthillMcKee {
 public:
  explicit ReverseCuthillMcKee(const SymmetricGraph<Index>& graph)
      : m_graph(graph), m_level(static_cast<std::size_t>(graph.size()), unseen) {}

  /// @returns [n] vertex at each position
  std::vector<Index> order() {
    m_order.reserve(m_level.size());
    for (Index v = 0; v < m_graph.size(); ++v) {
      if (m_level[at(v)] != unseen) continue;
      search(find_end(v));
    }
    std::ranges::reverse(m_order);
    return std::move(m_order);
  }

 private:
  static constexpr Index unseen = -1;
  static std::size_t at(Index v) { return static_cast<std::size_t>(v); }

  Index degree(Index v) const { return m_graph.row_map[at(v) + 1] - m_graph.row_map[at(v)]; }

  /// Pseudo-peripheral vertex: each search starts at the vertex of least degree in the last level of the
  /// previous one, while the number of levels increases.
  Index find_end(Index root) {
    for (Index height = -1;;) {
      const std::size_t begin = m_order.size();
      const Index found = search(root);
      const auto last = std::find_if(m_order.begin() + static_cast<std::ptrdiff_t>(begin), m_order.end(),
                                     [&](Index v) { return m_level[at(v)] == found; });
      const Index end =
          *std::min_element(last, m_order.end(), [&](Index a, Index b) { return degree(a) < degree(b); });
      for (std::size_t k = begin; k < m_order.size(); ++k) m_level[at(m_order[k])] = unseen;
      m_order.resize(begin);
      if (found <= height) return root;
      height = found;
      root = end;
    }
  }

  /// Appends the component of `root` in search order. @returns the number of the last level
  Index search(Index root) {
    m_level[at(root)] = 0;
    std::size_t next = m_order.size();
    m_order.push_back(root);
    for (; next < m_order.size(); ++next) {
      const Index v = m_order[next];
      const auto first = static_cast<std::ptrdiff_t>(m_order.size());
      for (Index p = m_graph.row_map[at(v)]; p < m_graph.row_map[at(v) + 1]; ++p) {
        const Index w = m_graph.neighbours[at(p)];
        if (m_level[at(w)] != unseen) continue;
        m_level[at(w)] = m_level[at(v)] + 1;
        m_order.push_back(w);
      }
      std::stable_sort(m_order.begin() + first, m_order.end(),
                       [&](Index a, Index b) { return degree(a) < degree(b); });
    }
    return m_level[at(m_order.back())];
  }

  const SymmetricGraph<Index>& m_graph;
  std::vector<Index> m_level;  ///< [n] level in the current search; else `unseen`
  std::vector<Index> m_order;
};

}  // namespace lutra::Impl

#endif
