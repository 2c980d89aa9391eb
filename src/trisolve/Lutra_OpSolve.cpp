// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_OpSolve.hpp"

#include <algorithm>
#include <optional>

#include "Lutra_Instantiate.hpp"
#include "Lutra_TriangleAnalysis.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_BlockSolveCuda.hpp"
#endif

namespace lutra::Impl {
namespace {

/// row(place): the caller's row of each place.
template <class Ordinal, class ExecutionSpace, class RowOf, class Map>
Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space> map_places(const ExecutionSpace& exec,
                                                                               const RowOf& row_of,
                                                                               const Map& map,
                                                                               Charge& charge) {
  if (map.extent(0) == 0) return row_of;
  const auto mapped = charge.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::rows by place", row_of.extent(0));
  Kokkos::parallel_for(
      "lutra::trisolve::map_places",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(row_of.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t place) { mapped(place) = map(row_of(place)); });
  return mapped;
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::OpSolve(const ExecutionSpace& exec, const Rows& rows,
                                                          const TriangularOptions& options,
                                                          const MemoryBudget& budget, const RowMap& in_row,
                                                          const RowMap& out_row)
    : m_rows(rows), m_options(options), m_budget(budget) {
  m_report.n = static_cast<std::int64_t>(rows.n);
  choose(exec);
  if (substitutes()) {
    m_in_row = in_row;
    m_out_row = out_row;
  } else {
    m_maps_charge = Charge(budget);
    m_in_row = map_places<Ordinal>(exec, m_plan.row_of, in_row, m_maps_charge);
    m_out_row = map_places<Ordinal>(exec, m_plan.row_of, out_row, m_maps_charge);
  }
  m_arrays = SolutionArrays<Scalar, Ordinal, ExecutionSpace>(exec, static_cast<std::size_t>(rows.n), budget);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::choose(const ExecutionSpace& exec) {
  Charge scratch(m_budget);
  const std::int64_t entries = count_entries(exec, m_rows);
  const double mean_length = static_cast<double>(entries) / static_cast<double>(m_rows.n);
  m_report.nnz = entries + m_report.n;
  StepBlocks<Ordinal, Memory> rows_alone;
  rows_alone.count = m_rows.n;
  const auto single = find_levels(exec, m_rows, rows_alone, mean_length, m_options.portable, scratch);
  m_report.levels = static_cast<std::int64_t>(single.levels);
  auto method = m_options.method;
  if (method == TrisolveMethod::automatic) {
    method = is_host_space<ExecutionSpace> ? TrisolveMethod::levels : TrisolveMethod::supernodal;
  }
  m_report.method = method;
  if (substitutes()) {
    m_report.blocks = m_report.n;
    m_report.block_levels = m_report.levels;
    m_report.stored_entries = m_report.nnz;
    if constexpr (is_host_space<ExecutionSpace>) {
      if (exec.concurrency() > 1) {
        m_host_schedule =
            schedule_levels<Ordinal, Offset>(exec, m_rows, single.level, single.levels, m_budget);
      }
    }
    return;
  }
  if (method != TrisolveMethod::supernodal)
    return make_plan_for(exec, rows_alone, single.level, single.levels);
  const auto blocks = find_row_blocks(exec, m_rows, scratch);
  const auto blocked = find_levels(exec, m_rows, blocks, mean_length, m_options.portable, scratch);
  make_plan_for(exec, blocks, blocked.level, blocked.levels);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::make_plan_for(
    const ExecutionSpace& exec, const StepBlocks<Ordinal, Memory>& blocks,
    const Kokkos::View<Ordinal*, Memory>& level, Ordinal levels) {
  m_plan =
      make_plan(exec, m_rows, blocks, level, levels, m_report.method == TrisolveMethod::levels, m_budget);
  m_report.blocks = static_cast<std::int64_t>(m_plan.blocks);
  m_report.block_levels = static_cast<std::int64_t>(m_plan.levels);
  m_report.stored_entries =
      static_cast<std::int64_t>(m_plan.columns.extent(0)) + static_cast<std::int64_t>(m_plan.inverse_entries);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <class Value>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::pack(const ExecutionSpace& exec, const Source& values,
                                                            TriangleValues<Value, Memory>& packed) {
  if (packed.entries.extent(0) != m_plan.columns.extent(0) || !packed.inverses.is_allocated()) {
    TriangleValues<Value, Memory> fresh;
    fresh.charge = Charge(m_budget);
    using View = Kokkos::View<Value*, Memory>;
    fresh.entries =
        fresh.charge.template allocate<View>(exec, "lutra::trisolve::entries", m_plan.columns.extent(0));
    fresh.inverses =
        fresh.charge.template allocate<View>(exec, "lutra::trisolve::inverses", m_plan.inverse_entries);
    fresh.use = fresh.charge.template allocate<Kokkos::View<BlockUse*, Memory>>(
        exec, "lutra::trisolve::block_use", static_cast<std::size_t>(m_plan.blocks));
    packed = fresh;
  }
  pack_entries(exec, m_rows, m_plan, values, packed.entries);
  m_report.inverted_blocks = pack_inverses(exec, m_rows, m_plan, values, packed);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <class Value>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::keep(const ExecutionSpace& exec, const Source& values,
                                                            HostValues<Value, Offset, Memory>& kept) {
  using View = Kokkos::View<Value*, Memory>;
  if (kept.inverse.extent(0) != static_cast<std::size_t>(m_rows.n)) {
    kept.charge = Charge(m_budget);
    kept.inverse = kept.charge.template allocate<View>(exec, "lutra::trisolve::diagonal", m_report.n);
  }
  kept.source = values.source;
  if constexpr (std::is_same_v<Value, Scalar>) {
    kept.values = values.values;
  } else {
    const auto all = values.values;
    if (kept.values.extent(0) != all.extent(0)) {
      kept.values = kept.charge.template allocate<View>(exec, "lutra::trisolve::values", all.extent(0));
    }
    const View narrow(const_cast<Value*>(kept.values.data()), kept.values.extent(0));
    Kokkos::parallel_for(
        "lutra::trisolve::narrow",
        Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(all.extent(0))),
        KOKKOS_LAMBDA(const std::int64_t p) { narrow(p) = narrowed<Value>(all(p)); });
  }
  const auto inverse = kept.inverse;
  const auto rows = m_rows;
  Kokkos::parallel_for(
      "lutra::trisolve::invert_diagonal", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal row) {
        const Scalar diagonal = rows.is_unit() ? Scalar(1) : values(rows.diagonal(row));
        inverse(row) = narrowed<Value>(Scalar(1) / diagonal);
      });
  exec.fence("lutra::trisolve: the values are taken");
  m_report.inverted_blocks = m_report.n;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::set_values(const ExecutionSpace& exec,
                                                                  const Source& values) {
  m_has_values = false;
  const bool single = m_options.precision == FactorPrecision::single;
  if (substitutes()) {
    single ? keep(exec, values, m_host_single) : keep(exec, values, m_host_working);
  } else {
    single ? pack(exec, values, m_single) : pack(exec, values, m_working);
  }
  m_has_values = true;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <int Stride, class Value>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::substitute_group(
    const ExecutionSpace& exec, const HostValues<Value, Offset, Memory>& kept,
    const MappedColumns<const Scalar>& in, const MappedColumns<Scalar>& out, int n_columns, bool conjugate) {
  SubstitutionData<Scalar, Value, Ordinal, Offset> data;
  data.begin = m_rows.begin.data();
  data.end = m_rows.end.data();
  data.entries = m_rows.entries.data();
  data.values = kept.values.data();
  data.source = kept.source.data();
  data.inverse = kept.inverse.data();
  data.in_row = m_in_row.data();
  data.out_row = m_out_row.data();
  data.in = in;
  data.out = out;
  data.n_columns = n_columns;
  m_arrays.reserve(exec, Stride);
  data.x = m_arrays.scratch();
  if (conjugate && ScalarTraits<Scalar>::is_complex) {
    substitute<Stride, true>(exec, m_rows, m_host_schedule, data);
  } else {
    substitute<Stride, false>(exec, m_rows, m_host_schedule, data);
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <int Stride, class Value>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::solve_group(
    const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
    const HostValues<Value, Offset, Memory>& kept, const MappedColumns<const Scalar>& in,
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
  data.watchdog_seconds = m_options.watchdog_seconds;
  m_arrays.reserve(exec, Stride);
  m_arrays.prepare(data, Stride);
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    if (!m_options.portable) return solve_blocks_cuda<Stride>(exec, data, static_cast<int>(m_plan.levels));
  }
#endif
  solve_blocks_portable<Stride>(exec, data);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
template <class Value>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::solve_columns(
    const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
    const HostValues<Value, Offset, Memory>& kept, MappedColumns<const Scalar> in, MappedColumns<Scalar> out,
    int n_columns, bool conjugate) {
  while (n_columns > 0) {
    const int now = std::min(n_columns, most_columns_at_once);
    if (now == 1) {
      solve_group<1>(exec, packed, kept, in, out, now, conjugate);
    } else if (now <= 4) {
      solve_group<4>(exec, packed, kept, in, out, now, conjugate);
    } else {
      solve_group<most_columns_at_once>(exec, packed, kept, in, out, now, conjugate);
    }
    in.data += static_cast<std::size_t>(now) * in.column_stride;
    out.data += static_cast<std::size_t>(now) * out.column_stride;
    n_columns -= now;
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::solve(const ExecutionSpace& exec,
                                                             MappedColumns<const Scalar> in,
                                                             MappedColumns<Scalar> out, int n_columns,
                                                             bool conjugate) {
  if (m_options.precision == FactorPrecision::single) {
    solve_columns(exec, m_single, m_host_single, in, out, n_columns, conjugate);
  } else {
    solve_columns(exec, m_working, m_host_working, in, out, n_columns, conjugate);
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::int64_t OpSolve<Scalar, Ordinal, Offset, ExecutionSpace>::take_hung_row(const ExecutionSpace& exec) {
  const std::int64_t place = m_arrays.hung_place();
  if (place < 0) return -1;
  m_arrays.recover(exec);
  Ordinal row = 0;
  Kokkos::deep_copy(exec, row, Kokkos::subview(m_plan.row_of, static_cast<std::size_t>(place)));
  exec.fence("lutra::trisolve: the row the watchdog gave up at is named");
  return static_cast<std::int64_t>(row);
}

#define LUTRA_OP_SOLVE(Scalar, Ordinal, Offset, Space) template class OpSolve<Scalar, Ordinal, Offset, Space>;
#ifdef LUTRA_TRY
LUTRA_TRY
#else
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_OP_SOLVE)
#endif

}  // namespace lutra::Impl
