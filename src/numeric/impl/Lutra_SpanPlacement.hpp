// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPANPLACEMENT_HPP
#define LUTRA_SPANPLACEMENT_HPP

#include <algorithm>
#include <cstdint>
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

/// Best fit, backwards in time: places spans in the order in which they end, the last ones first, each in the
/// smallest gap it fits into. So a gap that a fixed span leaves is there for whoever ends before that one
/// begins, and neighbouring gaps are one. On assembly trees within a tenth of what is needed at once. Host
/// code, O(spans · log gaps); of spans that end together, most take the next part of one gap, which costs no
/// more than a look for a smaller one.
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
  struct Gap {
    std::int64_t first = 0, size = 0;
  };

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
    for (const std::size_t s : by_end) {
      for (; begun < by_begin.size() && spans[by_begin[begun]].begin >= spans[s].end; ++begun)
        release(m_result.place[by_begin[begun]], spans[by_begin[begun]].size);
      for (; fixed_begun < fixed.size() && fixed[fixed_by_begin[fixed_begun]].begin >= spans[s].end;
           ++fixed_begun) {
        const FixedSpan& span = fixed[fixed_by_begin[fixed_begun]];
        release(span.place, span.size);
      }
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

  /// The gap that was cut last goes back among the others.
  void put_back() {
    if (m_cut.size > 0) add(m_cut.first, m_cut.size);
    m_cut = {};
  }

  /// A gap joins its neighbours.
  void release(std::int64_t first, std::int64_t size) {
    if (size == 0) return;
    put_back();
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
    if (m_cut.size < size || (fit != m_by_size.end() && *fit < std::pair(m_cut.size, m_cut.first))) {
      if (fit == m_by_size.end()) return take_end(size);
      const Gap gap{fit->second, fit->first};
      remove(m_gaps.find(gap.first));
      put_back();
      m_cut = gap;
    }
    const std::int64_t first = m_cut.first;
    m_cut = {first + size, m_cut.size - size};
    return first;
  }

  /// Behind all others; where the last gap reaches the end, it is made longer.
  std::int64_t take_end(std::int64_t size) {
    put_back();
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
  Gap m_cut;  ///< what is left of the gap cut last, which is not among the others; none of it: size 0
  std::map<std::int64_t, Stretch> m_last;  ///< by first number
};

}  // namespace lutra::Impl

#endif
