// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOAD_HPP
#define LUTRA_UPLOAD_HPP

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Device copy of host arrays, one after another. Fences.
template <class ExecutionSpace, class T>
Kokkos::View<const T*, typename ExecutionSpace::memory_space> upload_parts(
    const ExecutionSpace& exec, MemoryReservation& reservation, std::string_view label,
    const std::vector<std::span<const T>>& parts) {
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  auto device =
      reservation.allocate<Kokkos::View<T*, typename ExecutionSpace::memory_space>>(exec, label, size);
  std::size_t begin = 0;
  for (const auto& part : parts) {
    Kokkos::deep_copy(exec, Kokkos::subview(device, std::pair(begin, begin + part.size())),
                      Kokkos::View<const T*, Kokkos::HostSpace>(part.data(), part.size()));
    begin += part.size();
  }
  exec.fence("lutra: the host arrays are no longer needed");
  return device;
}

/// Device copy of a host array. Fences.
template <class ExecutionSpace, class T, class Allocator>
Kokkos::View<const T*, typename ExecutionSpace::memory_space> upload(const ExecutionSpace& exec,
                                                                     MemoryReservation& reservation,
                                                                     std::string_view label,
                                                                     const std::vector<T, Allocator>& host) {
  return upload_parts(exec, reservation, label, std::vector<std::span<const T>>{host});
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
  wait_for(exec, "lutra: an array is on the host");
  using Own = typename View::non_const_value_type;
  return std::vector<std::conditional_t<std::is_void_v<T>, Own, T>>(host.data(),
                                                                    host.data() + host.extent(0));
}

}  // namespace lutra::Impl

#endif
