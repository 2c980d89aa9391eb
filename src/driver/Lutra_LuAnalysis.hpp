// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUANALYSIS_HPP
#define LUTRA_LUANALYSIS_HPP

#include <cmath>
#include <memory>

#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LuOptions.hpp"

namespace lutra {

/// All that is known of a pattern: matching and ordering, the scales that came with the matching, and the
/// plan of a factorization. It holds no values and nothing that changes after `analyze_lu` has returned it,
/// so that any number of `LuNumeric` objects share one, on any threads and instances.
template <class Scalar, class ExecutionSpace>
struct LuAnalysis {
  using Memory = typename ExecutionSpace::memory_space;

  Ordinal n = 0;
  LuOptions options;                     ///< by which it was made; of LDLᵀ left alone
  PermutedPattern<Memory> F;             ///< empty where the pattern is singular
  std::vector<Ordinal> ordered_columns;  ///< [n] before a tree of fronts reordered them; empty
                                         ///< where blocks were ordered one by one, or of LDLᵀ
  Kokkos::View<const RealOf<Scalar>*, Memory> row_scale;  ///< [n] by user's row
  Kokkos::View<const RealOf<Scalar>*, Memory> col_scale;  ///< [n] by user's column
  /// Null where the pattern is structurally singular.
  std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan;
  /// Choices and their reasons, times, counts, ranks. Status `not_solved`, or `structurally_singular` with
  /// rows and columns.
  Report report;
  std::uint64_t value_hash = 0;  ///< of the values analyzed (Lutra_ScaleFit.hpp)
  bool bordered = false;         ///< the plan ends with the rows of a Schur complement
  MemoryReservation reservation;

  virtual ~LuAnalysis() = default;
  /// An analysis for other values on the same pattern, with which it shares what does not depend on them.
  /// Its plan is null where these values make A structurally singular. Fences.
  /// @param A in user order; of LDLᵀ with both triangles
  /// @throws OutOfMemoryError
  virtual std::shared_ptr<const LuAnalysis> renewed(const ExecutionSpace& exec,
                                                    const CsrView<Scalar, Ordinal, Offset, Memory>& A,
                                                    const MemoryBudget& budget) const;

  /// Orders, pattern of L + U and level widths; empty for a structurally singular matrix. Fences.
  FactorStructure structure(const ExecutionSpace& exec) const;
};

namespace Impl {
template <class Scalar, class ExecutionSpace>
struct Border;

/// Small enough to leave pivots alone that are small by the matrix' own condition, large enough to bound
/// growth.
template <class Scalar>
double default_perturbation() {
  return std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 8.0);
}
}  // namespace Impl

/// Runs matching, ordering, symbolic factorization and levelization. Fences.
/// @param A      its values are used for matching and scaling alone
/// @param budget what the analysis keeps is charged to it, and freed with the last copy of the pointer
/// @param former  an analysis before, or null. With these options and on this pattern the matching alone is
///                made anew; where the matched pattern is the same as then, ordering, trees and plan are
///                those of `former`, with which they are shared
/// @param border  rows and columns to take the Schur complement on, or none; taken in where the options allow
///                fronts and solves on them. `former` is null then
/// @throws InputError for a malformed matrix (check_square_matrix) or a user permutation that is none;
///         OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const LuAnalysis<Scalar, ExecutionSpace>> analyze_lu(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const LuOptions& options, const MemoryBudget& budget,
    const LuAnalysis<Scalar, ExecutionSpace>* former = nullptr,
    const std::shared_ptr<Impl::Border<Scalar, ExecutionSpace>>& border = {});

}  // namespace lutra

#endif
