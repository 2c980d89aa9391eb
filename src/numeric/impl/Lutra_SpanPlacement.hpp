// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPANPLACEMENT_HPP
#define LUTRA_SPANPLACEMENT_HPP

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace lutra::Impl {

/// An array that is needed for some steps of a sequence only. Its place may be given to another one that
/// begins at `end` or later.
struct Span {
  std::int64_t size = 0;            ///< numbers
  std::int64_t begin = 0, end = 0;  ///< steps, end being excluded
};

/// Where spans stand in one array so that no two that overlap in time share a number.
struct SpanPlaces {
  std::vector<std::int64_t> place;  ///< [spans] first number
  /// [spans] the greatest `end` of those that may have stood there before, −1 where nobody has
  std::vector<std::int64_t> freed;
  std::int64_t total = 0;  ///< numbers in all
};

/// Best fit: places spans in the order in which they begin, each in the smallest gap it fits into: within 1.2
/// to 1.5 times of what is needed at once, on assembly trees. Host code, O(spans · log spans).
class SpanPlacement {
 public:
  static SpanPlaces place(const std::vector<Span>& spans) { return SpanPlacement(spans).m_result; }

 private:
  struct Gap {
    std::int64_t size, freed;
  };
  using Gaps = std::map<std::int64_t, Gap>;  // by first number

  explicit SpanPlacement(const std::vector<Span>& spans) {
    m_result.place.assign(spans.size(), 0);
    m_result.freed.assign(spans.size(), -1);
    std::vector<std::size_t> by_begin(spans.size()), by_end;
    std::iota(by_begin.begin(), by_begin.end(), std::size_t(0));
    by_end = by_begin;
    std::ranges::stable_sort(by_begin, {}, [&](std::size_t s) { return spans[s].begin; });
    std::ranges::stable_sort(by_end, {}, [&](std::size_t s) { return spans[s].end; });
    std::size_t ended = 0;
    for (const std::size_t s : by_begin) {
      for (; ended < by_end.size() && spans[by_end[ended]].end <= spans[s].begin; ++ended) {
        const Span& span = spans[by_end[ended]];
        if (span.size > 0) release(m_result.place[by_end[ended]], {span.size, span.end});
      }
      if (spans[s].size > 0) take(s, spans[s].size);
    }
  }

  void add(std::int64_t first, const Gap& gap) {
    m_gaps.emplace(first, gap);
    m_by_size.emplace(gap.size, first);
  }
  Gap remove(Gaps::iterator at) {
    const Gap gap = at->second;
    m_by_size.erase({gap.size, at->first});
    m_gaps.erase(at);
    return gap;
  }

  /// A gap joins its neighbours.
  void release(std::int64_t first, Gap gap) {
    const auto join = [&](const Gap& other) {
      gap = {gap.size + other.size, std::max(gap.freed, other.freed)};
    };
    auto next = m_gaps.lower_bound(first);
    if (next != m_gaps.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second.size == first) {
        first = before->first;
        join(remove(before));
      }
    }
    next = m_gaps.lower_bound(first);
    if (next != m_gaps.end() && next->first == first + gap.size) join(remove(next));
    add(first, gap);
  }

  void take(std::size_t s, std::int64_t size) {
    const auto fit = m_by_size.lower_bound({size, 0});
    if (fit != m_by_size.end()) {
      const std::int64_t first = fit->second;
      const Gap gap = remove(m_gaps.find(first));
      m_result.place[s] = first;
      m_result.freed[s] = gap.freed;
      if (gap.size > size) add(first + size, {gap.size - size, gap.freed});
      return;
    }
    std::int64_t first = m_result.total;
    if (!m_gaps.empty() && m_gaps.rbegin()->first + m_gaps.rbegin()->second.size == m_result.total) {
      first = m_gaps.rbegin()->first;  // the last gap is made longer
      m_result.freed[s] = remove(std::prev(m_gaps.end())).freed;
    }
    m_result.place[s] = first;
    m_result.total = first + size;
  }

  SpanPlaces m_result;
  Gaps m_gaps;
  std::set<std::pair<std::int64_t, std::int64_t>> m_by_size;
};

}  // namespace lutra::Impl

#endif
