// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime.h>

#include <utility>

#include "Lutra_FailingAllocations.hpp"
#include "Lutra_FailingKernels.hpp"

// The functions of CUDA's runtime that allocate or launch. The linker gives callers in the program and in
// static libraries these (--wrap); __real_… are CUDA's own.

namespace {

cudaError_t pending = cudaSuccess;  // of a launch that was refused, until it is asked for

bool is_refused() {
  if (!lutra::Test::FailingKernels::is_to_fail()) return false;
  pending = cudaErrorLaunchOutOfResources;
  return true;
}

}  // namespace

// Allocations of no bytes, such as Kokkos makes at launches of teams without scratch memory, never fail.
#define LUTRA_TEST_ALLOCATION(function, parameters, arguments)                          \
  extern "C" cudaError_t __real_##function parameters;                                  \
  extern "C" cudaError_t __wrap_##function parameters {                                 \
    if (bytes > 0 && lutra::Test::Impl::is_to_fail()) return cudaErrorMemoryAllocation; \
    const cudaError_t error = __real_##function arguments;                              \
    if (error == cudaSuccess && bytes > 0) lutra::Test::Impl::count_live_views(1);      \
    return error;                                                                       \
  }
LUTRA_TEST_ALLOCATION(cudaMalloc, (void** memory, std::size_t bytes), (memory, bytes))
LUTRA_TEST_ALLOCATION(cudaMallocAsync, (void** memory, std::size_t bytes, cudaStream_t stream),
                      (memory, bytes, stream))
LUTRA_TEST_ALLOCATION(cudaMallocManaged, (void** memory, std::size_t bytes, unsigned int flags),
                      (memory, bytes, flags))
LUTRA_TEST_ALLOCATION(cudaMallocHost, (void** memory, std::size_t bytes), (memory, bytes))
LUTRA_TEST_ALLOCATION(cudaHostAlloc, (void** memory, std::size_t bytes, unsigned int flags),
                      (memory, bytes, flags))

#define LUTRA_TEST_RELEASE(function, parameters, arguments)         \
  extern "C" cudaError_t __real_##function parameters;              \
  extern "C" cudaError_t __wrap_##function parameters {             \
    if (memory != nullptr) lutra::Test::Impl::count_live_views(-1); \
    return __real_##function arguments;                             \
  }
LUTRA_TEST_RELEASE(cudaFree, (void* memory), (memory))
LUTRA_TEST_RELEASE(cudaFreeAsync, (void* memory, cudaStream_t stream), (memory, stream))
LUTRA_TEST_RELEASE(cudaFreeHost, (void* memory), (memory))

#define LUTRA_TEST_LAUNCH(function, Kernel)                                                                \
  extern "C" cudaError_t __real_##function(Kernel kernel, dim3 blocks, dim3 threads, void** arguments,     \
                                           std::size_t shared, cudaStream_t stream);                       \
  extern "C" cudaError_t __wrap_##function(Kernel kernel, dim3 blocks, dim3 threads, void** arguments,     \
                                           std::size_t shared, cudaStream_t stream) {                      \
    return is_refused() ? pending : __real_##function(kernel, blocks, threads, arguments, shared, stream); \
  }
LUTRA_TEST_LAUNCH(cudaLaunchKernel, const void*)
LUTRA_TEST_LAUNCH(cudaLaunchCooperativeKernel, const void*)
#if CUDART_VERSION >= 13000  // what <<< >>> calls
LUTRA_TEST_LAUNCH(__cudaLaunchKernel, cudaKernel_t)
#endif

bool lutra::Test::FailingKernels::clear_launch_error() noexcept {
  return std::exchange(pending, cudaSuccess) != cudaSuccess;
}

extern "C" cudaError_t __real_cudaGetLastError();
extern "C" cudaError_t __wrap_cudaGetLastError() {
  return pending != cudaSuccess ? std::exchange(pending, cudaSuccess) : __real_cudaGetLastError();
}
extern "C" cudaError_t __real_cudaPeekAtLastError();
extern "C" cudaError_t __wrap_cudaPeekAtLastError() {
  return pending != cudaSuccess ? pending : __real_cudaPeekAtLastError();
}
