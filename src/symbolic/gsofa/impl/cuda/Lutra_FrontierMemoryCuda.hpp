// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTIERMEMORYCUDA_HPP
#define LUTRA_FRONTIERMEMORYCUDA_HPP

#include <cstddef>
#include <memory>
#include <string>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Fill2Options.hpp"
#include "Lutra_MemoryBudget.hpp"

// Memory of the kernel frontiers outside its chunk (GSoFa, sections 5 and 6): external frontiers, and unified
// memory.

namespace lutra::Impl {

/// Bytes of pinned host memory, mapped for the device.
inline std::shared_ptr<char> pinned_bytes(std::size_t bytes) {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped), "allocating external frontiers");
  return {static_cast<char*>(memory), [](char* p) { static_cast<void>(cudaFreeHost(p)); }};
}

/// Bytes on another device, which `device` may read and write.
/// @throws InputError if there is none
inline std::shared_ptr<char> peer_bytes(int device, std::size_t bytes) {
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "counting devices");
  for (int peer = 0; peer < count; ++peer) {
    int reachable = 0;
    if (peer == device || cudaDeviceCanAccessPeer(&reachable, device, peer) != cudaSuccess || reachable == 0)
      continue;
    const cudaError_t enabled =
        cudaDeviceEnablePeerAccess(peer, 0);  // of the current device, which is `device`
    if (enabled == cudaErrorPeerAccessAlreadyEnabled)
      static_cast<void>(cudaGetLastError());
    else
      check_cuda(enabled, "reaching another device");
    void* memory = nullptr;
    check_cuda(cudaSetDevice(peer), "selecting another device");
    const cudaError_t allocated = cudaMalloc(&memory, bytes);
    check_cuda(cudaSetDevice(device), "selecting a device");
    check_cuda(allocated, "allocating external frontiers on another device");
    return {static_cast<char*>(memory), [device, peer](char* p) {
              static_cast<void>(cudaSetDevice(peer));
              static_cast<void>(cudaFree(p));
              static_cast<void>(cudaSetDevice(device));
            }};
  }
  throw InputError("options: fill2.external peer needs a second device that the first one reaches");
}

/// Unified memory, charged to a budget.
class ManagedBytes {
 public:
  ManagedBytes(const Kokkos::Cuda& exec, std::size_t bytes, Fill2Unified unified, MemoryBudget budget)
      : m_budget(std::move(budget)), m_bytes(bytes) {
    m_budget.charge("lutra::symbolic::managed", bytes);
    try {
      void* memory = nullptr;
      check_cuda(cudaMallocManaged(&memory, bytes), "allocating unified memory");
      m_memory = {static_cast<char*>(memory), [](char* p) { static_cast<void>(cudaFree(p)); }};
      if (unified != Fill2Unified::plain) advise(exec.cuda_device());
      if (unified == Fill2Unified::prefetched) prefetch(exec);
    } catch (...) {
      m_budget.cancel(bytes);
      throw;
    }
  }
  ~ManagedBytes() { m_budget.release(m_bytes); }
  ManagedBytes(const ManagedBytes&) = delete;
  ManagedBytes& operator=(const ManagedBytes&) = delete;

  char* data() const { return m_memory.get(); }
  std::size_t size() const { return m_bytes; }

  /// Bytes that may be managed: never more than are free on the device, where others would be moved away.
  static std::size_t available(const MemoryBudget& budget) {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
    return std::min(free, budget.available_bytes());
  }

 private:
#if CUDART_VERSION >= 13000
  static cudaMemLocation location(int device) {
    return {cudaMemLocationTypeDevice, device};
  }
  void prefetch(const Kokkos::Cuda& exec) const {
    check_cuda(cudaMemPrefetchAsync(data(), m_bytes, location(exec.cuda_device()), 0, exec.cuda_stream()),
               "prefetching unified memory");
  }
#else
  static int location(int device) {
    return device;
  }
  void prefetch(const Kokkos::Cuda& exec) const {
    check_cuda(cudaMemPrefetchAsync(data(), m_bytes, exec.cuda_device(), exec.cuda_stream()),
               "prefetching unified memory");
  }
#endif
  void advise(int device) const {
    for (const auto advice : {cudaMemAdviseSetPreferredLocation, cudaMemAdviseSetAccessedBy})
      check_cuda(cudaMemAdvise(data(), m_bytes, advice, location(device)), "advising unified memory");
  }

  MemoryBudget m_budget;
  std::size_t m_bytes;
  std::shared_ptr<char> m_memory;
};

}  // namespace lutra::Impl

#endif
