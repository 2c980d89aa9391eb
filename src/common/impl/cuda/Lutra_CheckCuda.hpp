// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKCUDA_HPP
#define LUTRA_CHECKCUDA_HPP

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <string>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

/// @throws OutOfMemoryError where CUDA has no memory for what was being done; std::runtime_error where it
///         refuses it for another reason
inline void check_cuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // told; later calls are not to be blamed for it
  if (error == cudaErrorMemoryAllocation)
    throw OutOfMemoryError(std::string("lutra: ") + doing + ": " + cudaGetErrorString(error), 0);
  throw std::runtime_error(std::string("lutra: ") + doing + ": " + cudaGetErrorString(error));
}

}  // namespace lutra::Impl

#endif
