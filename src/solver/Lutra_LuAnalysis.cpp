// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Numeric.hpp"

#include "Lutra_AnalysisSteps.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ChooseEngine.hpp"
#include "Lutra_FixedCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_OtherPivots.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_ScaleFit.hpp"
#include "Lutra_SimplicialPlan.hpp"
#include "Lutra_SinglePrecision.hpp"
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

/// Whether factors that do not fit may be streamed from host memory.
template <class ExecutionSpace>
bool may_stream(const LuOptions& options, bool bordered) {
  if (bordered || !solves_on_fronts(options)) return false;
  return options.factor_storage == FactorStorage::streamed ||
         (options.factor_storage == FactorStorage::automatic && !Impl::is_host_space<ExecutionSpace>);
}

/// Why factors are streamed; empty: they are resident.
template <class ExecutionSpace>
std::string reason_to_stream(const LuOptions& options, bool bordered, bool fit) {
  if (!may_stream<ExecutionSpace>(options, bordered)) return "";
  if (options.factor_storage == FactorStorage::streamed) return "as the options ask";
  return fit ? "" : "since they do not fit into the memory that is left";
}

/// Whether fronts fit into the memory that is left, in the precision that the options ask for.
template <class Scalar, class ExecutionSpace>
bool factors_fit(const ExecutionSpace& exec, const LuOptions& options, const AssemblyTree& tree,
                 std::int64_t nnz, const MemoryBudget& budget) {
  if constexpr (Impl::has_single_factors<Scalar>) {
    using Single = typename Impl::SingleOf<Scalar>::type;
    if (options.factor_precision == FactorPrecision::single)
      return fronts_fit<Single>(exec, options, tree, nnz, budget);
  }
  return fronts_fit<Scalar>(exec, options, tree, nnz, budget);
}

/// Computes the properties on which the choice of an engine depends.
template <class Scalar, class ExecutionSpace>
Impl::EngineProperties properties_of(const ExecutionSpace& exec, const LuOptions& options,
                                     const AssemblyTree& tree, std::int64_t nnz, bool block_triangular,
                                     bool bordered, const MemoryBudget& budget) {
  Impl::EngineProperties properties;
  properties.block_triangular = block_triangular;
  const double entries = entries_of_panels(tree);
  properties.flops_per_entry = entries > 0 ? tree.flops / entries : 0.0;
  properties.fronts_fit = factors_fit<Scalar>(exec, options, tree, nnz, budget);
  properties.may_stream = may_stream<ExecutionSpace>(options, bordered);
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

/// An engine with its assembly tree.
struct PreparedEngine {
  Engine engine;
  AssemblyTree tree;
  bool fits = true;  ///< fronts fit into memory
};

/// Chooses an engine, reorders the pivots for it, and returns its assembly tree.
/// @param former analysis whose order is reused, if it uses LU by rows with the same engine
template <class Scalar, class ExecutionSpace>
PreparedEngine prepare_engine(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& on_host, const LuOptions& options,
    const NumericDeviceModel& model, bool bordered, const MemoryBudget& budget, PivotOrder& pivots,
    const Report* former, Report& report) {
  AssemblyTree tree;
  if (pivots.reuse == Reuse::ordering && former->choice.engine == name_of(Engine::simplicial)) {
    report.choice.engine = former->choice.engine;
    return {Engine::simplicial, std::move(tree)};
  }
  const bool tree_order = wants_tree_order<ExecutionSpace>(options);
  if (Impl::may_take_fronts(options) || tree_order)
    tree = Impl::build_tree(exec, A.pattern(), on_host, pivots, budget);
  const auto properties = properties_of<Scalar>(exec, options, tree, static_cast<std::int64_t>(A.nnz()),
                                                pivots.block_triangular, bordered, budget);
  const auto [engine, reason] = Impl::choose_engine(options, properties, model);
  report.choice.engine = name_of(engine);
  if (!reason.empty()) Impl::add_reason(report, reason);
  if (engine == Engine::multifrontal) Impl::collect_rows(pivots, tree);
  if (engine == Engine::multifrontal || tree_order) pivots.reorder(tree.order);
  if (engine == Engine::multifrontal) {
    report.choice.symbolic = name_of(SymbolicMethod::etree);
    if (const std::string why = Impl::reason_for_etree(options); !why.empty()) Impl::add_reason(report, why);
  }
  return {engine, std::move(tree), properties.fronts_fit};
}

/// Returns whether to compute the factors in single precision, and reports it.
/// @throws InputError if the library is not built for them
template <class Scalar>
bool takes_single_precision(const LuOptions& options, Report& report) {
  using Single = typename Impl::SingleOf<Scalar>::type;
  if (options.factor_precision == FactorPrecision::working || std::is_same_v<Single, Scalar>) return false;
  if (!Impl::has_single_factors<Scalar>)
    throw InputError("options: factor_precision single needs a library built for " +
                     std::string(ScalarTraits<Scalar>::is_complex ? "c64" : "f32") +
                     " too (CMake option Lutra_SCALARS)");
  Impl::add_reason(report, "factors in single precision: factor_precision");
  return true;
}

/// Plans fronts whose values have the type Scalar.
/// @param streamed why factors are streamed; empty: they are resident
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_fronts_of(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& entries, const LuOptions& options,
    const std::string& streamed, const MemoryBudget& budget) {
  if (streamed.empty())
    return plan_multifrontal<Scalar, ExecutionSpace>(exec, F, tree, entries, options, budget);
  return plan_streamed_fronts<Scalar, ExecutionSpace>(exec, F, tree, entries, options, budget, streamed);
}

/// Plans fronts, in single precision if the options ask for it. What is streamed in single precision is
/// streamed in working precision, too.
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_fronts(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const AssemblyTree& tree, const FrontEntries& entries, const LuOptions& options,
    const std::string& streamed, const MemoryBudget& budget, Report& report) {
  const bool single = takes_single_precision<Scalar>(options, report);
  if constexpr (Impl::has_single_factors<Scalar>) {
    if (single) {
      const auto plan_working = [F, tree = std::make_shared<const AssemblyTree>(tree), options, streamed](
                                    const ExecutionSpace& on, const MemoryBudget& charged) {
        const auto rows = Impl::to_host<Ordinal>(on, F.row_order),
                   columns = Impl::to_host<Ordinal>(on, F.col_order);
        const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> pattern{
            F.A.n_rows, F.A.n_cols, Impl::mirror_in<Kokkos::HostSpace>(F.A.row_map),
            Impl::mirror_in<Kokkos::HostSpace>(F.A.entries)};
        return plan_fronts_of<Scalar>(on, F, *tree, FrontEntries{pattern, rows, columns}, options, streamed,
                                      charged);
      };
      using Single = typename Impl::SingleOf<Scalar>::type;
      return Impl::plan_in_single_precision<Scalar, ExecutionSpace>(
          exec, F.A, plan_fronts_of<Single>(exec, F, tree, entries, options, streamed, budget), plan_working,
          budget);
    }
  }
  return plan_fronts_of<Scalar>(exec, F, tree, entries, options, streamed, budget);
}

/// Plans the simplicial engine, in single precision if the options ask for it.
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_columns(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const LuOptions& options, const MemoryBudget& budget, Report& report) {
  const bool single = takes_single_precision<Scalar>(options, report);
  if constexpr (Impl::has_single_factors<Scalar>) {
    if (single) {
      const auto plan_working = [F, options](const ExecutionSpace& on, const MemoryBudget& charged) {
        Report unused;
        return plan_simplicial<Scalar>(on, F, options, charged, unused);
      };
      using Single = typename Impl::SingleOf<Scalar>::type;
      return Impl::plan_in_single_precision<Scalar, ExecutionSpace>(
          exec, F.A, plan_simplicial<Single>(exec, F, options, budget, report), plan_working, budget);
    }
  }
  return plan_simplicial<Scalar>(exec, F, options, budget, report);
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

namespace Impl {

/// Implements analyze_checked. @param rows whether they are permuted by a matching
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> analyze_lu(
    const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A, const LuOptions& given,
    const MemoryBudget& budget, const Analysis<Scalar, ExecutionSpace>* former,
    const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border, RowOrder rows) {
  const LuOptions options =
      Impl::with_fixed_order<ExecutionSpace>(Impl::with_fixed_costs<ExecutionSpace>(given));
  if (options.ordering == Ordering::user) check_permutation(options.user_permutation, A.n_rows);
  const std::size_t used_before = budget.used_bytes();
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
  const bool bordered = border && solves_on_fronts(options);
  if ((bordered || options.factor_storage == FactorStorage::streamed) && options.engine == Engine::automatic)
    engines.engine = Engine::multifrontal;
  auto pivots = choose_pivots(exec, A, on_host, engines, budget, report, order, rows);
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
  const auto [engine, tree, fits] = [&] {
    const Impl::RunStage stage(budget, "symbolic");
    return prepare_engine(exec, A, on_host.pattern(), engines, model.numeric, bordered, budget, *pivots,
                          former ? &former->report : nullptr, report);
  }();
  const double tree_seconds = tree_timer.seconds();
  analysis->reservation = MemoryReservation(budget);
  Impl::upload_scales(exec, pivots->matching, *analysis);
  analysis->F = Impl::permute(exec, A.pattern(), *pivots, budget);
  if (engine == Engine::multifrontal) {
    const Impl::RunStage stage(budget, "levelization");
    const Impl::StageTimer timer(exec, true);
    const std::string streamed = reason_to_stream<ExecutionSpace>(options, bordered, fits);
    analysis->bordered = bordered;
    if (bordered) {
      const auto plan = [&](const auto& F, const auto& fronts, const auto& entries) {
        return plan_multifrontal<Scalar, ExecutionSpace>(exec, F, fronts, entries, options, budget,
                                                         std::nullopt, border);
      };
      analysis->plan = Impl::plan_bordered(exec, *border, *pivots, tree, budget, plan);
    } else {
      analysis->plan = plan_fronts<Scalar>(exec, analysis->F, tree,
                                           FrontEntries{on_host.pattern(), pivots->rows, pivots->columns},
                                           options, streamed, budget, report);
    }
    report.times.symbolic = 0;
    report.times.levelization = timer.seconds();
  } else {
    analysis->plan = plan_columns<Scalar>(exec, analysis->F, options, budget, report);
  }
  *report.times.symbolic += tree_seconds;
  const auto height = report.factors.tree_height;
  report.factors = analysis->plan->counts;
  report.factors.tree_height = height;
  report.factors.levels = static_cast<std::int64_t>(analysis->plan->level_widths.size());
  report.choice.trisolve = analysis->plan->solve_method;
  if (options.trisolve == TrisolveMethod::automatic) Impl::add_reason(report, analysis->plan->solve_reason);
  if (!analysis->plan->storage_reason.empty()) Impl::add_reason(report, analysis->plan->storage_reason);
  const auto nnz = static_cast<double>(A.nnz());
  report.factors.fill_ratio =
      nnz > 0 ? static_cast<double>(*report.factors.nnz_l + *report.factors.nnz_u) / nnz : 0.0;
  analysis->held_bytes = Impl::bytes_since(used_before, budget);
  report.memory.forecast = analysis->forecast();
  wait_for(exec, "lutra::solver: the analysis is complete for other instances");
  return analysis;
}

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
auto Impl::analyze_checked(const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A,
                           const LuOptions& options, const MemoryBudget& budget,
                           const Analysis<Scalar, ExecutionSpace>* former,
                           const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border)
    -> AnalysisPointer<Scalar, ExecutionSpace> {
  return analyze_lu(exec, A, options, budget, former, border, RowOrder::matched);
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

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Analysis<Scalar, ExecutionSpace>> Impl::with_other_pivots(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values, PivotChange change,
    const MemoryBudget& budget) {
  LuOptions options = std::get<LuOptions>(former.options);
  options.pivoting = Pivoting::threshold;
  options.factor_precision = FactorPrecision::working;
  const auto& pattern = former.F.A;
  const DeviceMatrix<Scalar, ExecutionSpace> A{pattern.n_rows, pattern.n_cols, pattern.row_map,
                                               pattern.entries, values};
  const RowOrder rows = change == PivotChange::diagonal ? RowOrder::diagonal : RowOrder::matched;
  return analyze_lu<Scalar, ExecutionSpace>(exec, A, options, budget, nullptr, {}, rows);
}

#define LUTRA_ANALYZE_LU(Scalar, Space)                                                                    \
  template struct Analysis<Scalar, Space>;                                                                 \
  template Impl::AnalysisPointer<Scalar, Space> Impl::analyze_checked<Scalar, Space>(                      \
      const Space&, const Impl::DeviceMatrix<Scalar, Space>&, const LuOptions&, const MemoryBudget&,       \
      const Analysis<Scalar, Space>*, const std::shared_ptr<Impl::Border<Scalar, Space>>&);                \
  template std::shared_ptr<const Analysis<Scalar, Space>> Impl::with_other_pivots(                         \
      const Space&, const Analysis<Scalar, Space>&,                                                        \
      const Kokkos::View<const Scalar*, typename Space::memory_space>&, PivotChange, const MemoryBudget&); \
  template std::shared_ptr<const Analysis<Scalar, Space>> Impl::renew_analysis(                            \
      const Space&, const Analysis<Scalar, Space>&,                                                        \
      const Kokkos::View<const Scalar*, typename Space::memory_space>&, const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_ANALYZE_LU)

}  // namespace lutra
