// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGLU_HPP
#define LUTRA_RIGHTLOOKINGLU_HPP

#include <memory>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Levelization.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_Transpose.hpp"

namespace lutra {

namespace Impl {
/// Tasks and maps of the backend's own kernels.
template <class MemorySpace>
struct ColumnTaskPlan;

/// State of a factorization by those kernels, initially zero.
struct ColumnState {
  unsigned long long largest;    ///< bits of max |entry|, a double
  unsigned long long perturbed;  ///< perturbed pivots
  unsigned long long stopped;    ///< 1 + a column whose wait timed out
  int ticket;
};
}  // namespace Impl

/// Everything a column factorization needs except values. Made once per pattern, in `MemorySpace`;
/// factorizations do not change it.
template <class MemorySpace>
struct RightLookingLuPlan {
  LuPattern<MemorySpace> rows;  ///< L + U by rows
  /// L + U by columns; `source` maps to entries by rows
  TransposedPattern<MemorySpace> columns;
  /// [n] position of (j, j) among the columns' entries
  Kokkos::View<const Offset*, MemorySpace> column_diagonal;
  /// [nnz] position by columns of each entry by rows
  Kokkos::View<const Offset*, MemorySpace> row_to_column;
  Levels<MemorySpace> levels;  ///< of the column dependency graph
  double flops = 0;            ///< flops of one factorization, real flops for real scalars
  /// of the CUDA kernels; elsewhere null
  std::shared_ptr<const Impl::ColumnTaskPlan<MemorySpace>> tasks;
  MemoryReservation reservation;

  Ordinal n() const { return rows.n; }
};

/// Working storage of successive factorizations with the CUDA kernels; elsewhere empty. Any number of
/// workspaces may share a plan.
template <class MemorySpace>
struct RightLookingLuWorkspace {
  Kokkos::View<unsigned*, MemorySpace> arrived;  ///< [n] completed tasks signalled to each column, summed
                                                 ///< over all runs
  Impl::AsyncResult<Impl::ColumnState, typename MemorySpace::execution_space> state;
  unsigned run = 0;  ///< number of the last factorization
  MemoryReservation reservation;
};

/// Threshold below which pivots are perturbed: a factor times the largest entry of the matrix, which may be
/// in device memory, or an absolute value.
struct PivotThreshold {
  double factor = 0;
  const double* largest = nullptr;  ///< null, or pointer to the largest entry; 0 counts as 1

  KOKKOS_FUNCTION PivotThreshold(double f = 0, const double* of = nullptr) : factor(f), largest(of) {}
  KOKKOS_FUNCTION double operator()() const {
    return factor * (largest != nullptr && *largest > 0 ? *largest : 1.0);
  }
};

/// Outcome of one factorization.
struct RightLookingLuOutcome {
  std::int64_t perturbed = 0;  ///< pivots below the threshold, perturbed
  double largest = 0;          ///< max |entry of L\U|
  bool finite = true;          ///< no NaN or infinity in L\U
};

/// Plans columns of L + U, the levels of the dependency graph, and the targets of updates.
///
/// Column j waits for column i < j if U(i, j) ≠ 0, and also if L(j, i) ≠ 0. The second condition is the
/// relaxed form of GLU 3.0's "double-U" dependency; without it two columns of one level could read and write
/// the same entry of U ("End-to-End LU Factorization of Large Matrices on GPUs", section 2.2).
/// @throws OutOfMemoryError
template <class ExecutionSpace>
RightLookingLuPlan<typename ExecutionSpace::memory_space> plan_right_looking_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget);

/// Allocates the workspace of a plan.
/// @throws OutOfMemoryError
template <class ExecutionSpace>
RightLookingLuWorkspace<typename ExecutionSpace::memory_space> make_right_looking_lu_workspace(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget);

/// Hybrid column right-looking LU without interchanges ("End-to-End LU Factorization …", Algorithm 2). Level
/// by level, a column's part of L is divided by its pivot, then every later column it touches is updated.
/// Entries of those columns are located by binary search in sorted columns (Algorithm 6), each search
/// starting where the last one ended. Portable kernels assign a team to a column. On CUDA one launch
/// processes all levels as data flow, and positions come from maps made with the plan if memory permits
/// (impl/cuda/Lutra_RightLookingTasksCuda.hpp).
///
/// @param values    in: the matrix on the pattern by columns, zeros at fill; out: L (unit diagonal not
///                  stored) and U in place
/// @param threshold smaller pivots are perturbed: raised to this magnitude, with their argument kept
/// @param perturbed [n] out: 1 where the pivot was perturbed, else 0
/// Cost: `plan.flops`; one launch per level, on CUDA two in all. Waits for `exec` once. With more than one
/// thread the order of additions, and so the last bits, may vary from run to run.
/// @throws TimeoutError if a column waited too long
template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_right_looking(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed);

}  // namespace lutra

#endif
