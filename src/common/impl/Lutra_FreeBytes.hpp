// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FREEBYTES_HPP
#define LUTRA_FREEBYTES_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <limits>

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_CheckCuda.hpp"
#endif

namespace lutra::Impl {

/// Free bytes of the device; on hosts no limit.
template <class ExecutionSpace>
std::size_t free_bytes(const ExecutionSpace&) {
  return std::numeric_limits<std::size_t>::max();
}
#ifdef KOKKOS_ENABLE_CUDA
inline std::size_t free_bytes(const Kokkos::Cuda&) {
  std::size_t free = 0, all = 0;
  check_cuda(cudaMemGetInfo(&free, &all), "asking for free memory");
  return free;
}
#endif

}  // namespace lutra::Impl

#endif
