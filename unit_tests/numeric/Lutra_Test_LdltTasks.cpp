// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of LDLT's tasks as data flow, against deadlock, and what is added to large fronts. Host code.
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <utility>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_LdltTaskList.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Type = Types<double, int>;
using Ordinal = int;
using Offset = typename Type::Offset;
using List = lutra::Impl::LdltTaskList;

/// Chains, borders, random patterns, a dense front alone, none.
std::vector<AssemblyTree> trees(std::mt19937& random) {
  std::vector<AssemblyTree> all;
  for (const auto& matrix :
       {from_dense<Matrix<Type>>({}), from_dense<Matrix<Type>>({{1}}),
        random_matrix<Matrix<Type>>(150, 1.0, 0, random), random_matrix<Matrix<Type>>(700, 0.004, 0, random),
        bordered_blocks<Matrix<Type>>(12, 9, 25, random), bordered_blocks<Matrix<Type>>(20, 34, 40, random),
        chains_of_blocks<Matrix<Type>>(8, 10, 23, random)})
    all.push_back(make_assembly_tree(make_view(matrix).pattern()));
  return all;
}

/// Fronts are worked once, by all members of their gang side by side, and behind their children.
void check_order(const FrontLayout& layout, const List& list) {
  const auto n = layout.fronts.size();
  std::vector<std::int64_t> first(n, -1), last(n, -1);
  const auto small = static_cast<std::int64_t>(list.small_fronts.size());
  for (std::int64_t t = 0; t < small; ++t) {
    const auto f = static_cast<std::size_t>(list.small_fronts[static_cast<std::size_t>(t)]);
    REQUIRE(first[f] < 0);
    first[f] = last[f] = t;
    REQUIRE(layout.fronts[f].size() <= list.options.small_rows);
    for (auto c = layout.fronts[f].children; c < layout.fronts[f].children_end; ++c)
      REQUIRE(list.is_small(layout.children[static_cast<std::size_t>(c)]));  // in the same launch
  }
  for (std::size_t t = 0; t < list.tasks.size(); ++t) {
    const auto& task = list.tasks[t];
    const auto f = static_cast<std::size_t>(task.front);
    const auto at = small + static_cast<std::int64_t>(t);  // behind the launch before
    if (first[f] < 0) first[f] = at;
    REQUIRE(task.member == at - first[f]);
    REQUIRE(task.members <= list.options.blocks);
    REQUIRE((task.gang >= 0) == (layout.fronts[f].size() > list.options.whole_rows));
    last[f] = at;
    if (task.member + 1 < task.members) REQUIRE(list.tasks[t + 1].front == task.front);
    REQUIRE(last[f] - first[f] < task.members);
  }
  for (std::size_t f = 0; f < n; ++f) {
    REQUIRE(first[f] >= 0);
    if (layout.fronts[f].parent >= 0)
      REQUIRE(last[f] < first[static_cast<std::size_t>(layout.fronts[f].parent)]);
  }
}

/// Sources are all columns of the children, in their order.
void check_sources(const FrontLayout& layout, const std::vector<int>& relative, const List& list) {
  for (const auto& task : list.tasks) {
    if (task.gang < 0 || task.member > 0) continue;
    const auto& front = layout.fronts[static_cast<std::size_t>(task.front)];
    const auto first = static_cast<std::size_t>(list.first_column[static_cast<std::size_t>(task.gang)]);
    std::vector<std::vector<std::pair<Ordinal, int>>> expected(static_cast<std::size_t>(front.size()));
    for (auto c = front.children; c < front.children_end; ++c) {
      const Ordinal child = layout.children[static_cast<std::size_t>(c)];
      const auto& rows = layout.fronts[static_cast<std::size_t>(child)];
      for (int b = 0; b < rows.cb_rows; ++b)
        expected[static_cast<std::size_t>(relative[static_cast<std::size_t>(rows.rows + b)])].push_back(
            {child, b});
    }
    for (std::size_t column = 0; column < expected.size(); ++column) {
      std::vector<std::pair<Ordinal, int>> found;
      for (auto s = list.source_begin[first + column]; s < list.source_begin[first + column + 1]; ++s) {
        const auto& source = list.sources[static_cast<std::size_t>(s)];
        found.push_back({source.child, source.column});
      }
      REQUIRE(found == expected[column]);
    }
  }
}

}  // namespace

TEST_CASE("tasks of the LDLT data flow wait only for earlier tasks", "[numeric][ldlt]") {
  std::mt19937 random(41);
  std::size_t tasks = 0, gangs = 0, small = 0;
  for (const auto& tree : trees(random)) {
    const auto layout = lay_out_fronts(tree);
    const auto relative = relative_indices(layout, tree);
    for (const int blocks : {1, 4, 264}) {
      for (const int tile : {4, 16}) {
        const List list(layout.fronts, layout.children, relative, {tile / 2, 2 * tile, tile, 2, blocks});
        check_order(layout, list);
        check_sources(layout, relative, list);
        tasks += list.tasks.size();
        small += list.small_fronts.size();
        for (const auto& task : list.tasks) gangs += task.members > 1 && task.member == 0;
        REQUIRE(list.max_members <= blocks);
      }
    }
  }
  CHECK(tasks > 1000);
  CHECK(gangs > 50);
  CHECK(small > 100);
}

}  // namespace lutra::Test
