// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SimplicialPlan.hpp"

#include <span>
#include <utility>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

/// Copies a pattern to the memory of the execution space. Fences.
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> to_memory_of(const ExecutionSpace& exec,
                                                              const LuPattern<Kokkos::HostSpace>& filled,
                                                              const MemoryBudget& budget) {
  LuPattern<typename ExecutionSpace::memory_space> result;
  MemoryReservation reservation(budget);
  const auto copy = [&]<class View>(const char* label, const View& view) {
    using Part = std::span<typename View::const_value_type>;
    return Impl::upload_parts(exec, reservation, label, std::vector<Part>{Part(view.data(), view.extent(0))});
  };
  result.n = filled.n;
  result.row_map = copy("lutra::symbolic::row_map", filled.row_map);
  result.entries = copy("lutra::symbolic::entries", filled.entries);
  result.diagonal = copy("lutra::symbolic::diagonal", filled.diagonal);
  result.nnz_l = filled.nnz_l;
  result.nnz_u = filled.nnz_u;
  result.method = filled.method;
  result.exact = filled.exact;
  result.reason = filled.reason;
  result.fill2 = filled.fill2;
  result.reservation = reservation;
  return result;
}
/// On hosts the pattern itself.
template <Impl::HostExecution ExecutionSpace>
const LuPattern<Kokkos::HostSpace>& to_memory_of(const ExecutionSpace&,
                                                 const LuPattern<Kokkos::HostSpace>& filled,
                                                 const MemoryBudget&) {
  return filled;
}

/// Finds the pattern of L + U by the source in the options, if there is one.
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> find_pattern(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& permuted,
    const LuOptions& options, const MemoryBudget& budget) {
  if (!options.pattern_source)
    return factorize_symbolic(exec, permuted, budget,
                              {options.symbolic, false, options.device_model, options.fill2});
  exec.fence("lutra::solver: the permuted pattern is complete");
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> on_host{
      permuted.n_rows, permuted.n_cols, Impl::mirror_in<Kokkos::HostSpace>(permuted.row_map),
      Impl::mirror_in<Kokkos::HostSpace>(permuted.entries)};
  return to_memory_of(exec, options.pattern_source->find(on_host, budget), budget);
}

}  // namespace

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_simplicial(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const LuOptions& options, const MemoryBudget& budget, Report& report) {
  using Simplicial = SimplicialEngine<Scalar, ExecutionSpace>;
  const Impl::StageTimer timer(exec, true);
  MemoryReservation reservation(budget);
  auto permuted = Impl::permute_pattern(exec, reservation, F.A, F.row_order, F.col_order);
  const auto filled = find_pattern(exec, permuted, options, budget);
  report.choice.symbolic = name_of(filled.method);
  report.fill2 = filled.fill2;
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
