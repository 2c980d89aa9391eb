// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANALYSIS_HPP
#define LUTRA_ANALYSIS_HPP

#include <cmath>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_FactorizationPlan.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_SparseIluOptions.hpp"

namespace lutra {

/// How the matrix that LDLᵀ and Cholesky factorize comes out of the caller's.
template <class Memory>
struct SymmetricInput {
  CsrPattern<Ordinal, Offset, Memory> A;  ///< as the caller's matrices have to have it; a copy
  SymmetricPattern<Memory> S;             ///< both triangles of A, which are factorized
  Symmetry symmetry = Symmetry::symmetric;
};

/// All that is known of a pattern: matching and ordering, the scales that came with the matching, and the
/// plan of a factorization. It holds no values and never changes after `analyze` has returned it, so that any
/// number of `Numeric` objects share one, on any threads and instances.
template <class Scalar, class ExecutionSpace>
struct Analysis {
  using Memory = typename ExecutionSpace::memory_space;

  Ordinal n = 0;
  std::variant<LuOptions, LdltOptions, SparseIluOptions> options;  ///< by which it was made
  std::optional<SymmetricInput<Memory>> symmetric;                 ///< of LDLᵀ and Cholesky
  PermutedPattern<Memory> F;             ///< of A, or of S; without orders where it is structurally singular
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

  bool is_incomplete() const { return std::holds_alternative<SparseIluOptions>(options); }
  /// The pattern that matrices must have.
  const CsrPattern<Ordinal, Offset, Memory>& pattern() const { return symmetric ? symmetric->A : F.A; }
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

namespace Impl {

template <class Scalar, class ExecutionSpace>
using AnalysisPointer = std::shared_ptr<const Analysis<Scalar, ExecutionSpace>>;
template <class Scalar, class ExecutionSpace>
using DeviceMatrix = CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>;

/// The triangle whose values are read.
inline Triangle read_triangle(const LdltOptions& options) {
  return options.triangle;
}
template <class Options>
Triangle read_triangle(const Options&) {
  return Triangle::both;
}

// `analyze` of a matrix that check_square_matrix has passed, for each kind of options.

template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> analyze_checked(
    const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A, const LuOptions& options,
    const MemoryBudget& budget, const Analysis<Scalar, ExecutionSpace>* former = nullptr,
    const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border = {});
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> analyze_checked(
    const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A, const LdltOptions& options,
    const MemoryBudget& budget, const Analysis<Scalar, ExecutionSpace>* former = nullptr,
    const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border = {});
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> analyze_checked(
    const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A,
    const SparseIluOptions& options, const MemoryBudget& budget,
    const Analysis<Scalar, ExecutionSpace>* former = nullptr,
    const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border = {});

}  // namespace Impl

/// Analyzes the pattern of a matrix. LU: matching, ordering, symbolic factorization and levelization. LDLᵀ
/// and Cholesky: scaling, ordering and assembly tree. Incomplete factors: matching, ordering, symbolic
/// factorization and the analysis of solves. Fences.
/// @param A       its values are used for matching and scaling alone
/// @param options LuOptions, LdltOptions or SparseIluOptions
/// @param budget  what the analysis keeps is charged to it, and freed with the last copy of the pointer
/// @param former  an earlier analysis, or null. With the same options and the same pattern LU makes the
///                matching alone anew, LDLᵀ the scales; where the matched pattern is the same as then,
///                ordering, trees and plan are shared with `former`, unless the ordering of LDLᵀ follows a
///                matching (pair_ordering). Incomplete factors are analyzed anew
/// @param border  rows and columns to take the Schur complement on, or none; taken in where the options allow
///                fronts and solves on them. `former` is null then
/// @throws InputError for a malformed matrix (check_square_matrix, of the values that are read) or a user
///         permutation that is none; with LDLᵀ for a matrix whose entries are all in the triangle that is not
///         read (fill_triangles), one that is not symmetric, or a Hermitian one with a diagonal that is not
///         real (check_symmetry); with IluOptions::symmetric for an entry (i, j) without (j, i);
///         OutOfMemoryError
template <class Scalar, class ExecutionSpace, class Options>
std::shared_ptr<const Analysis<Scalar, ExecutionSpace>> analyze(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, const Options& options,
    const MemoryBudget& budget, const Analysis<Scalar, ExecutionSpace>* former = nullptr,
    const std::shared_ptr<Impl::Border<Scalar, ExecutionSpace>>& border = {}) {
  check_square_matrix(exec, A, MatrixCheckWorkspace<ExecutionSpace>(exec, budget),
                      Impl::read_triangle(options));
  return Impl::analyze_checked<Scalar, ExecutionSpace>(exec, A, options, budget, former, border);
}

namespace Impl {

/// An analysis of the pattern of `former` for other values, sharing what does not depend on them. Its plan is
/// null where these values make the matrix structurally singular. Fences.
/// @param values [nnz] of F's pattern: of LDLᵀ those of S
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> renew_analysis(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values,
    const MemoryBudget& budget);

/// Of LDLᵀ and Cholesky; called by renew_analysis.
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> renew_symmetric(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values,
    const MemoryBudget& budget);

/// An analysis for LDLᵀ with matched rows side by side in the order, for values whose delayed pivots cascade
/// with `former`. Fences.
/// @param values [nnz] of S
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> with_paired_order(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values, double pivot_threshold,
    const MemoryBudget& budget);

}  // namespace Impl

}  // namespace lutra

#endif
