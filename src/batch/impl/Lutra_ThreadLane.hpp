// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_THREADLANE_HPP
#define LUTRA_THREADLANE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_LaneKernels.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Systems in a group of a device, each with a thread of a warp.
inline constexpr int device_lanes = 32;

/// One lane per thread; arrays are [entries][device_lanes], and pointers point to the lane of the thread.
template <class Scalar>
struct ThreadLane {
  using Real = RealOf<Scalar>;
  using Element = Scalar;
  using Value = Scalar;
  using Size = Real;
  static constexpr bool is_complex = ScalarTraits<Scalar>::is_complex;
  static constexpr int at_once = 4;  // in flight for each thread of a warp
  static constexpr Real huge = Kokkos::Experimental::finite_max_v<Real>;
  static constexpr Real smallest = Kokkos::Experimental::norm_min_v<Real>;
  static constexpr Real infinity = Kokkos::Experimental::infinity_v<Real>;

  KOKKOS_FORCEINLINE_FUNCTION static Size size(Real value) { return value; }
  KOKKOS_FORCEINLINE_FUNCTION static Value load(const Element* base, Offset e) {
    return base[e * device_lanes];
  }
  KOKKOS_FORCEINLINE_FUNCTION static void store(Element* base, Offset e, const Value& value) {
    base[e * device_lanes] = value;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T is_less(const Size& a, const Size& b, const T& x, const T& y) {
    return a < b ? x : y;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Value zero() { return Value(0); }
  KOKKOS_FORCEINLINE_FUNCTION static Value real_value(const Size& size) { return Value(size); }
  KOKKOS_FORCEINLINE_FUNCTION static Size real_part(const Value& value) {
    if constexpr (is_complex) {
      return value.real();
    } else {
      return value;
    }
  }
  /// a + x·y, rounded once on devices. Left to the compiler, it would be joined in some kernels and not in
  /// others.
  KOKKOS_FORCEINLINE_FUNCTION static Real plus_product(Real a, Real x, Real y) {
    KOKKOS_IF_ON_DEVICE((return Kokkos::fma(x, y, a);))
    KOKKOS_IF_ON_HOST((return a + x * y;))
  }
  /// a·b, never joined with an addition.
  KOKKOS_FORCEINLINE_FUNCTION static Real rounded(Real a, Real b) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    if constexpr (sizeof(Real) == 8) {
      return __dmul_rn(a, b);
    } else {
      return __fmul_rn(a, b);
    }
#else
    return a * b;
#endif
  }
  KOKKOS_FORCEINLINE_FUNCTION static Value times(const Value& value, Real factor) {
    if constexpr (is_complex) {
      return {rounded(value.real(), factor), rounded(value.imag(), factor)};
    } else {
      return rounded(value, factor);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static Value product(const Value& a, const Value& b) {
    if constexpr (is_complex) {
      return {plus_product(-rounded(a.imag(), b.imag()), a.real(), b.real()),
              plus_product(rounded(a.imag(), b.real()), a.real(), b.imag())};
    } else {
      return rounded(a, b);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static Value plus(const Value& a, const Value& b) {
    return a + b;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Value minus_product(const Value& a, const Value& l, const Value& u) {
    if constexpr (is_complex) {
      return {plus_product(plus_product(a.real(), -l.real(), u.real()), l.imag(), u.imag()),
              plus_product(plus_product(a.imag(), -l.real(), u.imag()), -l.imag(), u.real())};
    } else {
      return plus_product(a, -l, u);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static Value conjugated(const Value& value, Real sign) {
    if constexpr (is_complex) {
      return {value.real(), value.imag() * sign};
    } else {
      return value;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static Value reciprocal(const Value& value) {
    return Value(1) / value;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Size max_norm(const Value& value) {
    if constexpr (is_complex) {
      const Real re = Kokkos::abs(value.real()), im = Kokkos::abs(value.imag());
      return (re < im ? im : re) + (im - im);  // NaN of either part
    } else {
      return Kokkos::abs(value);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static Size magnitude(const Value& value) {
    return ScalarTraits<Scalar>::magnitude(value);
  }
};

}  // namespace lutra::Impl

#endif
