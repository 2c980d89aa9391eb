// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STRIDED_HPP
#define LUTRA_STRIDED_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace lutra::Impl {

/// A matrix with arbitrary strides, read entry by entry.
template <class Scalar>
struct Strided {
  const Scalar* data;
  std::int64_t row, column;  ///< strides
  KOKKOS_FORCEINLINE_FUNCTION const Scalar& operator()(int i, int j) const {
    return data[i * row + j * column];
  }
};

}  // namespace lutra::Impl

#endif
