// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGULARSOLVEIMPLDEFINITIONS_HPP
#define LUTRA_TRIANGULARSOLVEIMPLDEFINITIONS_HPP

// Member functions of TriangularSolveImpl, for the sources that instantiate it: one a scalar, since each
// takes long to compile.

#include <algorithm>

#include "Lutra_TriangleAnalysis.hpp"
#include "Lutra_TriangleRows.hpp"
#include "Lutra_TriangularSolveImpl.hpp"
#include "Lutra_TrisolveModel.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_BlockSolveCuda.hpp"
#include "Lutra_BlockSolveManyCuda.hpp"
#include "Lutra_LevelRunsCuda.hpp"
#endif

namespace lutra::Impl {
/// Blocks are taken on devices only, and where more than a few levels could be saved.
template <class ExecutionSpace>
bool worth_blocks(const ExecutionSpace&, const TriangleShape& shape) {
  return !is_host_space<ExecutionSpace> && shape.levels > 16;
}

/// Bytes of all scratch of an analysis, about: levels and blocks of rows, the schedule, its sort and its
/// tasks.
template <class Ordinal, class Offset>
std::size_t analysis_scratch_bytes(Ordinal rows) {
  constexpr std::size_t ordinals_a_row = 15, beside = std::size_t(1) << 18;
  return static_cast<std::size_t>(rows) *
             (ordinals_a_row * sizeof(Ordinal) + sizeof(BlockTask<Ordinal, Offset>)) +
         beside;
}

/// row(place): the caller's row of each place.
template <class Ordinal, class ExecutionSpace, class RowOf, class Map>
Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space> map_places(
    const ExecutionSpace& exec, const RowOf& row_of, const Map& map, MemoryReservation& reservation) {
  if (map.extent(0) == 0) return row_of;
  const auto mapped = reservation.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::rows by place", row_of.extent(0));
  Kokkos::parallel_for(
      "lutra::trisolve::map_places",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(row_of.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t place) { mapped(place) = map(row_of(place)); });
  return mapped;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::TriangularSolveImpl(
    const ExecutionSpace& exec, const Rows& rows, const TriangularOptions& options,
    const MemoryBudget& budget, const TimeoutFlag& timeout, const RowMap& in_row, const RowMap& out_row)
    : m_rows(rows),
      m_options(options),
      m_model(options.device_model.value_or(default_device_model<ExecutionSpace>()).trisolve),
      m_budget(budget) {
  m_report.n = static_cast<std::int64_t>(rows.n);
  choose(exec);
  if (substitutes()) {
    m_in_row = in_row;
    m_out_row = out_row;
  } else {
    m_maps_reservation = MemoryReservation(budget);
    m_in_row = map_places<Ordinal>(exec, m_plan.row_of, in_row, m_maps_reservation);
    m_out_row = map_places<Ordinal>(exec, m_plan.row_of, out_row, m_maps_reservation);
  }
  m_arrays = SolutionArrays<Scalar, Ordinal, ExecutionSpace>(exec, static_cast<std::size_t>(rows.n), budget,
                                                             timeout);
  count_bytes();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::choose(const ExecutionSpace& exec) {
  MemoryReservation scratch(m_budget);
  if constexpr (!is_host_space<ExecutionSpace>) {
    scratch.template reserve<Memory>(exec, "lutra::trisolve::analysis",
                                     analysis_scratch_bytes<Ordinal, Offset>(m_rows.n));
  }
  TriangleShape shape;
  auto found = group_rows(exec, m_rows, m_options, scratch);
  describe(exec, found, shape);
  choose_by_shape(shape);
  if (substitutes()) return plan_substitution(exec, found.single);
  const auto plan_it = [&] {
    const bool by_blocks = m_report.method == TrisolveMethod::supernodal;
    make_plan_for(exec, by_blocks ? found.blocked : found.single, scratch);
  };
  plan_it();
  if (m_report.method == TrisolveMethod::levels) {
    // Cut levels are known better than their number: a few rows may be much longer than the mean.
    shape.levels_seconds = m_report.predicted_levels_seconds;
    choose_by_shape(shape);
    if (m_report.method == TrisolveMethod::supernodal) plan_it();  // single rows have the same plan
  }
  // Memory that goes back to a store is used again on this stream only.
  if (m_budget.pool() == nullptr) exec.fence("lutra::trisolve: scratch of the analysis is freed");
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::describe(const ExecutionSpace& exec,
                                                                            Groupings<Ordinal, Memory>& found,
                                                                            TriangleShape& shape) {
  const TriangleNumbers numbers = read_back(exec, found.numbers);
  throw_row_fault(numbers.rows.fault);
  if (numbers.stopped > 0) {
    const auto row = m_rows.access().mirrored(static_cast<Ordinal>(numbers.stopped - 1));
    throw TimeoutError("triangle: the level of row " + std::to_string(row) + " was waited for over " +
                       std::to_string(m_options.watchdog_seconds) + " s");
  }
  take_numbers(found, numbers);
  m_report.nnz = numbers.rows.total + m_report.n;
  m_report.levels = static_cast<std::int64_t>(found.single.levels);
  shape.rows = static_cast<double>(m_rows.n);
  shape.entries = static_cast<double>(numbers.rows.total);
  shape.levels = static_cast<double>(found.single.levels);
  shape.value_bytes = m_options.precision == FactorPrecision::single ? sizeof(Single) : sizeof(Scalar);
  shape.several_columns = !is_host_space<ExecutionSpace> && m_options.expected_rhs > 1;
  if (m_options.method != TrisolveMethod::supernodal && !worth_blocks(exec, shape)) return;
  shape.blocks = static_cast<double>(found.blocked.blocks.count);
  shape.block_levels = static_cast<double>(found.blocked.levels);
  shape.wide_blocks = static_cast<double>(numbers.wide_blocks);
  shape.critical_steps = static_cast<double>(numbers.critical_steps);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::choose_by_shape(
    const TriangleShape& shape) {
  choose_method(shape, m_model.methods, m_options.method, m_report);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::plan_substitution(
    const ExecutionSpace& exec, const LeveledBlocks<Ordinal, Memory>& single) {
  m_report.blocks = m_report.n;
  m_report.block_levels = m_report.levels;
  m_report.stored_entries = m_report.nnz;
  if constexpr (is_host_space<ExecutionSpace>) {
    if (exec.concurrency() == 1) return;
    m_host_schedule =
        schedule_levels<Ordinal, Offset>(exec, m_rows.access(), single.level, single.levels, m_budget);
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::make_plan_for(
    const ExecutionSpace& exec, const LeveledBlocks<Ordinal, Memory>& grouping, MemoryReservation& scratch) {
  const bool by_levels = m_report.method == TrisolveMethod::levels;
  m_plan = make_plan(exec, m_rows.access(), grouping.blocks, grouping.level, grouping.levels, by_levels,
                     scratch, m_budget);
  if (by_levels) cut_plan_levels();
  m_report.blocks = static_cast<std::int64_t>(m_plan.blocks);
  m_report.block_levels = static_cast<std::int64_t>(m_plan.levels);
  m_report.stored_entries =
      static_cast<std::int64_t>(m_plan.columns.extent(0)) + static_cast<std::int64_t>(m_plan.inverse_entries);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::cut_plan_levels() {
  const auto& costs = m_options.portable ? m_model.portable_level_sets : m_model.level_sets;
  const bool single = m_options.precision == FactorPrecision::single;
  for (const int k : {0, 1, 2}) {
    const int columns = k == 0 ? 1 : k == 1 ? 4 : max_columns_at_once;
    const double bytes = single ? level_task_bytes<Scalar, Single>(m_plan, columns)
                                : level_task_bytes<Scalar, Scalar>(m_plan, columns);
    m_level_runs[k] = cut_levels(m_plan.level_begin, m_plan.level_steps, bytes, costs);
  }
  m_report.predicted_seconds = m_report.predicted_levels_seconds =
      predict_levels_seconds(m_level_runs[0], costs);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <class Value>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::pack(
    const ExecutionSpace& exec, const Source& values, TriangleValues<Value, Memory>& packed) {
  if (packed.entries.extent(0) != m_plan.columns.extent(0) || !packed.inverses.is_allocated()) {
    TriangleValues<Value, Memory> fresh;
    fresh.reservation = MemoryReservation(m_budget);
    using View = Kokkos::View<Value*, Memory>;
    fresh.entries =
        fresh.reservation.template allocate<View>(exec, "lutra::trisolve::entries", m_plan.columns.extent(0));
    fresh.inverses =
        fresh.reservation.template allocate<View>(exec, "lutra::trisolve::inverses", m_plan.inverse_entries);
    fresh.use = fresh.reservation.template allocate<Kokkos::View<BlockUse*, Memory>>(
        exec, "lutra::trisolve::block_use", static_cast<std::size_t>(m_plan.blocks));
    fresh.inverted =
        fresh.reservation.template allocate<decltype(fresh.inverted)>(exec, "lutra::trisolve::inverted");
    packed = fresh;
  }
  pack_entries(exec, m_rows.access(), m_plan, values, packed.entries);
  pack_inverses(exec, m_rows.access(), m_plan, values, packed, packed.inverted);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::count_inverted_blocks(
    const ExecutionSpace& exec) {
  if (m_inverted_are_counted) return;
  const bool single = m_options.precision == FactorPrecision::single;
  Kokkos::deep_copy(exec, m_report.inverted_blocks, single ? m_single.inverted : m_working.inverted);
  exec.fence("lutra::trisolve: blocks used by their inverses are counted");
  m_inverted_are_counted = true;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::set_values(const ExecutionSpace& exec,
                                                                              const Source& values) {
  m_has_values = false;
  const bool single = m_options.precision == FactorPrecision::single;
  if (substitutes()) {
    const std::size_t entries = m_rows.entries.extent(0);
    single ? keep_values(exec, m_rows.access(), entries, values, m_budget, m_host_single)
           : keep_values(exec, m_rows.access(), entries, values, m_budget, m_host_working);
    m_report.inverted_blocks = m_report.n;
    m_inverted_are_counted = true;
  } else {
    single ? pack(exec, values, m_single) : pack(exec, values, m_working);
    m_inverted_are_counted = false;
  }
  m_has_values = true;
  count_bytes();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::count_bytes() {
  m_report.bytes = m_plan.reservation.bytes() + m_host_schedule.reservation.bytes() +
                   m_working.reservation.bytes() + m_single.reservation.bytes() +
                   m_host_working.reservation.bytes() + m_host_single.reservation.bytes() +
                   m_maps_reservation.bytes() + m_arrays.bytes();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <int Stride, class Value>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::substitute_group(
    const ExecutionSpace& exec, const HostValues<Value, Memory>& kept, const MappedColumns<const Scalar>& in,
    const MappedColumns<Scalar>& out, int n_columns, bool conjugate) {
  SubstitutionData<Scalar, Value, Ordinal, Offset> data;
  data.begin = m_rows.begin.data();
  data.end = m_rows.end.data();
  data.entries = m_rows.entries.data();
  data.values = kept.values.data();
  data.inverse = kept.inverse.data();
  data.in_row = m_in_row.data();
  data.out_row = m_out_row.data();
  data.in = in;
  data.out = out;
  data.n_columns = n_columns;
  data.x = m_arrays.scratch(exec, Stride);
  if (conjugate && ScalarTraits<Scalar>::is_complex) {
    substitute<Stride, true>(exec, m_rows.access(), m_host_schedule, data);
  } else {
    substitute<Stride, false>(exec, m_rows.access(), m_host_schedule, data);
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <int Stride, class Value>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::solve_group(
    const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
    const HostValues<Value, Memory>& kept, const MappedColumns<const Scalar>& in,
    const MappedColumns<Scalar>& out, int n_columns, bool conjugate) {
  if constexpr (is_host_space<ExecutionSpace>) {
    if (substitutes()) return substitute_group<Stride>(exec, kept, in, out, n_columns, conjugate);
  }
  BlockSolveData<Scalar, Value, Ordinal, Offset> data;
  data.tasks = m_plan.tasks.data();
  data.by_level = m_plan.by_level.data();
  data.block_begin = m_plan.block_begin.data();
  data.columns = m_plan.columns.data();
  data.entries = packed.entries.data();
  data.inverses = packed.inverses.data();
  data.use = packed.use.data();
  data.in_row = m_in_row.data();
  data.out_row = m_out_row.data();
  data.in = in;
  data.out = out;
  data.n_columns = n_columns;
  data.conjugate = conjugate;
  data.n_tasks = m_plan.n_tasks();
  data.narrow_tasks = static_cast<std::int64_t>(m_plan.narrow_tasks);
  data.watchdog_ticks = watchdog_ticks<ExecutionSpace>(m_options.watchdog_seconds);
  if (goes_by_levels(Stride)) {
    const auto& runs = m_level_runs[Stride == 1 ? 0 : Stride == 4 ? 1 : 2];
    data.current = m_arrays.scratch(exec, Stride);
#ifdef KOKKOS_ENABLE_CUDA
    if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
      if (!m_level_graph) m_level_graph = std::make_shared<LevelGraph>();
      if (!m_options.portable) return solve_levels_cuda<Stride>(exec, data, m_report.n, runs, *m_level_graph);
    }
#endif
    return solve_levels_portable<Stride>(exec, data, runs);
  }
  m_arrays.reserve(exec, Stride);
  m_arrays.prepare(data, Stride);
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    const auto levels = static_cast<int>(m_plan.levels);
    if (!m_options.portable) {
      if (!m_level_graph) m_level_graph = std::make_shared<LevelGraph>();
      KernelGraphs& graphs = m_level_graph->kernels;
      if constexpr (Stride == 1) {
        return m_report.method == TrisolveMethod::supernodal
                   ? solve_blocks_cuda<true, Stride>(exec, data, levels, graphs)
                   : solve_blocks_cuda<false, Stride>(exec, data, levels, graphs);
      }
      if constexpr (Stride > 1) return solve_blocks_many_cuda<Stride>(exec, data, levels, graphs);
    }
  }
#endif
  solve_blocks_portable<Stride>(exec, data);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <class Value>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::solve_columns(
    const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
    const HostValues<Value, Memory>& kept, MappedColumns<const Scalar> in, MappedColumns<Scalar> out,
    int n_columns, bool conjugate) {
  while (n_columns > 0) {
    const int now = std::min(n_columns, max_columns_at_once);
    if (now == 1 && !rather_four(exec)) {
      solve_group<1>(exec, packed, kept, in, out, now, conjugate);
    } else if (now <= 4) {
      solve_group<4>(exec, packed, kept, in, out, now, conjugate);
    } else {
      solve_group<max_columns_at_once>(exec, packed, kept, in, out, now, conjugate);
    }
    in.data += static_cast<std::size_t>(now) * in.column_stride;
    out.data += static_cast<std::size_t>(now) * out.column_stride;
    n_columns -= now;
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::solve(const ExecutionSpace& exec,
                                                                         MappedColumns<const Scalar> in,
                                                                         MappedColumns<Scalar> out,
                                                                         int n_columns, bool conjugate) {
  if (m_options.precision == FactorPrecision::single) {
    solve_columns(exec, m_single, m_host_single, in, out, n_columns, conjugate);
  } else {
    solve_columns(exec, m_working, m_host_working, in, out, n_columns, conjugate);
  }
  count_bytes();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::int64_t TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>::consume_timeout(
    const ExecutionSpace& exec) {
  const std::int64_t place = m_arrays.timed_out_position();
  if (place < 0 || !m_arrays.was_stopped(exec)) return -1;
  m_arrays.recover(exec);
  Ordinal row = 0;
  Kokkos::deep_copy(exec, row, Kokkos::subview(m_plan.row_of, static_cast<std::size_t>(place)));
  exec.fence("lutra::trisolve: the row the watchdog gave up at is named");
  return static_cast<std::int64_t>(row);
}

}  // namespace lutra::Impl

#endif
