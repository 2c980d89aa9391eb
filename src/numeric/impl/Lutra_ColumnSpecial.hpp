// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNSPECIAL_HPP
#define LUTRA_COLUMNSPECIAL_HPP

#include "Lutra_RightLookingLu.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_ColumnTasksCuda.hpp"
#endif

namespace lutra::Impl {

/// An execution space's own column factorization, where it has one.
template <class Ordinal, class Offset, class ExecutionSpace>
struct ColumnSpecial {
  static constexpr bool exists = false;
};

#ifdef KOKKOS_ENABLE_CUDA
template <class Ordinal, class Offset>
struct ColumnSpecial<Ordinal, Offset, Kokkos::Cuda> {
  static constexpr bool exists = true;
  using Tasks = ColumnTasks<Ordinal, Offset, Kokkos::CudaSpace>;
};
#endif

}  // namespace lutra::Impl

#endif
