// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOAD_HPP
#define LUTRA_UPLOAD_HPP

#include <string_view>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Device copy of a host array. Fences.
template <class ExecutionSpace, class T>
Kokkos::View<const T*, typename ExecutionSpace::memory_space> upload(const ExecutionSpace& exec,
                                                                     MemoryReservation& reservation,
                                                                     std::string_view label,
                                                                     const std::vector<T>& host) {
  auto device =
      reservation.allocate<Kokkos::View<T*, typename ExecutionSpace::memory_space>>(exec, label, host.size());
  Kokkos::deep_copy(exec, device, Kokkos::View<const T*, Kokkos::HostSpace>(host.data(), host.size()));
  exec.fence("lutra: the host array is no longer needed");
  return device;
}

/// A rank-1 View whose memory the host can access.
template <class View>
using OnHost = Kokkos::View<typename View::const_value_type*, Kokkos::HostSpace>;

/// Host copy of a rank-1 View, complete after the next wait for `exec`.
template <class ExecutionSpace, class View>
OnHost<View> download(const ExecutionSpace& exec, const View& view) {
  const auto host = make_uncounted<Kokkos::View<typename View::non_const_value_type*, Kokkos::HostSpace>>(
      "lutra::common::on the host", view.extent(0));
  Kokkos::deep_copy(exec, host, view);
  return host;
}
/// On hosts the View itself.
template <HostExecution ExecutionSpace, class View>
OnHost<View> download(const ExecutionSpace&, const View& view) {
  return view;
}

/// Elements of a rank-1 View on the host, converted to T if given. Waits for `exec`.
template <class T = void, class ExecutionSpace, class View>
auto to_host(const ExecutionSpace& exec, const View& view) {
  const auto host = download(exec, view);
  exec.fence("lutra: an array is on the host");
  using Own = typename View::non_const_value_type;
  return std::vector<std::conditional_t<std::is_void_v<T>, Own, T>>(host.data(),
                                                                    host.data() + host.extent(0));
}

}  // namespace lutra::Impl

#endif
