// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTRANKS_HPP
#define LUTRA_FRONTRANKS_HPP

#include <cstddef>
#include <vector>

#include "Lutra_AssemblyTree.hpp"

namespace lutra {

/// What a division of a tree among ranks makes small.
enum class DivisionGoal {
  time,   ///< the time until all fronts are factorized
  memory  ///< entries on the rank with most, the fronts above all subtrees being on rank 0
};

/// Costs of fronts on ranks, in flops at full speed. The defaults are for hosts of 25 Gflop/s.
struct DivisionCosts {
  double flops_per_entry = 100;  ///< for receiving an entry of a contribution: 8 bytes at 2 GB/s
  double half_order = 0;         ///< order of a front that is factorized at half of the full speed
  double flops_per_part = 2e5;   ///< for starting a part: 10 µs

  double flops_per_second = 25e9;  ///< full speed

  bool divides_fronts = false;      ///< whether several ranks, on hosts, may factorize a front by its columns
  double flops_per_message = 25e4;  ///< for a message between them: 10 µs
  int block_columns = 64;           ///< least pivots of a block that passes between them

  /// The time of a front: its speed is order / (order + half_order) of the full one.
  double time_of(double flops, double order) const { return flops * (1 + half_order / order); }

  /// Those of devices: 48 Tflop/s, fitted to an H200 in double precision (19 Tflop/s for poisson3d 64, 26 for
  /// 80).
  /// @param direct whether contributions go from device to device, at 200 GB/s, or through hosts at 2 GB/s
  static DivisionCosts of_devices(bool direct) {
    return {direct ? 1.9 : 190000, 4000, 1.4e9, 48e12};  // a part: 30 µs
  }
};

/// Mapping of fronts to parts and of parts to ranks. A part is factorized as a whole once the contributions
/// that it needs from other parts have arrived. Parts are numbered such that these have smaller numbers; a
/// rank works on its parts in this order. Each rank may have several parts, or none.
struct FrontRanks {
  std::vector<int> part;          ///< [fronts]
  std::vector<int> rank_of_part;  ///< [parts]
  std::vector<double> entries;    ///< [ranks] of panels and contributions, if divided for memory
  std::vector<double> flops;      ///< [ranks] for real scalars
  double time = 0;                ///< of the simulation, in flops at full speed, if divided for time
  /// [parts] other ranks that factorize the part's only front, by columns, with the rank of the part, which
  /// keeps the factors; no list if there are no such parts
  std::vector<std::vector<int>> helpers;
  std::vector<int> block_columns;  ///< [parts] pivots of a block that passes between them, like `helpers`

  int rank(std::size_t f) const { return rank_of_part[static_cast<std::size_t>(part[f])]; }
  int n_parts() const { return static_cast<int>(rank_of_part.size()); }
  /// The rank of a part and its helpers.
  std::vector<int> members(int p) const {
    std::vector<int> all{rank_of_part[static_cast<std::size_t>(p)]};
    if (!helpers.empty()) {
      const auto& others = helpers[static_cast<std::size_t>(p)];
      all.insert(all.end(), others.begin(), others.end());
    }
    return all;
  }
};

/// For time, any front may be on any rank. Starting with whole trees, the largest subtree is replaced by its
/// root front and the subtrees of its children. For each such cut subtrees and fronts are mapped to ranks in
/// several ways, by load (G. A. Geist and E. Ng, Int. J. Parallel Programming 18, 1989) and along the tree
/// (A. Pothen and C. Sun, SIAM J. Sci. Comput. 14, 1993). The mapping whose simulated time is least is
/// improved by moving single tasks. One of them has all fronts above the cut on rank 0.
///
///     rank 0   [subtrees]──[front A]──────[root]      A waits for the first part of rank 1,
///     rank 1   [a]──[other subtrees]───────▲          the root for the second
///               └───────────▲
///
/// Then single fronts, the largest first, are divided by columns among all ranks or those of their subtree,
/// where that is faster (DividedColumns).
///
/// For memory, and if there are more than some hundred trees, subtrees go to the rank with the fewest
/// entries, and the fronts above all of them, the last part, to rank 0. With one rank all fronts are one
/// part.
FrontRanks distribute_fronts(const AssemblyTree& tree, int ranks, DivisionGoal goal,
                             const DivisionCosts& costs = {});

/// Parts for a given mapping of fronts to ranks, as few as hardly take more time.
/// @param rank    [fronts]
/// @param divided [fronts] whether all ranks factorize the front together; empty: none
FrontRanks make_parts(const AssemblyTree& tree, const std::vector<int>& rank, int ranks,
                      const DivisionCosts& costs = {}, const std::vector<bool>& divided = {});

}  // namespace lutra

#endif
