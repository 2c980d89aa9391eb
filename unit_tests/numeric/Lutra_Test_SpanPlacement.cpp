// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Lutra_SpanPlacement.hpp"

namespace lutra::Test {
namespace {

using lutra::Impl::Span;
using lutra::Impl::SpanPlacement;
using lutra::Impl::SpanPlaces;

/// No two spans that overlap in time share a number; `freed` bounds all that stood there before.
void check(const std::vector<Span>& spans, const SpanPlaces& places) {
  for (std::size_t a = 0; a < spans.size(); ++a) {
    REQUIRE(places.place[a] >= 0);
    REQUIRE(places.place[a] + spans[a].size <= places.total);
    REQUIRE(places.freed[a] <= spans[a].begin);
    for (std::size_t b = 0; b < a; ++b) {
      const bool share = places.place[a] < places.place[b] + spans[b].size &&
                         places.place[b] < places.place[a] + spans[a].size;
      if (!share || spans[a].size == 0 || spans[b].size == 0) continue;
      INFO("spans " << a << " and " << b);
      REQUIRE((spans[a].end <= spans[b].begin || spans[b].end <= spans[a].begin));
      const std::size_t later = spans[a].begin < spans[b].begin ? b : a, earlier = later == a ? b : a;
      REQUIRE(places.freed[later] >= spans[earlier].end);
    }
  }
}

}  // namespace

TEST_CASE("spans take the place of those that have ended", "[numeric]") {
  SECTION("the smallest gap that suffices") {
    const std::vector<Span> spans{{10, 0, 2}, {4, 0, 9}, {6, 0, 3}, {5, 0, 9}, {6, 3, 9}};
    const auto places = SpanPlacement::place(spans);
    CHECK(places.place == std::vector<std::int64_t>{0, 10, 14, 20, 14});
    CHECK(places.freed == std::vector<std::int64_t>{-1, -1, -1, -1, 3});
    CHECK(places.total == 25);
  }
  SECTION("gaps join, and tell the last end") {
    const std::vector<Span> spans{{3, 0, 1}, {4, 0, 2}, {1, 0, 9}, {7, 2, 9}};
    const auto places = SpanPlacement::place(spans);
    CHECK(places.place == std::vector<std::int64_t>{0, 3, 7, 0});
    CHECK(places.freed[3] == 2);
    CHECK(places.total == 8);
  }
  SECTION("the last gap is made longer") {
    const std::vector<Span> spans{{3, 0, 9}, {4, 0, 2}, {6, 2, 9}};
    const auto places = SpanPlacement::place(spans);
    CHECK(places.place == std::vector<std::int64_t>{0, 3, 3});
    CHECK(places.freed[2] == 2);
    CHECK(places.total == 9);
  }
  SECTION("nothing, and spans of no numbers") {
    CHECK(SpanPlacement::place({}).total == 0);
    CHECK(SpanPlacement::place({{0, 0, 1}, {0, 0, 1}}).total == 0);
  }
}

TEST_CASE("random spans do not meet", "[numeric]") {
  std::mt19937 random(4);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<Span> spans(300);
    for (Span& span : spans) {
      span.size = up_to(turn % 2 == 0 ? 5 : 400);
      span.begin = up_to(100);
      span.end = span.begin + 1 + up_to(turn + 1);
    }
    check(spans, SpanPlacement::place(spans));
  }
}

}  // namespace lutra::Test
