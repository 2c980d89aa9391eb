// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNHEAP_HPP
#define LUTRA_COLUMNHEAP_HPP

#include <cstddef>
#include <vector>

namespace lutra::Impl {

/// A binary heap of columns, nearest on top, whose entries can come nearer or be taken out. Distances are
/// held next to the columns, so that sifting reads the heap alone; each column's place is written where the
/// caller says.
///
/// @tparam Columns  array of structs with a member `heap_place`, -1 for a column that is not in the heap
template <class Ordinal, class Columns>
class ColumnHeap {
 public:
  explicit ColumnHeap(Columns& columns) : m_columns(columns) {}

  bool empty() const { return m_nodes.empty(); }
  double least() const { return m_nodes.front().distance; }

  void insert_or_lower(Ordinal column, double distance) {
    Ordinal place = place_of(column);
    if (place < 0) {
      place = static_cast<Ordinal>(m_nodes.size());
      m_nodes.push_back({distance, column});
    }
    sift_up(static_cast<std::size_t>(place), {distance, column});
  }

  Ordinal pop() {
    const Ordinal column = m_nodes.front().column;
    remove(column);
    return column;
  }

  void remove(Ordinal column) {
    const auto place = static_cast<std::size_t>(place_of(column));
    place_of(column) = -1;
    const Node last = m_nodes.back();
    m_nodes.pop_back();
    if (place == m_nodes.size()) return;
    if (place > 0 && last.distance < m_nodes[(place - 1) / 2].distance) {
      sift_up(place, last);
    } else {
      sift_down(place, last);
    }
  }

  /// Empties the heap in time proportional to its size.
  void clear() {
    for (const Node& node : m_nodes) place_of(node.column) = -1;
    m_nodes.clear();
  }

 private:
  struct Node {
    double distance;
    Ordinal column;
  };

  Ordinal& place_of(Ordinal column) { return m_columns[static_cast<std::size_t>(column)].heap_place; }

  void put(std::size_t place, const Node& node) {
    m_nodes[place] = node;
    place_of(node.column) = static_cast<Ordinal>(place);
  }

  void sift_up(std::size_t place, const Node& node) {
    while (place > 0) {
      const std::size_t above = (place - 1) / 2;
      if (!(node.distance < m_nodes[above].distance)) break;
      put(place, m_nodes[above]);
      place = above;
    }
    put(place, node);
  }

  void sift_down(std::size_t place, const Node& node) {
    for (std::size_t below = 2 * place + 1; below < m_nodes.size(); below = 2 * place + 1) {
      if (below + 1 < m_nodes.size() && m_nodes[below + 1].distance < m_nodes[below].distance) ++below;
      if (!(m_nodes[below].distance < node.distance)) break;
      put(place, m_nodes[below]);
      place = below;
    }
    put(place, node);
  }

  Columns& m_columns;
  std::vector<Node> m_nodes;
};

}  // namespace lutra::Impl

#endif
