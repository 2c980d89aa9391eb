// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STARTVECTOR_HPP
#define LUTRA_STARTVECTOR_HPP

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace lutra::Impl {

/// Entry i of a start vector without a preferred direction: magnitude 1 to 2 and a pseudo-random sign, the
/// same on every backend.
KOKKOS_INLINE_FUNCTION double start_entry(std::int64_t i) {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ull;
  const double size = 1.0 + static_cast<double>(mixed >> 40) / (1 << 24);
  return (mixed >> 20 & 1) != 0 ? size : -size;
}

}  // namespace lutra::Impl

#endif
