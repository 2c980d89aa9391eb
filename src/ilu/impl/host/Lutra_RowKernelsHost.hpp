// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWKERNELSHOST_HPP
#define LUTRA_ROWKERNELSHOST_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RowKernels.hpp"

// Rows with accumulators on host threads: a thread takes the next 32 rows; its dense accumulator serves all
// its rows.

namespace lutra::Impl {

/// Every thread has an accumulator.
template <HostExecution ExecutionSpace>
std::size_t tables_for_any_row(const ExecutionSpace& exec) {
  return static_cast<std::size_t>(exec.concurrency());
}

/// Dense accumulators, one per thread.
template <class Scalar, class Memory>
struct RowTablesHost {
  int count = 0;                           ///< threads
  Ordinal table_slots = 0;                 ///< slots of each accumulator
  Kokkos::View<Ordinal*, Memory> slot_of;  ///< [count × n]
  Kokkos::View<Ordinal*, Memory> columns;  ///< [count × table_slots]
  Kokkos::View<Scalar*, Memory> values;    ///< [count × table_slots]

  /// A thread's accumulator for rows of n columns.
  KOKKOS_FUNCTION DenseAccumulator<Scalar> dense(int thread, Ordinal n) const {
    using Dense = DenseAccumulator<Scalar>;
    const auto t = static_cast<std::size_t>(thread);
    const std::size_t first =
        t * static_cast<std::size_t>(table_slots) + static_cast<std::size_t>(Dense::margin);
    return {slot_of.data() + t * static_cast<std::size_t>(n), columns.data() + first, values.data() + first,
            thread};
  }
};

/// Marks all columns as absent from a thread's row.
template <class Scalar, class Memory>
struct FillAbsent {
  RowTablesHost<Scalar, Memory> tables;
  Ordinal n;
  KOKKOS_FUNCTION void operator()(const int thread) const {
    const auto w = tables.dense(thread, n);
    for (Ordinal column = 0; column < n; ++column) w.slot_of[column] = w.absent(column);
    for (Ordinal slot = -w.margin; slot < 0; ++slot) w.values[slot] = Scalar(0);
  }
};

/// Allocates the accumulators, once for any number of successive kernels.
template <class Scalar, HostExecution ExecutionSpace>
class RowWorkspace<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  /// @param n           columns of the matrix
  /// @param max_columns most distinct columns of a row; n is always valid
  RowWorkspace(const ExecutionSpace& exec, Ordinal n, Ordinal max_columns, double, const MemoryBudget& budget,
               Ordinal = 0)
      : m_n(n), m_reservation(budget), m_run(budget.run()) {
    max_columns = std::max(Ordinal(1), std::min(n, max_columns));
    m_tables.count = exec.concurrency();
    m_tables.table_slots = max_columns + DenseAccumulator<Scalar>::extra_slots;
    const auto count = static_cast<std::size_t>(m_tables.count);
    const std::size_t slots = count * static_cast<std::size_t>(m_tables.table_slots);
    allocate(exec, m_tables.slot_of, "lutra::ilu::slot_of", static_cast<std::size_t>(n) * count);
    allocate(exec, m_tables.columns, "lutra::ilu::table_columns", slots);
    allocate(exec, m_tables.values, "lutra::ilu::table_values", slots);
    Kokkos::parallel_for("lutra::ilu::fill", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, m_tables.count),
                         FillAbsent<Scalar, Memory>{m_tables, n});
  }

  Ordinal n() const { return m_n; }
  const RowTablesHost<Scalar, Memory>& tables() const { return m_tables; }
  const RunControl& run() const { return m_run; }

 private:
  template <class View>
  void allocate(const ExecutionSpace& exec, View& view, const char* label, std::size_t count) {
    view = m_reservation.template allocate<View>(exec, label, count);
  }

  Ordinal m_n;
  RowTablesHost<Scalar, Memory> m_tables;
  MemoryReservation m_reservation;
  RunControl m_run;  ///< of the kernels' call
};

/// Processes rows on host threads; each takes the next rows.
template <class Body, class Scalar, class ExecutionSpace>
struct RowsHost {
  Body body;
  RowTablesHost<Scalar, typename ExecutionSpace::memory_space> tables;
  Ordinal n;           ///< columns
  std::int64_t* next;  ///< first row not taken
  Ordinal end;
  RunControl::Query query;

  KOKKOS_FUNCTION void operator()(const int thread) const {
    DenseAccumulator<Scalar> w = tables.dense(thread, n);
    // Larger: fewer atomics on the shared counter, less balance at the end.
    const std::int64_t rows_at_once = 32;
    while (!query.must_stop()) {
      const std::int64_t from = fetch_add_shared<ExecutionSpace>(*next, rows_at_once);
      const std::int64_t to = from + rows_at_once < end ? from + rows_at_once : std::int64_t(end);
      if (from >= to) return;
      for (std::int64_t i = from; i < to; ++i) {
        body(SerialLanes(), w, static_cast<Ordinal>(i));
        w.clear();
      }
    }
  }
};

/// Calls body(lanes, w, i) for rows begin … end − 1 with an empty accumulator w; on one thread in ascending
/// order. Waits.
/// @throws CancelledError if the running call has to end; rows are then missing
template <class Body, class Scalar, HostExecution ExecutionSpace>
void for_each_row(const ExecutionSpace& exec, const char* label, Ordinal begin, Ordinal end,
                  const RowWorkspace<Scalar, ExecutionSpace>& work, const Body& body) {
  if (begin >= end) return;
  auto next = static_cast<std::int64_t>(begin);
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<ExecutionSpace>(exec, 0, work.tables().count),
      RowsHost<Body, Scalar, ExecutionSpace>{body, work.tables(), work.n(), &next, end, work.run().query()});
  work.run().poll();
}

}  // namespace lutra::Impl

#endif
