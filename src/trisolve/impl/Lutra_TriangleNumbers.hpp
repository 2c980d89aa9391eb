// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLENUMBERS_HPP
#define LUTRA_TRIANGLENUMBERS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// What looking at the rows of a triangle tells.
struct RowSummary {
  std::int64_t fault =
      std::numeric_limits<std::int64_t>::max();  ///< least code of a faulty row; see RowFault
  std::int64_t total = 0;                        ///< entries outside of the diagonal
  std::int64_t longest = 0;                      ///< of the longest row

  KOKKOS_FUNCTION void join(const RowSummary& other) {
    fault = other.fault < fault ? other.fault : fault;
    total += other.total;
    longest = other.longest > longest ? other.longest : longest;
  }
};

/// What the first half of an analysis finds out on the device. The host takes all of it in one copy: each
/// wait costs as much as several kernels.
struct TriangleNumbers {
  RowSummary rows;
  std::int64_t last_row_level = 0;
  std::int64_t blocks = 0;
  std::int64_t last_block_level = 0;
  std::int64_t wide_blocks = 0;
  std::int64_t critical_steps = 0;  ///< of the lanes' longest rows, a sum over levels
  std::int64_t stopped = 0;         ///< 1 + the step at which the watchdog ended the search for levels; or 0

  KOKKOS_FUNCTION void clear_all_but_rows() {
    const RowSummary kept = rows;
    *this = {};
    rows = kept;
  }
};

template <class Memory>
using NumbersView = Kokkos::View<TriangleNumbers, Memory>;

/// Numbers that nobody has written yet. Does not fence on devices.
template <class ExecutionSpace>
NumbersView<typename ExecutionSpace::memory_space> allocate_numbers(const ExecutionSpace& exec,
                                                                    MemoryReservation& reservation) {
  return reservation.allocate<NumbersView<typename ExecutionSpace::memory_space>>(exec,
                                                                                  "lutra::trisolve::numbers");
}

/// The part of the numbers that a reduction over rows fills in.
template <class Memory>
Kokkos::View<RowSummary, Memory, Kokkos::MemoryUnmanaged> summary_of(const NumbersView<Memory>& numbers) {
  return Kokkos::View<RowSummary, Memory, Kokkos::MemoryUnmanaged>(&numbers.data()->rows);
}

/// Copies a struct to the host. Fences.
template <class ExecutionSpace, class View>
typename View::non_const_value_type read_back(const ExecutionSpace& exec, const View& numbers) {
  typename View::non_const_value_type read;
  Kokkos::deep_copy(exec, read, numbers);
  exec.fence("lutra::trisolve: numbers are needed on the host");
  return read;
}

}  // namespace lutra::Impl

#endif
