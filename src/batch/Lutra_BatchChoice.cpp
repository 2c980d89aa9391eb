// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BatchChoice.hpp"

#include "Lutra_Batch.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltAttempts.hpp"
#include "Lutra_LdltEngine.hpp"
#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

template <class Scalar, class ExecutionSpace>
const MultifrontalPlan<Scalar, ExecutionSpace>* fronts_of(const Analysis<Scalar, ExecutionSpace>& analysis) {
  const auto* const plan = dynamic_cast<const MultifrontalPlan<Scalar, ExecutionSpace>*>(analysis.plan.get());
  return plan != nullptr && !plan->streamed && !plan->border ? plan : nullptr;
}

template <class Scalar, class ExecutionSpace>
const LdltEnginePlan<Scalar, ExecutionSpace>* ldlt_fronts_of(
    const Analysis<Scalar, ExecutionSpace>& analysis) {
  const auto* const plan = dynamic_cast<const LdltEnginePlan<Scalar, ExecutionSpace>*>(analysis.plan.get());
  const bool is_resident = plan != nullptr && plan->storage_reason.empty();
  return is_resident && !plan->border && plan->min_zero == 0 ? plan : nullptr;
}

/// The options of an analysis with the pivoting of a batch, no choice of pivots being `automatic`.
LdltOptions with_pivoting(LdltOptions ldlt, const DirectOptions& options) {
  if (options.pivoting != Pivoting::automatic) ldlt.pivoting = options.pivoting;
  return completed(std::move(ldlt));
}

template <class Scalar, class ExecutionSpace>
bool takes_ldlt_fronts(const Analysis<Scalar, ExecutionSpace>& analysis, const LdltOptions& ldlt,
                       const DirectOptions& options) {
  if (ldlt_fronts_of(analysis) == nullptr || ldlt.engine == Engine::simplicial) return false;
  if (ldlt.deterministic && !is_host_space<ExecutionSpace>) return false;
  if (ldlt.engine == Engine::multifrontal) return true;
  const bool is_asked = options.pivoting == Pivoting::threshold || ldlt.pivoting == Pivoting::threshold;
  const bool needs_pairs =
      analysis.zero_diagonals > 0 && with_pivoting(ldlt, options).pivoting != Pivoting::none;
  return !ldlt.positive_definite && (is_asked || needs_pairs);
}

/// The tree and pattern of fronts that a plan has on the device.
template <class ExecutionSpace, class Plan, class Options>
FrontTree download_tree(const ExecutionSpace& exec, const Plan& plan,
                        const PermutedPattern<typename ExecutionSpace::memory_space>& F,
                        const Options& options) {
  FrontTree one;
  AssemblyTree& tree = one.tree;
  tree.n = plan.n;
  tree.rows = to_host<Ordinal>(exec, plan.rows);
  for (const Front& front : plan.layout.fronts) {
    tree.pivot_begin.push_back(front.first_pivot);
    tree.parent.push_back(front.parent);
    tree.row_begin.push_back(front.rows);
  }
  tree.pivot_begin.push_back(tree.n);
  tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
  one.row_order = to_host<Ordinal>(exec, F.row_order);
  one.col_order = to_host<Ordinal>(exec, F.col_order);
  one.A_map = to_host<Offset>(exec, F.A.row_map);
  one.A_entries = to_host<Ordinal>(exec, F.A.entries);
  one.options = options;
  return one;
}

/// The tree and pattern of fronts that are still to be planned.
template <class ExecutionSpace, class Options>
FrontTree take_tree(const ExecutionSpace& exec, const PivotedInput& input, const Options& options) {
  FrontTree one;
  one.tree = input.tree;
  one.tree.order.clear();
  one.row_order = one.col_order = input.order;
  one.A_map = to_host<Offset>(exec, input.A.row_map);
  one.A_entries = to_host<Ordinal>(exec, input.A.entries);
  one.options = options;
  return one;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
bool takes_fronts(const Analysis<Scalar, ExecutionSpace>& analysis, const DirectOptions& options) {
  if (const auto* const ldlt = std::get_if<LdltOptions>(&analysis.options))
    return takes_ldlt_fronts(analysis, *ldlt, options);
  const auto* const lu = std::get_if<LuOptions>(&analysis.options);
  const auto* const plan = fronts_of(analysis);
  if (lu == nullptr || plan == nullptr || lu->deterministic) return false;
  if (lu->engine == Engine::multifrontal || options.pivoting == Pivoting::threshold) return true;
  if (is_host_space<ExecutionSpace>) return false;
  return fronts_are_faster(analysis.n, plan->fronts.flops,
                           static_cast<double>(plan->fronts.panel_layout.entries()));
}

template <class Scalar, class ExecutionSpace>
FrontTree take_front_tree(const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& analysis,
                          const DirectOptions& options) {
  if (const auto* const ldlt = std::get_if<LdltOptions>(&analysis.options)) {
    const auto& plan = *ldlt_fronts_of(analysis);
    const LdltOptions of_fronts = with_pivoting(*ldlt, options);
    return plan.pivoted ? download_tree(exec, plan.pivoted->plan.base, plan.F, of_fronts)
                        : take_tree(exec, *plan.input, of_fronts);
  }
  LuOptions of_fronts = std::get<LuOptions>(analysis.options);
  of_fronts.pivoting = options.pivoting;
  const auto& plan = *fronts_of(analysis);
  FrontTree one = download_tree(exec, plan.fronts, plan.F, of_fronts);
  one.tree.flops = plan.fronts.flops;
  return one;
}

template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> analyze_for_batch(const ExecutionSpace& exec,
                                                          const DeviceMatrix<Scalar, ExecutionSpace>& A,
                                                          const LuOptions& options,
                                                          const MemoryBudget& budget) {
  const LuOptions of_lanes = for_batch(options);
  const auto analyze_with = [&](const LuOptions& with) {
    return lutra::analyze<Scalar, ExecutionSpace>(exec, A, with, budget);
  };
  const bool is_open = options.engine == Engine::automatic && of_lanes.engine == Engine::simplicial;
  if (!is_open || is_host_space<ExecutionSpace>) return analyze_with(of_lanes);
  // With `deterministic` devices analyze fronts only; lanes then take their pattern.
  if (options.deterministic) return analyze_with(options);
  auto analysis = analyze_with(options);
  return takes_fronts(*analysis, options) || fronts_of(*analysis) == nullptr ? analysis
                                                                             : analyze_with(of_lanes);
}

#define LUTRA_BATCH_CHOICE(Scalar, Space)                                                                 \
  template bool takes_fronts(const Analysis<Scalar, Space>&, const DirectOptions&);                       \
  template FrontTree take_front_tree(const Space&, const Analysis<Scalar, Space>&, const DirectOptions&); \
  template AnalysisPointer<Scalar, Space> analyze_for_batch<Scalar, Space>(                               \
      const Space&, const DeviceMatrix<Scalar, Space>&, const LuOptions&, const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BATCH_CHOICE)

}  // namespace lutra::Impl
