// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_GraphReduction.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace lutra {
namespace {

// An elimination searches the lists of both neighbours. If one is longer the vertex stays, so that all
// eliminations together take linear time.
constexpr int max_searched = 256;
// Smaller graphs are always compared, without a test whether it pays off.
constexpr int max_compared = 1000;
// With fewer neighbours, a vertex does not slow down minimum degree.
constexpr int min_hub_degree = 500;
// Maximum height of the elimination tree at which leaves are eliminated immediately.
constexpr int max_leaf_level = 32;
// Elimination is skipped if fewer than this share of the vertices can be eliminated initially.
constexpr double min_eliminated_share = 0.1;

template <class Index>
std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Pseudorandom hash (the finalizer of S. Vigna's splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

template <class Index>
class Reduction {
 public:
  Reduction(const SymmetricGraph<Index>& graph, const ReductionOptions& options,
            const std::vector<Index>& weights, const RunControl& run)
      : m_in(graph),
        m_run(run),
        m_options(options),
        m_weights(weights),
        m_n(graph.size()),
        m_state(at(m_n), kept),
        m_joined(at(m_n), single),
        m_twin(at(m_n), -1) {}

  ReducedGraph<Index> run() && {
    m_run.poll();
    set_dense_apart();
    if (m_options.compress && may_have_twins()) {
      m_run.poll();
      merge_twins(true);
      m_run.poll();
      merge_twins(false);
    }
    m_run.poll();
    if (nothing_to_gain()) {
      keep_graph();
      return std::move(m_out);
    }
    copy_graph();
    m_run.poll();
    if (m_options.eliminate) eliminate();
    m_run.poll();
    set_hubs_apart();
    number_vertices();
    return std::move(m_out);
  }

 private:
  enum State : char { kept, dense, merged, eliminated };
  enum Joined : char { single, clique, independent };

  /// Degree above which a vertex of a graph with n vertices is dense.
  Index max_degree(Index n) const {
    const double root = m_options.dense_factor * std::sqrt(static_cast<double>(n));
    return static_cast<Index>(std::min(std::max(16.0, root), static_cast<double>(m_n)));
  }

  void set_dense_apart() {
    const Index limit = max_degree(m_n);
    for (Index v = 0; v < m_n; ++v) {
      if (degree(v) <= limit) continue;
      m_state[at(v)] = dense;
      m_out.dense.push_back(v);
    }
  }

  Index degree(Index v) const { return m_in.row_map[at(v) + 1] - m_in.row_map[at(v)]; }

  /// Hashes each vertex's non-dense neighbours by a sum of mixed numbers. @returns whether enough of these
  /// hashes, with or without the vertex itself, coincide for compression to pay off; estimated from
  /// collisions of a quarter of them in a bit field, before any full comparison.
  bool may_have_twins() {
    std::size_t slots = 64;
    while (slots < 4 * at(m_n)) slots *= 2;
    std::vector<std::uint64_t> open(slots / 64), closed(slots / 64);
    std::size_t n_sampled = 0, n_equal = 0;
    const auto sample = [&](std::vector<std::uint64_t>& bits, std::uint64_t hash) {
      if (hash % 4 != 0 || hash == 0) return;
      const std::size_t slot = hash / 4 & (slots - 1);
      const std::uint64_t bit = std::uint64_t(1) << (slot % 64), before = bits[slot / 64];
      bits[slot / 64] = before | bit;
      ++n_sampled;
      n_equal += (before & bit) != 0 ? 1 : 0;
    };
    std::vector<std::uint64_t> number(at(m_n));  // hash of each vertex; 0 if dense
    for (Index v = 0; v < m_n; ++v)
      number[at(v)] = m_state[at(v)] == dense ? 0 : mixed(static_cast<std::uint64_t>(v));
    m_hash.resize(at(m_n));
    for (Index v = 0; v < m_n; ++v) {
      std::uint64_t hash = 0;
      for (Index k = m_in.row_map[at(v)]; k < m_in.row_map[at(v) + 1]; ++k)
        hash += number[at(m_in.neighbours[at(k)])];
      m_hash[at(v)] = hash;
      if (m_state[at(v)] == dense) continue;
      sample(open, hash);
      sample(closed, hash + number[at(v)]);
    }
    // At most one of a vertex's two hashes coincides with another vertex's. A small sample means few hashes.
    return m_n < max_compared || 4 * n_sampled < at(m_n) ||
           2 * static_cast<double>(n_equal) > m_options.min_twin_share * static_cast<double>(n_sampled);
  }

  /// Merges each vertex with the first one that has the same neighbours, with (`closed`) or without the
  /// vertices themselves.
  void merge_twins(bool closed) {
    std::size_t slots = 64;
    while (slots < 2 * at(m_n)) slots *= 2;
    std::vector<Index> first(slots, -1);  // hash table of vertices, with linear probing
    for (Index v = 0; v < m_n; ++v) {
      if (m_state[at(v)] != kept || m_hash[at(v)] == 0) continue;
      const std::uint64_t hash = hash_of(v, closed);
      std::size_t slot = mixed(hash) & (slots - 1);
      while (first[slot] >= 0 && !(hash_of(first[slot], closed) == hash && are_twins(first[slot], v)))
        slot = (slot + 1) & (slots - 1);
      if (first[slot] < 0) {
        first[slot] = v;
      } else {
        m_state[at(v)] = merged;
        m_twin[at(v)] = first[slot];
        m_joined[at(first[slot])] = closed ? clique : independent;
      }
    }
  }
  std::uint64_t hash_of(Index v, bool closed) const {
    return closed ? m_hash[at(v)] + mixed(static_cast<std::uint64_t>(v)) : m_hash[at(v)];
  }
  /// Whether two vertices have the same neighbours, except each other and dense ones.
  bool are_twins(Index v, Index w) const {
    const Index v_end = m_in.row_map[at(v) + 1], w_end = m_in.row_map[at(w) + 1];
    const auto skip = [this](Index& k, Index end, Index other) {
      while (k < end && (m_in.neighbours[at(k)] == other || m_state[at(m_in.neighbours[at(k)])] == dense))
        ++k;
    };
    Index i = m_in.row_map[at(v)], j = m_in.row_map[at(w)];
    for (;; ++i, ++j) {
      skip(i, v_end, w);
      skip(j, w_end, v);
      if (i == v_end || j == w_end) return i == v_end && j == w_end;
      if (m_in.neighbours[at(i)] != m_in.neighbours[at(j)]) return false;
    }
  }

  /// Whether no vertex is dense or merged, and too few have at most two neighbours.
  bool nothing_to_gain() const {
    Index n_low = 0;
    for (Index v = 0; v < m_n; ++v) {
      if (m_state[at(v)] != kept || (m_options.eliminate && degree(v) == 0)) return false;
      if (degree(v) <= 2) ++n_low;
    }
    return !m_options.eliminate ||
           static_cast<double>(n_low) < min_eliminated_share * static_cast<double>(m_n);
  }
  void keep_graph() {
    m_out.graph = m_in;
    m_out.weights = m_weights;
    if (m_weights.empty()) m_out.weights.assign(at(m_n), 1);
    m_out.members.resize(at(m_n));
    m_out.first_member.resize(at(m_n) + 1);
    std::iota(m_out.members.begin(), m_out.members.end(), Index(0));
    std::iota(m_out.first_member.begin(), m_out.first_member.end(), Index(0));
  }

  /// Copies the lists of kept vertices, with their old numbers, and their members.
  void copy_graph() {
    m_begin.resize(at(m_n));
    m_degree.assign(at(m_n), 0);
    m_weight = m_weights;
    if (m_weights.empty()) m_weight.assign(at(m_n), 1);
    m_neighbours.resize(m_in.neighbours.size());
    m_sorted.assign(at(m_n), 1);
    std::size_t out = 0;
    for (Index v = 0; v < m_n; ++v) {
      m_begin[at(v)] = static_cast<Index>(out);
      if (m_state[at(v)] == merged) m_weight[at(m_twin[at(v)])] += m_weight[at(v)];
      if (m_state[at(v)] != kept) continue;
      for (Index k = m_in.row_map[at(v)]; k < m_in.row_map[at(v) + 1]; ++k) {
        const Index u = m_in.neighbours[at(k)];
        if (m_state[at(u)] == kept) m_neighbours[out++] = u;
      }
      m_degree[at(v)] = static_cast<Index>(out) - m_begin[at(v)];
    }
    m_next_member.assign(at(m_n), -1);  // descending lists after the first member
    for (Index v = 0; v < m_n; ++v) {
      if (m_state[at(v)] != merged) continue;
      const Index first = m_twin[at(v)];
      m_next_member[at(v)] = std::exchange(m_next_member[at(first)], v);
    }
  }

  /// Eliminates every second vertex of a chain per round, to keep the elimination tree low:
  ///
  ///     a ─ 1 ─ 2 ─ 3 ─ 4 ─ 5 ─ b      round 0: 1, 3, 5      level of a vertex: 1 + maximum over the
  ///     a ───── 2 ───── 4 ───── b      round 1: 2 …          eliminated below; rounds take their level
  ///
  /// Leaves are eliminated immediately up to some level: they cause no fill, and trees in real graphs are
  /// lower.
  void eliminate() {
    std::vector<Index> leaves, inner;  // of degree at most 1; of degree 2, processed when there are no leaves
    std::size_t n_kept = 0, n_isolated = 0;
    for (Index v = 0; v < m_n; ++v) {
      if (m_state[at(v)] != kept) continue;
      ++n_kept;
      n_isolated += m_degree[at(v)] == 0 ? 1 : 0;
      if (m_degree[at(v)] <= 2) (m_degree[at(v)] == 2 ? inner : leaves).push_back(v);
    }
    const bool all = static_cast<double>(leaves.size() + inner.size() - n_isolated) >=
                     min_eliminated_share * static_cast<double>(n_kept);
    std::vector<Index> level(at(m_n), 0), later;
    Index round = 0;
    std::int64_t step = 0;
    for (std::size_t i = 0, k = 0; k < leaves.size() || i < inner.size() || !later.empty();) {
      m_run.poll_at(step++, 1 << 16);
      if (k == leaves.size() && i == inner.size()) {
        inner = std::exchange(later, {});
        i = 0;
        ++round;
        continue;
      }
      const Index v = k < leaves.size() ? leaves[k++] : inner[i++];
      if (m_state[at(v)] != kept || m_degree[at(v)] > (all ? 2 : 0) || !can_be_eliminated(v)) continue;
      if (level[at(v)] > (m_degree[at(v)] == 2 ? round : std::max(round, Index(max_leaf_level)))) {
        later.push_back(v);
        continue;
      }
      m_state[at(v)] = eliminated;
      for (Index member = v; member >= 0; member = m_next_member[at(member)])
        m_out.eliminated.push_back(member);
      const Index* list = m_neighbours.data() + m_begin[at(v)];
      if (m_degree[at(v)] == 1) remove(list[0], v);
      if (m_degree[at(v)] == 2) connect(list[0], list[1], v);
      for (Index j = 0; j < m_degree[at(v)]; ++j) {
        level[at(list[j])] = std::max(level[at(list[j])], level[at(v)] + 1);
        if (m_degree[at(list[j])] <= 2) (m_degree[at(list[j])] == 2 ? inner : leaves).push_back(list[j]);
      }
    }
  }
  /// Whether the lists to be searched are short, no neighbour represents independent vertices that the
  /// elimination would connect, and an edge between two neighbours weighs no more than those removed.
  bool can_be_eliminated(Index v) const {
    const Index* list = m_neighbours.data() + m_begin[at(v)];
    for (Index i = 0; i < m_degree[at(v)]; ++i)
      if (m_degree[at(list[i])] > max_searched || m_joined[at(list[i])] == independent) return false;
    if (m_degree[at(v)] < 2) return true;
    const auto weight = static_cast<double>(m_weight[at(v)]), a = static_cast<double>(m_weight[at(list[0])]),
               b = static_cast<double>(m_weight[at(list[1])]);
    return a * b <= weight * (a + b);
  }
  Index* find(Index v, Index u) {
    Index* const begin = m_neighbours.data() + m_begin[at(v)];
    return std::find(begin, begin + m_degree[at(v)], u);
  }
  /// Removes u from the list of v.
  void remove(Index v, Index u) {
    Index* const entry = find(v, u);
    *entry = m_neighbours[at(m_begin[at(v)] + --m_degree[at(v)])];
    m_sorted[at(v)] = 0;
  }
  /// Replaces v, between a and b, by an edge.
  void connect(Index a, Index b, Index v) {
    if (find(a, b) != m_neighbours.data() + m_begin[at(a)] + m_degree[at(a)]) {
      remove(a, v);
      remove(b, v);
      return;
    }
    *find(a, v) = b;
    *find(b, v) = a;
    m_sorted[at(a)] = m_sorted[at(b)] = 0;
  }

  /// Moves vertices that are dense in the remaining graph to the end: minimum degree would search their lists
  /// for each neighbour.
  void set_hubs_apart() {
    const auto n_kept = static_cast<Index>(std::count(m_state.begin(), m_state.end(), kept));
    const Index limit = std::max(max_degree(n_kept), Index(min_hub_degree));
    for (Index v = 0; v < m_n; ++v) {
      if (m_state[at(v)] != kept || m_degree[at(v)] <= limit) continue;
      m_state[at(v)] = dense;
      for (Index i = v; i >= 0; i = m_next_member[at(i)]) m_out.dense.push_back(i);
    }
  }

  void number_vertices() {
    std::vector<Index>& number = m_twin;  // number of each kept vertex
    Index n = 0;
    for (Index v = 0; v < m_n; ++v)
      if (m_state[at(v)] == kept) number[at(v)] = n++;
    SymmetricGraph<Index>& graph = m_out.graph;
    graph.row_map.reserve(at(n) + 1);
    graph.row_map.push_back(0);
    graph.neighbours.resize(m_neighbours.size());
    m_out.first_member.push_back(0);
    std::size_t out = 0;
    for (Index v = 0; v < m_n; ++v) {
      if (m_state[at(v)] != kept) continue;
      const std::size_t begin = out;
      for (Index k = m_begin[at(v)]; k < m_begin[at(v)] + m_degree[at(v)]; ++k)
        if (m_state[at(m_neighbours[at(k)])] == kept)
          graph.neighbours[out++] = number[at(m_neighbours[at(k)])];
      if (!m_sorted[at(v)])
        std::sort(graph.neighbours.begin() + static_cast<std::ptrdiff_t>(begin),
                  graph.neighbours.begin() + static_cast<std::ptrdiff_t>(out));
      graph.row_map.push_back(static_cast<Index>(out));
      for (Index i = v; i >= 0; i = m_next_member[at(i)]) m_out.members.push_back(i);
      m_out.first_member.push_back(static_cast<Index>(m_out.members.size()));
      m_out.weights.push_back(m_weight[at(v)]);
    }
    graph.neighbours.resize(out);
  }

  const SymmetricGraph<Index>& m_in;
  const RunControl& m_run;
  ReductionOptions m_options;
  const std::vector<Index>& m_weights;
  Index m_n;
  ReducedGraph<Index> m_out;
  std::vector<State> m_state;    // [n]
  std::vector<Joined> m_joined;  // [n] whether a vertex represents several, and whether these are adjacent
  std::vector<Index> m_twin;     // [n] first of the vertices that a merged one was merged with
  std::vector<std::uint64_t> m_hash;  // [n] hash of the neighbours
  // Graph of the kept vertices, whose lists only become shorter.
  std::vector<Index> m_begin, m_degree, m_weight, m_next_member;  // [n]
  std::vector<Index> m_neighbours;
  std::vector<char> m_sorted;  // [n] whether a list is sorted
};

}  // namespace

template <class Index>
ReducedGraph<Index> reduce_graph(const SymmetricGraph<Index>& graph, const ReductionOptions& options,
                                 const std::vector<Index>& weights, const RunControl& run) {
  return Reduction<Index>(graph, options, weights, run).run();
}

template <class Index>
std::vector<Index> expand_order(const ReducedGraph<Index>& reduced, const std::vector<Index>& order) {
  std::vector<Index> permutation = reduced.eliminated;
  permutation.reserve(reduced.eliminated.size() + reduced.members.size() + reduced.dense.size());
  for (const Index v : order)
    permutation.insert(permutation.end(), reduced.members.begin() + reduced.first_member[at(v)],
                       reduced.members.begin() + reduced.first_member[at(v) + 1]);
  permutation.insert(permutation.end(), reduced.dense.begin(), reduced.dense.end());
  return permutation;
}

#define LUTRA_GRAPH_REDUCTION(Index)                                                               \
  template ReducedGraph<Index> reduce_graph(const SymmetricGraph<Index>&, const ReductionOptions&, \
                                            const std::vector<Index>&, const RunControl&);         \
  template std::vector<Index> expand_order(const ReducedGraph<Index>&, const std::vector<Index>&);
LUTRA_GRAPH_REDUCTION(int)
LUTRA_GRAPH_REDUCTION(std::int64_t)
#undef LUTRA_GRAPH_REDUCTION

}  // namespace lutra
