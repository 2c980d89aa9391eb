// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHBISECTION_HPP
#define LUTRA_BATCHBISECTION_HPP

#include <vector>

#include "Lutra_MultilevelBisection.hpp"
#include "Lutra_TeamBisection.hpp"

namespace lutra::Impl {

/// Vertex separators of all graphs of a batch (Karypis and Kumar 1998), for devices. Large graphs are
/// coarsened by launches for the whole batch; below some thousand vertices each graph is bisected by one
/// team.
///
///     graph ── match, contract ──> … ──> 4000 vertices ──┐
///       │ coarse_of                        │             │ TeamBisection: one launch
///     part <── project, refine ──────── part <───────────┘
template <class Executor, class Index>
class BatchBisection {
 public:
  using MemorySpace = typename Executor::memory_space;
  using Graph = GraphBatch<Index, MemorySpace>;
  using Indices = Piece<Index, MemorySpace>;
  using Parts = Piece<signed char, MemorySpace>;
  using Stack = DissectionStack<MemorySpace>;
  using Kernels = MultilevelBisection<Executor, Index>;

  BatchBisection(const Executor& exec, const DissectionOptions& options) : m_exec(exec), m_options(options) {}

  /// Computes part[v] of each vertex.
  void bisect(const Graph& graph, const Parts& part, Stack& stack) {
    const auto mark = stack.mark();
    m_levels.clear();
    m_levels.push_back({graph, {}});
    coarsen(stack);
    const std::size_t last = m_levels.size() - 1;
    Parts coarse_part = part_of_level(last, part, stack);
    TeamBisection<typename Executor::execution_space, Index>(m_levels[last].graph, m_options, coarse_part)
        .run(m_exec, stack);
    for (std::size_t level = last; level-- > 0;) {
      const auto& fine = m_levels[level];
      const Parts fine_part = part_of_level(level, part, stack);
      m_exec.for_each("lutra::ordering::project", fine.graph.n_vertices,
                      typename Kernels::Project{fine.coarse_of, coarse_part, fine_part});
      refine_collected(m_exec, fine.graph, m_options, fine_part, stack);
      coarse_part = fine_part;
    }
    stack.rewind(mark);
  }

 private:
  Parts part_of_level(std::size_t level, const Parts& part, Stack& stack) const {
    return level == 0 ? part : stack.template take<signed char>(m_levels[level].graph.n_vertices);
  }

  /// Adds coarser levels until graphs have `team_vertices` vertices on average, or hardly anything matches.
  void coarsen(Stack& stack) {
    const Graph finest = m_levels.front().graph;
    const auto target = static_cast<Index>(m_options.team_vertices);
    if (finest.n_vertices / target < finest.n_graphs) return;
    const Indices limit = stack.template take<Index>(finest.n_graphs),
                  total = stack.template take<Index>(finest.n_graphs),
                  match = stack.template take<Index>(finest.n_vertices),
                  first = stack.template take<Index>(finest.n_vertices + 1);
    weigh(finest, total);
    m_exec.for_each("lutra::ordering::limits", finest.n_graphs,
                    typename Kernels::Limit{finest, total, limit, Index(0),
                                            static_cast<Index>(m_options.coarse_vertices)});
    for (;;) {
      const Graph fine = m_levels.back().graph;
      if (fine.n_vertices / target < fine.n_graphs) return;
      const auto before = stack.mark();
      const Indices coarse_of = stack.template take<Index>(fine.n_vertices);
      HeavyEdgeMatching<Executor, Index, MemorySpace>(m_exec, fine, limit, m_options.seed + m_levels.size())
          .find(match, stack);
      const Contraction<Executor, Index, MemorySpace> contraction(m_exec, fine, match);
      const Index n_coarse = contraction.number(coarse_of, first);
      if (n_coarse > fine.n_vertices - fine.n_vertices / 20) return stack.rewind(before);
      m_levels.back().coarse_of = coarse_of;
      m_levels.push_back({contraction.contract(coarse_of, n_coarse, stack), {}});
    }
  }

  void weigh(const Graph& graph, const Indices& total) const {
    if (graph.n_graphs == 1) {
      m_exec.fill(total, m_exec.template sum<Index>("lutra::ordering::weight", graph.n_vertices,
                                                    typename Kernels::SumWeights{graph}));
    } else {
      m_exec.fill(total, Index(0));
      m_exec.for_each("lutra::ordering::weights", graph.n_vertices,
                      typename Kernels::AddWeight{graph, total});
    }
  }

  Executor m_exec;
  DissectionOptions m_options;
  std::vector<typename Kernels::Level> m_levels;  ///< finest first
};

}  // namespace lutra::Impl

#endif
