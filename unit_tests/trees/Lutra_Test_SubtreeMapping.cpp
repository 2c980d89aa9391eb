// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SubtreeMapping.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <numeric>
#include <random>

namespace {

using namespace lutra;
using Indices = std::vector<int>;

TEST_CASE("subtree mapping: cases worked by hand", "[trees]") {
  SECTION("the heavier of two subtrees comes first, the root is above") {
    const auto mapping = map_subtrees(Indices{2, 2, 5, 4, 5, -1}, {1, 1, 1, 3, 3, 1}, 1, {0.6, 0.1});
    CHECK(mapping.task_begin == Indices{0, 2, 5});
    CHECK(mapping.order == Indices{3, 4, 0, 1, 2, 5});
    CHECK(mapping.tasks() == 2);
  }
  SECTION("small subtrees side by side share a task; those of two threads need half as much") {
    const Indices parent{4, 4, 4, 4, -1};
    const auto one = map_subtrees(parent, {1, 1, 1, 1, 4}, 1, {0.2, 0.2});
    CHECK(one.task_begin == Indices{0, 2, 4});
    CHECK(one.order == Indices{0, 1, 2, 3, 4});
    const auto two = map_subtrees(parent, {1, 1, 1, 1, 4}, 2, {0.4, 0.25});
    CHECK(two.task_begin == Indices{0, 1, 2, 3, 4});
  }
  SECTION("a chain is cut in two") {
    const auto mapping = map_subtrees(Indices{1, 2, 3, -1}, {1, 1, 1, 1}, 1, {0.5, 0.5});
    CHECK(mapping.task_begin == Indices{0, 2});
    CHECK(mapping.order == Indices{0, 1, 2, 3});
  }
  SECTION("no vertices, no work") {
    const auto none = map_subtrees(Indices{}, {}, 4);
    CHECK(none.order.empty());
    CHECK(none.tasks() == 0);
    CHECK(map_subtrees(Indices{-1, -1}, {0, 0}, 4).order == Indices{0, 1});
  }
}

/// The highest ancestor of v whose subtree has at most `max_work`; −1 if there is none.
template <class Index>
Index subtree_of(const std::vector<Index>& parent, const std::vector<double>& work, Index v,
                 double max_work) {
  const auto work_below = [&](Index top) {
    double sum = 0;
    for (Index u = 0; u <= top; ++u) {
      Index at = u;
      while (at >= 0 && at < top) at = parent[static_cast<std::size_t>(at)];
      if (at == top) sum += work[static_cast<std::size_t>(u)];
    }
    return sum;
  };
  Index root = -1;
  for (; v >= 0 && work_below(v) <= max_work; v = parent[static_cast<std::size_t>(v)]) root = v;
  return root;
}

TEST_CASE("subtree mapping: against the definition on random trees", "[trees]") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    const int n = 1 + 3 * trial;
    std::vector<int> parent(static_cast<std::size_t>(n), -1);
    std::vector<double> work(parent.size());
    for (int v = 0; v < n; ++v) {
      const int far = std::min(n - 1, v + 1 + static_cast<int>(random() % 12));
      if (v + 1 < n && random() % 20 != 0)
        parent[static_cast<std::size_t>(v)] = std::uniform_int_distribution<int>(v + 1, far)(random);
      work[static_cast<std::size_t>(v)] = static_cast<double>(1 + random() % 30);
    }
    const int threads = 1 + trial % 5;
    const SubtreeMappingOptions options{0.3, 0.1};
    const double mean = std::accumulate(work.begin(), work.end(), 0.0) / threads;
    const auto mapping = map_subtrees(parent, work, threads, options);
    CAPTURE(trial, n, threads);
    std::vector<int> sorted(mapping.order);
    std::ranges::sort(sorted);
    for (int v = 0; v < n; ++v) REQUIRE(sorted[static_cast<std::size_t>(v)] == v);
    const auto begin_of = [&](std::size_t task) {
      return mapping.order.begin() + static_cast<std::ptrdiff_t>(mapping.task_begin[task]);
    };
    double before = mean * n;
    std::vector<std::ptrdiff_t> task_of_root(parent.size(), -1);
    for (std::size_t task = 0; task < mapping.tasks(); ++task) {
      REQUIRE(std::is_sorted(begin_of(task), begin_of(task + 1)));
      double sum = 0;
      for (auto v = begin_of(task); v != begin_of(task + 1); ++v) {
        const int root = subtree_of(parent, work, *v, options.max_subtree * mean);
        REQUIRE(root >= 0);
        auto& known = task_of_root[static_cast<std::size_t>(root)];
        REQUIRE((known < 0 || known == static_cast<std::ptrdiff_t>(task)));  // a subtree stays together
        known = static_cast<std::ptrdiff_t>(task);
        sum += work[static_cast<std::size_t>(*v)];
      }
      REQUIRE(sum <= before);
      REQUIRE(sum <= (options.max_subtree + options.min_task) * mean);
      before = sum;
    }
    REQUIRE(std::is_sorted(begin_of(mapping.tasks()), mapping.order.end()));
    for (auto v = begin_of(mapping.tasks()); v != mapping.order.end(); ++v)
      REQUIRE(subtree_of(parent, work, *v, options.max_subtree * mean) == -1);
  }
}

}  // namespace
