// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltEngine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_FreeBytes.hpp"
#include "Lutra_InPlaceFactors.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_PivotCascade.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_SymmetricMatching.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra::Impl {
namespace {

constexpr int max_repetitions = 3;     ///< attempts with larger fronts before the order is changed
constexpr double max_growth = 1.1;     ///< limit of the growth of panels in these attempts
constexpr double max_entries = 1.5;    ///< limit of entries of L and D over the prediction
constexpr int max_tolerances = 3;      ///< number of times the tolerance for zero pivots is raised
constexpr double tolerance_step = 16;  ///< factor by which the tolerance is raised each time
constexpr double min_margin = 4;       ///< least ratio of a raised tolerance to the pivot that it makes zero

/// Pivots above this value, relative to the largest scaled entry, are never treated as zero: √ε.
template <class Scalar>
constexpr double max_zero_tolerance = sizeof(RealOf<Scalar>) == 8 ? 0x1p-26 : 0x1p-11;

/// Returns the number of zero eigenvalues that follow from the positions of the nonzero entries, whatever
/// their values. Fences.
template <class ExecutionSpace, class Values>
std::int64_t structural_nullity(const ExecutionSpace& exec,
                                const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                                const Values& values, const RunControl& run) {
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> pattern{A.n_rows, A.n_cols, download(exec, A.row_map),
                                                               download(exec, A.entries)};
  std::vector<double> cost;
  for (const auto& value : to_host(exec, values))
    cost.push_back(value == typename Values::non_const_value_type(0) ? HUGE_VAL : 0.0);
  return A.n_rows - maximum_transversal(pattern, cost, {}, run).rank;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
LdltFactorization<Scalar, ExecutionSpace>::LdltFactorization(const ExecutionSpace& exec, const Plan& plan,
                                                             const MemoryBudget& budget)
    : m_plan(plan),
      m_budget(budget),
      m_rule(rule_of(plan.options)),
      m_attempt(plan.in_place ? plan.first : LdltAttempt::delays),
      m_bordered(budget) {
  if (plan.pivoted) need_plan(exec);
  if (plan.border) m_fronts.complement = plan.border->complement;
}

/// Returns the plan of fronts with delayed pivots, which is made when it is first needed.
template <class Scalar, class ExecutionSpace>
auto LdltFactorization<Scalar, ExecutionSpace>::need_plan(const ExecutionSpace& exec)
    -> const LdltPlan<Memory>& {
  if (!m_solver) {
    const auto pivoted = m_plan.pivoted ? m_plan.pivoted : m_plan.plan_pivoted(exec, m_budget);
    m_solver.emplace(pivoted->solver.with_own_vectors(exec, m_budget));
    m_pivoted = pivoted;
  }
  return m_pivoted->plan;
}

template <class Scalar, class ExecutionSpace>
FactorizationOutcome LdltFactorization<Scalar, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, double perturbation) {
  m_A = m_plan.border ? m_bordered.values(exec, *m_plan.border, A) : A;
  m_events.clear();
  m_rule.perturbation = perturbation;
  m_state = State::fronts;
  const LdltAttempt before = m_attempt;
  while (m_attempt != LdltAttempt::delays) {
    try {
      need_in_place(exec);
      const double smallest = smallest_in_place<Scalar>(m_plan.options, m_rule);
      if (auto kept = keep_in_place(exec, m_in_place->factorize(exec, m_A, smallest))) return *kept;
    } catch (const OutOfMemoryError&) {  // L and U need more memory than L and D; the next call tries again
      m_in_place.reset();
      break;
    }
    m_in_place.reset();
    m_attempt = next_attempt(m_attempt, m_rule);
  }
  if (m_plan.in_place && !m_plan.in_place->storage_reason.empty())
    m_events.push_back("pivots in place fail: fronts with delayed pivots are resident, not streamed");
  m_rule.zero_tolerance = zero_tolerance<Scalar>(m_plan.options, m_plan.min_zero > 0);
  m_doubtful = false;
  try {
    LdltOutcome outcome = factorize_with_room(exec, m_A, m_rule, may_reorder());
    if (outcome.zero < m_plan.min_zero && outcome.succeeded()) outcome = raise_tolerance(exec, m_A, outcome);
    const std::string cascaded = cascade(outcome);
    return cascaded.empty() ? outcome_of(exec, outcome) : give_up(cascaded);
  } catch (const OutOfMemoryError&) {
    return_to(before);
    throw;
  }
}

/// Later values may do without the delayed pivots that did not fit.
template <class Scalar, class ExecutionSpace>
void LdltFactorization<Scalar, ExecutionSpace>::return_to(LdltAttempt attempt) {
  m_attempt = attempt;
  if (m_plan.pivoted) return;
  m_fronts = {};
  m_solver.reset();
  m_pivoted.reset();
}

/// Creates the factorization L·U for this attempt, unless it exists.
template <class Scalar, class ExecutionSpace>
void LdltFactorization<Scalar, ExecutionSpace>::need_in_place(const ExecutionSpace& exec) {
  const auto [threshold, kind] = pivoting_of(m_attempt, m_rule);
  if (m_in_place && threshold == m_interchange_threshold) return;
  m_interchange_threshold = threshold;
  m_in_place.reset();
  m_in_place.emplace(exec, static_cast<const typename InPlace::Plan&>(*m_plan.in_place), m_budget,
                     typename InPlace::Pivoted{threshold, kind});
}

/// Returns the outcome of L·U, or an empty optional if its pivots are rejected.
template <class Scalar, class ExecutionSpace>
std::optional<FactorizationOutcome> LdltFactorization<Scalar, ExecutionSpace>::keep_in_place(
    const ExecutionSpace& exec, FactorizationOutcome outcome) {
  const DiagonalPivots pivots = m_in_place->diagonal_pivots(exec);
  if (!passes(outcome, pivots, m_rule, m_plan.F.A.n_rows)) return {};
  m_state = State::in_place;
  take_pivots<Scalar>(pivots, m_attempt, m_rule, static_cast<std::int64_t>(m_plan.predicted_entries),
                      outcome);
  m_relative_smallest = outcome.largest_entry > 0 ? pivots.smallest_d / outcome.largest_entry : 0.0;
  return outcome;
}

/// Computes L, D and Lᵀ if only L and U exist: with the same pivots if these are the diagonal ones. Fences in
/// that case.
template <class Scalar, class ExecutionSpace>
void LdltFactorization<Scalar, ExecutionSpace>::need_fronts(const ExecutionSpace& exec) {
  if (m_state != State::in_place) return;
  LdltPivotRule rule = m_rule;
  rule.zero_tolerance = zero_tolerance<Scalar>(m_plan.options, m_plan.min_zero > 0);
  if (m_attempt == LdltAttempt::diagonal) rule.pivoting = Pivoting::none;
  factorize_with_room(exec, m_A, rule, false);
  m_state = State::both;
}

/// Returns whether the elimination order may be replaced.
template <class Scalar, class ExecutionSpace>
bool LdltFactorization<Scalar, ExecutionSpace>::may_reorder() const {
  return !m_plan.border && !m_plan.options.pair_ordering && m_plan.options.ordering != Ordering::user;
}

/// Describes how delayed pivots have cascaded. The result is empty if they have not.
template <class Scalar, class ExecutionSpace>
std::string LdltFactorization<Scalar, ExecutionSpace>::cascade(const LdltOutcome& outcome) const {
  if (outcome.overflowed()) return "fronts outgrow their prediction";
  if (!may_reorder() || !outcome.succeeded()) return {};
  const std::int64_t n = m_plan.F.A.n_rows;
  if (is_cascade(outcome.delayed, n))
    return std::to_string(outcome.delayed) + " of " + std::to_string(n) + " columns";
  const double predicted = static_cast<double>(m_plan.predicted_entries);
  if (outcome.delayed > min_delayed && static_cast<double>(outcome.entries) > max_entries * predicted)
    return Impl::formatted("factors have %.3g times the entries predicted",
                           static_cast<double>(outcome.entries) / predicted);
  return {};
}

/// Factorizes again with larger tolerances while there are fewer zero pivots than the structural rank
/// implies.
template <class Scalar, class ExecutionSpace>
LdltOutcome LdltFactorization<Scalar, ExecutionSpace>::raise_tolerance(const ExecutionSpace& exec,
                                                                       const ScaledValues<Scalar, Memory>& A,
                                                                       LdltOutcome outcome) {
  const std::int64_t min_zero =
      structural_nullity(exec, m_plan.F.A, A.values, m_budget.run());  // computed for these values
  for (int k = 0; k < max_tolerances && outcome.succeeded() && outcome.zero < min_zero; ++k) {
    m_rule.zero_tolerance *= tolerance_step;
    escalate("fewer zero pivots than the structural rank says: factorized again with a larger tolerance");
    outcome = factorize_with_room(exec, A, m_rule, may_reorder());
    m_doubtful = outcome.zero != min_zero;
  }
  return outcome;
}

/// Returns whether the fronts that were completed before others overflowed delayed so many of their columns
/// that larger fronts would only postpone a change of the order.
template <class Scalar, class ExecutionSpace>
bool LdltFactorization<Scalar, ExecutionSpace>::is_cascading(const ExecutionSpace& exec) const {
  std::int64_t eliminated = 0, delayed = 0;
  for (const LdltRecord& record : to_host(exec, m_fronts.records)) {
    if (record.stopped != 0) continue;
    eliminated += record.eliminated;
    delayed += record.delayed_out;
  }
  return is_cascade(delayed, eliminated + delayed);
}

/// Factorizes and enlarges the fronts while delayed pivots do not fit, until they fit or the order has to be
/// changed.
/// @param may_cascade whether the caller can change the order; if not, fronts get as much memory as they need
template <class Scalar, class ExecutionSpace>
LdltOutcome LdltFactorization<Scalar, ExecutionSpace>::factorize_with_room(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, const LdltPivotRule& rule,
    bool may_cascade) {
  const LdltPlan<Memory>& plan = need_plan(exec);
  allocate_ldlt(exec, plan, m_budget, m_fronts);
  const double most = max_growth * static_cast<double>(plan.room.panels);
  for (int repetition = 0;; ++repetition) {
    const Kokkos::Timer timer;
    factorize_ldlt(exec, plan, {A}, rule, m_fronts);
    const LdltOutcome outcome = read_outcome(exec, m_fronts);
    if (outcome.stopped_front >= 0)
      throw TimeoutError("factorize: front " + std::to_string(outcome.stopped_front) +
                         " waited too long for others, and the factorization was given up");
    if (!outcome.overflowed() || (may_cascade && is_cascading(exec))) return outcome;
    escalate("more delayed pivots than room at front " + std::to_string(outcome.overflow_front) +
             Impl::formatted(": factorized again with more, after %.3g s", timer.seconds()));
    if (may_cascade && repetition == max_repetitions) return outcome;
    const auto panels = static_cast<double>(enlarge_room(exec, plan, m_budget, m_fronts));
    if (may_cascade && panels > most) return outcome;
  }
}

template <class Scalar, class ExecutionSpace>
std::optional<FactorizationOutcome> LdltFactorization<Scalar, ExecutionSpace>::factorize_with_more_zeros(
    const ExecutionSpace& exec) {
  if (m_rule.pivoting != Pivoting::threshold) return {};
  m_rule.zero_tolerance = std::max(tolerance_step * m_rule.zero_tolerance, min_margin * m_relative_smallest);
  if (!(m_rule.zero_tolerance <= max_zero_tolerance<Scalar>)) return {};
  m_events.clear();
  escalate("a singular matrix whose pivots are not zero: factorized again with a larger tolerance");
  m_state = State::fronts;
  return outcome_of(exec, factorize_with_room(exec, m_A, m_rule, false));
}

template <class Scalar, class ExecutionSpace>
FactorizationOutcome LdltFactorization<Scalar, ExecutionSpace>::outcome_of(const ExecutionSpace& exec,
                                                                           const LdltOutcome& outcome) {
  m_relative_smallest = outcome.largest_entry > 0 ? outcome.smallest_pivot / outcome.largest_entry : 0.0;
  FactorizationOutcome result{outcome.perturbed, std::nullopt, outcome.largest_entry, outcome.largest_factor,
                              outcome.smallest_pivot};
  if (outcome.not_finite != LdltOutcome::none)
    result.largest_factor = std::numeric_limits<double>::infinity();
  SymmetricOutcome& symmetric = result.symmetric.emplace();
  if (has_inertia<Scalar>(m_rule) && outcome.perturbed == 0 && outcome.succeeded() && !m_doubtful)
    symmetric.inertia = {outcome.positive, outcome.negative, outcome.zero};
  symmetric.delayed = outcome.delayed;
  symmetric.two_by_two = outcome.two_by_two;
  symmetric.zero = outcome.zero;
  symmetric.entries = outcome.entries;
  if (m_rule.pivoting == Pivoting::threshold) symmetric.attempt = name_of(LdltAttempt::delays);
  symmetric.escalations = m_events;
  if (outcome.not_definite != LdltOutcome::none)
    symmetric.indefinite_column =
        to_host<std::int64_t>(exec, m_plan.F.col_order)[static_cast<std::size_t>(outcome.not_definite)];
  return result;
}

/// Ends a factorization whose delayed pivots cascade. Frees the fronts, since another analysis may need the
/// memory.
template <class Scalar, class ExecutionSpace>
FactorizationOutcome LdltFactorization<Scalar, ExecutionSpace>::give_up(const std::string& cascade) {
  m_fronts = {};
  FactorizationOutcome result;
  SymmetricOutcome& symmetric = result.symmetric.emplace();
  symmetric.escalations = m_events;
  symmetric.cascade = PivotCascade{cascade, m_rule.threshold};
  return result;
}

template <class Scalar, class ExecutionSpace>
void LdltFactorization<Scalar, ExecutionSpace>::solve_parts(const ExecutionSpace& exec, Transposition op,
                                                            const ConstColumns& B, const Columns& X,
                                                            const LdltParts& parts) {
  need_fronts(exec);
  auto system = front_system(m_plan.F, m_A, op, B, X);
  if (!parts.lower) system.in.scale = nullptr;
  if (!parts.upper) system.out.scale = nullptr;
  m_solver->solve(exec, m_pivoted->plan, m_fronts, system, parts);
}

template <class Scalar, class ExecutionSpace>
Determinant<Scalar> LdltFactorization<Scalar, ExecutionSpace>::determinant(const ExecutionSpace& exec) {
  need_fronts(exec);
  return lutra::determinant(exec, m_pivoted->plan, m_fronts, m_A.row_scale);
}

/// Lists the pivots in elimination order, front by front.
template <class Scalar, class ExecutionSpace>
std::vector<Pivot> LdltFactorization<Scalar, ExecutionSpace>::pivots(const ExecutionSpace& exec) const {
  if (m_state != State::fronts) return list_columns(m_in_place->pivots(exec));
  const auto order = to_host<std::int64_t>(exec, m_plan.F.row_order);
  const auto records = to_host(exec, m_fronts.records);
  const auto variables = to_host(exec, m_fronts.variables);
  const auto kinds = to_host(exec, m_fronts.kind);
  const auto& rooms =
      m_fronts.room.host_fronts.empty() ? m_pivoted->plan.room.host_fronts : m_fronts.room.host_fronts;
  std::vector<Pivot> result;
  for (std::size_t f = 0; f < records.size(); ++f) {
    const auto first = static_cast<std::size_t>(rooms[f].slots);
    for (std::size_t slot = first; slot < first + static_cast<std::size_t>(records[f].eliminated); ++slot) {
      const std::int64_t row = order[static_cast<std::size_t>(variables[slot])];
      const bool exact = kinds[slot] != PivotKind::perturbed && kinds[slot] != PivotKind::zero;
      result.push_back({row, row, !exact});
    }
  }
  if (m_plan.border) result.resize(static_cast<std::size_t>(m_plan.border->rest));
  return result;
}

template <class Scalar, class ExecutionSpace>
FactorValues<Scalar> LdltFactorization<Scalar, ExecutionSpace>::write_out(const ExecutionSpace& exec) const {
  if (m_state != State::fronts) return InPlaceFactors<Scalar>(m_in_place->write_out(exec)).run();
  auto factors = start_factor_values(exec, pivots(exec), m_A);
  const auto records = to_host(exec, m_fronts.records);
  const auto variables = to_host(exec, m_fronts.variables);
  const auto diagonal = to_host(exec, m_fronts.diagonal), off_diagonal = to_host(exec, m_fronts.off_diagonal);
  const auto panels = download(exec, m_fronts.panels);
  const auto cb_rows = download(exec, m_pivoted->plan.base.rows);
  exec.fence("lutra::solver: panels are on the host");
  const auto& rooms =
      m_fronts.room.host_fronts.empty() ? m_pivoted->plan.room.host_fronts : m_fronts.room.host_fronts;
  const auto& fronts = m_pivoted->plan.base.layout.fronts;
  std::vector<std::int64_t> position(factors.row_order.size());  // elimination position of each row
  std::int64_t k = 0;
  for (std::size_t f = 0; f < records.size(); ++f) {
    for (int j = 0; j < records[f].eliminated; ++j)
      position[static_cast<std::size_t>(variables[static_cast<std::size_t>(rooms[f].slots + j)])] = k++;
  }
  k = 0;
  for (std::size_t f = 0; f < records.size(); ++f) {
    const int columns = fronts[f].pivots + records[f].delayed_in, rows = columns + fronts[f].cb_rows;
    for (int j = 0; j < records[f].eliminated; ++j, ++k) {
      factors.diagonal.push_back(diagonal[static_cast<std::size_t>(rooms[f].slots + j)]);
      factors.off_diagonal.push_back(off_diagonal[static_cast<std::size_t>(rooms[f].slots + j)]);
      for (int i = j + 1; i < rows; ++i) {
        const Ordinal row = i < columns ? variables[static_cast<std::size_t>(rooms[f].slots + i)]
                                        : cb_rows(fronts[f].rows + (i - columns));
        factors.rows.push_back(position[static_cast<std::size_t>(row)]);
        factors.columns.push_back(k);
        factors.values.push_back(panels(rooms[f].panel - static_cast<Offset>(records[f].moved) +
                                        static_cast<Offset>(j) * rows + i));
      }
    }
  }
  return factors;
}

template <class Scalar, class ExecutionSpace>
bool LdltFactorization<Scalar, ExecutionSpace>::increase_quality() {
  if (m_rule.pivoting != Pivoting::threshold || m_rule.threshold >= 0.5) return false;
  m_rule.threshold = std::min(0.5, std::pow(m_rule.threshold, 0.75));
  return true;
}

template <class Scalar, class ExecutionSpace>
std::int64_t LdltFactorization<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  const std::int64_t row = m_solver ? m_solver->consume_timeout(exec, m_pivoted->plan) : -1;
  const std::int64_t in_place = m_in_place ? m_in_place->consume_timeout(exec) : -1;
  return row >= 0 ? row : in_place;
}

LdltPlanOptions plan_options_of(const LdltOptions& options) {
  LdltPlanOptions fronts;
  if (options.front_pivoting == FrontPivoting::columns)
    fronts.max_column_rows = std::numeric_limits<int>::max();
  if (options.front_pivoting == FrontPivoting::blocks) fronts.max_column_rows = 0;
  return fronts;
}

template <class Scalar, class ExecutionSpace>
std::unique_ptr<Factorization<Scalar, ExecutionSpace>>
LdltEnginePlan<Scalar, ExecutionSpace>::make_factorization(const ExecutionSpace& exec,
                                                           const MemoryBudget& budget) const {
  return std::make_unique<LdltFactorization<Scalar, ExecutionSpace>>(exec, *this, budget);
}

template <class Scalar, class ExecutionSpace>
void LdltEnginePlan<Scalar, ExecutionSpace>::write_pattern(const ExecutionSpace& exec,
                                                           FactorStructure& structure) const {
  if (!pivoted) return in_place->write_pattern(exec, structure);
  write_rows(exec, pattern_of_fronts(exec, pivoted->plan.base, MemoryBudget()), structure);
}

template <class Scalar, class ExecutionSpace>
std::optional<MemoryForecast> LdltEnginePlan<Scalar, ExecutionSpace>::forecast(int n_columns) const {
  if (border) return std::nullopt;
  if (in_place) {
    const auto [threshold, kind] = pivoting_of(first, rule_of(options));
    return static_cast<const MultifrontalPlan<Scalar, ExecutionSpace>&>(*in_place).forecast_with(
        threshold > 0 ? std::optional(kind) : std::nullopt, n_columns);
  }
  const FrontFactorBytes factors = predict_ldlt_bytes<Scalar, ExecutionSpace>(pivoted->plan);
  MemoryForecast result;
  result.factors.device = factors.panels;
  result.factorization.device = factors.all;
  result.solve.device = factors.all + pivoted->solver.predict_bytes(pivoted->plan, false, n_columns);
  return result;
}

template <class Scalar, class ExecutionSpace>
auto LdltEnginePlan<Scalar, ExecutionSpace>::plan_pivoted(const ExecutionSpace& exec,
                                                          const MemoryBudget& budget) const
    -> std::shared_ptr<const Pivoted> {
  LdltPlanOptions fronts = plan_options_of(options);
  if (border) fronts.data_flow = false;
  auto plan = plan_ldlt(exec, input->tree, {input->A, input->order, input->order}, budget, fronts, F.A);
  LdltSolver<Scalar, ExecutionSpace> solver(exec, plan, budget);
  return std::make_shared<const Pivoted>(Pivoted{std::move(plan), std::move(solver)});  // braces: Clang 14
}

template <class Scalar, class ExecutionSpace>
bool streams_ldlt(const ExecutionSpace& exec, const LdltOptions& options, const AssemblyTree& tree,
                  const MemoryBudget& budget) {
  if (options.factor_storage != FactorStorage::automatic || is_host_space<ExecutionSpace>)
    return options.factor_storage == FactorStorage::streamed;
  const FrontLayout layout = lay_out_fronts(tree);
  double entries = static_cast<double>(layout.contributions);
  for (const Front& front : layout.fronts) {  // with the room for delayed columns
    const double columns = front.pivots + 0.1 * front.pivots;
    entries += columns * (columns + front.cb_rows);
  }
  return entries * sizeof(Scalar) > static_cast<double>(std::min(budget.available_bytes(), free_bytes(exec)));
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_ldlt_engine(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    AssemblyTree tree, const FrontEntries& on_host, const LdltOptions& options, LdltAttempt first,
    const std::optional<std::int64_t>& structural_rank, const MemoryBudget& budget,
    const std::shared_ptr<const Border<Scalar, ExecutionSpace>>& border) {
  auto plan = std::make_shared<LdltEnginePlan<Scalar, ExecutionSpace>>();
  plan->F = F;
  plan->border = border;
  plan->options = options;
  plan->predicted_entries = predicted_ldlt_entries(lay_out_fronts(tree).fronts);
  const auto set = static_cast<std::int64_t>(border ? border->set : 0);
  plan->counts.nnz_l = static_cast<std::int64_t>(plan->predicted_entries) - set * (set + 1) / 2;
  plan->counts.nnz_u = 0;
  plan->counts.flops = tree.flops / 2;
  plan->counts.supernodes = static_cast<std::int64_t>(tree.count());
  plan->solve_method = "supernodal";
  if (structural_rank && !border) plan->min_zero = F.A.n_rows - *structural_rank;
  plan->first = first;
  if (plan->tries_in_place()) {
    LuOptions of_fronts;
    of_fronts.device_model = options.device_model;
    if (streams_ldlt<Scalar>(exec, options, tree, budget)) {
      plan->in_place =
          plan_streamed_fronts<Scalar>(exec, F, tree, on_host, of_fronts, budget,
                                       options.factor_storage == FactorStorage::streamed
                                           ? "as the options ask"
                                           : "since they do not fit into the memory that is left",
                                       options.symmetry);
      plan->storage_reason = plan->in_place->storage_reason;
    } else {
      try {
        plan->in_place =
            plan_multifrontal<Scalar>(exec, F, tree, on_host, of_fronts, budget, options.symmetry);
      } catch (const OutOfMemoryError&) {  // factorizations then do not try them
      }
    }
  }
  plan->input = PivotedInput{std::move(tree), on_host.A, on_host.row_order};
  if (plan->in_place) {
    plan->level_widths = plan->in_place->level_widths;
    return plan;
  }
  plan->pivoted = plan->plan_pivoted(exec, budget);
  plan->input.reset();
  const auto& widths = plan->pivoted->plan.base.layout.level_pivots;
  plan->level_widths.assign(widths.begin(), widths.end());
  return plan;
}

#define LUTRA_LDLT_ENGINE(Scalar, Space)                                                                     \
  template bool streams_ldlt<Scalar>(const Space&, const LdltOptions&, const AssemblyTree&,                  \
                                     const MemoryBudget&);                                                   \
  template struct LdltEnginePlan<Scalar, Space>;                                                             \
  template class LdltFactorization<Scalar, Space>;                                                           \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_ldlt_engine<Scalar>(                 \
      const Space&, const PermutedPattern<typename Space::memory_space>&, AssemblyTree, const FrontEntries&, \
      const LdltOptions&, LdltAttempt, const std::optional<std::int64_t>&, const MemoryBudget&,              \
      const std::shared_ptr<const Border<Scalar, Space>>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LDLT_ENGINE)

}  // namespace lutra::Impl
