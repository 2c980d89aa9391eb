// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Forest.hpp"
#include "Lutra_LevelizationAblation.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// Edges by source, in the input format of the stage.
template <class Types>
auto to_successors(const std::vector<std::vector<std::size_t>>& lists) {
  using Space = typename Types::Space;
  std::vector<Offset> begin, end;
  std::vector<Ordinal> entries;
  for (const auto& list : lists) {
    begin.push_back(static_cast<Offset>(entries.size()));
    for (const std::size_t w : list) entries.push_back(static_cast<Ordinal>(w));
    end.push_back(static_cast<Offset>(entries.size()));
  }
  return Successors<typename Types::Memory>{to_space<Space>(begin), to_space<Space>(end),
                                            to_space<Space>(entries), 0};
}

template <class Types>
auto graph_of(const std::vector<std::vector<std::size_t>>& first,
              const std::vector<std::vector<std::size_t>>& second) {
  return DependencyGraph<typename Types::Memory>{static_cast<typename Types::Ordinal>(first.size()),
                                                 to_successors<Types>(first), to_successors<Types>(second)};
}

/// level_of as a list, after a check that order and map agree with it.
template <class LevelsType>
std::vector<std::size_t> consistent(const LevelsType& levels, std::size_t n) {
  const auto order = to_vector(levels.order);
  const auto level = to_vector(levels.level_of);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const auto begin = static_cast<std::size_t>(levels.level_map[l]);
    const auto end = static_cast<std::size_t>(levels.level_map[l + 1]);
    REQUIRE(begin < end);
    for (std::size_t p = begin; p < end; ++p) {
      REQUIRE(static_cast<std::size_t>(level[static_cast<std::size_t>(order[p])]) == l);
      if (p > begin) REQUIRE(order[p - 1] < order[p]);
    }
  }
  REQUIRE((n == 0 || static_cast<std::size_t>(levels.level_map.back()) == n));
  return std::vector<std::size_t>(level.begin(), level.end());
}

template <class Types>
std::vector<std::size_t> level_of(const std::vector<std::vector<std::size_t>>& first,
                                  const std::vector<std::vector<std::size_t>>& second,
                                  const LevelizationOptions& options, int small_level) {
  return consistent(lutra::Impl::levelize_with(typename Types::Space(), graph_of<Types>(first, second),
                                               MemoryBudget(), options, small_level),
                    first.size());
}

/// Levels of a forest whose parents follow their children.
std::vector<std::size_t> forest_levels(const std::vector<Ordinal>& parent) {
  std::vector<Ordinal> order(parent.size()), level_of(parent.size());
  const auto level_map = lutra::Impl::levelize_in_order(parent, order, level_of);
  std::vector<std::size_t> levels(parent.size());
  for (std::size_t level = 0; level + 1 < level_map.size(); ++level) {
    const auto begin = order.begin() + level_map[level], end = order.begin() + level_map[level + 1];
    CHECK(std::is_sorted(begin, end));
    for (auto node = begin; node != end; ++node) {
      levels[static_cast<std::size_t>(*node)] = level;
      CHECK(level_of[static_cast<std::size_t>(*node)] == static_cast<Ordinal>(level));
    }
  }
  CHECK(static_cast<std::size_t>(level_map.back()) == parent.size());
  return levels;
}

/// Levels from the kernels of the space, from the same with nearly all levels processed as large ones, and
/// from the portable kernels. All must agree.
template <class Types>
std::vector<std::size_t> level_of(const std::vector<std::vector<std::size_t>>& first,
                                  const std::vector<std::vector<std::size_t>>& second) {
  const auto levels = level_of<Types>(first, second, {}, lutra::Impl::default_small_level);
  REQUIRE(level_of<Types>(first, second, {}, 0) == levels);
  REQUIRE(level_of<Types>(first, second, {}, 3) == levels);
  REQUIRE(level_of<Types>(first, second, {LevelizationMethod::portable}, 0) == levels);
  return levels;
}

using Lists = std::vector<std::vector<std::size_t>>;

/// Bundles of nodes. All nodes of a bundle wait for some nodes of the previous one, so that widths are known.
Lists bundles(const std::vector<std::size_t>& widths, std::mt19937& random) {
  Lists successors;
  std::size_t begin = 0;
  for (std::size_t b = 0; b < widths.size(); ++b) {
    const std::size_t end = begin + widths[b];
    successors.resize(end);
    if (b > 0) {
      std::uniform_int_distribution<std::size_t> before(begin - widths[b - 1], begin - 1);
      for (std::size_t v = begin; v < end; ++v) {
        for (int edge = 0; edge < 3; ++edge) successors[before(random)].push_back(v);
      }
    }
    begin = end;
  }
  return successors;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("levels of graphs worked by hand", "[levelization]", PatternTypes) {
  SECTION("no edges: one level") {
    CHECK(level_of<TestType>({{}, {}, {}}, {{}, {}, {}}) == std::vector<std::size_t>{0, 0, 0});
  }
  SECTION("a chain: a level a node") {
    CHECK(level_of<TestType>({{1}, {2}, {}}, {{}, {}, {}}) == std::vector<std::size_t>{0, 1, 2});
  }
  SECTION("the longest path counts, over both parts of the graph") {
    CHECK(level_of<TestType>({{3}, {2}, {}, {}}, {{}, {}, {3}, {}}) == std::vector<std::size_t>{0, 0, 1, 2});
  }
  SECTION("an edge in both parts changes no level") {
    CHECK(level_of<TestType>({{1, 2}, {2}, {}}, {{1, 2}, {2}, {}}) == std::vector<std::size_t>{0, 1, 2});
  }
  SECTION("edges may lead to smaller nodes") {
    CHECK(level_of<TestType>({{}, {0}, {1}}, {{}, {}, {}}) == std::vector<std::size_t>{2, 1, 0});
  }
}

TEMPLATE_LIST_TEST_CASE("levels are lengths of longest paths", "[levelization]", PatternTypes) {
  std::mt19937 random(31);
  for (const std::size_t n : {std::size_t(1), std::size_t(10), std::size_t(200), std::size_t(1000)}) {
    Lists first(n), second(n), waits_for(n);
    std::uniform_int_distribution<std::size_t> node(0, n - 1);
    for (std::size_t edge = 0; edge < 3 * n; ++edge) {
      const std::size_t a = node(random), b = node(random);
      if (a == b) continue;
      const std::size_t from = std::min(a, b), to = std::max(a, b);
      (edge % 2 == 0 ? first : second)[from].push_back(to);
      waits_for[to].push_back(from);
    }
    CHECK(level_of<TestType>(first, second) == Reference::levels(waits_for));
  }
}

TEMPLATE_LIST_TEST_CASE("small and large levels alternate", "[levelization]", PatternTypes) {
  std::mt19937 random(5);
  const std::vector<std::size_t> widths{1, 3, 200, 64, 65, 5000, 129, 128, 1, 1, 1, 700, 127, 2, 3000, 1};
  const Lists successors = bundles(widths, random);
  std::vector<std::size_t> expected;
  for (std::size_t b = 0; b < widths.size(); ++b) expected.insert(expected.end(), widths[b], b);
  CHECK(level_of<TestType>(successors, Lists(successors.size())) == expected);
  CHECK(level_of<TestType>(Lists(successors.size()), successors) == expected);
}

TEMPLATE_LIST_TEST_CASE("one node may release thousands, and thousands may release one", "[levelization]",
                        PatternTypes) {
  constexpr std::size_t leaves = 3000;
  Lists successors(leaves + 2);
  std::vector<std::size_t> expected(leaves + 2, 1);
  for (std::size_t v = 1; v <= leaves; ++v) {
    successors[0].push_back(v);
    successors[v].push_back(leaves + 1);
  }
  expected.front() = 0;
  expected.back() = 2;
  CHECK(level_of<TestType>(successors, Lists(leaves + 2)) == expected);
}

TEST_CASE("levels of forests worked by hand", "[levelization]") {
  using Expected = std::vector<std::size_t>;
  CHECK(forest_levels({}) == Expected{});
  CHECK(forest_levels({-1}) == Expected{0});
  CHECK(forest_levels({-1, -1, -1}) == Expected{0, 0, 0});
  CHECK(forest_levels({1, 2, 3, -1}) == Expected{0, 1, 2, 3});
  CHECK(forest_levels({2, 2, 4, 4, -1, -1}) == Expected{0, 0, 1, 0, 2, 0});
}

TEST_CASE("levels of random forests are the heights of nodes", "[levelization]") {
  std::mt19937 random(17);
  for (const int reach : {1, 3, 40, 5000}) {  // distance of a parent from its children: tall to flat
    std::vector<Ordinal> parent(4000, -1);
    std::vector<std::size_t> height(parent.size(), 0);
    for (std::size_t v = 0; v < parent.size(); ++v) {
      const std::size_t p = v + 1 + random() % static_cast<unsigned>(reach);
      if (p >= parent.size()) continue;
      parent[v] = static_cast<Ordinal>(p);
      height[p] = std::max(height[p], height[v] + 1);
    }
    CHECK(forest_levels(parent) == height);
  }
}

TEMPLATE_LIST_TEST_CASE("a graph without nodes has no levels", "[levelization]", PatternTypes) {
  CHECK(levelize(typename TestType::Space(), graph_of<TestType>({}, {}), MemoryBudget()).size() == 0);
}

TEMPLATE_LIST_TEST_CASE("device launches without their kernels are refused", "[levelization]", PatternTypes) {
  const auto graph = graph_of<TestType>({{1}, {}}, {{}, {}});
  const bool cuda = !lutra::Impl::is_host_space<typename TestType::Space>;
  CHECK_THROWS_WITH(
      levelize(typename TestType::Space(), graph, MemoryBudget(), {LevelizationMethod::device_launches}),
      Catch::Matchers::ContainsSubstring(cuda ? "Lutra_ENABLE_DEVICE_LAUNCHES" : "need CUDA"));
  CHECK_THROWS_AS(
      levelize(typename TestType::Space(), graph, MemoryBudget(), {static_cast<LevelizationMethod>(9)}),
      InputError);
}

TEMPLATE_LIST_TEST_CASE("a cycle is refused", "[levelization]", PatternTypes) {
  const Lists none{{}, {}, {}};
  for (const auto method : {LevelizationMethod::cooperative, LevelizationMethod::portable}) {
    CHECK_THROWS_AS(levelize(typename TestType::Space(), graph_of<TestType>({{1}, {2}, {1}}, none),
                             MemoryBudget(), {method}),
                    InputError);
  }
}

}  // namespace lutra::Test
