// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHANNELKERNELSCUDA_HPP
#define LUTRA_CHANNELKERNELSCUDA_HPP

#include "Lutra_PeerWindow.hpp"

namespace lutra::Impl {

#if defined(__CUDACC__)
/// Raises a signal of a rank behind the copies before it on the stream. One thread.
static __global__ void raise_signal_kernel(const PeerWindow window, const int to, const std::size_t signal,
                                           const PeerWindow::Word value) {
  __threadfence_system();
  raise_system_flag(window.signals[to] + signal, value);
}

/// Holds the stream until a signal of this rank has arrived, or a rank has given up. One block.
static __global__ void wait_for_signal_kernel(const PeerWindow window, const std::size_t signal,
                                              const PeerWindow::Word value) {
  static_cast<void>(window.wait(signal, value));
}
#endif

}  // namespace lutra::Impl

#endif
