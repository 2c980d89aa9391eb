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
/// The launches of an execution space with the vectors they work in; what they read of the plan is shared.
template <class Scalar, class ExecutionSpace>
class FrontSweeps;
}  // namespace Impl

/// Right-hand sides and solutions by the user's rows, with the user's row of each permuted index.
template <class Scalar, class MemorySpace>
struct FrontSystem {
  Transposition transposition = Transposition::none;
  Impl::MappedColumns<const Scalar> in;               ///< right-hand sides
  Impl::MappedColumns<Scalar> out;                    ///< solutions; may be the right-hand sides
  Kokkos::View<const Ordinal*, MemorySpace> in_row;   ///< [n] row of `in` at each permuted index
  Kokkos::View<const Ordinal*, MemorySpace> out_row;  ///< [n] row of `out` at each permuted index
  int n_columns = 0;
};

/// How solves on fronts are planned.
struct FrontSolverOptions {
  bool portable = false;         ///< use the portable kernels where there are specialized ones
  double watchdog_seconds = 10;  ///< longest wait for a value; a longer one ends the solve
  bool interchanges = false;     ///< factorizations interchange rows
  /// What the order of tasks is predicted from; none: the execution space's built-in model.
  std::optional<DeviceModel> device_model = {};
};

/// Solves with L·U, transposed or adjoint if asked, on the panels of a multifrontal factorization: no copy
/// of the factors by rows is made. Forward, a front gathers the contributions of its children, solves for
/// its pivots and leaves contributions to its parent; backward it reads the solutions of its contribution
/// rows (Duff and Reid 1983). Sums have one order, so that results are the same from run to run.
template <class Scalar, class ExecutionSpace>
class FrontSolver {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = FrontPlan<Memory>;
  using Factors = FrontFactors<Scalar, ExecutionSpace>;

  /// @throws OutOfMemoryError. Fences.
  FrontSolver(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
              const FrontSolverOptions& options = {});
  FrontSolver(FrontSolver&&) noexcept = default;
  FrontSolver& operator=(FrontSolver&&) noexcept = default;

  /// Another solver for factors of the same plan. The two share the index lists made from the plan, which no
  /// solve changes; flags and vectors are their own, so that both may solve at the same time.
  /// @throws OutOfMemoryError
  FrontSolver with_own_vectors(const ExecutionSpace& exec, const MemoryBudget& budget) const;

  /// Cost: the panels read once for each group of four right-hand sides, once for a single one. Allocates
  /// where there are more right-hand sides than ever before. Does not fence on devices.
  /// @param factors of the plan the solver was made for; without interchanges unless the solver was made for
  ///                them. Portable kernels read the interchanges of portable kernels only
  /// @throws OutOfMemoryError; InputError for interchanges they cannot read
  void solve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
             const FrontSystem<Scalar, Memory>& system);

  /// The first pivot of the front at which the watchdog ended a solve, or −1; makes the solver usable again.
  /// Fences.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

 private:
  using Sweeps = Impl::FrontSweeps<Scalar, ExecutionSpace>;
  FrontSolver(std::shared_ptr<Sweeps> sweeps, bool interchanges);

  std::shared_ptr<Sweeps> m_sweeps;  ///< this solver's alone
  bool m_interchanges = false;
};

}  // namespace lutra

#endif
