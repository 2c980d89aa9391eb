// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KAHNSPECIAL_HPP
#define LUTRA_KAHNSPECIAL_HPP

#include "Lutra_Kahn.hpp"
#include "Lutra_LevelizationTuning.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_KahnCuda.hpp"
#endif

namespace lutra::Impl {

/// An execution space's own levelization, where it has one.
template <class Ordinal, class Offset, class ExecutionSpace>
struct KahnSpecial {
  static constexpr bool exists = false;
};

#ifdef KOKKOS_ENABLE_CUDA
template <class Ordinal, class Offset>
struct KahnSpecial<Ordinal, Offset, Kokkos::Cuda> : KahnCuda<Ordinal, Offset> {
  static constexpr bool exists = true;
};
#endif

}  // namespace lutra::Impl

#endif
