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

/// The symmetric matrix that LDLᵀ and Cholesky factorize, and its relation to the caller's matrix.
template <class Memory>
struct SymmetricInput {
  CsrPattern<Ordinal, Offset, Memory> A;  ///< pattern that the caller's matrices must have; a copy
  SymmetricPattern<Memory> S;             ///< pattern of both triangles of A, which is factorized
  Symmetry symmetry = Symmetry::symmetric;
};

/// Result of analyzing a pattern: the matching, the ordering, the scales computed with the matching, and the
/// plan of a factorization. It holds no matrix values and does not change after `analyze` returns it. Any
/// number of `Numeric` objects can therefore share it, on any threads and instances.
template <class Scalar, class ExecutionSpace>
struct Analysis {
  using Memory = typename ExecutionSpace::memory_space;

  Ordinal n = 0;
  std::variant<LuOptions, LdltOptions, SparseIluOptions> options;  ///< options it was made with
  std::optional<SymmetricInput<Memory>> symmetric;                 ///< set for LDLᵀ and Cholesky only
  PermutedPattern<Memory> F;  ///< permuted pattern of A or S; has no orders if structurally singular
  /// [n] column order before the assembly tree reordered it; empty if blocks were ordered separately, and for
  /// LDLᵀ.
  std::vector<Ordinal> ordered_columns;
  Kokkos::View<const RealOf<Scalar>*, Memory> row_scale;  ///< [n] indexed by the user's rows
  Kokkos::View<const RealOf<Scalar>*, Memory> col_scale;  ///< [n] indexed by the user's columns
  /// Null if the pattern is structurally singular.
  std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan;
  /// Choices with their reasons, times, counts and ranks. The status is `not_solved`, or
  /// `structurally_singular` with the rows and columns concerned.
  Report report;
  std::uint64_t value_hash = 0;  ///< hash of the analyzed values (Lutra_ScaleFit.hpp)
  bool bordered = false;         ///< the plan ends with the rows of a Schur complement
  MemoryReservation reservation;

  bool is_incomplete() const { return std::holds_alternative<SparseIluOptions>(options); }
  /// Returns the pattern that matrices must have.
  const CsrPattern<Ordinal, Offset, Memory>& pattern() const { return symmetric ? symmetric->A : F.A; }
  /// Returns the row and column orders, the pattern of L + U and the level widths on the host. The result is
  /// empty for a structurally singular matrix. Fences.
  FactorStructure structure(const ExecutionSpace& exec) const;
};

namespace Impl {
template <class Scalar, class ExecutionSpace>
struct Border;

/// Default pivot perturbation, ε^(5/8). It is small enough to spare pivots that are small because the matrix
/// is ill-conditioned, and large enough to bound growth.
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

/// Returns the triangle whose values are read.
inline Triangle read_triangle(const LdltOptions& options) {
  return options.triangle;
}
template <class Options>
Triangle read_triangle(const Options&) {
  return Triangle::both;
}

// `analyze` for each kind of options, given a matrix that has passed check_square_matrix.

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

/// Analyzes the pattern of a matrix. For LU it computes the matching, the ordering, the symbolic
/// factorization and the levels. For LDLᵀ and Cholesky it computes the scaling, the ordering and the assembly
/// tree. For incomplete factors it computes the matching, the ordering, the symbolic factorization and the
/// analysis of the triangular solves. Fences.
/// @param A       matrix whose values are used only for matching and scaling
/// @param options LuOptions, LdltOptions or SparseIluOptions
/// @param budget  charged for the memory of the analysis, which is freed with the last copy of the pointer
/// @param former  earlier analysis, or null. If options and pattern are the same, LU recomputes only the
///                matching and LDLᵀ only the scales. If the matched pattern is also the same, the new
///                analysis shares the ordering, trees and plan of `former`, unless the LDLᵀ ordering depends
///                on a matching (pair_ordering). Incomplete factors are always analyzed anew.
/// @param border  rows and columns onto which to take the Schur complement, or null. The plan includes them
///                if the options allow fronts and solves on fronts. `former` must then be null.
/// @throws InputError if the matrix is malformed (check_square_matrix, applied to the values that are read)
///         or the user permutation is invalid. With LDLᵀ also if all entries are in the triangle that is not
///         read (fill_triangles), if the matrix is not symmetric, or if a Hermitian matrix has a diagonal
///         that is not real (check_symmetry). With IluOptions::symmetric also if there is an entry (i, j)
///         without (j, i). OutOfMemoryError.
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

/// Analyzes the pattern of `former` for other values and shares all parts that do not depend on values. The
/// plan is null if these values make the matrix structurally singular. Fences.
/// @param values [nnz] values on the pattern of F; for LDLᵀ those of S
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> renew_analysis(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values,
    const MemoryBudget& budget);

/// Implements renew_analysis for LDLᵀ and Cholesky.
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> renew_symmetric(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values,
    const MemoryBudget& budget);

/// Analyzes for LDLᵀ with an order in which matched rows are adjacent. It serves values whose delayed pivots
/// cascade with the order of `former`. Fences.
/// @param values [nnz] values of S
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> with_paired_order(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values, double pivot_threshold,
    const MemoryBudget& budget);

}  // namespace Impl

}  // namespace lutra

#endif
