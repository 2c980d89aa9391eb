// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>
#include <cstdio>
// The header of Scotch needs the headers above.
#include <scotch.h>

#include <stdexcept>

#include "Lutra_PerfOrderings.hpp"

namespace lutra::Perf {
namespace {

void check(int failed, const char* step) {
  if (failed != 0) throw std::runtime_error(std::string("Scotch: ") + step + " failed");
}

}  // namespace

/// Scotch with its default strategy for orderings, on one thread, with the same random numbers each time.
std::vector<int> order_by_scotch(const SymmetricGraph<int>& graph) {
  static_assert(sizeof(SCOTCH_Num) == sizeof(int));
  const int n = graph.size();
  SCOTCH_randomReset();
  SCOTCH_Graph input;
  check(SCOTCH_graphInit(&input), "SCOTCH_graphInit");
  const std::unique_ptr<SCOTCH_Graph, void (*)(SCOTCH_Graph*)> graph_guard(&input, SCOTCH_graphExit);
  check(SCOTCH_graphBuild(&input, 0, n, graph.row_map.data(), nullptr, nullptr, nullptr,
                          static_cast<int>(graph.neighbours.size()), graph.neighbours.data(), nullptr),
        "SCOTCH_graphBuild");
  SCOTCH_Strat strategy;
  check(SCOTCH_stratInit(&strategy), "SCOTCH_stratInit");
  const std::unique_ptr<SCOTCH_Strat, void (*)(SCOTCH_Strat*)> strategy_guard(&strategy, SCOTCH_stratExit);
  std::vector<int> position(static_cast<std::size_t>(n)), permutation(static_cast<std::size_t>(n));
  check(SCOTCH_graphOrder(&input, &strategy, position.data(), permutation.data(), nullptr, nullptr, nullptr),
        "SCOTCH_graphOrder");
  return permutation;
}

}  // namespace lutra::Perf
