// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DENSEROWS_HPP
#define LUTRA_DENSEROWS_HPP

#include <Kokkos_Core.hpp>

namespace lutra {

/// Block of k vectors, [n × k], row-major: the k values of a row are contiguous.
template <class Scalar, class MemorySpace>
using DenseRows = Kokkos::View<Scalar**, Kokkos::LayoutRight, MemorySpace>;

}  // namespace lutra

#endif
