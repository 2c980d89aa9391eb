// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEANALYSIS_HPP
#define LUTRA_TRIANGLEANALYSIS_HPP

// Analysis of a triangle, included by the sources that instantiate it: one per scalar, because each compiles
// slowly.

#include <string>

#include "Lutra_Formatted.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PackedTriangleEngine.hpp"
#include "Lutra_RowSubstitution.hpp"
#include "Lutra_SolvableTriangle.hpp"
#include "Lutra_TriangleGroups.hpp"
#include "Lutra_TriangleRows.hpp"
#include "Lutra_TrisolveModel.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_TriangleKernelsCuda.hpp"
#endif

namespace lutra::Impl {

/// Approximate bytes of all scratch of an analysis: levels and blocks of rows, the schedule, its sort and its
/// tasks.
inline std::size_t analysis_scratch_bytes(Ordinal rows) {
  constexpr std::size_t ordinals_a_row = 15, beside = std::size_t(1) << 18;
  return static_cast<std::size_t>(rows) * (ordinals_a_row * sizeof(Ordinal) + sizeof(BlockTask)) + beside;
}

/// row(p): the caller's row at each position of a plan.
template <class ExecutionSpace, class RowOf, class Map>
Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space> map_positions(
    const ExecutionSpace& exec, const RowOf& row_of, const Map& map, MemoryReservation& reservation) {
  if (map.extent(0) == 0) return row_of;
  const auto mapped = reservation.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::rows by position", row_of.extent(0));
  Kokkos::parallel_for(
      "lutra::trisolve::map_positions",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(row_of.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p) { mapped(p) = map(row_of(p)); });
  return mapped;
}

/// One analysis: properties of the rows, choice of a method, and the plan of that method.
template <class Scalar, class ExecutionSpace>
class TriangleAnalysis {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Input = TriangleInput<ExecutionSpace>;
  using Engine = TriangleEngine<Scalar, ExecutionSpace>;

  TriangleAnalysis(const ExecutionSpace& exec, const Input& input, const MemoryBudget& budget)
      : m_exec(exec),
        m_input(input),
        m_model(input.options.device_model.value_or(default_device_model<ExecutionSpace>()).trisolve),
        m_budget(budget) {}

  std::unique_ptr<Engine> run(const TimeoutFlag& timeout) {
    MemoryReservation scratch(m_budget);
    reserve_scratch(scratch);
    auto found = group_rows(m_exec, m_input.rows, m_input.options, m_input.partition, scratch);
    const TriangleStatistics statistics = read_back(m_exec, found.statistics);
    throw_faults(statistics);
    adopt_statistics(found, statistics);
    find_properties(found, statistics);
    choose();
    return make_engine(found, scratch, timeout);
  }

 private:
  using Single = typename SingleOf<Scalar>::type;

  /// Devices: one piece of memory for the whole analysis.
  void reserve_scratch(MemoryReservation& scratch) const {
    scratch.template reserve<Memory>(m_exec, "lutra::trisolve::analysis",
                                     analysis_scratch_bytes(m_input.rows.n));
  }
  void reserve_scratch(MemoryReservation&) const requires HostExecution<ExecutionSpace> {}

  std::unique_ptr<Engine> make_engine(const Groupings<Memory>& found, MemoryReservation& scratch,
                                      const TimeoutFlag& timeout) {
    auto engine = make_packed(found, scratch, timeout);
    // Memory returned to a pool is reused on this stream only.
    if (m_budget.pool() == nullptr) m_exec.fence("lutra::trisolve: scratch of the analysis is freed");
    return engine;
  }
  /// Overload for hosts, which substitute rows in place instead of level sets.
  std::unique_ptr<Engine> make_engine(const Groupings<Memory>& found, MemoryReservation& scratch,
                                      const TimeoutFlag& timeout) requires HostExecution<ExecutionSpace> {
    if (m_report.method == TrisolveMethod::levels) return make_substitution(found.single);
    return make_packed(found, scratch, timeout);
  }

  bool stores_singles() const { return m_input.options.precision == FactorPrecision::single; }
  std::size_t value_bytes() const { return stores_singles() ? sizeof(Single) : sizeof(Scalar); }

  /// @throws InputError naming the invalid row; TimeoutError
  void throw_faults(const TriangleStatistics& statistics) const {
    throw_row_fault(statistics.rows.fault);
    if (statistics.stopped == 0) return;
    const auto row = m_input.rows.access().mirrored(static_cast<Ordinal>(statistics.stopped - 1));
    throw TimeoutError("triangle: the level of row " + std::to_string(row) + " was waited for over " +
                       Impl::formatted("%.3g s", m_input.options.watchdog_seconds));
  }

  void find_properties(const Groupings<Memory>& found, const TriangleStatistics& statistics) {
    m_report.n = static_cast<std::int64_t>(m_input.rows.n);
    m_report.nnz = statistics.rows.total + m_report.n;
    m_report.levels = static_cast<std::int64_t>(found.single.levels);
    m_properties.rows = static_cast<double>(m_input.rows.n);
    m_properties.entries = static_cast<double>(statistics.rows.total);
    m_properties.levels = static_cast<double>(found.single.levels);
    m_properties.value_bytes = static_cast<double>(value_bytes());
    m_properties.several_columns = !is_host_space<ExecutionSpace> && m_input.options.expected_rhs > 1;
    m_properties.blocks = static_cast<double>(found.blocked.blocks.count);
    m_properties.block_levels = static_cast<double>(found.blocked.levels);
    m_properties.wide_blocks = static_cast<double>(statistics.wide_blocks);
    m_properties.critical_steps = static_cast<double>(statistics.critical_steps);
  }

  void choose() {
    const TrisolveChoice choice = choose_method(m_properties, m_model.methods, m_input.options.method);
    m_report.method = choice.method;
    m_report.reason = choice.reason;
    m_report.predicted_seconds = choice.seconds;
    m_report.predicted_levels_seconds = choice.levels_seconds;
    m_report.predicted_syncfree_seconds = choice.syncfree_seconds;
    m_report.predicted_supernodal_seconds = choice.supernodal_seconds;
  }

  /// Hosts: substitutes rows in place.
  std::unique_ptr<Engine> make_substitution(const LeveledBlocks<Memory>& single) {
    m_report.blocks = m_report.n;
    m_report.block_levels = m_report.levels;
    m_report.stored_entries = m_report.nnz;
    auto plan = std::make_shared<SubstitutionPlan<ExecutionSpace>>();
    static_cast<Input&>(*plan) = m_input;
    if (m_exec.concurrency() > 1)
      plan->schedule = schedule_levels(m_exec, m_input.rows.access(), single.level, single.levels, m_budget);
    plan->report = m_report;
    if (stores_singles())
      return std::make_unique<RowSubstitution<Scalar, Single, ExecutionSpace>>(plan, m_budget);
    return std::make_unique<RowSubstitution<Scalar, Scalar, ExecutionSpace>>(plan, m_budget);
  }

  std::unique_ptr<Engine> make_packed(const Groupings<Memory>& found, MemoryReservation& scratch,
                                      const TimeoutFlag& timeout) {
    auto triangle = std::make_shared<PackedTriangle<ExecutionSpace>>();
    static_cast<Input&>(*triangle) = m_input;
    triangle->plan = plan_for_method(found, scratch);
    if (m_report.method == TrisolveMethod::levels) {
      cut_plan_levels(*triangle, scratch);
      // Partitioned levels predict better than their number: a few rows may be much longer than the mean.
      choose();
      // Both methods have the same plan for single rows.
      if (m_report.method == TrisolveMethod::supernodal) triangle->plan = plan_for_method(found, scratch);
    }
    const auto& plan = triangle->plan;
    m_report.blocks = static_cast<std::int64_t>(plan.blocks);
    m_report.block_levels = static_cast<std::int64_t>(plan.levels);
    m_report.stored_entries =
        static_cast<std::int64_t>(plan.columns.extent(0)) + static_cast<std::int64_t>(plan.inverse_entries);
    triangle->report = m_report;
    auto& maps = triangle->maps_reservation = MemoryReservation(m_budget);
    triangle->in_row = map_positions(m_exec, plan.row_of, m_input.in_row, maps);
    triangle->out_row = map_positions(m_exec, plan.row_of, m_input.out_row, maps);
    if (stores_singles())
      return std::make_unique<PackedTriangleEngine<Scalar, Single, ExecutionSpace>>(m_exec, triangle,
                                                                                    m_budget, timeout);
    return std::make_unique<PackedTriangleEngine<Scalar, Scalar, ExecutionSpace>>(m_exec, triangle, m_budget,
                                                                                  timeout);
  }

  TrianglePlan<Memory> plan_for_method(const Groupings<Memory>& found, MemoryReservation& scratch) const {
    const auto& grouping = m_report.method == TrisolveMethod::supernodal ? found.blocked : found.single;
    return make_plan(m_exec, m_input.rows.access(), grouping.blocks, grouping.level, grouping.levels, scratch,
                     m_budget);
  }

  void cut_plan_levels(PackedTriangle<ExecutionSpace>& triangle, MemoryReservation& scratch) {
    const auto& costs = m_input.options.portable ? m_model.portable_level_sets : m_model.level_sets;
    const auto& plan = triangle.plan;
    triangle.level_runs = cut_levels(describe_levels(m_exec, plan, scratch),
                                     level_task_bytes(plan, sizeof(Scalar), value_bytes()), costs);
    m_properties.levels_seconds = predict_levels_seconds(triangle.level_runs, costs);
  }

  const ExecutionSpace& m_exec;
  const Input& m_input;
  TrisolveDeviceModel m_model;
  MemoryBudget m_budget;
  TriangleProperties m_properties;
  TriangularReport m_report;
};

template <class Scalar, class ExecutionSpace>
std::unique_ptr<TriangleEngine<Scalar, ExecutionSpace>> analyse_triangle(
    const ExecutionSpace& exec, const TriangleInput<ExecutionSpace>& input, const MemoryBudget& budget,
    const TimeoutFlag& timeout) {
  return TriangleAnalysis<Scalar, ExecutionSpace>(exec, input, budget).run(timeout);
}

}  // namespace lutra::Impl

#define LUTRA_ANALYSE_TRIANGLE(Scalar, Space)                                              \
  template std::unique_ptr<TriangleEngine<Scalar, Space>> analyse_triangle<Scalar, Space>( \
      const Space&, const TriangleInput<Space>&, const MemoryBudget&, const TimeoutFlag&);

/// Instantiates analyse_triangle for one scalar on every execution space.
#define LUTRA_INSTANTIATE_TRIANGULAR_SOLVE(Scalar) LUTRA_FOR_EACH_SPACE(LUTRA_ANALYSE_TRIANGLE, Scalar)

#endif
