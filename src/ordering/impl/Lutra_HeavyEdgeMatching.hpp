// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HEAVYEDGEMATCHING_HPP
#define LUTRA_HEAVYEDGEMATCHING_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_DissectionGraph.hpp"
#include "Lutra_OneThread.hpp"

namespace lutra::Impl {

/// Heavy-edge matching: the greedy matching by descending (weight, hash of the unordered pair) among edges
/// whose vertices together are not too heavy. All keys are distinct, so the matching is a function of the
/// graph; proposals find it in any order and with any number of threads (the Suitor algorithm: F. Manne and
/// M. Halappanavar, IPDPS 2014). A vertex proposes to its best neighbour without a better suitor; a displaced
/// suitor proposes again.
///
///     u ──proposes──> v      suitor[v] = (weight of the edge, u)
///     x ──better────> v      suitor[v] = (…, x); the thread that set it continues for u
///
/// At the end suitor[suitor[v]] = v for each matched v.
///
/// If more than a sixth of the vertices remain unmatched, those with a common hub are paired (two-hop
/// matching). The hub of a vertex is its heaviest neighbour, with ties broken by a hash of the neighbour's
/// number, so that leaves of a star and twins have the same hub.
template <class Executor, class Index>
class HeavyEdgeMatching {
 public:
  using Graph = DissectionGraph<Index>;
  using Indices = Piece<Index>;
  using Words = Piece<std::uint64_t>;

  /// @param limit maximum weight of a pair
  HeavyEdgeMatching(const Executor& exec, const Graph& graph, Index limit, std::uint64_t seed)
      : m_exec(exec), m_proposal{graph, limit, {}, static_cast<std::uint32_t>(mix_bits(seed))} {}

  /// Computes match[v]: the partner of v, or v itself.
  void find(const Indices& match, DissectionStack& stack) {
    const Index n = m_proposal.graph.n_vertices;
    const auto mark = stack.mark();
    m_proposal.suitor = stack.take<std::uint64_t>(n);
    m_exec.fill(m_proposal.suitor, 0);
    m_exec.for_each(n, m_proposal);
    const Index alone = m_exec.template sum<Index>(n, Accept{m_proposal.suitor, match});
    if (alone > n / 6) pair_at_hubs(match, alone, stack);
    stack.rewind(mark);
  }

 private:
  /// The thread of u proposes for u, then for each displaced suitor.
  struct Propose {
    Graph graph;
    Index limit;
    Words
        suitor;  ///< [n] weight of the best proposal in the high half, its proposer + 1 in the low half; or 0
    std::uint32_t seed;

    std::uint32_t hash(Index u, Index v) const {
      return ((static_cast<std::uint32_t>(u) * 0x9e3779b1u) ^ (static_cast<std::uint32_t>(v) * 0x9e3779b1u) ^
              seed) *
             0x85ebca6bu;
    }

    /// Whether u beats the current suitor of v with an edge of this key.
    bool beats(std::uint64_t present, Index u, Index v, std::uint64_t key) const {
      if (present >> 32 != key >> 32) return key >> 32 > present >> 32;
      const auto other = static_cast<Index>(static_cast<std::uint32_t>(present)) - 1;
      const std::uint32_t other_hash = hash(other, v);
      const auto own_hash = static_cast<std::uint32_t>(key);
      return own_hash != other_hash ? own_hash > other_hash : u < other;
    }

    void operator()(const Index start) const {
      if (graph.edge_weights.extent(0) > 0) {
        propose<true>(start);
      } else {
        propose<false>(start);
      }
    }

    template <bool weighted>
    void propose(Index u) const {
      const Index *const rows = graph.row_map.data(), *const heads = graph.neighbours.data(),
                         *const edges = graph.edge_weights.data(),
                         *const weights = graph.vertex_weights.data();
      while (u >= 0) {
        Index best = -1;
        std::uint64_t best_key = 0, best_present = 0;  // weight in the high half, hash in the low half
        const Index room = limit - weights[u];
        for (Index p = rows[u]; p < rows[u + 1]; ++p) {
          const Index v = heads[p];
          const std::uint64_t key =
              static_cast<std::uint64_t>(weighted ? edges[p] : Index(1)) << 32 | hash(u, v);
          if (key < best_key || (key == best_key && v > best)) continue;
          if (weights[v] > room) continue;
          const std::uint64_t present = load(&suitor(v));
          if (present != 0 && !beats(present, u, v, key)) continue;
          best = v;
          best_key = key;
          best_present = present;
        }
        if (best < 0) return;
        const std::uint64_t word = (best_key >> 32 << 32) | static_cast<std::uint32_t>(u + 1);
        // Another thread has set a better proposal in the meantime: retry.
        if (Executor::compare_exchange(&suitor(best), best_present, word) != best_present) continue;
        u = static_cast<Index>(static_cast<std::uint32_t>(best_present)) - 1;
      }
    }

    static std::uint64_t load(const std::uint64_t* at) {
      if constexpr (Executor::one_thread) {
        return *at;
      } else {
        return Kokkos::atomic_load(at);
      }
    }
  };

  struct Accept {
    Words suitor;
    Indices match;
    Index of(Index v) const { return static_cast<Index>(static_cast<std::uint32_t>(suitor(v))) - 1; }
    void operator()(const Index v, Index& alone) const {
      const Index u = of(v);
      const bool matched = u >= 0 && of(u) == v;
      match(v) = matched ? u : v;
      alone += matched ? 0 : 1;
    }
  };

  /// Key (hub, vertex) of each unmatched vertex. Vertices without neighbours share the hub n.
  struct ListAlone {
    Propose proposal;
    Indices match, position;
    Words keys;
    void operator()(const Index v) const {
      if (match(v) != v) return;
      const Graph& graph = proposal.graph;
      Index hub = graph.n_vertices, heaviest = 0;
      std::uint32_t best = 0;
      for (Index p = graph.row_map(v); p < graph.row_map(v + 1); ++p) {
        const Index weight = graph.edge_weight(p), u = graph.neighbours(p);
        const std::uint32_t key = proposal.hash(u, 0);
        if (weight < heaviest || (weight == heaviest && key <= best)) continue;
        hub = u;
        heaviest = weight;
        best = key;
      }
      keys(position(v)) = static_cast<std::uint64_t>(hub) << 32 | static_cast<std::uint32_t>(v);
    }
  };

  struct IsAlone {
    Indices match;
    Index operator()(const Index v) const { return match(v) == v ? 1 : 0; }
  };

  /// The first unmatched vertex of each hub pairs up all those of the hub.
  struct PairAtHub {
    Propose proposal;
    Indices match;
    Words keys;
    Index n_keys;
    void operator()(const Index first) const {
      const std::uint64_t hub = keys(first) >> 32;
      if (first > 0 && keys(first - 1) >> 32 == hub) return;
      for (Index k = first; k + 1 < n_keys && keys(k + 1) >> 32 == hub; k += 2) {
        const auto u = static_cast<Index>(static_cast<std::uint32_t>(keys(k))),
                   v = static_cast<Index>(static_cast<std::uint32_t>(keys(k + 1)));
        const Graph& graph = proposal.graph;
        if (graph.vertex_weights(u) + graph.vertex_weights(v) > proposal.limit) continue;
        match(u) = v;
        match(v) = u;
      }
    }
  };

  void pair_at_hubs(const Indices& match, Index alone, DissectionStack& stack) {
    const Index n = m_proposal.graph.n_vertices;
    const Indices position = stack.take<Index>(n + 1);
    const Words keys = stack.take<std::uint64_t>(alone);
    m_exec.exclusive_scan(n, position, IsAlone{match});
    m_exec.for_each(n, ListAlone{m_proposal, match, position, keys});
    m_exec.sort(keys);
    m_exec.for_each(alone, PairAtHub{m_proposal, match, keys, alone});
  }

  Executor m_exec;
  Propose m_proposal;
};

}  // namespace lutra::Impl

#endif
