// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVER_HPP
#define LUTRA_FRONTSOLVER_HPP

#include <cstdint>
#include <memory>
#include <optional>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontSolveData.hpp"
#include "Lutra_Index.hpp"

namespace lutra {

namespace Impl {
/// Launches of an execution space with their vectors; data read from the plan is shared.
template <class Scalar, class ExecutionSpace>
class FrontSweeps;
}  // namespace Impl

/// Right-hand sides and solutions in the user's row numbering, with the user's row of each permuted index.
template <class Scalar, class MemorySpace>
struct FrontSystem {
  Transposition transposition = Transposition::none;
  Impl::MappedColumns<const Scalar> in;               ///< right-hand sides
  Impl::MappedColumns<Scalar> out;                    ///< solutions; may be the right-hand sides
  Kokkos::View<const Ordinal*, MemorySpace> in_row;   ///< [n] row of `in` at each permuted index
  Kokkos::View<const Ordinal*, MemorySpace> out_row;  ///< [n] row of `out` at each permuted index
  int n_columns = 0;
};

/// Options of solves on fronts.
struct FrontSolverOptions {
  bool portable = false;         ///< use the portable kernels even where specialized ones exist
  double watchdog_seconds = 10;  ///< longest wait for a value; a longer one ends the solve
  bool interchanges = false;     ///< factorizations use row interchanges
  /// model that predicts the order of tasks; empty: the execution space's built-in model
  std::optional<DeviceModel> device_model = {};
};

/// Solves with L·U, transposed or adjoint if requested, directly on the panels of a multifrontal
/// factorization. Forward, a front sums the contributions of its children, solves for its pivots and passes
/// contributions to its parent. Backward, it reads the solutions of its contribution rows (Duff and Reid
/// 1983). Sums follow one order, so that results are the same from run to run.
template <class Scalar, class ExecutionSpace>
class FrontSolver {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LuPlan<Memory>;
  using Factors = FrontFactors<Scalar, ExecutionSpace>;

  /// @throws OutOfMemoryError. Fences.
  FrontSolver(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
              const FrontSolverOptions& options = {});
  FrontSolver(FrontSolver&&) noexcept = default;
  FrontSolver& operator=(FrontSolver&&) noexcept = default;

  /// Creates a solver for factors of the same plan. Both share the index lists made from the plan, which no
  /// solve changes. Flags and vectors are separate, so that both may solve at the same time.
  /// @throws OutOfMemoryError
  FrontSolver with_own_vectors(const ExecutionSpace& exec, const MemoryBudget& budget) const;

  /// Cost: reads the panels once for each group of four right-hand sides, once for a single one. Allocates if
  /// there are more right-hand sides than ever before. Does not fence on devices.
  /// @param factors of the solver's plan; with interchanges only if the solver was constructed for them.
  ///                Portable kernels read only the interchanges of portable kernels
  /// @throws OutOfMemoryError; InputError for interchanges they cannot read
  void solve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
             const FrontSystem<Scalar, Memory>& system);

  /// First pivot of the front at which the watchdog ended a solve, or −1; makes the solver usable again.
  /// Fences.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

 private:
  using Sweeps = Impl::FrontSweeps<Scalar, ExecutionSpace>;
  FrontSolver(std::shared_ptr<Sweeps> sweeps, bool interchanges);

  std::shared_ptr<Sweeps> m_sweeps;  ///< not shared with other solvers
  bool m_interchanges = false;
};

}  // namespace lutra

#endif
