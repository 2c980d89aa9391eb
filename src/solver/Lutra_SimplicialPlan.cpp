// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SimplicialPlan.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

/// Copies a pattern to the memory of the execution space and charges it to the budget. Fences.
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> upload(const ExecutionSpace& exec,
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
/// The pattern in memory of the execution space: a copy on devices, itself on hosts.
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> to_memory_of(const ExecutionSpace& exec,
                                                              const LuPattern<Kokkos::HostSpace>& filled,
                                                              const MemoryBudget& budget) {
  return upload(exec, filled, budget);
}
template <Impl::HostExecution ExecutionSpace>
const LuPattern<Kokkos::HostSpace>& to_memory_of(const ExecutionSpace&,
                                                 const LuPattern<Kokkos::HostSpace>& filled,
                                                 const MemoryBudget&) {
  return filled;
}

/// Finds the pattern by `factorize_symbolic`. Under a memory limit that fill2 exceeds while it searches, rows
/// are found in ranges and kept in host memory, and the pattern returns to the execution space once the
/// working space is free ("End-to-End LU Factorization of Large Matrices on GPUs", section 3.2).
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> search_pattern(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& permuted,
    const LuOptions& options, const MemoryBudget& budget) {
  const SymbolicOptions symbolic{options.symbolic, false, options.device_model, options.fill2};
  if (options.symbolic != SymbolicMethod::fill2 || budget.limit_bytes() == 0)
    return factorize_symbolic(exec, permuted, budget, symbolic);
  try {
    return factorize_symbolic(exec, permuted, budget, symbolic);
  } catch (const OutOfMemoryError&) {  // leaves the try block first, so that all of its memory is free
  }
  return upload(exec, factorize_symbolic_to_host(exec, permuted, budget, symbolic), budget);
}

/// Finds the pattern of L + U by the source in the options, if there is one.
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> find_pattern(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& permuted,
    const LuOptions& options, const MemoryBudget& budget) {
  if (!options.pattern_source) return search_pattern(exec, permuted, options, budget);
  exec.fence("lutra::solver: the permuted pattern is complete");
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> on_host{
      permuted.n_rows, permuted.n_cols, Impl::mirror_in<Kokkos::HostSpace>(permuted.row_map),
      Impl::mirror_in<Kokkos::HostSpace>(permuted.entries)};
  return to_memory_of(exec, options.pattern_source->find(on_host, budget), budget);
}

/// Counts the flops of a factorization on the pattern of L + U: divisions, plus a multiplication and an
/// addition per pair of entries of L(:, j) and U(j, :). Two launches.
template <class ExecutionSpace>
double count_flops(const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
                   const MemoryBudget& budget) {
  MemoryReservation reservation(budget);
  using Counts = Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>;
  const auto below = reservation.template allocate<Counts>(exec, "lutra::solver::entries of L by columns",
                                                           static_cast<std::size_t>(filled.n));
  Kokkos::deep_copy(exec, below, 0);
  const auto row_map = filled.row_map, diagonal = filled.diagonal;
  const auto entries = filled.entries;
  const Kokkos::RangePolicy<ExecutionSpace> rows(exec, 0, filled.n);
  Kokkos::parallel_for(
      "lutra::solver::entries of L by columns", rows, KOKKOS_LAMBDA(const Ordinal i) {
        for (Offset p = row_map(i); p < diagonal(i); ++p) Kokkos::atomic_inc(&below(entries(p)));
      });
  double flops = 0;
  Kokkos::parallel_reduce(
      "lutra::solver::flops", rows,
      KOKKOS_LAMBDA(const Ordinal j, double& sum) {
        const auto right = static_cast<double>(row_map(j + 1) - diagonal(j) - 1);
        sum += static_cast<double>(below(j)) * (1 + 2 * right);
      },
      flops);
  return flops;
}

/// Whether to factorize by supernodes. From 40 flops per entry on, devices take 0.2 to 0.6 of the time of
/// columns (docs/supernodes.md); below, a plan for few products may cost more than it spares.
template <class ExecutionSpace>
bool takes_supernodes(const ExecutionSpace& exec,
                      const LuPattern<typename ExecutionSpace::memory_space>& filled,
                      const ColumnOptions& options, const MemoryBudget& budget, Report& report) {
  constexpr double min_flops_per_entry = 40;
  if (options.supernodes != ColumnSupernodes::automatic) return options.supernodes == ColumnSupernodes::on;
  if (Impl::is_host_space<ExecutionSpace> || asks_for_columns(options)) return false;
  const double per_entry =
      count_flops(exec, filled, budget) / std::max(1.0, static_cast<double>(filled.nnz_l + filled.nnz_u));
  const bool pays = per_entry >= min_flops_per_entry;
  Impl::add_reason(report, std::string("factorization by ") + (pays ? "supernodes: " : "columns: ") +
                               std::to_string(std::llround(per_entry)) + " flops per entry of L + U");
  return pays;
}

/// Writes number, zeros and bytes of the supernodes.
template <class Plan>
void describe_supernodes(const Plan& lu, std::size_t value_bytes, FactorCounts& counts) {
  counts.supernodes = static_cast<std::int64_t>(lu.count);
  counts.supernode_zeros = static_cast<std::int64_t>(lu.zeros);
  counts.supernode_bytes =
      static_cast<std::int64_t>(lu.reservation.bytes() + static_cast<std::size_t>(lu.n_values) * value_bytes);
}

/// Plan of an engine without its solves.
template <class Engine, class Scalar, class ExecutionSpace, class Pattern>
auto make_plan(const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
               const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& permuted,
               MemoryReservation reservation, const Pattern& filled, const ColumnOptions& options,
               const MemoryBudget& budget) {
  auto plan = std::make_shared<SimplicialPlan<Scalar, ExecutionSpace, Engine>>();
  plan->lu = Engine::plan(exec, F, permuted, std::move(reservation), filled, options, budget);
  plan->level_widths = Engine::level_widths(plan->lu);
  plan->counts.nnz_l = static_cast<std::int64_t>(filled.nnz_l);
  plan->counts.nnz_u = static_cast<std::int64_t>(filled.nnz_u);
  plan->counts.flops = plan->lu.lu.flops;
  return plan;
}

/// Plan by supernodes; null if they are not the caller's choice and exceed the memory limit where columns may
/// not.
template <class Scalar, class ExecutionSpace>
auto plan_supernodes(const ExecutionSpace& exec,
                     const PermutedPattern<typename ExecutionSpace::memory_space>& F,
                     const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& permuted,
                     const MemoryReservation& reservation,
                     const LuPattern<typename ExecutionSpace::memory_space>& filled,
                     const ColumnOptions& options, const MemoryBudget& budget) {
  using Plan = decltype(make_plan<Impl::SupernodalEngine<Scalar, ExecutionSpace>, Scalar>(
      exec, F, permuted, reservation, filled, options, budget));
  const bool may_fail = options.supernodes == ColumnSupernodes::automatic;
  try {
    Plan plan = make_plan<Impl::SupernodalEngine<Scalar, ExecutionSpace>, Scalar>(
        exec, F, permuted, reservation, filled, options, budget);
    const std::size_t values =
        (static_cast<std::size_t>(plan->lu.lu.n_values) + filled.entries.extent(0)) * sizeof(Scalar);
    if (may_fail && budget.available_bytes() < values) return Plan();
    describe_supernodes(plan->lu.lu, sizeof(Scalar), plan->counts);
    return plan;
  } catch (const OutOfMemoryError&) {
    if (!may_fail) throw;
  }
  return Plan();
}

/// Adds the solves with L and U by rows.
/// @param partition first rows of the blocks of rows of the supernodal method; empty: it finds its own
template <class Scalar, class ExecutionSpace, class Plan>
void make_solves(const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
                 const LuOptions& options,
                 const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& partition,
                 const MemoryBudget& budget, Plan& plan) {
  TriangularOptions triangular;
  triangular.method = options.trisolve;
  triangular.precision = options.solve_precision;
  triangular.device_model = options.device_model;
  plan.solves.emplace(exec, plan.lu.lu.rows, F.row_order, F.col_order, triangular, budget,
                      Impl::analyse_triangle<Scalar, ExecutionSpace>, false, partition);
  plan.solve_method = name_of(plan.solves->upper_report().method);
  plan.solve_reason = "solves: " + plan.solves->upper_report().reason;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_simplicial(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const LuOptions& options, const MemoryBudget& budget, Report& report) {
  const Impl::StageTimer timer(exec, true);
  MemoryReservation reservation(budget);
  auto permuted = Impl::permute_pattern(exec, reservation, F.A, F.row_order, F.col_order);
  const auto filled = [&] {
    const Impl::RunStage stage(budget, "symbolic");
    return find_pattern(exec, permuted, options, budget);
  }();
  report.choice.symbolic = name_of(filled.method);
  report.fill2 = filled.fill2;
  if (!filled.reason.empty()) Impl::add_reason(report, filled.reason);
  report.times.symbolic = timer.seconds();
  const Impl::RunStage stage(budget, "levelization");
  const auto finish = [&](auto plan, const auto& partition) {
    make_solves<Scalar>(exec, F, options, partition, budget, *plan);
    report.times.levelization = timer.seconds() - *report.times.symbolic;
    return plan;
  };
  if (takes_supernodes(exec, filled, options.columns, budget, report)) {
    if (auto plan = plan_supernodes<Scalar>(exec, F, permuted, reservation, filled, options.columns, budget))
      return finish(plan, plan->lu.lu.begin);
    Impl::add_reason(report, "columns, since panels of supernodes exceed the memory limit");
  }
  ColumnOptions by_columns = options.columns;
  by_columns.supernodes = ColumnOptions().supernodes;
  return finish(make_plan<SimplicialEngine<Scalar, ExecutionSpace>, Scalar>(
                    exec, F, std::exchange(permuted, {}), std::move(reservation), filled, by_columns, budget),
                Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>());
}

#define LUTRA_SIMPLICIAL_PLAN(Scalar, Space)                                                \
  template std::shared_ptr<const FactorizationPlan<Scalar, Space>> plan_simplicial<Scalar>( \
      const Space&, const PermutedPattern<typename Space::memory_space>&, const LuOptions&, \
      const MemoryBudget&, Report&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_SIMPLICIAL_PLAN)

}  // namespace lutra
