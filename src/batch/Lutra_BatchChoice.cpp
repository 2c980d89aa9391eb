// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BatchChoice.hpp"

#include "Lutra_Batch.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MultifrontalPlan.hpp"

namespace lutra::Impl {
namespace {

template <class Scalar, class ExecutionSpace>
const MultifrontalPlan<Scalar, ExecutionSpace>* fronts_of(const Analysis<Scalar, ExecutionSpace>& analysis) {
  const auto* const plan = dynamic_cast<const MultifrontalPlan<Scalar, ExecutionSpace>*>(analysis.plan.get());
  return plan != nullptr && !plan->streamed && !plan->border ? plan : nullptr;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
bool takes_fronts(const Analysis<Scalar, ExecutionSpace>& analysis, const DirectOptions& options) {
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
  LuOptions of_fronts = std::get<LuOptions>(analysis.options);
  of_fronts.pivoting = options.pivoting;
  return take_front_tree(exec, *fronts_of(analysis), of_fronts);
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
