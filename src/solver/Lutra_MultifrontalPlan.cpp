// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MultifrontalPlan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Forest.hpp"
#include "Lutra_FreeBytes.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_Refinement.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
MultifrontalFactorization<Scalar, ExecutionSpace>::MultifrontalFactorization(const ExecutionSpace& exec,
                                                                             const Plan& plan,
                                                                             const MemoryBudget& budget,
                                                                             const Pivoted& symmetric)
    : m_plan(plan),
      m_budget(budget),
      m_fronts(plan.streamed ? Fronts() : make_front_factors(exec, plan.schedule, budget)),
      m_reservation(budget),
      m_bordered(budget) {
  if (plan.streamed) {
    const bool own = symmetric.threshold > 0;
    m_streamed = std::make_unique<Impl::StreamedFactors<Scalar, ExecutionSpace>>(
        exec, *plan.streamed, budget, own ? symmetric.threshold : plan.pivot_threshold,
        own ? symmetric.kind : Impl::Interchanges::rows);
  }
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
  if (!m_streamed) allocate(exec);
  m_A = m_plan.border ? m_bordered.values(exec, *m_plan.border, A) : A;
  FrontLuOutcome outcome;
  if (m_streamed) {
    outcome = m_streamed->factorize(exec, m_plan.F.A, m_A, perturbation);
  } else {
    factorize_fronts<Scalar>(exec, m_plan.fronts, m_A, perturbation, m_fronts, m_perturbed);
    update_solves(exec);
    Kokkos::deep_copy(exec, m_outcome, m_fronts.outcome);
    exec.fence("lutra::solver: whether the factors are finite is known");
    outcome = m_outcome();
  }
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
  if (m_streamed) return m_streamed->solve(exec, m_A, op, B, X);
  const auto apply_whole = [&](const Rows& from, const Rows& to) {
    if (m_by_rows) return m_by_rows->solve(exec, op, m_A.row_scale, m_A.col_scale, from, to);
    m_on_fronts->solve(exec, m_plan.fronts, m_fronts, Impl::front_system(m_plan.F, m_A, op, from, to));
  };
  m_plan.border ? m_bordered.solve(exec, B, X, apply_whole) : apply_whole(B, X);
}

template <class Scalar, class ExecutionSpace>
std::vector<Pivot> MultifrontalFactorization<Scalar, ExecutionSpace>::pivots(
    const ExecutionSpace& exec) const {
  if (m_streamed)
    return Impl::list_pivots(exec, m_plan.F, m_streamed->perturbed(), m_streamed->row_of_pivot(exec),
                             m_streamed->column_of_pivot(exec));
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

/// Writes the entries of the panels to `factors`. Fences.
/// @param pattern_of pattern_of(source): the pattern of L + U, and the position of each entry in the panels
template <class Scalar, class ExecutionSpace, class PatternOf, class Panels>
static void write_panels(const ExecutionSpace& exec, const PatternOf& pattern_of, const Panels& panels,
                         FactorValues<Scalar>& factors) {
  Kokkos::View<const Offset*, typename ExecutionSpace::memory_space> source;
  const auto pattern = pattern_of(source);
  std::vector<Scalar> values;
  for (const Offset p : Impl::to_host(exec, source)) values.push_back(panels(p));
  Impl::write_entries(exec, pattern, std::move(values), factors);
}

template <class Scalar, class ExecutionSpace>
FactorValues<Scalar> MultifrontalFactorization<Scalar, ExecutionSpace>::write_out(
    const ExecutionSpace& exec) const {
  auto factors = Impl::start_factor_values(exec, pivots(exec), m_A);
  const auto finish = [&](const auto& plan, bool interchanges, const auto& rows, const auto& columns) {
    if (!interchanges) return;
    const auto begin = interchanged_blocks<ExecutionSpace>(plan);
    const auto columns_of_entries = factors.columns;
    renumber_lines(columns, begin, factors.columns, factors.rows);
    renumber_lines(rows, begin, factors.rows, columns_of_entries);
  };
  if (m_streamed) {
    const Kokkos::DefaultHostExecutionSpace host;
    const auto whole = m_plan.streamed->whole();
    write_panels(
        host, [&](auto& source) { return pattern_of_fronts(host, whole, MemoryBudget(), source); },
        m_streamed->panels(), factors);
    const auto rows = m_streamed->row_of_pivot(exec), columns = m_streamed->column_of_pivot(exec);
    finish(whole, !rows.empty(), rows, columns);
    return factors;
  }
  write_panels(
      exec, [&](auto& source) { return pattern_of_fronts(exec, m_plan.fronts, m_budget, source); },
      Impl::download(exec, m_fronts.panels), factors);
  finish(m_plan.fronts, m_fronts.interchanges.has_value(),
         Impl::to_host<std::int64_t>(exec, m_fronts.row_of_pivot()),
         Impl::to_host<std::int64_t>(exec, m_fronts.column_of_pivot()));
  return factors;
}

template <class Scalar, class ExecutionSpace>
std::int64_t MultifrontalFactorization<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  if (m_streamed) return m_streamed->consume_timeout(exec);
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
  if (streamed) {
    const Kokkos::DefaultHostExecutionSpace host;
    const FrontPlan<Kokkos::HostSpace> whole = streamed->whole();
    return Impl::write_rows(host, pattern_of_fronts(host, whole, MemoryBudget()), structure);
  }
  Impl::write_rows(exec, pattern_of_fronts(exec, fronts, MemoryBudget()), structure);
}

template <class Scalar, class ExecutionSpace>
std::optional<MemoryForecast> MultifrontalPlan<Scalar, ExecutionSpace>::forecast(int n_columns) const {
  return forecast_with(pivot_threshold > 0 ? std::optional(Impl::Interchanges::rows) : std::nullopt,
                       n_columns);
}

template <class Scalar, class ExecutionSpace>
std::optional<MemoryForecast> MultifrontalPlan<Scalar, ExecutionSpace>::forecast_with(
    const std::optional<Impl::Interchanges>& interchanges, int n_columns) const {
  if (border) return std::nullopt;
  MemoryForecast result;
  if (streamed) {
    const std::size_t buffers = streamed->entries() * sizeof(Scalar), on_host = streamed->host_bytes();
    result.factors = {0, streamed->factor_bytes(interchanges)};
    const auto with = [&](int columns) {
      return SpaceBytes{buffers + streamed->bytes_beside_buffers(interchanges.has_value(), columns), on_host};
    };
    result.factorization = with(0);
    result.solve = with(n_columns);
    return result;
  }
  const FrontFactorBytes factors = predict_factor_bytes(fronts, *schedule, interchanges);
  result.factors.device = factors.panels;
  const std::size_t kept =
      factors.all + static_cast<std::size_t>(fronts.n) + panel_source.extent(0) * sizeof(Scalar);
  const auto solves = [&](int columns) {
    if (by_rows) return by_rows->predict_bytes(columns);
    return columns > 0 ? on_fronts->predict_bytes(fronts, interchanges.has_value(), columns) : 0;
  };
  result.factorization.device = kept + solves(0);
  result.solve.device = kept + solves(n_columns);
  return result;
}

bool solves_on_fronts(const LuOptions& options) {
  return options.solve_precision == FactorPrecision::working &&
         (options.trisolve == TrisolveMethod::automatic || options.trisolve == TrisolveMethod::supernodal);
}

template <class Scalar, class ExecutionSpace>
bool fronts_fit(const ExecutionSpace& exec, const LuOptions& options, const AssemblyTree& tree,
                std::int64_t nnz, const MemoryBudget& budget) {
  if (tree.count() == 0 || (budget.limit_bytes() == 0 && Impl::is_host_space<ExecutionSpace>)) return true;
  const auto available = static_cast<double>(std::min(budget.available_bytes(), Impl::free_bytes(exec)));
  // Without a limit the device's memory suffices by far for most matrices; their exact size takes long.
  constexpr double certain = 4;
  double entries = 0;
  for (Ordinal f = 0; f < tree.count(); ++f) {
    const auto k = static_cast<double>(Impl::at(tree.pivot_begin, f + 1) - Impl::at(tree.pivot_begin, f));
    const auto m = static_cast<double>(Impl::at(tree.row_begin, f + 1) - Impl::at(tree.row_begin, f));
    entries += k * (k + 2 * m);
  }
  if (budget.limit_bytes() == 0 && certain * entries * sizeof(Scalar) < available) return true;
  const auto of_factors =
      static_cast<double>(predict_bytes_of_fronts<Scalar>(exec, tree, nnz, exec.concurrency()));
  // Solves on fronts need index lists and vectors for one right-hand side; those by rows need L + U in
  // addition to the panels: values, columns, and positions in the panels.
  const double of_solves =
      solves_on_fronts(options)
          ? static_cast<double>((2 * sizeof(std::uint32_t) + sizeof(Scalar)) *
                                (tree.rows.size() + static_cast<std::size_t>(tree.n)))
          : static_cast<double>(sizeof(Scalar) + sizeof(Ordinal) + sizeof(Offset)) * entries;
  return of_factors + of_solves < available;
}

namespace {

/// Bytes of a solver beside the plan and the factors: the values of the matrix, and vectors for one
/// right-hand side.
template <class Scalar, class ExecutionSpace>
std::size_t bytes_beside_factors(std::size_t n, std::size_t nnz) {
  constexpr std::size_t small_arrays = 4096;
  return nnz * sizeof(Scalar) + SolveWorkspace<Scalar, ExecutionSpace>::bytes(n, 1) + small_arrays;
}

/// Number of columns in each level of the tree, leaves first.
std::vector<std::int64_t> widths_of_levels(const AssemblyTree& tree) {
  std::vector<Ordinal> by_level(tree.parent.size()), level_of(by_level);
  const auto begin = Impl::levelize_in_order(tree.parent, by_level, level_of);
  std::vector<std::int64_t> widths(begin.size() - 1, 0);
  for (Ordinal f = 0; f < tree.count(); ++f)
    Impl::at(widths, Impl::at(level_of, f)) +=
        Impl::at(tree.pivot_begin, f + 1) - Impl::at(tree.pivot_begin, f);
  return widths;
}

template <class Scalar, class ExecutionSpace>
void add_counts(const AssemblyTree& tree, std::int64_t set, std::int64_t stored,
                MultifrontalPlan<Scalar, ExecutionSpace>& plan) {
  const std::int64_t n = tree.n - set;
  plan.counts.nnz_l = (stored - set * set - n) / 2;
  plan.counts.nnz_u = (stored - set * set + n) / 2;
  plan.counts.flops = tree.flops;
  plan.counts.supernodes = static_cast<std::int64_t>(tree.count());
}

}  // namespace

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_streamed_fronts(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& on_host, const LuOptions& options,
    const MemoryBudget& budget, const std::string& reason, const std::optional<Symmetry>& symmetry) {
  auto plan = std::make_shared<MultifrontalPlan<Scalar, ExecutionSpace>>();
  plan->F = F;
  const std::size_t others =
      bytes_beside_factors<Scalar, ExecutionSpace>(static_cast<std::size_t>(tree.n), F.A.entries.extent(0));
  plan->streamed = Impl::plan_streamed<Scalar>(exec, tree, on_host, options, budget,
                                               std::min(budget.available_bytes(), Impl::free_bytes(exec)),
                                               others, symmetry);
  add_counts(tree, 0, static_cast<std::int64_t>(plan->streamed->panels), *plan);
  plan->level_widths = widths_of_levels(tree);
  if (options.pivoting == Pivoting::threshold) plan->pivot_threshold = options.pivot_threshold;
  plan->solve_method = name_of(TrisolveMethod::supernodal);
  plan->solve_reason = "solves: on the fronts";
  const auto& streamed = *plan->streamed;
  plan->storage_reason = "factors: streamed from host memory in " + std::to_string(streamed.parts.size()) +
                         (streamed.parts.size() == 1 ? " part, " : " parts, ") + reason;
  return plan;
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
  add_counts(tree, static_cast<std::int64_t>(border ? border->set : 0),
             static_cast<std::int64_t>(plan->fronts.panel_layout.entries()), *plan);
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

#define LUTRA_MULTIFRONTAL_PLAN(Scalar, Space)                                                               \
  template bool fronts_fit<Scalar, Space>(const Space&, const LuOptions&, const AssemblyTree&, std::int64_t, \
                                          const MemoryBudget&);                                              \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_streamed_fronts<Scalar>(             \
      const Space&, const PermutedPattern<typename Space::memory_space>&, const AssemblyTree&,               \
      const FrontEntries&, const LuOptions&, const MemoryBudget&, const std::string&,                        \
      const std::optional<Symmetry>&);                                                                       \
  template struct MultifrontalPlan<Scalar, Space>;                                                           \
  template class MultifrontalFactorization<Scalar, Space>;                                                   \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_multifrontal<Scalar>(                \
      const Space&, const PermutedPattern<typename Space::memory_space>&, const AssemblyTree&,               \
      const FrontEntries&, const LuOptions&, const MemoryBudget&, const std::optional<Symmetry>&,            \
      const std::shared_ptr<const Impl::Border<Scalar, Space>>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_MULTIFRONTAL_PLAN)

}  // namespace lutra
