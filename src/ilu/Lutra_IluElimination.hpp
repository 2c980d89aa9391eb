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

/// The values of incomplete factors on a fixed pattern by Gaussian elimination row by row: with L and U on
/// the pattern, (L·U)(i, j) = a(i, j) for all its (i, j). Made once for a pattern, used for any values.
///
/// Row i needs the rows of U in the columns of L's row i (docs/ilu.md). `levels`: a launch for each level of
/// that dependency graph. `syncfree`: one launch; rows start in an order in which those they need come first,
/// and poll for their values. Sums go in ascending columns of L, whatever the schedule and the threads, so
/// that all give the same bits.
///
/// On hosts with one thread, or where levels have few rows, rows run one after the other in their own order.
template <class Scalar, class ExecutionSpace>
class IluElimination : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;

  /// Dependencies and workspaces. Fences.
  /// @param pattern          whose row_map, entries and diagonal those of `eliminate` equal
  /// @param watchdog_seconds a row that waits longer ends the elimination
  /// @param costs            from which an `automatic` schedule is chosen (choose_schedule)
  /// @param is_prototype     only `with_own_workspace` is wanted of it, so that it needs no workspace
  /// @throws OutOfMemoryError
  IluElimination(const ExecutionSpace& exec, const Factors& pattern, IluSchedule schedule,
                 const MemoryBudget& budget, double watchdog_seconds = 10,
                 const IluCosts& costs = default_device_model<ExecutionSpace>().ilu,
                 bool is_prototype = false);
  ~IluElimination();
  /// Another on the same analysis: the two may run at the same time. This must outlive it. Fences.
  /// @throws OutOfMemoryError
  IluElimination with_own_workspace(const ExecutionSpace& exec, const MemoryBudget& budget) const;
  IluElimination(IluElimination&&) noexcept;
  IluElimination& operator=(IluElimination&&) noexcept;

  /// Sets the values of `factors` from A. Does not wait for devices and allocates nothing. A zero pivot
  /// makes the entries of L beside it zeros; `inspect_factors` finds it.
  /// @param A     entries outside of the pattern are dropped; may not share its values with `factors`
  /// @param shift added to each a_ii in parts of max |entry of row i|, in the direction of a_ii
  void eliminate(const ExecutionSpace& exec, const Matrix& A, double shift, const Factors& factors);

  /// What runs: never `automatic`.
  IluSchedule schedule() const;
  /// Why, in a sentence; empty where the caller has chosen, or there is no choice.
  const std::string& reason() const;
  /// Levels of the rows of L; 0 where rows run in their own order.
  std::int64_t levels() const;
  /// The row at which the watchdog ended the last elimination, or −1. Waits. The factors then hold NaN.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

 private:
  struct Plan;
  explicit IluElimination(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> m_plan;
};

}  // namespace lutra

#endif
