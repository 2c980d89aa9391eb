// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RESIDENTBLOCKSCUDA_HPP
#define LUTRA_RESIDENTBLOCKSCUDA_HPP

#include <cstddef>

#include "Lutra_CheckCuda.hpp"

namespace lutra::Impl {

/// Blocks of a kernel that the device runs concurrently. Permits that much dynamic shared memory first.
/// @param shared_bytes dynamic shared memory of a block
template <class Kernel>
int resident_blocks(const Kokkos::Cuda& exec, Kernel kernel, int threads, std::size_t shared_bytes) {
  if (shared_bytes > 0)
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)),
               "asking for shared memory");
  int per_processor = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, shared_bytes),
             "asking how many blocks run at once");
  return per_processor * exec.cuda_device_prop().multiProcessorCount;
}

}  // namespace lutra::Impl

#endif
