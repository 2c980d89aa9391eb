// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CheckLaunches.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_CheckCuda.hpp"

namespace lutra::Impl {

void check_launches() {
  const cudaError_t error = cudaPeekAtLastError();
  if (error == cudaErrorLaunchOutOfResources || error == cudaErrorInvalidConfiguration ||
      error == cudaErrorInvalidDeviceFunction || error == cudaErrorNoKernelImageForDevice)
    check_cuda(error, "launching a kernel");
}

}  // namespace lutra::Impl
#endif
