// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "Lutra_LifetimePlacement.hpp"

namespace lutra::Test {
namespace {

using lutra::Impl::FixedSpan;
using lutra::Impl::LifetimePlacement;
using lutra::Impl::Span;
using lutra::Impl::SpanOffsets;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// No two spans that overlap in time share a number; `freed` is the greatest end of those that stood there
/// before.
void check(const std::vector<Span>& spans, const SpanOffsets& placed,
           const std::vector<FixedSpan>& fixed = {}) {
  struct Placed {
    std::int64_t offset, size, begin, end, freed, found = -1;
  };
  std::vector<Placed> all;
  for (std::size_t s = 0; s < spans.size(); ++s)
    all.push_back({placed.offset[s], spans[s].size, spans[s].begin, spans[s].end, placed.freed[s]});
  for (std::size_t f = 0; f < fixed.size(); ++f)
    all.push_back({fixed[f].offset, fixed[f].size, fixed[f].begin, never, placed.fixed_freed[f]});
  for (std::size_t a = 0; a < all.size(); ++a) {
    REQUIRE(all[a].offset >= 0);
    REQUIRE(all[a].offset + all[a].size <= placed.total);
    for (std::size_t b = 0; b < a; ++b) {
      const bool share =
          all[a].offset < all[b].offset + all[b].size && all[b].offset < all[a].offset + all[a].size;
      if (!share || all[a].size == 0 || all[b].size == 0) continue;
      INFO("spans " << a << " and " << b);
      REQUIRE((all[a].end <= all[b].begin || all[b].end <= all[a].begin));
      Placed& later = all[a].end <= all[b].begin ? all[b] : all[a];
      const Placed& earlier = all[a].end <= all[b].begin ? all[a] : all[b];
      later.found = std::max(later.found, earlier.end);
    }
  }
  for (const Placed& one : all) REQUIRE(one.freed == one.found);
}

/// Best fit backwards in time, as it is defined.
std::vector<std::int64_t> plain_offsets(const std::vector<Span>& spans, const std::vector<FixedSpan>& fixed,
                                        std::int64_t total) {
  std::map<std::int64_t, std::int64_t> gaps;  // sizes by first number
  const auto release = [&](std::int64_t first, std::int64_t size) {
    if (size == 0) return;
    gaps[first] = size;
    for (auto gap = gaps.begin(); gap != gaps.end();) {
      const auto next = std::next(gap);
      if (next == gaps.end() || gap->first + gap->second != next->first) {
        gap = next;
      } else {
        gap->second += next->second;
        gaps.erase(next);
      }
    }
  };
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t s) { return std::pair(spans[s].end, spans[s].size); });
  std::vector<std::int64_t> offset(spans.size(), 0);
  std::vector<char> released(spans.size(), 0), fixed_released(fixed.size(), 0);
  for (const std::size_t s : order) {
    for (std::size_t t = 0; t < spans.size(); ++t) {
      if (released[t] || spans[t].begin < spans[s].end) continue;
      release(offset[t], spans[t].size);
      released[t] = 1;
    }
    for (std::size_t f = 0; f < fixed.size(); ++f) {
      if (fixed_released[f] || fixed[f].begin < spans[s].end) continue;
      release(fixed[f].offset, fixed[f].size);
      fixed_released[f] = 1;
    }
    if (spans[s].size == 0) continue;
    auto best = gaps.end();
    for (auto gap = gaps.begin(); gap != gaps.end(); ++gap) {
      if (gap->second >= spans[s].size && (best == gaps.end() || gap->second < best->second)) best = gap;
    }
    if (best == gaps.end()) {
      const bool at_end = !gaps.empty() && gaps.rbegin()->first + gaps.rbegin()->second == total;
      offset[s] = at_end ? gaps.rbegin()->first : total;
      if (at_end) gaps.erase(std::prev(gaps.end()));
      total = offset[s] + spans[s].size;
    } else {
      offset[s] = best->first;
      const std::int64_t left = best->second - spans[s].size;
      gaps.erase(best);
      if (left > 0) gaps[offset[s] + spans[s].size] = left;
    }
  }
  return offset;
}

}  // namespace

TEST_CASE("a span reuses the memory of spans that have ended", "[numeric]") {
  SECTION("the smallest gap that suffices") {
    const std::vector<Span> spans{{10, 5, 9}, {8, 0, 9}, {6, 6, 9}, {5, 0, 9}, {6, 0, 5}};
    const auto placed = LifetimePlacement::assign(spans);
    CHECK(placed.offset == std::vector<std::int64_t>{0, 10, 18, 24, 18});
    CHECK(placed.freed == std::vector<std::int64_t>{-1, -1, 5, -1, -1});
    CHECK(placed.total == 29);
  }
  SECTION("gaps join, and a span in both waits for the last end") {
    const std::vector<Span> spans{{3, 0, 1}, {4, 0, 2}, {7, 2, 9}};
    const auto placed = LifetimePlacement::assign(spans);
    CHECK(placed.offset == std::vector<std::int64_t>{4, 0, 0});
    CHECK(placed.freed == std::vector<std::int64_t>{-1, -1, 2});
    CHECK(placed.total == 7);
  }
  SECTION("the last gap is made longer") {
    const std::vector<Span> spans{{6, 0, 2}, {4, 2, 9}, {5, 0, 9}};
    const auto placed = LifetimePlacement::assign(spans);
    CHECK(placed.offset == std::vector<std::int64_t>{5, 5, 0});
    CHECK(placed.freed[1] == 2);
    CHECK(placed.total == 11);
  }
  SECTION("fixed spans are gaps until they are needed, for spans that end by then") {
    const std::vector<Span> spans{{4, 0, 3}, {4, 1, 4}, {2, 0, 2}};
    const auto placed = LifetimePlacement::assign(spans, {{0, 5, 3}, {5, 3, 2}, {8, 2, 0}}, 10);
    CHECK(placed.offset == std::vector<std::int64_t>{0, 10, 4});
    CHECK(placed.fixed_freed == std::vector<std::int64_t>{3, 2, -1});
    CHECK(placed.total == 14);
  }
  SECTION("nothing, and spans of no numbers") {
    CHECK(LifetimePlacement::assign({}).total == 0);
    CHECK(LifetimePlacement::assign({{0, 0, 1}, {0, 0, 1}}).total == 0);
    CHECK(LifetimePlacement::assign({}, {{0, 3, 1}}, 3).fixed_freed == std::vector<std::int64_t>{-1});
  }
}

TEST_CASE("random spans do not overlap", "[numeric]") {
  std::mt19937 random(4);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int turn = 0; turn < 40; ++turn) {
    std::vector<Span> spans(300);
    for (Span& span : spans) {
      span.size = up_to(turn % 3 == 0 ? 5 : turn % 3 == 1 ? 400 : 6000);
      span.begin = up_to(100);
      span.end = span.begin + 1 + up_to(turn + 1);
    }
    std::vector<FixedSpan> fixed;
    std::int64_t fixed_end = 0;
    for (int f = 0; f < (turn < 20 ? 0 : 100); ++f) {
      fixed.push_back({fixed_end + up_to(3), up_to(1000), up_to(100)});
      fixed_end = fixed.back().offset + fixed.back().size;
    }
    const auto placed = LifetimePlacement::assign(spans, fixed, fixed_end);
    check(spans, placed, fixed);
    REQUIRE(placed.offset == plain_offsets(spans, fixed, fixed_end));
  }
}

}  // namespace lutra::Test
