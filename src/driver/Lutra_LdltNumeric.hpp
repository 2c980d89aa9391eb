// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTNUMERIC_HPP
#define LUTRA_LDLTNUMERIC_HPP

#include <memory>

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltAnalysis.hpp"
#include "Lutra_LdltDeterminant.hpp"
#include "Lutra_LdltSolver.hpp"
#include "Lutra_LuNumeric.hpp"

namespace lutra {

namespace Impl {
template <class Scalar, class ExecutionSpace>
class LdltFactorization;
}  // namespace Impl

/// The factors of one symmetric matrix after another on one pattern, and solves with them: a LuNumeric, which
/// knows nothing of how factors come about, over the matrix with both triangles filled in. Like it one of any
/// number of such objects over a shared analysis.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class LdltNumeric {
  using Direct = LuNumeric<Scalar, ExecutionSpace>;

 public:
  using scalar_type = Scalar;
  using execution_space = ExecutionSpace;
  using options_type = LdltOptions;
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using analysis_type = LdltAnalysis<Scalar, ExecutionSpace>;
  using border_type = Impl::Border<Scalar, ExecutionSpace>;
  /// Added to the diagonal, by the user's rows; empty: nothing.
  using shift_type = Kokkos::View<const RealOf<Scalar>*, memory_space>;

  /// @param options those that concern values count; `rematch` takes all of them
  /// @throws CallOrderError for no analysis; InputError for options out of range; OutOfMemoryError. Fences.
  explicit LdltNumeric(std::shared_ptr<const analysis_type> analysis, const LdltOptions& options = {},
                       const ExecutionSpace& exec = ExecutionSpace())
      : LdltNumeric(analysis, options, exec, MemoryBudget(options.memory_limit)) {}
  /// The same on an account that others write to as well, instead of one with `options.memory_limit`.
  LdltNumeric(std::shared_ptr<const analysis_type> analysis, const LdltOptions& options,
              const ExecutionSpace& exec, const MemoryBudget& budget);

  /// analyze_ldlt, for DirectSolver.
  static std::shared_ptr<const analysis_type> analyze(const ExecutionSpace& exec, const matrix_type& A,
                                                      const LdltOptions& options, const MemoryBudget& budget,
                                                      const std::shared_ptr<border_type>& border = {}) {
    return analyze_ldlt<Scalar, ExecutionSpace>(exec, A, options, budget, nullptr, border);
  }

  /// Factors of A + diag(shift), for a matrix with the pattern of the analysis and any values, which are
  /// copied. `report()` then has the inertia. Waits for the checks of the matrix and for what became of the
  /// pivots; as often again as a factorization is repeated. Allocates the first time, and where delayed
  /// pivots need more room.
  /// @param shift [n], for regularization; solves and errors are those of the shifted matrix
  /// @throws as LuNumeric::factorize, of the triangle that is read; InputError too where the matrix is not
  ///         symmetric, or the shift has another length or holds NaN or infinity
  void factorize(const matrix_type& A, const shift_type& shift = {});

  /// As LuNumeric::solve. Of a real symmetric matrix all of `op` say the same.
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    const Status status = m_direct.solve(B, X, op);
    follow_analysis();
    return status;
  }

  /// X = (op of the parts)⁻¹·B with some of the factors L, D and Lᵀ (or Lᴴ) of S·A·S = Pᵀ·L·D·Lᵀ·P, S being
  /// the scaling and P the elimination order: with L alone X = Pᵀ·L⁻¹·P·S·B, with D alone Pᵀ·D⁻¹·P·B, with Lᵀ
  /// alone S·Pᵀ·L⁻ᵀ·P·B, one after another A⁻¹·B. No refinement, no look at B's values, no change to the
  /// report. Where D has a zero pivot X is zero. Fences.
  /// @param B, X as of solve
  /// @throws CallOrderError where there are no factors, InputError for extents that do not fit: nothing has
  ///         changed. OutOfMemoryError, TimeoutError: X is undefined, the factors are still there
  template <class BView, class XView>
  void solve_parts(const BView& B, const XView& X, const LdltParts& parts,
                   Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    solve_columns(Impl::as_rank_two<typename Direct::const_multivector_type>(B),
                  Impl::as_rank_two<typename Direct::multivector_type>(X), parts, op);
  }

  /// The determinant of the matrix last factorized, A + diag(shift), as sign (or phase) and logarithm of its
  /// magnitude. Of perturbed pivots the perturbed values count. O(n) on the host. Fences.
  /// @throws CallOrderError where there are no factors
  Determinant<Scalar> determinant() const;

  /// Takes another analysis, and drops values and factors. Others over the former analysis keep it.
  /// @throws CallOrderError for no analysis, OutOfMemoryError: nothing has changed. Fences.
  void set_analysis(std::shared_ptr<const analysis_type> analysis);
  /// A new analysis of A for this object alone: for values for which the former scaling no longer serves.
  /// @throws as analyze_ldlt: nothing has changed. Fences.
  void rematch(const matrix_type& A) {
    set_analysis(analyze_ldlt(m_exec, A, m_options, m_budget, m_analysis.get()));
  }
  /// Raises the threshold u of pivots to u^0.75, at most to 1/2, for factorizations from here on.
  /// @returns false where it is 1/2 already, or there is no threshold
  bool increase_quality() { return m_direct.increase_quality(); }

  /// L and D on the host, as LuNumeric::factors.
  FactorValues<Scalar> factors() const { return m_direct.factors(); }
  /// As LuNumeric::structure.
  FactorStructure structure() const { return m_direct.structure(); }

  const std::shared_ptr<const analysis_type>& analysis() const noexcept { return m_analysis; }
  /// The pattern that matrices must have.
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const {
    return {&m_analysis->A, m_options.validate_input, m_analysis->ldlt_options.triangle};
  }
  /// As LuNumeric::report.
  const Report& report() const noexcept { return m_direct.report(); }

 private:
  using Engine = Impl::LdltFactorization<Scalar, ExecutionSpace>;

  Engine& engine(const char* message) const;
  void follow_analysis();
  void solve_columns(const typename Direct::const_multivector_type& B,
                     const typename Direct::multivector_type& X, const LdltParts& parts, Transposition op);

  LdltOptions m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  std::shared_ptr<const analysis_type> m_analysis;
  Direct m_direct;
  MatrixCheckWorkspace<ExecutionSpace> m_check;
  Kokkos::View<Scalar*, memory_space> m_values;  ///< [nnz(S)] empty before the first factorization
  MemoryReservation m_reservation;
};

}  // namespace lutra

#endif
