// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOAD_HPP
#define LUTRA_UPLOAD_HPP

#include <string>
#include <vector>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// A device copy of a host array.
template <class ExecutionSpace, class T>
Kokkos::View<const T*, typename ExecutionSpace::memory_space> upload(const ExecutionSpace& exec,
                                                                     MemoryReservation& reservation,
                                                                     const std::string& label,
                                                                     const std::vector<T>& host) {
  auto device =
      reservation.allocate<Kokkos::View<T*, typename ExecutionSpace::memory_space>>(exec, label, host.size());
  exec.fence("lutra: allocated before it is filled from the host");
  Kokkos::deep_copy(device, Kokkos::View<const T*, Kokkos::HostSpace>(host.data(), host.size()));
  return device;
}

}  // namespace lutra::Impl

#endif
