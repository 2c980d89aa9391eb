// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MULTILEVELBISECTION_HPP
#define LUTRA_MULTILEVELBISECTION_HPP

#include <cstdint>
#include <vector>

#include "Lutra_Contraction.hpp"
#include "Lutra_HeavyEdgeMatching.hpp"
#include "Lutra_InitialSeparator.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_SeparatorRefinement.hpp"

namespace lutra::Impl {

/// Vertex separators of the graphs of a batch: coarsened by matching until some hundred vertices are left,
/// separated there, projected and refined on the way back (Karypis and Kumar 1998).
///
///     graph ── match, contract ──> coarser ── … ──> some 100 vertices
///       │ coarse_of                   │                     │ initial_separator
///     part <── project, refine ──── part <── … ────────── part
template <class Executor, class Index>
class MultilevelBisection {
 public:
  using MemorySpace = typename Executor::memory_space;
  using Graph = GraphBatch<Index, MemorySpace>;
  using Indices = Piece<Index, MemorySpace>;
  using Parts = Piece<signed char, MemorySpace>;
  using Stack = DissectionStack<MemorySpace>;

  MultilevelBisection(const Executor& exec, const DissectionOptions& options)
      : m_exec(exec), m_options(options) {}

  /// Sets part[v] of each vertex.
  void bisect(const Graph& graph, const Parts& part, Stack& stack) {
    const auto mark = stack.mark();
    m_levels.clear();
    m_levels.push_back({graph, {}});
    coarsen(stack);
    const Graph& coarsest = m_levels.back().graph;
    Parts coarse_part = m_levels.size() == 1 ? part : stack.template take<signed char>(coarsest.n_vertices);
    initial_separator(m_exec, coarsest, m_options, coarse_part, stack);
    for (std::size_t level = m_levels.size() - 1; level-- > 0;) {
      const Level& fine = m_levels[level];
      const Parts fine_part = level == 0 ? part : stack.template take<signed char>(fine.graph.n_vertices);
      m_exec.for_each("lutra::ordering::project", fine.graph.n_vertices,
                      Project{fine.coarse_of, coarse_part, fine_part});
      refine_separator(m_exec, fine.graph, m_options, fine_part, stack);
      coarse_part = fine_part;
    }
    stack.rewind(mark);
  }

 private:
  struct Level {
    Graph graph;
    Indices coarse_of;  ///< of each vertex, in the next level's graph
  };

  struct Project {
    Indices coarse_of;
    Parts coarse, fine;
    KOKKOS_FUNCTION void operator()(const Index v) const { fine(v) = coarse(coarse_of(v)); }
  };

  struct AddWeight {
    Graph graph;
    Indices total;
    KOKKOS_FUNCTION void operator()(const Index v) const {
      Executor::fetch_add(&total(graph.graph(v)), graph.vertex_weights(v));
    }
  };

  struct SumWeights {
    Graph graph;
    KOKKOS_FUNCTION void operator()(const Index v, Index& sum) const { sum += graph.vertex_weights(v); }
  };

  /// What a pair may weigh; nothing in a graph that is coarse enough.
  struct Limit {
    Graph graph;
    Indices total, limit;
    Index target;
    KOKKOS_FUNCTION void operator()(const Index g) const {
      const Index n = graph.first_vertex(g + 1) - graph.first_vertex(g);
      limit(g) =
          n <= target
              ? Index(0)
              : 1 + static_cast<Index>(1.5 * static_cast<double>(total(g)) / static_cast<double>(target));
    }
  };

  void coarsen(Stack& stack) {
    const Graph& graph = m_levels[0].graph;
    const Indices total = stack.template take<Index>(graph.n_graphs),
                  limit = stack.template take<Index>(graph.n_graphs);
    if (graph.n_graphs == 1) {
      m_exec.fill(total,
                  m_exec.template sum<Index>("lutra::ordering::weight", graph.n_vertices, SumWeights{graph}));
    } else {
      m_exec.fill(total, Index(0));
      m_exec.for_each("lutra::ordering::weights", graph.n_vertices, AddWeight{graph, total});
    }
    const auto target = static_cast<Index>(m_options.coarse_vertices);
    if (graph.n_vertices <= target * graph.n_graphs) return;
    const Indices match = stack.template take<Index>(graph.n_vertices),
                  first = stack.template take<Index>(graph.n_vertices + 1);
    for (std::uint64_t level = 0;; ++level) {
      const Graph fine = m_levels.back().graph;
      if (fine.n_vertices <= target * fine.n_graphs) return;
      const auto before = stack.mark();
      const Indices coarse_of = stack.template take<Index>(fine.n_vertices);
      m_exec.for_each("lutra::ordering::limits", fine.n_graphs, Limit{fine, total, limit, target});
      HeavyEdgeMatching<Executor, Index, MemorySpace>(m_exec, fine, limit, m_options.seed + level)
          .find(match, stack);
      const Contraction<Executor, Index, MemorySpace> contraction(m_exec, fine, match);
      const Index n_coarse = contraction.number(coarse_of, first);
      if (n_coarse > fine.n_vertices - fine.n_vertices / 20) {
        stack.rewind(before);
        return;
      }
      m_levels.back().coarse_of = coarse_of;
      m_levels.push_back({contraction.contract(coarse_of, n_coarse, stack), {}});
    }
  }

  Executor m_exec;
  DissectionOptions m_options;
  std::vector<Level> m_levels;
};

}  // namespace lutra::Impl

#endif
