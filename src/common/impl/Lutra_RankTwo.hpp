// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKTWO_HPP
#define LUTRA_RANKTWO_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

/// Static assertions on Views B and X of a solve for `Scalar` on `ExecutionSpace`.
template <class Scalar, class ExecutionSpace, class BView, class XView>
constexpr void require_solvable_views() {
  static_assert(BView::rank() == XView::rank() && (BView::rank() == 1 || BView::rank() == 2),
                "lutra: a solve takes two Views of rank 1 or two of rank 2");
  static_assert(std::is_same_v<typename XView::value_type, Scalar> &&
                    std::is_same_v<typename BView::non_const_value_type, Scalar>,
                "lutra: a solve takes Views of the solver's own scalar type, X not const");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename BView::memory_space>::accessible &&
                    Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
                "lutra: a solve takes Views its execution space can reach; for host data use "
                "SparseLU::solve_host");
}

/// @throws InputError unless both B and X are [n × k]
template <class BView, class XView>
void check_extents(std::size_t n, const BView& B, const XView& X) {
  if (B.extent(0) != n) {
    throw InputError("B: it has " + std::to_string(B.extent(0)) + " rows, but the matrix has " +
                     std::to_string(n));
  }
  if (X.extent(0) != B.extent(0) || X.extent(1) != B.extent(1)) {
    throw InputError("X: it is " + std::to_string(X.extent(0)) + " × " + std::to_string(X.extent(1)) +
                     ", but B is " + std::to_string(B.extent(0)) + " × " + std::to_string(B.extent(1)));
  }
}

/// Any View [n] or [n × k] as `Target`, an unmanaged strided View [n × k] of the same memory.
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
