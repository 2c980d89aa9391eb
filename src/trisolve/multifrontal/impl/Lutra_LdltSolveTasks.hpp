// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVETASKS_HPP
#define LUTRA_LDLTSOLVETASKS_HPP

#include <algorithm>
#include <cmath>
#include <vector>

#include "Lutra_ArgsortDescending.hpp"
#include "Lutra_FrontPlan.hpp"
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
    const auto index = [](Ordinal f) { return static_cast<std::size_t>(f); };
    const auto count = fronts.size();
    std::vector<char> is_small(count, 1);
    std::vector<double> entries(count, 0), share(count, 0), path(count, 0);
    double all = 0;
    for (std::size_t f = 0; f < count; ++f) {
      const auto& front = fronts[f];
      if (front.size() > small_rows) is_small[f] = 0;
      entries[f] += static_cast<double>(front.pivots) * front.size();
      if (front.parent < 0) {
        all += entries[f];
      } else {
        if (is_small[f] == 0) is_small[index(front.parent)] = 0;
        entries[index(front.parent)] += entries[f];
      }
    }
    constexpr double a_front = 30;  // time to begin and end a front, in pivots
    for (std::size_t f = count; f-- > 0;) {
      const auto& front = fronts[f];
      path[f] = (front.parent < 0 ? 0 : path[index(front.parent)]) + a_front + front.pivots;
      share[f] = all > 0 ? blocks * entries[f] / all : 1;
    }
    for (const Ordinal f : argsort_descending<Ordinal>(count, [&](Ordinal g) { return path[index(g)]; })) {
      if (is_small[index(f)] != 0) {
        small.push_back({f, 0, 1});
        continue;
      }
      // twice its share, because neighbours in the tree wait for others at different times
      const double useful = std::min(std::round(2 * share[index(f)]),
                                     std::ceil(static_cast<double>(fronts[index(f)].size()) / edge));
      const int members = std::clamp(static_cast<int>(useful), 1, std::max(1, blocks));
      for (int member = 0; member < members; ++member) large.push_back({f, member, members});
      max_members = std::max(max_members, members);
    }
  }

  int max_members = 1;
};

}  // namespace lutra::Impl

#endif
