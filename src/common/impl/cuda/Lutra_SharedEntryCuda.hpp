// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SHAREDENTRYCUDA_HPP
#define LUTRA_SHAREDENTRYCUDA_HPP

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Atomically subtracts from a shared entry; real and imaginary parts separately.
template <class Scalar>
__device__ __forceinline__ void subtract_shared(Scalar* address, const Scalar& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    auto* const parts = reinterpret_cast<RealOf<Scalar>*>(address);
    atomicAdd(parts, -value.real());
    atomicAdd(parts + 1, -value.imag());
  } else {
    atomicAdd(address, -value);
  }
}

}  // namespace lutra::Impl

#endif
