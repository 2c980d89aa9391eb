// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVER_HPP
#define LUTRA_FRONTSOLVER_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontLdlt.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontSolveData.hpp"
#include "Lutra_Index.hpp"

namespace lutra {

namespace Impl {
/// Sweeps with factors of this type on their execution space, with their vectors; lists made from the plan
/// are shared.
template <class Factors>
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

/// Values at some rows of a solve, for right-hand sides or solutions that other parts of a tree compute.
template <class Scalar, class MemorySpace>
struct FrontValues {
  Kokkos::View<const Offset*, MemorySpace> rows;
  DenseRows<Scalar, MemorySpace> values;  ///< [rows × columns of the system]
};

/// Options of solves on fronts.
struct FrontSolverOptions {
  bool portable = false;         ///< use the portable kernels even where specialized ones exist
  double watchdog_seconds = 10;  ///< longest wait for a value; a longer one ends the solve
  bool interchanges = false;     ///< factorizations of LU use row interchanges
  /// model that predicts the order of tasks; empty: the execution space's built-in model
  std::optional<DeviceModel> device_model = {};
};

/// L and U, which no solve takes apart.
struct LuParts {};

/// Solves with L·U or L·D·Lᵀ, or with some of the latter three, transposed or adjoint if requested, directly
/// on the panels of a multifrontal factorization. Forward, up the tree, a front sums the contributions of its
/// children, solves for its pivots and passes contributions to its parent. Backward, it reads the solutions
/// of its contribution rows (Duff and Reid 1983). A column that a front has delayed is a pivot of an
/// ancestor: forward its right-hand side is passed up, backward its solution is read like those of
/// contribution rows. The solution at a zero pivot of D is zero. Sums follow one order, so that results are
/// the same from run to run and for any number of threads.
/// @tparam FactorsOf FrontFactors, or LdltFactors with the parts LdltParts
template <class Scalar, class ExecutionSpace, template <class, class> class FactorsOf = FrontFactors,
          class Parts = LuParts>
class FrontSolver {
 public:
  using Factors = FactorsOf<Scalar, ExecutionSpace>;
  using Memory = typename Factors::Memory;
  using Plan = typename Factors::Plan;

  /// @throws OutOfMemoryError. Fences.
  FrontSolver(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget,
              const FrontSolverOptions& options = {});
  FrontSolver(FrontSolver&&) noexcept = default;
  FrontSolver& operator=(FrontSolver&&) noexcept = default;

  /// Creates a solver for factors of the same plan. Both share the index lists made from the plan, which no
  /// solve changes. Flags and vectors are separate, so that both may solve at the same time.
  /// @throws OutOfMemoryError
  FrontSolver with_own_vectors(const ExecutionSpace& exec, const MemoryBudget& budget) const;

  /// Predicts the bytes of the vectors for `n_columns` right-hand sides.
  /// @param interchanges whether factors of LU have interchanges
  std::size_t predict_bytes(const Plan& plan, bool interchanges, int n_columns) const;

  /// X = (op of the parts)⁻¹·B. Right-hand sides and solutions are multiplied by their scales. In successive
  /// solves with parts, the value of a pivot is stored at the user's row of its variable, and only the first
  /// and the last solve scale. Op conjugates the parts of L·D·Lᵀ if op(A) differs from A: for the adjoint of
  /// a symmetric matrix, and the transpose of a Hermitian one. Cost: reads the panels once for each group of
  /// four right-hand sides, once for a single one. Allocates if there are more right-hand sides or slots than
  /// ever before. Does not fence on devices.
  /// @param factors of the solver's plan, after a successful factorization; with interchanges only if the
  ///                solver was constructed for them. Portable kernels read only the interchanges of portable
  ///                kernels
  /// @throws OutOfMemoryError; InputError for interchanges they cannot read
  void solve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
             const FrontSystem<Scalar, Memory>& system, const Parts& parts = {});

  /// Allocates what the two sweeps below need for this many right-hand sides.
  /// @throws OutOfMemoryError
  void reserve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
               int n_columns) requires std::is_same_v<Parts, LuParts>;

  /// The two halves of a solve with a part of a tree, between which other parts work. Only for LU. Sums have
  /// the order of a solve with the whole tree.
  ///
  ///     roots with contribution rows      `sums`: those of their contributions, out    x, in
  ///                 │                         ▲ sweep_up                                │ sweep_down
  ///     leaves without pivots             `given`: their contributions, in             x, out
  ///
  /// @param given rows: of `plan.rows`, contribution rows of leaves without pivots
  /// @param sums  rows: of `plan.rows`
  void sweep_up(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
                const FrontSystem<Scalar, Memory>& system, const FrontValues<const Scalar, Memory>& given,
                const FrontValues<Scalar, Memory>& sums) requires std::is_same_v<Parts, LuParts>;
  /// Follows a `sweep_up` of the same system.
  /// @param solved rows: permuted indices that are no pivots of the tree
  /// @param read   rows: permuted indices whose solutions are copied
  void sweep_down(const ExecutionSpace& exec, const Plan& plan, const Factors& factors,
                  const FrontSystem<Scalar, Memory>& system, const FrontValues<const Scalar, Memory>& solved,
                  const FrontValues<Scalar, Memory>& read) requires std::is_same_v<Parts, LuParts>;

  /// First pivot of the front at which the watchdog ended a solve, or −1; makes the solver usable again. That
  /// solve and all subsequent ones returned NaN. Fences on devices.
  std::int64_t consume_timeout(const ExecutionSpace& exec, const Plan& plan);

 private:
  using Sweeps = Impl::FrontSweeps<Factors>;
  FrontSolver(std::shared_ptr<Sweeps> sweeps, bool interchanges);

  std::shared_ptr<Sweeps> m_sweeps;  ///< not shared with other solvers
  bool m_interchanges = false;
};

template <class Scalar, class ExecutionSpace>
using LdltSolver = FrontSolver<Scalar, ExecutionSpace, LdltFactors, LdltParts>;

}  // namespace lutra

#endif
