// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVER_HPP
#define LUTRA_LDLTSOLVER_HPP

#include <memory>

#include "Lutra_FrontLdlt.hpp"
#include "Lutra_FrontSolver.hpp"

namespace lutra {

namespace Impl {
/// Sweeps with their vectors; lists made from the plan are shared.
template <class Scalar, class ExecutionSpace>
class LdltSweeps;
}  // namespace Impl

/// Solves with the factors L·D·Lᵀ of fronts, or with some of the three: forward up the tree with L, backward
/// down the tree with Lᵀ (Duff and Reid 1983). A column that a front has delayed is a pivot of an ancestor:
/// forward its right-hand side is passed up, backward its solution is read like those of contribution rows.
/// The solution at a zero pivot of D is zero. Sums follow one order, so that results are the same from run to
/// run and for any number of threads.
template <class Scalar, class ExecutionSpace>
class LdltSolver {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LdltPlan<Memory>;
  using Factors = LdltFactors<Scalar, ExecutionSpace>;

  /// @param watchdog_seconds longest wait for another front; a longer one ends the solve
  /// @throws OutOfMemoryError. Fences.
  LdltSolver(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
             double watchdog_seconds = 10);
  LdltSolver(LdltSolver&&) noexcept = default;
  LdltSolver& operator=(LdltSolver&&) noexcept = default;

  /// Creates a solver for factors of the same plan. Both may solve at the same time.
  LdltSolver with_own_vectors(const MemoryBudget& budget) const;

  /// X = (op of the parts)⁻¹·B. Right-hand sides and solutions are multiplied by their scales. In successive
  /// solves with parts, the value of a pivot is stored at the user's row of its variable, and only the first
  /// and the last solve scale. Op conjugates the parts if op(A) differs from A: for the adjoint of a
  /// symmetric matrix, and the transpose of a Hermitian one.
  /// Cost: reads each part once for each group of four right-hand sides, once for a single one. Allocates if
  /// there are more right-hand sides or slots than ever before. Does not fence on devices.
  /// @param factors of the solver's plan, after a successful factorization
  /// @throws OutOfMemoryError
  void solve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
             const FrontSystem<Scalar, Memory>& system, const LdltParts& parts = {});

  /// First pivot of the front at which the watchdog ended a solve, or −1; makes the solver usable again. That
  /// solve and all subsequent ones returned NaN. Fences on devices.
  std::int64_t consume_timeout(const ExecutionSpace& exec, const Plan& plan);

 private:
  using Sweeps = Impl::LdltSweeps<Scalar, ExecutionSpace>;
  explicit LdltSolver(std::shared_ptr<Sweeps> sweeps);

  std::shared_ptr<Sweeps> m_sweeps;  ///< not shared with other solvers
};

}  // namespace lutra

#endif
