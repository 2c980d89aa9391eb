// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1THREADS_HPP
#define LUTRA_FILL1THREADS_HPP

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "Lutra_SubtreeBins.hpp"

namespace lutra::Impl {

/// fill1 by several threads, in four phases.
/// 1. Rows of subtrees, a bin of subtrees a task.
/// 2. For each row of the top, its entries in subtrees and what they lead to in the top, a row a task: that
///    needs rows of subtrees only.
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
    m_bins = make_bins(m_pattern, m_budget, m_workers.size());
    const std::size_t rows = m_bins.top.size();
    if (rows > most_top_rows) return std::nullopt;
    m_words = (rows + 63) / 64;
    m_top = m_scratch.allocate<HostArray<Word>>(Host(), "lutra::symbolic::top_sets", rows * m_words);
    m_found = m_scratch.allocate<HostArray<FoundRow<Ordinal>>>(Host(), "lutra::symbolic::found_rows", m_n);
    by_all(m_bins.begin.size() - 1, [&](Worker& worker, std::size_t bin) { search_bin(worker, bin); });
    by_all(rows, [&](Worker& worker, std::size_t k) { search_below(worker, k); });
    search_top();
    return collect();
  }

  /// task(worker, number) for all numbers below `count`, by all threads.
  template <class Task>
  void by_all(std::size_t count, const Task& task) {
    for_each_task(m_workers.size(), count,
                  [&](std::size_t thread, std::size_t k) { task(m_workers[thread], k); });
  }

  void search_bin(Worker& worker, std::size_t bin) {
    for (std::size_t p = m_bins.begin[bin]; p < m_bins.begin[bin + 1]; ++p) {
      for (Ordinal source = m_bins.runs[p].begin; source < m_bins.runs[p].end; ++source) {
        const Ordinal least = start_row(m_pattern, source, worker.reached);
        m_found(source) = sweep_row(m_rows, worker, source, least);
      }
    }
  }

  /// The part of a row of the top that lies in subtrees, and the set of what is reached in the top.
  void search_below(Worker& worker, std::size_t place) {
    const Ordinal source = m_bins.top[place];
    Word* const set = set_of(place);
    std::fill(set, set + m_words, Word(0));
    const Ordinal least = start_row(m_pattern, source, worker.reached);
    Ordinal* end = worker.row.data();
    worker.reached.sweep(
        static_cast<std::size_t>(least), static_cast<std::size_t>(m_n),
        [&](std::size_t k) -> std::size_t {
          if (m_bins.place[k] < 0) {
            const std::size_t done = expand_and_prune_shared(m_rows, k, source, worker.reached);
            end = write_run(k, done, end);
            return done;
          }
          const auto bit = static_cast<std::size_t>(m_bins.place[k]);
          set[bit / 64] |= Word(1) << (bit % 64);
          return 1;
        },
        [](std::size_t, Word) {});
    const auto length = static_cast<Ordinal>(end - worker.row.data());
    m_found(source) = {worker.chunks.append(worker.row.data(), static_cast<std::size_t>(length)), length,
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
    constexpr std::size_t rows_each = 1024;
    const auto n = static_cast<std::size_t>(m_n);
    const std::size_t n_blocks = (n + rows_each - 1) / rows_each;
    std::vector<Lengths> before(n_blocks + 1);  // of the rows before each block
    by_all(n_blocks, [&](Worker&, std::size_t block) {
      for (std::size_t i = block * rows_each; i < std::min(n, (block + 1) * rows_each); ++i) {
        before[block + 1] += lengths_of(i);
      }
    });
    for (std::size_t block = 0; block < n_blocks; ++block) before[block + 1] += before[block];
    result.nnz_l = before.back().lower;
    result.nnz_u = before.back().all - result.nnz_l;
    auto entries = result.charge.template allocate<HostArray<Ordinal>>(exec, "lutra::symbolic::entries",
                                                                       before.back().all);
    prefer_large_pages(entries.data(), entries.extent(0) * sizeof(Ordinal));
    row_map(0) = 0;
    by_all(n_blocks, [&](Worker& worker, std::size_t block) {
      Offset place = before[block].all;
      for (std::size_t i = block * rows_each; i < std::min(n, (block + 1) * rows_each); ++i) {
        const Lengths own = lengths_of(i);
        copy_row(worker, i, entries.data() + place);
        diagonal(i) = place + own.lower;
        row_map(i + 1) = place += own.all;
      }
    });
    result.row_map = row_map;
    result.diagonal = diagonal;
    result.entries = entries;
    return result;
  }

  /// Entries of rows, and those of L among them.
  struct Lengths {
    Offset all = 0, lower = 0;
    Lengths& operator+=(const Lengths& other) {
      all += other.all;
      lower += other.lower;
      return *this;
    }
  };

  Lengths lengths_of(std::size_t i) const {
    const FoundRow<Ordinal>& found = m_found(i);
    Lengths lengths{static_cast<Offset>(found.length), static_cast<Offset>(found.n_lower)};
    if (m_bins.place[i] < 0) return lengths;
    const auto place = static_cast<std::size_t>(m_bins.place[i]);
    const Word* const set = set_of(place);
    lengths +=
        {static_cast<Offset>(count(set, 0, m_bins.top.size())), static_cast<Offset>(count(set, 0, place))};
    return lengths;
  }

  void copy_row(const Worker& worker, std::size_t i, Ordinal* to) const {
    const FoundRow<Ordinal>& found = m_found(i);
    const std::size_t bytes = static_cast<std::size_t>(found.length) * sizeof(Ordinal);
    if (m_bins.place[i] < 0) {
      std::memcpy(to, found.begin, bytes);
      return;
    }
    const Word* const set = set_of(static_cast<std::size_t>(m_bins.place[i]));
    const bool behind = found.length == 0 || first_of(set) > found.begin[found.length - 1];
    Ordinal* const begin = behind ? to + found.length : worker.row.data();
    Ordinal* end = begin;
    for (std::size_t w = 0; w < m_words; ++w) {
      for (Word rest = set[w]; rest != 0; rest &= rest - 1) {
        *end++ = m_bins.top[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
      }
    }
    if (behind) {
      if (found.length > 0) std::memcpy(to, found.begin, bytes);
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
  HostArray<FoundRow<Ordinal>> m_found;  ///< [n] rows; of rows of the top the part in subtrees
  HostArray<Word> m_top;                 ///< [top, words] sets of L + U within the top, by places in it
  std::size_t m_words = 0;
};

}  // namespace lutra::Impl

#endif
