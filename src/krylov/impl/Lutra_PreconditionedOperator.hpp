// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PRECONDITIONEDOPERATOR_HPP
#define LUTRA_PRECONDITIONEDOPERATOR_HPP

#include "Lutra_Error.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Krylov.hpp"

namespace lutra::Impl {

/// The preconditioned system M₁⁻¹·A·M₂⁻¹·u = M₁⁻¹·r, d = M₂⁻¹·u. Either M₁ or M₂ is the identity, or both are
/// the two parts of a preconditioner.
template <class Scalar, class ExecutionSpace>
class PreconditionedOperator {
 public:
  using Operator = LinearOperator<Scalar, ExecutionSpace>;
  using ApproximateInverse = Preconditioner<Scalar, ExecutionSpace>;
  using Split = SplitPreconditioner<Scalar, ExecutionSpace>;
  using Rows = typename Operator::Rows;

  /// @param M       null for none
  /// @param scratch a block as wide as those of the iteration
  PreconditionedOperator(const ExecutionSpace& exec, const Operator& A, ApproximateInverse* M,
                         Transposition op, PreconditionSide side, const Rows& scratch)
      : m_exec(exec), m_A(A), m_M(M), m_op(op), m_side(side), m_scratch(scratch) {
    if (M == nullptr || side != PreconditionSide::split) return;
    m_split = dynamic_cast<Split*>(M);
    if (m_split == nullptr) throw InputError("split preconditioning asks for a preconditioner of two parts");
  }

  const ExecutionSpace& exec() const { return m_exec; }
  bool has_preconditioner() const { return m_M != nullptr; }
  void multiply(const Rows& V, const Rows& W) const { m_A.apply(m_exec, V, W); }
  void precondition(const Rows& V, const Rows& W) const { m_M->apply(m_exec, m_op, V, W); }

  /// r → M₁⁻¹·r
  void to_iteration(const Rows& R) const {
    if (m_M == nullptr || m_side == PreconditionSide::right) return;
    if (m_split != nullptr) return first_part(R);
    precondition(R, R);
  }
  /// W = M₁⁻¹·A·M₂⁻¹·V
  void apply(const Rows& V, const Rows& W) const {
    if (m_M == nullptr) return multiply(V, W);
    if (m_side == PreconditionSide::left) {
      multiply(V, m_scratch);
      return precondition(m_scratch, W);
    }
    if (m_split != nullptr) {
      second_part(V, m_scratch);
    } else {
      precondition(V, m_scratch);
    }
    multiply(m_scratch, W);
    if (m_split != nullptr) first_part(W);
  }
  /// u → M₂⁻¹·u
  void from_iteration(const Rows& U) const {
    if (m_M == nullptr || m_side == PreconditionSide::left) return;
    if (m_split != nullptr) return second_part(U, U);
    precondition(U, U);
  }

 private:
  // A ≈ L·U gives Aᵀ ≈ Uᵀ·Lᵀ: transposed, U comes first.
  void first_part(const Rows& V) const {
    if (m_op == Transposition::none) {
      m_split->apply_lower(m_exec, m_op, V, V);
    } else {
      m_split->apply_upper(m_exec, m_op, V, V);
    }
  }
  void second_part(const Rows& V, const Rows& W) const {
    if (m_op == Transposition::none) {
      m_split->apply_upper(m_exec, m_op, V, W);
    } else {
      m_split->apply_lower(m_exec, m_op, V, W);
    }
  }

  const ExecutionSpace& m_exec;
  const Operator& m_A;
  ApproximateInverse* m_M;
  Split* m_split = nullptr;
  Transposition m_op;
  PreconditionSide m_side;
  Rows m_scratch;
};

}  // namespace lutra::Impl

#endif
