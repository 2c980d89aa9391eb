// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MultifrontalPlan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PlanTools.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
MultifrontalFactorization<Scalar, ExecutionSpace>::MultifrontalFactorization(const ExecutionSpace& exec,
                                                                             const Plan& plan,
                                                                             const MemoryBudget& budget,
                                                                             const Pivoted& symmetric)
    : m_plan(plan),
      m_budget(budget),
      m_fronts(make_front_factors(exec, plan.schedule, budget)),
      m_reservation(budget),
      m_bordered(budget) {
  if (plan.border) m_fronts.complement = plan.border->complement;
  if (plan.pivot_threshold > 0) m_fronts.interchanges = {plan.pivot_threshold, {}};
  if (symmetric.threshold > 0) m_fronts.interchanges = {symmetric.threshold, {}, symmetric.kind};
  if (plan.on_fronts) m_on_fronts.emplace(plan.on_fronts->with_own_vectors(exec, budget));
  if (plan.by_rows) m_by_rows.emplace(plan.by_rows->with_own_values(exec, budget));
}

/// Allocates memory for the values on the first call.
template <class Scalar, class ExecutionSpace>
void MultifrontalFactorization<Scalar, ExecutionSpace>::allocate(const ExecutionSpace& exec) {
  const auto reserve = [&](auto& view, const char* label, std::size_t size) {
    using View = std::remove_reference_t<decltype(view)>;
    if (view.extent(0) != size) view = m_reservation.template allocate<View>(exec, label, size);
  };
  reserve(m_perturbed, "lutra::numeric::perturbed", static_cast<std::size_t>(m_plan.fronts.n));
  reserve(m_row_values, "lutra::solver::values by rows", m_plan.panel_source.extent(0));
  if (m_outcome.data() == nullptr)
    m_outcome = Impl::make_uncounted<decltype(m_outcome)>("lutra::solver::outcome");
  allocate_values(exec, m_plan.fronts, m_budget, m_fronts);
}

template <class Scalar, class ExecutionSpace>
FactorizationOutcome MultifrontalFactorization<Scalar, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, double perturbation) {
  allocate(exec);
  m_A = m_plan.border ? m_bordered.values(exec, *m_plan.border, A) : A;
  factorize_fronts<Scalar>(exec, m_plan.fronts, m_A, perturbation, m_fronts, m_perturbed);
  update_solves(exec);
  Kokkos::deep_copy(exec, m_outcome, m_fronts.outcome);
  exec.fence("lutra::solver: whether the factors are finite is known");
  const FrontLuOutcome& outcome = m_outcome();
  if (outcome.stopped_front >= 0) {
    throw TimeoutError("factorize: front " + std::to_string(outcome.stopped_front) +
                       " waited too long for its children, and the factorization was given up");
  }
  FactorizationOutcome result{outcome.perturbed, std::nullopt, outcome.largest_entry, outcome.largest_factor};
  if (m_fronts.interchanges) result.interchanged = outcome.interchanged;
  return result;
}

template <class Scalar, class ExecutionSpace>
void MultifrontalFactorization<Scalar, ExecutionSpace>::update_solves(const ExecutionSpace& exec) {
  if (m_on_fronts) return find_largest_factor(exec, m_fronts);
  gather_factors(exec, m_fronts, m_plan.panel_source, m_row_values);
  m_by_rows->set_values(exec, m_row_values);
}

template <class Scalar, class ExecutionSpace>
void MultifrontalFactorization<Scalar, ExecutionSpace>::apply(const ExecutionSpace& exec, Transposition op,
                                                              const Rows& B, const Rows& X) {
  const auto apply_whole = [&](const Rows& from, const Rows& to) {
    if (m_by_rows) return m_by_rows->solve(exec, op, m_A.row_scale, m_A.col_scale, from, to);
    m_on_fronts->solve(exec, m_plan.fronts, m_fronts, Impl::front_system(m_plan.F, m_A, op, from, to));
  };
  m_plan.border ? m_bordered.solve(exec, B, X, apply_whole) : apply_whole(B, X);
}

template <class Scalar, class ExecutionSpace>
std::vector<Pivot> MultifrontalFactorization<Scalar, ExecutionSpace>::pivots(
    const ExecutionSpace& exec) const {
  auto pivots =
      Impl::list_pivots(exec, m_plan.F, m_perturbed, m_fronts.row_of_pivot(), m_fronts.column_of_pivot());
  if (m_plan.border) pivots.resize(static_cast<std::size_t>(m_plan.border->rest));
  return pivots;
}

namespace {

/// Renumbers lines, rows or columns of F, as interchanges have ordered them, in entries that other blocks of
/// pivots hold: these are still indexed by the lines as the blocks received them.
/// @param line_of_pivot [n] permuted index of the line eliminated at each pivot; empty without interchanges
/// @param block_begin   [n] first pivot of the block, a front or a tile, in which a line was interchanged
/// @param lines         [entries] of the factors: rows of L, or columns of U
/// @param others        [entries] the other index of each entry
void renumber_lines(const std::vector<std::int64_t>& line_of_pivot,
                    const std::vector<std::int64_t>& block_begin, std::vector<std::int64_t>& lines,
                    const std::vector<std::int64_t>& others) {
  if (line_of_pivot.empty()) return;
  std::vector<std::int64_t> pivot_of_line(line_of_pivot.size());
  for (std::size_t k = 0; k < line_of_pivot.size(); ++k)
    pivot_of_line[static_cast<std::size_t>(line_of_pivot[k])] = static_cast<std::int64_t>(k);
  for (std::size_t e = 0; e < lines.size(); ++e) {
    const auto line = static_cast<std::size_t>(lines[e]);
    if (others[e] < block_begin[line]) lines[e] = pivot_of_line[line];
  }
}

/// First pivot of the front, or of the tile of a tiled front, of each pivot.
template <class ExecutionSpace, class Plan>
std::vector<std::int64_t> interchanged_blocks(const Plan& plan) {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(plan.n));
  for (const auto& front : plan.layout.fronts) {
    const bool tiled = !Impl::is_host_space<ExecutionSpace> && front.size() > plan.options.max_whole;
    for (int j = 0; j < front.pivots; ++j)
      begin[static_cast<std::size_t>(front.first_pivot + j)] =
          front.first_pivot + (tiled ? j - j % plan.options.tile : 0);
  }
  return begin;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
FactorValues<Scalar> MultifrontalFactorization<Scalar, ExecutionSpace>::write_out(
    const ExecutionSpace& exec) const {
  auto factors = Impl::start_factor_values(exec, pivots(exec), m_A);
  Kokkos::View<const Offset*, Memory> source;
  const auto pattern = pattern_of_fronts(exec, m_plan.fronts, m_budget, source);
  const auto panels = Impl::download(exec, m_fronts.panels);
  std::vector<Scalar> values;
  for (const Offset p : Impl::to_host(exec, source)) values.push_back(panels(p));
  Impl::write_entries(exec, pattern, std::move(values), factors);
  if (!m_fronts.interchanges) return factors;
  const auto begin = interchanged_blocks<ExecutionSpace>(m_plan.fronts);
  const auto columns = factors.columns;
  renumber_lines(Impl::to_host<std::int64_t>(exec, m_fronts.column_of_pivot()), begin, factors.columns,
                 factors.rows);
  renumber_lines(Impl::to_host<std::int64_t>(exec, m_fronts.row_of_pivot()), begin, factors.rows, columns);
  return factors;
}

template <class Scalar, class ExecutionSpace>
std::int64_t MultifrontalFactorization<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  return m_on_fronts ? m_on_fronts->consume_timeout(exec, m_plan.fronts) : m_by_rows->consume_timeout(exec);
}

template <class Scalar, class ExecutionSpace>
std::unique_ptr<Factorization<Scalar, ExecutionSpace>>
MultifrontalPlan<Scalar, ExecutionSpace>::make_factorization(const ExecutionSpace& exec,
                                                             const MemoryBudget& budget) const {
  return std::make_unique<MultifrontalFactorization<Scalar, ExecutionSpace>>(exec, *this, budget);
}

template <class Scalar, class ExecutionSpace>
void MultifrontalPlan<Scalar, ExecutionSpace>::write_pattern(const ExecutionSpace& exec,
                                                             FactorStructure& structure) const {
  Impl::write_rows(exec, pattern_of_fronts(exec, fronts, MemoryBudget()), structure);
}

bool solves_on_fronts(const LuOptions& options) {
  return options.solve_precision == FactorPrecision::working &&
         (options.trisolve == TrisolveMethod::automatic || options.trisolve == TrisolveMethod::supernodal);
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_multifrontal(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& on_host, const LuOptions& options,
    const MemoryBudget& budget, const std::optional<Symmetry>& symmetry,
    const std::shared_ptr<const Impl::Border<Scalar, ExecutionSpace>>& border) {
  auto plan = std::make_shared<MultifrontalPlan<Scalar, ExecutionSpace>>();
  plan->F = F;
  plan->border = border;
  plan->fronts = plan_lu(exec, tree, on_host, budget, front_plan_options<Scalar, ExecutionSpace>(), F.A);
  plan->schedule = make_front_schedule<Scalar>(
      exec, plan->fronts, budget, options.device_model.value_or(default_device_model<ExecutionSpace>()),
      symmetry);
  const auto set = static_cast<std::int64_t>(border ? border->set : 0), n = tree.n - set;
  const auto stored = static_cast<std::int64_t>(plan->fronts.panel_layout.entries()) - set * set;
  plan->counts.nnz_l = (stored - n) / 2;
  plan->counts.nnz_u = (stored + n) / 2;
  plan->counts.flops = tree.flops;
  plan->counts.supernodes = static_cast<std::int64_t>(tree.count());
  plan->level_widths.assign(plan->fronts.layout.level_pivots.begin(), plan->fronts.layout.level_pivots.end());
  const bool interchanges = options.pivoting == Pivoting::threshold;
  if (interchanges) plan->pivot_threshold = options.pivot_threshold;
  if (solves_on_fronts(options)) {
    FrontSolverOptions solves;
    solves.interchanges = interchanges || symmetry.has_value();
    solves.device_model = options.device_model;
    plan->on_fronts.emplace(exec, plan->fronts, budget, solves);
    plan->solve_method = name_of(TrisolveMethod::supernodal);
    plan->solve_reason = "solves: on the fronts, which spares a copy of the factors by rows";
    return plan;
  }
  TriangularOptions triangular;
  triangular.method = options.trisolve;
  triangular.precision = options.solve_precision;
  triangular.device_model = options.device_model;
  const auto rows = pattern_of_fronts(exec, plan->fronts, budget, plan->panel_source);
  plan->by_rows.emplace(exec, rows, F.row_order, F.col_order, triangular, budget);
  plan->solve_method = name_of(plan->by_rows->upper_report().method);
  plan->solve_reason = "solves: " + plan->by_rows->upper_report().reason;
  return plan;
}

#define LUTRA_MULTIFRONTAL_PLAN(Scalar, Space)                                                    \
  template struct MultifrontalPlan<Scalar, Space>;                                                \
  template class MultifrontalFactorization<Scalar, Space>;                                        \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_multifrontal<Scalar>(     \
      const Space&, const PermutedPattern<typename Space::memory_space>&, const AssemblyTree&,    \
      const FrontEntries&, const LuOptions&, const MemoryBudget&, const std::optional<Symmetry>&, \
      const std::shared_ptr<const Impl::Border<Scalar, Space>>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_MULTIFRONTAL_PLAN)

}  // namespace lutra
