// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSELDLT_HPP
#define LUTRA_SPARSELDLT_HPP

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra {

/// Direct solver for symmetric and Hermitian sparse systems. Indefinite matrices are factorized as L·D·Lᵀ
/// with 1 × 1 and 2 × 2 pivots. Positive definite matrices can be factorized by Cholesky's method, stored as
/// L·D·Lᴴ with a diagonal D > 0.
///
/// Call analyze once per pattern, factorize once per set of values, and solve as often as needed. After
/// factorize, `report().inertia` counts the eigenvalues by sign; the counts are exact up to rounding. There
/// is no inertia if pivots were perturbed, or if the matrix is complex and not Hermitian. The class is
/// instantiated for the same types as SparseLU.
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

  /// Factorizes A + diag(shift), which regularizes A without a new analysis (Numeric::factorize).
  /// @throws as factorize(A)
  [[nodiscard]] Status factorize(const matrix_type& A, const shift_type& shift) {
    return this->analyzed().factorize(A, shift);
  }
  template <class Value, class Index, class Integer, class Memory>
  [[nodiscard]] Status factorize(const CsrView<Value, Index, Integer, Memory>& A, const shift_type& shift) {
    this->require_analysis("factorize");
    return this->stopped("factorize", [&] { return factorize(this->as_analyzed(A), shift); });
  }

  /// Computes X = (op of the parts)⁻¹·B, where the parts are any of the factors L, D and Lᵀ
  /// (Numeric::solve_parts).
  /// @throws CallOrderError if there are no factors, InputError if the extents do not match,
  ///         OutOfMemoryError, TimeoutError
  template <class BView, class XView>
  void solve_parts(const BView& B, const XView& X, const LdltParts& parts,
                   Transposition op = Transposition::none) {
    this->numeric("solve_parts: there is no analysis; call analyze and factorize first")
        .solve_parts(B, X, parts, op);
  }

  /// Returns the sign (or phase) of the determinant and the logarithm of its magnitude
  /// (Numeric::determinant).
  /// @throws CallOrderError if there are no factors
  Determinant<Scalar> determinant() const {
    return this->numeric("determinant: there is no analysis; call analyze and factorize first").determinant();
  }

  /// Raises the pivot threshold u to min(u^0.75, 1/2) for all later factorizations. The factors become more
  /// accurate, and more pivots are delayed.
  /// @returns false if u is already 1/2, or if the method uses no threshold
  /// @throws CallOrderError if there is no analysis
  bool increase_quality() { return this->analyzed().increase_quality(); }
};

}  // namespace lutra

#endif
