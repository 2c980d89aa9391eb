// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SELECTIONKEY_HPP
#define LUTRA_SELECTIONKEY_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace lutra::Impl {

/// Unsigned integers in the order of floating-point numbers: −∞ < … < −0 = +0 < … < +∞ < NaN. Comparing keys
/// instead of values gives NaN a rank and the next larger value the next key.
template <class Real>
struct SelectionKey {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>, "values are float or double");
  using Key = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
  static constexpr int bits = 8 * static_cast<int>(sizeof(Key));
  static constexpr Key sign = Key(1) << (bits - 1);
  static constexpr Key not_a_number = ~Key(0);
  /// Keys of the infinities.
  static constexpr Key highest = ~Key(0) << (std::numeric_limits<Real>::digits - 1);
  static constexpr Key lowest = ~highest + 1;

  KOKKOS_FORCEINLINE_FUNCTION static Key encode(Real value) {
    if (value != value) return not_a_number;
    const Key pattern = Kokkos::bit_cast<Key>(value);
    return (pattern & sign) != 0 ? ~pattern + 1 : pattern | sign;  // sign also for −0
  }
  /// The value of a key; infinity for a key between infinity and NaN.
  KOKKOS_FORCEINLINE_FUNCTION static Real decode(Key key) {
    if (key == not_a_number) return Kokkos::Experimental::quiet_NaN_v<Real>;
    if (key > highest) key = highest;
    return Kokkos::bit_cast<Real>((key & sign) != 0 ? key ^ sign : ~key + 1);
  }
};

}  // namespace lutra::Impl

#endif
