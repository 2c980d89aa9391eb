// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELDISSECTION_HPP
#define LUTRA_LEVELDISSECTION_HPP

// Nested dissection (George 1973) on all threads of a space, level by level of the separator tree; used on
// devices.

#include <numeric>
#include <vector>

#include "Lutra_BatchBisection.hpp"
#include "Lutra_DissectionNode.hpp"
#include "Lutra_LeafBatch.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra::Impl {

/// Level-by-level nested dissection on all threads of an execution space: the subgraphs of a level form one
/// batch and share every launch.
///
///     level 0   | graph                                      |      order: a subgraph owns a range, which a
///     level 1   | side a           | side b          | sep.  |      bisection splits into three
///     level 2   | a | b | s.       | leaf | b   | s. |       |      batch: the ranges still to be dissected
///
/// The host reads three counts per subgraph and level, and selects leaves. There is no search for connected
/// components: bisections separate them, with empty separators.
template <class Executor, class Index>
class LevelDissection {
 public:
  using MemorySpace = typename Executor::memory_space;
  using Graph = GraphBatch<Index, MemorySpace>;
  using Indices = Piece<Index, MemorySpace>;
  using HostIndices = Piece<Index, Kokkos::HostSpace>;
  using Parts = Piece<signed char, MemorySpace>;
  using Stack = DissectionStack<MemorySpace>;
  using Node = DissectionNode<Index>;

  LevelDissection(const Executor& exec, const DissectionOptions& options, const MemoryBudget& budget)
      : m_exec(exec), m_options(options), m_bisection(exec, options), m_budget(budget) {}

  /// @param order [n] vertices by position
  void run(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights, std::vector<Index>& order) {
    const auto n = static_cast<Index>(order.size());
    if (n <= static_cast<Index>(m_options.leaf_vertices)) {
      std::iota(order.begin(), order.end(), Index(0));
      if (n > 0) nodes.push_back({0, 0, n, true});
      ordered.assign(nodes.size(), 0);
      return;
    }
    // Block sizes sufficient for most graphs: an allocation takes as long as many launches.
    const std::size_t n_bytes = order.size() * sizeof(Index), bytes = graph.neighbours.size() * sizeof(Index);
    Stack memory(m_budget, 60 * n_bytes + 20 * bytes), even(m_budget, 6 * n_bytes + bytes),
        odd(m_budget, 6 * n_bytes + bytes);
    m_memory = &memory;
    m_order = memory.template take<Index>(n);
    m_exec.for_each("lutra::ordering::identity", n, Identity{m_order});
    const Graph whole = upload(graph, weights);
    const Indices before = memory.template take<Index>(n);
    Graph batch = whole;
    m_begin.assign(1, 0);
    for (bool is_even = true; batch.n_graphs > 0; is_even = !is_even)
      batch = dissect(batch, before, is_even ? even : odd);
    ordered = LeafBatch<Executor, Index>(m_exec, whole, m_order).run(nodes, memory);
    Kokkos::deep_copy(HostIndices(order.data(), order.size()), m_order);
  }

  std::vector<Node> nodes;
  std::vector<char> ordered;  ///< [nodes] whether the vertices of a leaf are ordered; else that is left to
                              ///< the host
  Index n_degenerate = 0;

  // Kernels are public: nvcc instantiates them by name.
  struct Identity {
    Indices order;
    KOKKOS_FUNCTION void operator()(const Index v) const { order(v) = v; }
  };

  struct CountParts {
    Graph graph;
    Parts part;
    Indices size;
    KOKKOS_FUNCTION void operator()(const Index v) const {
      Executor::fetch_add(&size(3 * graph.graph_of(v) + part(v)), Index(1));
    }
  };

  struct IsIn {
    Parts part;
    signed char which;
    KOKKOS_FUNCTION Index operator()(const Index v) const { return part(v) == which ? 1 : 0; }
  };

  /// Destinations of the parts of a graph.
  struct Targets {
    Indices begin;        ///< [n_graphs] start of the graph's range in `order`
    Indices first;        ///< [3 n_graphs] start of each part in `order`; −1: the graph is not split
    Indices child;        ///< [2 n_graphs] graph of each side in the next batch; −1: a leaf
    Indices child_first;  ///< [next n_graphs + 1] first vertex of each graph there
  };

  /// Moves a vertex to its part; number[v] is its number in the next batch, −1 if it is in none.
  struct Move {
    Graph graph;
    Parts part;
    Indices in_a, in_b;  ///< number of vertices of side a, b before each vertex of the batch
    Targets to;
    Indices before, order, number, next_graph;
    KOKKOS_FUNCTION void operator()(const Index v) const {
      const Index g = graph.graph_of(v), start = graph.first_vertex(g), local = v - start;
      const Index a = in_a(v) - in_a(start), b = in_b(v) - in_b(start);
      const signed char p = part(v);
      const Index rank = p == side_a ? a : p == side_b ? b : local - a - b;
      number(v) = -1;
      if (to.first(3 * g) < 0) return;
      order(to.first(3 * g + p) + rank) = before(to.begin(g) + local);
      const Index child = p == separator ? Index(-1) : to.child(2 * g + p);
      if (child < 0) return;
      number(v) = to.child_first(child) + rank;
      if (next_graph.extent(0) > 0) next_graph(number(v)) = child;
    }
  };

  struct RowLength {
    Graph graph;
    Parts part;
    Indices number, length, weights;
    KOKKOS_FUNCTION void operator()(const Index v) const {
      if (number(v) < 0) return;
      Index sum = 0;
      for (Index p = graph.row_map(v); p < graph.row_map(v + 1); ++p)
        sum += part(graph.neighbours(p)) == part(v) ? 1 : 0;
      length(number(v)) = sum;
      weights(number(v)) = graph.vertex_weights(v);
    }
  };

  struct Value {
    Indices of;
    KOKKOS_FUNCTION Index operator()(const Index i) const { return of(i); }
  };

  struct FillRows {
    Graph graph;
    Parts part;
    Indices number, row_map, neighbours;
    KOKKOS_FUNCTION void operator()(const Index v) const {
      if (number(v) < 0) return;
      Index to = row_map(number(v));
      for (Index p = graph.row_map(v); p < graph.row_map(v + 1); ++p) {
        const Index u = graph.neighbours(p);
        if (part(u) == part(v)) neighbours(to++) = number(u);
      }
    }
  };

 private:
  Indices upload(const std::vector<Index>& from, Stack& stack) const {
    const Indices to = stack.template take<Index>(from.size());
    Kokkos::deep_copy(m_exec.space, to, HostIndices(const_cast<Index*>(from.data()), from.size()));
    m_exec.fence();  // the source may be freed
    return to;
  }

  /// Copies the graph to the device as a batch of one.
  Graph upload(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights) const {
    Graph batch;
    batch.n_graphs = 1;
    batch.n_vertices = graph.size();
    batch.first_vertex = upload({0, graph.size()}, *m_memory);
    batch.row_map = upload(graph.row_map, *m_memory);
    batch.neighbours = upload(graph.neighbours, *m_memory);
    batch.vertex_weights = upload(weights, *m_memory);
    return batch;
  }

  /// Bisects all graphs of a batch. @returns the batch of sides to dissect further, in `memory`
  Graph dissect(const Graph& batch, const Indices& before, Stack& memory) {
    memory.rewind({0, 0});
    const auto mark = m_memory->mark();
    const Index n = batch.n_vertices;
    const Parts part = m_memory->template take<signed char>(n);
    m_bisection.bisect(batch, part, *m_memory);
    const Indices size = m_memory->template take<Index>(3 * batch.n_graphs);
    m_exec.fill(size, Index(0));
    m_exec.for_each("lutra::ordering::count_parts", n, CountParts{batch, part, size});
    std::vector<Index> sizes(size.extent(0));
    m_exec.fence();
    Kokkos::deep_copy(HostIndices(sizes.data(), sizes.size()), size);

    const Plan plan = plan_next(sizes);
    const Targets to{upload(m_begin, *m_memory), upload(plan.first, *m_memory), upload(plan.child, *m_memory),
                     upload(plan.child_first, memory)};
    Graph next;
    next.n_graphs = static_cast<Index>(plan.begin.size());
    next.n_vertices = plan.child_first.back();
    next.first_vertex = to.child_first;
    if (next.n_graphs > 1) next.graph = memory.template take<Index>(next.n_vertices);
    const Indices in_a = m_memory->template take<Index>(n + 1), in_b = m_memory->template take<Index>(n + 1),
                  number = m_memory->template take<Index>(n);
    m_exec.exclusive_scan("lutra::ordering::rank_a", n, in_a, IsIn{part, side_a});
    m_exec.exclusive_scan("lutra::ordering::rank_b", n, in_b, IsIn{part, side_b});
    Kokkos::deep_copy(m_exec.space, before, m_order);
    m_exec.for_each("lutra::ordering::move", n,
                    Move{batch, part, in_a, in_b, to, before, m_order, number, next.graph});
    cut_out(batch, part, number, next, memory);
    m_begin = plan.begin;
    m_exec.fence();
    m_memory->rewind(mark);
    return next;
  }

  void cut_out(const Graph& batch, const Parts& part, const Indices& number, Graph& next, Stack& memory) {
    next.vertex_weights = memory.template take<Index>(next.n_vertices);
    next.row_map = memory.template take<Index>(next.n_vertices + 1);
    const Indices length = m_memory->template take<Index>(next.n_vertices);
    m_exec.for_each("lutra::ordering::row_lengths", batch.n_vertices,
                    RowLength{batch, part, number, length, next.vertex_weights});
    const Index n_entries =
        m_exec.exclusive_scan("lutra::ordering::rows", next.n_vertices, next.row_map, Value{length});
    next.neighbours = memory.template take<Index>(n_entries);
    m_exec.for_each("lutra::ordering::fill_rows", batch.n_vertices,
                    FillRows{batch, part, number, next.row_map, next.neighbours});
  }

  /// Partition of each graph, see Targets; `begin` belongs to the graphs of the next batch.
  struct Plan {
    std::vector<Index> first, child, child_first{0}, begin;
  };

  Plan plan_next(const std::vector<Index>& sizes) {
    Plan plan;
    for (std::size_t g = 0; g < m_begin.size(); ++g) {
      const Index a = sizes[3 * g], b = sizes[3 * g + 1], s = sizes[3 * g + 2], begin = m_begin[g],
                  end = begin + a + b + s;
      const bool degenerate = is_degenerate(a, b, s);
      for (const Index offset : {Index(0), a, a + b})
        plan.first.push_back(degenerate ? Index(-1) : begin + offset);
      if (degenerate) {
        ++n_degenerate;
        nodes.push_back({begin, begin, end, true});
      } else if (s > 0) {
        nodes.push_back({begin, begin + a + b, end, false});
      }
      for (const int side : {0, 1}) {
        const Index n = side == 0 ? a : b, first = side == 0 ? begin : begin + a;
        const bool leaf = n <= static_cast<Index>(m_options.leaf_vertices);
        if (!degenerate && leaf) nodes.push_back({first, first, first + n, true});
        plan.child.push_back(degenerate || leaf ? Index(-1) : static_cast<Index>(plan.begin.size()));
        if (plan.child.back() < 0) continue;
        plan.begin.push_back(first);
        plan.child_first.push_back(plan.child_first.back() + n);
      }
    }
    return plan;
  }

  Executor m_exec;
  DissectionOptions m_options;
  BatchBisection<Executor, Index> m_bisection;
  MemoryBudget m_budget;
  Stack* m_memory = nullptr;  ///< set in `run`: the order, the first batch, and the workspace of a level
  Indices m_order;
  std::vector<Index> m_begin;  ///< [n_graphs] start of each graph's range
};

}  // namespace lutra::Impl

#endif
