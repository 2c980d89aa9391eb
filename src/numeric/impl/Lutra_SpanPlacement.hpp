// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPANPLACEMENT_HPP
#define LUTRA_SPANPLACEMENT_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "Lutra_FallingOrder.hpp"

namespace lutra::Impl {

/// An array that is needed for some steps of a sequence only. Its place may be given to another one that
/// begins at `end` or later.
struct Span {
  std::int64_t size = 0;            ///< numbers
  std::int64_t begin = 0, end = 0;  ///< steps, end being excluded
};

/// An array whose place is given and which is needed from `begin` on: before, others may stand there.
struct FixedSpan {
  std::int64_t place = 0, size = 0;
  std::int64_t begin = 0;
};

/// Where spans stand in one array so that no two that overlap in time share a number.
struct SpanPlaces {
  std::vector<std::int64_t> place;  ///< [spans] first number
  /// [spans] the greatest `end` of those that stood there before, −1 where nobody did
  std::vector<std::int64_t> freed;
  std::vector<std::int64_t> fixed_freed;  ///< [fixed spans] the same
  std::int64_t total = 0;                 ///< numbers in all, those of fixed spans among them
};

/// Gaps of which parts are taken and none is given back: by size, the first one of each size first. Most are
/// small, and of small ones there is a heap for each size.
class SizedGaps {
 public:
  struct Gap {
    std::int64_t first = 0, size = 0;
  };

  void add(const Gap& gap) {
    if (gap.size >= small) {
      if (m_cut.size > 0) m_large.emplace(m_cut.size, m_cut.first);
      m_cut = gap;
    } else if (gap.size > 0) {
      auto& heap = m_heaps[static_cast<std::size_t>(gap.size)];
      heap.push_back(gap.first);
      std::ranges::push_heap(heap, std::greater<>{});
      m_there[static_cast<std::size_t>(gap.size / 64)] |= std::uint64_t(1) << gap.size % 64;
    }
  }

  /// The first of the smallest gaps of so many numbers or more, which is no longer there then; size 0: none.
  Gap take(std::int64_t size) {
    for (std::int64_t word = size / 64; word < small / 64; ++word) {
      std::uint64_t bits = m_there[static_cast<std::size_t>(word)];
      if (word == size / 64) bits &= ~std::uint64_t(0) << size % 64;
      if (bits != 0) return pop(word * 64 + std::countr_zero(bits));
    }
    const auto fit = m_large.lower_bound({size, 0});
    const bool is_cut =
        m_cut.size >= size && (fit == m_large.end() || std::pair(m_cut.size, m_cut.first) < *fit);
    if (is_cut) return std::exchange(m_cut, {});
    if (fit == m_large.end()) return {};
    const Gap gap{fit->second, fit->first};
    m_large.erase(fit);
    return gap;
  }

 private:
  Gap pop(std::int64_t size) {
    auto& heap = m_heaps[static_cast<std::size_t>(size)];
    std::ranges::pop_heap(heap, std::greater<>{});
    const Gap gap{heap.back(), size};
    heap.pop_back();
    if (heap.empty()) m_there[static_cast<std::size_t>(size / 64)] &= ~(std::uint64_t(1) << size % 64);
    return gap;
  }

  static constexpr std::int64_t small = 1024;
  std::vector<std::vector<std::int64_t>> m_heaps = std::vector<std::vector<std::int64_t>>(small);
  std::vector<std::uint64_t> m_there = std::vector<std::uint64_t>(small / 64);  ///< sizes with a gap
  std::set<std::pair<std::int64_t, std::int64_t>> m_large;
  Gap m_cut;  ///< the large gap that came last, mostly what is left of one, which is wanted next
};

/// Best fit, backwards in time: places spans in the order in which they end, the last ones first, each in the
/// smallest gap it fits into. So a gap that a fixed span leaves is there for whoever ends before that one
/// begins, and neighbouring gaps are one. On assembly trees within a tenth of what is needed at once. Host
/// code, O(spans · log gaps), with a small factor for those that end first: before these nothing is given
/// back, and most spans of a tree are such ones.
class SpanPlacement {
 public:
  /// @param fixed do not overlap
  /// @param fixed_end behind all fixed places: what lies before that no fixed span has is nobody's
  /// @param least_end ends below are of no interest: in `freed` they may be −1
  static SpanPlaces place(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed = {},
                          std::int64_t fixed_end = 0,
                          std::int64_t least_end = std::numeric_limits<std::int64_t>::min()) {
    SpanPlacement placement(fixed_end);
    placement.place_backwards(spans, fixed);
    placement.find_freed(spans, fixed, least_end);
    return std::move(placement.m_result);
  }

 private:
  using Gaps = std::map<std::int64_t, std::int64_t>;  // sizes by first number

  explicit SpanPlacement(std::int64_t fixed_end) { m_result.total = fixed_end; }

  void place_backwards(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed) {
    m_result.place.assign(spans.size(), 0);
    auto by_end = falling_order<std::size_t>(spans.size(), [&](std::size_t s) { return spans[s].size; });
    sort_falling(by_end, [&](std::size_t s) { return spans[s].end; });
    const auto by_begin =
        falling_order<std::size_t>(spans.size(), [&](std::size_t s) { return spans[s].begin; });
    const auto fixed_by_begin =
        falling_order<std::size_t>(fixed.size(), [&](std::size_t f) { return fixed[f].begin; });
    std::size_t begun = 0, fixed_begun = 0;
    for (std::size_t k = 0; k < by_end.size(); ++k) {
      const std::size_t s = by_end[k];
      for (; begun < by_begin.size() && spans[by_begin[begun]].begin >= spans[s].end; ++begun)
        release(m_result.place[by_begin[begun]], spans[by_begin[begun]].size);
      for (; fixed_begun < fixed.size() && fixed[fixed_by_begin[fixed_begun]].begin >= spans[s].end;
           ++fixed_begun) {
        const FixedSpan& span = fixed[fixed_by_begin[fixed_begun]];
        release(span.place, span.size);
      }
      if (spans[s].end == spans[by_end.back()].end)
        return place_rest(spans, by_end.data() + k, by_end.data() + by_end.size());
      if (spans[s].size > 0) m_result.place[s] = take(spans[s].size);
    }
  }

  void add(std::int64_t first, std::int64_t size) {
    m_gaps.emplace(first, size);
    m_by_size.emplace(size, first);
  }
  std::int64_t remove(Gaps::iterator at) {
    const std::int64_t size = at->second;
    m_by_size.erase({size, at->first});
    m_gaps.erase(at);
    return size;
  }

  /// A gap joins its neighbours.
  void release(std::int64_t first, std::int64_t size) {
    if (size == 0) return;
    auto next = m_gaps.lower_bound(first);
    if (next != m_gaps.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == first) {
        first = before->first;
        size += remove(before);
      }
    }
    next = m_gaps.lower_bound(first);
    if (next != m_gaps.end() && next->first == first + size) size += remove(next);
    add(first, size);
  }

  std::int64_t take(std::int64_t size) {
    const auto fit = m_by_size.lower_bound({size, 0});
    if (fit == m_by_size.end()) return take_end(size);
    const std::int64_t first = fit->second;
    const std::int64_t left = remove(m_gaps.find(first)) - size;
    if (left > 0) add(first + size, left);
    return first;
  }

  /// Behind all others; where the last gap reaches the end, it is made longer.
  std::int64_t take_end(std::int64_t size) {
    std::int64_t first = m_result.total;
    if (!m_gaps.empty()) {
      const auto last = std::prev(m_gaps.end());
      if (last->first + last->second == m_result.total) {
        first = last->first;
        remove(last);
      }
    }
    m_result.total = first + size;
    return first;
  }

  /// The same for what is left when nothing is given back any more: neighbours of gaps are of no interest.
  void place_rest(const std::vector<Span>& spans, const std::size_t* begin, const std::size_t* end) {
    SizedGaps gaps;
    SizedGaps::Gap last{m_result.total, 0};  // the one that reaches the end
    for (const auto& [first, size] : m_gaps) {
      if (first + size == m_result.total) {
        last = {first, size};
      } else {
        gaps.add({first, size});
      }
    }
    for (; begin != end; ++begin) {
      const std::int64_t size = spans[*begin].size;
      if (size == 0) continue;
      SizedGaps::Gap gap = gaps.take(size);
      const bool last_is_best = gap.size == 0 || (last.size >= size && std::pair(last.size, last.first) <
                                                                           std::pair(gap.size, gap.first));
      if (last_is_best) {
        gaps.add(gap);
        m_result.place[*begin] = last.first;
        last = {last.first + size, std::max<std::int64_t>(0, last.size - size)};
        m_result.total = std::max(m_result.total, last.first);
      } else {
        m_result.place[*begin] = gap.first;
        gaps.add({gap.first + size, gap.size - size});
      }
    }
  }

  /// Forwards in time: each stretch of the array knows who stood there last.
  void find_freed(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed,
                  std::int64_t least_end) {
    m_result.freed.assign(spans.size(), -1);
    m_result.fixed_freed.assign(fixed.size(), -1);
    const auto by_begin =
        falling_order<std::size_t>(spans.size(), [&](std::size_t s) { return -spans[s].begin; });
    const auto fixed_by_begin =
        falling_order<std::size_t>(fixed.size(), [&](std::size_t f) { return -fixed[f].begin; });
    std::size_t f = 0;
    const auto fix = [&](std::int64_t until) {
      for (; f < fixed.size() && fixed[fixed_by_begin[f]].begin <= until; ++f) {
        const FixedSpan& span = fixed[fixed_by_begin[f]];
        m_result.fixed_freed[fixed_by_begin[f]] = occupy(span.place, span.size, never);
      }
    };
    for (const std::size_t s : by_begin) {
      // who stood there before has ended by then, so that all of that is of no interest either
      if (spans[s].end < least_end) continue;
      fix(spans[s].begin);
      if (spans[s].size > 0) m_result.freed[s] = occupy(m_result.place[s], spans[s].size, spans[s].end);
    }
    fix(never);
  }

  /// @returns the greatest end of those that stood there
  std::int64_t occupy(std::int64_t first, std::int64_t size, std::int64_t end) {
    std::int64_t greatest = -1;
    if (size == 0) return greatest;
    auto at = m_last.upper_bound(first);
    if (at != m_last.begin()) at = std::prev(at);
    while (at != m_last.end() && at->first < first + size) {
      const auto [begin, stretch] = *at;
      at = begin + stretch.size > first ? m_last.erase(at) : std::next(at);
      if (begin + stretch.size <= first) continue;
      greatest = std::max(greatest, stretch.end);
      if (begin < first) m_last.emplace(begin, Stretch{first - begin, stretch.end});
      if (begin + stretch.size > first + size)
        m_last.emplace(first + size, Stretch{begin + stretch.size - first - size, stretch.end});
    }
    m_last.emplace(first, Stretch{size, end});
    return greatest;
  }

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  struct Stretch {
    std::int64_t size, end;
  };

  SpanPlaces m_result;
  Gaps m_gaps;
  std::set<std::pair<std::int64_t, std::int64_t>> m_by_size;
  std::map<std::int64_t, Stretch> m_last;  ///< by first number
};

}  // namespace lutra::Impl

#endif
