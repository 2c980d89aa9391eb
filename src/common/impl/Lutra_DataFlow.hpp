// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DATAFLOW_HPP
#define LUTRA_DATAFLOW_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

// Self-flagged values. A slot that has not been computed holds one particular NaN, the sentinel. A consumer
// polls the slot until it holds any other value:
//
//   producer                        memory                        consumer
//   x = ...                         sentinel  <-- read_fresh ---  sentinel: read again
//   write_through(slot, x)  ----->  x         <-- read_fresh ---  x: use it
//
// The value is its own flag: neither flag nor fence is needed, and a dependency costs one round trip through
// memory. A computed value that equals the sentinel is stored as a different NaN (`storable`).

template <class Real>
struct Sentinel;
template <>
struct Sentinel<double> {
  using Bits = std::uint64_t;
  static constexpr Bits bits = 0x7ff8'6c75'7472'6121;  ///< a quiet NaN with the payload "lutra!"
};
template <>
struct Sentinel<float> {
  using Bits = std::uint32_t;
  static constexpr Bits bits = 0x7fec'7472;  ///< a quiet NaN with the payload "ltr"
};

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real sentinel_of() {
  constexpr auto bits = Sentinel<Real>::bits;
  return Kokkos::bit_cast<Real>(bits);
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool is_sentinel(Real value) {
  return Kokkos::bit_cast<typename Sentinel<Real>::Bits>(value) == Sentinel<Real>::bits;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool is_sentinel(const Kokkos::complex<Real>& value) {
  return is_sentinel(value.real()) || is_sentinel(value.imag());
}

/// A value in storable form: never the sentinel, nor any value with the sentinel's upper 32 bits, which are
/// sufficient to recognize it.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real storable(Real value) {
  using Bits = typename Sentinel<Real>::Bits;
  constexpr int unused = 8 * (sizeof(Bits) - 4);
  const bool looks_like_sentinel = Kokkos::bit_cast<Bits>(value) >> unused == Sentinel<Real>::bits >> unused;
  return looks_like_sentinel ? Kokkos::Experimental::quiet_NaN_v<Real> : value;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> storable(const Kokkos::complex<Real>& value) {
  return {storable(value.real()), storable(value.imag())};
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar sentinel_value() {
  using Real = RealOf<Scalar>;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return Scalar(sentinel_of<Real>(), sentinel_of<Real>());
  } else {
    return sentinel_of<Real>();
  }
}

/// Reads a slot that another thread may be writing, from memory. Each real number is read atomically, which
/// suffices for self-flagged values. Pairs with write_through.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real read_fresh(const Real* position) {
  return *static_cast<const volatile Real*>(position);
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> read_fresh(const Kokkos::complex<Real>* position) {
  const auto* parts = reinterpret_cast<const volatile Real*>(position);
  const Real real = parts[0], imaginary = parts[1];
  return {real, imaginary};
}

/// Writes a slot that other threads poll by read_fresh.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void write_through(Real* position, Real value) {
  *static_cast<volatile Real*>(position) = value;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void write_through(Kokkos::complex<Real>* position,
                                               const Kokkos::complex<Real>& value) {
  auto* parts = reinterpret_cast<volatile Real*>(position);
  parts[0] = value.real();
  parts[1] = value.imag();
}

}  // namespace lutra::Impl

#endif
