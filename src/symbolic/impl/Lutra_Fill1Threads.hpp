// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1THREADS_HPP
#define LUTRA_FILL1THREADS_HPP

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_ColumnWriter.hpp"
#include "Lutra_EliminationTree.hpp"
#include "Lutra_Fill1Rows.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_SubtreeMapping.hpp"
#include "Lutra_TopSets.hpp"

namespace lutra::Impl {

/// fill1 by several threads, in three phases.
/// 1. Rows of subtrees, a bin of subtrees a task.
/// 2. For each row of the top, its entries in subtrees and what they lead to in the top, some rows a task:
///    that needs rows of subtrees only. Meanwhile the rest of the rows of the top, one after the other: what
///    they lead to within the top, as sets of bits that are merged by words, and pruned as fill1 prunes rows.
/// 3. Copies, and merges of both parts of the rows of the top.
template <class Ordinal, class Offset>
struct Fill1Threads {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Result = LuPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Worker = Fill1Worker<Ordinal>;
  using Word = std::uint64_t;
  static constexpr std::size_t max_top_rows = 50000;
  static constexpr std::size_t rows_each = 256;  ///< of a block of the result
  static constexpr std::size_t parts_each = 32;  ///< of the result, for each thread

  Fill1Threads(const Pattern& pattern, const MemoryBudget& budget, int threads)
      : Fill1Threads(pattern, budget, static_cast<std::size_t>(threads),
                     words_expected(pattern, budget) / static_cast<std::size_t>(threads)) {}

  /// Nothing where the top is so large that its sets are not worth their memory.
  std::optional<Result> run() {
    map_rows();
    const std::size_t rows = m_top_rows.size();
    if (rows > max_top_rows) return std::nullopt;
    m_top = TopSets(m_scratch, rows);
    mark_top();
    by_all(m_mapping.tasks(), [&](Worker& worker, std::size_t task) { search_subtrees(worker, task); });
    search_rows_of_top();
    return collect();
  }

  /// Subtrees of the elimination tree of A + Aᵀ to tasks: a row of L lies in the subtree of its row, so that
  /// rows of a subtree need no others. A row's work is taken to be its entries in A, and 1.
  void map_rows() {
    std::vector<double> work(static_cast<std::size_t>(m_n));
    for (Ordinal i = 0; i < m_n; ++i)
      work[static_cast<std::size_t>(i)] =
          1 + static_cast<double>(m_pattern.row_map(i + 1) - m_pattern.row_map(i));
    m_mapping = map_subtrees(elimination_tree(m_pattern, m_budget).parent, work,
                             static_cast<int>(m_workers.size()), {2.0 / 5, 1.0 / 16});
    m_top_rows = std::span(m_mapping.order).subspan(static_cast<std::size_t>(m_mapping.task_begin.back()));
  }

  /// m_in_top, m_first_place and m_top_words, of m_top_rows.
  void mark_top() {
    const std::size_t words = (static_cast<std::size_t>(m_n) + 63) / 64;
    m_in_top = m_scratch.allocate<HostArray<Word>>(Host(), "lutra::symbolic::in_top", words);
    m_first_place = m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::first_place", words);
    Kokkos::deep_copy(m_in_top, Word(0));
    for (std::size_t place = 0; place < m_top_rows.size(); ++place) {
      const Ordinal v = m_top_rows[place];
      m_in_top(v / 64) |= Word(1) << (v % 64);
      if (m_top_words.empty() || m_top_words.back().number != v / 64) {
        m_top_words.push_back({v / 64, place, place});
        m_first_place(v / 64) = static_cast<Ordinal>(place);
      }
      ++m_top_words.back().end;
    }
  }

  bool is_in_top(Ordinal row) const { return (m_in_top(row / 64) >> (row % 64) & 1) != 0; }

  /// Of a row of the top.
  std::size_t place_of(Ordinal row) const {
    const Word before = m_in_top(row / 64) & ((Word(1) << (row % 64)) - 1);
    return static_cast<std::size_t>(m_first_place(row / 64)) + static_cast<std::size_t>(count_bits(before));
  }

  /// Puts rows of the top into a set of places.
  /// @param bits of word `number`, one at least
  void insert_places(Word* set, std::size_t number, Word bits) const {
    const Word in_top = m_in_top(number);
    const int begin = std::countr_zero(in_top);
    auto place = static_cast<std::size_t>(m_first_place(number));
    if ((in_top >> begin & ((in_top >> begin) + 1)) == 0) {  // rows one behind the other, as their places
      const Word shifted = bits >> begin;
      set[place / 64] |= shifted << (place % 64);
      const Word behind = place % 64 == 0 ? 0 : shifted >> (64 - place % 64);
      if (behind != 0) set[place / 64 + 1] |= behind;
      return;
    }
    for (Word rest = in_top; rest != 0; rest &= rest - 1, ++place) {
      if ((bits & rest & (~rest + 1)) != 0) set[place / 64] |= Word(1) << (place % 64);
    }
  }

  /// task(worker, number) for all numbers below `count`, by all threads.
  template <class Task>
  void by_all(std::size_t count, const Task& task) {
    for_each_task(m_workers.size(), count,
                  [&](std::size_t thread, std::size_t k) { task(m_workers[thread], k); });
  }

  /// Rows of a task, those of one block of the result after those of another.
  void search_subtrees(Worker& worker, std::size_t task) {
    const Ordinal* row = m_mapping.order.data() + m_mapping.task_begin[task];
    const Ordinal* const end = m_mapping.order.data() + m_mapping.task_begin[task + 1];
    while (row != end) {
      const std::size_t block = block_of(*row);
      Lengths lengths;
      for (; row != end && block_of(*row) == block; ++row) {
        const Ordinal least = start_row(m_pattern, *row, worker.reached);
        m_found(*row) = sweep_row(m_rows, worker, *row, least);
        lengths += lengths_of(m_found(*row));
      }
      add_to_block(block, lengths);
    }
  }

  void search_rows_of_top() {
    constexpr std::size_t each = 8;  // rows of a task
    const std::size_t rows = m_top.rows();
    const auto for_rows = [&](std::size_t k, const auto& visit) {
      for (std::size_t place = k * each; place < std::min(rows, (k + 1) * each); ++place) visit(place);
    };
    for_each_task_in_order(
        m_workers.size(), (rows + each - 1) / each,
        [&](std::size_t thread, std::size_t k) {
          for_rows(k, [&](std::size_t place) { search_below(m_workers[thread], place); });
        },
        [&](std::size_t k) {
          for_rows(k, [&](std::size_t place) {
            m_top.complete(place);
            count_in_top(place);
          });
        });
  }

  /// The part of a row of the top that lies in subtrees, and the set of what is reached in the top.
  void search_below(Worker& worker, std::size_t place) {
    const Ordinal source = m_top_rows[place];
    Word* const set = m_top.of(place);
    std::fill(set, set + m_top.words(), Word(0));
    const Ordinal least = start_row(m_pattern, source, worker.reached);
    RowWord<Ordinal>* const begin = worker.chunks.begin_row(max_words(m_n, least));
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
          if (below != bits) insert_places(set, number, bits & m_in_top(number));
          if (below == 0) return;
          length += count_bits(below);
          *end++ = RowWord<Ordinal>(below, number);
        });
    worker.chunks.end_row(end);
    m_found(source) = {begin, end, static_cast<Ordinal>(length), static_cast<Ordinal>(length)};
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
    const Ordinal source = m_top_rows[place];
    FoundRow<Ordinal>& found = m_found(source);
    const auto lower = static_cast<Ordinal>(m_top.count(place, 0, place));
    found.n_lower += lower;
    found.length += lower + static_cast<Ordinal>(m_top.count(place, place, m_top.rows()));
    add_to_block(block_of(source), lengths_of(found));
  }

  Result collect() {
    Result result;
    result.n = m_n;
    result.method = SymbolicMethod::fill1;
    result.reservation = MemoryReservation(m_budget);
    for (std::size_t block = 0; block + 1 < m_before.size(); ++block) m_before[block + 1] += m_before[block];
    result.nnz_l = m_before.back().lower;
    result.nnz_u = m_before.back().all - result.nnz_l;
    const auto n = static_cast<std::size_t>(m_n);
    const auto row_map = allocate_offsets(result.reservation, "lutra::symbolic::row_map", n + 1);
    const auto diagonal = allocate_offsets(result.reservation, "lutra::symbolic::diagonal", n);
    const auto entries =
        allocate_in_large_pages<Ordinal>(result.reservation, m_budget, Host(), "lutra::symbolic::entries",
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

  /// Offsets of rows. Those of few rows have no large pages to themselves: where factors are sought again and
  /// again, the heap soon holds that much.
  HostArray<Offset> allocate_offsets(MemoryReservation& reservation, const std::string& label,
                                     std::size_t length) const {
    if (length * sizeof(Offset) < large_page_bytes)
      return reservation.allocate<HostArray<Offset>>(Host(), label, length);
    return allocate_in_large_pages<Offset>(reservation, m_budget, Host(), label, length);
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
      if (is_in_top(static_cast<Ordinal>(i))) {
        write_row_of_top(i++, writer);
        continue;
      }
      const FoundRow<Ordinal>& found = m_found(i);
      const RowWord<Ordinal>* last = found.end;
      for (++i; i < end && !is_in_top(static_cast<Ordinal>(i)) && m_found(i).begin == last; ++i)
        last = m_found(i).end;
      writer.write(found.begin, last);
    }
  }

  void write_row_of_top(std::size_t i, ColumnWriter<Ordinal>& writer) const {
    const FoundRow<Ordinal>& found = m_found(i);
    const Word* const set = m_top.of(place_of(static_cast<Ordinal>(i)));
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
    const Ordinal begin = m_top_rows[word.first];
    if (m_top_rows[word.end - 1] - begin == static_cast<Ordinal>(count - 1)) return found << (begin % 64);
    Word bits = 0;
    for (; found != 0; found &= found - 1) {
      const Ordinal v = m_top_rows[word.first + static_cast<std::size_t>(std::countr_zero(found))];
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
  MemoryReservation m_scratch;
  HostArena m_arena;
  Fill1Rows<Ordinal> m_rows;
  HostArray<FoundRow<Ordinal>> m_found;  ///< [n] rows; of rows of the top the words in subtrees only
  std::vector<Lengths> m_before;         ///< [blocks + 1] of each block of rows behind it, then of all before
  std::mutex m_guard;                    ///< of the budget
  std::vector<Worker> m_workers;
  SubtreeMapping<Ordinal> m_mapping;
  std::span<const Ordinal> m_top_rows;  ///< above all subtrees, ascending
  TopSets m_top;                        ///< of L + U within the top
  HostArray<Word> m_in_top;             ///< bit set of the rows of the top
  HostArray<Ordinal> m_first_place;     ///< of the first row of the top in each word that has any
  std::vector<TopWord> m_top_words;     ///< ascending
};

}  // namespace lutra::Impl

#endif
