// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of tasks of a factorization in fronts, against deadlock and against memory written too early.
// Host code; tiles are smaller than on devices, so that small trees have many of them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_DistributedFronts.hpp"
#include "Lutra_FrontEntries.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontTaskWaits.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_OrderedTasks.hpp"
#include "Lutra_SmallChildLists.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Type = Types<double, Ordinal>;
using Flag = FrontFlag;
using Lists = lutra::Impl::SmallChildLists;
using lutra::Impl::tasks_a_chunk;

/// Where in the order each flag is raised for good: by its last task, a sweep's by what its steps wait for.
std::map<Flag, std::size_t> find_raised(const Tasks& tasks) {
  std::map<Flag, std::size_t> raised;
  const auto note = [&](const Flag& flag, std::size_t t, bool shared) {
    const auto [position, is_new] = raised.emplace(flag, t);
    if (!shared && !is_new) FAIL("two tasks raise one flag");
    position->second = std::max(position->second, t);
  };
  for (const auto& small : tasks.list.small_tasks) note({small.front, -1}, 0, false);  // in a launch before
  for (Ordinal f = 0; f < static_cast<Ordinal>(tasks.layout.fronts.size()); ++f)
    if (tasks.is_given(f)) note({f, -1}, 0, false);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for_each_raised(tasks.at(t), tasks.cut(tasks.at(t)), tasks.list.options.symmetric,
                    [&](const Flag& flag) { note(flag, t, flag.front >= 0); });
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks.at(t);
    if (task.row != Task::sweeping) continue;
    const auto cut = tasks.cut(task);
    std::size_t last = t;  // the sweep has begun
    for (int s = 0; s < cut.pivot_tiles(); ++s) {
      for_each_sweep_wait(task, cut, s, [&](const Flag& flag) {
        REQUIRE(raised.contains(flag));
        last = std::max(last, raised[flag]);
      });
      note(raised_by_sweep(task, cut, s), last, false);
    }
  }
  return raised;
}

struct Counts {
  std::size_t tasks = 0, waits = 0, sweeps = 0, chunk_waits = 0, direct = 0, reused = 0, pairs = 0, given = 0;
  Counts& operator+=(const Counts& other) {
    tasks += other.tasks;
    waits += other.waits;
    sweeps += other.sweeps;
    chunk_waits += other.chunk_waits;
    direct += other.direct;
    reused += other.reused;
    pairs += other.pairs;
    given += other.given;
    return *this;
  }
};

/// Every wait is for tasks before.
void check_waits(const Tasks& tasks, Counts& counts) {
  const auto raised = find_raised(tasks);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks.at(t);
    INFO("task " << t);
    for_each_wait(task, tasks.list.front(task.front), tasks.layout.children, tasks.cut(task),
                  [&](const Flag& flag) {
                    ++counts.waits;
                    const auto found = raised.find(flag);
                    const bool in_launch_before =
                        flag.front >= 0 && (tasks.list.is_small(flag.front) || tasks.is_given(flag.front));
                    if (found != raised.end() && (in_launch_before || found->second < t)) return;
                    FAIL("waits for front " << flag.front << " or tile " << flag.tile);
                  });
    REQUIRE(static_cast<std::size_t>(task.after) * tasks_a_chunk <= t);  // chunks it waits for
    counts.chunk_waits += task.after > 0;
    counts.sweeps += task.row == Task::sweeping;
    counts.pairs += task.row >= 0 && !task.is_single();
  }
  counts.tasks += tasks.size();
  REQUIRE(counts.sweeps < static_cast<std::size_t>(tasks.list.options.blocks));
  // small fronts: children before parents
  std::vector<std::size_t> position(tasks.layout.fronts.size(), std::numeric_limits<std::size_t>::max());
  for (std::size_t t = 0; t < tasks.list.small_tasks.size(); ++t)
    position[static_cast<std::size_t>(tasks.list.small_tasks[t].front)] = t;
  for (std::size_t f = 0; f < position.size(); ++f) {
    const auto parent = tasks.layout.fronts[f].parent;
    if (parent < 0 || !tasks.list.is_small(parent) || tasks.is_given(static_cast<Ordinal>(f))) continue;
    REQUIRE(position[f] < position[static_cast<std::size_t>(parent)]);
  }
}

/// Each front is worked once, by a task or by the tasks of all its tiles, unless its contribution is given.
void check_complete(const Tasks& tasks) {
  std::map<std::tuple<Ordinal, int, int>, int> worked;
  for (const auto& small : tasks.list.small_tasks) ++worked[{small.front, Task::whole, -1}];
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks.at(t);
    if (task.row == Task::clearing) continue;
    for (int r = 0; r < task.rows; ++r)
      for (int c = 0; c < task.columns; ++c) ++worked[{task.front, task.row + r, task.column + c}];
  }
  REQUIRE(std::ranges::all_of(worked, [](const auto& tile) { return tile.second == 1; }));
  for (Ordinal f = 0; f < static_cast<Ordinal>(tasks.layout.fronts.size()); ++f) {
    if (tasks.is_given(f)) {
      REQUIRE(!worked.contains({f, Task::whole, -1}));
      REQUIRE(!worked.contains({f, 0, 0}));
      continue;
    }
    const int edge = tasks.list.is_small(f) || !tasks.list.is_tiled(f) ? 0 : tasks.list.tiles_of(f).count();
    if (edge == 0) REQUIRE(worked.contains({f, Task::whole, -1}));
    for (int e = 0; e < edge * edge; ++e) {
      const bool needed = !tasks.list.options.symmetric || e / edge >= e % edge;
      if (needed && !worked.contains({f, e / edge, e % edge})) FAIL("front " << f << " lacks a tile");
    }
  }
}

/// Memory of a front's panels or contribution, which tasks of the front write and tasks of the parent read.
struct Stored {
  std::int64_t begin, end;
  std::vector<std::size_t> writers;  ///< in the order, those that wait for others to write
  std::int64_t last_reader;          ///< in the order; −1: all are in the launch before
  bool small;                        ///< written in the launch before, or given
  bool forever;                      ///< panels, and contributions of roots
};

std::vector<Stored> list_stored(const Tasks& tasks) {
  const auto n = tasks.layout.fronts.size();
  std::vector<std::int64_t> last(n, -1);
  std::vector<std::vector<std::size_t>> of_panels(n), of_contribution(n);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks.at(t);
    const auto f = static_cast<std::size_t>(task.front);
    last[f] = static_cast<std::int64_t>(t);
    const bool whole = task.row == Task::whole;
    const bool contribution = task.row >= 0 && task.in_contribution(tasks.cut(task));
    if (whole || contribution) of_contribution[f].push_back(t);
    // other tiles wait for the first one, which has waited, or for those that clear
    if (whole || task.row == Task::clearing || task.row + task.column == 0) of_panels[f].push_back(t);
  }
  std::vector<Stored> all;
  for (std::size_t f = 0; f < n; ++f) {
    const auto& front = tasks.layout.fronts[f];
    const auto& placed = tasks.placement.contributions[f];
    const std::int64_t kept = front.cb_rows - placed.passed;
    const bool small =
        tasks.list.is_small(static_cast<Ordinal>(f)) || tasks.is_given(static_cast<Ordinal>(f));
    all.push_back({tasks.panels.panels[f], tasks.panels.panels[f + 1], of_panels[f],
                   std::numeric_limits<std::int64_t>::max(), small, true});
    if (kept == 0) continue;
    const bool is_root = front.parent < 0;
    if (is_root || tasks.is_given(static_cast<Ordinal>(f))) REQUIRE(placed.passed == 0);
    all.push_back({placed.contribution, placed.contribution + kept * kept, of_contribution[f],
                   is_root ? -1 : last[static_cast<std::size_t>(front.parent)], small, is_root});
  }
  return all;
}

/// Whether all that write `later` wait until what reads `earlier` is complete.
bool follows(const Tasks& tasks, const Stored& earlier, const Stored& later) {
  if (earlier.forever || later.small) return false;
  return std::ranges::all_of(later.writers, [&](std::size_t t) {
    return earlier.last_reader < static_cast<std::int64_t>(tasks.at(t).after) * tasks_a_chunk;
  });
}

/// No two live contributions share memory, and none a panel that is begun.
void check_memory(const Tasks& tasks, Counts& counts) {
  const auto all = list_stored(tasks);
  for (std::size_t a = 0; a < all.size(); ++a) {
    REQUIRE(all[a].begin >= 0);
    REQUIRE(all[a].end <= tasks.panels.entries() + tasks.placement.extra);
    for (std::size_t b = 0; b < a; ++b) {
      if (all[a].begin >= all[b].end || all[b].begin >= all[a].end) continue;
      if (!follows(tasks, all[a], all[b]) && !follows(tasks, all[b], all[a]))
        FAIL("entries " << all[a].begin << " to " << all[a].end << " and " << all[b].begin << " to "
                        << all[b].end);
      ++counts.reused;
    }
  }
}

/// Panels that children add to directly have been cleared by then, and in time.
void check_clearing(const Tasks& tasks, Counts& counts) {
  const auto n = tasks.layout.fronts.size();
  std::vector<std::int64_t> cleared_to(n, -1), last_clearing(n, -1);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks.at(t);
    if (task.row != Task::clearing) continue;
    const auto f = static_cast<std::size_t>(task.front);
    REQUIRE(task.parts[0].entries == (cleared_to[f] < 0 ? tasks.panels.panels[f] : cleared_to[f]));
    cleared_to[f] = task.parts[0].entries_end;
    last_clearing[f] = static_cast<std::int64_t>(t);
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks.at(t);
    const auto f = static_cast<std::size_t>(task.front);
    REQUIRE(task.takes_panels == (last_clearing[f] >= 0));
    if (task.row < 0 || !task.in_contribution(tasks.cut(task)) ||
        tasks.placement.contributions[f].passed == 0)
      continue;
    const auto parent = static_cast<std::size_t>(tasks.layout.fronts[f].parent);
    REQUIRE(cleared_to[parent] == tasks.panels.panels[parent + 1]);
    REQUIRE(last_clearing[parent] < static_cast<std::int64_t>(task.after) * tasks_a_chunk);
    ++counts.direct;
  }
}

/// Parts of a tree on three ranks: by memory, where one has given leaves and others roots whose contributions
/// others assemble, and with every front on another rank than its neighbours, where parts have both.
std::vector<AssemblyTree> parts_of(const AssemblyTree& tree) {
  std::vector<int> same(static_cast<std::size_t>(tree.n));
  std::iota(same.begin(), same.end(), 0);
  const Kokkos::View<Offset*, Kokkos::HostSpace> row_map("row_map", same.size() + 1);
  const FrontEntries entries{{tree.n, tree.n, row_map, {}}, same, same};
  std::vector<int> alternate;
  for (int f = 0; f < tree.count(); ++f) alternate.push_back(f / 4 % 3);
  std::vector<AssemblyTree> parts;
  for (const FrontRanks& ranks :
       {distribute_fronts(tree, 3, DivisionGoal::memory), make_parts(tree, alternate, 3)}) {
    lutra::Impl::FrontPartMaker maker(tree, entries, ranks.part);
    const int n_parts = ranks.n_parts();
    for (int p = std::max(0, n_parts - 4); p < n_parts; ++p) parts.push_back(maker.make(p).tree);
  }
  return parts;
}

/// All that the tasks and the lists of small children hold, made by a number of chunks.
struct Numbers {
  std::vector<std::int64_t> tasks, small_tasks, order, position, source, sum_source, sum_end, refs, cuts;

  Numbers(const AssemblyTree& tree, const FrontTaskOptions& options, std::size_t n_chunks) {
    const auto layout = lay_out_fronts(tree);
    const auto relative = relative_indices(layout, tree);
    List list(layout.fronts, options, n_chunks);
    const Placement placement(list, layout.children, relative, LuFrontLayout(layout.fronts));
    std::vector<Offset> tile_entries(
        static_cast<std::size_t>(lutra::Impl::number_tiles(layout.fronts, options.cut).back()) + 1);
    std::iota(tile_entries.begin(), tile_entries.end(), 7);
    const Lists lists(list, placement.contributions, layout.children, relative, tile_entries, 1000, n_chunks);
    tasks = {list.flags, list.inverses, list.inverse_blocks, list.links};
    for (const Task& t : list.tasks) {
      tasks.insert(tasks.end(), {t.front, t.row, t.column, t.rows, t.columns, t.after, t.wide_end, t.flags,
                                 t.inverses, t.inverse_blocks, t.links, t.is_swept, t.takes_panels});
      for (const auto& part : t.parts) {
        tasks.insert(tasks.end(), {part.entries, part.entries_end});
        add(part.small, tasks);
      }
    }
    for (const auto& t : list.small_tasks) {
      small_tasks.insert(small_tasks.end(), {t.front, t.wide_end});
      add(t.small, small_tasks);
    }
    order.assign(list.order.begin(), list.order.end());
    for (const auto& chunk : lists.chunks) {
      position.insert(position.end(), chunk.position.begin(), chunk.position.end());
      source.insert(source.end(), chunk.source.begin(), chunk.source.end());
      sum_source.insert(sum_source.end(), chunk.sum_source.begin(), chunk.sum_source.end());
      sum_end.insert(sum_end.end(), chunk.sum_end.begin(), chunk.sum_end.end());
      cuts.insert(cuts.end(), chunk.cuts.begin(), chunk.cuts.end());
      for (const auto& ref : chunk.refs)
        refs.insert(refs.end(), {ref.contribution, ref.rows, ref.cuts, ref.cb_rows, ref.passed, ref.number});
    }
  }

 private:
  static void add(const lutra::Impl::SmallChildPart& part, std::vector<std::int64_t>& to) {
    to.insert(to.end(), {part.targets, part.sources, part.count, part.levels});
  }
};

/// Trees of many shapes: chains, borders, grids, random patterns, a dense front alone, none.
std::vector<AssemblyTree> trees(std::mt19937& random) {
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  std::vector<Matrix<Type>> matrices{from_dense<Matrix<Type>>({}),
                                     from_dense<Matrix<Type>>({{1}}),
                                     random_matrix<Matrix<Type>>(90, 1.0, 0, random),
                                     random_matrix<Matrix<Type>>(300, 0.02, 0, random),
                                     random_matrix<Matrix<Type>>(700, 0.004, 0, random),
                                     bordered_blocks<Matrix<Type>>(12, 9, 25, random),
                                     bordered_blocks<Matrix<Type>>(5, 60, 30, random),
                                     bordered_blocks<Matrix<Type>>(20, 34, 40, random),
                                     chains_of_blocks<Matrix<Type>>(3, 20, 8, random),
                                     chains_of_blocks<Matrix<Type>>(8, 10, 23, random)};
  std::vector<AssemblyTree> all;
  for (const auto& matrix : matrices) {
    for (const auto& options : {AssemblyTreeOptions{}, no_zeros})
      all.push_back(make_assembly_tree(make_view(matrix).pattern(), options));
  }
  for (std::size_t whole = all.size(), t = 0; t < whole; ++t)
    for (auto& part : parts_of(all[t])) all.push_back(std::move(part));
  return all;
}

/// A root with thousands of leaves of one pivot, each with one to three of the root's rows.
AssemblyTree tree_of_leaves(int leaves, int root_pivots, std::mt19937& random) {
  const auto n = static_cast<std::size_t>(leaves + root_pivots);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) dense[i][i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) {
      const auto row =
          static_cast<std::size_t>(leaves + static_cast<int>(random() % static_cast<unsigned>(root_pivots)));
      dense[i][row] = dense[row][i] = 1;
    }
  }
  return make_assembly_tree(make_view(from_dense<Matrix<Type>>(dense)).pattern(), {0, 0, 0, 0, 0, 0, 0});
}

}  // namespace

TEST_CASE("tasks of fronts wait only for earlier tasks and write nothing that others read", "[numeric]") {
  std::mt19937 random(23);
  Counts counts;
  for (const auto& tree : trees(random)) {
    for (const int tile : {4, 16}) {
      for (const int blocks : {4, 40, 264}) {
        FrontTaskOptions options{{tile, 2 * tile}, tile == 4 ? 3 : 5, blocks, {}};
        options.model.min_linked_tiles = 2;
        options.model.min_swept_tiles = blocks == 40 ? 3 : 12;
        options.model.min_paired_tiles = tile == 4 ? 8 : 24;
        options.model.min_paired_root_tiles = 12;
        options.model.single_edge = 4;
        options.model.cleared_entries = 100;
        options.model.steps_together = blocks == 4 ? 1 : 2;
        for (const bool symmetric : {false, true}) {
          options.symmetric = symmetric;
          INFO(tree.n << " rows, " << tree.count() << " fronts, tiles of " << tile << ", " << blocks
                      << " blocks, symmetric " << symmetric);
          const Tasks tasks(tree, options);
          Counts own;
          check_complete(tasks);
          check_waits(tasks, own);
          check_memory(tasks, own);
          check_clearing(tasks, own);
          for (const auto& front : tasks.layout.fronts) own.given += front.pivots == 0;
          counts += own;
        }
      }
    }
  }
  // all of it has been met
  CHECK(counts.tasks > 10000);
  CHECK(counts.waits > 100000);
  CHECK(counts.sweeps > 20);
  CHECK(counts.chunk_waits > 100);
  CHECK(counts.direct > 100);
  CHECK(counts.reused > 100);
  CHECK(counts.pairs > 100);
  CHECK(counts.given > 50);
}

TEST_CASE("tasks and lists of small children do not depend on chunks", "[numeric]") {
  std::mt19937 random(25);
  auto all = trees(random);
  for (const auto& [kind, size] : {std::pair("poisson2d", 60), std::pair("kkt", 400)})
    all.push_back(make_assembly_tree(make_view(lutra::generate(kind, size)).pattern()));
  for (const int pivots : {1, 6, 12}) all.push_back(tree_of_leaves(1500, pivots, random));
  std::size_t sources = 0, cuts = 0, sums = 0;
  for (const auto& tree : all) {
    for (const bool symmetric : {false, true}) {
      FrontTaskOptions options{{4, 8}, 5, 40, {}};
      options.model.min_swept_tiles = 3;
      options.symmetric = symmetric;
      const Numbers one(tree, options, 1);
      for (const std::size_t n_chunks : {3, 16, 1000}) {
        INFO(tree.n << " rows, " << tree.count() << " fronts, " << n_chunks << " chunks");
        const Numbers many(tree, options, n_chunks);
        REQUIRE(many.tasks == one.tasks);
        REQUIRE(many.small_tasks == one.small_tasks);
        REQUIRE(many.order == one.order);
        REQUIRE(many.position == one.position);
        REQUIRE(many.source == one.source);
        REQUIRE(many.sum_source == one.sum_source);
        REQUIRE(many.sum_end == one.sum_end);
        REQUIRE(many.refs == one.refs);
        REQUIRE(many.cuts == one.cuts);
      }
      sources += one.source.size();
      cuts += one.cuts.size();
      sums += one.sum_end.size();
    }
  }
  CHECK(sums > 100);
  CHECK(sources > 10000);
  CHECK(cuts > 1000);
}

TEST_CASE("tasks in the wrong order are detected", "[numeric]") {
  std::mt19937 random(24);
  const auto matrix = bordered_blocks<Matrix<Type>>(5, 60, 30, random);
  const auto tree = make_assembly_tree(make_view(matrix).pattern());
  Tasks tasks(tree, {{16, 32}, 5, 40, {}});
  const auto raised = find_raised(tasks);
  std::reverse(tasks.list.order.begin(), tasks.list.order.end());
  std::size_t wrong = 0;
  const auto reversed = find_raised(tasks);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks.at(t);
    for_each_wait(task, tasks.list.front(task.front), tasks.layout.children, tasks.cut(task),
                  [&](const Flag& flag) { wrong += reversed.at(flag) > t; });
  }
  CHECK(wrong > 100);
  CHECK(raised.size() == reversed.size());
}

}  // namespace lutra::Test
