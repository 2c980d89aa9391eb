// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVER_HPP
#define LUTRA_LDLTSOLVER_HPP

#include <memory>

#include "Lutra_FrontLdlt.hpp"
#include "Lutra_FrontSolver.hpp"

namespace lutra {

namespace Impl {
/// The sweeps with the vectors they work in; lists made from the plan are shared.
template <class Scalar, class ExecutionSpace>
class LdltSweeps;
}  // namespace Impl

/// The factors of F = L·D·Lᵀ (or Lᴴ) that a solve takes.
struct LdltParts {
  bool lower = true;     ///< L
  bool diagonal = true;  ///< D
  bool upper = true;     ///< Lᵀ, or Lᴴ
};

/// Solves with the factors L·D·Lᵀ of fronts, or with some of the three: forward up the tree with L, backward
/// down the tree with Lᵀ (Duff and Reid 1983). A column that a front has delayed is one of the pivots of an
/// ancestor: forward its right-hand side is passed up, backward its solution is read like those of
/// contribution rows. Where D has a zero pivot its solution is zero. Sums have one order, so that results are
/// the same from run to run and for any number of threads.
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

  /// Another solver for factors of the same plan, which may solve at the same time.
  LdltSolver with_own_vectors(const MemoryBudget& budget) const;

  /// X = (op of the parts)⁻¹·B. The right-hand sides are multiplied by their scale, so are the solutions.
  /// Between parts that are taken one after another the value of a pivot stands at the user's row of its
  /// variable, and scales belong to the first and the last alone. Op conjugates the parts where it makes
  /// another matrix of A: as an adjoint of a symmetric, transposed of a Hermitian one.
  /// Cost: each part read once for each group of four right-hand sides, once for a single one. Allocates
  /// where there are more right-hand sides or slots than ever before. Does not fence on devices.
  /// @param factors of the plan the solver was made for, after a factorization that succeeded
  /// @throws OutOfMemoryError
  void solve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
             const FrontSystem<Scalar, Memory>& system, const LdltParts& parts = {});

  /// The first pivot of the front at which the watchdog ended a solve, or −1; makes the solver usable again.
  /// That solve, and those since, left NaN. Fences on devices.
  std::int64_t consume_timeout(const ExecutionSpace& exec, const Plan& plan);

 private:
  using Sweeps = Impl::LdltSweeps<Scalar, ExecutionSpace>;
  explicit LdltSolver(std::shared_ptr<Sweeps> sweeps);

  std::shared_ptr<Sweeps> m_sweeps;  ///< this solver's alone
};

}  // namespace lutra

#endif
