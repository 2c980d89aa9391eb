// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MULTILEVELBISECTION_HPP
#define LUTRA_MULTILEVELBISECTION_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "Lutra_Contraction.hpp"
#include "Lutra_HeavyEdgeMatching.hpp"
#include "Lutra_InitialSeparator.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_SeparatorRefinement.hpp"
#include "Lutra_SharedLoops.hpp"

namespace lutra::Impl {

/// Graph of one coarsening level.
template <class Index, class MemorySpace>
struct BisectionLevel {
  GraphBatch<Index, MemorySpace> graph;
  Piece<Index, MemorySpace> coarse_of;  ///< [n_vertices] number of each vertex in the next level's graph
};

/// Thrown by the stages of a dissection after another thread stopped it.
struct DissectionStopped {};

/// Multilevel vertex separators of the graphs of a batch: graphs are coarsened by matching to some hundred
/// vertices and separated there; separators are projected back and refined (Karypis and Kumar 1998).
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
  using Level = BisectionLevel<Index, MemorySpace>;

  /// @param stop flag that ends a bisection at its next level; nullptr: none
  MultilevelBisection(const Executor& exec, const DissectionOptions& options,
                      const std::atomic<bool>* stop = nullptr)
      : m_exec(exec), m_options(options), m_stop(stop) {}

  /// Computes part[v] of each vertex.
  /// @throws DissectionStopped
  void bisect(const Graph& graph, const Parts& part, Stack& stack) {
    const auto mark = stack.mark();
    m_levels.clear();
    m_levels.push_back({graph, {}});
    m_total = stack.template take<Index>(graph.n_graphs);
    weigh(graph);
    const auto target = static_cast<Index>(m_options.coarse_vertices);
    const bool several =
        m_options.descents > 1 && graph.n_vertices / graph.n_graphs >= m_options.min_descents_vertices;
    if (several) coarsen(std::max(target, graph.n_vertices / graph.n_graphs / 16), 0, stack);
    const std::size_t middle = m_levels.size() - 1;
    Parts middle_part = part_of_level(middle, part, stack);
    if (several) {
      separate_middle(middle_part, stack);
    } else {
      separate_once(middle, 0, middle_part, stack);
    }
    ascend(middle, 0, middle_part, part, stack);
    stack.rewind(mark);
  }

  /// One descent from the last of the levels made by another executor.
  void separate_from(const std::vector<Level>& levels, const Indices& total, std::uint64_t descent,
                     const Parts& part, Stack& stack) {
    m_levels = levels;
    m_total = total;
    separate_once(levels.size() - 1, descent, part, stack);
  }

  // Kernels are public: nvcc instantiates them by name.
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

  /// Maximum weight of a pair; 0 for a graph that is coarse enough.
  struct Limit {
    Graph graph;
    Indices total, limit;
    Index target, coarsest;  ///< numbers of vertices at which this and the last coarsening stop
    KOKKOS_FUNCTION void operator()(const Index g) const {
      const Index n = graph.first_vertex(g + 1) - graph.first_vertex(g);
      limit(g) =
          n <= target
              ? Index(0)
              : 1 + static_cast<Index>(1.5 * static_cast<double>(total(g)) / static_cast<double>(coarsest));
    }
  };

  /// Weights of both sides and of the separator of each graph.
  struct AddParts {
    Graph graph;
    Parts part;
    Indices weights;
    KOKKOS_FUNCTION void operator()(const Index v) const {
      Executor::fetch_add(&weights(3 * graph.graph_of(v) + part(v)), graph.vertex_weights(v));
    }
  };

  /// Keeps the separators of a descent that are better than the best so far.
  struct TakeBetter {
    Graph graph;
    Parts part, best;
    Indices weights, best_weights;
    double max_side_share;
    bool first;
    KOKKOS_FUNCTION bool better(Index g) const {
      if (first) return true;
      SeparatorWeights<Index> now, before;
      for (int k = 0; k < 3; ++k) {
        now.part[k] = weights(3 * g + k);
        before.part[k] = best_weights(3 * g + k);
      }
      return now.better_than(before, now.max_side(max_side_share));
    }
    KOKKOS_FUNCTION void operator()(const Index v) const {
      if (better(graph.graph_of(v))) best(v) = part(v);
    }
  };

  struct TakeWeights {
    TakeBetter take;
    KOKKOS_FUNCTION void operator()(const Index g) const {
      if (!take.better(g)) return;
      for (int k = 0; k < 3; ++k) take.best_weights(3 * g + k) = take.weights(3 * g + k);
    }
  };

 private:
  Parts part_of_level(std::size_t level, const Parts& part, Stack& stack) const {
    return level == 0 ? part : stack.template take<signed char>(m_levels[level].graph.n_vertices);
  }

  void weigh(const Graph& graph) {
    if (graph.n_graphs == 1) {
      m_exec.fill(m_total,
                  m_exec.template sum<Index>("lutra::ordering::weight", graph.n_vertices, SumWeights{graph}));
    } else {
      m_exec.fill(m_total, Index(0));
      m_exec.for_each("lutra::ordering::weights", graph.n_vertices, AddWeight{graph, m_total});
    }
  }

  /// Several descents from a middle level, with different matchings; the best separator is kept.
  void separate_middle(const Parts& best, Stack& stack) {
    const std::size_t middle = m_levels.size() - 1;
    const Graph graph = m_levels[middle].graph;
    const Parts parts = stack.template take<signed char>(m_options.descents * graph.n_vertices);
    const auto part_of = [&](int descent) {
      return Parts(parts.data() + descent * graph.n_vertices, static_cast<std::size_t>(graph.n_vertices));
    };
    descend(middle, part_of, stack);
    const Indices weights = stack.template take<Index>(3 * graph.n_graphs),
                  best_weights = stack.template take<Index>(3 * graph.n_graphs);
    for (int descent = 0; descent < m_options.descents; ++descent) {
      const Parts part = part_of(descent);
      m_exec.fill(weights, Index(0));
      m_exec.for_each("lutra::ordering::add_parts", graph.n_vertices, AddParts{graph, part, weights});
      const TakeBetter take{graph, part, best, weights, best_weights, m_options.max_side_share, descent == 0};
      m_exec.for_each("lutra::ordering::take_better", graph.n_vertices, take);
      m_exec.for_each("lutra::ordering::take_weights", graph.n_graphs, TakeWeights{take});
    }
  }

  /// Runs the descents sequentially; with SharedThreads, concurrently with one thread each.
  template <class PartOf>
  void descend(std::size_t middle, const PartOf& part_of, Stack& stack) {
    if constexpr (std::is_same_v<Executor, SharedThreads>) {
      m_exec.loop->run(static_cast<std::size_t>(m_options.descents), [&](std::size_t k) {
        Stack own(stack.budget());
        MultilevelBisection<OneThread, Index>({}, m_options, m_stop)
            .separate_from(m_levels, m_total, k, part_of(static_cast<int>(k)), own);
      });
    } else {
      for (int descent = 0; descent < m_options.descents; ++descent)
        separate_once(middle, static_cast<std::uint64_t>(descent), part_of(descent), stack);
    }
  }

  /// One descent from a level to the coarsest graph and back.
  void separate_once(std::size_t level, std::uint64_t descent, const Parts& part, Stack& stack) {
    const auto mark = stack.mark();
    coarsen(static_cast<Index>(m_options.coarse_vertices), descent, stack);
    const std::size_t last = m_levels.size() - 1;
    const Parts coarse =
        last == level ? part : stack.template take<signed char>(m_levels[last].graph.n_vertices);
    DissectionOptions options = m_options;
    options.seed += 0x1000 * descent;
    initial_separator(m_exec, m_levels[last].graph, options, coarse, stack);
    ascend(last, level, coarse, part, stack);
    m_levels.resize(level + 1);
    stack.rewind(mark);
  }

  /// Projects and refines from one level up to a finer one; the result goes to `result`.
  void ascend(std::size_t from, std::size_t to, Parts coarse_part, const Parts& result, Stack& stack) {
    for (std::size_t level = from; level-- > to;) {
      check_stop();
      const Level& fine = m_levels[level];
      const Parts fine_part = level == to ? result : stack.template take<signed char>(fine.graph.n_vertices);
      m_exec.for_each("lutra::ordering::project", fine.graph.n_vertices,
                      Project{fine.coarse_of, coarse_part, fine_part});
      refine_separator(m_exec, fine.graph, m_options, fine_part, stack);
      coarse_part = fine_part;
    }
  }

  /// Adds coarser levels until graphs have `target` vertices, or hardly anything matches.
  void coarsen(Index target, std::uint64_t descent, Stack& stack) {
    const Graph finest = m_levels.back().graph;
    if (finest.n_vertices <= target * finest.n_graphs) return;
    const Indices limit = stack.template take<Index>(finest.n_graphs),
                  match = stack.template take<Index>(finest.n_vertices),
                  first = stack.template take<Index>(finest.n_vertices + 1);
    for (;;) {
      check_stop();
      const Graph fine = m_levels.back().graph;
      if (fine.n_vertices <= target * fine.n_graphs) return;
      const auto before = stack.mark();
      const Indices coarse_of = stack.template take<Index>(fine.n_vertices);
      m_exec.for_each("lutra::ordering::limits", fine.n_graphs,
                      Limit{fine, m_total, limit, target, static_cast<Index>(m_options.coarse_vertices)});
      const std::uint64_t seed = m_options.seed + 0x100 * descent + m_levels.size();
      HeavyEdgeMatching<Executor, Index, MemorySpace>(m_exec, fine, limit, seed).find(match, stack);
      const Contraction<Executor, Index, MemorySpace> contraction(m_exec, fine, match);
      const Index n_coarse = contraction.number(coarse_of, first);
      if (n_coarse > fine.n_vertices - fine.n_vertices / 20) return stack.rewind(before);
      m_levels.back().coarse_of = coarse_of;
      m_levels.push_back({contraction.contract(coarse_of, n_coarse, stack), {}});
    }
  }

  void check_stop() const {
    if (m_stop != nullptr && *m_stop) throw DissectionStopped();
  }

  Executor m_exec;
  DissectionOptions m_options;
  const std::atomic<bool>* m_stop;
  std::vector<Level> m_levels;  ///< finest first
  Indices m_total;              ///< [n_graphs] total weight
};

}  // namespace lutra::Impl

#endif
