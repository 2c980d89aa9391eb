// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EXECUTIONTRAITS_HPP
#define LUTRA_EXECUTIONTRAITS_HPP

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace lutra::Impl {

template <class ExecutionSpace>
inline constexpr bool is_host_space =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;

/// Execution spaces of host threads: overloads for hosts are constrained by it, and those for devices are
/// not. Teams have one thread there.
template <class ExecutionSpace>
concept HostExecution = is_host_space<ExecutionSpace>;

#ifdef KOKKOS_ENABLE_SERIAL
template <class ExecutionSpace>
inline constexpr bool is_serial_space = std::is_same_v<ExecutionSpace, Kokkos::Serial>;
#else
template <class ExecutionSpace>
inline constexpr bool is_serial_space = false;
#endif

/// Adds to a location shared by teams: atomically, unless the space has only one thread.
template <class ExecutionSpace, class T>
KOKKOS_FORCEINLINE_FUNCTION void add_shared(T& location, const T& value) {
  if constexpr (is_serial_space<ExecutionSpace>) {
    location += value;
  } else {
    Kokkos::atomic_add(&location, value);
  }
}

/// Fetch-and-add on a counter shared by teams. @returns the previous value
template <class ExecutionSpace, class T>
KOKKOS_FORCEINLINE_FUNCTION T fetch_add_shared(T& location, const T& value) {
  if constexpr (is_serial_space<ExecutionSpace>) {
    const T before = location;
    location += value;
    return before;
  } else {
    return Kokkos::atomic_fetch_add(&location, value);
  }
}

/// Vector length for loops of about `mean_length` iterations: a power of two up to the space's limit.
template <class ExecutionSpace>
int vector_length_for(double mean_length) {
  const int most = Kokkos::TeamPolicy<ExecutionSpace>::vector_length_max();
  int length = 1;
  while (length < most && length < mean_length) length *= 2;
  return length;
}
template <HostExecution ExecutionSpace>
int vector_length_for(double) {
  return 1;
}

/// Threads of a team, or what a team does at once with one thread each: `on_device`, or 1 on hosts.
template <class ExecutionSpace>
constexpr int team_width(int on_device) {
  return on_device;
}
template <HostExecution ExecutionSpace>
constexpr int team_width(int) {
  return 1;
}

/// Policy that passes the functor as a kernel argument. Kokkos copies functors of 512 bytes and more through
/// a buffer in CUDA's constant memory, for which the host waits for the last kernel that used it.
template <class Policy>
auto by_argument(const Policy& policy) {
  return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

}  // namespace lutra::Impl

#endif
