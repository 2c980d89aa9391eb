// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUSOLVER_HPP
#define LUTRA_LUSOLVER_HPP

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_CsrOperator.hpp"
#include "Lutra_FactorStructure.hpp"
#include "Lutra_LuFactorization.hpp"
#include "Lutra_NullVector.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_Timer.hpp"

namespace lutra {

/// The implementation of `SparseLU`: what it holds, and the order its steps go in.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class LuSolver {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;
  using Solver = SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>;

  LuSolver(LuOptions options, const ExecutionSpace& exec);

  void analyze(const Matrix& A);
  void factorize(const Matrix& A);
  Status solve(const typename Solver::const_multivector_type& B, const typename Solver::multivector_type& X,
               Transposition op);
  FactorStructure structure() const;
  /// A row map of `int` in the solver's offset type; valid until the next call.
  Kokkos::View<const Offset*, Memory> widened(const Kokkos::View<const int*, Memory>& row_map) {
    return m_row_map.convert(m_exec, row_map, m_budget);
  }

  const Report& report() const noexcept { return m_report; }
  /// Rows of the matrix analyzed; 0 before.
  std::size_t n() const noexcept { return static_cast<std::size_t>(m_n); }

 private:
  /// What has been done so far; a later stage stands for the earlier ones too.
  enum class Stage { nothing, singular_pattern, analyzed, singular_values, factorized };

  using Operator = CsrOperator<Scalar, Ordinal, Offset, ExecutionSpace>;

  void copy_values(const Matrix& A);
  bool factorize_within_growth();
  bool factorize_with(double perturbation);
  Scales<Scalar, Memory> scales() const { return {m_analysis.row_scale, m_analysis.col_scale}; }
  void check_singularity(bool finite);
  Operator& operator_for(Transposition op);
  void check_solve(const typename Solver::const_multivector_type& B,
                   const typename Solver::multivector_type& X) const;
  void check_right_sides(const typename Solver::const_multivector_type& B);
  [[noreturn]] static void refuse_right_side(std::int64_t row);
  void reserve_workspace(std::size_t n_rhs);
  bool gmres_fallback(Transposition op, Operator& A, std::size_t n_rhs, RefinementOutcome& outcome);
  SolveWorkspace<Scalar, ExecutionSpace>& one_column();
  double tolerance() const;
  void assess_solution();
  void update_memory();

  LuOptions m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  Report m_report;
  Stage m_stage = Stage::nothing;
  Ordinal m_n = 0;  ///< rows of the matrix analyzed, a singular one too
  LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace> m_analysis;
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> m_factorization;
  Kokkos::View<Scalar*, Memory> m_values;  ///< [nnz(A)] of the matrix last factorized
  MemoryReservation m_values_reservation;
  TransposedPattern<Ordinal, Offset, Memory> m_transposed;  ///< of A; empty until a transposed solve
  Operator m_plain, m_transposed_operator, m_adjoint;       ///< made when first asked for
  MatrixCheckWorkspace<ExecutionSpace> m_check;
  SolveWorkspace<Scalar, ExecutionSpace> m_work;
  SolveWorkspace<Scalar, ExecutionSpace> m_one_column;  ///< of GMRES and null vectors
  FgmresWorkspace<Scalar, ExecutionSpace> m_gmres;      ///< empty until refinement has stalled once
  Impl::WidenedRowMap<Offset, ExecutionSpace> m_row_map;  ///< empty unless matrices have row maps of `int`
  double m_perturbation = 0;             ///< used for the factors; grows once growth has asked for it
  std::size_t m_factor_escalations = 0;  ///< how many of the report's escalations the factorization made
  bool m_factorized_before = false;      ///< the next factorization with this analysis is a refactorization
};

}  // namespace lutra

#endif
