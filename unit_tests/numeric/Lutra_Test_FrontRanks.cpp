// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mapping of fronts to ranks.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "Lutra_DistributedSystem.hpp"
#include "Lutra_FrontMapping.hpp"

namespace lutra::Test {
namespace {

/// The time of parts without start costs, in which the parent's rank receives a contribution, or each of its
/// ranks a share.
double simulated(const AssemblyTree& tree, const FrontRanks& divided, const DivisionCosts& costs) {
  const auto n_parts = divided.rank_of_part.size();
  std::vector<double> work(n_parts, 0), end(n_parts, 0), free(divided.flops.size(), 0);
  for (std::size_t f = 0; f < divided.part.size(); ++f) {
    const double rows = lutra::Impl::contribution_rows(tree, f);
    const double order = rows + lutra::Impl::pivots_of(tree, f);
    const auto members = static_cast<int>(divided.members(divided.part[f]).size());
    work[static_cast<std::size_t>(divided.part[f])] +=
        members > 1 ? lutra::Impl::divided_time(tree, f, members, costs).time
                    : costs.time_of(lutra::Impl::front_flops(tree, f), order);
    if (tree.parent[f] < 0) continue;
    const auto parent = static_cast<std::size_t>(tree.parent[f]);
    const auto above = divided.members(divided.part[parent]).size();
    if (above > 1)
      work[static_cast<std::size_t>(divided.part[parent])] +=
          costs.flops_per_entry * rows * rows / static_cast<double>(above);
    else if (divided.rank(f) != divided.rank(parent))
      work[static_cast<std::size_t>(divided.part[parent])] += costs.flops_per_entry * rows * rows;
  }
  for (std::size_t p = 0; p < n_parts; ++p) {
    const std::vector<int> members = divided.members(static_cast<int>(p));
    double start = 0;
    for (const int r : members) start = std::max(start, free[static_cast<std::size_t>(r)]);
    for (std::size_t f = 0; f < divided.part.size(); ++f) {
      const bool gives = tree.parent[f] >= 0 && divided.part[f] != static_cast<int>(p) &&
                         divided.part[static_cast<std::size_t>(tree.parent[f])] == static_cast<int>(p);
      if (gives) start = std::max(start, end[static_cast<std::size_t>(divided.part[f])]);
    }
    end[p] = start + work[p];
    for (const int r : members) free[static_cast<std::size_t>(r)] = end[p];
  }
  return *std::max_element(end.begin(), end.end());
}

}  // namespace

TEST_CASE("subtrees are assigned to ranks by memory", "[numeric]") {
  const System system(generate("poisson2d", 40));
  const auto& tree = system.tree;
  const auto one = distribute_fronts(tree, 1, DivisionGoal::memory);
  CHECK(one.rank_of_part == std::vector<int>{0});
  CHECK(std::count(one.part.begin(), one.part.end(), 0) == tree.count());
  const auto sizes = sizes_of_fronts<double>(Exec(), tree);
  CHECK(one.entries[0] >= 0.9 * static_cast<double>(sizes.panels + sizes.contributions));
  CHECK(one.entries[0] <= 1.1 * static_cast<double>(sizes.panels + sizes.contributions));
  for (const int ranks : {2, 3, 4, 7}) {
    const auto divided = distribute_fronts(tree, ranks, DivisionGoal::memory);
    double all = 0;
    for (const double entries : divided.entries) {
      all += entries;
      CHECK(entries < 0.75 * one.entries[0]);
    }
    CHECK(all >= one.entries[0]);  // blocks that pass to the top count twice
    check_parts(tree, divided, ranks);
    CHECK(divided.n_parts() <= ranks + 1);
    const int top = divided.n_parts() - 1;
    CHECK(divided.rank_of_part.back() == 0);
    for (std::size_t f = 0; f < divided.part.size(); ++f) {
      if (tree.parent[f] < 0) continue;
      const int above = divided.part[static_cast<std::size_t>(tree.parent[f])];
      CHECK((above == top || above == divided.part[f]));  // subtrees are whole
    }
  }
}

TEST_CASE("fronts are assigned to ranks by time", "[numeric]") {
  for (const auto& matrix :
       {generate("poisson2d", 40), generate("poisson3d", 12), generate("circuit", 300, 3)}) {
    const System system(matrix);
    const auto& tree = system.tree;
    for (const double half_order : {0.0, 100.0}) {
      const DivisionCosts costs{10, half_order, 0};
      const auto one = distribute_fronts(tree, 1, DivisionGoal::time, costs);
      CHECK(one.rank_of_part == std::vector<int>{0});
      CHECK(std::abs(one.flops[0] - tree.flops) <= 1e-12 * tree.flops);
      for (const int ranks : {2, 3, 4}) {
        const auto divided = distribute_fronts(tree, ranks, DivisionGoal::time, costs);
        check_parts(tree, divided, ranks);
        CHECK(std::abs(std::accumulate(divided.flops.begin(), divided.flops.end(), 0.0) - tree.flops) <=
              1e-12 * tree.flops);
        CHECK(divided.time <= one.time);
        CHECK(divided.rank(tree.parent.size() - 1) == 0);  // the only root
        CHECK(std::abs(divided.time - simulated(tree, divided, costs)) <= 1e-12 * divided.time);
        const auto subtrees = distribute_fronts(tree, ranks, DivisionGoal::memory);
        CHECK(divided.time <= 1.01 * simulated(tree, subtrees, costs));
        for (int r = 0; r < ranks; ++r)
          CHECK(std::count(divided.rank_of_part.begin(), divided.rank_of_part.end(), r) <= 8);
      }
    }
  }
}

TEST_CASE("fronts are divided among ranks where that is faster", "[numeric]") {
  const System system(generate("poisson3d", 14));
  const auto& tree = system.tree;
  DivisionCosts costs{0.5, 0, 0};
  costs.flops_per_message = 10;
  costs.block_columns = 8;
  for (const int ranks : {1, 2, 3, 4}) {
    costs.divides_fronts = false;
    const auto whole = distribute_fronts(tree, ranks, DivisionGoal::time, costs);
    CHECK(whole.helpers.empty());
    costs.divides_fronts = true;
    const auto divided = distribute_fronts(tree, ranks, DivisionGoal::time, costs);
    check_parts(tree, divided, ranks);
    CHECK(divided.rank(tree.parent.size() - 1) == 0);  // the only root
    CHECK(std::abs(divided.time - simulated(tree, divided, costs)) <= 1e-12 * divided.time);
    CHECK(std::abs(std::accumulate(divided.flops.begin(), divided.flops.end(), 0.0) - tree.flops) <=
          1e-12 * tree.flops);
    if (ranks == 1) {
      CHECK(divided.helpers.empty());
      continue;
    }
    CHECK(divided.time < 0.9 * whole.time);
    int several = 0;
    for (int p = 0; p < divided.n_parts(); ++p) {
      const std::vector<int> members = divided.members(p);
      CHECK(std::set<int>(members.begin(), members.end()).size() == members.size());
      for (const int r : members) CHECK((r >= 0 && r < ranks));
      if (members.size() == 1) continue;
      ++several;
      CHECK(std::count(divided.part.begin(), divided.part.end(), p) == 1);
      CHECK(divided.block_columns[static_cast<std::size_t>(p)] >= 8);
    }
    CHECK(several > 0);
  }
  // messages that take too long
  costs.flops_per_message = 1e9;
  const auto divided = distribute_fronts(tree, 4, DivisionGoal::time, costs);
  for (int p = 0; p < divided.n_parts(); ++p) CHECK(divided.members(p).size() == 1);
}

TEST_CASE("columns of a divided front belong to one rank each", "[numeric]") {
  const DividedColumns columns{10, 7, 3, 4};
  CHECK(columns.blocks() == 3);
  CHECK(columns.end(2) == 10);
  std::vector<int> owners, list;
  for (int c = 0; c < 17; ++c) owners.push_back(columns.owner_of_column(c));
  CHECK(owners == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 2});
  list = {1, 3, 4, 9, 10, 11, 12};  // some columns
  using Runs = std::vector<std::pair<int, int>>;
  CHECK(columns.runs(list.data(), 7, 0) == Runs{{0, 2}, {4, 6}});
  CHECK(columns.runs(list.data(), 7, 1) == Runs{{2, 3}, {6, 7}});
  CHECK(columns.runs(list.data(), 7, 2) == Runs{{3, 4}});
}

TEST_CASE("the front of a large child stays beside the root while another rank works below it", "[numeric]") {
  // a root of 40 pivots over three subtrees; the first is a front of 30 over two of 32, the others are single
  AssemblyTree tree;
  tree.pivot_begin = {0, 32, 64, 94, 132, 168, 208};
  tree.parent = {2, 2, 5, 5, 5, -1};
  tree.n = 208;
  tree.row_begin = {0};
  for (const int f : {0, 1, 2, 3, 4, 5}) {
    for (int row = 64; f < 2 && row < 94; ++row) tree.rows.push_back(row);
    for (int row = 168; f < 5 && row < 208; ++row) tree.rows.push_back(row);
    tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
  }
  const DivisionCosts costs{0.01, 0, 0};
  const auto divided = distribute_fronts(tree, 2, DivisionGoal::time, costs);
  check_parts(tree, divided, 2);
  CHECK(divided.rank(5) == 0);
  double top_on_one = 0, all = 0;  // with the front of 30 behind all subtrees
  for (std::size_t f = 0; f < 6; ++f) {
    const double work = lutra::Impl::front_flops(tree, f);
    all += work;
    if (f == 2 || f == 5) top_on_one += work;
  }
  CHECK(divided.time < top_on_one + 0.5 * (all - top_on_one));
}

TEST_CASE("thousands of trees or children are divided in a moment", "[numeric]") {
  for (const bool is_forest : {true, false}) {
    const int leaves = 20000;
    AssemblyTree tree;
    tree.n = leaves + 1;
    tree.row_begin = {0};
    for (int f = 0; f <= leaves; ++f) {
      tree.pivot_begin.push_back(f);
      tree.parent.push_back(is_forest || f == leaves ? -1 : leaves);
      if (tree.parent.back() >= 0) tree.rows.push_back(leaves);
      tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
    }
    tree.pivot_begin.push_back(leaves + 1);
    const Kokkos::Timer timer;
    const auto divided = distribute_fronts(tree, 4, DivisionGoal::time);
    CHECK(timer.seconds() < 10);  // with each leaf a task it took over a minute
    check_parts(tree, divided, 4);
  }
}

}  // namespace lutra::Test
