// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Numeric.hpp"

#include "Lutra_AnalysisSteps.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ChooseEngine.hpp"
#include "Lutra_FixedCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_ScaleFit.hpp"
#include "Lutra_SimplicialPlan.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {
namespace {

bool may_be_reordered(const LuOptions& options) {
  return options.ordering != Ordering::user && options.ordering != Ordering::natural;
}
/// The right-looking engine works with any order; supernodes are longer in an equivalent order in which rows
/// with similar patterns are adjacent.
template <class ExecutionSpace>
bool wants_tree_order(const LuOptions& options) {
  return options.columns.supernodes != ColumnSupernodes::off && !asks_for_columns(options.columns) &&
         may_be_reordered(options);
}
/// The up-looking engine is faster with such an order.
template <Impl::HostExecution ExecutionSpace>
bool wants_tree_order(const LuOptions& options) {
  return may_be_reordered(options);
}

/// Returns the number of entries of L + U that the fronts store.
double entries_of_panels(const AssemblyTree& tree) {
  double entries = 0;
  for (std::size_t f = 0; f < tree.parent.size(); ++f) {
    const auto pivots = static_cast<double>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]);
    entries += pivots * (pivots + 2 * static_cast<double>(tree.row_begin[f + 1] - tree.row_begin[f]));
  }
  return entries;
}

/// Returns the bytes that the multifrontal engine keeps, including index lists and vectors of solves for one
/// right-hand side.
/// @param nnz number of entries of the matrix
template <class Scalar, class ExecutionSpace>
double bytes_of_fronts(const ExecutionSpace& exec, const LuOptions& options, const AssemblyTree& tree,
                       std::int64_t nnz) {
  const auto of_factors =
      static_cast<double>(predict_bytes_of_fronts<Scalar>(exec, tree, nnz, exec.concurrency()));
  if (solves_on_fronts(options))
    return of_factors + static_cast<double>((2 * sizeof(std::uint32_t) + sizeof(Scalar)) *
                                            (tree.rows.size() + static_cast<std::size_t>(tree.n)));
  // Solves by rows need L + U in addition to the panels: values, columns, and positions in the panels.
  constexpr auto by_rows = static_cast<double>(sizeof(Scalar) + sizeof(Ordinal) + sizeof(Offset));
  return of_factors + by_rows * entries_of_panels(tree);
}

/// Computes the properties on which the choice of an engine depends.
template <class Scalar, class ExecutionSpace>
Impl::EngineProperties properties_of(const ExecutionSpace& exec, const LuOptions& options,
                                     const AssemblyTree& tree, std::int64_t nnz, bool block_triangular,
                                     const MemoryBudget& budget) {
  Impl::EngineProperties properties;
  properties.block_triangular = block_triangular;
  const double entries = entries_of_panels(tree);
  properties.flops_per_entry = entries > 0 ? tree.flops / entries : 0.0;
  if (budget.limit_bytes() > 0 && tree.count() > 0)
    properties.fronts_fit =
        bytes_of_fronts<Scalar>(exec, options, tree, nnz) < static_cast<double>(budget.available_bytes());
  return properties;
}

/// Creates a report with the names of the options, before the library's choices replace some of them.
Report report_of(const LuOptions& options) {
  Report report;
  report.choice.method = "lu";
  report.choice.symbolic = name_of(options.symbolic);
  report.choice.precond = "none";
  report.choice.pivot =
      name_of(options.pivoting == Pivoting::automatic ? Pivoting::static_perturbed : options.pivoting);
  return report;
}

/// Returns whether an analysis was made for LU with these options.
template <class Analysis>
bool is_of(const Analysis& analysis, const LuOptions& options) {
  const auto* const own = std::get_if<LuOptions>(&analysis.options);
  return own != nullptr && *own == options;
}

/// Chooses an engine, reorders the pivots for it, and returns its assembly tree.
/// @param former analysis whose order is reused, if it uses LU by rows with the same engine
template <class Scalar, class ExecutionSpace>
std::pair<Engine, AssemblyTree> prepare_engine(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& on_host, const LuOptions& options,
    const NumericDeviceModel& model, const MemoryBudget& budget, PivotOrder& pivots, const Report* former,
    Report& report) {
  AssemblyTree tree;
  if (pivots.reuse == Reuse::ordering && former->choice.engine == name_of(Engine::simplicial)) {
    report.choice.engine = former->choice.engine;
    return {Engine::simplicial, std::move(tree)};
  }
  const bool tree_order = wants_tree_order<ExecutionSpace>(options);
  if (Impl::may_take_fronts(options) || tree_order)
    tree = Impl::build_tree(exec, A.pattern(), on_host, pivots, budget);
  const auto [engine, reason] =
      Impl::choose_engine(options,
                          properties_of<Scalar>(exec, options, tree, static_cast<std::int64_t>(A.nnz()),
                                                pivots.block_triangular, budget),
                          model);
  report.choice.engine = name_of(engine);
  if (!reason.empty()) Impl::add_reason(report, reason);
  if (engine == Engine::multifrontal) Impl::collect_rows(pivots, tree);
  if (engine == Engine::multifrontal || tree_order) pivots.reorder(tree.order);
  if (engine == Engine::multifrontal) {
    report.choice.symbolic = name_of(SymbolicMethod::etree);
    if (const std::string why = Impl::reason_for_etree(options); !why.empty()) Impl::add_reason(report, why);
  }
  return {engine, std::move(tree)};
}

}  // namespace

template <class Scalar, class ExecutionSpace>
FactorStructure Analysis<Scalar, ExecutionSpace>::structure(const ExecutionSpace& exec) const {
  FactorStructure result;
  if (!plan) return result;
  result.row_order = Impl::to_host<std::int64_t>(exec, F.row_order);
  result.col_order = Impl::to_host<std::int64_t>(exec, F.col_order);
  result.level_widths = plan->level_widths;
  plan->write_pattern(exec, result);
  return result;
}

template <class Scalar, class ExecutionSpace>
auto Impl::analyze_checked(const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A,
                           const LuOptions& given, const MemoryBudget& budget,
                           const Analysis<Scalar, ExecutionSpace>* former,
                           const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border)
    -> AnalysisPointer<Scalar, ExecutionSpace> {
  const LuOptions options =
      Impl::with_fixed_order<ExecutionSpace>(Impl::with_fixed_costs<ExecutionSpace>(given));
  if (options.ordering == Ordering::user) check_permutation(options.user_permutation, A.n_rows);
  auto analysis = std::make_shared<Analysis<Scalar, ExecutionSpace>>();
  analysis->n = A.n_rows;
  analysis->options = options;
  analysis->value_hash = Impl::hash_of_values(exec, A.values);
  Report& report = analysis->report = report_of(options);
  const DeviceModel model = options.device_model.value_or(default_device_model<ExecutionSpace>());
  report.choice.device_model = model.name;
  const auto on_host = Impl::copy_to_host(exec, A);
  FormerOrder order;
  if (former && former->plan && is_of(*former, options) && Impl::has_pattern(exec, A, former->F.A, budget)) {
    order.rows = Impl::to_host<Ordinal>(exec, former->F.row_order);
    order.columns = Impl::to_host<Ordinal>(exec, former->F.col_order);
    const bool by_rows = former->report.choice.engine == name_of(Engine::simplicial);
    order.ordered = by_rows ? order.columns : former->ordered_columns;
  }
  LuOptions engines = options;
  if (border && solves_on_fronts(options) && options.engine == Engine::automatic)
    engines.engine = Engine::multifrontal;
  auto pivots = choose_pivots(exec, A, on_host, engines, budget, report, order);
  if (!pivots) {
    analysis->F.reservation = MemoryReservation(budget);
    analysis->F.A = Impl::copy_pattern(exec, analysis->F.reservation, A.pattern());
    exec.fence("lutra::solver: the pattern is copied");
    return analysis;
  }
  if (pivots->reuse == Reuse::everything)
    return Impl::with_new_scales(exec, *former, pivots->matching, report, analysis->value_hash, budget);
  if (pivots->reuse == Reuse::ordering) {
    report.choice.ordering = former->report.choice.ordering;
    report.factors.tree_height = former->report.factors.tree_height;
    Impl::add_reason(report, "ordering: reused, the matched pattern is the same");
  }

  if (!pivots->block_triangular) analysis->ordered_columns = pivots->columns;
  const Impl::StageTimer tree_timer(exec, true);
  const auto [engine, tree] = prepare_engine(exec, A, on_host.pattern(), engines, model.numeric, budget,
                                             *pivots, former ? &former->report : nullptr, report);
  const double tree_seconds = tree_timer.seconds();
  analysis->reservation = MemoryReservation(budget);
  Impl::upload_scales(exec, pivots->matching, *analysis);
  analysis->F = Impl::permute(exec, A.pattern(), *pivots, budget);
  if (engine == Engine::multifrontal) {
    const Impl::StageTimer timer(exec, true);
    const bool bordered = border && solves_on_fronts(options);
    const auto plan = [&](const auto& F, const auto& fronts, const auto& entries) {
      return plan_multifrontal<Scalar, ExecutionSpace>(exec, F, fronts, entries, options, budget,
                                                       std::nullopt, bordered ? border : nullptr);
    };
    analysis->bordered = bordered;
    analysis->plan =
        bordered ? Impl::plan_bordered(exec, *border, *pivots, tree, budget, plan)
                 : plan(analysis->F, tree, FrontEntries{on_host.pattern(), pivots->rows, pivots->columns});
    report.times.symbolic = 0;
    report.times.levelization = timer.seconds();
  } else {
    analysis->plan = plan_simplicial<Scalar>(exec, analysis->F, options, budget, report);
  }
  *report.times.symbolic += tree_seconds;
  const auto height = report.factors.tree_height;
  report.factors = analysis->plan->counts;
  report.factors.tree_height = height;
  report.factors.levels = static_cast<std::int64_t>(analysis->plan->level_widths.size());
  report.choice.trisolve = analysis->plan->solve_method;
  if (options.trisolve == TrisolveMethod::automatic) Impl::add_reason(report, analysis->plan->solve_reason);
  const auto nnz = static_cast<double>(A.nnz());
  report.factors.fill_ratio =
      nnz > 0 ? static_cast<double>(*report.factors.nnz_l + *report.factors.nnz_u) / nnz : 0.0;
  exec.fence("lutra::solver: the analysis is complete for other instances");
  return analysis;
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Analysis<Scalar, ExecutionSpace>> Impl::renew_analysis(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values,
    const MemoryBudget& budget) {
  if (former.symmetric) return renew_symmetric(exec, former, values, budget);
  const auto& pattern = former.F.A;
  const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space> A{
      pattern.n_rows, pattern.n_cols, pattern.row_map, pattern.entries, values};
  return analyze_checked(exec, A, std::get<LuOptions>(former.options), budget, &former);
}

#define LUTRA_ANALYZE_LU(Scalar, Space)                                                              \
  template struct Analysis<Scalar, Space>;                                                           \
  template Impl::AnalysisPointer<Scalar, Space> Impl::analyze_checked<Scalar, Space>(                \
      const Space&, const Impl::DeviceMatrix<Scalar, Space>&, const LuOptions&, const MemoryBudget&, \
      const Analysis<Scalar, Space>*, const std::shared_ptr<Impl::Border<Scalar, Space>>&);          \
  template std::shared_ptr<const Analysis<Scalar, Space>> Impl::renew_analysis(                      \
      const Space&, const Analysis<Scalar, Space>&,                                                  \
      const Kokkos::View<const Scalar*, typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_ANALYZE_LU)

}  // namespace lutra
