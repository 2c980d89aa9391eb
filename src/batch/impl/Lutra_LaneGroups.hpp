// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LANEGROUPS_HPP
#define LUTRA_LANEGROUPS_HPP

#include <algorithm>
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
  /// Whether one more solve (LaneProbe) looks for singular matrices, whose X may be small. A system with an
  /// amplification above the maximum fails.
  bool probe = false;
  /// Whether a probe judges these factors. Solutions may then be large, as they are where rows and columns
  /// differ much in scale.
  bool is_probed = false;
};

/// Outcome of a solve for one system, the worst of its right-hand sides.
struct SlotSolution {
  double componentwise = 0, normwise = 0;
  int steps = 0;
  /// First right-hand side that is not solved; its X and those of the ones after it are unchanged. −1: none.
  std::int64_t first_failed = -1;
};

/// Backward errors of one right-hand side of one system.
struct SlotErrors {
  double componentwise = 0, normwise = 0, amplification = 0;
  int steps = 0;        ///< of refinement
  bool active = false;  ///< refinement goes on

  /// From the maxima over rows, as ResidualMaxima::errors.
  static SlotErrors from(double ratio, double residual, double solution, double right_side, double norm) {
    const double product = norm * solution;
    const double normwise = residual == 0             ? 0.0
                            : std::isfinite(residual) ? residual / (product + right_side)
                                                      : residual;
    return {ratio, normwise, right_side > 0 ? product / right_side : 0.0};
  }
  /// Whether refinement begins or goes on.
  void start() {
    steps = 0;
    active = std::isfinite(componentwise);
  }
  /// Takes the errors of a correction if they are lower. Refinement ends unless they are halved.
  /// @returns whether it took them
  bool keep_better(const SlotErrors& trial) {
    const bool better = trial.componentwise < componentwise;
    active = trial.componentwise <= 0.5 * componentwise;
    ++steps;
    if (!better) return false;
    componentwise = trial.componentwise;
    normwise = trial.normwise;
    amplification = trial.amplification;
    return true;
  }
};

/// Joins the errors of right-hand sides [first, …) into those of their systems, by columns of `errors`. If
/// one of a system's right-hand sides fails, `first_failed` becomes `first`: the system's own Numeric solves
/// from there on.
inline void judge_solutions(const std::vector<SlotErrors>& errors, const SlotSolveOptions& options,
                            std::size_t first, std::size_t first_slot, std::size_t slots,
                            const std::vector<char>& used, std::span<SlotSolution> solutions) {
  for (std::size_t l = 0; l < slots; ++l) {
    SlotSolution& of = solutions[first_slot + l];
    if (used[first_slot + l] == 0 || of.first_failed >= 0) continue;
    SlotSolution joined = of;
    bool good = true;
    for (std::size_t s = l; s < errors.size(); s += slots) {
      const SlotErrors& e = errors[s];
      joined.componentwise = std::max(joined.componentwise, e.componentwise);
      joined.normwise = std::max(joined.normwise, e.normwise);
      joined.steps = std::max(joined.steps, e.steps);
      good = good && e.componentwise <= options.tolerance &&
             (options.is_probed || e.amplification <= options.max_amplification);
    }
    if (good) {
      of = joined;
    } else {
      of.first_failed = static_cast<std::int64_t>(first);
    }
  }
}

template <class Scalar, class ExecutionSpace>
using BatchValues = Kokkos::View<const Scalar**, Kokkos::LayoutStride, typename ExecutionSpace::memory_space>;
template <class Scalar, class ExecutionSpace>
using ConstBatchBlock =
    Kokkos::View<const Scalar***, Kokkos::LayoutStride, typename ExecutionSpace::memory_space>;
template <class Scalar, class ExecutionSpace>
using BatchBlock = Kokkos::View<Scalar***, Kokkos::LayoutStride, typename ExecutionSpace::memory_space>;

}  // namespace lutra::Impl

#endif
