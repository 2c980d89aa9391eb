// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuNumeric.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ConditionGuard.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixOperators.hpp"
#include "Lutra_NullVector.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_ScaleFit.hpp"
#include "Lutra_StoppedSolve.hpp"
#include "Lutra_Timer.hpp"

namespace lutra::Impl {
namespace {

constexpr std::size_t columns_at_once = 16;  // right-hand sides in the workspace

template <class Scalar>
double default_tolerance() {
  return sizeof(RealOf<Scalar>) == 8 ? 1e-12 : 1e-5;
}

/// Columns [first, first + k) of the user's X are the first k of a workspace array, unless a row of B that is
/// not finite has been found.
template <class ExecutionSpace, class XView, class Rows>
void copy_solutions(const ExecutionSpace& exec, const Rows& from, const XView& X, std::size_t first,
                    std::size_t k, const ResidualMaxima<ExecutionSpace>& maxima) {
  const auto slots = maxima.slots();
  const std::size_t bad_row = maxima.bad_row_slot();
  Kokkos::parallel_for(
      "lutra::driver::copy_solutions",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(X.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (slots(bad_row) > 0) return;
        for (std::size_t c = 0; c < k; ++c) X(i, first + c) = from(i, c);
      });
}

}  // namespace

/// What LuNumeric does: its members, and the order of the steps.
template <class Scalar, class ExecutionSpace>
class LuNumericImpl final : public LuNumericSteps<Scalar, ExecutionSpace> {
 public:
  using Base = LuNumericSteps<Scalar, ExecutionSpace>;
  using Base::m_analysis, Base::m_report;
  using typename Base::Analysis;
  using matrix_type = typename Base::Numeric::matrix_type;
  using const_multivector_type = typename Base::Numeric::const_multivector_type;
  using multivector_type = typename Base::Numeric::multivector_type;

  LuNumericImpl(const LuOptions& options, const ExecutionSpace& exec, const MemoryBudget& budget)
      : m_options(options), m_exec(exec), m_budget(budget), m_check(exec, budget) {
    check_options(options);
    Base::m_validate_input = options.validate_input;
  }

  void set_analysis(const Analysis& analysis) override {
    if (!analysis)
      throw CallOrderError(
          "set_analysis: there is no analysis; call analyze of the solver it comes from first");
    std::unique_ptr<Factorization<Scalar, ExecutionSpace>> factorization;
    if (analysis->plan) factorization = analysis->plan->make_factorization(m_exec, m_budget);
    Report report = analysis->report;
    MatrixOperators<Scalar, ExecutionSpace> operators(analysis->F.A, m_budget);
    // Nothing has changed until here, and nothing throws from here on.
    m_factorization = std::move(factorization);
    m_analysis = analysis;
    m_report = std::move(report);
    m_stage = m_factorization ? Stage::analyzed : Stage::structurally_singular;
    m_operators = std::move(operators);
    m_work = m_column = {};
    m_diagonal_scale = {};
    m_gmres = {};
    m_factor_escalations = 0;
    m_factorized_before = false;
    update_memory();
  }

  void rematch(const matrix_type& A) override {
    set_analysis(analyze_lu(m_exec, A, m_options, m_budget, m_analysis.get()));
  }

  bool increase_quality() override { return m_factorization && m_factorization->increase_quality(); }

  FactorValues<Scalar> factors() const override {
    if (m_stage != Stage::factorized && m_stage != Stage::numerically_singular)
      throw CallOrderError("factors: there is no factorization; call analyze and factorize first");
    return dynamic_cast<const WritableFactors<Scalar, ExecutionSpace>&>(*m_factorization).write_out(m_exec);
  }

  FactorStructure structure() const override {
    if (const auto* const own =
            dynamic_cast<const WritableFactors<Scalar, ExecutionSpace>*>(m_factorization.get())) {
      if (auto replaced = own->replaced_structure(m_exec)) return std::move(*replaced);
    }
    return m_analysis->structure(m_exec);
  }

  Factorization<Scalar, ExecutionSpace>* factorization() override {
    return m_stage == Stage::factorized || m_stage == Stage::numerically_singular ? m_factorization.get()
                                                                                  : nullptr;
  }

  void factorize(const matrix_type& A) override {
    if (m_stage == Stage::structurally_singular) {
      check_square_matrix(m_exec, A, m_check);
      if (hash_of_values(m_exec, A.values) == m_analysis->value_hash) return;  // the analysis' report stands
      rematch(A);
      if (m_stage == Stage::structurally_singular) return;
    }
    check_same_pattern(m_exec, A, m_analysis->F.A, m_check, m_options.validate_input);
    start_report();
    m_report.pivots = {};
    m_report.inertia = {};
    m_report.indefinite_column.reset();
    try {
      const StageTimer timer(m_exec, m_options.time_stages);
      m_operators.set_values(m_exec, A.values);
      const Stage stage = factorize_values();
      (m_factorized_before ? m_report.times.refactor : m_report.times.numeric) = timer.seconds();
      if (!m_factorized_before) compare_prediction();
      m_factorized_before = true;
      m_report.status = stage == Stage::factorized ? Status::not_solved : status_of(stage);
      m_report.errors.condition = m_guard.condition();
      m_stage = stage;
    } catch (const std::bad_alloc&) {
      m_report.status = Status::out_of_memory;
      update_memory();
      throw;
    }
    m_factor_escalations = m_report.escalations.size();
    update_memory();
  }

  Status solve(const const_multivector_type& B, const multivector_type& X, Transposition op) override {
    if (m_stage == Stage::analyzed)
      throw CallOrderError("solve: there is no factorization; call analyze and factorize first");
    check_enumerator("op", op, Transposition::adjoint);
    check_extents(static_cast<std::size_t>(m_analysis->n), B, X);
    const std::size_t n_rhs = B.extent(1);
    if (!can_solve() || n_rhs == 0) {
      start_solution(status_of(m_stage));
      return m_report.status;
    }
    try {
      return solve_blocks(B, X, op);
    } catch (const TimeoutError&) {
      start_solution(Status::not_solved);
      throw;
    } catch (const std::bad_alloc&) {
      start_solution(Status::out_of_memory);
      update_memory();
      throw;
    }
  }

 private:
  using Memory = typename ExecutionSpace::memory_space;
  using Operator = CsrOperator<Scalar, ExecutionSpace>;
  using Workspace = SolveWorkspace<Scalar, ExecutionSpace>;

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

  /// From here on nothing is left of former factors and solutions.
  void start_report() {
    m_stage = Stage::analyzed;
    m_factor_escalations = 0;
    m_guard.forget();
    start_solution(Status::not_solved);
    m_report.times.refactor = {};
    m_report.singular_rows.clear();
    m_report.singular_columns.clear();
    m_report.condition_solves = 0;
    m_report.times.condition.reset();
    m_renewed = false;
  }

  /// Factorizes the values, with other scales or another analysis where those of other values do not serve.
  Stage factorize_values() {
    FactorizationOutcome outcome = factorize_within_growth();
    if (Guard::is_suspicious(outcome) || !outcome.is_finite()) {
      if (may_renew() &&
          !scales_fit(m_exec, m_analysis->F.A, m_operators.values(), m_analysis->row_scale,
                      m_analysis->col_scale, m_budget) &&
          renew_analysis("values have outgrown the scales of the analysis"))
        outcome = factorize_within_growth();
    }
    const Stage stage = judge_factors(outcome);
    if (stage == Stage::factorized || !may_renew()) return stage;
    if (!renew_analysis(std::string(to_string(status_of(stage))) + " on the analysis of other values"))
      return m_report.status == Status::structurally_singular ? Stage::structurally_singular_values : stage;
    return judge_factors(factorize_within_growth());
  }

  /// The stage that factors lead to. Where pivots were perturbed and the matrix turns out to be
  /// ill-conditioned and not singular, small pivots may be its own: they stay as they are if entries do not
  /// grow by that.
  Stage judge_factors(const FactorizationOutcome& outcome) {
    const Stage stage = stage_of_factors(outcome);
    if (stage != Stage::factorized || outcome.perturbed == 0 || m_options.perturbation > 0) return stage;
    if (!(m_guard.condition().value_or(0) >= Guard::near_singular)) return stage;
    const FactorizationOutcome kept = factorize_with(Guard::epsilon * Guard::epsilon);
    if (!kept.is_finite() || kept.growth() > Guard::near_singular)
      return stage_of_factors(factorize_within_growth());
    if (kept.perturbed > 0) {
      // A pivot of ε² whose column has not grown: both are zero, and A is singular within ε times growth.
      constexpr double small_growth = 64;
      if (kept.growth() > small_growth) return stage_of_factors(factorize_within_growth());
      name_zero_pivots();
      return Stage::numerically_singular;
    }
    m_report.escalations.push_back("the matrix is ill-conditioned: small pivots are not perturbed");
    m_guard.forget();
    return stage_of_factors(kept, true);
  }

  /// Whether an analysis of the values at hand might differ from the one there is.
  bool may_renew() {
    if (m_renewed || m_analysis->bordered || m_analysis->report.choice.matching == "none") return false;
    return hash_of_values(m_exec, m_operators.values()) != m_analysis->value_hash;
  }

  /// Analyzes the values at hand. False where there is no memory for it, or the matrix is structurally
  /// singular by these values, which the report then says: the analysis is what it was.
  bool renew_analysis(const std::string& reason) {
    m_renewed = true;
    const auto& F = m_analysis->F.A;
    const auto values = m_operators.values();
    Analysis renewed;
    std::unique_ptr<Factorization<Scalar, ExecutionSpace>> factorization;
    try {
      renewed = m_analysis->renewed(m_exec, {F.n_rows, F.n_cols, F.row_map, F.entries, values}, m_budget);
      if (renewed->plan && renewed->plan != m_analysis->plan)
        factorization = renewed->plan->make_factorization(m_exec, m_budget);
    } catch (const OutOfMemoryError& error) {
      m_report.escalations.push_back(reason + ": no memory for a new one: " + error.what());
      return false;
    }
    m_report.escalations.push_back(reason + ": analyzed anew");
    if (!renewed->plan) {
      m_report.status = Status::structurally_singular;
      m_report.singular_rows = renewed->report.singular_rows;
      m_report.singular_columns = renewed->report.singular_columns;
      return false;
    }
    adopt(renewed, std::move(factorization));
    return true;
  }

  /// Takes over an analysis of the values at hand, and a factorization if it has another plan.
  void adopt(const Analysis& renewed, std::unique_ptr<Factorization<Scalar, ExecutionSpace>> factorization) {
    if (factorization) {
      const auto values = m_operators.values();
      MatrixOperators<Scalar, ExecutionSpace> operators(renewed->F.A, m_budget);
      operators.set_values(m_exec, values);
      m_factorization = std::move(factorization);
      m_operators = std::move(operators);
    }
    m_analysis = renewed;
    m_report.choice = renewed->report.choice;
    m_report.factors = renewed->report.factors;
    m_report.structural_rank = renewed->report.structural_rank;
    StageTimes& times = m_report.times;
    const StageTimes& taken = renewed->report.times;
    times.matching = taken.matching;
    times.ordering = taken.ordering;
    times.symbolic = taken.symbolic;
    times.levelization = taken.levelization;
  }

  /// Factorizes once; counts go to the report.
  FactorizationOutcome factorize_with(double perturbation) {
    const FactorizationOutcome outcome = m_factorization->factorize(
        m_exec, {m_operators.values(), m_analysis->row_scale, m_analysis->col_scale}, perturbation);
    m_perturbation = perturbation;
    report_pivots(outcome);
    return outcome;
  }

  void report_pivots(const FactorizationOutcome& outcome) {
    PivotCounts& pivots = m_report.pivots;
    pivots.perturbed = outcome.perturbed;
    pivots.interchanged = outcome.interchanged;
    pivots.growth = outcome.growth();
    if (outcome.symmetric) outcome.symmetric->write(m_operators.values().extent(0), m_report);
  }

  /// Factorizes, and does it again with larger perturbations where tiny pivots let entries grow so much that
  /// the factors would not even serve as a preconditioner. Growth falls with the square of the perturbation.
  FactorizationOutcome factorize_within_growth() {
    constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>);
    constexpr double max_growth = 1e-3 / epsilon;
    if (m_options.perturbation > 0) return factorize_with(m_options.perturbation);
    auto outcome = factorize_with(default_perturbation<Scalar>());
    if (outcome.perturbed == 0 || (outcome.is_finite() && outcome.growth() <= max_growth)) return outcome;
    const double larger = std::pow(epsilon, 5.0 / 16.0);
    m_report.escalations.push_back(Impl::formatted("element growth: pivots perturbed below %.2g", larger));
    return factorize_with(larger);
  }

  /// What the choice of an ordering predicted, beside what it came to.
  void compare_prediction() {
    const StageTimes& times = m_report.times;
    PredictedTimes& predicted = m_report.predicted;
    if (!predicted.factorization || !times.symbolic || !times.levelization) return;
    predicted.over_measured = (*predicted.analysis + *predicted.factorization) /
                              (*times.symbolic + *times.levelization + *times.numeric);
  }

  /// Looks at factors some of whose pivots are zero, perturbed or small.
  /// @param has_small_pivots whether pivots may be small and neither perturbed nor zero
  Stage stage_of_factors(FactorizationOutcome outcome, bool has_small_pivots = false) {
    if (m_report.indefinite_column) return Stage::not_definite;
    if (!outcome.is_finite()) return Stage::not_finite;
    bool is_singular = m_report.pivots.zero.value_or(0) > 0;
    if (is_singular) name_zero_pivots();
    has_small_pivots = has_small_pivots || (m_options.perturbation > 0 &&
                                            m_options.perturbation < default_perturbation<Scalar>());
    if (!Guard::is_suspicious(outcome) && !has_small_pivots && !m_options.estimate_condition &&
        (m_factorized_before || !seems_ill_conditioned()))
      return is_singular ? Stage::numerically_singular : Stage::factorized;
    while (outcome.is_finite() && find_singularity()) {
      // Where LDLᵀ has a zero pivot for each null vector, it finds no more of them, and the inertia is right.
      is_singular = true;
      m_report.inertia = {};
      const auto again = m_factorization->factorize_with_more_zeros(m_exec);
      if (!again) break;
      outcome = *again;
      report_pivots(outcome);
      name_zero_pivots();
    }
    return is_singular ? Stage::numerically_singular : Stage::factorized;
  }

  /// Whether one solve with the first factors finds a large condition number. A singular matrix may have no
  /// small pivot, where its null vector is graded, and no large solution, where the right-hand side has one.
  bool seems_ill_conditioned() {
    try {
      reserve_column();
      const double condition = m_guard.probe(m_exec, operator_for(Transposition::none), *m_factorization,
                                             scales(), m_column, m_report);
      m_column = {};  // which most matrices do not need again
      // A solve that was given up says nothing; those to come will be, too.
      if (!std::isfinite(condition) && m_factorization->consume_timeout(m_exec) >= 0) return false;
      return !(condition <= Guard::max_probed);
    } catch (const OutOfMemoryError&) {
      m_column = {};
      return false;
    }
  }

  /// Estimates the condition with the factors there are. @returns whether the matrix is singular to working
  /// precision, with zero pivots left out
  bool find_singularity() {
    reserve_column();
    const Operator& A = operator_for(Transposition::none);
    bool found = false;
    try {
      const Operator& A_adjoint = operator_for(Transposition::adjoint);
      found =
          m_guard.look(m_exec, A, A_adjoint, *m_factorization, scales(), m_column, m_perturbation, m_report);
    } catch (const OutOfMemoryError&) {  // no room for solves with the adjoint
      found = find_null_vector(m_exec, A, *m_factorization, scales(), m_column, m_report);
    }
    throw_if_stopped();
    return found || (m_guard.is_doubtful() && find_singularity_by_gmres());
  }

  bool find_singularity_by_gmres() {
    reserve_gmres();
    const bool found = find_null_vector_by_gmres(m_exec, operator_for(Transposition::none), *m_factorization,
                                                 scales(), m_column, m_gmres, m_report);
    throw_if_stopped();
    return found;
  }

  /// Rows and columns of zero pivots go to the report.
  void name_zero_pivots() {
    m_report.singular_rows.clear();
    m_report.singular_columns.clear();
    for (const Pivot& pivot : m_factorization->pivots(m_exec)) {
      if (!pivot.perturbed) continue;
      m_report.singular_rows.push_back(pivot.row);
      m_report.singular_columns.push_back(pivot.column);
    }
  }

  static Status status_of(Stage stage) {
    switch (stage) {
      case Stage::structurally_singular:
      case Stage::structurally_singular_values:
        return Status::structurally_singular;
      case Stage::numerically_singular:
        return Status::numerically_singular;
      case Stage::not_finite:
        return Status::breakdown;
      case Stage::not_definite:
        return Status::not_positive_definite;
      default:
        return Status::success;
    }
  }

  /// op(A), made when first asked for.
  Operator& operator_for(Transposition op) { return m_operators.get(m_exec, op); }

  bool can_solve() const {
    return m_stage == Stage::factorized ||
           (m_stage == Stage::numerically_singular && m_options.solve_singular);
  }

  /// From here on nothing is left of a former solution; escalations of the factorization stand.
  void start_solution(Status status) {
    m_report.status = status;
    m_report.errors = {};
    m_report.errors.condition = m_guard.condition();
    m_report.times.solve = m_report.times.refine = {};
    m_report.refinement_steps = 0;
    m_report.escalations.resize(m_factor_escalations);
    m_forward_bound.reset();
    m_unknown_solution = false;
  }

  /// Sixteen right-hand sides after another, or fewer where there are not so many.
  Status solve_blocks(const const_multivector_type& B, const multivector_type& X, Transposition op) {
    const StageTimer timer(m_exec, m_options.time_stages);
    reserve_workspace(B.extent(1));
    double componentwise = 0, normwise = 0, refine_seconds = 0;
    bool changed = false;  // X, after the wait for the first solution
    for (std::size_t first = 0; first < B.extent(1); first += columns_at_once) {
      const std::size_t k = std::min(columns_at_once, B.extent(1) - first);
      const auto copy_to_user = [&] { copy_solutions(m_exec, m_work.X, X, first, k, m_work.maxima); };
      auto outcome = solve_block(B, first, k, op, copy_to_user);
      if (first == 0) start_solution(Status::not_solved);  // B is known to be finite
      if (improve_block(op, k, outcome)) {
        copy_to_user();
        changed = true;
      }
      componentwise = std::max(componentwise, std::ranges::max(outcome.errors.componentwise));
      normwise = std::max(normwise, std::ranges::max(outcome.errors.normwise));
      refine_seconds += outcome.refine_seconds;
      m_report.refinement_steps = std::max<std::int64_t>(m_report.refinement_steps, outcome.steps);
    }
    if (changed) m_exec.fence("lutra::driver: X is complete");
    m_report.errors = {normwise, componentwise, std::nullopt, m_guard.condition(), m_forward_bound};
    m_report.times.refine = refine_seconds;
    m_report.times.solve = timer.seconds() - refine_seconds;
    update_memory();
    return m_report.status = status_of_solution();
  }

  /// GMRES where refinement has stalled, a look at the condition where the solution is suspicious, and all of
  /// it again with a new analysis where the one there is, of other values, has not led to a solution.
  /// @returns whether solutions have changed after their first wait
  bool improve_block(Transposition op, std::size_t k, RefinementOutcome& outcome) {
    bool changed = outcome.steps > 0;
    changed = gmres_fallback(op, k, outcome) || changed;
    check_condition(op, k, outcome);
    if (is_solved(outcome) || !can_solve() || !may_renew()) return changed;
    const Stage stage = m_stage;
    if (!renew_analysis("no solution with the analysis of other values")) {
      if (m_report.status == Status::structurally_singular) m_stage = Stage::structurally_singular_values;
      return changed;
    }
    m_guard.forget();
    m_stage = judge_factors(factorize_within_growth());
    m_factor_escalations = m_report.escalations.size();
    if (!m_factorization || (m_stage != Stage::factorized && m_stage != Stage::numerically_singular)) {
      m_stage = stage;
      return changed;
    }
    const double seconds = outcome.refine_seconds;
    outcome = refined(op, {});
    outcome.refine_seconds += seconds;
    gmres_fallback(op, k, outcome);
    check_condition(op, k, outcome);
    return true;
  }

  bool is_solved(const RefinementOutcome& outcome) const {
    return m_stage == Stage::factorized && !m_unknown_solution &&
           std::ranges::max(outcome.errors.componentwise) <= tolerance();
  }

  /// Estimates the condition once for a factorization where solutions are large beside B, and bounds their
  /// relative errors where it has been estimated.
  void check_condition(Transposition op, std::size_t k, const RefinementOutcome& outcome) {
    const double large = 1 / std::sqrt(static_cast<double>(epsilon_of<Scalar>));
    const auto& errors = outcome.errors;
    const auto worst = static_cast<std::size_t>(std::ranges::max_element(errors.componentwise) -
                                                errors.componentwise.begin());
    const double error = errors.componentwise[worst];
    if (!std::isfinite(error) || m_stage != Stage::factorized) return;
    try {
      if (!m_guard.condition() && std::ranges::max(errors.amplification) > large && find_singularity()) {
        m_stage = Stage::numerically_singular;
        m_report.inertia = {};
        return;
      }
      if (!m_guard.condition()) return;
      double bound = *m_guard.bound(error);
      if (bound >= 1) {
        const double sharper = bound_of_column(op, std::min(worst, k - 1), error);
        // Factors whose pivots were perturbed know nothing of a condition that is larger than theirs.
        if (m_report.pivots.perturbed.value_or(0) == 0) bound = sharper;
      } else if (op != Transposition::none) {
        return;  // the condition of op(A) is another one
      }
      m_forward_bound = std::max(m_forward_bound.value_or(0), bound);
      m_unknown_solution = m_unknown_solution || *m_forward_bound >= 1;
    } catch (const OutOfMemoryError& error_of_memory) {
      m_report.escalations.push_back(std::string("no memory to estimate the condition: ") +
                                     error_of_memory.what());
    }
  }

  /// The relative error of the solution in column c of the workspace, by the condition of that solution.
  double bound_of_column(Transposition op, std::size_t c, double backward_error) {
    reserve_column();
    copy_column(m_exec, m_work.B, c, m_column.B, 0);
    copy_column(m_exec, m_work.X, c, m_column.X, 0);
    const double bound = m_guard.bound_of_solution(m_exec, operator_for(op), *m_factorization, op, scales(),
                                                   backward_error, m_column, m_report);
    throw_if_stopped();
    return bound;
  }

  /// A refined solve for columns first … first + k of B, in `m_work`. Before anything of X is written, all of
  /// B is checked.
  RefinementOutcome solve_block(const const_multivector_type& B, std::size_t first, std::size_t k,
                                Transposition op, const std::function<void()>& copy_to_user) {
    operator_for(op);
    const auto& maxima = m_work.maxima;
    maxima.clear(m_exec);
    copy_and_check(m_exec, B, first, k, first == 0 ? B.extent(1) : first + k, m_work.B, maxima.slots(),
                   maxima.bad_row_slot());
    return refined(op, copy_to_user);
  }

  /// A refined solve of what is in the workspace.
  RefinementOutcome refined(Transposition op, const std::function<void()>& copy_to_user) {
    if (!copy_to_user) m_work.maxima.clear(m_exec);
    auto outcome = solve_refined(m_exec, operator_for(op), *m_factorization, op,
                                 {m_options.max_refinement_steps, m_options.tolerance}, m_work, copy_to_user);
    if (outcome.bad_row)
      throw InputError("B: row " + std::to_string(*outcome.bad_row) + " holds NaN or infinity");
    // A solve that was given up leaves NaN, so that a finite first solution needs no look at the flag.
    const bool finite = std::isfinite(std::ranges::max(outcome.errors.componentwise));
    if (outcome.steps > 0 || !finite) throw_if_stopped();
    return outcome;
  }

  /// Room for one right-hand side of escalations.
  void reserve_column() {
    if (m_column.B.extent(0) > 0) return;
    m_column = Workspace(m_exec, static_cast<std::size_t>(m_analysis->n), 1, m_budget);
  }

  void reserve_workspace(std::size_t n_rhs) {
    const std::size_t columns = std::min(n_rhs, columns_at_once);
    if (m_work.B.extent(1) == columns) return;
    m_work = {};
    m_work = Workspace(m_exec, static_cast<std::size_t>(m_analysis->n), columns, m_budget);
  }

  /// GMRES for each column that refinement has left above the tolerance, and a search for a null vector; true
  /// where it has tried. Where memory does not suffice, columns stay as they are then.
  bool gmres_fallback(Transposition op, std::size_t k, RefinementOutcome& outcome) {
    const auto stalled = [&](double error) { return !(error <= tolerance()); };
    const auto errors = std::span(outcome.errors.componentwise).first(k);
    if (m_options.max_refinement_steps == 0 || m_stage == Stage::numerically_singular ||
        std::ranges::none_of(errors, stalled))
      return false;
    Kokkos::Timer timer;
    int iterations = 0;
    try {
      reserve_gmres();
      for (std::size_t c = 0; c < k; ++c) {
        if (stalled(errors[c])) iterations += improve_column(op, c, outcome.errors);
      }
      throw_if_stopped();
      if (iterations > 0) look_for_null_vector(iterations);
    } catch (const OutOfMemoryError& error) {
      m_report.escalations.push_back(std::string("refinement stalled, no memory for GMRES") +
                                     (iterations > 0 ? " on a null vector: " : ": ") + error.what());
    }
    outcome.refine_seconds += timer.seconds();
    return true;
  }

  /// After GMRES for columns, one more for a null vector.
  void look_for_null_vector(int iterations) {
    m_report.escalations.push_back("refinement stalled: " + std::to_string(iterations) +
                                   " GMRES iterations with the factors as preconditioner");
    if (find_null_vector_by_gmres(m_exec, operator_for(Transposition::none), *m_factorization, scales(),
                                  m_column, m_gmres, m_report))
      m_stage = Stage::numerically_singular;
    throw_if_stopped();
  }

  /// Room for GMRES, and for the search for a null vector, which multiplies by A.
  void reserve_gmres() {
    reserve_column();
    operator_for(Transposition::none);
    if (m_gmres.restart() == 0)
      m_gmres = decltype(m_gmres)(m_exec, static_cast<std::size_t>(m_analysis->n), gmres_refinement_restart,
                                  m_budget);
  }

  /// GMRES for one column. @returns iterations
  int improve_column(Transposition op, std::size_t c, BackwardErrors& errors) {
    copy_column(m_exec, m_work.B, c, m_column.B, 0);
    copy_column(m_exec, m_work.X, c, m_column.X, 0);
    const BackwardErrors before{{errors.componentwise[c]}, {errors.normwise[c]}, {errors.amplification[c]}};
    const auto& row_scale = op == Transposition::none ? m_analysis->row_scale : m_analysis->col_scale;
    const auto improved = refine_by_gmres(m_exec, operator_for(op), *m_factorization, op, row_scale,
                                          0.1 * tolerance(), before, m_column, m_gmres);
    copy_column(m_exec, m_column.X, 0, m_work.X, c);
    errors.componentwise[c] = improved.errors.componentwise[0];
    errors.normwise[c] = improved.errors.normwise[0];
    errors.amplification[c] = improved.errors.amplification[0];
    return improved.iterations;
  }

  /// @throws TimeoutError where the watchdog has given up a solve
  void throw_if_stopped() { Impl::throw_if_stopped(m_exec, "solve", *m_factorization); }

  double tolerance() const {
    return m_options.tolerance > 0 ? m_options.tolerance : default_tolerance<Scalar>();
  }

  Status status_of_solution() const {
    const double error = *m_report.errors.backward_componentwise;
    if (!std::isfinite(error)) return Status::breakdown;
    // Found on the way, or known before: X may solve the system, and so do many others.
    if (m_stage != Stage::factorized) return status_of(m_stage);
    if (m_unknown_solution && error <= tolerance()) return Status::numerically_singular;
    return error <= tolerance() ? Status::success : Status::error_above_tolerance;
  }

  void update_memory() {
    m_report.memory.device_peak_bytes = m_budget.peak_bytes();
    if (m_budget.limit_bytes() > 0) m_report.memory.limit_bytes = m_budget.limit_bytes();
  }

  /// Of the factors; of Cholesky, which scales nothing, by the diagonal.
  Scales<Scalar, Memory> scales() {
    if (m_analysis->report.choice.method == "cholesky") {
      if (m_diagonal_scale.extent(0) == 0) {
        m_scale_reservation = MemoryReservation(m_budget);
        m_diagonal_scale = m_scale_reservation.template allocate<decltype(m_diagonal_scale)>(
            m_exec, "lutra::driver::diagonal_scale", static_cast<std::size_t>(m_analysis->n));
      }
      scale_by_diagonal(m_exec, m_analysis->F.A, m_operators.values(), m_diagonal_scale);
      return {m_diagonal_scale, m_diagonal_scale};
    }
    const auto own = m_factorization->own_scale();
    if (own.extent(0) > 0) return {own, own};
    return {m_analysis->row_scale, m_analysis->col_scale};
  }

  using Guard = ConditionGuard<Scalar, ExecutionSpace>;

  LuOptions m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  Stage m_stage = Stage::analyzed;
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> m_factorization;  ///< null: structurally singular
  MatrixOperators<Scalar, ExecutionSpace> m_operators;                     ///< of the matrix last factorized
  MatrixCheckWorkspace<ExecutionSpace> m_check;
  Workspace m_work;                        ///< of up to 16 right-hand sides
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

template <class Scalar, class ExecutionSpace>
auto LuNumericSteps<Scalar, ExecutionSpace>::make(const Analysis& analysis, const LuOptions& options,
                                                  const ExecutionSpace& exec, const MemoryBudget& budget)
    -> std::unique_ptr<LuNumericSteps> {
  auto steps = std::make_unique<LuNumericImpl<Scalar, ExecutionSpace>>(options, exec, budget);
  steps->set_analysis(analysis);
  return steps;
}

#define LUTRA_LU_NUMERIC(Scalar, Space) template struct LuNumericSteps<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LU_NUMERIC)

}  // namespace lutra::Impl
