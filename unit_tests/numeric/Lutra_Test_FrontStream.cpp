// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Divisions of trees whose factors are streamed, worked out by hand, and for generated matrices.
#include <catch2/catch_test_macros.hpp>

#include <limits>
#include <random>
#include <vector>

#include "Lutra_FrontStream.hpp"
#include "Lutra_TestDominant.hpp"

namespace lutra::Test {
namespace {

constexpr Offset alignment = 64;

/// Two leaves of two pivots each, with the two pivots of the root as contribution rows.
AssemblyTree small_tree() {
  AssemblyTree tree;
  tree.n = 6;
  tree.order = {0, 1, 2, 3, 4, 5};
  tree.pivot_begin = {0, 2, 4, 6};
  tree.parent = {2, 2, -1};
  tree.row_begin = {0, 2, 4, 4};
  tree.rows = {4, 5, 4, 5};
  return tree;
}

}  // namespace

TEST_CASE("a part takes its panels, its blocks and those of children in other parts", "[numeric]") {
  const FrontPartSizes sizes(small_tree(), {3, 5, 7}, 0);
  CHECK(sizes.count() == 3);
  CHECK(sizes.of({0, 1}) == 2 * 6 + 4 + 3 + alignment);
  CHECK(sizes.of({1, 2}) == 2 * 6 + 4 + 5 + alignment);
  CHECK(sizes.of({2, 3}) == 2 * 2 + 2 * 4 + 7 + alignment);    // the blocks of both children
  CHECK(sizes.of({1, 3}) == 12 + 4 + 2 * 4 + 12 + alignment);  // of one, and the other's
  CHECK(sizes.of({0, 3}) == 12 + 12 + 4 + 8 + 15 + alignment);
  CHECK(sizes.of_largest_front() == sizes.of({1, 2}));
  CHECK(FrontPartSizes(small_tree(), {3, 5, 7}, 10).of({2, 3}) == sizes.of({2, 3}) + 20);
  CHECK(cut_tree(sizes, sizes.of({0, 3})) == std::vector<FrontRange>{{0, 3}});
  CHECK(cut_tree(sizes, sizes.of({0, 2})) == std::vector<FrontRange>{{0, 2}, {2, 3}});
  CHECK(cut_tree(sizes, 0) == std::vector<FrontRange>{{0, 1}, {1, 2}, {2, 3}});
}

TEST_CASE("blocks between parts form stacks, whose bottom goes to host memory", "[numeric]") {
  const AssemblyTree tree = small_tree();
  const std::vector<FrontRange> parts{{0, 1}, {1, 2}, {2, 3}};
  const auto all = place_passed_blocks(tree, parts, std::numeric_limits<Offset>::max());
  REQUIRE(all.blocks.size() == 2);
  CHECK((all.device == 8 && all.host == 0 && all.rows == 4 && all.on_host == 0));
  CHECK((all.blocks[0].from == 0 && all.blocks[0].to == 2 && all.blocks[0].place == 0));
  CHECK((all.blocks[1].from == 1 && all.blocks[1].place == 4 && all.blocks[1].first_row == 2));
  const auto one = place_passed_blocks(tree, parts, 7);
  CHECK((one.device == 4 && one.host == 4 && one.rows == 4 && one.on_host == 4));
  CHECK((one.blocks[0].on_host && one.blocks[0].place == 0));
  CHECK((!one.blocks[1].on_host && one.blocks[1].place == 0 && one.blocks[1].first_row == 2));
  const auto none = place_passed_blocks(tree, parts, 0);
  CHECK((none.device == 0 && none.host == 8 && none.on_host == 8 && none.blocks[1].place == 4));
  CHECK(place_passed_blocks(tree, {{0, 3}}, 0).blocks.empty());
}

TEST_CASE("parts lie in a ring, each behind what the one before keeps", "[numeric]") {
  std::vector<PartPlace> parts(4);
  for (auto& part : parts) part = {10, 25};
  CHECK(place_in_ring(parts, 100) == 55);  // none is overwritten
  CHECK((parts[0].begin == 0 && parts[1].begin == 10 && parts[2].begin == 20 && parts[3].begin == 30));
  for (const auto& part : parts) CHECK(part.after == -1);
  CHECK(place_in_ring(parts, 40) == 35);
  CHECK((parts[1].begin == 10 && parts[2].begin == 0 && parts[3].begin == 10));
  CHECK((parts[1].after == -1 && parts[2].after == 1 && parts[3].after == 1));
  CHECK((parts[2].overwrites(parts[0]) && parts[2].overwrites(parts[1])));
  CHECK((parts[2].excludes(parts[0]) && !parts[2].excludes(parts[1]) && parts[3].excludes(parts[1])));
  for (auto& part : parts) part.behind = 10;
  CHECK(place_in_ring(parts, 40) == 35);
  CHECK((parts[2].after_behind == 1 && parts[3].after == 1 && parts[3].after_behind == -1));
  CHECK(place_in_ring(parts, 25) == 25);  // one at a time
  for (std::size_t p = 1; p < parts.size(); ++p) {
    CHECK(parts[p].begin == 0);
    CHECK(parts[p].after == static_cast<int>(p) - 1);
  }
}

TEST_CASE("no two blocks that wait at a time share their place", "[numeric]") {
  std::mt19937 random(5);
  const auto A = chains_of_blocks<HostMatrix<double>>(6, 12, 9, random);
  const auto tree = make_assembly_tree(make_view(A).pattern());
  const std::vector<Offset> entries(static_cast<std::size_t>(tree.count()), 10);
  const FrontPartSizes sizes(tree, entries, 0);
  const Offset whole = sizes.of({0, tree.count()});
  for (const Offset most : {whole / 2, whole / 5, whole / 20, Offset(1)}) {
    const auto parts = cut_tree(sizes, most);
    REQUIRE(parts.front().begin == 0);
    REQUIRE(parts.back().end == tree.count());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      CHECK((p == 0 || parts[p].begin == parts[p - 1].end));
      CHECK((sizes.of(parts[p]) <= most || parts[p].end == parts[p].begin + 1));
    }
    const auto wanted = place_passed_blocks(tree, parts, std::numeric_limits<Offset>::max()).device;
    for (const Offset capacity : {wanted, wanted / 2, wanted / 10, Offset(0)}) {
      const auto passed = place_passed_blocks(tree, parts, capacity);
      CHECK(passed.device <= capacity);
      bool overlap = false, rows_overlap = false;
      for (const PassedBlock& a : passed.blocks) {
        CHECK(a.place + a.entries() <= (a.on_host ? passed.host : passed.device));
        for (const PassedBlock& b : passed.blocks) {
          const bool together = b.front > a.front && b.from < a.to;  // b is added before a is taken
          if (!together) continue;
          const auto apart = [](Offset x, Offset x_size, Offset y, Offset y_size) {
            return x + x_size <= y || y + y_size <= x;
          };
          overlap = overlap || (a.on_host == b.on_host && !apart(a.place, a.entries(), b.place, b.entries()));
          rows_overlap = rows_overlap || !apart(a.first_row, static_cast<Offset>(a.rows), b.first_row,
                                                static_cast<Offset>(b.rows));
        }
      }
      CHECK_FALSE(overlap);
      CHECK_FALSE(rows_overlap);
    }
  }
}

}  // namespace lutra::Test
