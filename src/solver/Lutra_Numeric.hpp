// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NUMERIC_HPP
#define LUTRA_NUMERIC_HPP

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "Lutra_Analysis.hpp"
#include "Lutra_ConditionGuard.hpp"
#include "Lutra_FactorValues.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_MatrixOperators.hpp"
#include "Lutra_RankTwo.hpp"
#include "Lutra_Refinement.hpp"
#include "Lutra_SymmetricFactors.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

/// The factors of one matrix after another on one pattern, by LU, LDLᵀ, Cholesky or incomplete LU as its
/// analysis says, and solves with them: one of any number of such objects over a shared analysis, each with
/// its execution space instance, values, factors, workspace, memory budget and report. Objects over one
/// analysis may be used at the same time by different threads and on different instances; each alone is used
/// by one thread at a time.
///
///     analysis ──┬── Numeric ── factorize(A₁), solve …     instance 1
///                └── Numeric ── factorize(A₂), solve …     instance 2
///
/// `SparseLU`, `SparseLDLT` and `SparseILU` are an analysis with one of these; further ones are made from
/// `analysis()`.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class Numeric {
 public:
  using scalar_type = Scalar;
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using values_type = Kokkos::View<const Scalar*, memory_space>;
  using analysis_type = Analysis<Scalar, ExecutionSpace>;
  using const_multivector_type = Kokkos::View<const Scalar**, Kokkos::LayoutStride, memory_space>;
  using multivector_type = Kokkos::View<Scalar**, Kokkos::LayoutStride, memory_space>;
  /// Added to the diagonal, by the user's rows; empty: nothing.
  using shift_type = Kokkos::View<const RealOf<Scalar>*, memory_space>;

  /// @param options those of factorizations and solves count
  /// @throws CallOrderError for no analysis; InputError for options out of range; OutOfMemoryError. Fences.
  explicit Numeric(std::shared_ptr<const analysis_type> analysis, const DirectOptions& options = {},
                   const ExecutionSpace& exec = ExecutionSpace())
      : Numeric(std::move(analysis), options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  Numeric(std::shared_ptr<const analysis_type> analysis, const DirectOptions& options,
          const ExecutionSpace& exec, const MemoryBudget& budget);

  /// Factorizes a matrix with the pattern of the analysis and any values, which are copied, except those for
  /// incomplete factors. Of LDLᵀ and Cholesky `report()` then has the inertia. Waits twice: for the check of
  /// the matrix, and for what became of the pivots; more often where pivots were perturbed, or a
  /// factorization is repeated. Allocates the first time, and where delayed pivots need more memory.
  /// @param shift [n] of LDLᵀ and Cholesky: A + diag(shift) is factorized, and solves and errors are of it
  /// @returns success, or the status of a matrix that cannot be solved with
  /// @throws InputError for another pattern, for NaN or infinity among the values read, for an
  ///         unsymmetric matrix with LDLᵀ, and for a shift with LU, of another length, or with NaN or
  ///         infinity: nothing has changed. OutOfMemoryError, TimeoutError: there are no factors, and
  ///         `report()` says so
  [[nodiscard]] Status factorize(const matrix_type& A, const shift_type& shift = {});
  /// Computes factors to precondition with, for `apply` and `factorization()` alone: neither growth nor
  /// condition is examined, and the analysis stays as it is.
  /// @param values [nnz] checked; read in place
  /// @returns as factorize
  /// @throws OutOfMemoryError, TimeoutError: there are no factors
  [[nodiscard]] Status precondition(const values_type& values);

  /// X ≈ op(A)⁻¹·B for all columns, by the factors alone. Does not fence, but allocates and fences where the
  /// number of columns grows or op is transposed for the first time.
  /// @param B [n × k] or [n] View the execution space can read, of any layout
  /// @param X like B; may be B itself
  /// @throws CallOrderError without usable factors; InputError where extents do not fit; OutOfMemoryError.
  ///         TimeoutError where the watchdog has given up an earlier one, which left NaN: this one has done
  ///         nothing, and the factors are still there
  template <class BView, class XView>
  void apply(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    apply_strided(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X), op);
  }
  /// The same for Views of the library's own type.
  void apply_strided(const const_multivector_type& B, const multivector_type& X, Transposition op);
  /// @throws TimeoutError where the watchdog has given up an `apply` since the last call. Fences.
  void check_applied();

  /// Solves op(A)·X = B for all columns, refines, and computes the backward errors in `report()`.
  /// @param B [n × k] or [n] View the execution space can read, of any layout
  /// @param X like B; may be B itself. Complete when the call returns
  /// @returns the status of `report()`. Where it is a singular one from before the call, or `breakdown` of
  ///          the factorization, X is left alone, unless DirectOptions::solve_singular asks for a solve
  /// Waits once for 16 right-hand sides where the first solution is good; once for each step of refinement or
  /// GMRES, and once for X after those. Allocates where the number of right-hand sides, up to 16, is another
  /// than before, and for the first transposed solve.
  /// @throws CallOrderError without a factorization, InputError for incomplete factors, and where extents do
  ///         not fit or B holds NaN or infinity: nothing has changed. OutOfMemoryError, TimeoutError: X is
  ///         undefined, and `report()` says so
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    return solve_strided(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X),
                         op);
  }
  /// The same for Views of the library's own type.
  Status solve_strided(const const_multivector_type& B, const multivector_type& X, Transposition op);

  /// X = (op of the parts)⁻¹·B with some of the factors L, D and Lᵀ (or Lᴴ) of S·A·S = Pᵀ·L·D·Lᵀ·P, S being
  /// the scaling and P the elimination order: with L alone X = Pᵀ·L⁻¹·P·S·B, with D alone Pᵀ·D⁻¹·P·B, with Lᵀ
  /// alone S·Pᵀ·L⁻ᵀ·P·B, one after another A⁻¹·B. No refinement, no look at B's values, no change to the
  /// report. Where D has a zero pivot X is zero. Fences.
  /// @param B, X as of solve
  /// @throws CallOrderError where there are no factors, InputError for LU and for extents that do not fit:
  ///         nothing has changed. OutOfMemoryError, TimeoutError: X is undefined, the factors are still there
  template <class BView, class XView>
  void solve_parts(const BView& B, const XView& X, const LdltParts& parts,
                   Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    solve_part_views(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X),
                     parts, op);
  }

  /// The determinant of the matrix that LDLᵀ last factorized, A + diag(shift), as sign (or phase) and
  /// logarithm of its magnitude. Of perturbed pivots the perturbed values count. O(n) on the host. Fences.
  /// @throws CallOrderError where there are no factors, InputError for LU
  Determinant<Scalar> determinant();

  /// Takes another analysis, and drops values and factors. Others over the former analysis keep it.
  /// @throws CallOrderError for no analysis, OutOfMemoryError: nothing has changed. Fences.
  void set_analysis(std::shared_ptr<const analysis_type> analysis);
  /// Analyzes A for this object alone, with the options of its analysis: for values for which the former
  /// matching and scaling no longer serve.
  /// @throws as `analyze`: nothing has changed. Fences.
  void rematch(const matrix_type& A);
  /// Overload for a matrix that check_square_matrix has passed.
  void rematch_checked(const matrix_type& A);

  /// Asks for more accurate factors, from the next factorization on: LDLᵀ raises the threshold u of pivots to
  /// u^0.75, at most to 1/2. @returns false where they are as accurate as they become
  bool increase_quality() { return m_factorization && m_factorization->increase_quality(); }

  /// The factors on the host. Fences. @throws CallOrderError without a factorization
  FactorValues<Scalar> factors() const;
  /// Orders, pattern of L + U and level widths on the host: those of the analysis, or of the order by which a
  /// factorization of LDLᵀ has replaced it. Fences.
  FactorStructure structure() const;
  /// The factors, of a numerically singular matrix too; null where there are none.
  Factorization<Scalar, ExecutionSpace>* factorization() const {
    return has_factors() ? m_factorization.get() : nullptr;
  }
  /// The same object, whether it holds factors or not; null where the pattern is structurally singular.
  Factorization<Scalar, ExecutionSpace>* engine() const { return m_factorization.get(); }

  const std::shared_ptr<const analysis_type>& analysis() const noexcept { return m_analysis; }
  /// The pattern that matrices must have, and how they are compared with it.
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const;
  /// What was chosen, counted and measured, and how good the last solution is. After an OutOfMemoryError of
  /// factorize or solve its status is `out_of_memory`, after a TimeoutError `not_solved`, and it has no
  /// errors; an InputError leaves it alone.
  const Report& report() const noexcept { return m_report; }

 private:
  using Memory = memory_space;
  using AnalysisPointer = std::shared_ptr<const analysis_type>;
  using Operator = CsrOperator<Scalar, ExecutionSpace>;
  using Workspace = SolveWorkspace<Scalar, ExecutionSpace>;
  using Guard = Impl::ConditionGuard<Scalar, ExecutionSpace>;

  /// What can be done next.
  enum class Stage {
    structurally_singular,         ///< the pattern: there is nothing to factorize
    structurally_singular_values,  ///< values that are zero make the matrix so
    analyzed,
    not_finite,
    not_definite,
    numerically_singular,
    factorized
  };

  // Factorization (Lutra_Numeric.cpp).
  void check_matrix(const matrix_type& A, const shift_type& shift);
  void take_values(const matrix_type& A, const shift_type& shift);
  template <class Compute>
  Status compute_factors(const Compute& compute);
  Stage approximate(const values_type& values);
  Stage settle(FactorizationOutcome outcome);
  bool may_renew();
  bool renew_analysis(const std::string& reason);
  void adopt(const AnalysisPointer& renewed,
             std::unique_ptr<Factorization<Scalar, ExecutionSpace>> factorization);
  FactorizationOutcome factorize_values(const std::optional<double>& given = {});
  FactorizationOutcome factorize_in_paired_order(const SymmetricOutcome& former);
  double first_perturbation() const {
    return m_options.perturbation > 0 ? m_options.perturbation : Impl::default_perturbation<Scalar>();
  }
  void report_pivots(const FactorizationOutcome& outcome);
  void compare_prediction();
  void start_report();
  void start_solution(Status status);
  void reserve_column();
  void reserve_gmres();
  void update_memory();
  Scales<Scalar, Memory> scales();
  static Status status_of(Stage stage);
  bool has_factors() const { return m_stage == Stage::factorized || m_stage == Stage::numerically_singular; }
  bool can_solve() const {
    return m_stage == Stage::factorized ||
           (m_stage == Stage::numerically_singular && m_options.solve_singular);
  }
  Operator& operator_for(Transposition op) { return m_operators.get(m_exec, op); }
  /// @throws TimeoutError where the watchdog has given up a solve
  void throw_if_stopped();
  SymmetricFactors<Scalar, ExecutionSpace>& symmetric_factors(const char* call) const;

  // Condition (Lutra_NumericCondition.cpp).
  Stage judge_factors(const FactorizationOutcome& outcome);
  Stage stage_of_factors(FactorizationOutcome outcome, bool has_small_pivots = false);
  bool seems_ill_conditioned();
  bool find_singularity();
  bool find_singularity_by_gmres();
  void name_zero_pivots();

  // Solves (Lutra_NumericSolve.cpp).
  void solve_part_views(const const_multivector_type& B, const multivector_type& X, const LdltParts& parts,
                        Transposition op);
  void load_block(const const_multivector_type& B, std::size_t first, std::size_t k);
  void check_solved(const RefinementOutcome& outcome);
  Status report_solution(const RefinementOutcome& worst, double seconds);
  bool improve_block(Transposition op, std::size_t k, RefinementOutcome& outcome);
  bool is_solved(const RefinementOutcome& outcome) const;
  void check_condition(Transposition op, std::size_t k, const RefinementOutcome& outcome);
  double bound_of_column(Transposition op, std::size_t c, double backward_error);
  void reserve_workspace(std::size_t n_rhs);
  bool gmres_fallback(Transposition op, std::size_t k, RefinementOutcome& outcome);
  void look_for_null_vector(int iterations);
  int improve_column(Transposition op, std::size_t c, BackwardErrors& errors);
  Status status_of_solution() const;
  double tolerance() const;
  RefinementOptions refinement() const { return {m_options.max_refinement_steps, m_options.error_tolerance}; }

  DirectOptions m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  AnalysisPointer m_analysis;
  AnalysisPointer m_reordered;       ///< with which LDLᵀ works since pivots cascaded; or null
  Scales<Scalar, Memory> m_scaling;  ///< of the analysis made last, by which factorizations scale
  Report m_report;
  Stage m_stage = Stage::analyzed;
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> m_factorization;  ///< null: structurally singular
  Impl::MatrixOperators<Scalar, ExecutionSpace> m_operators;               ///< of the matrix last factorized
  MatrixCheckWorkspace<ExecutionSpace> m_check;
  Workspace m_work;                    ///< of up to 16 right-hand sides
  typename Workspace::Rows m_scratch;  ///< [n × k] for Views of `apply` that are not stored by rows
  MemoryReservation m_scratch_reservation;
  Workspace m_column;                      ///< of one, for escalations; empty until there is one
  Fgmres<Scalar, ExecutionSpace> m_gmres;  ///< likewise
  Kokkos::View<RealOf<Scalar>*, Memory> m_diagonal_scale;  ///< [n] of Cholesky, once it was needed
  MemoryReservation m_scale_reservation;                   ///< of it
  Guard m_guard;
  double m_perturbation = 0;              ///< of the last factorization
  bool m_renewed = false;                 ///< a new analysis has been tried for the values at hand
  std::optional<double> m_forward_bound;  ///< of the last solutions; the worst of them counts
  bool m_unknown_solution = false;        ///< that bound is 1 or more
  std::size_t m_factor_escalations = 0;   ///< how many of the report's escalations the factorization made
  bool m_factorized_before = false;       ///< the next factorization is a refactorization
};

}  // namespace lutra

#endif
