// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TEAMATOMICS_HPP
#define LUTRA_TEAMATOMICS_HPP

#include <type_traits>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra::Impl {

/// Atomic operations on variables of one team. Each returns the previous value.
template <class ExecutionSpace>
struct TeamAtomics {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T add(T& location, std::type_identity_t<T> value) {
    return Kokkos::atomic_fetch_add(&location, value);
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T lower(T& location, std::type_identity_t<T> value) {
    return Kokkos::atomic_fetch_min(&location, value);
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T set_bits(T& location, std::type_identity_t<T> bits) {
    return Kokkos::atomic_fetch_or(&location, bits);
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T clear_bits(T& location, std::type_identity_t<T> bits) {
    return Kokkos::atomic_fetch_and(&location, ~bits);
  }
};

/// On hosts a team is one thread.
template <HostExecution ExecutionSpace>
struct TeamAtomics<ExecutionSpace> {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T add(T& location, std::type_identity_t<T> value) {
    const T before = location;
    location += value;
    return before;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T lower(T& location, std::type_identity_t<T> value) {
    const T before = location;
    if (value < before) location = value;
    return before;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T set_bits(T& location, std::type_identity_t<T> bits) {
    const T before = location;
    location |= bits;
    return before;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T clear_bits(T& location, std::type_identity_t<T> bits) {
    const T before = location;
    location &= ~bits;
    return before;
  }
};

}  // namespace lutra::Impl

#endif
