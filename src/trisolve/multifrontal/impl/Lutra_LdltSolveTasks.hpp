// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVETASKS_HPP
#define LUTRA_LDLTSOLVETASKS_HPP

#include <algorithm>
#include <cmath>
#include <vector>

#include "Lutra_ArgsortDescending.hpp"
#include "Lutra_FrontPaths.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// One block's part in a front.
struct LdltSolveTask {
  Ordinal front = 0;
  int member = 0, members = 1;
};

/// Tasks of a data-flow sweep with L·D·Lᵀ, in the order of forward sweeps; backward sweeps process them in
/// reverse. A front may be shared by a gang of blocks;
/// the members of a gang are neighbours. A task waits only for fronts all of whose tasks precede it, and for
/// other members. Host code.
struct LdltSolveTasks {
  using Fronts = std::vector<Front>;
  std::vector<LdltSolveTask> small, large;

  /// @param edge   rows of a tile: a block has at least one
  /// @param blocks most members of a gang
  /// @param small_rows largest front that one warp processes, if its subtree has no larger one
  LdltSolveTasks(const Fronts& fronts, int edge, int blocks, int small_rows = 64) {
    const std::vector<char> is_small = find_small_subtrees(fronts, small_rows);
    constexpr double a_front = 30;  // time to begin and end a front, in pivots
    const auto path = measure_paths(fronts, [&](Ordinal f) { return a_front + at(fronts, f).pivots; });
    std::vector<double> entries(fronts.size(), 0);  // of each subtree
    double all = 0;
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      entries[f] += static_cast<double>(fronts[f].pivots) * fronts[f].size();
      (fronts[f].parent < 0 ? all : at(entries, fronts[f].parent)) += entries[f];
    }
    for (const Ordinal f :
         argsort_descending<Ordinal>(fronts.size(), [&](Ordinal g) { return at(path, g); })) {
      if (at(is_small, f) != 0) {
        small.push_back({f, 0, 1});
        continue;
      }
      // twice its share, because neighbours in the tree wait for others at different times
      const double share = all > 0 ? blocks * at(entries, f) / all : 1;
      const double useful =
          std::min(std::round(2 * share), std::ceil(static_cast<double>(at(fronts, f).size()) / edge));
      const int members = std::clamp(static_cast<int>(useful), 1, std::max(1, blocks));
      for (int member = 0; member < members; ++member) large.push_back({f, member, members});
      max_members = std::max(max_members, members);
    }
  }

  int max_members = 1;
};

}  // namespace lutra::Impl

#endif
