// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NUMERIC_HPP
#define LUTRA_NUMERIC_HPP

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ConditionGuard.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_MatrixCalls.hpp"
#include "Lutra_MatrixOperators.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_RankTwo.hpp"
#include "Lutra_Refinement.hpp"
#include "Lutra_SymmetricFactors.hpp"
#include "Lutra_SymmetricPattern.hpp"

namespace lutra {

namespace Impl {
/// The symmetric matrix that LDLᵀ and Cholesky factorize, and its relation to the caller's matrix.
template <class Memory>
struct SymmetricInput {
  CsrPattern<Ordinal, Offset, Memory> A;  ///< pattern that the caller's matrices must have; a copy
  SymmetricPattern<Memory> S;             ///< pattern of both triangles of A, which is factorized
  Symmetry symmetry = Symmetry::symmetric;
};
}  // namespace Impl

/// Result of analyzing a pattern: the matching, the ordering, the scales computed with the matching, and the
/// plan of a factorization. It holds no matrix values and does not change after `analyze` returns it. Any
/// number of `Numeric` objects can therefore share it, on any threads and instances.
template <class Scalar, class ExecutionSpace>
struct Analysis {
  using Memory = typename ExecutionSpace::memory_space;

  Ordinal n = 0;
  std::variant<LuOptions, LdltOptions, SparseIluOptions> options;  ///< options it was made with
  std::optional<Impl::SymmetricInput<Memory>> symmetric;           ///< set for LDLᵀ and Cholesky only
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
  bool paired = false;  ///< LDLᵀ: matched rows are adjacent, so that the order depends on the values
  std::vector<Ordinal> row_front;  ///< [n] LDLᵀ: front in which each of the user's rows is a pivot
  Ordinal zero_diagonals = 0;      ///< LDLᵀ: rows whose diagonal entry is zero or absent
  MemoryReservation reservation;
  std::size_t held_bytes = 0;  ///< bytes that the analysis holds in its budget

  bool is_incomplete() const { return std::holds_alternative<SparseIluOptions>(options); }
  /// Returns the pattern that matrices must have.
  const CsrPattern<Ordinal, Offset, Memory>& pattern() const { return symmetric ? symmetric->A : F.A; }
  /// Returns the row and column orders, the pattern of L + U and the level widths on the host. The result is
  /// empty for a structurally singular matrix. Fences.
  FactorStructure structure(const ExecutionSpace& exec) const;
  /// Predicts the memory of a `Numeric` over this analysis, with the bytes of the analysis (docs/memory.md).
  /// O(fronts)
  /// @param n_rhs right-hand sides of a solve, at least 1
  /// @returns empty for incomplete factors, Schur complements and structurally singular patterns
  std::optional<MemoryForecast> forecast(int n_rhs = 1) const;
};

namespace Impl {
template <class Scalar, class ExecutionSpace>
struct Border;

inline constexpr int columns_at_once = 16;  ///< right-hand sides in the workspace of a solve

/// Default pivot perturbation, ε^(5/8). It is small enough to spare pivots that are small because the matrix
/// is ill-conditioned, and large enough to bound growth.
template <class Scalar>
double default_perturbation() {
  return std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 8.0);
}

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
///                on a matching (with pairs). Incomplete factors are always analyzed anew.
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

enum class PivotChange;

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

/// Numeric factors over a shared analysis, and solves with them. The analysis determines whether they are
/// factors of LU, LDLᵀ, Cholesky or incomplete LU. One object factorizes one matrix after another, all with
/// the same pattern. Any number of objects can share one analysis; each has its own execution space instance,
/// values, factors, workspace, MemoryBudget and report. Different threads may use different objects at the
/// same time, on different instances. Only one thread at a time may use a given object.
///
///     analysis ──┬── Numeric ── factorize(A₁), solve …     instance 1
///                └── Numeric ── factorize(A₂), solve …     instance 2
///
/// `SparseLU`, `SparseLDLT` and `SparseILU` each combine an analysis with one Numeric. Pass their
/// `analysis()` to the constructor below to create more.
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
  /// Values added to the diagonal, indexed by the user's rows. An empty View adds nothing.
  using shift_type = Kokkos::View<const RealOf<Scalar>*, memory_space>;

  /// Creates an object without factors. Fences.
  /// @param options only those for factorizations and solves are used
  /// @throws CallOrderError if the analysis is null; InputError if an option is out of range;
  ///         OutOfMemoryError
  explicit Numeric(std::shared_ptr<const analysis_type> analysis, const DirectOptions& options = {},
                   const ExecutionSpace& exec = ExecutionSpace())
      : Numeric(std::move(analysis), options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  Numeric(std::shared_ptr<const analysis_type> analysis, const DirectOptions& options,
          const ExecutionSpace& exec, const MemoryBudget& budget);
  Numeric(Numeric&&) noexcept;
  Numeric& operator=(Numeric&&) noexcept;
  ~Numeric();

  /// Factorizes a matrix that has the analyzed pattern and any values. The values are copied, except for
  /// incomplete factors. For LDLᵀ and Cholesky `report()` then contains the inertia. Waits for the device
  /// twice: for the check of the matrix and for the outcome of pivoting. It waits more often if pivots were
  /// perturbed or a factorization is repeated. Allocates on the first call, and when delayed pivots need more
  /// memory.
  /// @param shift [n] for LDLᵀ and Cholesky only: factorizes A + diag(shift), to which solves and errors then
  ///              refer
  /// @returns success, or the status of a matrix that cannot be solved. After `cancelled` there are no
  ///          factors, unless the matrix was still being checked; the object is then unchanged
  /// @throws InputError if the pattern differs; if a value that is read is NaN or infinite; if LDLᵀ is given
  ///         an unsymmetric matrix; if a shift is given to LU, has the wrong length, or contains NaN or
  ///         infinity. The object is then unchanged. After OutOfMemoryError or TimeoutError there are no
  ///         factors, and `report()` says so.
  [[nodiscard]] Status factorize(const matrix_type& A, const shift_type& shift = {});
  /// Computes factors that serve only as a preconditioner, through `apply` and `factorization()`. Does not
  /// examine growth or condition, and does not change the analysis.
  /// @param values [nnz] finite values, which the caller has checked; read in place
  /// @returns as factorize
  /// @throws OutOfMemoryError, TimeoutError; there are then no factors, as after `cancelled`
  [[nodiscard]] Status precondition(const values_type& values);

  /// Computes X ≈ op(A)⁻¹·B for all columns with the factors alone, without refinement. Does not fence,
  /// except that it allocates and fences when the number of columns grows, and on the first transposed solve.
  /// @param B [n × k] or [n] View of any layout that the execution space can read
  /// @param X View like B; may be B itself
  /// @throws CallOrderError if there are no usable factors. InputError if the extents do not match.
  ///         OutOfMemoryError. TimeoutError if the watchdog stopped an earlier apply, whose result is NaN;
  ///         this call has then done nothing, and the factors remain valid. CancelledError if the call was
  ///         stopped: X is undefined, and the factors remain valid.
  template <class BView, class XView>
  void apply(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    apply_strided(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X), op);
  }
  /// Overload for Views of the library's own types.
  void apply_strided(const const_multivector_type& B, const multivector_type& X, Transposition op);
  /// Fences and checks that all `apply` calls have completed.
  /// @throws TimeoutError if the watchdog has stopped an `apply` since the last check
  void check_applied();

  /// Solves op(A)·X = B for all columns, applies iterative refinement, and stores the backward errors in
  /// `report()`.
  ///
  /// Waits for the device once per 16 right-hand sides if the first solution is accurate enough. Otherwise it
  /// waits once more for each step of refinement or GMRES, and once for X after them. Allocates when the
  /// number of right-hand sides, up to 16, differs from that of the previous call, and on the first
  /// transposed solve.
  /// @param B [n × k] or [n] View of any layout that the execution space can read
  /// @param X View like B; may be B itself. It is complete when the call returns.
  /// @returns the status of `report()`. If it was singular before the call, or if the factorization ended in
  ///          `breakdown`, X is left unchanged unless DirectOptions::solve_singular requests a solve. After
  ///          `cancelled` X is undefined; the factors remain, unless new ones were being computed.
  /// @throws CallOrderError if there is no factorization. InputError for incomplete factors, if the extents
  ///         do not match, or if B contains NaN or infinity; nothing has then changed. After OutOfMemoryError
  ///         or TimeoutError X is undefined, and `report()` says so.
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    return solve_strided(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X),
                         op);
  }
  /// Overload for Views of the library's own types.
  Status solve_strided(const const_multivector_type& B, const multivector_type& X, Transposition op);

  /// Computes X = (op of the parts)⁻¹·B, where the parts are any of the factors L, D and Lᵀ (or Lᴴ) of
  /// S·A·S = Pᵀ·L·D·Lᵀ·P. S is the scaling and P the elimination order. L alone gives X = Pᵀ·L⁻¹·P·S·B, D
  /// alone gives Pᵀ·D⁻¹·P·B, and Lᵀ alone gives S·Pᵀ·L⁻ᵀ·P·B; applied one after another, they give A⁻¹·B. The
  /// call does not refine, does not check the values of B, and does not change the report. X is zero wherever
  /// D has a zero pivot. Fences.
  /// @param B, X as in solve
  /// @throws CallOrderError if there are no factors. InputError for LU, or if the extents do not match;
  ///         nothing has then changed. After OutOfMemoryError or TimeoutError X is undefined, and the factors
  ///         remain valid.
  template <class BView, class XView>
  void solve_parts(const BView& B, const XView& X, const LdltParts& parts,
                   Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    solve_part_views(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X),
                     parts, op);
  }

  /// Returns the determinant of the last matrix factorized by LDLᵀ, A + diag(shift), as a sign (or phase) and
  /// the logarithm of its magnitude. Perturbed pivots contribute their perturbed values. Costs O(n) on the
  /// host, and one factorization if only L and U were computed (`LdltOptions::in_place_first`). Fences.
  /// @throws CallOrderError if there are no factors, InputError for LU; OutOfMemoryError or TimeoutError from
  ///         that factorization, after which the factors remain valid
  Determinant<Scalar> determinant();

  /// Replaces the analysis and discards the values and factors. Other objects keep the old analysis. Fences.
  /// @throws CallOrderError if the analysis is null, OutOfMemoryError; the object is then unchanged
  void set_analysis(std::shared_ptr<const analysis_type> analysis);
  /// Analyzes A for this object only, with the options of its current analysis. Use it when the current
  /// matching and scaling no longer suit the values. Fences.
  /// @throws as `analyze`; the object is then unchanged
  void rematch(const matrix_type& A);
  /// Overload for a matrix that has passed check_square_matrix.
  void rematch_checked(const matrix_type& A);

  /// Requests more accurate factors from the next factorization on. LDLᵀ raises the pivot threshold u to
  /// min(u^0.75, 1/2).
  /// @returns false if the accuracy cannot be raised further
  bool increase_quality() {
    const bool raised = m_factorization && m_factorization->increase_quality();
    m_raised += raised ? 1 : 0;
    return raised;
  }

  /// Returns the factors on the host. Fences.
  /// @throws CallOrderError if there is no factorization
  FactorValues<Scalar> factors() const;
  /// Returns the row and column orders, the pattern of L + U and the level widths on the host. They come from
  /// the analysis, or from the order by which a factorization of LDLᵀ has replaced that of the analysis.
  /// Fences.
  FactorStructure structure() const;
  /// Returns the factors, including those of a numerically singular matrix, or null if there are none.
  Factorization<Scalar, ExecutionSpace>* factorization() const {
    return has_factors() ? m_factorization.get() : nullptr;
  }
  /// Returns the factorization object whether or not it holds factors, or null if the pattern is structurally
  /// singular.
  Factorization<Scalar, ExecutionSpace>* engine() const { return m_factorization.get(); }

  const std::shared_ptr<const analysis_type>& analysis() const noexcept { return m_analysis; }
  /// Returns the pattern that matrices must have, and how they are compared with it.
  Impl::AnalyzedPattern<memory_space> analyzed_pattern() const;
  /// Returns the choices, counts and measurements of the last calls, and the quality of the last solution.
  /// After an OutOfMemoryError in factorize or solve the status is `out_of_memory`, after a TimeoutError it
  /// is `not_solved`, after a stop `cancelled`; in all these cases the report has no errors. An InputError
  /// leaves the report unchanged.
  const Report& report() const noexcept { return m_report; }

 private:
  using Memory = memory_space;
  using AnalysisPointer = std::shared_ptr<const analysis_type>;
  using Operator = CsrOperator<Scalar, ExecutionSpace>;
  using Workspace = SolveWorkspace<Scalar, ExecutionSpace>;
  using Guard = Impl::ConditionGuard<Scalar, ExecutionSpace>;

  /// State of the factors, which determines the calls that are allowed next.
  enum class Stage {
    structurally_singular,         ///< the pattern is singular, and there is nothing to factorize
    structurally_singular_values,  ///< explicit zeros make the matrix structurally singular
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
  std::optional<FactorizationOutcome> factorize_in_working_precision(const std::string& reason);
  FactorizationOutcome settle_precision(FactorizationOutcome outcome);
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
  /// @throws TimeoutError if the watchdog has stopped a solve
  void throw_if_stopped();
  SymmetricFactors<Scalar, ExecutionSpace>& symmetric_factors(const char* call) const;

  // Other pivots (Lutra_NumericPivots.cpp).
  bool are_factors_inexact() const;
  bool may_take(Impl::PivotChange change) const;
  bool take_other_pivots();
  void restore_pivots();
  Stage settle_pivots(Stage stage);
  bool solve_with_other_pivots(Transposition op, std::size_t k, RefinementOutcome& outcome);

  // Condition (Lutra_NumericCondition.cpp).
  Stage judge_factors(const FactorizationOutcome& outcome);
  Stage stage_of_factors(FactorizationOutcome outcome, bool has_small_pivots = false);
  bool trusts_pivots() const;
  bool seems_ill_conditioned();
  bool find_singularity();
  bool find_singularity_by_gmres();
  void name_zero_pivots();

  // Solves (Lutra_NumericSolve.cpp).
  void solve_part_views(const const_multivector_type& B, const multivector_type& X, const LdltParts& parts,
                        Transposition op);
  void load_block(const const_multivector_type& B, std::size_t first, std::size_t k);
  void check_solved(const RefinementOutcome& outcome);
  static void throw_if_bad(const std::optional<std::int64_t>& row);
  bool needs_check() const;
  Status solve_unchecked(const const_multivector_type& B, const multivector_type& X, Transposition op);
  Status report_solution(const RefinementOutcome& worst, double seconds);
  bool improve_block(Transposition op, std::size_t k, RefinementOutcome& outcome);
  bool renew_for_block(Transposition op, std::size_t k, RefinementOutcome& outcome);
  bool solve_in_working_precision(Transposition op, RefinementOutcome& outcome);
  void solve_block_again(Transposition op, RefinementOutcome& outcome);
  bool is_solved(const RefinementOutcome& outcome) const;
  void check_condition(Transposition op, std::size_t k, const RefinementOutcome& outcome);
  double bound_of_column(Transposition op, std::size_t c, double backward_error, double at_least);
  void reserve_workspace(std::size_t n_rhs);
  bool gmres_fallback(Transposition op, std::size_t k, RefinementOutcome& outcome);
  void look_for_null_vector(int iterations);
  int improve_column(Transposition op, std::size_t c, BackwardErrors& errors);
  Status status_of_solution() const;
  double tolerance() const;
  RefinementOptions refinement() const { return {m_options.max_refinement_steps, m_options.error_tolerance}; }

  DirectOptions m_options;
  int m_raised = 0;  ///< how often the pivot threshold was raised over that of the analysis
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  AnalysisPointer m_analysis;
  /// Analysis with paired rows, used by LDLᵀ after delayed pivots cascaded, or with other pivots, used by LU
  /// after entries grew; or null.
  AnalysisPointer m_reordered;
  Scales<Scalar, Memory> m_scaling;  ///< scales of the latest analysis, used by factorizations
  Report m_report;
  Stage m_stage = Stage::analyzed;
  /// Null if the pattern is structurally singular.
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> m_factorization;
  Impl::MatrixOperators<Scalar, ExecutionSpace> m_operators;  ///< operators of the matrix last factorized
  MatrixCheckWorkspace<ExecutionSpace> m_check;
  Workspace m_work;                    ///< workspace for up to 16 right-hand sides
  typename Workspace::Rows m_scratch;  ///< [n × k] used when a View passed to `apply` is not stored by rows
  MemoryReservation m_scratch_reservation;
  Workspace m_column;  ///< workspace for one right-hand side, used by escalations; empty until needed
  Fgmres<Scalar, ExecutionSpace> m_gmres;  ///< GMRES workspace; empty until needed
  /// [n] scales for Cholesky, which itself does not scale; computed when first needed.
  Kokkos::View<RealOf<Scalar>*, Memory> m_diagonal_scale;
  MemoryReservation m_scale_reservation;  ///< memory of m_diagonal_scale
  Guard m_guard;
  double m_perturbation = 0;              ///< perturbation used in the last factorization
  bool m_proven = false;                  ///< a solve with the factors needed no refinement
  bool m_renewed = false;                 ///< a new analysis has been tried for the current values
  int m_pivot_changes = 0;                ///< how many kinds of other pivots have been tried for them
  std::optional<double> m_forward_bound;  ///< worst forward error bound of the last solutions
  bool m_unknown_solution = false;        ///< m_forward_bound is 1 or more
  std::size_t m_factor_escalations = 0;   ///< number of escalations in the report that the factorization made
  bool m_factorized_before = false;       ///< whether the next factorization is a refactorization
};

}  // namespace lutra

#endif
