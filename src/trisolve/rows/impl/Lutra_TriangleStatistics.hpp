// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLESTATISTICS_HPP
#define LUTRA_TRIANGLESTATISTICS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Summary of the rows of a triangle.
struct RowSummary {
  /// smallest code of a faulty row; see RowFault
  std::int64_t fault = std::numeric_limits<std::int64_t>::max();
  std::int64_t total = 0;    ///< off-diagonal entries
  std::int64_t longest = 0;  ///< off-diagonal entries of the longest row

  KOKKOS_FUNCTION void join(const RowSummary& other) {
    fault = other.fault < fault ? other.fault : fault;
    total += other.total;
    longest = other.longest > longest ? other.longest : longest;
  }
};

/// Statistics of a triangle that the first half of an analysis collects on the device. The host reads them in
/// one copy, because each wait costs as much as several kernels.
struct TriangleStatistics {
  RowSummary rows;
  std::int64_t last_row_level = 0;
  std::int64_t blocks = 0;
  std::int64_t last_block_level = 0;
  std::int64_t wide_blocks = 0;
  std::int64_t critical_steps = 0;  ///< most entries gathered by a lane, summed over levels
  std::int64_t stopped = 0;  ///< 1 + the step at which the watchdog ended the search for levels; 0: none

  KOKKOS_FUNCTION void clear_all_but_rows() {
    const RowSummary kept = rows;
    *this = {};
    rows = kept;
  }
};

template <class Memory>
using StatisticsView = Kokkos::View<TriangleStatistics, Memory>;

/// Uninitialized statistics. Does not fence on devices.
template <class ExecutionSpace>
StatisticsView<typename ExecutionSpace::memory_space> allocate_statistics(const ExecutionSpace& exec,
                                                                          MemoryReservation& reservation) {
  return reservation.allocate<StatisticsView<typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::statistics");
}

/// The part of the statistics filled in by a reduction over rows.
template <class Memory>
Kokkos::View<RowSummary, Memory, Kokkos::MemoryUnmanaged> summary_of(
    const StatisticsView<Memory>& statistics) {
  return Kokkos::View<RowSummary, Memory, Kokkos::MemoryUnmanaged>(&statistics.data()->rows);
}

/// Copies a struct to the host. Fences.
template <class ExecutionSpace, class View>
typename View::non_const_value_type read_back(const ExecutionSpace& exec, const View& statistics) {
  typename View::non_const_value_type read;
  Kokkos::deep_copy(exec, read, statistics);
  exec.fence("lutra::trisolve: statistics are needed on the host");
  return read;
}

}  // namespace lutra::Impl

#endif
