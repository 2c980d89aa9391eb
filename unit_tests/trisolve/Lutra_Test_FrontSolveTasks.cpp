// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks of solves on fronts are taken in the order of their lists by blocks that run at the same time. A
// block that waits can only wait for tasks that precede its own, or all blocks might wait for ones not yet
// taken.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "Lutra_EarlySources.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontSolveTasks.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Ordinal = std::tuple_element_t<0, Ordinals>;
using Type = Types<double, Ordinal, std::tuple_element_t<0, Spaces>>;  // values are not looked at
using Fronts = std::vector<Front>;
using Tasks = lutra::Impl::FrontSolveTasks;

constexpr int no_part = -1;
/// Number in its list of each task: front, tile, part.
using Numbers = std::map<std::array<int, 3>, std::size_t>;

/// Fronts by their first pivots.
std::map<Ordinal, int> by_first_pivot(const Fronts& fronts) {
  std::map<Ordinal, int> result;
  for (std::size_t f = 0; f < fronts.size(); ++f) result[fronts[f].first_pivot] = static_cast<int>(f);
  return result;
}

Numbers number_tiles(const Fronts& fronts, const std::vector<Tasks::Task>& tasks) {
  const auto front_of = by_first_pivot(fronts);
  Numbers numbers;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    REQUIRE(numbers.insert({{front_of.at(tasks[t].first_pivot), tasks[t].tile, tasks[t].part}, t}).second);
  return numbers;
}

Numbers number_warps(const Fronts& fronts, const std::vector<Tasks::WarpTask>& tasks) {
  const auto front_of = by_first_pivot(fronts);
  Numbers numbers;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    REQUIRE(numbers.insert({{front_of.at(tasks[t].first_pivot), 0, no_part}, t}).second);
  return numbers;
}

int parent_of(const Fronts& fronts, int front) {
  return static_cast<int>(fronts[static_cast<std::size_t>(front)].parent);
}

void check_warps(const Fronts& fronts, const Numbers& up, const Numbers& down) {
  CHECK(up.size() == down.size());
  for (const auto& [task, number] : up) {
    const auto above = up.find({parent_of(fronts, task[0]), 0, no_part});
    if (above != up.end()) CHECK(number < above->second);  // a front waits for its children
  }
  for (const auto& [task, number] : down) {
    const auto above = down.find({parent_of(fronts, task[0]), 0, no_part});
    if (above != down.end()) CHECK(above->second < number);  // a front waits for its ancestors
  }
}

void check_tiles(const Fronts& fronts, int edge, const Numbers& up, const Numbers& down) {
  const auto tiles_of = [&](int front) {
    const auto& f = fronts[static_cast<std::size_t>(front)];
    return lutra::Impl::FrontTiles(f.pivots, f.cb_rows, edge);
  };
  for (const auto& [task, number] : up) {
    const auto [front, tile, part] = task;
    const auto tiles = tiles_of(front);
    for (int j = 0; j < std::min(tile, tiles.pivot_tiles()); ++j) CHECK(up.at({front, j, no_part}) < number);
    const int parent = parent_of(fronts, front);
    if (parent < 0) continue;
    for (int j = 0; j < tiles_of(parent).count(); ++j) CHECK(number < up.at({parent, j, no_part}));
  }
  for (const auto& [task, number] : down) {
    const auto [front, tile, part] = task;
    const auto tiles = tiles_of(front);
    REQUIRE(tile < tiles.pivot_tiles());
    if (part >= 0) CHECK(number < down.at({front, tile, no_part}));
    for (int j = tile + 1; j < tiles.pivot_tiles() && part < 0; ++j)
      CHECK(down.at({front, j, no_part}) < number);
    const int parent = parent_of(fronts, front);
    if (parent < 0) continue;
    for (int j = 0; j < tiles_of(parent).pivot_tiles(); ++j) CHECK(down.at({parent, j, no_part}) < number);
  }
}

void check_order(const Matrix<Type>& matrix, const FrontPlanOptions& options, bool interchanges) {
  const auto pattern = make_view(matrix).pattern();
  const auto tree = make_assembly_tree(pattern, {});
  const FrontEntries entries{pattern, tree.order, tree.order};
  const auto plan = plan_fronts(Type::Space(), tree, entries, MemoryBudget(), options);
  const Tasks tasks(plan.layout.fronts, options, interchanges, h200_device_model().trisolve.fronts);
  std::size_t fronts = 0;
  for (int c = 0; c < Tasks::tiled; ++c) {
    const auto up = number_warps(plan.layout.fronts, tasks.warps_up[c]);
    check_warps(plan.layout.fronts, up, number_warps(plan.layout.fronts, tasks.warps_down[c]));
    fronts += up.size();
  }
  const auto up = number_tiles(plan.layout.fronts, tasks.tiles_up);
  for (const auto& [task, number] : up) fronts += task[1] == 0 ? 1 : 0;
  CHECK(fronts == plan.layout.fronts.size());  // each is solved once
  check_tiles(plan.layout.fronts, options.tile, up, number_tiles(plan.layout.fronts, tasks.tiles_down));
}

}  // namespace

TEST_CASE("tasks of multifrontal solves follow the tasks they wait for", "[trisolve]") {
  std::mt19937 random(21);
  const std::vector<Matrix<Type>> matrices{
      bordered_blocks<Matrix<Type>>(3, 130, 140, random), bordered_blocks<Matrix<Type>>(2, 70, 450, random),
      bordered_blocks<Matrix<Type>>(300, 2, 6, random), dominant_matrix<Matrix<Type>>(400, 0.01, random)};
  for (const auto& matrix : matrices) {
    for (const FrontPlanOptions options : {FrontPlanOptions{64, 96}, FrontPlanOptions{32, 64}}) {
      for (const bool interchanges : {false, true}) check_order(matrix, options, interchanges);
    }
  }
}

TEST_CASE("long lists of early sources are cut into sums of at most 1,024 rows", "[trisolve]") {
  std::mt19937 random(17);
  constexpr int leaves = 5000, rows_of_leaf = 3, root_size = 9;
  // Leaves 0 to 4999 below a root of 9 pivots; every fourth leaf is late. A last leaf is a root of its own.
  Fronts fronts(leaves + 2);
  std::vector<int> relative;
  for (int f = 0; f < leaves; ++f) {
    Front& leaf = fronts[static_cast<std::size_t>(f)];
    leaf.first_pivot = f;
    leaf.pivots = 1;
    leaf.cb_rows = rows_of_leaf;
    leaf.rows = static_cast<Offset>(relative.size());
    leaf.parent = leaves;
    const int first = static_cast<int>(random() % (root_size - 2));
    for (int r = 0; r < rows_of_leaf; ++r) relative.push_back(first + r);
  }
  for (int f = leaves; f < leaves + 2; ++f) {
    Front& root = fronts[static_cast<std::size_t>(f)];
    root.first_pivot = f == leaves ? leaves : leaves + root_size;
    root.pivots = f == leaves ? root_size : 1;
    root.rows = static_cast<Offset>(relative.size());
    root.parent = -1;
  }
  const auto n = static_cast<std::int64_t>(leaves + root_size + 1);
  const auto all = lutra::Impl::list_sources(fronts, n, relative.data(), relative.size());
  const auto is_late = [](Ordinal leaf) { return leaf % 4 == 0; };
  const auto early = lutra::Impl::sum_early_sources(
      fronts, all, relative.size(), [](Ordinal f) { return f == leaves; },
      [&](Ordinal f) { return !is_late(f); });
  REQUIRE(early.sources.begin.size() == all.begin.size());
  REQUIRE(early.sum_end.back() == early.sum_source.size());
  std::size_t sums = 0, late = 0;
  for (std::size_t p = 0; p + 1 < all.begin.size(); ++p) {
    std::vector<std::uint32_t> expected(all.source.begin() + all.begin[p],
                                        all.source.begin() + all.begin[p + 1]);
    std::vector<std::uint32_t> found;
    for (std::uint32_t s = early.sources.begin[p]; s < early.sources.begin[p + 1]; ++s) {
      const std::uint32_t row = early.sources.source[s];
      if (row < relative.size()) {
        found.push_back(row);
        late += is_late(static_cast<Ordinal>(row / rows_of_leaf));
        continue;
      }
      REQUIRE(row - relative.size() == sums);
      const std::uint32_t begin = sums > 0 ? early.sum_end[sums - 1] : 0, end = early.sum_end[sums];
      REQUIRE(end - begin <= 1024);
      for (std::uint32_t k = begin; k < end; ++k) {
        REQUIRE_FALSE(is_late(static_cast<Ordinal>(early.sum_source[k] / rows_of_leaf)));
        found.push_back(early.sum_source[k]);
      }
      ++sums;
    }
    std::ranges::sort(found);
    std::ranges::sort(expected);
    REQUIRE(found == expected);
  }
  CHECK(sums == early.sum_end.size());
  CHECK(sums >= root_size);
  CHECK(late == leaves / 4 * rows_of_leaf);
}

}  // namespace lutra::Test
