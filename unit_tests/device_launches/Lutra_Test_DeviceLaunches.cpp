// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Levels by kernels that launch kernels, beside those by the cooperative kernel and by portable kernels.
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "Lutra_DeviceLaunches.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_TestDevice.hpp"

namespace lutra::Test {
namespace {

using Space = Kokkos::Cuda;
using Graph = DependencyGraph<Kokkos::CudaSpace>;

Graph graph_of(const std::vector<std::vector<Ordinal>>& successors) {
  std::vector<Offset> begin, end;
  std::vector<Ordinal> entries;
  for (const auto& list : successors) {
    begin.push_back(static_cast<Offset>(entries.size()));
    entries.insert(entries.end(), list.begin(), list.end());
    end.push_back(static_cast<Offset>(entries.size()));
  }
  return {static_cast<Ordinal>(successors.size()),
          {to_space<Space>(begin), to_space<Space>(end), to_space<Space>(entries), 0},
          {}};
}

void check_methods_agree(const Graph& graph) {
  const Space exec;
  const auto expected = levelize(exec, graph, MemoryBudget(), {LevelizationMethod::portable});
  const auto cooperative = levelize(exec, graph, MemoryBudget());
  for (int time = 0; time < 2; ++time) {
    const auto levels =
        levelize(exec, graph, MemoryBudget(), {LevelizationMethod::device_launches, &device_launches()});
    CHECK(levels.level_map == expected.level_map);
    CHECK(cooperative.level_map == expected.level_map);
    CHECK(to_vector(levels.order) == to_vector(expected.order));
    CHECK(to_vector(levels.level_of) == to_vector(expected.level_of));
  }
}

}  // namespace

TEST_CASE("device launches find the levels of random graphs", "[levelization]") {
  std::mt19937 random(31);
  for (const Ordinal n : {1, 10, 1000, 20000}) {
    std::vector<std::vector<Ordinal>> successors(static_cast<std::size_t>(n));
    std::uniform_int_distribution<Ordinal> node(0, n - 1);
    for (Ordinal edge = 0; edge < 3 * n; ++edge) {
      const Ordinal a = node(random), b = node(random);
      if (a != b) successors[static_cast<std::size_t>(std::min(a, b))].push_back(std::max(a, b));
    }
    check_methods_agree(graph_of(successors));
  }
}

TEST_CASE("device launches continue beyond the nesting depth and the batches of one launch",
          "[levelization]") {
  for (const std::size_t n :
       {std::size_t(15), std::size_t(16), std::size_t(17), std::size_t(700), std::size_t(12000)}) {
    std::vector<std::vector<Ordinal>> chain(n);
    for (std::size_t v = 0; v + 1 < n; ++v) chain[v].push_back(static_cast<Ordinal>(v + 1));
    check_methods_agree(graph_of(chain));
  }
}

TEST_CASE("device launches refuse a cycle", "[levelization]") {
  CHECK_THROWS_AS(levelize(Space(), graph_of({{1}, {2}, {1}}), MemoryBudget(),
                           {LevelizationMethod::device_launches, &device_launches()}),
                  InputError);
}

}  // namespace lutra::Test
