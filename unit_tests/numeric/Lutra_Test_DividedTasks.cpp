// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tasks of a front that several devices divide by columns. Host code.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "Lutra_FrontTaskWaits.hpp"
#include "Lutra_OrderedTasks.hpp"

namespace lutra::Test {
namespace {

using Flag = FrontFlag;

/// A front over children whose contributions are given, each with some of its rows.
AssemblyTree front_over_leaves(int pivots, int cb_rows, int leaves, std::mt19937& random) {
  AssemblyTree tree;
  tree.n = pivots + cb_rows;
  tree.pivot_begin.assign(static_cast<std::size_t>(leaves) + 1, 0);
  tree.pivot_begin.push_back(pivots);
  tree.parent.assign(static_cast<std::size_t>(leaves), leaves);
  tree.parent.push_back(-1);
  tree.row_begin.push_back(0);
  for (int f = 0; f <= leaves; ++f) {
    for (int row = f < leaves ? 0 : pivots; row < tree.n; ++row)
      if (f == leaves || random() % 3 > 0) tree.rows.push_back(row);
    tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
  }
  return tree;
}

/// Tile of a task, or of a pair's second.
std::vector<std::pair<int, int>> tiles_of(const Task& task) {
  std::vector<std::pair<int, int>> tiles{{task.row, task.column}};
  if (!task.is_single()) tiles.push_back({task.row + task.rows - 1, task.column + task.columns - 1});
  return tiles;
}

/// Lets devices with one block each run their tasks until none can go on. A device raises the flags of its
/// own tasks, and on the others those of tiles of L. @returns whether all tasks are complete
bool run_divided(const std::vector<std::unique_ptr<Tasks>>& devices) {
  std::vector<std::set<Flag>> raised(devices.size());
  std::vector<std::size_t> next(devices.size(), 0);
  for (std::size_t d = 0; d < devices.size(); ++d)
    for (Ordinal f = 0; f < static_cast<Ordinal>(devices[d]->layout.fronts.size()); ++f)
      if (devices[d]->is_given(f)) raised[d].insert({f, -1});
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const Tasks& own = *devices[d];
      if (next[d] == own.size()) continue;
      const Task& task = own.at(next[d]);
      const auto cut = own.cut(task);
      bool is_ready = true;
      for_each_wait(task, own.list.front(task.front), own.layout.children, cut,
                    [&](const Flag& flag) { is_ready = is_ready && raised[d].contains(flag); });
      if (!is_ready) continue;
      const bool passes = task.row >= task.column && task.column < cut.pivot_tiles();
      for_each_raised(task, cut, false, [&](const Flag& flag) {
        for (std::size_t to = 0; to < devices.size(); ++to)
          if (to == d || passes) raised[to].insert(flag);
      });
      ++next[d];
      goes_on = true;
    }
  }
  for (std::size_t d = 0; d < devices.size(); ++d)
    if (next[d] < devices[d]->size()) return false;
  return true;
}

}  // namespace

TEST_CASE("devices that divide a front run all its tasks, and none waits for good", "[numeric]") {
  std::mt19937 random(29);
  for (const auto& [pivots, cb_rows] : {std::pair(97, 0), {64, 90}, {200, 33}, {16, 150}}) {
    const AssemblyTree tree = front_over_leaves(pivots, cb_rows, 3, random);
    for (const int ranks : {2, 3, 4}) {
      for (const int width : {8, 16, 32}) {
        for (const int paired : {8, 1000}) {
          INFO(pivots << " + " << cb_rows << ", blocks of " << width << " on " << ranks
                      << " devices, pairs from " << paired << " tiles on");
          FrontTaskOptions options{{4, 8}, 3, 40, {}};
          options.model.min_linked_tiles = options.model.min_swept_tiles = 1000;
          options.model.min_paired_root_tiles = paired;
          const Tasks whole(tree, options);
          options.model.min_linked_tiles = options.model.min_swept_tiles = 2;  // of no effect
          std::vector<std::unique_ptr<Tasks>> devices;
          std::map<std::pair<int, int>, std::size_t> of_tile;  // device
          for (int r = 0; r < ranks; ++r) {
            options.share = FrontShare{{pivots, cb_rows, ranks, width, 8}, r};
            devices.push_back(std::make_unique<Tasks>(tree, options));
            const Tasks& own = *devices.back();
            for (std::size_t t = 0; t < own.size(); ++t)
              for (const auto& tile : tiles_of(own.at(t)))
                REQUIRE(of_tile.emplace(tile, devices.size() - 1).second);
            // others may store in the panels before this device begins
            for (std::size_t f = 0; f < own.layout.fronts.size(); ++f)
              if (own.layout.fronts[f].cb_rows > 0)
                CHECK(own.placement.contributions[f].contribution >= own.panels.entries());
          }
          std::vector<std::size_t> next(devices.size(), 0);
          for (std::size_t t = 0; t < whole.size(); ++t) {  // in the order of one device
            const auto tiles = tiles_of(whole.at(t));
            const auto found = of_tile.find(tiles.front());
            REQUIRE(found != of_tile.end());
            const std::size_t d = found->second;
            REQUIRE(tiles_of(devices[d]->at(next[d]++)) == tiles);
          }
          CHECK(run_divided(devices));
        }
      }
    }
  }
}

}  // namespace lutra::Test
