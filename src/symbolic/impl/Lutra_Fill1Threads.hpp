// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1THREADS_HPP
#define LUTRA_FILL1THREADS_HPP

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_ColumnWriter.hpp"
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
  static constexpr std::size_t rows_each = 1024;  ///< of a block of the result
  static constexpr std::size_t parts_each = 32;   ///< of the result, for each thread

  Fill1Threads(const Pattern& pattern, const MemoryBudget& budget, int threads)
      : Fill1Threads(pattern, budget, static_cast<std::size_t>(threads),
                     words_expected(pattern, budget) / static_cast<std::size_t>(threads)) {}

  /// Nothing where the top is so large that its sets are not worth their memory.
  std::optional<Result> run() {
    m_bins = make_bins(m_pattern, m_budget, m_workers.size());
    const std::size_t rows = m_bins.top.size();
    if (rows > most_top_rows) return std::nullopt;
    m_words = (rows + 63) / 64;
    m_top = m_scratch.allocate<HostArray<Word>>(Host(), "lutra::symbolic::top_sets", rows * m_words);
    mark_top();
    by_all(m_bins.begin.size() - 1, [&](Worker& worker, std::size_t bin) { search_bin(worker, bin); });
    by_all(rows, [&](Worker& worker, std::size_t k) { search_below(worker, k); });
    search_top();
    by_all(rows, [&](Worker&, std::size_t k) { count_in_top(k); });
    return collect();
  }

  /// m_in_top and m_top_words, of m_bins.top.
  void mark_top() {
    m_in_top = m_scratch.allocate<HostArray<Word>>(Host(), "lutra::symbolic::in_top",
                                                   (static_cast<std::size_t>(m_n) + 63) / 64);
    Kokkos::deep_copy(m_in_top, Word(0));
    for (std::size_t place = 0; place < m_bins.top.size(); ++place) {
      const Ordinal v = m_bins.top[place];
      m_in_top(v / 64) |= Word(1) << (v % 64);
      if (m_top_words.empty() || m_top_words.back().number != v / 64)
        m_top_words.push_back({v / 64, place, place});
      ++m_top_words.back().end;
    }
  }

  /// task(worker, number) for all numbers below `count`, by all threads.
  template <class Task>
  void by_all(std::size_t count, const Task& task) {
    for_each_task(m_workers.size(), count,
                  [&](std::size_t thread, std::size_t k) { task(m_workers[thread], k); });
  }

  void search_bin(Worker& worker, std::size_t bin) {
    for (std::size_t p = m_bins.begin[bin]; p < m_bins.begin[bin + 1]; ++p) {
      for (Ordinal source = m_bins.runs[p].begin; source < m_bins.runs[p].end;)
        source = search_rows_of_block(worker, source, m_bins.runs[p].end);
    }
  }

  /// Rows of a subtree from `source` up to `end` or the end of their block of the result, which is returned.
  Ordinal search_rows_of_block(Worker& worker, Ordinal source, Ordinal end) {
    const std::size_t block = block_of(source);
    Lengths lengths;
    for (; source < end && block_of(source) == block; ++source) {
      const Ordinal least = start_row(m_pattern, source, worker.reached);
      m_found(source) = sweep_row(m_rows, worker, source, least);
      lengths += lengths_of(m_found(source));
    }
    add_to_block(block, lengths);
    return source;
  }

  /// The part of a row of the top that lies in subtrees, and the set of what is reached in the top.
  void search_below(Worker& worker, std::size_t place) {
    const Ordinal source = m_bins.top[place];
    Word* const set = set_of(place);
    std::fill(set, set + m_words, Word(0));
    const Ordinal least = start_row(m_pattern, source, worker.reached);
    RowWord<Ordinal>* const begin = worker.chunks.begin_row(most_words(m_n, least));
    RowWord<Ordinal>* end = begin;
    int length = 0;
    worker.reached.sweep(
        static_cast<std::size_t>(least), [&](std::size_t number) { return ~m_in_top(number); },
        [&](std::size_t number) { return m_rows.to_next(number); },
        [&](std::size_t k) {
          const Ordinal only = m_rows.only(k);
          if (only >= 0) return worker.reached.insert(static_cast<std::size_t>(only));
          expand_and_prune_shared(m_rows, static_cast<Ordinal>(k), source, worker.reached);
        },
        [&](std::size_t number, Word bits) {
          const Word below = bits & ~m_in_top(number);
          for (Word rest = bits & m_in_top(number); rest != 0; rest &= rest - 1) {
            const auto bit = static_cast<std::size_t>(
                m_bins.place[number * 64 + static_cast<std::size_t>(std::countr_zero(rest))]);
            set[bit / 64] |= Word(1) << (bit % 64);
          }
          if (below == 0) return;
          length += count_bits(below);
          *end++ = RowWord<Ordinal>(below, number);
        });
    worker.chunks.end_row(end);
    m_found(source) = {begin, end, static_cast<Ordinal>(length), static_cast<Ordinal>(length)};
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
      sum += static_cast<std::size_t>(count_bits(bits));
    }
    return sum;
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

  static Lengths lengths_of(const FoundRow<Ordinal>& found) {
    return {static_cast<Offset>(found.length), static_cast<Offset>(found.n_lower)};
  }

  static std::size_t block_of(Ordinal row) { return static_cast<std::size_t>(row) / rows_each; }

  void add_to_block(std::size_t block, const Lengths& lengths) {
    Kokkos::atomic_add(&m_before[block + 1].all, lengths.all);
    Kokkos::atomic_add(&m_before[block + 1].lower, lengths.lower);
  }

  /// Adds what a row of the top holds within the top to its lengths.
  void count_in_top(std::size_t place) {
    const Ordinal source = m_bins.top[place];
    const Word* const set = set_of(place);
    FoundRow<Ordinal>& found = m_found(source);
    const auto lower = static_cast<Ordinal>(count(set, 0, place));
    found.n_lower += lower;
    found.length += lower + static_cast<Ordinal>(count(set, place, m_bins.top.size()));
    add_to_block(block_of(source), lengths_of(found));
  }

  Result collect() {
    Result result;
    result.n = m_n;
    result.road = SymbolicRoad::fill1;
    result.charge = Charge(m_budget);
    for (std::size_t block = 0; block + 1 < m_before.size(); ++block) m_before[block + 1] += m_before[block];
    result.nnz_l = m_before.back().lower;
    result.nnz_u = m_before.back().all - result.nnz_l;
    const auto n = static_cast<std::size_t>(m_n);
    const auto row_map = allocate<Offset>(result.charge, "lutra::symbolic::row_map", n + 1);
    const auto diagonal = allocate<Offset>(result.charge, "lutra::symbolic::diagonal", n);
    const auto entries = allocate<Ordinal>(result.charge, "lutra::symbolic::entries",
                                           static_cast<std::size_t>(m_before.back().all));
    row_map(0) = 0;
    by_all(m_workers.size() * parts_each, [&](Worker&, std::size_t k) {
      const auto [first, last] = blocks_of_part(k);
      Offset place = m_before[first].all;
      for (std::size_t i = first * rows_each; i < std::min(n, last * rows_each); ++i) {
        const Lengths own = lengths_of(m_found(i));
        diagonal(i) = place + own.lower;
        row_map(i + 1) = place += own.all;
      }
      ColumnWriter<Ordinal> writer(entries.data() + m_before[first].all, entries.data() + m_before[last].all);
      write_rows(first * rows_each, std::min(n, last * rows_each), writer);
    });
    result.row_map = row_map;
    result.diagonal = diagonal;
    result.entries = entries;
    return result;
  }

  template <class T>
  HostArray<T> allocate(Charge& charge, const std::string& label, std::size_t length) const {
    return allocate_in_large_pages<T>(charge, m_budget, Host(), label, length);
  }

  /// First block of rows of the k-th part of the result, and the one behind its last. Parts have about as
  /// many entries each. Those written at the same time are far from each other: where two threads touch a
  /// large page for the first time at once, both clear one.
  std::pair<std::size_t, std::size_t> blocks_of_part(std::size_t k) const {
    const std::size_t part = k % m_workers.size() * parts_each + k / m_workers.size();
    return {first_block(part), first_block(part + 1)};
  }

  std::size_t first_block(std::size_t part) const {
    const Offset all = m_before.back().all;
    const Offset each = all / static_cast<Offset>(m_workers.size() * parts_each) + 1;
    const auto at =
        std::lower_bound(m_before.begin(), m_before.end(), std::min(all, static_cast<Offset>(part) * each),
                         [](const Lengths& before, Offset entries) { return before.all < entries; });
    return static_cast<std::size_t>(at - m_before.begin());
  }

  /// Rows of a subtree, which stand one after the other where they were found, at once.
  void write_rows(std::size_t begin, std::size_t end, ColumnWriter<Ordinal>& writer) const {
    for (std::size_t i = begin; i < end;) {
      if (m_bins.place[i] >= 0) {
        write_row_of_top(i++, writer);
        continue;
      }
      const FoundRow<Ordinal>& found = m_found(i);
      const RowWord<Ordinal>* last = found.end;
      for (++i; i < end && m_bins.place[i] < 0 && m_found(i).begin == last; ++i) last = m_found(i).end;
      writer.write(found.begin, last);
    }
  }

  void write_row_of_top(std::size_t i, ColumnWriter<Ordinal>& writer) const {
    const FoundRow<Ordinal>& found = m_found(i);
    const Word* const set = set_of(static_cast<std::size_t>(m_bins.place[i]));
    const RowWord<Ordinal>* below = found.begin;
    for (const TopWord& word : m_top_words) {
      Word bits = bits_of(set, word);
      if (bits == 0) continue;
      for (; below != found.end && below->number < word.number; ++below)
        writer.write(below->bits(), below->number);
      if (below != found.end && below->number == word.number) bits |= below++->bits();
      writer.write(bits, word.number);
    }
    writer.write(below, found.end);
  }

  /// A word of columns with rows of the top among them, which have places from `first` to `end` - 1 there.
  struct TopWord {
    Ordinal number;
    std::size_t first, end;
  };

  /// The columns of a word that are in a set of the top.
  Word bits_of(const Word* set, const TopWord& word) const {
    const std::size_t shift = word.first % 64, count = word.end - word.first;
    Word found = set[word.first / 64] >> shift;
    if (shift + count > 64) found |= set[word.first / 64 + 1] << (64 - shift);
    found &= bits_between(0, count);
    const Ordinal begin = m_bins.top[word.first];
    if (m_bins.top[word.end - 1] - begin == static_cast<Ordinal>(count - 1)) return found << (begin % 64);
    Word bits = 0;
    for (; found != 0; found &= found - 1) {
      const Ordinal v = m_bins.top[word.first + static_cast<std::size_t>(std::countr_zero(found))];
      bits |= Word(1) << (v % 64);
    }
    return bits;
  }

  Fill1Threads(const Pattern& pattern, const MemoryBudget& budget, std::size_t threads,
               std::size_t first_chunk)
      : m_pattern(pattern),
        m_budget(budget),
        m_n(pattern.n_rows),
        m_scratch(budget),
        m_arena(allocate_in_large_pages<char>(
            m_scratch, budget, Host(), "lutra::symbolic::fill1_arena",
            Fill1Rows<Ordinal>::bytes(m_n) + static_cast<std::size_t>(m_n) * sizeof(FoundRow<Ordinal>) +
                HostArena::loss(1) + threads * Worker::bytes_each(m_n, first_chunk))),
        m_rows(m_arena, m_n),
        m_found(m_arena.template cut<HostArray<FoundRow<Ordinal>>>(m_n)),
        m_before((static_cast<std::size_t>(m_n) + rows_each - 1) / rows_each + 1) {
    for (std::size_t t = 0; t < threads; ++t)
      m_workers.emplace_back(m_arena, budget, m_n, first_chunk, &m_guard);
  }

  Pattern m_pattern;
  MemoryBudget m_budget;
  Ordinal m_n;
  Charge m_scratch;
  HostArena m_arena;
  Fill1Rows<Ordinal> m_rows;
  HostArray<FoundRow<Ordinal>> m_found;  ///< [n] rows; of rows of the top the words in subtrees only
  std::vector<Lengths> m_before;         ///< [blocks + 1] of each block of rows behind it, then of all before
  std::mutex m_guard;                    ///< of the budget
  std::vector<Worker> m_workers;
  SubtreeBins<Ordinal> m_bins;
  HostArray<Word> m_top;             ///< [top, words] sets of L + U within the top, by places in it
  HostArray<Word> m_in_top;          ///< bit set of the rows of the top
  std::vector<TopWord> m_top_words;  ///< ascending
  std::size_t m_words = 0;           ///< of a set
};

}  // namespace lutra::Impl

#endif
