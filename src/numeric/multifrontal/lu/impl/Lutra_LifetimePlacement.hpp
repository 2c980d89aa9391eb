// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LIFETIMEPLACEMENT_HPP
#define LUTRA_LIFETIMEPLACEMENT_HPP

#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "Lutra_ArgsortDescending.hpp"

namespace lutra::Impl {

/// An array that is live during some steps of a sequence. Its memory may be reused by a span that begins at
/// `end` or later.
struct Span {
  std::int64_t size = 0;            ///< entries
  std::int64_t begin = 0, end = 0;  ///< live steps, `end` excluded
};

/// An array with a fixed offset that is live from `begin` on; earlier, its memory may be used by others.
struct FixedSpan {
  std::int64_t offset = 0, size = 0;
  std::int64_t begin = 0;
};

/// Offsets of spans in one array, such that spans live at the same time do not overlap.
struct SpanOffsets {
  std::vector<std::int64_t> offset;  ///< [spans] first entry
  /// [spans] greatest `end` of the spans that previously used the memory, −1 if none
  std::vector<std::int64_t> freed;
  std::vector<std::int64_t> fixed_freed;  ///< [fixed spans] likewise
  std::int64_t total = 0;                 ///< total entries, fixed spans included
};

/// Best fit, backwards in time: places spans by descending `end`, each in the smallest gap it fits, the first
/// of equals. A gap left by a fixed span is thus available to spans that end before it begins. Adjacent gaps
/// are merged. On assembly trees the result is within a tenth of the peak of live entries. Host code,
/// O(spans · log gaps).
///
/// Blocks, spans or gaps, are linked in the order of the array. A gap lists the released spans whose memory
/// no other span uses yet. Since spans are placed by descending end, the first one that uses such memory has
/// the greatest end of all that do.
class LifetimePlacement {
 public:
  /// @param fixed     by ascending offset; must not overlap
  /// @param fixed_end end of all fixed spans: other entries before it are not used
  static SpanOffsets assign(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed = {},
                            std::int64_t fixed_end = 0) {
    LifetimePlacement placement(spans, fixed, fixed_end);
    placement.place_all();
    return std::move(placement.m_result);
  }

 private:
  using Number = std::uint32_t;  ///< of a block: spans, then fixed spans
  static constexpr Number none = std::numeric_limits<Number>::max();

  struct Block {
    std::int64_t first = 0, size = 0;
    Number before = none, after = none;  ///< neighbours in the array
    Number head = none, tail = none;     ///< of a gap: released spans whose memory is unused …
    Number next = none;                  ///< … and of each of them the next, in the order of the array
    bool is_gap = false;
  };

  LifetimePlacement(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed,
                    std::int64_t fixed_end)
      : m_spans(spans), m_fixed(fixed), m_blocks(spans.size() + fixed.size()) {
    m_result.offset.assign(spans.size(), 0);
    m_result.freed.assign(spans.size(), -1);
    m_result.fixed_freed.assign(fixed.size(), -1);
    m_result.total = fixed_end;
    for (std::size_t f = 0; f < fixed.size(); ++f) {
      if (fixed[f].size > 0) insert(fixed_number(f), fixed[f].offset, fixed[f].size, m_last, none);
    }
  }

  void place_all() {
    auto by_end = argsort_descending<Number>(m_spans.size(), [&](Number s) { return m_spans[s].size; });
    sort_descending(by_end, [&](Number s) { return m_spans[s].end; });
    const auto by_begin =
        argsort_descending<Number>(m_spans.size(), [&](Number s) { return m_spans[s].begin; });
    const auto fixed_by_begin =
        argsort_descending<Number>(m_fixed.size(), [&](Number f) { return m_fixed[f].begin; });
    auto begun = by_begin.begin();
    auto fixed_begun = fixed_by_begin.begin();
    for (const Number s : by_end) {
      for (; begun != by_begin.end() && m_spans[*begun].begin >= m_spans[s].end; ++begun) release(*begun);
      for (; fixed_begun != fixed_by_begin.end() && m_fixed[*fixed_begun].begin >= m_spans[s].end;
           ++fixed_begun)
        release(fixed_number(*fixed_begun));
      if (m_spans[s].size > 0) place(s);
    }
  }

  Number fixed_number(std::size_t f) const { return static_cast<Number>(m_spans.size() + f); }
  bool is_fixed(Number b) const { return b >= m_spans.size(); }
  std::int64_t offset(Number b) const {
    return is_fixed(b) ? m_fixed[b - m_spans.size()].offset : m_result.offset[b];
  }
  std::int64_t& freed(Number b) {
    return is_fixed(b) ? m_result.fixed_freed[b - m_spans.size()] : m_result.freed[b];
  }

  /// Places a span in the best gap, else at the end of the array, over its last gap. Successive spans of one
  /// size fill one gap, since what it leaves is smaller than all others that suffice.
  void place(Number s) {
    const std::int64_t size = m_spans[s].size;
    if (m_open == none || size != m_open_size || m_blocks[m_open].size < size) open(size);
    if (m_open == none) {
      insert(s, m_result.total, size, m_last, none);
      m_result.total += size;
      return;
    }
    Block& gap = m_blocks[m_open];
    for (; gap.head != none && offset(gap.head) < gap.first + size; gap.head = m_blocks[gap.head].next)
      freed(gap.head) = m_spans[s].end;
    insert(s, gap.first, size, gap.before, m_open);
    gap.first += size;
    gap.size -= size;
    if (gap.size == 0) unlink(std::exchange(m_open, none));
  }

  /// Takes the gap for a size from the sorted ones. Extends the last gap if none suffices; opens none if the
  /// array does not end with a gap.
  void open(std::int64_t size) {
    close();
    m_open_size = size;
    auto fit = m_gaps.lower_bound({size, 0, 0});
    if (fit == m_gaps.end()) {
      if (m_last == none || !m_blocks[m_last].is_gap || end_of(m_last) != m_result.total) return;
      Block& last = m_blocks[m_last];
      fit = m_gaps.find(key(m_last));
      m_result.total = last.first + size;
      last.size = size;
    }
    m_open = std::get<Number>(*fit);
    m_gaps.erase(fit);
  }
  /// Sorts the open gap among the others.
  void close() {
    if (m_open != none) sort_in(std::exchange(m_open, none));
  }

  /// Makes a span a gap, merged with adjacent ones.
  void release(Number b) {
    Block& block = m_blocks[b];
    if (block.size == 0) return;
    close();
    block.is_gap = true;
    block.head = block.tail = b;
    if (const Number before = block.before; adjoin(before, b)) {
      m_gaps.erase(key(before));
      merge(before, b);
      b = before;
    }
    if (const Number after = m_blocks[b].after; adjoin(b, after)) {
      m_gaps.erase(key(after));
      merge(b, after);
    }
    sort_in(b);
  }
  std::int64_t end_of(Number b) const { return m_blocks[b].first + m_blocks[b].size; }
  bool adjoin(Number a, Number b) const {
    return a != none && b != none && m_blocks[a].is_gap && m_blocks[b].is_gap &&
           end_of(a) == m_blocks[b].first;
  }
  /// Appends gap b to gap a.
  void merge(Number a, Number b) {
    Block& left = m_blocks[a];
    const Block& right = m_blocks[b];
    left.size += right.size;
    if (right.head != none) {
      (left.head == none ? left.head : m_blocks[left.tail].next) = right.head;
      left.tail = right.tail;
    }
    unlink(b);
  }

  void insert(Number b, std::int64_t first, std::int64_t size, Number before, Number after) {
    m_blocks[b] = {first, size, before, after};
    if (!is_fixed(b)) m_result.offset[b] = first;
    if (before != none) m_blocks[before].after = b;
    (after == none ? m_last : m_blocks[after].before) = b;
  }
  void unlink(Number b) {
    const Block& block = m_blocks[b];
    if (block.before != none) m_blocks[block.before].after = block.after;
    (block.after == none ? m_last : m_blocks[block.after].before) = block.before;
  }

  using Key = std::tuple<std::int64_t, std::int64_t, Number>;
  Key key(Number b) const { return {m_blocks[b].size, m_blocks[b].first, b}; }
  void sort_in(Number b) { m_gaps.insert(key(b)); }

  const std::vector<Span>& m_spans;
  const std::vector<FixedSpan>& m_fixed;
  SpanOffsets m_result;
  std::vector<Block> m_blocks;
  Number m_last = none;          ///< last block of the array
  std::set<Key> m_gaps;          ///< by size, then by first entry, but for …
  Number m_open = none;          ///< … the gap taken from, or none
  std::int64_t m_open_size = 0;  ///< by spans of this size
};

}  // namespace lutra::Impl

#endif
