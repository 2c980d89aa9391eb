// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_POWEROFTWO_HPP
#define LUTRA_POWEROFTWO_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "Lutra_ScalarTraits.hpp"

// Scaling by powers of two changes only exponents, so no bit of a mantissa, while numbers stay normal.

namespace lutra::Impl {

/// Layout of a floating-point number.
template <class Real>
struct RealBits {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int mantissa = std::numeric_limits<Real>::digits - 1;            ///< bits of the mantissa
  static constexpr int max_exponent = std::numeric_limits<Real>::max_exponent - 1;  ///< largest exponent of a
                                                                                    ///< finite number
  static constexpr int min_exponent = 1 - max_exponent;  ///< smallest exponent of a normal number
};

/// 2^e, with e clamped to the exponents of normal numbers.
template <class Real>
KOKKOS_INLINE_FUNCTION Real power_of_two(int e) {
  using Layout = RealBits<Real>;
  const int exponent = e < Layout::min_exponent   ? Layout::min_exponent
                       : e > Layout::max_exponent ? Layout::max_exponent
                                                  : e;
  return Kokkos::bit_cast<Real>(static_cast<typename Layout::Bits>(exponent + Layout::max_exponent)
                                << Layout::mantissa);
}

/// The e with 2^e ≤ x < 2^(e + 1) for a normal x > 0; the smallest exponent of normal numbers for smaller x;
/// 0 for x = 0, infinity and NaN.
template <class Real>
KOKKOS_INLINE_FUNCTION int exponent_of(Real x) {
  using Layout = RealBits<Real>;
  if (!(x > 0) || !Kokkos::isfinite(x)) return 0;
  const int biased = static_cast<int>(Kokkos::bit_cast<typename Layout::Bits>(x) >> Layout::mantissa);
  return biased == 0 ? Layout::min_exponent : biased - Layout::max_exponent;
}

/// value·2^e, for any e with a finite result. Multiplies twice, so that 2^e itself may be out of range; the
/// intermediate result is between `value` and the result.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar scale_by_power(const Scalar& value, int e) {
  const int half = e / 2;
  return value * power_of_two<RealOf<Scalar>>(half) * power_of_two<RealOf<Scalar>>(e - half);
}

/// Larger magnitude of the real and imaginary parts; never overflows.
template <class Scalar>
KOKKOS_INLINE_FUNCTION RealOf<Scalar> largest_part(const Scalar& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const auto re = Kokkos::abs(value.real()), im = Kokkos::abs(value.imag());
    return re < im || im != im ? im : re;
  } else {
    return Kokkos::abs(value);
  }
}

}  // namespace lutra::Impl

#endif
