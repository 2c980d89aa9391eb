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
/// Tasks and maps of an execution space's own kernels.
template <class MemorySpace>
struct ColumnTaskPlan;

/// State of a factorization by those kernels, all zeros at first.
struct ColumnState {
  unsigned long long largest;    ///< bits of max |entry|, a double
  unsigned long long perturbed;  ///< perturbed pivots
  unsigned long long stopped;    ///< 1 + a column that waited too long
  int ticket;
};
}  // namespace Impl

/// All a column factorization needs besides values; made once for a pattern, in memory space `MemorySpace`,
/// and not changed by factorizations.
template <class MemorySpace>
struct RightLookingLuPlan {
  LuPattern<MemorySpace> rows;  ///< L + U by rows
  /// L + U by columns; its `source` leads to the rows
  TransposedPattern<MemorySpace> columns;
  /// [n] position of (j, j) among the columns' entries
  Kokkos::View<const Offset*, MemorySpace> column_diagonal;
  /// [nnz] position by columns of each entry by rows
  Kokkos::View<const Offset*, MemorySpace> row_to_column;
  Levels<MemorySpace> levels;  ///< of the column dependency graph
  double flops = 0;            ///< of one factorization, real ones for real scalars
  /// of the kernels for CUDA; elsewhere empty
  std::shared_ptr<const Impl::ColumnTaskPlan<MemorySpace>> tasks;
  MemoryReservation reservation;

  Ordinal n() const { return rows.n; }
};

/// What factorizations on a plan work in, one after the other; of CUDA's kernels, elsewhere empty. Any number
/// of workspaces may share a plan.
template <class MemorySpace>
struct RightLookingLuWorkspace {
  Kokkos::View<unsigned*, MemorySpace> arrived;  ///< [n] signals of complete tasks to a column, in all runs
  Impl::AsyncResult<Impl::ColumnState, typename MemorySpace::execution_space> state;
  unsigned run = 0;  ///< number of the last factorization
  MemoryReservation reservation;
};

/// Pivots smaller in magnitude than this are perturbed: a factor times the largest entry of the matrix, which
/// a kernel may have left in device memory, or a number alone.
struct PivotThreshold {
  double factor = 0;
  const double* largest = nullptr;  ///< null, or a number that is 0: counts as 1

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

/// Columns of L + U, the dependency graph's levels, and where updates go.
///
/// Column j waits for column i < j if U(i, j) ≠ 0, and also if L(j, i) ≠ 0: the second kind is the relaxed
/// form of GLU 3.0's "double-U" dependency, without which two columns of one level could read and write the
/// same entry of U
/// ("End-to-End LU Factorization of Large Matrices on GPUs", section 2.2).
/// @throws OutOfMemoryError
template <class ExecutionSpace>
RightLookingLuPlan<typename ExecutionSpace::memory_space> plan_right_looking_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget);

/// @throws OutOfMemoryError
template <class ExecutionSpace>
RightLookingLuWorkspace<typename ExecutionSpace::memory_space> make_right_looking_lu_workspace(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget);

/// Hybrid column right-looking LU without interchanges ("End-to-End LU Factorization …", Algorithm 2): level
/// by level, a column's part of L is divided by its pivot, then every later column it touches is updated;
/// entries of those columns are found by binary search in sorted columns (Algorithm 6), each search starting
/// where the last one ended. Portable kernels give a team a column. On CUDA one launch works all levels as
/// data flow, and positions come from maps made with the plan where memory allows
/// (impl/cuda/Lutra_ColumnTasksCuda.hpp).
///
/// @param values in: the matrix on the pattern by columns, zeros where it has fill; out: L (unit diagonal
///               left out) and U in place
/// @param threshold pivots smaller in magnitude are perturbed: they get this magnitude, and keep their
/// argument
/// @param perturbed [n] out: 1 where the pivot was perturbed, else 0
/// Cost: `plan.flops`; a launch a level, on CUDA two in all. Waits for `exec` once. On
/// more than one thread the order of additions, and so the last bits, may vary from run to run.
/// @throws TimeoutError where a column waited too long for others
template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_right_looking(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed);

}  // namespace lutra

#endif
