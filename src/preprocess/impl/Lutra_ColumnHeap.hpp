// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNHEAP_HPP
#define LUTRA_COLUMNHEAP_HPP

#include <cstddef>
#include <vector>

#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Binary min-heap of columns by distance, with decrease-key and removal. Distances are stored next to the
/// columns, so that sifting accesses only the heap.
///
/// @tparam Columns  array of structs with a member `heap_position`, −1 for a column that is not in the heap
template <class Columns>
class ColumnHeap {
 public:
  explicit ColumnHeap(Columns& columns) : m_columns(columns) {}

  bool empty() const { return m_nodes.empty(); }
  double least() const { return m_nodes.front().distance; }

  void insert_or_lower(Ordinal column, double distance) {
    Ordinal position = position_of(column);
    if (position < 0) {
      position = static_cast<Ordinal>(m_nodes.size());
      m_nodes.push_back({distance, column});
    }
    sift_up(static_cast<std::size_t>(position), {distance, column});
  }

  Ordinal pop() {
    const Ordinal column = m_nodes.front().column;
    remove(column);
    return column;
  }

  void remove(Ordinal column) {
    const auto position = static_cast<std::size_t>(position_of(column));
    position_of(column) = -1;
    const Node last = m_nodes.back();
    m_nodes.pop_back();
    if (position == m_nodes.size()) return;
    if (position > 0 && last.distance < m_nodes[(position - 1) / 2].distance) {
      sift_up(position, last);
    } else {
      sift_down(position, last);
    }
  }

  /// Clears the heap in time proportional to its size.
  void clear() {
    for (const Node& node : m_nodes) position_of(node.column) = -1;
    m_nodes.clear();
  }

 private:
  struct Node {
    double distance;
    Ordinal column;
  };

  Ordinal& position_of(Ordinal column) { return m_columns[static_cast<std::size_t>(column)].heap_position; }

  void put(std::size_t position, const Node& node) {
    m_nodes[position] = node;
    position_of(node.column) = static_cast<Ordinal>(position);
  }

  void sift_up(std::size_t position, const Node& node) {
    while (position > 0) {
      const std::size_t parent = (position - 1) / 2;
      if (!(node.distance < m_nodes[parent].distance)) break;
      put(position, m_nodes[parent]);
      position = parent;
    }
    put(position, node);
  }

  void sift_down(std::size_t position, const Node& node) {
    for (std::size_t child = 2 * position + 1; child < m_nodes.size(); child = 2 * position + 1) {
      if (child + 1 < m_nodes.size() && m_nodes[child + 1].distance < m_nodes[child].distance) ++child;
      if (!(m_nodes[child].distance < node.distance)) break;
      put(position, m_nodes[child]);
      position = child;
    }
    put(position, node);
  }

  Columns& m_columns;
  std::vector<Node> m_nodes;
};

}  // namespace lutra::Impl

#endif
