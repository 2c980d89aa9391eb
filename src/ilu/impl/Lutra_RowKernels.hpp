// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWKERNELS_HPP
#define LUTRA_ROWKERNELS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RowAccumulator.hpp"

// Kernels that process rows with accumulators; Lutra_RowKernelsHost.hpp overloads them for hosts. A group of
// lanes takes a row; its table is in scratch, or, for a row too long for that, in device memory; the group
// holds such a table until the row is done. Many tables have medium size, a few fit rows of any length. A
// body does not wait for other rows, so every wait for a table ends.

namespace lutra::Impl {

/// Raises a maximum to the length of row i.
template <class RowMap>
struct RowLength {
  RowMap row_map;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Ordinal& longest) const {
    const auto length = static_cast<Ordinal>(row_map(i + 1) - row_map(i));
    if (length > longest) longest = length;
  }
};

/// Entries of the longest row, at least 1. Waits.
template <class ExecutionSpace, class RowMap>
Ordinal longest_row(const ExecutionSpace& exec, Ordinal n, const RowMap& row_map) {
  Ordinal longest = 0;
  Kokkos::parallel_reduce("lutra::ilu::longest_row",
                          Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(n)),
                          RowLength<RowMap>{row_map}, Kokkos::Max<Ordinal>(longest));
  return std::max(Ordinal(1), longest);
}

/// Tables for which an allocation for rows of any length should have memory.
template <class ExecutionSpace>
std::size_t tables_for_any_row(const ExecutionSpace&) {
  return 8;
}

/// Accumulators in an execution space's memory, for kernels.
template <class Scalar, class Memory>
struct RowTables {
  int lanes = 1;                           ///< lanes per row
  int team_rows = 1;                       ///< rows per team
  Ordinal slots = 0;                       ///< slots of a row's table in scratch
  int medium_count = 0;                    ///< tables of medium size in device memory, which come first
  Ordinal medium_slots = 0;                ///< slots of each
  int count = 0;                           ///< tables for rows of any length
  Ordinal table_slots = 0;                 ///< slots of each
  Kokkos::View<Ordinal*, Memory> columns;  ///< [all slots] keys
  Kokkos::View<Scalar*, Memory> values;    ///< [all slots]
  Kokkos::View<int*, Memory> taken;        ///< [medium_count + count] 1 while a row has the table

  /// First slot of a table in device memory.
  KOKKOS_FUNCTION std::size_t first_slot(int table) const {
    const auto medium = static_cast<std::size_t>(table < medium_count ? table : medium_count);
    const auto large = static_cast<std::size_t>(table < medium_count ? 0 : table - medium_count);
    return medium * static_cast<std::size_t>(medium_slots) + large * static_cast<std::size_t>(table_slots);
  }

  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    return (static_cast<std::size_t>(slots) * HashAccumulator<Scalar>::slot_bytes + 15) / 16 * 16;
  }
};

/// Sets lanes and tables in scratch. Teams have 128 lanes, each lane about one entry of a row of U, which is
/// half a row. Tables fit rows up to sixteen times the mean; a row clears only what it needs. At most 32 KiB
/// per team, so that a multiprocessor holds several teams.
/// @param mean columns of a row
/// @param usual columns of the longest usual rows
/// @param most  columns of the longest row
template <class ExecutionSpace, class Scalar, class Memory>
void shape_teams(RowTables<Scalar, Memory>& tables, double mean, Ordinal usual, Ordinal most) {
  using Table = HashAccumulator<Scalar>;
  constexpr std::int64_t max_bytes = 32 << 10;
  // with few lanes, a row much longer than the mean would finish last
  const bool skewed = static_cast<double>(usual) > 64 * mean;
  tables.lanes = vector_length_for<ExecutionSpace>(skewed ? 4 * mean : mean / 2);
  tables.team_rows = std::max(1, 128 / tables.lanes);
  const auto wanted = static_cast<std::int64_t>(16 * std::max(8.0, mean));
  int log = Table::log_slots_for(std::min<std::int64_t>(wanted, most));
  const auto team_bytes = [&]() {
    return (std::int64_t(tables.team_rows) << log) * static_cast<std::int64_t>(Table::slot_bytes);
  };
  while (log > 4 && team_bytes() > max_bytes) --log;
  tables.slots = Ordinal(1) << log;
}

/// Allocates the accumulators, once for any number of successive kernels.
template <class Scalar, class ExecutionSpace>
class RowWorkspace {
  static_assert(!HostExecution<ExecutionSpace>, "lutra: include Lutra_RowKernelsHost.hpp");

 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Table = HashAccumulator<Scalar>;

  /// @param n            columns of the matrix
  /// @param max_columns  most distinct columns of a row; n is always valid
  /// @param mean_columns approximate mean per row
  /// @param long_columns columns of the longest usual rows, which decide the number of lanes; 0: max_columns
  RowWorkspace(const ExecutionSpace& exec, Ordinal n, Ordinal max_columns, double mean_columns,
               const MemoryBudget& budget, Ordinal long_columns = 0)
      : m_n(n), m_reservation(budget), m_run(budget.run()) {
    max_columns = std::max(Ordinal(1), std::min(n, max_columns));
    long_columns = long_columns > 0 ? std::min(long_columns, max_columns) : max_columns;
    shape_teams<ExecutionSpace>(m_tables, mean_columns, long_columns, max_columns);
    m_tables.table_slots = Ordinal(1) << Table::log_slots_for(max_columns);
    if (m_tables.table_slots <= m_tables.slots) return;  // no row needs a table in device memory
    make_room(budget);
    m_tables.taken = allocate<int>(exec, "lutra::ilu::taken_tables",
                                   static_cast<std::size_t>(m_tables.medium_count + m_tables.count));
    fill(exec, m_tables.taken, 0);
    const std::size_t slots = m_tables.first_slot(m_tables.medium_count + m_tables.count);
    m_tables.columns = allocate<Ordinal>(exec, "lutra::ilu::table_columns", slots);
    m_tables.values = allocate<Scalar>(exec, "lutra::ilu::table_values", slots);
  }

  Ordinal n() const { return m_n; }
  const RowTables<Scalar, Memory>& tables() const { return m_tables; }
  const RunControl& run() const { return m_run; }

 private:
  /// Sets the number of tables in device memory: of medium size, sixteen times the scratch tables, as many as
  /// teams run concurrently; for rows of any length, up to 64 MiB.
  void make_room(const MemoryBudget& budget) {
    const auto bytes_of = [](Ordinal slots) { return static_cast<std::size_t>(slots) * Table::slot_bytes; };
    const std::size_t available = budget.available_bytes() / 4;
    const auto fitting = [&](Ordinal slots, std::size_t max_bytes, std::size_t max_count) {
      return static_cast<int>(
          std::clamp<std::size_t>(std::min(max_bytes, available) / bytes_of(slots), 1, max_count));
    };
    m_tables.count = fitting(m_tables.table_slots, std::size_t(64) << 20, 256);
    if (m_tables.table_slots / 16 <= m_tables.slots) return;
    m_tables.medium_slots = 16 * m_tables.slots;
    m_tables.medium_count = fitting(m_tables.medium_slots, std::size_t(64) << 20, 2048);
  }
  template <class T>
  Kokkos::View<T*, Memory> allocate(const ExecutionSpace& exec, const char* label, std::size_t count) {
    return m_reservation.template allocate<Kokkos::View<T*, Memory>>(exec, label, count);
  }
  template <class T>
  static void fill(const ExecutionSpace& exec, const Kokkos::View<T*, Memory>& view, T value) {
    Kokkos::parallel_for(
        "lutra::ilu::fill",
        Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(view.extent(0))),
        FillValues<T, Memory>{view, value});
  }

  Ordinal m_n;
  RowTables<Scalar, Memory> m_tables;
  MemoryReservation m_reservation;
  RunControl m_run;  ///< of the kernels' call
};

/// Processes rows begin … end − 1, each by a group of lanes of a device.
template <class Body, class Scalar, class ExecutionSpace>
struct DeviceRows {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using Team = typename Policy::member_type;
  using Table = HashAccumulator<Scalar>;

  Body body;
  RowTables<Scalar, typename ExecutionSpace::memory_space> tables;
  Ordinal begin, end;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto i = begin + static_cast<Ordinal>(team.league_rank()) * static_cast<Ordinal>(tables.team_rows) +
                   static_cast<Ordinal>(team.team_rank());
    const VectorLanes<Team> lanes{team};
    char* const scratch =
        static_cast<char*>(team.thread_scratch(0).get_shmem_aligned(tables.scratch_bytes(), 16));
    if (i >= end) return;
    const int log = Table::log_slots_for(body.max_columns(i));
    if ((Ordinal(1) << log) <= tables.slots) {
      auto* const values = reinterpret_cast<Scalar*>(scratch);
      Table w{reinterpret_cast<Ordinal*>(values + tables.slots), values, log};
      w.clear(lanes);
      body(lanes, w, i);
    } else {
      const int table = take_table(team, (Ordinal(1) << log) <= tables.medium_slots);
      const std::size_t first = tables.first_slot(table);
      Table w{tables.columns.data() + first, tables.values.data() + first, log};
      w.clear(lanes);
      body(lanes, w, i);
      give_table(lanes, table);
    }
  }

  /// Searches until a table is free. The fence orders the table's use by others before its use here.
  KOKKOS_FUNCTION int take_table(const Team& team, bool is_medium) const {
    const int first = is_medium ? 0 : tables.medium_count;
    const int last = is_medium ? tables.medium_count : tables.medium_count + tables.count;
    int table = 0;
    Kokkos::single(
        Kokkos::PerThread(team),
        [&](int& found) {
          found = first + (team.league_rank() * tables.team_rows + team.team_rank()) % (last - first);
          while (Kokkos::atomic_compare_exchange(&tables.taken(found), 0, 1) != 0)
            found = found + 1 < last ? found + 1 : first;
        },
        table);
    Kokkos::memory_fence();
    return table;
  }
  template <class Lanes>
  KOKKOS_FUNCTION void give_table(const Lanes& lanes, int table) const {
    Kokkos::memory_fence();
    lanes.once([&]() { Kokkos::atomic_store(&tables.taken(table), 0); });
  }
};

/// Calls body(lanes, w, i) for rows begin … end − 1 with an empty accumulator w. Does not wait.
/// @param body  a functor; body.max_columns(i) bounds the columns of row i, and is at most that of the
///              workspace
template <class Body, class Scalar, class ExecutionSpace>
void for_each_row(const ExecutionSpace& exec, const char* label, Ordinal begin, Ordinal end,
                  const RowWorkspace<Scalar, ExecutionSpace>& work, const Body& body) {
  if (begin >= end) return;
  work.run().poll();
  const auto& tables = work.tables();
  using Kernel = DeviceRows<Body, Scalar, ExecutionSpace>;
  const auto teams = (end - begin + tables.team_rows - 1) / tables.team_rows;
  const auto policy = typename Kernel::Policy(exec, static_cast<int>(teams), tables.team_rows, tables.lanes)
                          .set_scratch_size(0, Kokkos::PerThread(static_cast<int>(tables.scratch_bytes())));
  Kokkos::parallel_for(label, by_argument(policy), Kernel{body, tables, begin, end});
  check_launches_on<ExecutionSpace>();  // what a kernel writes often tells the next one where to write
}

}  // namespace lutra::Impl

#endif
