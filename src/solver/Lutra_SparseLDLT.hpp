// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSELDLT_HPP
#define LUTRA_SPARSELDLT_HPP

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_DirectSolver.hpp"

namespace lutra {

/// Direct solver for symmetric and Hermitian sparse systems, definite or not, by L·D·Lᵀ with pivots of one
/// and two rows, and for positive definite ones by Cholesky's method (L·D·Lᴴ, D > 0 diagonal).
///
/// analyze once per pattern, factorize once per set of values, solve as often as wanted. After factorize
/// `report().inertia` has the signs of the eigenvalues, exact but for rounding, and of none where pivots were
/// perturbed or the matrix is complex and not Hermitian. Compiled for the types of SparseLU.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseLDLT : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                   public DirectSolver<Scalar, ExecutionSpace, LdltOptions> {
  using Base = DirectSolver<Scalar, ExecutionSpace, LdltOptions>;

 public:
  using typename Base::matrix_type;
  using shift_type = typename Base::numeric_type::shift_type;
  using parts_type = LdltParts;
  using Base::Base;
  using Base::factorize;

  /// Factorizes A + diag(shift): regularization without a new analysis (Numeric::factorize).
  /// @throws as factorize(A)
  [[nodiscard]] Status factorize(const matrix_type& A, const shift_type& shift) {
    return this->analyzed().factorize(A, shift);
  }
  template <class Value, class Index, class Integer, class Memory>
  [[nodiscard]] Status factorize(const CsrView<Value, Index, Integer, Memory>& A, const shift_type& shift) {
    this->require_analysis("factorize");
    return factorize(this->as_analyzed(A), shift);
  }

  /// X = (op of the parts)⁻¹·B with L, D and Lᵀ apart or together (Numeric::solve_parts).
  /// @throws CallOrderError where there are no factors, InputError for extents that do not fit;
  ///         OutOfMemoryError, TimeoutError
  template <class BView, class XView>
  void solve_parts(const BView& B, const XView& X, const LdltParts& parts,
                   Transposition op = Transposition::none) {
    this->numeric("solve_parts: there is no analysis; call analyze and factorize first")
        .solve_parts(B, X, parts, op);
  }

  /// Sign (or phase) of the determinant and logarithm of its magnitude (Numeric::determinant).
  /// @throws CallOrderError where there are no factors
  Determinant<Scalar> determinant() const {
    return this->numeric("determinant: there is no analysis; call analyze and factorize first").determinant();
  }

  /// Raises the threshold u of pivots to u^0.75, at most to 1/2, for factorizations from here on: more
  /// accurate factors, more delayed pivots.
  /// @returns false where it is 1/2 already, or there is no threshold
  /// @throws CallOrderError without an analysis
  bool increase_quality() { return this->analyzed().increase_quality(); }
};

}  // namespace lutra

#endif
