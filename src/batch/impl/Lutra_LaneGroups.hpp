// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LANEGROUPS_HPP
#define LUTRA_LANEGROUPS_HPP

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "Lutra_BatchPattern.hpp"
#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// What a factorization found of one system.
struct SlotFindings {
  double growth = 0;      ///< max |entry of L\U| / max |entry of the scaled matrix|; NaN if not finite
  double multiplier = 0;  ///< max |entry of L|
  double smallest_pivot = 0;
  std::int64_t perturbed = 0, negative = 0;  ///< pivots
};

/// How solves are checked and refined.
struct SlotSolveOptions {
  bool check = true;
  double goal = 0;               ///< componentwise backward error at which refinement ends
  double tolerance = 0;          ///< largest that is accepted
  double max_amplification = 0;  ///< larger solutions are suspicious
  int max_steps = 0;
};

/// Outcome of a solve for one system, the worst of its right-hand sides.
struct SlotSolution {
  double componentwise = 0, normwise = 0;
  int steps = 0;
  /// First right-hand side that is not solved; its X and those of the ones after it are unchanged. −1: none.
  std::int64_t first_failed = -1;
};

/// Joins the errors of one right-hand side into those of its system.
inline bool take_column(const SlotSolveOptions& options, double componentwise, double normwise,
                        double amplification, int steps, SlotSolution& solution) {
  solution.componentwise = std::max(solution.componentwise, componentwise);
  solution.normwise = std::max(solution.normwise, normwise);
  solution.steps = std::max(solution.steps, steps);
  return componentwise <= options.tolerance && amplification <= options.max_amplification;
}

template <class Scalar, class ExecutionSpace>
using BatchValues = Kokkos::View<const Scalar**, Kokkos::LayoutStride, typename ExecutionSpace::memory_space>;
template <class Scalar, class ExecutionSpace>
using ConstBatchBlock =
    Kokkos::View<const Scalar***, Kokkos::LayoutStride, typename ExecutionSpace::memory_space>;
template <class Scalar, class ExecutionSpace>
using BatchBlock = Kokkos::View<Scalar***, Kokkos::LayoutStride, typename ExecutionSpace::memory_space>;

/// Values and factors of the groups of a batch, or of one of its chunks, on devices: a thread has a lane. A
/// slot is a lane of a group; `systems` names the caller's system in each slot, also in those that only fill
/// the last group. Hosts: Lutra_HostLaneGroups.hpp, with the same members.
template <class Scalar, class ExecutionSpace>
class LaneGroups;

}  // namespace lutra::Impl

#endif
