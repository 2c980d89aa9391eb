// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKTWO_HPP
#define LUTRA_RANKTWO_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace lutra::Impl {

/// A View [n] or [n × k] of any layout as `Target`, an unmanaged strided View [n × k] of the same memory.
template <class Target, class View>
Target as_rank_two(const View& view) {
  const std::size_t rows = view.extent(0);
  const std::size_t cols = View::rank() == 2 ? view.extent(1) : 1;
  const std::size_t row_stride = view.stride(0);
  const std::size_t col_stride = View::rank() == 2 ? view.stride(View::rank() - 1) : rows;
  return Target(view.data(), Kokkos::LayoutStride(rows, row_stride, cols, col_stride));
}

}  // namespace lutra::Impl

#endif
