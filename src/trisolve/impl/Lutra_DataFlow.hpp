// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DATAFLOW_HPP
#define LUTRA_DATAFLOW_HPP

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstdint>

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

// Values that are their own flag. A place that has not been computed holds one particular NaN, the mark; who
// needs the place reads it until something else stands there. Neither a flag nor a fence is needed, so that a
// dependency costs one trip through memory. A computed value that happens to be the mark is stored as another
// NaN.

template <class Real>
struct Mark;
template <>
struct Mark<double> {
  using Bits = std::uint64_t;
  static constexpr Bits bits = 0x7ff8'6c75'7472'6121;
};
template <>
struct Mark<float> {
  using Bits = std::uint32_t;
  static constexpr Bits bits = 0x7fec'7472;
};

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real mark_of() {
  constexpr auto bits = Mark<Real>::bits;
  return Kokkos::bit_cast<Real>(bits);
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool is_marked(Real value) {
  return Kokkos::bit_cast<typename Mark<Real>::Bits>(value) == Mark<Real>::bits;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool is_marked(const Kokkos::complex<Real>& value) {
  return is_marked(value.real()) || is_marked(value.imag());
}

/// A value as it may be stored: none that the mark's upper 32 bits begin, so that those tell it apart.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real unmarked(Real value) {
  using Bits = typename Mark<Real>::Bits;
  constexpr int unused = 8 * (sizeof(Bits) - 4);
  const bool looks_marked = Kokkos::bit_cast<Bits>(value) >> unused == Mark<Real>::bits >> unused;
  return looks_marked ? Kokkos::Experimental::quiet_NaN_v<Real> : value;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> unmarked(const Kokkos::complex<Real>& value) {
  return {unmarked(value.real()), unmarked(value.imag())};
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar marked_value() {
  using Real = RealOf<Scalar>;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return Scalar(mark_of<Real>(), mark_of<Real>());
  } else {
    return mark_of<Real>();
  }
}

/// Reads a place anew that another thread may be writing. Each real number is read whole, which is all that
/// self-flagged values need.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real read_fresh(const Real* place) {
  return *static_cast<const volatile Real*>(place);
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> read_fresh(const Kokkos::complex<Real>* place) {
  const auto* parts = reinterpret_cast<const volatile Real*>(place);
  const Real real = parts[0], imaginary = parts[1];
  return {real, imaginary};
}

/// Writes a place that others read by read_fresh.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void write_through(Real* place, Real value) {
  *static_cast<volatile Real*>(place) = value;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void write_through(Kokkos::complex<Real>* place,
                                               const Kokkos::complex<Real>& value) {
  auto* parts = reinterpret_cast<volatile Real*>(place);
  parts[0] = value.real();
  parts[1] = value.imag();
}

}  // namespace lutra::Impl

#endif
