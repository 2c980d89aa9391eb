// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NODEFM_HPP
#define LUTRA_NODEFM_HPP

// Refinement of vertex separators by moves of single vertices (Fiduccia and Mattheyses 1982; for separators
// Ashcraft and Liu 1998).

#include <cstdint>
#include <utility>

#include "Lutra_DissectionGraph.hpp"
#include "Lutra_SeparatorWeights.hpp"

namespace lutra::Impl {

/// Priority queue of vertices: a binary heap that stores the position of each vertex. Priorities are
/// distinct, so the result does not depend on the order of insertion.
template <class Index>
class VertexHeap {
 public:
  struct Entry {
    std::int64_t priority;
    Index vertex;
  };

  /// @param entries  storage for all vertices
  /// @param position [n_vertices] position of each vertex in `entries`; −1: not in the heap; read only for
  /// vertices that have been inserted before
  VertexHeap(Entry* entries, Index* position) : m_entries(entries), m_position(position) {}

  bool empty() const { return m_size == 0; }
  bool holds(Index v) const { return m_position[v] >= 0; }
  void clear() { m_size = 0; }

  void insert(Index v, std::int64_t priority) { rise(m_size++, {priority, v}); }
  void raise(Index v, std::int64_t priority) { rise(m_position[v], {priority, v}); }

  Index take_largest() {
    const Index v = m_entries[0].vertex;
    m_position[v] = -1;
    const Entry last = m_entries[--m_size];
    if (m_size > 0) sink(last);
    return v;
  }

 private:
  void put(Index at, Entry entry) {
    m_entries[at] = entry;
    m_position[entry.vertex] = at;
  }

  void rise(Index at, Entry entry) {
    for (; at > 0 && m_entries[(at - 1) / 2].priority < entry.priority; at = (at - 1) / 2)
      put(at, m_entries[(at - 1) / 2]);
    put(at, entry);
  }

  void sink(Entry entry) {
    Index at = 0;
    for (Index child = 1; child < m_size; child = 2 * at + 1) {
      if (child + 1 < m_size && m_entries[child].priority < m_entries[child + 1].priority) ++child;
      if (m_entries[child].priority < entry.priority) break;
      put(at, m_entries[child]);
      at = child;
    }
    put(at, entry);
  }

  Entry* m_entries;
  Index* m_position;
  Index m_size = 0;
};

/// Arrays of `NodeFm`, with n_vertices entries each unless noted. Only entries of vertices near the separator
/// are accessed, and none needs initialisation.
template <class Index>
struct NodeFmArrays {
  Index* pull;      ///< [2 n_vertices] weight of the neighbours in either side, for vertices of the separator
  Index* position;  ///< position in the heap
  Index* list;      ///< vertices of the separator
  Index* moved;     ///< vertices moved in this pass, in order
  Index* list_end;  ///< length of `list` after each move of this pass
  typename VertexHeap<Index>::Entry* heap;
};

template <class Index>
NodeFmArrays<Index> take_node_fm_arrays(Index n_vertices, DissectionStack& stack) {
  const auto take = [&](Index count) { return stack.take<Index>(count).data(); };
  return {take(2 * n_vertices), take(n_vertices),
          take(n_vertices),     take(n_vertices),
          take(n_vertices),     stack.take<typename VertexHeap<Index>::Entry>(n_vertices).data()};
}

/// Improves a vertex separator by moves of single vertices in one thread: one-sided passes of the method of
/// Fiduccia and Mattheyses for separators (Ashcraft and Liu 1998, "Applications of the Dulmage–Mendelsohn
/// decomposition and network flow to graph bisection improvement", and the one-sided passes of METIS).
///
/// A vertex of the separator S moves to side `to`, and its neighbours in the other side enter S, so that no
/// edge ever joins the sides. The gain is the decrease in the weight of S. A pass repeatedly makes the move
/// with the largest gain, negative ones included, and finally returns to the best state seen. All moves of a
/// pass are to one side: no vertex moves twice, and gains of queued vertices only increase. Cost: the edges
/// of vertices that are in S or enter it, times the depth of the heap.
template <class Index>
class NodeFm {
 public:
  using Graph = DissectionGraph<Index>;

  NodeFm(const Graph& graph, signed char* part, const NodeFmArrays<Index>& arrays)
      : m_graph{graph.row_map.data(), graph.neighbours.data(), graph.vertex_weights.data()},
        m_n(graph.n_vertices),
        m_part(part),
        m_a(arrays),
        m_heap(arrays.heap, arrays.position) {}

  const SeparatorWeights<Index>& weights() const { return m_weights; }

  /// Initialises the separator from the parts of the vertices.
  void read(double max_side_share) {
    m_weights = {};
    m_size = 0;
    for (Index v = 0; v < m_n; ++v) {
      m_weights.part[m_part[v]] += m_graph.weights[v];
      m_a.list[m_size] = v;
      m_size += m_part[v] == separator;
    }
    m_max_side = m_weights.max_side(max_side_share);
    for (Index i = 0; i < m_size; ++i) find_pull(m_a.list[i]);
  }

  /// Alternates passes to both sides, starting with the lighter one, until neither side improves.
  void refine() {
    constexpr int max_passes = 20;  // bounds the time where every pass gains a little
    int to = m_weights.part[0] <= m_weights.part[1] ? 0 : 1;
    for (int pass = 0, idle = 0; pass < max_passes && idle < 2; ++pass, to = 1 - to)
      idle = improve(to) ? 0 : idle + 1;
  }

  /// Starts with all vertices in side 1; grows side 0 from `seed` and keeps the best separator.
  void grow(Index seed, double max_side_share) {
    m_weights = {};
    for (Index v = 0; v < m_n; ++v) {
      m_part[v] = side_b;
      m_weights.part[side_b] += m_graph.weights[v];
    }
    m_max_side = m_weights.max_side(max_side_share);
    m_size = 0;
    begin_pass(side_a);
    Index next = 0;
    while (m_weights.part[side_a] < m_weights.part[side_b]) {
      // unvisited component
      if (m_heap.empty()) {
        while (next < m_n && m_part[seed] != side_b) seed = next++;
        if (m_part[seed] != side_b) break;
        enter(seed);
      }
      step();
    }
    while (!m_heap.empty()) step();
    end_pass();
  }

 private:
  struct Arrays {
    const Index *row_map, *neighbours, *weights;
  };

  /// Computes the weights of a separator vertex's neighbours in both sides.
  void find_pull(Index v) {
    Index pull[3] = {0, 0, 0};
    for_neighbours(v, [&](Index u) { pull[m_part[u]] += m_graph.weights[u]; });
    m_a.pull[2 * v] = pull[0];
    m_a.pull[2 * v + 1] = pull[1];
  }

  std::int64_t priority(Index v) {
    const Index gain = m_graph.weights[v] - m_a.pull[2 * v + 1 - m_to];
    return static_cast<std::int64_t>(gain) * (std::int64_t(1) << 32) + ++m_stamp;
  }

  template <class Visit>
  void for_neighbours(Index v, const Visit& visit) const {
    for (Index p = m_graph.row_map[v]; p < m_graph.row_map[v + 1]; ++p) visit(m_graph.neighbours[p]);
  }

  /// Moves a vertex of the other side into the separator and the queue.
  void enter(Index u) {
    const Index weight = m_graph.weights[u];
    const int other = 1 - m_to;
    m_part[u] = separator;
    m_weights.part[other] -= weight;
    m_weights.part[separator] += weight;
    m_a.list[m_size++] = u;
    Index pull[3] = {0, 0, 0};
    for_neighbours(u, [&](Index k) {
      pull[m_part[k]] += m_graph.weights[k];
      if (m_part[k] != separator) return;
      m_a.pull[2 * k + other] -= weight;
      if (m_heap.holds(k)) m_heap.raise(k, priority(k));
    });
    m_a.pull[2 * u] = pull[0];
    m_a.pull[2 * u + 1] = pull[1];
    m_heap.insert(u, priority(u));
  }

  /// Moves the vertex with the largest gain, unless its side becomes too heavy.
  void step() {
    const Index v = m_heap.take_largest(), weight = m_graph.weights[v];
    if (m_weights.part[m_to] + weight > m_max_side) return;
    m_part[v] = static_cast<signed char>(m_to);
    m_weights.part[m_to] += weight;
    m_weights.part[separator] -= weight;
    for_neighbours(v, [&](Index k) {
      if (m_part[k] == separator)
        m_a.pull[2 * k + m_to] += weight;
      else if (m_part[k] != m_to)
        enter(k);
    });
    m_a.moved[m_n_moved] = v;
    m_a.list_end[m_n_moved++] = m_size;
    if (m_weights.better_than(m_best, m_max_side)) {
      m_best = m_weights;
      m_n_best = m_n_moved;
    }
  }

  void begin_pass(int to) {
    m_to = to;
    m_n_moved = m_n_best = 0;
    m_size_before = m_size;
    m_best = m_weights;
    m_heap.clear();
    m_stamp = 0;
  }

  /// Restores the best state, and removes vertices that left the separator from the list.
  void end_pass() {
    while (m_size > list_end(m_n_moved)) leave(m_a.list[--m_size]);
    for (; m_n_moved > m_n_best; --m_n_moved) {
      while (m_size > list_end(m_n_moved - 1)) leave(m_a.list[--m_size]);
      undo(m_a.moved[m_n_moved - 1]);
    }
    m_weights = m_best;
    Index size = 0;
    for (Index i = 0; i < m_size; ++i) {
      m_a.list[size] = m_a.list[i];
      size += m_part[m_a.list[i]] == separator;
    }
    m_size = size;
  }

  Index list_end(Index n_moved) const { return n_moved == 0 ? m_size_before : m_a.list_end[n_moved - 1]; }

  /// Reverts `enter`.
  void leave(Index u) {
    m_part[u] = static_cast<signed char>(1 - m_to);
    for_neighbours(u, [&](Index k) {
      if (m_part[k] == separator) m_a.pull[2 * k + 1 - m_to] += m_graph.weights[u];
    });
  }

  /// Reverts the move of a vertex after those that entered with it have left.
  void undo(Index v) {
    m_part[v] = separator;
    Index pull[3] = {0, 0, 0};
    for_neighbours(v, [&](Index k) {
      pull[m_part[k]] += m_graph.weights[k];
      if (m_part[k] == separator) m_a.pull[2 * k + m_to] -= m_graph.weights[v];
    });
    m_a.pull[2 * v] = pull[0];
    m_a.pull[2 * v + 1] = pull[1];
  }

  /// Makes a pass to one side. @returns whether it found a better state
  bool improve(int to) {
    begin_pass(to);
    for (Index i = 0; i < m_size; ++i) {
      const Index v = m_a.list[i];
      m_heap.insert(v, priority(v));
    }
    const Index patience = m_size < 100 ? 3 * m_size : m_size < 300 ? Index(300) : m_size;
    while (!m_heap.empty()) {
      const Index idle = m_n_moved - m_n_best;
      if (idle > 3 * patience) break;
      if (idle > patience && m_weights.part[separator] > m_best.part[separator] + m_best.part[separator] / 10)
        break;
      step();
    }
    end_pass();
    return m_n_best > 0;
  }

  Arrays m_graph;
  Index m_n;
  signed char* m_part;
  NodeFmArrays<Index> m_a;
  VertexHeap<Index> m_heap;
  Index m_max_side = 0;
  SeparatorWeights<Index> m_weights, m_best;
  int m_to = 0;
  Index m_size = 0, m_size_before = 0;  ///< current length of the list, and at the start of the pass
  Index m_n_moved = 0, m_n_best = 0;    ///< moves in this pass, and up to the best state
  std::int64_t m_stamp = 0;             ///< tie-breaker: among equal gains, the latest comes first
};

}  // namespace lutra::Impl

#endif
