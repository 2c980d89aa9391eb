// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCALARTRAITS_HPP
#define LUTRA_SCALARTRAITS_HPP

#include <Kokkos_Core.hpp>

namespace lutra {

/// Properties of a scalar type in kernels: real type, magnitude, conjugate, finiteness.
template <class Scalar>
struct ScalarTraits {
  using Real = Scalar;
  static constexpr bool is_complex = false;
  KOKKOS_FUNCTION static Real magnitude(const Scalar& value) { return Kokkos::abs(value); }
  KOKKOS_FUNCTION static Scalar conjugate(const Scalar& value) { return value; }
  KOKKOS_FUNCTION static bool is_finite(const Scalar& value) { return Kokkos::isfinite(value); }
};

template <class RealType>
struct ScalarTraits<Kokkos::complex<RealType>> {
  using Real = RealType;
  static constexpr bool is_complex = true;
  KOKKOS_FUNCTION static Real magnitude(const Kokkos::complex<Real>& value) { return Kokkos::abs(value); }
  KOKKOS_FUNCTION static Kokkos::complex<Real> conjugate(const Kokkos::complex<Real>& value) {
    return Kokkos::conj(value);
  }
  KOKKOS_FUNCTION static bool is_finite(const Kokkos::complex<Real>& value) {
    return Kokkos::isfinite(value.real()) && Kokkos::isfinite(value.imag());
  }
};

template <class Scalar>
using RealOf = typename ScalarTraits<Scalar>::Real;

/// Machine epsilon, twice the unit roundoff: the distance from 1 to the next larger number.
template <class Scalar>
inline constexpr RealOf<Scalar> epsilon_of = Kokkos::Experimental::epsilon_v<RealOf<Scalar>>;

}  // namespace lutra

#endif
