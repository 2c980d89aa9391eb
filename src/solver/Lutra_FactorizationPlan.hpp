// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORIZATIONPLAN_HPP
#define LUTRA_FACTORIZATIONPLAN_HPP

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_FactorStructure.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// Pattern of the permuted matrix that is factorized, F(k, l) = A(row_order(k), col_order(l)). It holds no
/// values.
template <class MemorySpace>
struct PermutedPattern {
  CsrPattern<Ordinal, Offset, MemorySpace> A;           ///< pattern in the user's order; a copy
  Kokkos::View<const Ordinal*, MemorySpace> row_order;  ///< [n] user's row at each position of F
  Kokkos::View<const Ordinal*, MemorySpace> col_order;  ///< [n] user's column at each position of F
  MemoryReservation reservation;
};

/// Everything an engine knows about a pattern. An analysis creates the plan, and its factorizations share it;
/// the plan never changes. An engine derives its plan from this class and its factors from `Factorization`.
template <class Scalar, class ExecutionSpace>
struct FactorizationPlan {
  FactorCounts counts;                     ///< counts without the fill ratio
  std::vector<std::int64_t> level_widths;  ///< number of columns in each level of the factorization
  std::string_view solve_method;
  std::string solve_reason;  ///< reason for solve_method if the library chose it

  virtual ~FactorizationPlan() = default;
  /// Creates a factorization without values. It owns everything that changes (factors, workspace, flags of
  /// kernels), so factorizations of one plan may run at the same time on different instances. The plan must
  /// outlive it.
  /// @throws OutOfMemoryError
  virtual std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const = 0;
  /// Writes the pattern of L + U by rows of F. Fences.
  /// @throws OutOfMemoryError
  virtual void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const = 0;
};

}  // namespace lutra

#endif
