// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PINGPONGCUDA_HPP
#define LUTRA_PINGPONGCUDA_HPP

#include <cstddef>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_PeerWindow.hpp"

namespace lutra::Impl {

#if defined(__CUDACC__)
/// Puts with a signal to and fro between two ranks' devices, as in Fig. 6 of the paper on message-driven
/// solves (N. Ding et al., 2020). One block.
/// @param epoch  value of the signal before
/// @param starts whether this rank puts first
static __global__ void ping_pong_kernel(const PeerWindow window, const int peer, const double* source,
                                        const std::size_t count, const int turns, PeerWindow::Word epoch,
                                        const bool starts) {
  for (int turn = 0; turn < turns; ++turn) {
    ++epoch;
    if (!starts && !window.wait(0, epoch)) return;
    window.put(peer, 0, source, count, 0, epoch);
    if (starts && !window.wait(0, epoch)) return;
  }
}

/// Queues `turns` puts to a peer and back.
inline void launch_ping_pong(const Kokkos::Cuda& exec, const PeerWindow& window, int peer,
                             const Kokkos::View<const double*, Kokkos::CudaSpace>& source, int turns,
                             PeerWindow::Word epoch, bool starts) {
  ping_pong_kernel<<<1, 256, 0, exec.cuda_stream()>>>(window, peer, source.data(), source.extent(0), turns,
                                                      epoch, starts);
  check_cuda(cudaGetLastError(), "launching puts between devices");
}
#endif

}  // namespace lutra::Impl

#endif
