// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TEAMBISECTION_HPP
#define LUTRA_TEAMBISECTION_HPP

// Multilevel bisection (Karypis and Kumar 1998) of many small graphs concurrently, one team each. Used on
// devices below some thousand vertices, where launches would take longer than their work.

#include <Kokkos_Core.hpp>
#include <Kokkos_NestedSort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "Lutra_Contraction.hpp"
#include "Lutra_HeavyEdgeMatching.hpp"
#include "Lutra_InitialSeparator.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_SeparatorRefinement.hpp"

namespace lutra::Impl {

/// Memory of a team. Every thread holds an equal copy of this object: results of a step come from the low
/// end, its workspace from the high end.
class TeamMemory {
 public:
  KOKKOS_FUNCTION TeamMemory(char* memory, std::size_t bytes) : m_memory(memory), m_low(0), m_high(bytes) {}

  template <class Value>
  KOKKOS_FUNCTION Value* take(std::size_t count) {
    Value* const taken = reinterpret_cast<Value*>(m_memory + m_low);
    m_low += rounded(count * sizeof(Value));
    return taken;
  }
  template <class Value>
  KOKKOS_FUNCTION Value* take_high(std::size_t count) {
    m_high -= rounded(count * sizeof(Value));
    return reinterpret_cast<Value*>(m_memory + m_high);
  }
  KOKKOS_FUNCTION std::size_t free_bytes() const { return m_high - m_low; }
  KOKKOS_FUNCTION static std::size_t rounded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

 private:
  char* m_memory;
  std::size_t m_low, m_high;
};

/// Computes part[v] of the vertices of each graph of a batch. A team applies the steps of
/// `MultilevelBisection` to its graph, with the same kernels:
///
///     graph ── match, contract ──> coarser ── … ──> 60 vertices
///       │ coarse_of                   │                │ a trial per warp, the best is taken
///     part <── project, refine ──── part <── … ───── part
///
/// Coarsening stops early if the memory of a team would not suffice for the following steps.
template <class ExecutionSpace, class Index>
class TeamBisection {
 public:
  using MemorySpace = typename ExecutionSpace::memory_space;
  using Executor = WholeSpace<ExecutionSpace>;
  using Graph = GraphBatch<Index, MemorySpace>;
  using Indices = Piece<Index, MemorySpace>;
  using Words = Piece<std::uint64_t, MemorySpace>;
  using Parts = Piece<signed char, MemorySpace>;
  using Separators = CollectedSeparators<Executor, Index, MemorySpace>;
  using Weights = Piece<SeparatorWeights<Index>, MemorySpace>;
  using Matching = HeavyEdgeMatching<Executor, Index, MemorySpace>;
  using Contract = Contraction<Executor, Index, MemorySpace>;
  using Grow = GrowSeparator<Executor, Index, MemorySpace>;

  TeamBisection(const Graph& batch, const DissectionOptions& options, const Parts& part)
      : m_batch(batch), m_options(options), m_best(part) {}

  /// Batches of few graphs use several teams per graph with different seeds; the best separator is kept.
  void run(const Executor& exec, DissectionStack<MemorySpace>& stack) {
    const Index n_graphs = m_batch.n_graphs, n = m_batch.n_vertices;
    if (n_graphs == 0) return;
    const auto mark = stack.mark();
    m_descents = std::clamp(Index(256) / n_graphs, Index(1), static_cast<Index>(m_options.team_descents));
    const auto descents = static_cast<std::size_t>(m_descents);
    m_parts = m_descents == 1 ? m_best : stack.template take<signed char>(descents * m_best.extent(0));
    m_weights = stack.template take<SeparatorWeights<Index>>(m_descents * n_graphs);
    m_memory = stack.template take<char>(descents * memory_before(n_graphs, n, m_batch.n_entries()));
    const int size = n / n_graphs > 1500 ? 512 : n / n_graphs > 600 ? 256 : 128;
    exec.template for_each_team<512>("lutra::ordering::bisect_by_teams", m_descents * n_graphs, size, *this);
    if (m_descents > 1)
      exec.for_each(
          "lutra::ordering::take_best_descent", n,
          TakeBestDescent{m_batch, m_parts, m_best, m_weights, m_descents, m_options.max_side_share});
    exec.fence();
    stack.rewind(mark);
  }

  // Kernels are public: nvcc instantiates them by name.
  struct TakeBestDescent {
    Graph graph;
    Parts parts, best;
    Weights weights;
    Index descents;
    double max_side_share;
    KOKKOS_FUNCTION void operator()(const Index v) const {
      const Index g = graph.graph_of(v);
      const Index max_side = weights(g).max_side(max_side_share);
      Index taken = 0;
      for (Index descent = 1; descent < descents; ++descent)
        if (weights(descent * graph.n_graphs + g).better_than(weights(taken * graph.n_graphs + g), max_side))
          taken = descent;
      best(v) = parts(taken * graph.n_vertices + v);
    }
  };

  static std::size_t scratch_bytes() { return sizeof(Shared) + 16; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const TeamThreads<Member> team{member};
    auto& shared = *static_cast<Shared*>(member.team_scratch(0).get_shmem_aligned(sizeof(Shared), 16));
    const auto rank = static_cast<Index>(member.league_rank());
    const Index g = rank % m_batch.n_graphs, descent = rank / m_batch.n_graphs;
    const Index first = m_batch.first_vertex(g), n = m_batch.first_vertex(g + 1) - first,
                entry = m_batch.row_map(first), n_entries = m_batch.row_map(first + n) - entry;
    if (n == 0) return;
    const std::size_t begin = memory_before(g, first, entry),
                      all = memory_before(m_batch.n_graphs, m_batch.n_vertices, m_batch.n_entries());
    TeamMemory memory(m_memory.data() + static_cast<std::size_t>(descent) * all + begin,
                      memory_before(g + 1, first + n, entry + n_entries) - begin);
    copy_graph(team, shared, memory, first, n, entry, n_entries);
    team.once([&] {
      shared.seed = m_options.seed + 0x1000 * static_cast<std::uint64_t>(descent);
      shared.levels[0].part = m_parts.data() + descent * m_batch.n_vertices + first;
    });
    int last = 0;
    while (last + 1 < max_levels && coarsen(team, shared, last, memory)) ++last;
    separate_coarsest(team, shared, last, memory);
    for (int level = last; level-- > 0;) project(team, shared, level);
    team.once([&] { m_weights(rank) = shared.state.weights; });
  }

 private:
  /// Levels are in shared memory. Graphs here reach the coarsest size in about six levels if each halves
  /// them; a level that removes less than 5 % is the last.
  static constexpr int max_levels = 40;
  // Bytes per entry and per vertex: a copy, coarser graphs, and the workspace of a contraction.
  static constexpr std::size_t entry_bytes = 14 * sizeof(Index), vertex_bytes = 34 * sizeof(Index) + 24,
                               graph_bytes = 4096;

  struct Level {
    Index ends[2];  // 0 and the number of vertices
    Index n_entries;
    Index *row_map, *neighbours, *edge_weights, *vertex_weights, *coarse_of;
    signed char* part;
    char* workspace;  // after the level's arrays
  };

  struct Shared {
    Level levels[max_levels];
    typename Separators::State state;
    Index total, limit;
    std::uint64_t seed;
  };

  /// Bytes of the teams of preceding graphs.
  KOKKOS_FUNCTION static std::size_t memory_before(Index g, Index vertex, Index entry) {
    return static_cast<std::size_t>(g) * graph_bytes +
           static_cast<std::size_t>(vertex) * vertex_bytes / 16 * 16 +
           static_cast<std::size_t>(entry) * entry_bytes / 16 * 16;
  }

  KOKKOS_FUNCTION static Indices piece(Index* of, Index n) {
    return Indices(of, static_cast<std::size_t>(n));
  }

  KOKKOS_FUNCTION static Graph graph_of(Level& level) {
    const Index n = level.ends[1];
    Graph graph;
    graph.n_graphs = 1;
    graph.n_vertices = n;
    graph.first_vertex = piece(level.ends, 2);
    graph.row_map = piece(level.row_map, n + 1);
    graph.neighbours = piece(level.neighbours, level.n_entries);
    graph.vertex_weights = piece(level.vertex_weights, n);
    if (level.edge_weights != nullptr) graph.edge_weights = piece(level.edge_weights, level.n_entries);
    return graph;
  }

  template <class Threads>
  KOKKOS_FUNCTION void copy_graph(const Threads& team, Shared& shared, TeamMemory& memory, Index first,
                                  Index n, Index entry, Index n_entries) const {
    const auto rows = memory.template take<Index>(static_cast<std::size_t>(n) + 1),
               heads = memory.template take<Index>(static_cast<std::size_t>(n_entries));
    const auto behind = memory.template take<char>(0);
    const bool weighted = m_batch.edge_weights.extent(0) > 0;
    team.once([&] {
      Level& level = shared.levels[0];
      level.ends[0] = 0;
      level.ends[1] = n;
      level.n_entries = n_entries;
      level.row_map = rows;
      level.neighbours = heads;
      level.edge_weights = weighted ? m_batch.edge_weights.data() + entry : nullptr;
      level.vertex_weights = m_batch.vertex_weights.data() + first;
      level.workspace = behind;
    });
    team.for_each(n + 1, [&](Index v) { rows[v] = m_batch.row_map(first + v) - entry; });
    team.for_each(n_entries, [&](Index p) { heads[p] = m_batch.neighbours(entry + p) - first; });
    const Index total = team.sum(n, [&](Index v, Index& sum) { sum += m_batch.vertex_weights(first + v); });
    team.once([&] { shared.total = total; });
  }

  /// Adds a level after `last`. @returns false if that is coarse enough, or cannot be coarsened
  template <class Threads>
  KOKKOS_FUNCTION bool coarsen(const Threads& team, Shared& shared, int last, TeamMemory& memory) const {
    Level& fine = shared.levels[last];
    const Index n = fine.ends[1], n_entries = fine.n_entries;
    const auto coarsest = static_cast<Index>(m_options.coarse_vertices);
    if (n <= coarsest || memory.free_bytes() < step_bytes(n, n_entries)) return false;
    const TeamMemory before = memory;
    TeamMemory workspace = memory;  // draws from its high end
    const Graph graph = graph_of(fine);
    const Indices match = piece(workspace.template take_high<Index>(static_cast<std::size_t>(n)), n);
    team.once([&] {
      shared.limit =
          1 + static_cast<Index>(1.5 * static_cast<double>(shared.total) / static_cast<double>(coarsest));
    });
    TeamMemory step = workspace;
    const std::uint64_t seed = shared.seed + static_cast<std::uint64_t>(last) + 0x100;
    find_matching(team, graph, piece(&shared.limit, 1), seed, match, step);
    step = workspace;
    const Indices number = piece(step.template take_high<Index>(static_cast<std::size_t>(n) + 1), n + 1);
    const Index n_coarse = team.exclusive_scan(n, number, typename Contract::IsFirst{match});
    if (n_coarse > n - n / 20) return false;
    const Indices coarse_of = piece(memory.template take<Index>(static_cast<std::size_t>(n)), n);
    team.for_each(n, typename Contract::CoarseOf{match, number, coarse_of});
    const bool fits = contract(team, shared, last, match, coarse_of, n_coarse, memory, workspace);
    if (!fits) memory = before;
    return fits;
  }

  /// Upper bound of the bytes for matching and contraction.
  KOKKOS_FUNCTION static std::size_t step_bytes(Index n, Index n_entries) {
    return static_cast<std::size_t>(n) * 8 * sizeof(Index) + static_cast<std::size_t>(n) * 16 +
           static_cast<std::size_t>(n_entries) * 6 * sizeof(Index) + 512;
  }
  /// Bytes for the refinement of a level, or for one trial on the coarsest one.
  KOKKOS_FUNCTION static std::size_t trial_bytes(Index n) {
    return static_cast<std::size_t>(n) * (6 * sizeof(Index) + sizeof(HeapEntry) + 1) + 256;
  }

  template <class Threads>
  KOKKOS_FUNCTION void find_matching(const Threads& team, const Graph& graph, const Indices& limit,
                                     std::uint64_t seed, const Indices& match, TeamMemory& memory) const {
    const Index n = graph.n_vertices;
    const auto count = static_cast<std::size_t>(n);
    const Words suitor(memory.template take_high<std::uint64_t>(count), count);
    const typename Matching::Propose proposal{graph, limit, suitor,
                                              static_cast<std::uint32_t>(mix_bits(seed))};
    team.for_each(n, [&](Index v) { suitor(v) = 0; });
    team.for_each(n, proposal);
    const Index alone = team.sum(n, typename Matching::Accept{suitor, match});
    if (alone <= n / 6) return;
    const Indices position = piece(memory.template take_high<Index>(count + 1), n + 1);
    const Words keys(suitor.data(), static_cast<std::size_t>(alone));
    team.exclusive_scan(n, position, typename Matching::IsAlone{match});
    team.for_each(n, typename Matching::ListAlone{proposal, match, position, keys});
    Kokkos::Experimental::sort_team(team.member, keys);
    team.member.team_barrier();
    team.for_each(alone, typename Matching::PairAtHub{proposal, match, keys, alone});
  }

  /// Contracts if the coarse graph fits. @returns whether it does; `workspace` draws from its high end
  template <class Threads>
  KOKKOS_FUNCTION bool contract(const Threads& team, Shared& shared, int last, const Indices& match,
                                const Indices& coarse_of, Index n, TeamMemory& memory,
                                TeamMemory workspace) const {
    const Graph fine = graph_of(shared.levels[last]);
    const auto count = static_cast<std::size_t>(n), bound = static_cast<std::size_t>(fine.n_entries());
    const auto high = [&](std::size_t size) {
      return Indices(workspace.template take_high<Index>(size), size);
    };
    const Indices member = high(count), start = high(count + 1), number = high(count), to = high(bound),
                  weights = high(bound), table = high(2 * bound);
    Graph coarse;
    coarse.n_graphs = 1;
    coarse.n_vertices = n;
    coarse.row_map = piece(memory.template take<Index>(count + 1), n + 1);
    coarse.vertex_weights = piece(memory.template take<Index>(count), n);
    team.for_each(fine.n_vertices, typename Contract::Members{match, coarse_of, member});
    team.exclusive_scan(n, start, typename Contract::Length{fine, match, member});
    team.for_each(n, typename Contract::Collect{fine, coarse, match, coarse_of, member, start, to, weights,
                                                table, number});
    const Index n_entries = team.exclusive_scan(n, coarse.row_map, typename Contract::Count{number});
    coarse.neighbours = piece(memory.template take<Index>(static_cast<std::size_t>(n_entries)), n_entries);
    coarse.edge_weights = piece(memory.template take<Index>(static_cast<std::size_t>(n_entries)), n_entries);
    const auto part = memory.template take<signed char>(count);
    if (memory.free_bytes() < trial_bytes(n)) return false;
    team.for_each(n, typename Contract::Compact{coarse, start, to, weights});
    const auto behind = memory.template take<char>(0);
    team.once([&] {
      shared.levels[last].coarse_of = coarse_of.data();
      Level& level = shared.levels[last + 1];
      level.ends[0] = 0;
      level.ends[1] = n;
      level.n_entries = n_entries;
      level.row_map = coarse.row_map.data();
      level.neighbours = coarse.neighbours.data();
      level.edge_weights = coarse.edge_weights.data();
      level.vertex_weights = coarse.vertex_weights.data();
      level.part = part;
      level.workspace = behind;
    });
    return true;
  }

  /// Makes as many trials as options and memory allow; the best is kept.
  template <class Threads>
  KOKKOS_FUNCTION void separate_coarsest(const Threads& team, Shared& shared, int last,
                                         TeamMemory memory) const {
    Level& level = shared.levels[last];
    const Index n = level.ends[1];
    const auto room = static_cast<Index>(memory.free_bytes() / trial_bytes(n));
    const auto wanted = static_cast<Index>(m_options.team_trials);
    const Index trials = n > large_coarsest || room < 2 ? Index(1) : room < wanted ? room : wanted;
    const auto take = [&](Index factor) {
      return memory.template take<Index>(static_cast<std::size_t>(factor * trials * n));
    };
    const NodeFmArrays<Index> arrays{
        take(2), take(1), take(1),
        take(1), take(1), memory.template take<HeapEntry>(static_cast<std::size_t>(trials * n))};
    const auto count = static_cast<std::size_t>(trials);
    const Parts trial_part(memory.template take<signed char>(count * static_cast<std::size_t>(n)),
                           count * static_cast<std::size_t>(n));
    const Piece<SeparatorWeights<Index>, MemorySpace> weights(
        memory.template take<SeparatorWeights<Index>>(count), count);
    DissectionOptions options = m_options;
    options.seed = shared.seed;
    team.for_each_apart(trials, Grow{graph_of(level), trial_part, weights, arrays, options});
    const Index max_side = weights(0).max_side(m_options.max_side_share);
    Index best = 0;
    for (Index trial = 1; trial < trials; ++trial)
      if (weights(trial).better_than(weights(best), max_side)) best = trial;
    team.for_each(n, [&](Index v) { level.part[v] = trial_part(best * n + v); });
    team.once([&] { shared.state.weights = weights(best); });
  }

  /// Projects the separator of the next coarser level to this one and refines it.
  template <class Threads>
  KOKKOS_FUNCTION void project(const Threads& team, Shared& shared, int number) const {
    Level& level = shared.levels[number];
    const signed char* const coarse = shared.levels[number + 1].part;
    const Index n = level.ends[1];
    team.for_each(n, [&](Index v) { level.part[v] = coarse[level.coarse_of[v]]; });
    const Separators separators{graph_of(level),
                                Parts(level.part, static_cast<std::size_t>(n)),
                                fm_arrays(level.workspace, n),
                                m_options.max_side_share,
                                max_patience,
                                max_passes};
    team.once([&] { shared.state = {}; });
    constexpr Index chunk = Separators::chunk;
    team.for_each((n + chunk - 1) / chunk, [&](Index c) {
      const Index begin = c * chunk;
      separators.collect(shared.state, Index(0), begin, begin + chunk < n ? begin + chunk : n);
    });
    team.once([&] { separators.refine(shared.state, Index(0), n); });
  }

  /// Arrays of one trial, in memory of `trial_bytes(n)`.
  KOKKOS_FUNCTION static NodeFmArrays<Index> fm_arrays(char* memory, Index n) {
    const auto heap = reinterpret_cast<HeapEntry*>(memory);
    const auto pull = reinterpret_cast<Index*>(heap + n);
    return {pull, pull + 2 * n, pull + 3 * n, pull + 4 * n, pull + 5 * n, heap};
  }

  using HeapEntry = typename VertexHeap<Index>::Entry;
  /// A coarsest graph above `large_coarsest` vertices stems from coarsening that stalled. One thread makes a
  /// trial, so only one is made there. One thread also moves vertices while its team waits: hence limits
  /// below those of hosts (patience up to the list's length, 20 passes).
  static constexpr Index large_coarsest = 1000, max_patience = 200;
  static constexpr int max_passes = 6;

  Graph m_batch;
  DissectionOptions m_options;
  Parts m_best, m_parts;              ///< result; [descents n_vertices] parts of all descents
  Weights m_weights;                  ///< [descents n_graphs]
  Piece<char, MemorySpace> m_memory;  ///< memory of all teams
  Index m_descents = 1;
};

}  // namespace lutra::Impl

#endif
