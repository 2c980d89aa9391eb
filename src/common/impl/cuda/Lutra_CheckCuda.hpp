// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKCUDA_HPP
#define LUTRA_CHECKCUDA_HPP

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <string>

namespace lutra::Impl {

/// @throws std::runtime_error where CUDA refuses what was being done
inline void check_cuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // told; later calls are not to be blamed for it
  throw std::runtime_error(std::string("lutra: ") + doing + ": " + cudaGetErrorString(error));
}

}  // namespace lutra::Impl

#endif
