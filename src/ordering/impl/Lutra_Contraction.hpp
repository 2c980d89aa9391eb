// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CONTRACTION_HPP
#define LUTRA_CONTRACTION_HPP

// Contraction of a matching to a coarser graph, a step of multilevel bisection (Karypis and Kumar 1998) after
// Lutra_HeavyEdgeMatching.hpp.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "Lutra_DissectionGraph.hpp"
#include "Lutra_OneThread.hpp"
#include "Lutra_SharedLoops.hpp"

namespace lutra::Impl {

/// Contracts matched pairs to a coarser graph: weights are added, parallel edges are merged. Coarse vertices
/// are numbered by the smaller vertex of their pair. A coarse row lists its neighbours in the order
/// of their first occurrence in the rows of the smaller, then the greater vertex, with any number of threads.
/// A thread looks up the entry of a neighbour in a marker array over the coarse vertices.
template <class Executor, class Index>
class Contraction {
 public:
  using Graph = DissectionGraph<Index>;
  using Indices = Piece<Index>;
  using Stack = DissectionStack;

  Contraction(const Executor& exec, const Graph& fine, const Indices& match)
      : m_exec(exec), m_fine(fine), m_match(match) {}

  /// Numbers the coarse vertices: coarse_of[v] for each fine v. `first` [n + 1] is workspace. @returns their
  /// number
  Index number(const Indices& coarse_of, const Indices& first) const {
    const Index count = m_exec.exclusive_scan(m_fine.n_vertices, first, IsFirst{m_match});
    m_exec.for_each(m_fine.n_vertices, CoarseOf{m_match, first, coarse_of});
    return count;
  }

  /// Constructs the coarse graph in memory of `stack`.
  Graph contract(const Indices& coarse_of, Index n_coarse, Stack& stack) const {
    Graph coarse;
    coarse.n_vertices = n_coarse;
    coarse.vertex_weights = stack.take<Index>(n_coarse);
    coarse.row_map = stack.take<Index>(n_coarse + 1);
    if constexpr (Executor::one_thread) {
      fill_by_marker(coarse, coarse_of, stack);
    } else {
      fill_by_markers(coarse, coarse_of, stack);
    }
    return coarse;
  }

 private:
  struct IsFirst {
    Indices match;
    Index operator()(const Index v) const { return v <= match(v) ? 1 : 0; }
  };

  struct CoarseOf {
    Indices match, first, coarse_of;
    void operator()(const Index v) const { coarse_of(v) = first(v <= match(v) ? v : match(v)); }
  };

  void fill_by_marker(Graph& coarse, const Indices& coarse_of, Stack& stack) const {
    // Rows are written in place; memory between the last row and the upper bound remains unused.
    coarse.neighbours = stack.take<Index>(m_fine.n_entries());
    coarse.edge_weights = stack.take<Index>(m_fine.n_entries());
    const auto mark = stack.mark();
    const Indices marker = stack.take<Index>(coarse.n_vertices);
    m_exec.fill(marker, Index(-1));
    const Index end = merge_rows(coarse, coarse_of, marker.data(), {0, m_fine.n_vertices, 0});
    stack.rewind(mark);
    set_entries(coarse, end);
  }

  /// Contraction by several threads, each with a marker array and a range of vertices:
  ///
  ///     merged   | rows of range 0 |free| rows of range 1 |free| …      capacity for all entries of each
  ///     range coarse   | rows of range 0 | rows of range 1 | …
  void fill_by_markers(Graph& coarse, const Indices& coarse_of, Stack& stack) const {
    coarse.neighbours = stack.take<Index>(m_fine.n_entries());
    coarse.edge_weights = stack.take<Index>(m_fine.n_entries());
    const auto mark = stack.mark();
    Graph merged = coarse;
    merged.neighbours = stack.take<Index>(m_fine.n_entries());
    merged.edge_weights = stack.take<Index>(m_fine.n_entries());
    std::vector<VertexRange> ranges(m_exec.n_threads);
    const auto n = static_cast<std::size_t>(m_fine.n_vertices);
    for (std::size_t k = 0; k < ranges.size(); ++k)
      ranges[k] = {static_cast<Index>(n * k / ranges.size()), static_cast<Index>(n * (k + 1) / ranges.size()),
                   0};
    std::vector<Index> count(ranges.size());  // entries per range: upper bound, then merged
    m_exec.loop->run(ranges.size(), [&](std::size_t k) { count[k] = count_entries(ranges[k]); });
    for (std::size_t k = 1; k < ranges.size(); ++k)
      ranges[k].first_entry = ranges[k - 1].first_entry + count[k - 1];
    const Indices markers = stack.take<Index>(ranges.size() * static_cast<std::size_t>(coarse.n_vertices));
    m_exec.loop->run(ranges.size(), [&](std::size_t k) {
      Index* const marker = markers.data() + k * static_cast<std::size_t>(coarse.n_vertices);
      std::fill_n(marker, coarse.n_vertices, Index(-1));
      count[k] = merge_rows(merged, coarse_of, marker, ranges[k]) - ranges[k].first_entry;
    });
    std::vector<Index> start(ranges.size() + 1, 0);
    std::inclusive_scan(count.begin(), count.end(), start.begin() + 1);
    m_exec.loop->run(ranges.size(), [&](std::size_t k) {
      const Index from = ranges[k].first_entry;
      std::copy_n(merged.neighbours.data() + from, count[k], coarse.neighbours.data() + start[k]);
      std::copy_n(merged.edge_weights.data() + from, count[k], coarse.edge_weights.data() + start[k]);
      for (Index v = ranges[k].begin; v < ranges[k].end; ++v)
        if (m_match(v) >= v) coarse.row_map(coarse_of(v)) += start[k] - from;
    });
    stack.rewind(mark);
    set_entries(coarse, start.back());
  }

  static void set_entries(Graph& coarse, Index n_entries) {
    coarse.row_map(coarse.n_vertices) = n_entries;
    coarse.neighbours = Indices(coarse.neighbours.data(), static_cast<std::size_t>(n_entries));
    coarse.edge_weights = Indices(coarse.edge_weights.data(), static_cast<std::size_t>(n_entries));
  }

  /// Range of vertices whose pairs a thread merges, if they are the smaller ones.
  struct VertexRange {
    Index begin, end;
    Index first_entry;  ///< start of its rows
  };

  Index count_entries(const VertexRange& range) const {
    Index count = 0;
    for (Index v = range.begin; v < range.end; ++v) {
      const Index partner = m_match(v);
      if (partner < v) continue;
      count += m_fine.row_map(v + 1) - m_fine.row_map(v);
      if (partner > v) count += m_fine.row_map(partner + 1) - m_fine.row_map(partner);
    }
    return count;
  }

  /// @returns the end of the last row
  Index merge_rows(const Graph& coarse, const Indices& coarse_of, Index* slot,
                   const VertexRange& range) const {
    return m_fine.edge_weights.extent(0) > 0 ? merge_rows<true>(coarse, coarse_of, slot, range)
                                             : merge_rows<false>(coarse, coarse_of, slot, range);
  }

  /// @param slot [n_coarse] entry of a neighbour in the current row, or one of an earlier row
  template <bool weighted>
  Index merge_rows(const Graph& coarse, const Indices& coarse_of, Index* slot,
                   const VertexRange& range) const {
    const Index *const map = coarse_of.data(), *const rows = m_fine.row_map.data(),
                       *const heads = m_fine.neighbours.data(), *const edges = m_fine.edge_weights.data();
    Index *const to = coarse.neighbours.data(), *const weights = coarse.edge_weights.data();
    Index end = range.first_entry;
    for (Index v = range.begin; v < range.end; ++v) {
      const Index partner = m_match(v), c = map[v];
      if (partner < v) continue;
      const Index begin = end;
      for (Index member = v;; member = partner) {
        for (Index p = rows[member]; p < rows[member + 1]; ++p) {
          const Index k = map[heads[p]], weight = weighted ? edges[p] : Index(1);
          if (k == c) continue;
          if (slot[k] < begin) {
            slot[k] = end;
            to[end] = k;
            weights[end++] = weight;
          } else {
            weights[slot[k]] += weight;
          }
        }
        if (member == partner) break;
      }
      coarse.row_map(c) = begin;
      coarse.vertex_weights(c) =
          m_fine.vertex_weights(v) + (partner == v ? 0 : m_fine.vertex_weights(partner));
    }
    return end;
  }

  Executor m_exec;
  Graph m_fine;
  Indices m_match;
};

}  // namespace lutra::Impl

#endif
