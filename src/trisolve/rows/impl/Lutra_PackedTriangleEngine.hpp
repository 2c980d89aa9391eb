// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PACKEDTRIANGLEENGINE_HPP
#define LUTRA_PACKEDTRIANGLEENGINE_HPP

#include <algorithm>
#include <memory>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LevelRuns.hpp"
#include "Lutra_SolutionArrays.hpp"
#include "Lutra_SolveVectors.hpp"
#include "Lutra_TriangleEngine.hpp"
#include "Lutra_TrianglePack.hpp"
#include "Lutra_TrianglePlan.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

/// An analysed triangle packed into tasks. Its maps `in_row` and `out_row` are indexed by position in the
/// plan.
template <class ExecutionSpace>
struct PackedTriangle : AnalysedTriangle<ExecutionSpace> {
  TrianglePlan<typename ExecutionSpace::memory_space> plan;
  MemoryReservation maps_reservation;
  LevelRuns level_runs;  ///< only for `levels`
};

/// Recorded launches that an engine reuses between solves. Portable kernels record none.
template <class ExecutionSpace>
struct RecordedLaunches {};

/// Number of columns with which a single right-hand side is solved: 1, unless a space has faster kernels for
/// several.
template <class ExecutionSpace, class Triangle>
int columns_for_one(const ExecutionSpace&, const Triangle&) {
  return 1;
}

/// Level-set solve for one right-hand side; portable overload.
template <class Data, class ExecutionSpace>
void solve_levels(const ExecutionSpace& exec, const Data& data, const LevelRuns& runs,
                  const TriangularReport&, RecordedLaunches<ExecutionSpace>&) {
  solve_levels_portable(exec, data, runs);
}

/// Data-flow solve; portable overload.
template <int Stride, class Data, class ExecutionSpace>
void solve_blocks(const ExecutionSpace& exec, const Data& data, const TriangularReport&,
                  RecordedLaunches<ExecutionSpace>&) {
  solve_blocks_portable<Stride>(exec, data);
}

/// Methods syncfree and supernodal, and on devices levels.
/// @tparam Value of the stored triangle
template <class Scalar, class Value, class ExecutionSpace>
class PackedTriangleEngine : public TriangleEngine<Scalar, ExecutionSpace> {
 public:
  using Base = TriangleEngine<Scalar, ExecutionSpace>;
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = PackedTriangle<ExecutionSpace>;
  using typename Base::Source;

  PackedTriangleEngine(const ExecutionSpace& exec, std::shared_ptr<const Plan> plan,
                       const MemoryBudget& budget, const TimeoutFlag& timeout)
      : m_plan(std::move(plan)),
        m_budget(budget),
        m_arrays(exec, static_cast<std::size_t>(m_plan->rows.n), budget, timeout),
        m_x(budget),
        m_width_of_one(m_plan->options.portable ? 1 : columns_for_one(exec, *m_plan)) {}

  std::unique_ptr<Base> with_own_values(const ExecutionSpace& exec, const MemoryBudget& budget,
                                        const TimeoutFlag& timeout) const override {
    return std::make_unique<PackedTriangleEngine>(exec, m_plan, budget, timeout);
  }

  void set_values(const ExecutionSpace& exec, const Source& values) override {
    const auto& plan = m_plan->plan;
    if (m_values.entries.extent(0) != plan.columns.extent(0) || !m_values.inverses.is_allocated())
      m_values = allocate_values(exec);
    pack_entries(exec, m_plan->rows.access(), plan, values, m_values.entries);
    pack_inverses(exec, m_plan->rows.access(), plan, values, m_values, m_values.inverted);
  }

  void solve(const ExecutionSpace& exec, MappedColumns<const Scalar> in, MappedColumns<Scalar> out,
             int n_columns, bool conjugate) override {
    for_column_groups(in, out, n_columns, columns_at_once(), [&](const auto& b, const auto& x, int columns) {
      m_budget.run().poll();
      const Data data = data_for(b, x, columns, conjugate);
      if (columns == 1 && m_plan->report.method == TrisolveMethod::levels) return solve_by_levels(exec, data);
      if (columns == 1 && m_width_of_one == 1) return solve_group<1>(exec, data);
      if (columns <= 4) return solve_group<4>(exec, data);
      solve_group<max_columns_at_once>(exec, data);
    });
  }

  std::int64_t consume_timeout(const ExecutionSpace& exec) override {
    const std::int64_t position = m_arrays.timed_out_position();
    if (position < 0 || !m_arrays.was_stopped(exec)) return -1;
    m_arrays.recover(exec);
    Ordinal row = 0;
    Kokkos::deep_copy(exec, row, Kokkos::subview(m_plan->plan.row_of, static_cast<std::size_t>(position)));
    exec.fence("lutra::trisolve: the row the watchdog gave up at is named");
    return static_cast<std::int64_t>(row);
  }

  std::int64_t count_inverted_blocks(const ExecutionSpace& exec) const override {
    return read_back(exec, m_values.inverted);
  }
  const TriangularReport& report() const override { return m_plan->report; }
  std::size_t bytes() const override {
    return m_plan->plan.reservation.bytes() + m_plan->maps_reservation.bytes() +
           m_values.reservation.bytes() + m_arrays.bytes() + m_x.bytes();
  }

  std::size_t predict_bytes(int n_columns) const override {
    const auto& plan = m_plan->plan;
    const auto rows = static_cast<std::size_t>(m_plan->rows.n);
    const int columns = std::min(n_columns, columns_at_once());
    const bool by_levels = columns == 1 && m_plan->report.method == TrisolveMethod::levels;
    const std::size_t width = stride_of_group(columns == 1 ? m_width_of_one : columns);
    return (plan.columns.extent(0) + static_cast<std::size_t>(plan.inverse_entries)) * sizeof(Value) +
           static_cast<std::size_t>(plan.blocks) *
               sizeof(typename decltype(m_values.use)::non_const_value_type) +
           rows * (by_levels ? 1 : 2 * width) * sizeof(Scalar);
  }

 private:
  using Data = BlockSolveData<Scalar, Value>;

  TriangleValues<Value, Memory> allocate_values(const ExecutionSpace& exec) const {
    const auto& plan = m_plan->plan;
    TriangleValues<Value, Memory> values;
    values.reservation = MemoryReservation(m_budget);
    const auto allocate = [&](auto& view, const char* label, auto... extent) {
      view = values.reservation.template allocate<std::remove_reference_t<decltype(view)>>(exec, label,
                                                                                           extent...);
    };
    allocate(values.entries, "lutra::trisolve::entries", plan.columns.extent(0));
    allocate(values.inverses, "lutra::trisolve::inverses", plan.inverse_entries);
    allocate(values.use, "lutra::trisolve::block_use", static_cast<std::size_t>(plan.blocks));
    allocate(values.inverted, "lutra::trisolve::inverted");
    return values;
  }

  /// Most right-hand sides that one launch, or one run of levels, solves for.
  int columns_at_once() const {
    return m_plan->options.method == TrisolveMethod::levels ? 1 : max_columns_at_once;
  }

  Data data_for(const MappedColumns<const Scalar>& in, const MappedColumns<Scalar>& out, int n_columns,
                bool conjugate) const {
    const auto& plan = m_plan->plan;
    Data data;
    data.tasks = plan.tasks.data();
    data.by_level = plan.by_level.data();
    data.block_begin = plan.block_begin.data();
    data.columns = plan.columns.data();
    data.entries = m_values.entries.data();
    data.inverses = m_values.inverses.data();
    data.use = m_values.use.data();
    data.in_row = m_plan->in_row.data();
    data.out_row = m_plan->out_row.data();
    data.in = in;
    data.out = out;
    data.n_columns = n_columns;
    data.conjugate = conjugate;
    data.n_tasks = plan.n_tasks();
    data.narrow_tasks = static_cast<std::int64_t>(plan.narrow_tasks);
    data.watchdog.limit = watchdog_ticks<ExecutionSpace>(m_plan->options.watchdog_seconds);
    return data;
  }

  /// Solves one right-hand side by levels. Several use the data-flow kernel on the same plan, unless the
  /// caller has requested levels.
  void solve_by_levels(const ExecutionSpace& exec, const Data& given) {
    Data data = given;
    m_x.reserve(exec, {{{"lutra::trisolve::solutions", static_cast<std::int64_t>(m_plan->rows.n)}}}, 1);
    data.current = m_x[0];
    if (m_plan->options.portable) return solve_levels_portable(exec, data, m_plan->level_runs);
    solve_levels(exec, data, m_plan->level_runs, m_plan->report, m_launches);
  }
  /// Overload for hosts, which substitute by rows instead.
  void solve_by_levels(const ExecutionSpace&, const Data&) requires HostExecution<ExecutionSpace> {}

  template <int Stride>
  void solve_group(const ExecutionSpace& exec, Data data) {
    m_arrays.reserve(exec, Stride);
    m_arrays.prepare(data, Stride);
    if (m_plan->options.portable) {
      solve_blocks_portable<Stride>(exec, data);
    } else {
      solve_blocks<Stride>(exec, data, m_plan->report, m_launches);
    }
    check_launches_on<ExecutionSpace>();
    m_arrays.has_launched();
  }

  std::shared_ptr<const Plan> m_plan;
  MemoryBudget m_budget;
  TriangleValues<Value, Memory> m_values;
  SolutionArrays<Scalar, ExecutionSpace> m_arrays;  ///< for data flow
  SolveVectors<Scalar, Memory, 1> m_x;              ///< for levels
  RecordedLaunches<ExecutionSpace> m_launches;
  int m_width_of_one;  ///< columns with which a single right-hand side is solved
};

}  // namespace lutra::Impl

#endif
