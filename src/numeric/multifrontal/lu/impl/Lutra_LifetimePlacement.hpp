// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LIFETIMEPLACEMENT_HPP
#define LUTRA_LIFETIMEPLACEMENT_HPP

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
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

/// Best-fit free list of an array: the smallest gap that suffices, the first of equals. Adjacent gaps are
/// merged.
class BestFitAllocator {
 public:
  /// Frees a range.
  void release(std::int64_t first, std::int64_t size) {
    if (size == 0) return;
    auto next = m_size.lower_bound(first);
    if (next != m_size.end() && next->first == first + size) {
      size += next->second;
      next = remove(next);
    }
    if (next != m_size.begin() && std::prev(next)->first + std::prev(next)->second == first) {
      next = std::prev(next);
      first = next->first;
      size += next->second;
      next = remove(next);
    }
    add(next, first, size);
  }

  /// Takes entries from the best-fitting gap. @returns the first of them, or −1 if none suffices
  std::int64_t take(std::int64_t size) {
    const auto fit = m_by_size.lower_bound({size, 0});
    if (fit == m_by_size.end()) return -1;
    const auto [gap, first] = *fit;
    const auto next = remove(m_size.find(first));
    if (gap > size) add(next, first + size, gap - size);
    return first;
  }

  /// Takes the gap that ends at `end`, which is the end of the array. @returns its first entry, or −1
  std::int64_t take_before(std::int64_t end) {
    if (m_size.empty()) return -1;
    const auto last = std::prev(m_size.end());
    const auto [first, size] = *last;
    if (first + size != end) return -1;
    remove(last);
    return first;
  }

 private:
  using Gaps = std::map<std::int64_t, std::int64_t>;

  void add(Gaps::iterator next, std::int64_t first, std::int64_t size) {
    m_size.emplace_hint(next, first, size);
    m_by_size.emplace(size, first);
  }
  Gaps::iterator remove(Gaps::iterator gap) {
    m_by_size.erase({gap->second, gap->first});
    return m_size.erase(gap);
  }

  Gaps m_size;                                                ///< of each gap, by first entry
  std::set<std::pair<std::int64_t, std::int64_t>> m_by_size;  ///< size and first entry
};

/// Best fit, backwards in time: places spans by descending `end`, each in the smallest gap it fits. A gap
/// left by a fixed span is thus available to spans that end before it begins, and adjacent gaps are merged.
/// On assembly trees the result is within a tenth of the peak of live entries. Host code, O(spans · log
/// spans).
class LifetimePlacement {
 public:
  /// @param fixed     must not overlap
  /// @param fixed_end end of all fixed spans: other entries before it are not used
  /// @param min_end   earlier ends are irrelevant: `freed` may report them as −1
  static SpanOffsets assign(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed = {},
                            std::int64_t fixed_end = 0,
                            std::int64_t min_end = std::numeric_limits<std::int64_t>::min()) {
    LifetimePlacement placement(fixed_end);
    placement.assign_backwards(spans, fixed);
    placement.find_freed(spans, fixed, min_end);
    return std::move(placement.m_result);
  }

 private:
  explicit LifetimePlacement(std::int64_t fixed_end) { m_result.total = fixed_end; }

  void assign_backwards(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed) {
    m_result.offset.assign(spans.size(), 0);
    auto by_end = argsort_descending<std::size_t>(spans.size(), [&](std::size_t s) { return spans[s].size; });
    sort_descending(by_end, [&](std::size_t s) { return spans[s].end; });
    const auto by_begin =
        argsort_descending<std::size_t>(spans.size(), [&](std::size_t s) { return spans[s].begin; });
    const auto fixed_by_begin =
        argsort_descending<std::size_t>(fixed.size(), [&](std::size_t f) { return fixed[f].begin; });
    std::size_t begun = 0, fixed_begun = 0;
    for (const std::size_t s : by_end) {
      for (; begun < by_begin.size() && spans[by_begin[begun]].begin >= spans[s].end; ++begun)
        m_gaps.release(m_result.offset[by_begin[begun]], spans[by_begin[begun]].size);
      for (; fixed_begun < fixed.size() && fixed[fixed_by_begin[fixed_begun]].begin >= spans[s].end;
           ++fixed_begun) {
        const FixedSpan& span = fixed[fixed_by_begin[fixed_begun]];
        m_gaps.release(span.offset, span.size);
      }
      if (spans[s].size > 0) m_result.offset[s] = take(spans[s].size);
    }
  }

  /// Falls back to the end of the array, extending the last gap.
  std::int64_t take(std::int64_t size) {
    std::int64_t first = m_gaps.take(size);
    if (first >= 0) return first;
    first = m_gaps.take_before(m_result.total);
    if (first < 0) first = m_result.total;
    m_result.total = first + size;
    return first;
  }

  /// Forwards in time: for each interval of the array, the span that last used it.
  void find_freed(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed, std::int64_t min_end) {
    m_result.freed.assign(spans.size(), -1);
    m_result.fixed_freed.assign(fixed.size(), -1);
    // spans before an irrelevant span have ended by then, so they are irrelevant too
    std::vector<std::size_t> by_begin;
    for (std::size_t s = 0; s < spans.size(); ++s) {
      if (spans[s].size > 0 && spans[s].end >= min_end) by_begin.push_back(s);
    }
    sort_descending(by_begin, [&](std::size_t s) { return -spans[s].begin; });
    const auto fixed_by_begin =
        argsort_descending<std::size_t>(fixed.size(), [&](std::size_t f) { return -fixed[f].begin; });
    std::size_t f = 0;
    const auto fix = [&](std::int64_t until) {
      for (; f < fixed.size() && fixed[fixed_by_begin[f]].begin <= until; ++f) {
        const FixedSpan& span = fixed[fixed_by_begin[f]];
        m_result.fixed_freed[fixed_by_begin[f]] = occupy(span.offset, span.size, never);
      }
    };
    for (const std::size_t s : by_begin) {
      fix(spans[s].begin);
      m_result.freed[s] = occupy(m_result.offset[s], spans[s].size, spans[s].end);
    }
    fix(never);
  }

  /// @returns the greatest end of the previous occupants
  std::int64_t occupy(std::int64_t first, std::int64_t size, std::int64_t end) {
    std::int64_t greatest = -1;
    if (size == 0) return greatest;
    auto at = m_last.upper_bound(first);
    if (at != m_last.begin()) at = std::prev(at);
    while (at != m_last.end() && at->first < first + size) {
      const auto [begin, range] = *at;
      at = begin + range.size > first ? m_last.erase(at) : std::next(at);
      if (begin + range.size <= first) continue;
      greatest = std::max(greatest, range.end);
      if (begin < first) m_last.emplace(begin, Range{first - begin, range.end});
      if (begin + range.size > first + size)
        m_last.emplace(first + size, Range{begin + range.size - first - size, range.end});
    }
    m_last.emplace(first, Range{size, end});
    return greatest;
  }

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  struct Range {
    std::int64_t size, end;
  };

  SpanOffsets m_result;
  BestFitAllocator m_gaps;
  std::map<std::int64_t, Range> m_last;  ///< by first entry
};

}  // namespace lutra::Impl

#endif
