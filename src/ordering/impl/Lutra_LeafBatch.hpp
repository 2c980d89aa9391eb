// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEAFBATCH_HPP
#define LUTRA_LEAFBATCH_HPP

#include <algorithm>
#include <vector>

#include "Lutra_DissectionNode.hpp"
#include "Lutra_Executors.hpp"
#include "Lutra_LeafOrdering.hpp"

namespace lutra::Impl {

/// Extracts the leaves of a dissection from the whole graph, each with its boundary, and orders them by
/// `LeafOrdering`. The entries of a leaf are those of its vertices' rows; their number bounds the size of the
/// boundary.
///
///     leaf_of, local   leaf of each vertex and its number there                     one team per leaf
///     n_entries        sums of row lengths; their scan gives the start of each leaf's arrays
///     boundary         a hash table finds the distinct neighbours outside; they are numbered after the
///                      leaf's vertices, in any order, which does not affect degrees
///
/// Leaves too large for the bit rows of a team are left to the host.
template <class Executor, class Index>
class LeafBatch {
 public:
  using Space = typename Executor::execution_space;
  using MemorySpace = typename Executor::memory_space;
  using Graph = GraphBatch<Index, MemorySpace>;
  using Indices = Piece<Index, MemorySpace>;
  using HostIndices = Piece<Index, Kokkos::HostSpace>;
  using Stack = DissectionStack<MemorySpace>;
  using Node = DissectionNode<Index>;
  using Ordering = LeafOrdering<Space, Index>;

  /// @param graph the whole graph, as a batch of one
  /// @param order [n] vertices by position
  LeafBatch(const Executor& exec, const Graph& graph, const Indices& order)
      : m_exec(exec), m_graph(graph), m_order(order) {}

  /// Orders the leaves among the nodes.
  /// @return [nodes] whether the vertices of a leaf have been ordered
  std::vector<char> run(const std::vector<Node>& nodes, Stack& stack) {
    const auto mark = stack.mark();
    std::vector<std::size_t> node;
    std::vector<Index> begin, inner, before{0};  // before: vertices of the preceding leaves, plus one per
                                                 // leaf
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const Index n = nodes[k].end - nodes[k].own_begin;
      if (!nodes[k].leaf || n == 0 || n > max_inner) continue;
      node.push_back(k);
      begin.push_back(nodes[k].own_begin);
      inner.push_back(n);
      before.push_back(before.back() + n + 1);
    }
    std::vector<char> ordered(nodes.size(), 0);
    if (node.empty()) return ordered;
    const auto n_leaves = static_cast<Index>(node.size());
    take_arrays(n_leaves, before.back(), upload(begin, stack), upload(inner, stack), upload(before, stack),
                stack);
    cut_out();
    std::vector<Index> boundary(node.size());
    m_exec.fence();
    Kokkos::deep_copy(HostIndices(boundary.data(), boundary.size()), m_n_boundary);
    // Grouped by scratch memory, so that one large leaf does not increase it for all.
    std::size_t from = 0;
    for (const std::size_t to : {std::size_t(24) << 10, std::size_t(40) << 10, std::size_t(128) << 10}) {
      std::vector<Index> chosen;
      Index most_inner = 0, most = 0;
      for (std::size_t k = 0; k < node.size(); ++k) {
        const std::size_t bytes = Ordering::scratch_bytes(inner[k], inner[k] + boundary[k]);
        if (bytes <= from || bytes > to) continue;
        chosen.push_back(static_cast<Index>(k));
        ordered[node[k]] = 1;
        most_inner = std::max(most_inner, inner[k]);
        most = std::max(most, inner[k] + boundary[k]);
      }
      from = to;
      if (chosen.empty()) continue;
      const Indices list = upload(chosen, stack);
      Ordering(m_leaves, m_n_inner, m_n_boundary, m_leaf_order).run(m_exec.space, list, most_inner, most);
      m_exec.template for_each_team<128>("lutra::ordering::put_back_leaves",
                                         static_cast<Index>(chosen.size()), 128, PutBack{*this, list});
    }
    m_exec.fence();
    stack.rewind(mark);
    return ordered;
  }

  // Kernels are public: nvcc instantiates them by name.
  struct Mark {
    LeafBatch of;
    static std::size_t scratch_bytes() { return 0; }
    template <class Member>
    KOKKOS_FUNCTION void operator()(const Member& member) const {
      of.mark(TeamThreads<Member>{member}, static_cast<Index>(member.league_rank()));
    }
  };
  struct CutOut {
    LeafBatch of;
    static std::size_t scratch_bytes() { return sizeof(Index) + 16; }
    template <class Member>
    KOKKOS_FUNCTION void operator()(const Member& member) const {
      auto& count = *static_cast<Index*>(member.team_scratch(0).get_shmem_aligned(sizeof(Index), 8));
      of.cut_leaf(TeamThreads<Member>{member}, static_cast<Index>(member.league_rank()), count);
    }
  };
  struct PutBack {
    LeafBatch of;
    Indices chosen;
    static std::size_t scratch_bytes() { return 0; }
    template <class Member>
    KOKKOS_FUNCTION void operator()(const Member& member) const {
      const Index g = chosen(member.league_rank()), first = of.m_leaves.first_vertex(g);
      TeamThreads<Member>{member}.for_each(of.m_n_inner(g), [&](Index k) {
        of.m_order(of.m_begin(g) + k) = of.m_vertex(of.m_leaf_order(first + k));
      });
    }
  };
  struct Entries {
    Indices n_entries;
    KOKKOS_FUNCTION Index operator()(const Index g) const { return n_entries(g); }
  };
  struct FirstVertices {
    Indices before, start, first;
    KOKKOS_FUNCTION void operator()(const Index g) const { first(g) = before(g) + start(g); }
  };

  template <class Threads>
  KOKKOS_FUNCTION void mark(const Threads& team, Index g) const {
    const Index begin = m_begin(g), n = m_n_inner(g);
    team.for_each(n, [&](Index i) {
      m_leaf_of(m_order(begin + i)) = g;
      m_local(m_order(begin + i)) = i;
    });
    const Index sum = team.sum(n, [&](Index i, Index& partial) { partial += length(m_order(begin + i)); });
    team.once([&] { m_n_entries(g) = sum; });
  }

  template <class Threads>
  KOKKOS_FUNCTION void cut_leaf(const Threads& team, Index g, Index& count) const {
    const Index begin = m_begin(g), n = m_n_inner(g), first = m_leaves.first_vertex(g), entry = m_start(g),
                slots = 2 * (m_start(g + 1) - entry);
    Index *const table = m_table.data() + 2 * entry, *const number = m_number.data() + 2 * entry;
    const Indices rows(m_leaves.row_map.data() + first, static_cast<std::size_t>(n) + 1);
    team.for_each(slots, [&](Index s) { table[s] = -1; });
    team.once([&] { count = n; });
    team.exclusive_scan(n, rows, [&](Index i) { return length(m_order(begin + i)); });
    team.for_each(n, [&](Index i) {
      const Index v = m_order(begin + i);
      m_vertex(first + i) = v;
      m_leaves.vertex_weights(first + i) = m_graph.vertex_weights(v);
      for (Index p = m_graph.row_map(v); p < m_graph.row_map(v + 1); ++p)
        if (m_leaf_of(m_graph.neighbours(p)) != g) insert(table, slots, m_graph.neighbours(p));
    });
    team.for_each(slots, [&](Index s) {
      if (table[s] < 0) return;
      number[s] = Executor::fetch_add(&count, Index(1));
      m_leaves.vertex_weights(first + number[s]) = m_graph.vertex_weights(table[s]);
    });
    team.for_each(n, [&](Index i) {
      const Index v = m_order(begin + i);
      Index to = entry + rows(i);
      for (Index p = m_graph.row_map(v); p < m_graph.row_map(v + 1); ++p) {
        const Index u = m_graph.neighbours(p);
        m_leaves.neighbours(to++) =
            first + (m_leaf_of(u) == g ? m_local(u) : number[insert(table, slots, u)]);
      }
    });
    team.for_each(n + 1, [&](Index i) { rows(i) += entry; });
    team.once([&] { m_n_boundary(g) = count - n; });
  }

 private:
  /// Larger leaves go to the host. Bit rows grow with the square: 125 kB for 1000 inner vertices without
  /// boundary, half the shared memory of a multiprocessor of an H100.
  static constexpr Index max_inner = 1000;

  KOKKOS_FUNCTION Index length(Index v) const { return m_graph.row_map(v + 1) - m_graph.row_map(v); }

  /// Slot of a vertex in a hash table; inserts it if absent.
  KOKKOS_FUNCTION static Index insert(Index* table, Index slots, Index u) {
    const std::uint64_t hash = mix_bits(static_cast<std::uint64_t>(u)) >> 32;
    auto s = static_cast<Index>((hash * static_cast<std::uint64_t>(slots)) >> 32);
    for (;; s = s + 1 < slots ? s + 1 : 0) {
      const Index found = Executor::compare_exchange(&table[s], Index(-1), u);
      if (found == Index(-1) || found == u) return s;
    }
  }

  Indices upload(const std::vector<Index>& from, Stack& stack) const {
    const Indices to = stack.template take<Index>(from.size());
    Kokkos::deep_copy(to, HostIndices(const_cast<Index*>(from.data()), from.size()));
    return to;
  }

  void take_arrays(Index n_leaves, Index n_inner, const Indices& begin, const Indices& inner,
                   const Indices& before, Stack& stack) {
    const Index n_entries = m_graph.n_entries(), n_all = n_inner + n_entries;
    const auto take = [&](Index n) { return stack.template take<Index>(n); };
    m_begin = begin;
    m_n_inner = inner;
    m_before = before;
    m_leaf_of = take(m_graph.n_vertices);
    m_local = take(m_graph.n_vertices);
    m_n_entries = take(n_leaves);
    m_start = take(n_leaves + 1);
    m_n_boundary = take(n_leaves);
    m_table = stack.template take<Index>(2 * static_cast<std::size_t>(n_entries));
    m_number = stack.template take<Index>(2 * static_cast<std::size_t>(n_entries));
    m_vertex = take(n_all);
    m_leaf_order = take(n_all);
    m_leaves.n_graphs = n_leaves;
    m_leaves.n_vertices = n_all;
    m_leaves.first_vertex = take(n_leaves + 1);
    m_leaves.row_map = take(n_all);
    m_leaves.vertex_weights = take(n_all);
    m_leaves.neighbours = take(n_entries);
  }

  void cut_out() {
    const Index n_leaves = m_leaves.n_graphs;
    m_exec.fill(m_leaf_of, Index(-1));
    m_exec.template for_each_team<128>("lutra::ordering::mark_leaves", n_leaves, 128, Mark{*this});
    m_exec.exclusive_scan("lutra::ordering::leaf_entries", n_leaves, m_start, Entries{m_n_entries});
    m_exec.for_each("lutra::ordering::leaf_starts", n_leaves + 1,
                    FirstVertices{m_before, m_start, m_leaves.first_vertex});
    m_exec.template for_each_team<128>("lutra::ordering::cut_leaves", n_leaves, 128, CutOut{*this});
  }

  Executor m_exec;
  Graph m_graph;
  Indices m_order;
  Graph m_leaves;
  Indices m_begin, m_n_inner,
      m_before;  ///< [n_leaves] start in `order`; vertices; vertices of preceding leaves, plus one per leaf
  Indices m_leaf_of, m_local;                  ///< [n]
  Indices m_n_entries, m_start, m_n_boundary;  ///< [n_leaves] entries of a leaf's rows; of preceding leaves;
                                               ///< boundary vertices
  Indices m_table, m_number;                   ///< [2 entries] hash tables: vertices, numbers in the leaf
  Indices m_vertex, m_leaf_order;              ///< by vertex of the leaves: number in the graph, order
};

}  // namespace lutra::Impl

#endif
