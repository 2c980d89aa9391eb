// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ASYNCRESULT_HPP
#define LUTRA_ASYNCRESULT_HPP

#include <string>
#include <string_view>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// values(i) = value
template <class T, class Memory>
struct FillValues {
  Kokkos::View<T*, Memory> values;
  T value;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { values(i) = value; }
};

/// Host copy of an array in an execution space's memory, in memory that allows asynchronous copies.
template <class ExecutionSpace>
struct HostCopy {
  using Memory = Kokkos::SharedHostPinnedSpace;
  template <class T>
  static Kokkos::View<T*, Memory> allocate(const Kokkos::View<T*, typename ExecutionSpace::memory_space>& of,
                                           std::string_view label) {
    return make_uncounted<Kokkos::View<T*, Memory>>(std::string(label) + " on the host", of.extent(0));
  }
  template <class To, class From>
  static void queue(const ExecutionSpace& exec, const To& to, const From& from) {
    Kokkos::deep_copy(exec, to, from);
  }
};
/// On hosts it is the array itself.
template <HostExecution ExecutionSpace>
struct HostCopy<ExecutionSpace> {
  using Memory = Kokkos::HostSpace;
  template <class T>
  static Kokkos::View<T*, Memory> allocate(const Kokkos::View<T*, Memory>& of, std::string_view) {
    return of;
  }
  template <class To, class From>
  static void queue(const ExecutionSpace&, const To&, const From&) {}
};

/// A few values written by kernels and read by the host, in device memory and in a host array that allows
/// asynchronous copies; on hosts both are the same array. Allocated once and reused: a read costs one copy
/// and one wait.
///
///     kernels ──write──▶ device() ──fetch: copy, fence──▶ host()
///     kernels ◀──read─── device() ◀──send: copy───────── host()
template <class T, class ExecutionSpace>
class AsyncResult {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using HostMemory = typename HostCopy<ExecutionSpace>::Memory;

  AsyncResult() = default;
  /// @param label of the device array, which is charged to `reservation`
  AsyncResult(const ExecutionSpace& exec, MemoryReservation& reservation, std::string_view label,
              std::size_t count)
      : m_device(reservation.template allocate<Kokkos::View<T*, Memory>>(exec, label, count)),
        m_host(HostCopy<ExecutionSpace>::template allocate<T>(m_device, label)) {}

  std::size_t size() const { return m_device.extent(0); }
  const Kokkos::View<T*, Memory>& device() const { return m_device; }
  /// Values of the last fetch, or values for the next send.
  const Kokkos::View<T*, HostMemory>& host() const { return m_host; }

  /// Sets all values on the device. Does not wait.
  void fill(const ExecutionSpace& exec, const T& value) const {
    // deep_copy fences on hosts if the value is zero
    Kokkos::parallel_for("lutra::common::fill",
                         Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(size())),
                         FillValues<T, Memory>{m_device, value});
  }

  /// Queues the copy to the host; complete after the next wait for `exec`.
  void queue_fetch(const ExecutionSpace& exec) const {
    HostCopy<ExecutionSpace>::queue(exec, m_host, m_device);
  }

  /// Copies the values to the host. Waits for `exec` once.
  const Kokkos::View<T*, HostMemory>& fetch(const ExecutionSpace& exec) const {
    queue_fetch(exec);
    wait_for(exec, "lutra: results are on the host");
    return m_host;
  }

  /// Copies values from the host to the device. Does not wait: the host array must not change until the next
  /// fetch.
  void send(const ExecutionSpace& exec) const { HostCopy<ExecutionSpace>::queue(exec, m_device, m_host); }

 private:
  Kokkos::View<T*, Memory> m_device;
  Kokkos::View<T*, HostMemory> m_host;
};

}  // namespace lutra::Impl

#endif
