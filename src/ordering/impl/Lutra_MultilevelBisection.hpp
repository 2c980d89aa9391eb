// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MULTILEVELBISECTION_HPP
#define LUTRA_MULTILEVELBISECTION_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_Contraction.hpp"
#include "Lutra_HeavyEdgeMatching.hpp"
#include "Lutra_InitialSeparator.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_OneThread.hpp"
#include "Lutra_SeparatorRefinement.hpp"
#include "Lutra_SharedLoops.hpp"

namespace lutra::Impl {

/// Graph of one coarsening level.
template <class Index>
struct BisectionLevel {
  DissectionGraph<Index> graph;
  Piece<Index> coarse_of;  ///< [n_vertices] number of each vertex in the next level's graph
};

/// Ends a dissection: raised by one of its threads, or once the running call has to end.
struct DissectionStop {
  std::atomic<bool> is_raised{false};
  RunControl::Query query;

  bool must_stop() {
    if (is_raised.load(std::memory_order_relaxed)) return true;
    if (query.must_stop()) is_raised = true;
    return is_raised.load(std::memory_order_relaxed);
  }
};

/// Thrown by the stages of a dissection after another thread stopped it.
struct DissectionStopped {};

/// Multilevel vertex separator of a graph: it is coarsened by matching to some hundred vertices and separated
/// there; the separator is projected back and refined (Karypis and Kumar 1998).
///
///     graph ── match, contract ──> coarser ── … ──> some 100 vertices
///       │ coarse_of                   │                     │ initial_separator
///     part <── project, refine ──── part <── … ────────── part
template <class Executor, class Index>
class MultilevelBisection {
 public:
  using Graph = DissectionGraph<Index>;
  using Indices = Piece<Index>;
  using Parts = Piece<signed char>;
  using Stack = DissectionStack;
  using Level = BisectionLevel<Index>;
  using Weights = SeparatorWeights<Index>;

  /// @param stop ends a bisection at its next level; nullptr: nothing does
  MultilevelBisection(const Executor& exec, const DissectionOptions& options, DissectionStop* stop = nullptr)
      : m_exec(exec), m_options(options), m_stop(stop) {}

  /// Computes part[v] of each vertex.
  /// @throws DissectionStopped
  void bisect(const Graph& graph, const Parts& part, Stack& stack) {
    const auto mark = stack.mark();
    m_levels.clear();
    m_levels.push_back({graph, {}});
    m_total = m_exec.template sum<Index>(graph.n_vertices,
                                         [&](const Index v, Index& sum) { sum += graph.vertex_weights(v); });
    const auto target = static_cast<Index>(m_options.coarse_vertices);
    const bool several = m_options.descents > 1 && graph.n_vertices >= m_options.min_descents_vertices;
    if (several) coarsen(std::max(target, graph.n_vertices / 16), 0, stack);
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

  /// One descent from the last of the levels made by another executor. @returns the weights of the parts
  Weights separate_from(const std::vector<Level>& levels, Index total, std::uint64_t descent,
                        const Parts& part, Stack& stack) {
    m_levels = levels;
    m_total = total;
    separate_once(levels.size() - 1, descent, part, stack);
    return weights_of(levels.back().graph, part);
  }

 private:
  Parts part_of_level(std::size_t level, const Parts& part, Stack& stack) const {
    return level == 0 ? part : stack.take<signed char>(m_levels[level].graph.n_vertices);
  }

  static Weights weights_of(const Graph& graph, const Parts& part) {
    Weights weights;
    for (Index v = 0; v < graph.n_vertices; ++v) weights.part[part(v)] += graph.vertex_weights(v);
    return weights;
  }

  /// Several descents from a middle level, with different matchings; the best separator is kept, the first
  /// among equals.
  void separate_middle(const Parts& best, Stack& stack) {
    const Index n = m_levels.back().graph.n_vertices;
    const Parts parts = stack.take<signed char>(m_options.descents * n);
    const auto part_of = [&](std::size_t descent) {
      return Parts(parts.data() + descent * static_cast<std::size_t>(n), static_cast<std::size_t>(n));
    };
    const std::vector<Weights> weights = descend(part_of, stack);
    const Index max_side = weights[0].max_side(m_options.max_side_share);
    std::size_t kept = 0;
    for (std::size_t k = 1; k < weights.size(); ++k)
      if (weights[k].better_than(weights[kept], max_side)) kept = k;
    std::copy_n(part_of(kept).data(), n, best.data());
  }

  /// Runs the descents sequentially; with SharedThreads, concurrently with one thread each.
  /// @returns [descents] the weights of their parts
  template <class PartOf>
  std::vector<Weights> descend(const PartOf& part_of, Stack& stack) {
    std::vector<Weights> weights(static_cast<std::size_t>(m_options.descents));
    if constexpr (Executor::one_thread) {
      for (std::size_t k = 0; k < weights.size(); ++k) {
        separate_once(m_levels.size() - 1, k, part_of(k), stack);
        weights[k] = weights_of(m_levels.back().graph, part_of(k));
      }
    } else {
      m_exec.loop->run(weights.size(), [&](std::size_t k) {
        Stack own(stack.budget());
        weights[k] = MultilevelBisection<OneThread, Index>({}, m_options, m_stop)
                         .separate_from(m_levels, m_total, k, part_of(k), own);
      });
    }
    return weights;
  }

  /// One descent from a level to the coarsest graph and back.
  void separate_once(std::size_t level, std::uint64_t descent, const Parts& part, Stack& stack) {
    const auto mark = stack.mark();
    coarsen(static_cast<Index>(m_options.coarse_vertices), descent, stack);
    const std::size_t last = m_levels.size() - 1;
    const Parts coarse = last == level ? part : stack.take<signed char>(m_levels[last].graph.n_vertices);
    DissectionOptions options = m_options;
    options.seed += 0x1000 * descent;
    initial_separator(m_levels[last].graph, options, coarse, stack);
    ascend(last, level, coarse, part, stack);
    m_levels.resize(level + 1);
    stack.rewind(mark);
  }

  /// Projects and refines from one level up to a finer one; the result goes to `result`.
  void ascend(std::size_t from, std::size_t to, Parts coarse_part, const Parts& result, Stack& stack) {
    for (std::size_t level = from; level-- > to;) {
      check_stop();
      const Level& fine = m_levels[level];
      const Parts fine_part = level == to ? result : stack.take<signed char>(fine.graph.n_vertices);
      m_exec.for_each(fine.graph.n_vertices,
                      [&](const Index v) { fine_part(v) = coarse_part(fine.coarse_of(v)); });
      check_stop();
      refine_separator(fine.graph, m_options.max_side_share, fine_part, stack);
      coarse_part = fine_part;
    }
  }

  /// Adds coarser levels until the graph has `target` vertices, or hardly anything matches.
  void coarsen(Index target, std::uint64_t descent, Stack& stack) {
    const Graph finest = m_levels.back().graph;
    if (finest.n_vertices <= target) return;
    const Indices match = stack.take<Index>(finest.n_vertices),
                  first = stack.take<Index>(finest.n_vertices + 1);
    const Index heaviest =  // of a pair
        1 + static_cast<Index>(1.5 * static_cast<double>(m_total) /
                               static_cast<double>(m_options.coarse_vertices));
    for (;;) {
      check_stop();
      const Graph fine = m_levels.back().graph;
      if (fine.n_vertices <= target) return;
      const auto before = stack.mark();
      const Indices coarse_of = stack.take<Index>(fine.n_vertices);
      const std::uint64_t seed = m_options.seed + 0x100 * descent + m_levels.size();
      HeavyEdgeMatching<Executor, Index>(m_exec, fine, heaviest, seed).find(match, stack);
      check_stop();
      const Contraction<Executor, Index> contraction(m_exec, fine, match);
      const Index n_coarse = contraction.number(coarse_of, first);
      if (n_coarse > fine.n_vertices - fine.n_vertices / 20) return stack.rewind(before);
      m_levels.back().coarse_of = coarse_of;
      m_levels.push_back({contraction.contract(coarse_of, n_coarse, stack), {}});
    }
  }

  void check_stop() const {
    if (m_stop != nullptr && m_stop->must_stop()) throw DissectionStopped();
  }

  Executor m_exec;
  DissectionOptions m_options;
  DissectionStop* m_stop;
  std::vector<Level> m_levels;  ///< finest first
  Index m_total = 0;            ///< weight of the graph
};

}  // namespace lutra::Impl

#endif
