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

/// How one-sided operations travel.
enum class CommBackend {
  mpi,   ///< memory of hosts; messages of MPI, delivered while the target is inside a call
  peer,  ///< memory of CUDA devices of one host that see each other (CUDA IPC); kernels write into it
};

std::string_view to_string(CommBackend backend);
/// True where this build has the backend; whether the devices see each other is known only once it is used.
bool is_built(CommBackend backend);

/// Collective: whether all ranks can use the backend, found by a trial.
bool can_use(Communicator& comm, CommBackend backend);

/// A signal that has changed.
struct Arrival {
  std::size_t signal = 0;
  std::uint64_t value = 0;  ///< after the change
};

/// Memory into which all ranks write: bytes, and signals of 64 bits that say that bytes have come. Sizes may
/// differ from rank to rank.
///
///     writer   put(to, offset, data, signal, epoch)        add(to, signal, 1)
///     owner    next_arrival() → signal, epoch → reads      wait(signal, count)
///
/// Rules. A signal covers its own put and no other: puts may overtake each other. Signals hold epochs or
/// counts that only grow, and are never cleared while ranks may write; bytes are written again only after all
/// ranks know that their owner has read them (one barrier between two uses, or two buffers by parity of the
/// epoch).
///
/// | call | who |
/// | --- | --- |
/// | constructor, `close` | hosts, collectively |
/// | `put`, `add`, `signal`, `next_arrival`, `wait` | `mpi`: the host that owns the Communicator |
/// | put, add and wait of `Impl::PeerWindow` (Lutra_PeerWindow.hpp) | `peer`: kernels, which hosts must not
/// help |
///
/// MPI cannot put from a device. With `mpi` a device's results go through the host: the kernel leaves them in
/// host memory, and the host puts them.
class SymmetricMemory : private Impl::PutTarget {
 public:
  /// Collective. Bytes and signals begin as zero.
  /// @throws InputError on all ranks naming a backend that is not built or cannot be used; OutOfMemoryError
  /// on all
  SymmetricMemory(Communicator& comm, std::size_t bytes, std::size_t signals,
                  CommBackend backend = CommBackend::mpi);
  /// Waits for nothing. Without `close`, operations of other ranks that come later are dropped, and memory of
  /// a device that others may still write to is left to the end of the process.
  ~SymmetricMemory() override;
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;
  /// Collective: waits until all ranks have called it, and frees. No call after it.
  void close();

  CommBackend backend() const noexcept { return m_backend; }
  std::size_t bytes() const noexcept { return m_sizes[static_cast<std::size_t>(m_comm.rank())].bytes; }
  std::size_t signals() const noexcept { return m_sizes[static_cast<std::size_t>(m_comm.rank())].signals; }

  /// This rank's bytes: of the host with `mpi`, of the device with `peer`. Aligned for any scalar.
  std::byte* data() noexcept { return m_data; }
  template <class T>
  T* at(std::size_t offset) noexcept {
    return reinterpret_cast<T*>(m_data + offset);
  }

  /// With `peer`: what kernels put, add and wait with. @throws CallOrderError with another backend
  const Impl::PeerWindow& peer_window() const;

  /// Copies into a rank's bytes (its own too) and then sets its signal. `data` may be reused at once.
  /// @throws InputError where it does not fit into the target
  void put(int to, std::size_t offset, std::span<const std::byte> data, std::size_t signal,
           std::uint64_t value);
  template <class T>
  void put(int to, std::size_t offset, std::span<const T> data, std::size_t signal, std::uint64_t value) {
    put(to, offset, std::as_bytes(data), signal, value);
  }
  /// Adds to a rank's signal; additions of several ranks all count.
  void add(int to, std::size_t signal, std::uint64_t value);
  std::uint64_t signal(std::size_t index) const { return m_signals[index]; }

  /// The oldest change of a signal that has not been returned yet; does not wait.
  std::optional<Arrival> next_arrival();
  /// Waits until a signal is at least `value`; arrivals stay for next_arrival.
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
  std::vector<Chunk> m_bytes;  ///< of `mpi`
  std::byte* m_data = nullptr;
  std::vector<std::uint64_t> m_signals;  ///< of `mpi`
  std::deque<Arrival> m_arrivals;
  std::shared_ptr<Impl::PeerArena> m_peers;  ///< of `peer`
  std::int64_t m_number = -1;                ///< among the communicator's targets; −1: closed
};

}  // namespace lutra

#endif
