// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKCUDA_HPP
#define LUTRA_CHECKCUDA_HPP

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <string>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

/// @throws OutOfMemoryError if CUDA ran out of memory; std::runtime_error for any other error
inline void check_cuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clear the error, so that later calls do not report it
  if (error == cudaErrorMemoryAllocation)
    throw OutOfMemoryError(std::string("lutra: ") + doing + ": " + cudaGetErrorString(error), 0);
  throw std::runtime_error(std::string("lutra: ") + doing + ": " + cudaGetErrorString(error));
}

}  // namespace lutra::Impl

#endif
