// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOLUTIONARRAYS_HPP
#define LUTRA_SOLUTIONARRAYS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_DataFlow.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

/// State shared by the teams of a solve: tickets, double-buffered like the arrays, and the watchdog's word. A
/// trivial type, so that zeroing needs no kernel.
struct SolveTickets {
  Ordinal ticket[2];
  std::int64_t stopped;  ///< of the watchdog
};

/// Double-buffered solutions of a data-flow solver, with the state of its waits.
///
///   solve k      current = arrays[k % 2]: all sentinels on entry, solutions on return
///                previous = arrays[(k + 1) % 2]: solutions of solve k - 1 on entry, all sentinels on return
template <class Scalar, class ExecutionSpace>
class SolutionArrays {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  SolutionArrays() = default;
  SolutionArrays(const ExecutionSpace& exec, std::size_t n, const MemoryBudget& budget,
                 const TimeoutFlag& timeout)
      : m_n(n), m_budget(budget), m_reservation(budget), m_timeout(timeout) {
    m_waiting =
        m_reservation.template allocate<Kokkos::View<Waiting, Memory>>(exec, "lutra::trisolve::waiting");
    Kokkos::deep_copy(exec, m_waiting, Waiting{});
  }

  /// Provides arrays for `stride` values per position. Allocates, and fences, if the stride is larger than
  /// ever before, and after a solve that was not launched.
  void reserve(const ExecutionSpace& exec, int stride) {
    if (m_is_pending) recover(exec);
    if (stride <= m_stride) return;
    MemoryReservation fresh(m_budget);
    const std::size_t size = m_n * static_cast<std::size_t>(stride);
    Kokkos::View<Scalar*, Memory> arrays[2];
    for (auto& array : arrays) {
      array =
          fresh.template allocate<Kokkos::View<Scalar*, Memory>>(exec, "lutra::trisolve::solutions", size);
      Kokkos::deep_copy(exec, array, sentinel_value<Scalar>());
    }
    exec.fence("lutra::trisolve: the smaller arrays are freed");
    m_arrays[0] = arrays[0];
    m_arrays[1] = arrays[1];
    m_dirty[0] = m_dirty[1] = 0;
    m_stride = stride;
    m_arrays_reservation = fresh;
  }

  /// Stores the arrays of the next solve in `data` and swaps the buffers. To be followed by `has_launched`.
  template <class Data>
  void prepare(Data& data, int stride) {
    data.current = m_arrays[m_parity].data();
    data.previous = m_arrays[1 - m_parity].data();
    data.previous_stride = m_dirty[1 - m_parity];
    data.ticket = m_waiting.data()->ticket + m_parity;
    data.next_ticket = m_waiting.data()->ticket + (1 - m_parity);
    data.watchdog.stopped = &m_waiting.data()->stopped;
    data.watchdog.record = m_timeout.data();
    m_dirty[m_parity] = stride;
    m_dirty[1 - m_parity] = 0;
    m_parity = 1 - m_parity;
    m_is_pending = true;
  }
  /// The kernel that `prepare` was for has been launched.
  void has_launched() { m_is_pending = false; }

  /// Position at which the watchdog ended a solve, as known to the host, or −1.
  std::int64_t timed_out_position() const {
    return !m_timeout.is_allocated()
               ? -1
               : *static_cast<const volatile std::int64_t*>(&m_timeout.data()->position_plus_one) - 1;
  }

  /// Whether the watchdog has ended a solve with these arrays. Fences.
  bool was_stopped(const ExecutionSpace& exec) const {
    Waiting waiting;
    Kokkos::deep_copy(exec, waiting, m_waiting);
    exec.fence("lutra::trisolve: whether the watchdog has ended a solve is needed on the host");
    return waiting.stopped != 0;
  }

  /// Resets all state after the watchdog has ended a solve or one was not launched, except the record, in
  /// which solvers that share it still look for theirs. Fences.
  void recover(const ExecutionSpace& exec) {
    exec.fence("lutra::trisolve: the solve that the watchdog ended has returned");
    for (const auto& array : m_arrays) Kokkos::deep_copy(exec, array, sentinel_value<Scalar>());
    m_dirty[0] = m_dirty[1] = 0;
    Kokkos::deep_copy(exec, m_waiting, Waiting{});
    exec.fence("lutra::trisolve: the arrays hold sentinels again");
    m_is_pending = false;
  }

  std::size_t bytes() const { return m_reservation.bytes() + m_arrays_reservation.bytes(); }

 private:
  using Waiting = SolveTickets;

  std::size_t m_n = 0;
  MemoryBudget m_budget;
  MemoryReservation m_reservation, m_arrays_reservation;
  Kokkos::View<Scalar*, Memory> m_arrays[2];  ///< [n × stride] each
  Kokkos::View<Waiting, Memory> m_waiting;
  TimeoutFlag m_timeout;
  int m_stride = 0;         ///< values per position allocated
  int m_dirty[2] = {0, 0};  ///< values per position that are not sentinels
  int m_parity = 0;
  bool m_is_pending = false;  ///< between `prepare` and `has_launched`
};

}  // namespace lutra::Impl

#endif
