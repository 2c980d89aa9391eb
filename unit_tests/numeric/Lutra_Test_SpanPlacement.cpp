// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <random>

#include "Lutra_SpanPlacement.hpp"

namespace lutra::Test {
namespace {

using lutra::Impl::FixedSpan;
using lutra::Impl::Span;
using lutra::Impl::SpanPlacement;
using lutra::Impl::SpanPlaces;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// No two spans that overlap in time share a number; `freed` bounds all that stood there before.
void check(const std::vector<Span>& spans, const SpanPlaces& places,
           const std::vector<FixedSpan>& fixed = {}) {
  struct Placed {
    std::int64_t place, size, begin, end, freed;
  };
  std::vector<Placed> all;
  for (std::size_t s = 0; s < spans.size(); ++s)
    all.push_back({places.place[s], spans[s].size, spans[s].begin, spans[s].end, places.freed[s]});
  for (std::size_t f = 0; f < fixed.size(); ++f)
    all.push_back({fixed[f].place, fixed[f].size, fixed[f].begin, never, places.fixed_freed[f]});
  for (std::size_t a = 0; a < all.size(); ++a) {
    REQUIRE(all[a].place >= 0);
    REQUIRE(all[a].place + all[a].size <= places.total);
    REQUIRE(all[a].freed <= all[a].begin);
    for (std::size_t b = 0; b < a; ++b) {
      const bool share =
          all[a].place < all[b].place + all[b].size && all[b].place < all[a].place + all[a].size;
      if (!share || all[a].size == 0 || all[b].size == 0) continue;
      INFO("spans " << a << " and " << b);
      REQUIRE((all[a].end <= all[b].begin || all[b].end <= all[a].begin));
      const Placed& later = all[a].begin < all[b].begin ? all[b] : all[a];
      const Placed& earlier = all[a].begin < all[b].begin ? all[a] : all[b];
      REQUIRE(later.freed >= earlier.end);
    }
  }
}

}  // namespace

TEST_CASE("spans take the place of those that come behind them", "[numeric]") {
  SECTION("the smallest gap that suffices") {
    const std::vector<Span> spans{{10, 5, 9}, {8, 0, 9}, {6, 6, 9}, {5, 0, 9}, {6, 0, 5}};
    const auto places = SpanPlacement::place(spans);
    CHECK(places.place == std::vector<std::int64_t>{0, 10, 18, 24, 18});
    CHECK(places.freed == std::vector<std::int64_t>{-1, -1, 5, -1, -1});
    CHECK(places.total == 29);
  }
  SECTION("gaps join, and who stands in both waits for the last end") {
    const std::vector<Span> spans{{3, 0, 1}, {4, 0, 2}, {7, 2, 9}};
    const auto places = SpanPlacement::place(spans);
    CHECK(places.place == std::vector<std::int64_t>{4, 0, 0});
    CHECK(places.freed == std::vector<std::int64_t>{-1, -1, 2});
    CHECK(places.total == 7);
  }
  SECTION("the last gap is made longer") {
    const std::vector<Span> spans{{6, 0, 2}, {4, 2, 9}, {5, 0, 9}};
    const auto places = SpanPlacement::place(spans);
    CHECK(places.place == std::vector<std::int64_t>{5, 5, 0});
    CHECK(places.freed[1] == 2);
    CHECK(places.total == 11);
  }
  SECTION("fixed places are gaps until they are needed, for who ends by then") {
    const std::vector<Span> spans{{4, 0, 3}, {4, 1, 4}, {2, 0, 2}};
    const auto places = SpanPlacement::place(spans, {{0, 5, 3}, {5, 3, 2}, {8, 2, 0}}, 10);
    CHECK(places.place == std::vector<std::int64_t>{0, 10, 4});
    CHECK(places.fixed_freed == std::vector<std::int64_t>{3, 2, -1});
    CHECK(places.total == 14);
  }
  SECTION("nothing, and spans of no numbers") {
    CHECK(SpanPlacement::place({}).total == 0);
    CHECK(SpanPlacement::place({{0, 0, 1}, {0, 0, 1}}).total == 0);
    CHECK(SpanPlacement::place({}, {{0, 3, 1}}, 3).fixed_freed == std::vector<std::int64_t>{-1});
  }
}

TEST_CASE("random spans do not meet", "[numeric]") {
  std::mt19937 random(4);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int turn = 0; turn < 40; ++turn) {
    std::vector<Span> spans(300);
    for (Span& span : spans) {
      span.size = up_to(turn % 2 == 0 ? 5 : 400);
      span.begin = up_to(100);
      span.end = span.begin + 1 + up_to(turn + 1);
    }
    std::vector<FixedSpan> fixed;
    std::int64_t fixed_end = 0;
    for (int f = 0; f < (turn < 20 ? 0 : 100); ++f) {
      fixed.push_back({fixed_end + up_to(3), up_to(1000), up_to(100)});
      fixed_end = fixed.back().place + fixed.back().size;
    }
    check(spans, SpanPlacement::place(spans, fixed, fixed_end), fixed);
  }
}

}  // namespace lutra::Test
