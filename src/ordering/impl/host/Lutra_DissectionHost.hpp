// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISSECTIONHOST_HPP
#define LUTRA_DISSECTIONHOST_HPP

// Nested dissection (George 1973) on host threads, depth first.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "Lutra_DissectionGraph.hpp"
#include "Lutra_DissectionNode.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_LeafWorkspace.hpp"
#include "Lutra_MultilevelBisection.hpp"
#include "Lutra_NestedDissection.hpp"
#include "Lutra_OneThread.hpp"
#include "Lutra_SharedLoops.hpp"

namespace lutra::Impl {

/// Depth-first nested dissection on host threads. Each subgraph owns a range of `order`, which a bisection
/// rearranges:
///
///     order   | … |   side a    |   side b    | separator | … |      ranges stay in place, so the array
///                 | a' | b' | s'|     ^                              becomes the permutation
///                                     └ possibly a task of another thread
///
/// A task is a subgraph with its own arrays. Results do not depend on which thread takes it. While there are
/// fewer tasks than threads, idle threads help with the bisections of others.
template <class Index>
class DissectionHost {
 public:
  using Graph = DissectionGraph<Index>;
  using Indices = Piece<Index>;
  using Parts = Piece<signed char>;
  using Stack = DissectionStack;
  using Node = DissectionNode<Index>;

  DissectionHost(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights,
                 const DissectionOptions& options, const MemoryBudget& budget, std::size_t n_threads)
      : m_graph(graph),
        m_weights(weights),
        m_options(options),
        m_budget(budget),
        m_n_threads(n_threads),
        m_loops(n_threads) {
    m_stop.query = budget.run().query();
  }

  /// @param order [n] vertices grouped by component, ascending within each; on return the order
  /// @param first start of each component in `order`, and the end
  /// @param control what else a thread does, and may stop the dissection
  /// @return whether the dissection is complete; false if it was stopped, even after its last task
  /// @throws CancelledError if the running call has to end
  bool run(const std::vector<Index>& first, std::vector<Index>& order,
           const DissectionControl& control = {}) {
    m_order = order.data();
    m_goes_on = control.goes_on;
    add_components(order, first);
    // No thread waits for the one that stops the dissection, and that one waits for no other.
    for_each_task(m_n_threads, m_n_threads, [&](std::size_t, std::size_t worker) {
      try {
        if (worker == 0 && control.other_work && !control.other_work()) m_stop.is_raised = true;
        run_tasks(m_loops[worker]);
      } catch (const DissectionStopped&) {
      } catch (...) {
        m_stop.is_raised = true;
        throw;
      }
    });
    m_budget.run().poll();
    return !m_stop.is_raised;
  }

  std::vector<Node> nodes;  ///< unordered
  std::atomic<Index> n_degenerate = 0;

 private:
  /// Subgraph with its own arrays.
  struct Task {
    std::vector<Index> memory;
    Graph graph;
    Index begin = 0;
  };

  struct Worker {
    Worker(DissectionHost& of, SharedLoop& own)
        : loop(own),
          stack(of.m_budget),
          bisection(OneThread{}, of.m_options, &of.m_stop),
          shared_bisection({&own, of.m_n_threads}, of.m_options, &of.m_stop),
          leaves(of.m_graph, of.m_weights) {}
    SharedLoop& loop;
    Stack stack;
    MultilevelBisection<OneThread, Index> bisection;
    MultilevelBisection<SharedThreads, Index> shared_bisection;  ///< uses idle threads
    LeafWorkspace<Index> leaves;
    std::vector<Node> nodes;
  };

  // Smaller: better balance; larger: fewer tasks, and fewer loops that wait for helpers.
  static constexpr Index min_task_vertices = 2000;     ///< smaller halves stay with their thread
  static constexpr Index min_shared_vertices = 10000;  ///< smaller subgraphs are bisected without help

  void run_tasks(SharedLoop& loop) {
    Worker worker(*this, loop);
    while (m_n_unfinished > 0 && !m_stop.must_stop()) {
      const std::unique_ptr<Task> task = next_task();
      if (task == nullptr) {
        bool helped = false;
        for (SharedLoop& other : m_loops) helped = other.help() || helped;
        if (!helped) std::this_thread::yield();
        continue;
      }
      dissect(worker, task->graph, task->begin);
      --m_n_unfinished;
    }
    const std::lock_guard lock(m_mutex);
    nodes.insert(nodes.end(), worker.nodes.begin(), worker.nodes.end());
  }

  /// The largest task.
  std::unique_ptr<Task> next_task() {
    if (m_n_waiting == 0) return nullptr;
    const std::lock_guard lock(m_mutex);
    if (m_tasks.empty()) return nullptr;
    --m_n_waiting;
    const auto largest = std::ranges::max_element(
        m_tasks, [](const auto& a, const auto& b) { return a->graph.n_vertices < b->graph.n_vertices; });
    std::swap(*largest, m_tasks.back());
    std::unique_ptr<Task> task = std::move(m_tasks.back());
    m_tasks.pop_back();
    return task;
  }

  void add_task(std::unique_ptr<Task> task) {
    ++m_n_unfinished;
    const std::lock_guard lock(m_mutex);
    m_tasks.push_back(std::move(task));
    ++m_n_waiting;
  }

  void dissect(Worker& worker, const Graph& graph, Index begin) {
    if (m_stop.must_stop()) throw DissectionStopped();
    const Index n = graph.n_vertices;
    if (n <= static_cast<Index>(m_options.leaf_vertices)) return order_leaf(worker, begin, n);
    Stack& stack = worker.stack;
    const auto mark = stack.mark();
    const Parts part = stack.take<signed char>(n);
    // Does not affect the result.
    const bool others_are_idle = m_n_unfinished < static_cast<std::int64_t>(m_n_threads);
    if (others_are_idle && n >= min_shared_vertices) {
      worker.shared_bisection.bisect(graph, part, stack);
    } else {
      worker.bisection.bisect(graph, part, stack);
    }
    std::array<Index, 3> size{};
    for (Index v = 0; v < n; ++v) ++size[static_cast<std::size_t>(part(v))];
    if (m_goes_on && n > m_graph.size() / 2) ask_to_go_on(graph, part);
    if (is_degenerate(size[0], size[1], size[2])) {
      stack.rewind(mark);
      ++n_degenerate;
      return order_leaf(worker, begin, n);
    }
    const Indices number = stack.take<Index>(n);
    rearrange(stack, part, size, number, m_order + begin);
    if (size[2] > 0) worker.nodes.push_back({begin, begin + size[0] + size[1], begin + n, false});
    const bool share = m_n_threads > 1 && size[1] >= min_task_vertices;
    for (const signed char side : {side_a, side_b}) {
      const auto before = stack.mark();
      const Index n_side = size[static_cast<std::size_t>(side)];
      Graph half = half_graph(
          n_side,
          stack.take<Index>(2 * static_cast<std::size_t>(n_side) + 1 + graph.neighbours.extent(0)).data());
      std::unique_ptr<Task> other;
      worker.loop.run(share ? 2 : 1, [&](std::size_t k) {
        if (k == 0) cut_out(graph, part, number, side, half);
        if (k == 1) other = task_of(graph, part, number, size[1], begin + size[0]);
      });
      if (share) add_task(std::move(other));
      dissect(worker, half, side == side_a ? begin : begin + size[0]);
      stack.rewind(before);
      if (share) break;
    }
    stack.rewind(mark);
  }

  /// After the first bisection of most of the graph.
  void ask_to_go_on(const Graph& graph, const Parts& part) {
    std::int64_t weight = 0;
    for (Index v = 0; v < graph.n_vertices; ++v)
      if (part(v) == separator) weight += graph.vertex_weights(v);
    if (std::exchange(m_goes_on, {})(weight)) return;
    m_stop.is_raised = true;
    throw DissectionStopped();
  }

  void order_leaf(Worker& worker, Index begin, Index n) {
    worker.leaves.order(m_order + begin, n);
    m_ordered += n;
    m_budget.run().tell_share(static_cast<double>(m_ordered), static_cast<double>(m_graph.size()));
    worker.nodes.push_back({begin, begin, begin + n, true});
  }

  /// Moves the vertices of a range to their parts and numbers them within each part.
  static void rearrange(Stack& stack, const Parts& part, const std::array<Index, 3>& size,
                        const Indices& number, Index* range) {
    const auto n = static_cast<Index>(part.extent(0));
    const auto mark = stack.mark();
    const Indices before = stack.take<Index>(n);
    std::copy_n(range, n, before.data());
    const std::array<Index, 3> first = {0, size[0], size[0] + size[1]};
    std::array<Index, 3> next{};
    for (Index v = 0; v < n; ++v) {
      const auto p = static_cast<std::size_t>(part(v));
      number(v) = next[p]++;
      range[first[p] + number(v)] = before(v);
    }
    stack.rewind(mark);
  }

  /// A graph with n vertices, using 2 n + 1 numbers of `memory` and its entries.
  static Graph half_graph(Index n, Index* memory) {
    Graph half;
    half.n_vertices = n;
    half.vertex_weights = Indices(memory, static_cast<std::size_t>(n));
    half.row_map = Indices(memory + n, static_cast<std::size_t>(n) + 1);
    half.neighbours = Indices(memory + 2 * n + 1, 0);
    return half;
  }

  /// Extracts the subgraph of one side, without edges to the separator.
  static void cut_out(const Graph& graph, const Parts& part, const Indices& number, signed char side,
                      Graph& half) {
    const Index* const rows = graph.row_map.data();
    const Index* const heads = graph.neighbours.data();
    const signed char* const parts = part.data();
    Index* const to = half.neighbours.data();
    Index i = 0, end = 0;
    for (Index v = 0; v < graph.n_vertices; ++v) {
      if (parts[v] != side) continue;
      half.vertex_weights(i) = graph.vertex_weights(v);
      half.row_map(i++) = end;
      for (Index p = rows[v]; p < rows[v + 1]; ++p) {
        const Index u = heads[p];
        to[end] = number(u);
        end += parts[u] == side;
      }
    }
    half.row_map(i) = end;
    half.neighbours = Indices(to, static_cast<std::size_t>(end));
  }

  static std::unique_ptr<Task> task_of(const Graph& graph, const Parts& part, const Indices& number,
                                       Index n_side, Index begin) {
    std::size_t n_entries = 1;  // one extra: cut_out writes an entry before it decides to keep it
    for (Index v = 0; v < graph.n_vertices; ++v)
      if (part(v) == side_b) n_entries += static_cast<std::size_t>(graph.row_map(v + 1) - graph.row_map(v));
    auto task = std::make_unique<Task>();
    task->memory.resize(2 * static_cast<std::size_t>(n_side) + 1 + n_entries);
    task->graph = half_graph(n_side, task->memory.data());
    task->begin = begin;
    cut_out(graph, part, number, side_b, task->graph);
    return task;
  }

  /// Adds a task for each component.
  void add_components(const std::vector<Index>& order, const std::vector<Index>& first) {
    if (first.size() == 2) {
      auto task = std::make_unique<Task>();
      task->graph = whole_graph();
      return add_task(std::move(task));
    }
    std::vector<Index> number(order.size());
    for (std::size_t c = 0; c + 1 < first.size(); ++c)
      add_task(task_of(order, first[c], first[c + 1], number));
  }

  /// The whole graph, not copied: graphs are read-only.
  Graph whole_graph() const {
    const auto piece = [](const std::vector<Index>& of) {
      return Indices(const_cast<Index*>(of.data()), of.size());
    };
    Graph graph;
    graph.n_vertices = m_graph.size();
    graph.row_map = piece(m_graph.row_map);
    graph.neighbours = piece(m_graph.neighbours);
    graph.vertex_weights = piece(m_weights);
    return graph;
  }

  /// Subgraph of the vertices order[begin … end − 1], which have no outside neighbours.
  std::unique_ptr<Task> task_of(const std::vector<Index>& order, Index begin, Index end,
                                std::vector<Index>& number) const {
    std::size_t n_entries = 0;
    for (Index k = begin; k < end; ++k) {
      const Index v = at(order, k);
      at(number, v) = k - begin;
      n_entries += static_cast<std::size_t>(at(m_graph.row_map, v + 1) - at(m_graph.row_map, v));
    }
    auto task = std::make_unique<Task>();
    task->memory.resize(2 * static_cast<std::size_t>(end - begin) + 1 + n_entries);
    task->begin = begin;
    Graph& graph = task->graph = half_graph(end - begin, task->memory.data());
    Index next = 0;
    for (Index k = begin; k < end; ++k) {
      const Index v = at(order, k);
      graph.vertex_weights(k - begin) = at(m_weights, v);
      graph.row_map(k - begin) = next;
      for (Index p = at(m_graph.row_map, v); p < at(m_graph.row_map, v + 1); ++p)
        graph.neighbours.data()[next++] = at(number, at(m_graph.neighbours, p));
    }
    graph.row_map(end - begin) = next;
    graph.neighbours = Indices(graph.neighbours.data(), static_cast<std::size_t>(next));
    return task;
  }

  const SymmetricGraph<Index>& m_graph;
  const std::vector<Index>& m_weights;
  DissectionOptions m_options;
  MemoryBudget m_budget;
  std::size_t m_n_threads;
  Index* m_order = nullptr;                     ///< [n] vertices by position
  std::function<bool(std::int64_t)> m_goes_on;  ///< empty after its call
  std::mutex m_mutex;                           ///< protects m_tasks and nodes
  std::vector<std::unique_ptr<Task>> m_tasks;
  std::atomic<std::int64_t> m_n_unfinished = 0;  ///< number of tasks waiting or running
  std::atomic<std::int64_t> m_n_waiting = 0;     ///< length of m_tasks
  DissectionStop m_stop;                         ///< raised by a failure or by the other work, too
  std::atomic<std::int64_t> m_ordered = 0;       ///< vertices in leaves that are ordered
  std::deque<SharedLoop> m_loops;                ///< one per thread
};

}  // namespace lutra::Impl

#endif
