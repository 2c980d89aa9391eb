// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICMEMORY_HPP
#define LUTRA_SYMMETRICMEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "Lutra_Communicator.hpp"

namespace lutra {
namespace Impl {
class PeerArena;
struct PeerWindow;
}  // namespace Impl

/// Transport of one-sided operations.
enum class CommBackend {
  mpi,   ///< host memory; MPI messages, delivered while the target is inside a call
  peer,  ///< memory of CUDA devices of one host with peer access (CUDA IPC), written by kernels
};

std::string_view to_string(CommBackend backend);
/// Whether this build includes the backend. Peer access between devices is only known once it is used.
bool is_built(CommBackend backend);

/// Collective: whether all ranks can use the backend, determined by a trial.
bool can_use(Communicator& comm, CommBackend backend);

/// Changed signal.
struct Arrival {
  std::size_t signal = 0;
  std::uint64_t value = 0;  ///< after the change
};

/// Memory that all ranks write to: bytes, and 64-bit signals that announce them. Sizes may differ between
/// ranks.
///
///     writer   put(to, offset, data, signal, epoch)        add(to, signal, 1)
///     owner    next_arrival() → signal, epoch → reads      wait(signal, count)
///
/// Rules. A signal covers only its own put: puts may overtake each other. Signals hold increasing epochs or
/// counts and are never cleared while ranks may write. Bytes may be overwritten only after all ranks know
/// that their owner has read them: use one barrier between two uses, or two buffers by parity of the epoch.
///
/// | call | caller |
/// | --- | --- |
/// | constructor, `close` | hosts, collectively |
/// | `put`, `add`, `signal`, `next_arrival`, `wait` | `mpi`: the host that owns the Communicator |
/// | put, add and wait of `Impl::PeerWindow` (Lutra_PeerWindow.hpp) | `peer`: kernels only |
///
/// MPI cannot put from a device. With `mpi`, a kernel leaves its results in host memory, and the host puts
/// them.
class SymmetricMemory : private Impl::PutTarget {
 public:
  /// Collective. Bytes and signals are zero-initialised.
  /// @throws InputError naming a backend that is not built or not usable; OutOfMemoryError; each on all ranks
  SymmetricMemory(Communicator& comm, std::size_t bytes, std::size_t signals,
                  CommBackend backend = CommBackend::mpi);
  /// Does not wait. Without `close`, later operations of other ranks are dropped, and device memory that
  /// others may still write to is kept until the process ends.
  ~SymmetricMemory() override;
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;
  /// Collective: waits until all ranks have called it, then frees the memory. No call may follow.
  void close();

  CommBackend backend() const noexcept { return m_backend; }
  std::size_t bytes() const noexcept { return m_sizes[static_cast<std::size_t>(m_comm.rank())].bytes; }
  std::size_t signals() const noexcept { return m_sizes[static_cast<std::size_t>(m_comm.rank())].signals; }

  /// This rank's bytes: host memory with `mpi`, device memory with `peer`. Aligned for any scalar.
  std::byte* data() noexcept { return m_data; }
  template <class T>
  T* at(std::size_t offset) noexcept {
    return reinterpret_cast<T*>(m_data + offset);
  }

  /// With `peer`: handle for put, add and wait in kernels. @throws CallOrderError with another backend
  const Impl::PeerWindow& peer_window() const;

  /// Copies into a rank's bytes, possibly its own, then sets its signal. `data` may be reused at once.
  /// @throws InputError if it does not fit into the target
  void put(int to, std::size_t offset, std::span<const std::byte> data, std::size_t signal,
           std::uint64_t value);
  template <class T>
  void put(int to, std::size_t offset, std::span<const T> data, std::size_t signal, std::uint64_t value) {
    put(to, offset, std::as_bytes(data), signal, value);
  }
  /// Adds to a rank's signal, atomically.
  void add(int to, std::size_t signal, std::uint64_t value);
  std::uint64_t signal(std::size_t index) const { return m_signals[index]; }

  /// The oldest signal change not yet returned; does not wait.
  std::optional<Arrival> next_arrival();
  /// Waits until a signal is at least `value`; arrivals remain available to next_arrival.
  void wait(std::size_t signal, std::uint64_t value, const char* what);

 private:
  struct Sizes {
    std::size_t bytes, signals;
  };
  struct alignas(16) Chunk {
    std::byte bytes[16];
  };
  void deliver(const Impl::PutHeader& header, std::span<const std::byte> data) override;
  void operate(int to, const Impl::PutHeader& header, std::span<const std::byte> data);

  Communicator& m_comm;
  CommBackend m_backend;
  std::vector<Sizes> m_sizes;  ///< [P]
  std::vector<Chunk> m_bytes;  ///< `mpi` only
  std::byte* m_data = nullptr;
  std::vector<std::uint64_t> m_signals;  ///< `mpi` only
  std::deque<Arrival> m_arrivals;
  std::shared_ptr<Impl::PeerArena> m_peers;  ///< `peer` only
  std::int64_t m_number = -1;                ///< index among the communicator's targets; −1: closed
};

}  // namespace lutra

#endif
