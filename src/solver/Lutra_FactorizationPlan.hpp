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

/// The matrix that is factorized, F(k, l) = A(row_order(k), col_order(l)), without values.
template <class MemorySpace>
struct PermutedPattern {
  CsrPattern<Ordinal, Offset, MemorySpace> A;           ///< in user order; a copy
  Kokkos::View<const Ordinal*, MemorySpace> row_order;  ///< [n] user's row at each position of F
  Kokkos::View<const Ordinal*, MemorySpace> col_order;  ///< [n] user's column at each position of F
  MemoryReservation reservation;
};

/// All that an engine knows of a pattern: made by an analysis, shared by its factorizations, and never
/// changed. An engine derives its plan from this and its factors from `Factorization`.
template <class Scalar, class ExecutionSpace>
struct FactorizationPlan {
  FactorCounts counts;                     ///< without fill ratio
  std::vector<std::int64_t> level_widths;  ///< columns in each level of the factorization
  std::string_view solve_method;
  std::string solve_reason;  ///< why that method, where the choice was the library's

  virtual ~FactorizationPlan() = default;
  /// A factorization without values. It holds all that changes (factors, workspace, flags of kernels), so
  /// that factorizations of one plan may run at the same time on different instances. The plan must outlive
  /// it.
  /// @throws OutOfMemoryError
  virtual std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const = 0;
  /// Writes the pattern of L + U by rows of F. Fences. @throws OutOfMemoryError
  virtual void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const = 0;
};

}  // namespace lutra

#endif
