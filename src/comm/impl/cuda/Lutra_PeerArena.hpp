// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PEERARENA_HPP
#define LUTRA_PEERARENA_HPP

#include <unistd.h>

#include <Kokkos_Core.hpp>

#include <array>
#include <string>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DeviceArena.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_PeerWindow.hpp"

namespace lutra::Impl {

/// Device memory of this rank that other ranks of the host map by CUDA IPC: signals, abort word, bytes.
/// Allocated by one cudaMalloc, since Views cannot be mapped if Kokkos allocates asynchronously.
class PeerArena final : public DeviceArena {
 public:
  /// Collective. @throws InputError or OutOfMemoryError, the same on all ranks
  PeerArena(Communicator& comm, std::size_t bytes, std::size_t signals) : m_comm(comm) {
    const std::size_t head = (signals * sizeof(PeerWindow::Word) + sizeof(PeerWindow::Word) + 15) / 16 * 16;
    Offer mine{};
    try {
      offer(mine, head, bytes, signals);
    } catch (const OutOfMemoryError&) {  // thrown on all ranks
      cudaFree(m_memory);
      throw;
    }
    const std::vector<Offer> offers = comm.all_gather(mine);
    comm.agree("mapping of peer memory", [&] { map(offers); });
  }
  PeerArena(const PeerArena&) = delete;
  PeerArena& operator=(const PeerArena&) = delete;
  /// Collective: all ranks unmap before any frees; the reverse order is undefined.
  void close() override {
    for (int rank = 0; rank < m_window.size; ++rank)
      if (rank != m_window.rank) cudaIpcCloseMemHandle(m_window.signals[rank]);
    m_comm.barrier();
    cudaFree(m_memory);
    m_memory = nullptr;
  }
  std::byte* bytes() const override { return m_window.bytes[m_window.rank]; }
  const PeerWindow& window() const { return m_window; }

 private:
  struct Offer {
    cudaIpcMemHandle_t handle;
    std::size_t head, signals;
    std::array<char, 64> host;
  };

  /// Allocates, and exports the memory for other ranks.
  void offer(Offer& mine, std::size_t head, std::size_t bytes, std::size_t signals) {
    m_comm.agree("allocation of peer memory", [&] {
      if (m_comm.size() > PeerWindow::max_ranks)
        throw InputError("communication backend 'peer' is for at most " +
                         std::to_string(PeerWindow::max_ranks) + " ranks, not " +
                         std::to_string(m_comm.size()));
      if (cudaMalloc(&m_memory, head + bytes) != cudaSuccess)
        throw OutOfMemoryError("peer memory of " + std::to_string(head + bytes) + " bytes does not fit",
                               head + bytes);
      check(cudaMemset(m_memory, 0, head + bytes), "memory cannot be set");
      check(cudaDeviceSynchronize(), "the device does not answer");
      check(cudaIpcGetMemHandle(&mine.handle, m_memory), "memory cannot be exported");
      mine.head = head;
      mine.signals = signals;
      ::gethostname(mine.host.data(), mine.host.size() - 1);
    });
  }

  static void check(cudaError_t error, const std::string& what) {
    if (error != cudaSuccess)
      throw InputError("communication backend 'peer': " + what + ": " + cudaGetErrorString(error));
  }

  void map(const std::vector<Offer>& offers) {
    m_window.rank = m_comm.rank();
    m_window.size = m_comm.size();
    m_window.watchdog = static_cast<std::uint64_t>(1e9 * m_comm.options().watchdog_seconds);
    for (int rank = 0; rank < m_window.size; ++rank) {
      const Offer& offer = offers[static_cast<std::size_t>(rank)];
      void* base = m_memory;
      if (rank != m_window.rank) {
        if (offer.host != offers[static_cast<std::size_t>(m_window.rank)].host)
          throw InputError("communication backend 'peer' is for ranks of one host; rank " +
                           std::to_string(rank) + " runs on " + offer.host.data());
        check(cudaIpcOpenMemHandle(&base, offer.handle, cudaIpcMemLazyEnablePeerAccess),
              "memory of rank " + std::to_string(rank) + " cannot be mapped");
      }
      m_window.signals[rank] = static_cast<PeerWindow::Word*>(base);
      m_window.n_signals[rank] = offer.signals;
      m_window.bytes[rank] = static_cast<std::byte*>(base) + offer.head;
    }
  }

  Communicator& m_comm;
  void* m_memory = nullptr;
  PeerWindow m_window;
};

}  // namespace lutra::Impl

#endif
