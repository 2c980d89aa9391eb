// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMMUNICATOR_HPP
#define LUTRA_COMMUNICATOR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_DeviceArena.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Failure.hpp"
#include "Lutra_Messages.hpp"
#include "Lutra_RankGroup.hpp"

namespace lutra {

/// Another rank failed. From then on every call on the communicator throws this.
class RemoteError : public std::runtime_error {
 public:
  explicit RemoteError(Failure failure);
  const Failure& failure() const noexcept { return m_failure; }

 private:
  Failure m_failure;
};

struct CommOptions {
  /// Limit T of the watchdog, in seconds: a rank that does not answer for so long, and is not inside `Work`,
  /// ends the work of all ranks, with an error that names it.
  double watchdog_seconds = 8;
};

namespace Impl {
struct CommState;

/// Memory that a message is received into.
class ReceiveTarget {
 public:
  virtual ~ReceiveTarget() = default;
  /// Extends the memory by so many bytes. @returns their address @throws DamagedMessage
  virtual std::byte* extend(std::size_t bytes) = 0;
  bool in_flight = false;  ///< MPI may still write to the memory, which then has to be kept
};

/// Target with the values of a message.
template <class T>
class ReceivedValues final : public ReceiveTarget {
 public:
  ~ReceivedValues() override {
    if (in_flight) static_cast<void>(m_values.release());  // after an exception
  }
  std::byte* extend(std::size_t bytes) override {
    const std::size_t before = m_values->size();
    m_values->resize(before + count_elements(bytes, sizeof(T)));
    return reinterpret_cast<std::byte*>(m_values->data() + before);
  }
  std::vector<T>& values() { return *m_values; }

 private:
  std::unique_ptr<std::vector<T>> m_values = std::make_unique<std::vector<T>>();
};

/// Receiver of one-sided operations.
class PutTarget {
 public:
  virtual ~PutTarget() = default;
  virtual void deliver(const PutHeader& header, std::span<const std::byte> data) = 0;
};
}  // namespace Impl

/// Communicator over MPI, for few, large collective steps and many small one-sided messages
/// (SymmetricMemory). All calls are made on the host, by the one thread per rank that initialized MPI.
/// Messages progress only inside calls of this class and of SymmetricMemory.
///
/// Every wait has a watchdog with time limit T (CommOptions). A waiting rank yields the processor, delivers
/// arriving messages and, after
///
///     0.4 T   asks all other ranks for a sign of life; every rank inside a call answers
///     0.9 T   declares a rank stalled that has not answered and is not inside `Work`: all ranks throw an
///             error naming it. If all ranks answer twice in a row that they wait too, and nothing arrived,
///             this is a deadlock: all ranks throw
///
/// A rank with an exception of its own notifies the others by `fail`, or inside `agree`, which makes all
/// ranks throw the same exception. If a rank is killed, mpirun ends the job.
class Communicator {
 public:
  /// Collective. Duplicates `ranks` by MPI_Comm_dup, without a watchdog.
  explicit Communicator(RankGroup ranks = all_ranks(), const CommOptions& options = {});
  /// Does not wait. Unless `close` was called, the duplicates are left to MPI_Finalize.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  /// Collective: waits until all ranks have called it, then frees all resources. No call may follow.
  void close();

  int rank() const noexcept;
  int size() const noexcept;
  const CommOptions& options() const noexcept;

  // Messages between two ranks ------------------------------------------------------------------------------

  /// Sends to a rank, possibly itself, without waiting. Messages with one tag arrive in order.
  /// @param tag in [0, 32000)
  template <class T>
  void send(int to, int tag, std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(to, tag, std::as_bytes(values));
  }
  template <class T>
  void send(int to, int tag, const std::vector<T>& values) {
    send(to, tag, std::span<const T>(values));
  }
  /// Receives the next message from a rank with this tag; waits.
  template <class T>
  std::vector<T> receive(int from, int tag) {
    static_assert(std::is_trivially_copyable_v<T>);
    Impl::ReceivedValues<T> target;
    receive_bytes(from, tag, target);
    return std::move(target.values());
  }

  // Collective calls, in the same order on all ranks --------------------------------------------------------

  /// Returns once all ranks have called it; puts may still be in flight. 2⌈log₂ P⌉ successive messages.
  void barrier();
  /// Copies `values` of rank `root` to all ranks, by a binomial tree.
  template <class T>
  void broadcast(std::vector<T>& values, int root = 0) {
    static_assert(std::is_trivially_copyable_v<T>);
    Impl::ReceivedValues<T> target;
    const auto bytes = [&] {
      return std::as_bytes(std::span<const T>(rank() == root ? values : target.values()));
    };
    broadcast_bytes(target, bytes, root);
    if (rank() != root) values = std::move(target.values());
  }
  /// Exchanges data between all pairs of ranks. @param values [P] to each rank @returns [P] from each rank
  template <class T>
  std::vector<std::vector<T>> all_to_all(const std::vector<std::vector<T>>& values) {
    std::vector<std::vector<T>> result(values.size());
    for (int step = 0; step < size(); ++step) {
      const int to = (rank() + step) % size();
      send(to, tag_all_to_all, values[static_cast<std::size_t>(to)]);
    }
    for (int step = 0; step < size(); ++step) {
      const int from = (rank() + size() - step) % size();
      result[static_cast<std::size_t>(from)] = receive<T>(from, tag_all_to_all);
    }
    return result;
  }
  /// Collects the values of all ranks on rank `root`; empty on others. Lengths may differ.
  template <class T>
  std::vector<std::vector<T>> gather(const std::vector<T>& values, int root = 0) {
    send(root, tag_gather, values);
    std::vector<std::vector<T>> result;
    if (rank() == root)
      for (int from = 0; from < size(); ++from) result.push_back(receive<T>(from, tag_gather));
    return result;
  }
  /// Collects one value of each rank on all ranks.
  template <class T>
  std::vector<T> all_gather(const T& value) {
    std::vector<T> all;
    for (const std::vector<T>& one : gather(std::vector<T>{value})) {
      Impl::require_elements(one.size(), 1);
      all.push_back(one.front());
    }
    broadcast(all);
    Impl::require_elements(all.size(), static_cast<std::size_t>(size()));
    return all;
  }
  /// Elementwise maximum over all ranks, on all ranks. @param values equally long on all ranks
  template <class T>
  void all_max(std::vector<T>& values) {
    const std::size_t count = values.size();
    for (const std::vector<T>& other : gather(values)) {
      Impl::require_elements(other.size(), count);
      for (std::size_t e = 0; e < count; ++e) values[e] = values[e] < other[e] ? other[e] : values[e];
    }
    broadcast(values);
    Impl::require_elements(values.size(), count);
  }

  // Faults --------------------------------------------------------------------------------------------------

  /// Collective: runs `task` on each rank. If it throws on any, all ranks throw an exception with the class
  /// and text of the lowest rank that threw; the text names that rank if `name_rank`. The task neither sends
  /// nor receives, except by calls that throw on all ranks alike: else the next call would find messages that
  /// a rank in error has not received.
  /// @param where activity of the task, for messages
  template <class Task>
  void agree(const char* where, const Task& task, bool name_rank = true) {
    std::optional<Failure> mine;
    try {
      task();
    } catch (const RemoteError&) {
      throw;
    } catch (...) {
      if (failure()) throw;  // the others know
      mine = describe_exception(where);
    }
    throw_agreed(mine, name_rank);
  }

  /// To be called in a catch block: notifies all ranks that this one failed, and rethrows. All other ranks
  /// throw RemoteError at their next call. Sends no notification of an error thrown by `agree`. Needs no
  /// memory.
  [[noreturn]] void fail(const char* where);
  /// Collective: runs `task`, which makes collective calls. An exception that `agree` has not thrown on all
  /// ranks is reported by `fail`, and ends the communicator.
  /// @param where activity of the task, for messages
  template <class Task>
  auto collectively(const char* where, const Task& task) {
    try {
      return task();
    } catch (...) {
      fail(where);
    }
  }
  /// Whether the exception being handled is the one that the last `agree` that failed threw on all ranks.
  bool has_agreed() const noexcept;
  /// The failure that ended the communicator.
  const std::optional<Failure>& failure() const noexcept;
  /// After a failure: announces that this rank leaves, and waits up to two seconds for all others to leave.
  /// @returns true if all have left, so that MPI_Finalize will not wait for a stalled rank
  bool leave();

  /// Scope in which this rank computes and need not answer: others wait for it without a limit.
  class Work {
   public:
    explicit Work(Communicator& comm) noexcept;
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    /// Ends without a message to the others: MPI does not run any more.
    void forget() noexcept { m_comm = nullptr; }

   private:
    Communicator* m_comm;
  };

  /// Delivers arrived messages; does not wait. @returns true if any arrived
  /// @throws RemoteError if another rank failed
  bool progress();

  /// Watchdog for a polling loop of the caller: `while (!ready) if (!comm.progress()) waiting.idle();`
  class Waiting {
   public:
    /// @param what purpose of the wait, for messages
    Waiting(Communicator& comm, const char* what);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    /// Yields the processor and checks the clock now and then. @throws TimeoutError, as described above
    void idle();

   private:
    Communicator& m_comm;
    const char* m_what;
    double m_since;      ///< time of the last arrival, in seconds
    int m_readings = 0;  ///< since the last look at the clock
    int m_rounds = 0;    ///< rounds in which all ranks answered that they wait
    bool m_asked = false;
    bool m_sleeps = false;
  };
  template <class Ready>
  void wait_until(const char* what, const Ready& ready) {
    progress();
    if (ready()) return;
    Waiting waiting(*this, what);
    while (!ready())
      if (!progress()) waiting.idle();
  }

  // For SymmetricMemory -------------------------------------------------------------------------------------
  std::int64_t add_target(Impl::PutTarget* target);
  void remove_target(std::int64_t memory);
  void post_put(int to, const Impl::PutHeader& header, std::span<const std::byte> data);
  RankGroup mpi() const noexcept;
  /// Memory of the backend `nvshmem`, which `use_nvshmem` (Lutra_Nvshmem.hpp) sets; empty before.
  void set_nvshmem(Impl::ArenaMaker maker);
  const Impl::ArenaMaker& nvshmem() const noexcept;

 private:
  // Above the tags of callers; MPI guarantees tags up to 32767.
  static constexpr int tag_gather = 32000, tag_all_to_all = 32001, tag_tree = 32002;

  void send_bytes(int to, int tag, std::span<const std::byte> bytes);
  void receive_bytes(int from, int tag, Impl::ReceiveTarget& target);
  /// Receives from the rank above in the tree, unless this is the root, and sends bytes() to those below.
  template <class Source>
  void broadcast_bytes(Impl::ReceiveTarget& target, const Source& bytes, int root) {
    // Binomial tree. With ranks counted from the root, rank r receives from r without its lowest set bit and
    // sends to r + 2^k for each 2^k below that bit.
    const int P = size(), me = (rank() - root + P) % P;
    int bit = 1;
    while (bit < P && (me & bit) == 0) bit *= 2;
    if (me != 0) receive_bytes((me - bit + root) % P, tag_tree, target);
    for (int below = bit / 2; below > 0; below /= 2)
      if (me + below < P) send_bytes((me + below + root) % P, tag_tree, bytes());
  }
  Failure describe_exception(const char* where) const;
  void throw_agreed(const std::optional<Failure>& mine, bool name_rank);

  std::unique_ptr<Impl::CommState> m_state;
};

/// Scope of MPI, for programs that do not initialize it themselves.
class MpiSession {
 public:
  /// Initializes MPI unless it is initialized.
  MpiSession(int* argc, char*** argv);
  /// Ends MPI by MPI_Abort, without waiting, unless `finish` was called; that is, after an exception.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Finalizes MPI. If `comm` has failed, announces that this rank leaves and waits up to two seconds for all
  /// others; if one is missing, MPI_Abort ends the job.
  /// @returns `exit_status`
  int finish(int exit_status, Communicator* comm = nullptr);
  /// Whether mpirun, mpiexec or srun started this process as one of several.
  static bool is_launched();

 private:
  bool m_finished = false;
  bool m_started_here = false;
};

namespace Impl {
struct PeerWindow;
}  // namespace Impl

/// Transport of one-sided operations.
enum class CommBackend {
  mpi,      ///< host memory; MPI messages, delivered while the target is inside a call
  peer,     ///< memory of CUDA devices of one host with peer access (CUDA IPC), written by kernels
  nvshmem,  ///< symmetric memory of NVSHMEM, a CUDA device per rank, written by kernels; see use_nvshmem
};

std::string_view to_string(CommBackend backend);
/// Whether this build includes the backend. Peer access between devices is only known once it is used;
/// `nvshmem` has to be started as well (Lutra_Nvshmem.hpp).
bool is_built(CommBackend backend);

/// Collective: whether all ranks can use the backend, determined by a trial.
bool can_use(Communicator& comm, CommBackend backend);

/// Collective: two ranks, the smaller first, that have the same CUDA device; none if each has its own, or in
/// builds without CUDA. Kernels of ranks that share a device take turns, so they must not wait for each other
/// for long.
std::optional<std::array<int, 2>> ranks_that_share_a_device(Communicator& comm);

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
/// | the same of `Impl::NvshmemWindow` (Lutra_NvshmemWindow.hpp) | `nvshmem`: kernels of Lutra::nvshmem |
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

  /// This rank's bytes: host memory with `mpi`, device memory otherwise. Aligned for any scalar.
  std::byte* data() noexcept { return m_data; }
  template <class T>
  T* at(std::size_t offset) noexcept {
    return reinterpret_cast<T*>(m_data + offset);
  }

  /// With `peer`: handle for put, add and wait in kernels. @throws CallOrderError with another backend
  const Impl::PeerWindow& peer_window() const;
  /// Device memory with `peer` and `nvshmem`; null with `mpi`.
  const std::shared_ptr<Impl::DeviceArena>& arena() const noexcept { return m_arena; }

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
  std::shared_ptr<Impl::DeviceArena> m_arena;  ///< not with `mpi`
  std::int64_t m_number = -1;                  ///< index among the communicator's targets; −1: closed
};

}  // namespace lutra

#endif
