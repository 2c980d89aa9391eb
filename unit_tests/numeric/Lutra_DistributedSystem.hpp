// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDSYSTEM_HPP
#define LUTRA_DISTRIBUTEDSYSTEM_HPP

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <vector>

#include "Lutra_DistributedFronts.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra::Test {

using Exec = Kokkos::DefaultHostExecutionSpace;

/// A matrix, its orders and tree, and scales that are not powers of two.
struct System {
  HostMatrix<double> A;
  std::vector<int> order_of_pivots;
  AssemblyTree tree;
  std::vector<double> row_scale, col_scale;

  explicit System(const HostMatrix<double>& matrix) : A(matrix) {
    const auto pattern = make_view(A).pattern();
    const auto first = order(pattern, Ordering::amd);
    tree = make_assembly_tree(Exec(), pattern, first, first, MemoryBudget());
    for (const int k : tree.order) order_of_pivots.push_back(first[static_cast<std::size_t>(k)]);
    for (int i = 0; i < A.n_rows; ++i) {
      row_scale.push_back(1 + 0.1 * (i % 7));
      col_scale.push_back(1 - 0.03 * (i % 11));
    }
  }
  FrontEntries entries() const { return {make_view(A).pattern(), order_of_pivots, order_of_pivots}; }
  ScaledValues<double, Kokkos::HostSpace> scaled() const {
    const auto view = [](const std::vector<double>& values) {
      return Kokkos::View<const double*, Kokkos::HostSpace>(values.data(), values.size());
    };
    return {view(A.values), view(row_scale), view(col_scale)};
  }
};

/// Each part needs parts before it only, and all fronts are on a rank.
inline void check_parts(const AssemblyTree& tree, const FrontRanks& divided, int ranks) {
  REQUIRE(divided.part.size() == tree.parent.size());
  std::vector<int> fronts(divided.rank_of_part.size(), 0);
  for (std::size_t f = 0; f < divided.part.size(); ++f) {
    REQUIRE(divided.part[f] >= 0);
    REQUIRE(divided.part[f] < divided.n_parts());
    REQUIRE(divided.rank(f) >= 0);
    REQUIRE(divided.rank(f) < ranks);
    ++fronts[static_cast<std::size_t>(divided.part[f])];
    if (tree.parent[f] >= 0)
      REQUIRE(divided.part[f] <= divided.part[static_cast<std::size_t>(tree.parent[f])]);
  }
  CHECK(std::count(fronts.begin(), fronts.end(), 0) == 0);
}

}  // namespace lutra::Test

#endif
