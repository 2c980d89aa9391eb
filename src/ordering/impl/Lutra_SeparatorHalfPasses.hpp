// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SEPARATORHALFPASSES_HPP
#define LUTRA_SEPARATORHALFPASSES_HPP

// Refinement of vertex separators by many moves at once (LaSalle and Karypis 2015; Jet, Gilbert et al. 2024):
// the method of devices and of large graphs.

#include <cstdint>
#include <utility>

#include "Lutra_Executors.hpp"
#include "Lutra_GraphBatch.hpp"
#include "Lutra_SeparatorWeights.hpp"

namespace lutra::Impl {

/// Kernels of `SeparatorHalfPasses`. (nvcc takes no pointers to methods in the type of a kernel.)
enum class HalfPassStep { clear, collect, begin, propose, judge, limit, commit, finish, keep, restore };

template <HalfPassStep step, class HalfPasses>
struct HalfPassKernel {
  HalfPasses passes;
  template <class Index>
  KOKKOS_FUNCTION void operator()(const Index i) const {
    if constexpr (step == HalfPassStep::clear) passes.clear(i);
    if constexpr (step == HalfPassStep::collect) passes.collect(i);
    if constexpr (step == HalfPassStep::begin) passes.begin(i);
    if constexpr (step == HalfPassStep::propose) passes.propose(i);
    if constexpr (step == HalfPassStep::judge) passes.judge(i);
    if constexpr (step == HalfPassStep::limit) passes.limit(i);
    if constexpr (step == HalfPassStep::commit) passes.commit(i);
    if constexpr (step == HalfPassStep::finish) passes.finish(i);
    if constexpr (step == HalfPassStep::keep) passes.keep(i);
    if constexpr (step == HalfPassStep::restore) passes.restore(i);
  }
};

/// Refinement of vertex separators with all moves of a half pass at once, for executors of many threads.
///
/// All moves of a half pass go to one side of a graph, and the neighbours in the other side that they drag
/// into the separator S are marked by stores that may repeat: no edge joins the sides whatever runs at the
/// same time (mt-Metis: LaSalle and Karypis, "Efficient nested dissection for multicore architectures",
/// Euro-Par 2015). Which vertices move is decided as in Jet (Gilbert, Madduri, Boman and Rajamanickam, SIAM
/// J. Sci. Comput. 46, 2024), with the gain of a separator's vertex: what S loses in weight. Vertices of
/// somewhat negative gain are candidates, and a second look counts a neighbour only for the best candidate
/// that drags it:
///
///     propose   a key (gain, hash) of each candidate; claim[u] = the largest key that drags u
///     judge     gain, of the neighbours claimed by the candidate itself; not below zero: accepted, into one
///     of
///               32 bins of its graph by rank
///     limit     bins fit into the side while their sum of weights does
///     commit    what is in those bins moves; S of the next half pass
///     finish    of a graph: a better state?                    keep   which is then kept
///
/// Sums are of integers and claims are maxima, so results do not depend on the order of threads or of the
/// lists. Cost: edges of S and one read by the host for each half pass, and one pass over the vertices at the
/// beginning.
template <class Executor, class Index, class MemorySpace>
class SeparatorHalfPasses {
 public:
  using Graph = GraphBatch<Index, MemorySpace>;
  using Parts = Piece<signed char, MemorySpace>;
  using Indices = Piece<Index, MemorySpace>;

  /// What is known of a graph.
  struct State {
    SeparatorWeights<Index> weights, best;
    Index max_side;
    int to;         ///< side that vertices move to in this half pass
    int cut;        ///< bins whose vertices move
    int idle;       ///< half passes since the best state
    bool improved;  ///< this half pass
  };

  SeparatorHalfPasses(const Executor& exec, const Graph& graph, double max_side_share, const Parts& part,
                      DissectionStack<MemorySpace>& stack)
      : m_exec(exec), m_graph(graph), m_max_side_share(max_side_share), m_part(part) {
    const Index n = graph.n_vertices;
    m_best_part = stack.template take<signed char>(n);
    m_touched = stack.template take<signed char>(n);
    m_bin = stack.template take<signed char>(n);
    for (Indices* list : {&m_list, &m_next_list, &m_touched_list}) *list = stack.template take<Index>(n);
    m_counts = stack.template take<Index>(3);
    m_key = stack.template take<std::uint64_t>(n);
    m_claim = stack.template take<std::uint64_t>(n);
    m_state = stack.template take<State>(graph.n_graphs);
    m_bins = stack.template take<Index>(n_bins * graph.n_graphs);
  }

  void refine() {
    m_exec.fill(m_counts, Index(0));
    m_exec.fill(m_bins, Index(0));
    for_each<HalfPassStep::clear>("lutra::ordering::clear", m_graph.n_graphs);
    for_each<HalfPassStep::collect>("lutra::ordering::collect", (m_graph.n_vertices + chunk - 1) / chunk);
    for_each<HalfPassStep::begin>("lutra::ordering::begin", m_graph.n_graphs);
    for (m_pass = 1; m_pass <= max_half_passes; ++m_pass) {
      const auto size = m_exec.read(m_counts, current());
      if (size == 0) break;
      for_each<HalfPassStep::propose>("lutra::ordering::propose", size);
      for_each<HalfPassStep::judge>("lutra::ordering::judge", size);
      for_each<HalfPassStep::limit>("lutra::ordering::limit", m_graph.n_graphs);
      for_each<HalfPassStep::commit>("lutra::ordering::commit", size);
      for_each<HalfPassStep::finish>("lutra::ordering::finish", m_graph.n_graphs);
      for_each<HalfPassStep::keep>("lutra::ordering::keep", m_exec.read(m_counts, n_touched));
      std::swap(m_list, m_next_list);
    }
    for_each<HalfPassStep::restore>("lutra::ordering::restore", m_exec.read(m_counts, n_touched));
    m_exec.fence();
  }

  // ---- kernels ----

  KOKKOS_FUNCTION void clear(const Index g) const { m_state(g) = State{}; }

  /// Weights and lists from the parts of some successive vertices.
  KOKKOS_FUNCTION void collect(const Index c) const {
    const Index end = (c + 1) * chunk < m_graph.n_vertices ? (c + 1) * chunk : m_graph.n_vertices;
    Index sum[3] = {0, 0, 0};
    for (Index v = c * chunk; v < end; ++v) {
      const signed char part = m_part(v);
      m_best_part(v) = part;
      m_touched(v) = part == separator;
      m_claim(v) = 0;
      sum[part] += m_graph.vertex_weights(v);
      if (part == separator) {
        const Index at = Executor::fetch_add(&m_counts(1), Index(1));
        m_list(at) = m_touched_list(at) = v;
      }
      const Index g = m_graph.graph_of(v);
      if (v + 1 < end && m_graph.graph_of(v + 1) == g) continue;
      for (int k = 0; k < 3; ++k) {
        if (sum[k] != 0) Executor::fetch_add(&m_state(g).weights.part[k], sum[k]);
        sum[k] = 0;
      }
    }
  }

  KOKKOS_FUNCTION void begin(const Index g) const {
    State& s = m_state(g);
    s.max_side = s.weights.max_side(m_max_side_share);
    s.best = s.weights;
    s.to = s.weights.part[0] <= s.weights.part[1] ? 0 : 1;
    if (g == 0) m_counts(n_touched) = m_counts(1);
  }

  KOKKOS_FUNCTION void propose(const Index i) const {
    const Index v = m_list(i), g = m_graph.graph_of(v);
    const State& s = m_state(g);
    const Index drag = for_dragged(v, 1 - s.to, [](Index, Index weight) { return weight; });
    const Index gain = m_graph.vertex_weights(v) - drag;
    m_key(i) = 0;
    if (static_cast<double>(gain) < -tolerance() * static_cast<double>(drag)) return;
    const std::uint64_t key = key_of(v - m_graph.first_vertex(g), gain);
    m_key(i) = key;
    for_dragged(v, 1 - s.to, [&](Index u, Index) {
      Executor::fetch_max(&m_claim(u), key);
      return Index(0);
    });
  }

  KOKKOS_FUNCTION void judge(const Index i) const {
    const std::uint64_t key = m_key(i);
    m_bin(i) = -1;
    if (key == 0) return;
    const Index v = m_list(i), g = m_graph.graph_of(v), weight = m_graph.vertex_weights(v);
    const State& s = m_state(g);
    const Index gain =
        weight - for_dragged(v, 1 - s.to, [&](Index u, Index w) { return m_claim(u) == key ? w : Index(0); });
    if (gain < 0) return;
    const int bin = static_cast<int>(key % (n_bins / 2)) + (gain > 0 ? 0 : n_bins / 2);
    m_bin(i) = static_cast<signed char>(bin);
    Executor::fetch_add(&m_bins(g * n_bins + bin), weight);
  }

  KOKKOS_FUNCTION void limit(const Index g) const {
    State& s = m_state(g);
    Index room = s.max_side - s.weights.part[s.to];
    for (s.cut = 0; s.cut < n_bins && m_bins(g * n_bins + s.cut) <= room; ++s.cut)
      room -= m_bins(g * n_bins + s.cut);
    for (int bin = 0; bin < n_bins; ++bin) m_bins(g * n_bins + bin) = 0;
    if (g == 0) m_counts(1 - current()) = 0;
  }

  KOKKOS_FUNCTION void commit(const Index i) const {
    const Index v = m_list(i), g = m_graph.graph_of(v), weight = m_graph.vertex_weights(v);
    State& s = m_state(g);
    if (m_bin(i) < 0 || m_bin(i) >= s.cut) {
      if (s.idle < max_idle) append(v);
      return;
    }
    const int other = 1 - s.to;
    m_part(v) = static_cast<signed char>(s.to);
    const std::uint64_t entered = key_of(Index(0), Index(0)) | ((std::uint64_t(1) << 56) - 1);
    const Index dragged = for_dragged(v, other, [&](Index u, Index w) {
      const std::uint64_t claim = m_claim(u);
      if (claim == entered || Executor::compare_exchange(&m_claim(u), claim, entered) != claim)
        return Index(0);
      m_part(u) = separator;
      append(u);
      if (m_touched(u) == 0) m_touched_list(Executor::fetch_add(&m_counts(n_touched), Index(1))) = u;
      m_touched(u) = 1;
      return w;
    });
    Executor::fetch_add(&s.weights.part[s.to], weight);
    Executor::fetch_add(&s.weights.part[separator], dragged - weight);
    if (dragged > 0) Executor::fetch_add(&s.weights.part[other], -dragged);
  }

  KOKKOS_FUNCTION void finish(const Index g) const {
    State& s = m_state(g);
    s.improved = s.weights.better_than(s.best, s.max_side);
    if (s.improved) s.best = s.weights;
    s.idle = s.improved ? 0 : s.idle + 1;
    const int lighter = s.weights.part[0] <= s.weights.part[1] ? 0 : 1;
    if (s.weights.larger_side() > s.max_side)
      s.to = lighter;
    else if (m_pass % steps == 0)
      s.to = 1 - s.to;
  }

  KOKKOS_FUNCTION void keep(const Index i) const {
    const Index v = m_touched_list(i);
    if (m_state(m_graph.graph_of(v)).improved) m_best_part(v) = m_part(v);
  }

  KOKKOS_FUNCTION void restore(const Index i) const {
    const Index v = m_touched_list(i);
    m_part(v) = m_best_part(v);
  }

 private:
  // steps: half passes to one side before those to the other
  static constexpr int max_half_passes = 48, max_idle = 12, steps = 3, n_bins = 32, n_touched = 2;
  static constexpr Index chunk = 32;

  template <HalfPassStep step>
  void for_each(const char* label, Index n) const {
    m_exec.for_each(label, n, HalfPassKernel<step, SeparatorHalfPasses>{*this});
  }

  /// Which of two counts is of `m_list` in this half pass; the other one is of `m_next_list`.
  KOKKOS_FUNCTION int current() const { return static_cast<int>(m_pass % 2); }

  /// How far the gain of a candidate may be below zero, of the weight it drags into S: much in the first half
  /// pass to a side, which leaves a local minimum, not at all in the next ones.
  KOKKOS_FUNCTION double tolerance() const { return m_pass % steps == 1 ? 0.75 : 0.0; }

  /// Half pass, gain, hash of the vertex' number in its graph: keys of later half passes are larger.
  KOKKOS_FUNCTION std::uint64_t key_of(Index local, Index gain) const {
    constexpr Index bound = (Index(1) << 23) - 1;
    const Index clamped = gain > bound ? bound : gain < -bound ? -bound : gain;
    const auto hash =
        mix_bits((static_cast<std::uint64_t>(m_pass) << 56) + static_cast<std::uint64_t>(local));
    return (static_cast<std::uint64_t>(m_pass) << 56) | (static_cast<std::uint64_t>(clamped + bound) << 32) |
           (hash & 0xffffffffU);
  }

  /// The sum of f(u, weight of u) over the neighbours u of v in side `other`.
  template <class F>
  KOKKOS_FUNCTION Index for_dragged(Index v, int other, const F& f) const {
    Index sum = 0;
    for (Index p = m_graph.row_map(v); p < m_graph.row_map(v + 1); ++p) {
      const Index u = m_graph.neighbours(p);
      if (m_part(u) == other) sum += f(u, m_graph.vertex_weights(u));
    }
    return sum;
  }

  KOKKOS_FUNCTION void append(Index v) const {
    m_next_list(Executor::fetch_add(&m_counts(1 - current()), Index(1))) = v;
  }

  Executor m_exec;
  Graph m_graph;
  double m_max_side_share;
  Parts m_part, m_best_part;
  Parts m_touched;                          ///< [n_vertices] vertices that were in S at any time
  Parts m_bin;                              ///< bin of the accepted vertices of `m_list`, −1: not accepted
  Indices m_list, m_next_list;              ///< S of this half pass and of the next
  Indices m_touched_list;                   ///< vertices marked in `m_touched`
  Indices m_counts;                         ///< lengths of the three lists
  Piece<std::uint64_t, MemorySpace> m_key;  ///< of the candidates of `m_list`, 0: not a candidate
  Piece<std::uint64_t, MemorySpace> m_claim;  ///< [n_vertices] largest key that drags a vertex
  Piece<State, MemorySpace> m_state;          ///< [n_graphs]
  Indices m_bins;                             ///< [n_bins n_graphs] weight of the accepted vertices
  int m_pass = 1;
};

}  // namespace lutra::Impl

#endif
