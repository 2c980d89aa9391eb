// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DENSEROWS_HPP
#define LUTRA_DENSEROWS_HPP

#include <Kokkos_Core.hpp>

namespace lutra {

/// A block of k vectors, [n × k] by rows: the k values of a row are neighbours.
template <class Scalar, class MemorySpace>
using DenseRows = Kokkos::View<Scalar**, Kokkos::LayoutRight, MemorySpace>;

}  // namespace lutra

#endif
