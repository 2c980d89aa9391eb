// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RELAXEDACCESS_HPP
#define LUTRA_RELAXEDACCESS_HPP

#include <Kokkos_Core.hpp>
#include <atomic>

namespace lutra::Impl {

/// Relaxed atomic load. Kokkos 4.6's atomic_load exchanges the value with itself, which costs several times
/// as much on hosts and devices.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load_relaxed(const T& location) {
  KOKKOS_IF_ON_DEVICE((return *static_cast<const volatile T*>(&location);))
  KOKKOS_IF_ON_HOST((return std::atomic_ref<T>(const_cast<T&>(location)).load(std::memory_order_relaxed);))
}

/// Relaxed atomic store.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_relaxed(T& location, T value) {
  KOKKOS_IF_ON_DEVICE((*static_cast<volatile T*>(&location) = value;))
  KOKKOS_IF_ON_HOST((std::atomic_ref<T>(location).store(value, std::memory_order_relaxed);))
}

}  // namespace lutra::Impl

#endif
