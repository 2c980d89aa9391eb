// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1ROWS_HPP
#define LUTRA_FILL1ROWS_HPP

#include <algorithm>
#include <bit>

#include "Lutra_Arena.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RelaxedAccess.hpp"
#include "Lutra_RowChunks.hpp"
#include "Lutra_SweepSet.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

template <class T>
using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;

/// 64 columns of a row: bit b represents column 64·number + b. A row is its nonempty words in ascending
/// order. The bits are stored in halves, so that words need no padding.
struct RowWord {
  std::uint32_t low, high;
  Ordinal number;

  RowWord() = default;
  RowWord(SweepSet::Word bits, std::size_t number_of_word)
      : low(static_cast<std::uint32_t>(bits)),
        high(static_cast<std::uint32_t>(bits >> 32)),
        number(static_cast<Ordinal>(number_of_word)) {}
  SweepSet::Word bits() const { return static_cast<SweepSet::Word>(high) << 32 | low; }
};

/// A row of U without its diagonal, and the part that remains to be visited after pruning.
struct UpperRow {
  /// Words with columns right of the diagonal; the first may also contain others
  const RowWord* words;
  Ordinal n_words;
  Ordinal pruned_end;  ///< last column to visit, the first i with (k, i) in U and (i, k) in L; n before one
                       ///< is found
};

/// Bits of word `number` that represent columns greater than k.
inline SweepSet::Word bits_beyond(Ordinal k, Ordinal number) {
  const auto column = static_cast<std::size_t>(k);
  return static_cast<std::size_t>(number) == column / 64 ? ~SweepSet::Word(1) << (column % 64)
                                                         : ~SweepSet::Word(0);
}

using HostArena = Arena<Kokkos::HostSpace>;

/// The rows of U found so far.
struct Fill1Rows {
  using Word = SweepSet::Word;
  Ordinal n;
  /// [n] the only entry of a row of U that remains to be visited; -1 if there are more or none
  HostArray<Ordinal> only;
  HostArray<UpperRow> upper;      ///< [n]
  HostArray<Word> leads_to_next;  ///< bit set of rows k whose only remaining entry is k + 1

  Fill1Rows(HostArena& arena, Ordinal rows)
      : n(rows),
        only(arena.cut<HostArray<Ordinal>>(n)),
        upper(arena.cut<HostArray<UpperRow>>(n)),
        leads_to_next(arena.cut<HostArray<Word>>(words_for(n))) {
    std::fill_n(leads_to_next.data(), leads_to_next.extent(0), Word(0));
  }

  /// Bytes of an arena.
  static std::size_t bytes(Ordinal n) {
    return static_cast<std::size_t>(n) * (sizeof(Ordinal) + sizeof(UpperRow)) + words_for(n) * sizeof(Word) +
           HostArena::loss(3);
  }
  static std::size_t words_for(Ordinal n) { return (static_cast<std::size_t>(n) + 63) / 64; }

  /// @param begin the word of the diagonal
  void set_upper(Ordinal k, const RowWord* begin, const RowWord* end) const {
    only(k) = -1;
    if ((begin->bits() & bits_beyond(k, begin->number)) == 0) ++begin;
    upper(k) = {begin, static_cast<Ordinal>(end - begin), n};
  }

  /// Prunes row k to its entry `last`. Atomic, since rows of different threads may share a word of bits.
  void set_only(Ordinal k, Ordinal last) const {
    only(k) = last;
    if (last == k + 1) Kokkos::atomic_or(&leads_to_next(k / 64), Word(1) << (k % 64));
  }

  /// Bits of the rows of a word whose only remaining entry is the next row.
  Word to_next(std::size_t number) const { return load_relaxed(leads_to_next(number)); }
};

/// Workspace of one thread, on its own cache lines.
struct alignas(128) Fill1Worker {
  using Chunks = RowChunks<RowWord>;
  HostArray<SweepSet::Word> bits;  ///< of `reached`
  SweepSet reached;
  Chunks chunks;  ///< rows found by this worker

  Fill1Worker(HostArena& arena, const MemoryBudget& budget, Ordinal n, std::size_t first_chunk)
      : bits(arena.cut<HostArray<SweepSet::Word>>(SweepSet::words(static_cast<std::size_t>(n)))),
        reached(bits.data(), static_cast<std::size_t>(n)),
        chunks(budget, reinterpret_cast<RowWord*>(arena.cut_bytes(chunk_bytes(first_chunk))), first_chunk) {
    std::fill_n(bits.data(), bits.extent(0), SweepSet::Word(0));
  }

  /// Bytes of an arena.
  static std::size_t bytes_each(Ordinal n, std::size_t first_chunk) {
    return SweepSet::words(static_cast<std::size_t>(n)) * sizeof(SweepSet::Word) + chunk_bytes(first_chunk) +
           HostArena::loss(2);
  }
  static std::size_t chunk_bytes(std::size_t length) { return length * sizeof(RowWord); }
};

/// Capacity of first chunks in words. Under a memory limit at most a quarter of the remaining budget.
inline std::size_t words_expected(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                  const MemoryBudget& budget) {
  const auto expected =
      static_cast<std::size_t>(pattern.n_rows) + static_cast<std::size_t>(pattern.nnz()) / 2;
  return std::min(expected, budget.available_bytes() / (4 * sizeof(RowWord)));
}

/// Inserts the columns of U(k, :) into `reached`; returns whether `source` is one of them.
inline bool insert_upper(const UpperRow& upper, Ordinal k, Ordinal source, SweepSet& reached) {
  const auto column = static_cast<std::size_t>(source);
  const RowWord* p = upper.words;
  const RowWord* const end = p + upper.n_words;
  SweepSet::Word behind = p != end ? bits_beyond(k, p->number) : 0, of_source = 0;
  for (; p != end; ++p, behind = ~SweepSet::Word(0)) {
    const SweepSet::Word bits = p->bits() & behind;
    const auto number = static_cast<std::size_t>(p->number);
    if (number == column / 64) of_source = bits;
    reached.insert_word(number, bits);
  }
  return (of_source >> (column % 64) & 1) != 0;
}

/// Overload for columns up to `last`, which is one of them.
inline bool insert_upper(const UpperRow& upper, Ordinal k, Ordinal last, Ordinal source, SweepSet& reached) {
  const auto column = static_cast<std::size_t>(source), end = static_cast<std::size_t>(last);
  SweepSet::Word of_source = 0;
  for (const RowWord* p = upper.words;; ++p) {
    const auto number = static_cast<std::size_t>(p->number);
    SweepSet::Word bits = p->bits() & bits_beyond(k, p->number);
    if (number == end / 64) bits &= bits_between(0, end % 64 + 1);
    if (number == column / 64) of_source = bits;
    reached.insert_word(number, bits);
    if (number == end / 64) return (of_source >> (column % 64) & 1) != 0;
  }
}

/// Inserts the remaining columns of U(k, :) into `reached`. Prunes the row at `source` if it contains it:
/// (source, k) is an entry of L whenever this is called.
inline void expand_and_prune(const Fill1Rows& rows, Ordinal k, Ordinal source, SweepSet& reached) {
  UpperRow& upper = rows.upper(k);
  if (upper.pruned_end != rows.n) {
    insert_upper(upper, k, upper.pruned_end, source, reached);
    return;
  }
  if (!insert_upper(upper, k, source, reached)) return;
  upper.pruned_end = source;
  const SweepSet::Word first = upper.words->bits() & bits_beyond(k, upper.words->number);
  if (upper.words->number * 64 + static_cast<Ordinal>(std::countr_zero(first)) == source)
    rows.set_only(k, source);
}

/// Inserts a source and its row of A into `reached`; returns the smallest column.
inline Ordinal start_row(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordinal source,
                         SweepSet& reached) {
  const Offset end = pattern.row_map(source + 1);
  auto least = static_cast<std::size_t>(source), number = least / 64;
  SweepSet::Word bits = SweepSet::Word(1) << (least % 64);
  for (Offset p = pattern.row_map(source); p < end; ++p) {
    const auto v = static_cast<std::size_t>(pattern.entries(p));
    if (v / 64 != number) {  // neighbours mostly share a word
      reached.insert_word(number, bits);
      number = v / 64;
      bits = 0;
    }
    bits |= SweepSet::Word(1) << (v % 64);
    least = std::min(least, v);
  }
  reached.insert_word(number, bits);
  return static_cast<Ordinal>(least);
}

/// A completed row: its words, its number of entries, and how many of them are in L.
struct FoundRow {
  const RowWord *begin, *end;
  Ordinal length, n_lower;
};

/// Maximum number of words of a row without entries before `least`.
inline std::size_t max_words(Ordinal n, Ordinal least) {
  return static_cast<std::size_t>((n - 1) / 64 - least / 64 + 1);
}

/// Merges rows of U, in ascending order, into the set reached from the source; stores the completed row.
inline FoundRow sweep_row(const Fill1Rows& rows, Fill1Worker& worker, Ordinal source, Ordinal least) {
  const auto word_of_source = static_cast<std::size_t>(source) / 64;
  const SweepSet::Word before_source = (SweepSet::Word(1) << (static_cast<std::size_t>(source) % 64)) - 1;
  RowWord* const begin = worker.chunks.begin_row(max_words(rows.n, least));
  RowWord *end = begin, *diagonal = begin;
  int lower = 0, all = 0;
  worker.reached.sweep(
      static_cast<std::size_t>(least),
      [&](std::size_t number) {
        return number < word_of_source    ? ~SweepSet::Word(0)
               : number == word_of_source ? before_source
                                          : SweepSet::Word(0);
      },
      [&](std::size_t number) { return rows.to_next(number); },
      [&](std::size_t k) {
        const Ordinal only = rows.only(k);
        if (only >= 0) return worker.reached.insert(static_cast<std::size_t>(only));
        expand_and_prune(rows, static_cast<Ordinal>(k), source, worker.reached);
      },
      [&](std::size_t number, SweepSet::Word bits) {
        if (number == word_of_source) {
          diagonal = end;
          lower = all + count_bits(bits & before_source);
        }
        all += count_bits(bits);
        *end++ = RowWord(bits, number);
      });
  worker.chunks.end_row(end);
  rows.set_upper(source, diagonal, end);
  return {begin, end, static_cast<Ordinal>(all), static_cast<Ordinal>(lower)};
}

/// Writes the columns of words, ascending. @returns the end of the output
inline Ordinal* write_columns(const RowWord* begin, const RowWord* end, Ordinal* to) {
  for (; begin != end; ++begin) {
    for (SweepSet::Word bits = begin->bits(); bits != 0; bits &= bits - 1)
      *to++ = begin->number * 64 + static_cast<Ordinal>(std::countr_zero(bits));
  }
  return to;
}

}  // namespace lutra::Impl

#endif
