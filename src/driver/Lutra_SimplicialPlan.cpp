// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SimplicialPlan.hpp"

#include <type_traits>

#include "Lutra_Instantiate.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RightLookingPlan.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_UpLookingPlan.hpp"

namespace lutra {
namespace {

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
using SimplicialPlan = std::conditional_t<Impl::is_host_space<ExecutionSpace>,
                                          UpLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>,
                                          RightLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>>;

/// The pattern of L + U.
template <class Ordinal, class Offset, class ExecutionSpace>
auto fill_pattern(const ExecutionSpace& exec,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& F,
                  SymbolicMethod method, const MemoryBudget& budget, Report& report) {
  auto filled = factorize_symbolic(exec, F, budget, {method});
  report.choice.symbolic = name_of(filled.method);
  if (!filled.why.empty()) Impl::add_reason(report, filled.why);
  return filled;
}

/// @returns seconds of the symbolic factorization
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
double plan_values(const ExecutionSpace& exec, const LuOptions& options, const MemoryBudget& budget,
                   UpLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>& plan, Report& report) {
  const Impl::StageTimer timer(exec, true);
  const auto& F = plan.F;
  const auto permuted = Impl::permute_pattern(exec, plan.reservation, F.A, F.row_order, F.col_order);
  const auto filled = fill_pattern(exec, permuted, options.symbolic, budget, report);
  const double seconds = timer.seconds();
  plan.lu = plan_up_looking_lu(exec, filled, permuted, budget);
  return seconds;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
double plan_values(const ExecutionSpace& exec, const LuOptions& options, const MemoryBudget& budget,
                   RightLookingPlan<Scalar, Ordinal, Offset, ExecutionSpace>& plan, Report& report) {
  const Impl::StageTimer timer(exec, true);
  const auto& F = plan.F;
  LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> filled;
  {
    MemoryReservation scratch(budget);
    const auto permuted = Impl::permute_pattern(exec, scratch, F.A, F.row_order, F.col_order);
    filled = fill_pattern(exec, permuted, options.symbolic, budget, report);
  }
  const double seconds = timer.seconds();
  plan.lu = plan_right_looking_lu(exec, filled, budget);
  plan.target = Impl::locate_entries(exec, F, filled, plan.lu.row_to_column, plan.reservation, budget);
  return seconds;
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_simplicial(
    const ExecutionSpace& exec,
    const PermutedPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& F,
    const LuOptions& options, const MemoryBudget& budget, Report& report) {
  const Impl::StageTimer timer(exec, true);
  auto plan = std::make_shared<SimplicialPlan<Scalar, Ordinal, Offset, ExecutionSpace>>();
  plan->F = F;
  plan->reservation = MemoryReservation(budget);
  plan->triangular.method = options.trisolve;
  plan->triangular.precision = options.solve_precision;
  report.times.symbolic = plan_values(exec, options, budget, *plan, report);
  report.times.levelization = timer.seconds() - *report.times.symbolic;
  return plan;
}

#define LUTRA_SIMPLICIAL_PLAN(Scalar, Ordinal, Offset, Space)                                                \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_simplicial<Scalar>(                  \
      const Space&, const PermutedPattern<Ordinal, Offset, typename Space::memory_space>&, const LuOptions&, \
      const MemoryBudget&, Report&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_SIMPLICIAL_PLAN)

}  // namespace lutra
