// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SimplicialPlan.hpp"

#include <utility>

#include "Lutra_Instantiate.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_Timer.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_simplicial(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const LuOptions& options, const MemoryBudget& budget, Report& report) {
  using Simplicial = SimplicialEngine<Scalar, ExecutionSpace>;
  const Impl::StageTimer timer(exec, true);
  MemoryReservation reservation(budget);
  auto permuted = Impl::permute_pattern(exec, reservation, F.A, F.row_order, F.col_order);
  const auto filled =
      factorize_symbolic(exec, permuted, budget, {options.symbolic, false, options.device_model});
  report.choice.symbolic = name_of(filled.method);
  if (!filled.reason.empty()) Impl::add_reason(report, filled.reason);
  report.times.symbolic = timer.seconds();
  auto plan = std::make_shared<SimplicialPlan<Scalar, ExecutionSpace>>();
  plan->lu = Simplicial::plan(exec, F, std::exchange(permuted, {}), std::move(reservation), filled, budget);
  const auto& rows = plan->lu.lu.rows;
  TriangularOptions triangular;
  triangular.method = options.trisolve;
  triangular.precision = options.solve_precision;
  triangular.device_model = options.device_model;
  plan->solves.emplace(exec, rows, F.row_order, F.col_order, triangular, budget);
  plan->solve_method = name_of(plan->solves->upper_report().method);
  plan->solve_reason = "solves: " + plan->solves->upper_report().reason;
  plan->level_widths = Simplicial::level_widths(plan->lu);
  plan->counts.nnz_l = static_cast<std::int64_t>(rows.nnz_l);
  plan->counts.nnz_u = static_cast<std::int64_t>(rows.nnz_u);
  plan->counts.flops = plan->lu.lu.flops;
  report.times.levelization = timer.seconds() - *report.times.symbolic;
  return plan;
}

#define LUTRA_SIMPLICIAL_PLAN(Scalar, Space)                                                \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_simplicial<Scalar>( \
      const Space&, const PermutedPattern<typename Space::memory_space>&, const LuOptions&, \
      const MemoryBudget&, Report&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_SIMPLICIAL_PLAN)

}  // namespace lutra
