// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEAFWORKSPACE_HPP
#define LUTRA_LEAFWORKSPACE_HPP

#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_QuotientGraph.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra::Impl {

/// Orders successive leaves of a dissection by minimum degree in one host thread, reusing its memory. A
/// leaf's outside neighbours are in separators, which are eliminated later: they form its boundary, counted
/// in degrees but not ordered.
template <class Index>
class LeafWorkspace {
 public:
  /// @param graph   the whole graph
  /// @param weights [n] weights of its vertices
  LeafWorkspace(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights)
      : m_graph(graph), m_weights(weights), m_local(weights.size(), Index(-1)) {}

  /// Permutes the vertices of a leaf to their elimination order.
  void order(Index* leaf, Index n) {
    m_vertices.assign(leaf, leaf + n);
    for (Index i = 0; i < n; ++i) at(m_local, leaf[i]) = i;
    list_rows(n);
    const auto n_all = static_cast<Index>(m_vertices.size());
    list_boundary_rows(n, n_all);
    m_local_weights.clear();
    for (const Index v : m_vertices) {
      m_local_weights.push_back(at(m_weights, v));
      at(m_local, v) = -1;
    }
    m_permutation.resize(static_cast<std::size_t>(n));
    m_minimum_degree.begin(n_all, n_all - n, m_row_map.data(), m_neighbours.data(), m_local_weights.data());
    m_minimum_degree.advance();
    m_minimum_degree.write(m_permutation.data());
    for (Index k = 0; k < n; ++k) leaf[k] = at(m_vertices, at(m_permutation, k));
  }

 private:
  /// Builds the rows of the leaf; boundary vertices are numbered after it in order of occurrence.
  void list_rows(Index n) {
    m_row_map.assign(1, 0);
    m_neighbours.clear();
    for (Index i = 0; i < n; ++i) {
      const Index v = at(m_vertices, i);
      for (Index p = at(m_graph.row_map, v); p < at(m_graph.row_map, v + 1); ++p) {
        const Index u = at(m_graph.neighbours, p);
        Index& local = at(m_local, u);
        if (local < 0) {
          local = static_cast<Index>(m_vertices.size());
          m_vertices.push_back(u);
        }
        m_neighbours.push_back(local);
      }
      m_row_map.push_back(static_cast<Index>(m_neighbours.size()));
    }
  }

  /// Builds the rows of the boundary: its neighbours in the leaf.
  void list_boundary_rows(Index n, Index n_all) {
    m_row_map.resize(static_cast<std::size_t>(n_all) + 1, 0);
    const Index end = at(m_row_map, n);
    for (Index p = 0; p < end; ++p) {
      const Index u = at(m_neighbours, p);
      if (u >= n) ++at(m_row_map, u + 1);
    }
    for (Index u = n; u < n_all; ++u) at(m_row_map, u + 1) += at(m_row_map, u);
    m_next.assign(m_row_map.begin() + n, m_row_map.end());
    m_neighbours.resize(static_cast<std::size_t>(at(m_row_map, n_all)));
    for (Index i = 0; i < n; ++i) {
      for (Index p = at(m_row_map, i); p < at(m_row_map, i + 1); ++p) {
        const Index u = at(m_neighbours, p);
        if (u >= n) at(m_neighbours, at(m_next, u - n)++) = i;
      }
    }
  }

  const SymmetricGraph<Index>& m_graph;
  const std::vector<Index>& m_weights;
  std::vector<Index> m_local;     ///< [n] number in the current leaf or its boundary; −1 between calls
  std::vector<Index> m_vertices;  ///< vertices of the leaf, then of its boundary
  std::vector<Index> m_row_map, m_neighbours, m_next, m_local_weights, m_permutation;
  QuotientGraph<Index> m_minimum_degree;
};

}  // namespace lutra::Impl

#endif
