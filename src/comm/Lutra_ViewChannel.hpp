// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_VIEWCHANNEL_HPP
#define LUTRA_VIEWCHANNEL_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MemoryBudget.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_ChannelKernelsCuda.hpp"
#include "Lutra_CheckCuda.hpp"
#endif

namespace lutra::Impl {

/// Messages between Views in the memory of the ranks' execution spaces. Between two ranks they arrive in the
/// order in which they were sent.
///
/// CUDA devices of one host map memory of each other. A message is then a copy to the receiver's device and a
/// signal behind it, all on the stream of the execution space, and hosts do not wait:
///
///     sender's stream      work ─► copy to the receiver ─► raise signal
///                                                              │
///     receiver's stream                            … ─► wait for it ─► copy to the View ─► work
///
/// Each receiver has a buffer for the messages that one rank sends it in a round. `end_round` ends a round on
/// all ranks; then the buffers are written again.
///
/// On hosts, and between devices that cannot map each other's memory, messages pass through host memory and
/// MPI.
template <class ExecutionSpace>
class ViewChannel {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  /// Collective. @param budget is charged with the buffers
  explicit ViewChannel(Communicator& comm, const MemoryBudget& budget = {}) : m_comm(comm), m_budget(budget) {
    if constexpr (maps_peers) m_by_peers = can_use(comm, CommBackend::peer);
  }
  /// Does not wait. Without `close`, memory that other ranks may still write to is kept.
  ~ViewChannel() { m_budget.release(m_charged); }
  ViewChannel(const ViewChannel&) = delete;
  ViewChannel& operator=(const ViewChannel&) = delete;
  /// Collective: frees the buffers.
  void close() {
    if (m_memory) m_memory->close();
    m_memory.reset();
    m_budget.release(m_charged);
    m_charged = 0;
    m_in = m_out = {};
  }

  Communicator& comm() const { return m_comm; }
  const ExecutionSpace& exec() const { return m_exec; }
  /// Whether messages go from device to device.
  bool is_direct() const { return m_by_peers; }

  /// Bytes of a buffer that a message takes.
  static std::size_t room(std::size_t bytes) { return MemoryReservation::padded(bytes); }

  /// Lets devices wait longer for messages than the watchdog of the communicator does, since the work before
  /// them may take as long.
  void wait_at_least(double seconds) { m_patience = static_cast<std::uint64_t>(1e9 * seconds); }

  /// Collective. Enlarges the buffers for the messages of a round. To be called between two rounds.
  /// @param room_from [P] sum of `room` over the messages that arrive from each rank
  /// @throws OutOfMemoryError on all ranks
  void reserve(const std::vector<std::size_t>& room_from) {
    if (!m_by_peers) return;
    std::vector<int> grows{0};
    for (std::size_t r = 0; r < room_from.size(); ++r)
      if (m_in.size() <= r || m_in[r].room < room_from[r]) grows[0] = 1;
    m_comm.all_max(grows);
    if (grows[0] == 0) return;
    std::vector<std::size_t> rooms(room_from);
    for (std::size_t r = 0; r < m_in.size(); ++r) rooms[r] = std::max(rooms[r], m_in[r].room);
    close();
    const std::size_t bytes = std::accumulate(rooms.begin(), rooms.end(), std::size_t(0));
    m_comm.agree("room for messages", [&] {
      m_budget.charge("lutra::comm::messages", bytes);
      m_charged = bytes;
    });
    m_memory = std::make_unique<SymmetricMemory>(m_comm, bytes, rooms.size(), CommBackend::peer);
    std::vector<std::vector<Slots>> mine;
    m_in.clear();
    for (std::size_t r = 0, begin = 0; r < rooms.size(); begin += rooms[r++]) {
      m_in.push_back({begin, rooms[r]});
      mine.push_back({m_in.back()});
    }
    m_out.clear();
    for (const auto& there : m_comm.all_to_all(mine)) m_out.push_back(there.front());
  }

  /// Sends the elements to a rank, possibly this one, after the earlier work of `exec`.
  template <class T>
  void send(int to, const Kokkos::View<const T*, Memory>& values) {
    if constexpr (maps_peers) {
      if (m_by_peers) return this->put(to, values);
    }
    if constexpr (is_host_space<ExecutionSpace>) {
      m_comm.send(to, tag, std::span<const T>(values.data(), values.extent(0)));
    } else {
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
      m_comm.send(to, tag, std::span<const T>(host.data(), host.extent(0)));
    }
  }
  /// Receives the next message from a rank; later work of `exec` sees its elements.
  template <class T>
  void receive(int from, const Kokkos::View<T*, Memory>& values) {
    if constexpr (maps_peers) {
      if (m_by_peers) return this->take(from, values);
    }
    const auto message = m_comm.template receive<T>(from, tag);
    Kokkos::deep_copy(values, Kokkos::View<const T*, Kokkos::HostSpace>(message.data(), message.size()));
  }

  /// Waits until the work of this rank is complete, messages included, and meanwhile answers other ranks.
  /// @param what work, for messages
  /// @throws RemoteError if another rank has failed; the work of this rank is then over as well
  void wait(const char* what) {
    if constexpr (maps_peers) {
      if (m_by_peers) return this->wait_for_stream(what);
    }
    m_exec.fence("lutra::comm: the work of a round is complete");
  }

  /// Collective: waits as `wait` does, for the work of all ranks. The next messages reuse the buffers.
  /// @throws TimeoutError on all ranks if one waited too long for a message
  void end_round(const char* what) {
    wait(what);
    if constexpr (maps_peers) {
      if (!m_by_peers) return;
      m_comm.agree(what, [&] { this->check_arrivals(what); });
      for (auto* const slots : {&m_in, &m_out})
        for (Slots& of_rank : *slots) of_rank.used = 0;
    }
  }

 private:
  static constexpr int tag = 250;  // used by no other messages
#ifdef KOKKOS_ENABLE_CUDA
  static constexpr bool maps_peers = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
  static constexpr bool maps_peers = false;
#endif

  /// Room for the messages of one rank to another, in the receiver's memory.
  struct Slots {
    std::size_t begin = 0, room = 0;
    std::size_t used = 0;          ///< by the messages of this round
    unsigned long long count = 0;  ///< messages of all rounds; the value of the signal

    std::size_t next(std::size_t bytes) {
      const std::size_t at = begin + used;
      used += ViewChannel::room(bytes);
      if (used > room) throw CallOrderError("messages between devices exceed the room reserved for them");
      ++count;
      return at;
    }
  };

#ifndef KOKKOS_ENABLE_CUDA  // never called
  template <class T>
  void put(int, const Kokkos::View<const T*, Memory>&);
  template <class T>
  void take(int, const Kokkos::View<T*, Memory>&);
  void wait_for_stream(const char*);
  void check_arrivals(const char*);
#else
  template <class T>
  using Bytes = Kokkos::View<T*, Memory, Kokkos::MemoryUnmanaged>;

  template <class T>
  void put(int to, const Kokkos::View<const T*, Memory>& values) {
    const PeerWindow& window = m_memory->peer_window();
    Slots& slots = m_out[static_cast<std::size_t>(to)];
    const std::size_t offset = slots.next(values.extent(0) * sizeof(T));
    Kokkos::deep_copy(m_exec, Bytes<T>(reinterpret_cast<T*>(window.bytes[to] + offset), values.extent(0)),
                      values);
    raise_signal_kernel<<<1, 1, 0, m_exec.cuda_stream()>>>(window, to, static_cast<std::size_t>(window.rank),
                                                           slots.count);
    check_cuda(cudaGetLastError(), "sending a message to another device");
  }
  template <class T>
  void take(int from, const Kokkos::View<T*, Memory>& values) {
    PeerWindow window = m_memory->peer_window();
    window.watchdog = std::max(window.watchdog, m_patience);
    Slots& slots = m_in[static_cast<std::size_t>(from)];
    const std::size_t offset = slots.next(values.extent(0) * sizeof(T));
    wait_for_signal_kernel<<<1, 32, 0, m_exec.cuda_stream()>>>(window, static_cast<std::size_t>(from),
                                                               slots.count);
    check_cuda(cudaGetLastError(), "receiving a message from another device");
    Kokkos::deep_copy(
        m_exec, values,
        Bytes<const T>(reinterpret_cast<const T*>(window.bytes[window.rank] + offset), values.extent(0)));
  }
  void wait_for_stream(const char* what) {
    const auto stream = m_exec.cuda_stream();
    try {
      m_comm.wait_until(what, [&] { return cudaStreamQuery(stream) != cudaErrorNotReady; });
    } catch (...) {
      if (m_memory) m_memory->peer_window().abort_from_host();
      cudaStreamSynchronize(stream);
      throw;
    }
  }
  void check_arrivals(const char* what) {
    check_cuda(cudaStreamSynchronize(m_exec.cuda_stream()), what);
    if (!m_memory) return;
    if (const auto by = m_memory->peer_window().aborted_on_host(); by != 0)
      throw TimeoutError(std::string(what) + ": rank " + std::to_string(by - 1) +
                         " waited too long for a message from another device");
  }
#endif

  Communicator& m_comm;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  std::size_t m_charged = 0;
  std::uint64_t m_patience = 0;  ///< nanoseconds
  bool m_by_peers = false;
  std::unique_ptr<SymmetricMemory> m_memory;  ///< messages from rank r raise signal r
  std::vector<Slots> m_in, m_out;             ///< [P] from and to each rank
};

}  // namespace lutra::Impl

#endif
