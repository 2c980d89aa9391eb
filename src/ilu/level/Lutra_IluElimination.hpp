// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUELIMINATION_HPP
#define LUTRA_ILUELIMINATION_HPP

#include <memory>
#include <string>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_IluChoice.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Values of incomplete factors on a fixed pattern by Gaussian elimination row by row: (L·U)(i, j) = a(i, j)
/// for all (i, j) of the pattern. Constructed once for a pattern, used for any values.
///
/// Row i needs the rows of U in the columns of L's row i (docs/ilu.md). `levels`: one launch per level of
/// that dependency graph. `syncfree`: one launch; rows start after the rows they need and poll for their
/// values. Sums follow the ascending columns of L for every schedule and number of threads, so that all give
/// the same bits.
///
/// On hosts with one thread, or with few rows per level, one thread eliminates the rows in their own order.
template <class Scalar, class ExecutionSpace>
class IluElimination : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;

  /// Analyses dependencies and allocates workspaces. Fences.
  /// @param pattern          row_map, entries and diagonal equal to those of `eliminate`
  /// @param watchdog_seconds longest wait of a row; a longer one ends the elimination
  /// @param costs            decide an `automatic` schedule (choose_schedule)
  /// @param is_prototype     only `with_own_workspace` will be called, so no workspace is allocated
  /// @throws OutOfMemoryError
  IluElimination(const ExecutionSpace& exec, const Factors& pattern, IluSchedule schedule,
                 const MemoryBudget& budget, double watchdog_seconds = 10,
                 const IluCosts& costs = default_device_model<ExecutionSpace>().ilu,
                 bool is_prototype = false);
  ~IluElimination();
  /// Creates an elimination on the same analysis with its own workspace. Both may run at the same time. This
  /// must outlive it. Fences.
  /// @throws OutOfMemoryError
  IluElimination with_own_workspace(const ExecutionSpace& exec, const MemoryBudget& budget) const;
  IluElimination(IluElimination&&) noexcept;
  IluElimination& operator=(IluElimination&&) noexcept;

  /// Computes the values of `factors` from A. Does not wait for devices and allocates nothing. A zero pivot
  /// makes the entries of L in its column zero; `inspect_factors` detects it.
  /// @param A     entries outside the pattern are dropped; may not share its values with `factors`
  /// @param shift added to each a_ii, relative to max |entry of row i|, in the direction of a_ii
  void eliminate(const ExecutionSpace& exec, const Matrix& A, double shift, const Factors& factors);

  /// The schedule used, never `automatic`.
  IluSchedule schedule() const;
  /// Reason for the schedule, in a sentence; empty if the caller chose it or there is no choice.
  const std::string& reason() const;
  /// Level sets of the rows of L; 0 if rows run in their own order.
  std::int64_t levels() const;
  /// The row at which the watchdog ended the last elimination, or −1. Waits. After a timeout the factors hold
  /// NaN.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

 private:
  struct Plan;
  explicit IluElimination(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> m_plan;
};

}  // namespace lutra

#endif
