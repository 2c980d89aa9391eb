// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RIGHTLOOKINGLU_HPP
#define LUTRA_RIGHTLOOKINGLU_HPP

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_ColumnOptions.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Levelization.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Report.hpp"
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

/// What a factorization by portable kernels has done to its values.
struct FactorChanges {
  double largest;          ///< max |entry|, infinity if one is not finite
  std::int64_t perturbed;  ///< perturbed pivots
};

/// Levels of the modes A, B and C, on the host; empty for data flow.
struct ColumnLevels {
  std::vector<ColumnMode> modes;    ///< [levels] A, B or C
  std::vector<Ordinal> columns;     ///< [n] level by level
  std::vector<Ordinal> subcolumns;  ///< [n] number of sub-columns of each of `columns`
  std::int64_t count[3] = {};       ///< levels of each mode

  std::int64_t of(ColumnMode mode) const {
    return count[static_cast<int>(mode) - static_cast<int>(ColumnMode::A)];
  }
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
  ColumnOptions options;
  Impl::ColumnLevels modes;
  /// of the CUDA kernels; elsewhere null
  std::shared_ptr<const Impl::ColumnTaskPlan<MemorySpace>> tasks;
  MemoryReservation reservation;

  Ordinal n() const { return rows.n; }
};

/// Working storage of successive factorizations. Any number of workspaces may share a plan.
template <class MemorySpace>
struct RightLookingLuWorkspace {
  /// [n] completed tasks signalled to each column, summed over all runs; data flow on CUDA only
  Kokkos::View<unsigned*, MemorySpace> arrived;
  Impl::AsyncResult<Impl::ColumnState, typename MemorySpace::execution_space> state;
  unsigned run = 0;         ///< number of the last factorization
  bool is_pending = false;  ///< whether kernels of the last factorization were not launched
  /// [1] of the portable kernels; on hosts empty
  Impl::AsyncResult<Impl::FactorChanges, typename MemorySpace::execution_space> changes;

  // Modes A, B and C; made by the first factorization, which knows the size of values and the memory left.
  ColumnFormat format = ColumnFormat::automatic;  ///< automatic: not yet chosen
  std::size_t dense_columns = 0;                  ///< arrays in `dense`: columns at work at once
  Kokkos::View<char*, MemorySpace> dense;         ///< [dense_columns · n values] zero between columns
  std::shared_ptr<void> streams;                  ///< of mode C on CUDA

  MemoryBudget budget;
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
  std::int64_t perturbed = 0;             ///< pivots below the threshold, perturbed
  double largest = 0;                     ///< max |entry of L\U|
  bool finite = true;                     ///< no NaN or infinity in L\U
  std::optional<ColumnReport> columns{};  ///< modes A, B and C
};

/// Plans columns of L + U, the levels of the dependency graph, and the targets of updates.
///
/// Column j waits for column i < j if U(i, j) ≠ 0, and also if L(j, i) ≠ 0. The second condition is the
/// relaxed form of GLU 3.0's "double-U" dependency; without it two columns of one level could read and write
/// the same entry of U ("End-to-End LU Factorization of Large Matrices on GPUs", section 2.2).
/// @throws InputError for options that exclude each other or that the execution space lacks;
///         OutOfMemoryError
template <class ExecutionSpace>
RightLookingLuPlan<typename ExecutionSpace::memory_space> plan_right_looking_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget, const ColumnOptions& options = {});

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
/// (impl/cuda/Lutra_RightLookingTasksCuda.hpp). `ColumnOptions` selects other kernels and formats.
///
/// @param values    in: the matrix on the pattern by columns, zeros at fill; out: L (unit diagonal not
///                  stored) and U in place
/// @param threshold smaller pivots are perturbed: raised to this magnitude, with their argument kept
/// @param perturbed [n] out: 1 where the pivot was perturbed, else 0
/// Cost: `plan.flops`; one launch per level, on CUDA two in all. Waits for `exec` once. With more than one
/// thread the order of additions, and so the last bits, may vary from run to run.
/// @throws TimeoutError if a column waited too long; OutOfMemoryError if format dense is asked for and not
///         one dense column fits in half of the memory left
template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_right_looking(
    const ExecutionSpace& exec, const RightLookingLuPlan<typename ExecutionSpace::memory_space>& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed);

}  // namespace lutra

#endif
