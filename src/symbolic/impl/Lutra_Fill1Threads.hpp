// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1THREADS_HPP
#define LUTRA_FILL1THREADS_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
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
/// 3. The rest of the rows of the top, one after the other: what they lead to within the top, as sets of bits
///    that are merged by words, and pruned as fill1 prunes rows.
/// 4. Copies, and merges of both parts of the rows of the top.
template <class Ordinal, class Offset>
struct Fill1Threads {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Result = LuPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Worker = Fill1Worker<Ordinal>;
  using Word = std::uint64_t;
  static constexpr std::size_t most_top_rows = 50000;

  Fill1Threads(const Pattern& pattern, const MemoryBudget& budget, int threads)
      : m_pattern(pattern), m_budget(budget), m_n(pattern.n_rows), m_scratch(budget), m_rows(m_scratch, m_n) {
    const auto first_chunk = (static_cast<std::size_t>(m_n) + 2 * static_cast<std::size_t>(pattern.nnz())) /
                             static_cast<std::size_t>(threads);
    for (int t = 0; t < threads; ++t) {
      m_workers.emplace_back(m_scratch, budget, m_n, first_chunk, &m_guard);
    }
  }

  /// Nothing where the top is so large that its sets are not worth their memory.
  std::optional<Result> run() {
    const auto parent = m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::parent", m_n);
    link_forest<Ordinal, Offset>(Host(), m_pattern, parent, m_budget);
    m_bins = bin_subtrees(m_pattern, parent, static_cast<int>(m_workers.size()));
    const std::size_t rows = m_bins.top.size();
    if (rows > most_top_rows) return std::nullopt;
    m_words = (rows + 63) / 64;
    m_top = m_scratch.allocate<HostArray<Word>>(Host(), "lutra::symbolic::top_sets", rows * m_words);
    m_found.resize(static_cast<std::size_t>(m_n));
    m_place_in_top.resize(static_cast<std::size_t>(m_n));
    for (std::size_t k = 0; k < rows; ++k) m_place_in_top[static_cast<std::size_t>(m_bins.top[k])] = k;
    for_each_task(m_bins.begin.size() - 1, [&](Worker& worker, std::size_t bin) { search_bin(worker, bin); });
    for_each_task(rows, [&](Worker& worker, std::size_t k) { search_below(worker, k); });
    search_top();
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

  /// The part of a row of the top that lies in subtrees, and the set of what is reached in the top.
  void search_below(Worker& worker, std::size_t place) {
    const Ordinal source = m_bins.top[place];
    Word* const set = set_of(place);
    std::fill(set, set + m_words, Word(0));
    const Ordinal least = start_row(m_pattern, source, worker.reached);
    Ordinal* end = worker.row.data();
    worker.reached.sweep(static_cast<std::size_t>(least), [&](std::size_t member) {
      if (m_bins.is_top[member] != 0) {
        const std::size_t k = m_place_in_top[member];
        set[k / 64] |= Word(1) << (k % 64);
        return;
      }
      *end++ = static_cast<Ordinal>(member);
      expand(m_rows, static_cast<Ordinal>(member), worker.reached);
    });
    const auto length = static_cast<std::size_t>(end - worker.row.data());
    m_found[static_cast<std::size_t>(source)] = {worker.chunks.append(worker.row.data(), length), length,
                                                 length};
  }

  Word* set_of(std::size_t place) const { return m_top.data() + place * m_words; }

  /// Completes the sets of the top. Runs of rows that each lead to the next one only are passed at once.
  void search_top() {
    const std::size_t rows = m_bins.top.size();
    std::vector<std::size_t> last(rows, rows);  // of a row of U, the last entry that has to be walked
    std::vector<std::size_t> only(rows, rows);  // the same where it is the only one
    // Bit set of rows whose only one is the next row.
    const auto to_next = m_scratch.allocate<HostArray<Word>>(Host(), "lutra::symbolic::to_next", m_words);
    Kokkos::deep_copy(to_next, Word(0));
    for (std::size_t t = 0; t < rows; ++t) {
      Word* const set = set_of(t);
      for (std::size_t w = 0; w <= t / 64; ++w) {
        const Word before = w == t / 64 ? (Word(1) << (t % 64)) - 1 : ~Word(0);
        Word done = 0;  // bits of this word that were walked from
        for (Word rest = set[w] & before; rest != 0; rest = set[w] & before & ~done) {
          const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
          const std::size_t k = w * 64 + bit;
          const auto run = static_cast<std::size_t>(std::countr_one(to_next(w) >> bit));
          done |= bits_between(bit, bit + (run > 0 ? run : 1));
          if (run > 0) {
            const std::size_t end = bit + run;  // the last one's next
            set[w] |= bits_between(bit, end);
            set[w + end / 64] |= Word(1) << (end % 64);
          } else if (only[k] < rows) {
            set[only[k] / 64] |= Word(1) << (only[k] % 64);
          } else {
            merge_and_prune(k, t, last[k], only[k]);
            if (only[k] == k + 1) to_next(w) |= Word(1) << bit;
          }
        }
      }
    }
  }

  /// Bits from `begin` to `end` - 1 of a word, `end` up to 64.
  static Word bits_between(std::size_t begin, std::size_t end) {
    return (~Word(0) << begin) & (end < 64 ? ~(~Word(0) << end) : ~Word(0));
  }

  /// Merges row k of U, up to its entry `last`, into set t; where it has t itself, no row behind t needs
  /// more.
  void merge_and_prune(std::size_t k, std::size_t t, std::size_t& last, std::size_t& only) const {
    const Word* const from = set_of(k);
    Word* const to = set_of(t);
    const std::size_t first = k + 1, end = last < m_bins.top.size() ? last + 1 : m_bins.top.size();
    for (std::size_t w = first / 64; w * 64 < end; ++w) {
      Word bits = from[w];
      if (w == first / 64) bits &= ~Word(0) << (first % 64);
      if ((w + 1) * 64 > end) bits &= ~(~Word(0) << (end % 64));
      to[w] |= bits;
    }
    if (end <= t || (from[t / 64] >> (t % 64) & 1) == 0 || last < m_bins.top.size()) return;
    last = t;
    if (count(from, first, t) == 0) only = t;
  }

  /// Bits from `begin` to `end` - 1.
  static std::size_t count(const Word* set, std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t w = begin / 64; w * 64 < end; ++w) {
      Word bits = set[w];
      if (w == begin / 64) bits &= ~Word(0) << (begin % 64);
      if ((w + 1) * 64 > end) bits &= ~(~Word(0) << (end % 64));
      sum += static_cast<std::size_t>(std::popcount(bits));
    }
    return sum;
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
      std::size_t n_lower = m_found[i].n_lower, length = m_found[i].length;
      if (m_bins.is_top[i] != 0) {
        const std::size_t place = m_place_in_top[i];
        n_lower += count(set_of(place), 0, place);
        length += count(set_of(place), 0, m_bins.top.size());
      }
      diagonal(i) = row_map(i) + static_cast<Offset>(n_lower);
      row_map(i + 1) = row_map(i) + static_cast<Offset>(length);
      result.nnz_l += static_cast<Offset>(n_lower);
    }
    result.nnz_u = row_map(m_n) - result.nnz_l;
    auto entries =
        result.charge.template allocate<HostArray<Ordinal>>(exec, "lutra::symbolic::entries", row_map(m_n));
    constexpr std::size_t rows_each = 256;
    const auto n = static_cast<std::size_t>(m_n);
    for_each_task((n + rows_each - 1) / rows_each, [&](Worker& worker, std::size_t block) {
      const std::size_t end = std::min(n, (block + 1) * rows_each);
      for (std::size_t i = block * rows_each; i < end; ++i) copy_row(worker, i, entries.data() + row_map(i));
    });
    result.row_map = row_map;
    result.diagonal = diagonal;
    result.entries = entries;
    return result;
  }

  void copy_row(const Worker& worker, std::size_t i, Ordinal* to) const {
    const FoundRow<Ordinal>& found = m_found[i];
    if (m_bins.is_top[i] == 0) {
      std::memcpy(to, found.begin, found.length * sizeof(Ordinal));
      return;
    }
    const Word* const set = set_of(m_place_in_top[i]);
    const bool behind = found.length == 0 || first_of(set) > found.begin[found.length - 1];
    Ordinal* const begin = behind ? to + found.length : worker.row.data();
    Ordinal* end = begin;
    for (std::size_t w = 0; w < m_words; ++w) {
      for (Word rest = set[w]; rest != 0; rest &= rest - 1) {
        *end++ = m_bins.top[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
      }
    }
    if (behind) {
      if (found.length > 0) std::memcpy(to, found.begin, found.length * sizeof(Ordinal));
    } else {
      std::merge(found.begin, found.begin + found.length, begin, end, to);
    }
  }

  /// The first vertex of a set of the top, which holds its own row at least.
  Ordinal first_of(const Word* set) const {
    std::size_t w = 0;
    while (set[w] == 0) ++w;
    return m_bins.top[w * 64 + static_cast<std::size_t>(std::countr_zero(set[w]))];
  }

  Pattern m_pattern;
  MemoryBudget m_budget;
  Ordinal m_n;
  Charge m_scratch;
  Fill1Rows<Ordinal> m_rows;
  std::mutex m_guard;  ///< of the budget
  std::vector<Worker> m_workers;
  SubtreeBins<Ordinal> m_bins;
  std::vector<FoundRow<Ordinal>> m_found;  ///< [n] rows; of rows of the top the part in the top
  HostArray<Word> m_top;                   ///< [top, words] sets of L + U within the top, by places in it
  std::size_t m_words = 0;
  std::vector<std::size_t> m_place_in_top;  ///< [n] of rows of the top
};

}  // namespace lutra::Impl

#endif
