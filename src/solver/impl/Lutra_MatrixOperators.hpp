// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXOPERATORS_HPP
#define LUTRA_MATRIXOPERATORS_HPP

#include "Lutra_CsrOperator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Transpose.hpp"

namespace lutra::Impl {

/// Operators A, Aᵀ and Aᴴ for one set of values after another on one pattern. Each operator is created on
/// first use. Owns a copy of the values.
template <class Scalar, class ExecutionSpace>
class MatrixOperators {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Operator = CsrOperator<Scalar, ExecutionSpace>;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;

  MatrixOperators() = default;
  /// @param pattern pattern of A; its Views are shared
  MatrixOperators(const Pattern& pattern, const MemoryBudget& budget)
      : m_pattern(pattern), m_budget(budget) {}

  /// Replaces the pattern by a copy of the same pattern. Call it before the first `get`.
  void set_pattern(const Pattern& pattern) { m_pattern = pattern; }
  /// Copies the values. Allocates on the first call. Does not fence on devices.
  void set_values(const ExecutionSpace& exec, const Kokkos::View<const Scalar*, Memory>& values) {
    reserve(exec, values.extent(0));
    Kokkos::deep_copy(exec, m_values, values);
    values_have_changed();
  }
  /// Allocates memory for values. The caller writes to `values()` and then calls `values_have_changed`.
  void reserve(const ExecutionSpace& exec, std::size_t nnz) {
    if (m_values.extent(0) == nnz) return;
    m_reservation = MemoryReservation(m_budget);
    m_values = m_reservation.template allocate<decltype(m_values)>(exec, "lutra::solver::values", nnz);
  }
  void values_have_changed() {
    for (Operator& op : m_operators) op.set_values(m_values);
  }
  const Kokkos::View<Scalar*, Memory>& values() const { return m_values; }

  /// Returns op(A) with the current values.
  Operator& get(const ExecutionSpace& exec, Transposition op) {
    Operator& result = m_operators[static_cast<int>(op)];
    if (!result.is_empty()) return result;
    if (op == Transposition::none) {
      result = Operator(exec, m_pattern, {}, false, m_budget);
    } else {
      if (m_transposed.pattern.n_rows != m_pattern.n_rows)  // the entries may be empty
        m_transposed = transpose(exec, m_pattern, m_budget);
      result =
          Operator(exec, m_transposed.pattern, m_transposed.source, op == Transposition::adjoint, m_budget);
    }
    result.set_values(m_values);
    return result;
  }

 private:
  Pattern m_pattern;
  MemoryBudget m_budget;
  Kokkos::View<Scalar*, Memory> m_values;  ///< [nnz(A)]
  MemoryReservation m_reservation;
  TransposedPattern<Memory> m_transposed;  ///< empty until a transposed operator is needed
  Operator m_operators[3];
};

}  // namespace lutra::Impl

#endif
