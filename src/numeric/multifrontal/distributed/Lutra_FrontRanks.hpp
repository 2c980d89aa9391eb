// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTRANKS_HPP
#define LUTRA_FRONTRANKS_HPP

#include <vector>

#include "Lutra_AssemblyTree.hpp"

namespace lutra {

/// What a division of a tree among ranks makes small.
enum class DivisionGoal {
  time,   ///< flops of the rank with most in its subtrees, followed by those of the top
  memory  ///< entries on the rank with most, the top being on rank 0
};

/// Mapping of fronts to ranks. Each subtree of the assembly tree belongs to one rank, which may own several;
/// the fronts above all subtrees, the top, belong to rank 0.
struct FrontRanks {
  static constexpr int top = -1;
  std::vector<int> rank;        ///< [fronts] rank of each front, or `top`
  std::vector<double> entries;  ///< [ranks] entries of panels and contributions
  std::vector<double> flops;    ///< [ranks] flops of subtrees, for real scalars
  double top_flops = 0;         ///< flops of the top, and of as many as passing contributions to it costs
};

/// Starting with whole trees, replaces the largest subtree by its children, whose parent front moves to the
/// top, and keeps the division that is best for the goal. Subtrees go in descending order to the least loaded
/// rank (G. A. Geist and E. Ng, Int. J. Parallel Programming 18, 1989; for memory with the top as a load of
/// rank 0). With one rank all fronts are one subtree.
/// @param flops_per_entry flops that take as long as to pass an entry of a contribution to rank 0, for time.
///                        Larger: lower cuts, fewer messages. The default is for hosts: 8 bytes at 2 GB/s and
///                        25 Gflop/s
FrontRanks distribute_fronts(const AssemblyTree& tree, int ranks, DivisionGoal goal,
                             double flops_per_entry = 100);

}  // namespace lutra

#endif
