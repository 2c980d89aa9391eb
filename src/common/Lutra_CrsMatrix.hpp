// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CRSMATRIX_HPP
#define LUTRA_CRSMATRIX_HPP

#include <KokkosSparse_CrsMatrix.hpp>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// View of a Kokkos Kernels matrix. Nothing is copied; `matrix` must outlive the view unless its Views are
/// managed. The row map keeps its type, by default `std::size_t` in Kokkos Kernels.
template <class Scalar, class Ordinal, class Device, class MemoryTraits, class Offset>
CsrView<std::remove_const_t<Scalar>, std::remove_const_t<Ordinal>, std::remove_const_t<Offset>,
        typename Device::memory_space>
make_view(const KokkosSparse::CrsMatrix<Scalar, Ordinal, Device, MemoryTraits, Offset>& matrix) {
  return {matrix.numRows(), matrix.numCols(), matrix.graph.row_map, matrix.graph.entries, matrix.values};
}

}  // namespace lutra

#endif
