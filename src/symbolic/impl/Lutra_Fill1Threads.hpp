// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1THREADS_HPP
#define LUTRA_FILL1THREADS_HPP

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <vector>

#include "Lutra_EliminationForest.hpp"
#include "Lutra_Fill1Rows.hpp"

namespace lutra::Impl {

/// Vertices of the elimination forest of A + Aᵀ divided among threads: whole subtrees, and a top above them.
/// Rows of a subtree need no rows outside it, since all entries of L lie below their row in the forest.
template <class Ordinal>
struct SubtreeBins {
  std::vector<Ordinal> vertices;   ///< bin after bin, ascending in each
  std::vector<std::size_t> begin;  ///< [bins + 1], heaviest bin first
  std::vector<Ordinal> top;        ///< ascending
  std::vector<char> is_top;        ///< [n]
};

/// Subtrees hold no more than a share of all weight, the entries of A in their rows; bins get whole subtrees,
/// heaviest first, each to the lightest bin so far.
template <class Ordinal, class Offset>
SubtreeBins<Ordinal> bin_subtrees(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                  const HostArray<Ordinal>& parent, int threads) {
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  std::vector<Offset> weight(n);
  Offset total = 0;
  for (std::size_t v = 0; v < n; ++v) {
    const Offset own = pattern.row_map(v + 1) - pattern.row_map(v) + 1;
    weight[v] += own;
    total += own;
    const auto above = static_cast<std::size_t>(parent(v));
    if (above < n) weight[above] += weight[v];
  }
  const Offset most = 2 * total / (5 * threads) + 1;
  SubtreeBins<Ordinal> bins;
  bins.is_top.resize(n);
  std::vector<Ordinal> subtree(n), roots;  // number of the subtree of each vertex; vertices on top of one
  for (std::size_t v = n; v-- > 0;) {
    const auto above = static_cast<std::size_t>(parent(v));
    bins.is_top[v] = weight[v] > most ? 1 : 0;
    if (bins.is_top[v] != 0) continue;
    const bool root = above >= n || bins.is_top[above] != 0;
    subtree[v] = root ? static_cast<Ordinal>(roots.size()) : subtree[above];
    if (root) roots.push_back(static_cast<Ordinal>(v));
  }
  std::vector<Ordinal> order(roots.size());
  std::iota(order.begin(), order.end(), Ordinal(0));
  const auto weight_of = [&](Ordinal tree) {
    return weight[static_cast<std::size_t>(roots[static_cast<std::size_t>(tree)])];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](Ordinal a, Ordinal b) { return weight_of(a) > weight_of(b); });
  const std::size_t n_bins = 4 * static_cast<std::size_t>(threads);
  std::vector<Offset> load(n_bins);
  std::vector<std::size_t> bin_of(roots.size());
  for (const Ordinal tree : order) {
    const auto bin = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    bin_of[static_cast<std::size_t>(tree)] = bin;
    load[bin] += weight_of(tree);
  }
  bins.begin.assign(n_bins + 1, 0);
  for (std::size_t v = 0; v < n; ++v) {
    if (bins.is_top[v] == 0) ++bins.begin[bin_of[static_cast<std::size_t>(subtree[v])] + 1];
  }
  std::partial_sum(bins.begin.begin(), bins.begin.end(), bins.begin.begin());
  bins.vertices.resize(bins.begin.back());
  std::vector<std::size_t> next(bins.begin.begin(), bins.begin.end() - 1);
  for (std::size_t v = 0; v < n; ++v) {
    if (bins.is_top[v] != 0) {
      bins.top.push_back(static_cast<Ordinal>(v));
    } else {
      bins.vertices[next[bin_of[static_cast<std::size_t>(subtree[v])]]++] = static_cast<Ordinal>(v);
    }
  }
  return bins;
}

/// fill1 by several threads, in three phases.
/// 1. Rows of subtrees, a bin of subtrees a task.
/// 2. For each row of the top, its entries in subtrees and what they lead to in the top, a row a task: that
///    needs rows of subtrees only, which are not pruned any more.
/// 3. The rest of the rows of the top, one after the other: what they lead to within the top.
template <class Ordinal, class Offset>
struct Fill1Threads {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Result = LuPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Worker = Fill1Worker<Ordinal>;

  Fill1Threads(const Pattern& pattern, const MemoryBudget& budget, int threads)
      : m_pattern(pattern), m_budget(budget), m_n(pattern.n_rows), m_scratch(budget), m_rows(m_scratch, m_n) {
    const auto first_chunk = (static_cast<std::size_t>(m_n) + 2 * static_cast<std::size_t>(pattern.nnz())) /
                             static_cast<std::size_t>(threads);
    for (int t = 0; t < threads; ++t) {
      m_workers.emplace_back(m_scratch, budget, m_n, first_chunk, &m_guard);
    }
  }

  Result run() {
    const auto parent = m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::parent", m_n);
    link_forest<Ordinal, Offset>(Host(), m_pattern, parent, m_budget);
    m_bins = bin_subtrees(m_pattern, parent, static_cast<int>(m_workers.size()));
    m_found.resize(static_cast<std::size_t>(m_n));
    m_below.resize(m_bins.top.size());
    m_place_in_top.resize(static_cast<std::size_t>(m_n));
    for (std::size_t k = 0; k < m_bins.top.size(); ++k)
      m_place_in_top[static_cast<std::size_t>(m_bins.top[k])] = k;
    for_each_task(m_bins.begin.size() - 1, [&](Worker& worker, std::size_t bin) { search_bin(worker, bin); });
    for_each_task(m_bins.top.size(), [&](Worker& worker, std::size_t k) { search_below(worker, k); });
    for (std::size_t k = 0; k < m_bins.top.size(); ++k) search_top(m_workers.front(), k);
    return collect();
  }

  /// task(worker, number) for all numbers below `count`, by all threads; what one throws is thrown here.
  template <class Task>
  void for_each_task(std::size_t count, const Task& task) {
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> failures(m_workers.size());
    const auto work = [&](std::size_t t) noexcept {
      try {
        for (std::size_t k = next++; k < count; k = next++) task(m_workers[t], k);
      } catch (...) {
        failures[t] = std::current_exception();
        next = count;
      }
    };
    Kokkos::parallel_for("lutra::symbolic::fill1", Kokkos::RangePolicy<Host>(0, m_workers.size()), work);
    Host().fence("lutra::symbolic: tasks are done");
    for (const auto& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  void search_bin(Worker& worker, std::size_t bin) {
    for (std::size_t p = m_bins.begin[bin]; p < m_bins.begin[bin + 1]; ++p) {
      const Ordinal source = m_bins.vertices[p];
      const Ordinal least = start_row(m_pattern, source, worker.reached);
      m_found[static_cast<std::size_t>(source)] = sweep_row(m_rows, worker, source, least);
    }
  }

  /// The part of a row of the top that lies in subtrees, and behind it what is reached in the top.
  void search_below(Worker& worker, std::size_t place) {
    const Ordinal source = m_bins.top[place];
    const Ordinal least = start_row(m_pattern, source, worker.reached);
    Ordinal* below = worker.row.data();
    Ordinal* above = worker.row.data() + m_n;  // from the end down
    worker.reached.sweep(static_cast<std::size_t>(least), [&](std::size_t member) {
      const auto k = static_cast<Ordinal>(member);
      if (m_bins.is_top[member] != 0) {
        *--above = k;
        return;
      }
      *below++ = k;
      expand(m_rows, k, worker.reached);
    });
    const auto n_below = static_cast<std::size_t>(below - worker.row.data());
    const auto n_above = static_cast<std::size_t>(worker.row.data() + m_n - above);
    std::memmove(below, above, n_above * sizeof(Ordinal));
    const Ordinal* const begin = worker.chunks.append(worker.row.data(), n_below + n_above);
    m_below[place] = {begin, n_below + n_above, n_below};
  }

  void search_top(Worker& worker, std::size_t place) {
    const Ordinal source = m_bins.top[place];
    const FoundRow<Ordinal>& below = m_below[place];
    Ordinal least = source;
    for (std::size_t e = below.n_lower; e < below.length; ++e) {
      const Ordinal k = below.begin[e];
      least = k < least ? k : least;
      worker.reached.insert(static_cast<std::size_t>(k));
    }
    m_found[static_cast<std::size_t>(source)] = sweep_row(m_rows, worker, source, least);
  }

  Result collect() {
    Result result;
    result.n = m_n;
    result.road = SymbolicRoad::fill1;
    result.charge = Charge(m_budget);
    const Host exec;
    auto row_map =
        result.charge.template allocate<HostArray<Offset>>(exec, "lutra::symbolic::row_map", m_n + 1);
    auto diagonal =
        result.charge.template allocate<HostArray<Offset>>(exec, "lutra::symbolic::diagonal", m_n);
    row_map(0) = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(m_n); ++i) {
      const std::size_t below = m_bins.is_top[i] != 0 ? m_below[m_place_in_top[i]].n_lower : 0;
      diagonal(i) = row_map(i) + static_cast<Offset>(m_found[i].n_lower + below);
      row_map(i + 1) = row_map(i) + static_cast<Offset>(m_found[i].length + below);
      result.nnz_l += diagonal(i) - row_map(i);
    }
    result.nnz_u = row_map(m_n) - result.nnz_l;
    auto entries =
        result.charge.template allocate<HostArray<Ordinal>>(exec, "lutra::symbolic::entries", row_map(m_n));
    constexpr std::size_t rows_each = 256;
    const auto n = static_cast<std::size_t>(m_n);
    for_each_task((n + rows_each - 1) / rows_each, [&](Worker&, std::size_t block) {
      const std::size_t end = std::min(n, (block + 1) * rows_each);
      for (std::size_t i = block * rows_each; i < end; ++i) copy_row(i, entries.data() + row_map(i));
    });
    result.row_map = row_map;
    result.diagonal = diagonal;
    result.entries = entries;
    return result;
  }

  void copy_row(std::size_t i, Ordinal* to) const {
    const FoundRow<Ordinal>& found = m_found[i];
    if (m_bins.is_top[i] == 0) {
      std::memcpy(to, found.begin, found.length * sizeof(Ordinal));
      return;
    }
    const FoundRow<Ordinal>& below = m_below[m_place_in_top[i]];
    std::merge(below.begin, below.begin + below.n_lower, found.begin, found.begin + found.length, to);
  }

  Pattern m_pattern;
  MemoryBudget m_budget;
  Ordinal m_n;
  Charge m_scratch;
  Fill1Rows<Ordinal> m_rows;
  std::mutex m_guard;  ///< of the budget
  std::vector<Worker> m_workers;
  SubtreeBins<Ordinal> m_bins;
  std::vector<FoundRow<Ordinal>> m_found;   ///< [n] rows; of rows of the top the part in the top
  std::vector<FoundRow<Ordinal>> m_below;   ///< [top] the part in subtrees, then what is reached in the top
  std::vector<std::size_t> m_place_in_top;  ///< [n] of rows of the top
};

}  // namespace lutra::Impl

#endif
