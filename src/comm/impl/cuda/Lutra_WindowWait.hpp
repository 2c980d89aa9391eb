// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WINDOWWAIT_HPP
#define LUTRA_WINDOWWAIT_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

// What the windows of all backends have in common: waits that the watchdog or another rank ends, and the
// abort word as the host sees it.

#if defined(KOKKOS_ENABLE_CUDA)
/// Sets an abort word in device memory while kernels run.
inline void write_abort_word(unsigned long long* address, int rank) {
  const auto word = static_cast<unsigned long long>(rank + 1);
  cudaStream_t beside{};
  cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking);
  cudaMemcpyAsync(address, &word, sizeof word, cudaMemcpyHostToDevice, beside);
  cudaStreamSynchronize(beside);
  cudaStreamDestroy(beside);
}
inline unsigned long long read_abort_word(const unsigned long long* address) {
  unsigned long long word = 0;
  cudaMemcpy(&word, address, sizeof word, cudaMemcpyDeviceToHost);
  return word;
}
#endif

#if defined(__CUDACC__)
/// Waits until a signal of this rank is at least `value`. Called by all threads of a block.
/// @returns false if a rank has aborted, or if the watchdog ended the wait, in which case this rank aborts
/// all
template <class Window>
__device__ bool wait_in_block(const Window& window, std::size_t signal, unsigned long long value) {
  int given_up = 0;
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    // Timer and abort word are read rarely, because each reading delays the signal's next one.
    constexpr int readings_a_look = 256;
    WaitTimer<> timer;
    for (int readings = 1; !window.has_come(signal, value) && given_up == 0; ++readings) {
      if (readings % readings_a_look != 0) continue;
      if (window.aborted() != 0) {
        given_up = 1;
      } else if (timer.exceeds(window.watchdog)) {
        window.abort_all();
        given_up = 1;
      }
    }
  }
  return __syncthreads_or(given_up) == 0;
}
#endif

}  // namespace lutra::Impl

#endif
