// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WINDOWKERNELS_HPP
#define LUTRA_WINDOWKERNELS_HPP

#include <Kokkos_Core.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_Communicator.hpp"

// Tests of a window: what kernels of one rank put, another rank's kernel finds.
namespace lutra::Test {

constexpr std::size_t window_length = 512;  ///< doubles of a message

/// One block. In each epoch it puts to the next rank, waits for the previous one, checks the received values,
/// tells that rank that its slot is free again, and waits for the same signal from the next rank. Rank 0
/// counts all epochs of all ranks.
/// @param own [window_length] where a window accepts sources @param come this rank's bytes
template <class Window>
__global__ void pass_around(Window window, double* own, const volatile double* come,
                            unsigned long long epochs, int* wrong) {
  const int next = (window.rank + 1) % window.size, before = (window.rank + window.size - 1) % window.size;
  const bool by_warp = threadIdx.x < 32;
  for (unsigned long long epoch = 1; epoch <= epochs; ++epoch) {
    own[threadIdx.x] = 1000.0 * static_cast<double>(epoch) + window.rank;
    __syncthreads();
    if (epoch % 2 == 0)
      window.put(next, 0, own, window_length, 0, epoch);
    else if (by_warp)
      window.put_by_warp(next, 0, own, window_length, 0, epoch);
    bool good = window.wait(0, epoch);
    if (good && come[threadIdx.x] != 1000.0 * static_cast<double>(epoch) + before) atomicAdd(wrong, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      window.add(before, 1, 1);
      window.add(0, 2, 1);
    }
    good = good && window.wait(1, epoch);
    if (!good) {
      atomicExch(wrong, -1);
      return;
    }
  }
  if (window.rank == 0 && !window.wait(2, epochs * window.size)) atomicExch(wrong, -1);
}

/// One block waits for a value that no rank sends.
template <class Window>
__global__ void wait_in_vain(Window window, int* came) {
  const bool there = window.wait(0, 1);
  if (threadIdx.x == 0) *came = there ? 1 : 0;
}

/// An int in the memory of the device.
class DeviceInt {
 public:
  explicit DeviceInt(int value) {
    cudaMalloc(&m_value, sizeof(int));
    cudaMemcpy(m_value, &value, sizeof(int), cudaMemcpyHostToDevice);
  }
  ~DeviceInt() { cudaFree(m_value); }
  DeviceInt(const DeviceInt&) = delete;
  DeviceInt& operator=(const DeviceInt&) = delete;
  int* data() const { return m_value; }
  /// Waits for kernels.
  int value() const {
    int value = -2;
    cudaMemcpy(&value, m_value, sizeof(int), cudaMemcpyDeviceToHost);
    return value;
  }

 private:
  int* m_value = nullptr;
};

/// @param window_of gives the window of a memory
template <class WindowOf>
void check_puts(Communicator& comm, CommBackend backend, const WindowOf& window_of) {
  SymmetricMemory memory(comm, 2 * window_length * sizeof(double), 3, backend);
  auto* const come = memory.at<double>(0);
  const DeviceInt wrong(0);
  pass_around<<<1, window_length>>>(window_of(memory), come + window_length, come, 100, wrong.data());
  CHECK(wrong.value() == 0);
  comm.barrier();
  memory.close();
}

/// @param comm with a watchdog of few seconds
template <class WindowOf>
void check_watchdog(Communicator& comm, CommBackend backend, const WindowOf& window_of) {
  SymmetricMemory memory(comm, 16, 1, backend);
  const auto window = window_of(memory);
  const DeviceInt came(-1);
  {
    const Communicator::Work work(comm);
    wait_in_vain<<<1, 64>>>(window, came.data());
    CHECK(came.value() == 0);
  }
  const auto by = window.aborted_on_host();  // the rank that gave up first, plus one
  CHECK(by >= 1);
  CHECK(by <= static_cast<unsigned long long>(comm.size()));
  memory.close();
}

}  // namespace lutra::Test

#endif
