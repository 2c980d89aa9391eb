// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMMUNICATOR_HPP
#define LUTRA_COMMUNICATOR_HPP

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lutra {

/// What kind of exception ended a rank; all ranks throw one of the same kind where they agree on it.
enum class FailureKind : std::int32_t { input, file, call_order, out_of_memory, timeout, other };

/// Which rank failed, and how.
struct Failure {
  int rank = 0;
  FailureKind kind = FailureKind::other;
  std::string what;   ///< text of the exception
  std::string where;  ///< what the rank was doing
};

/// Another rank failed: every call on the communicator throws this from then on.
class RemoteError : public std::runtime_error {
 public:
  explicit RemoteError(Failure failure);
  const Failure& failure() const noexcept { return m_failure; }

 private:
  Failure m_failure;
};

struct CommOptions {
  /// A rank that answers nothing for so long is named and ends the work of all, unless it is inside `Work`.
  double watchdog_seconds = 8;
};

namespace Impl {
struct CommState;

/// A one-sided operation as MPI carries it; the data follow it in the message.
struct PutHeader {
  std::int64_t memory;  ///< number of the symmetric memory
  std::int64_t offset;  ///< bytes into the target's memory
  std::int64_t signal;  ///< signal of the target, …
  std::uint64_t value;  ///< … which gets this value, or to which it is added
  std::int64_t adds;    ///< 1: the value is added
};

/// Who receives one-sided operations.
class PutTarget {
 public:
  virtual ~PutTarget() = default;
  virtual void deliver(const PutHeader& header, std::span<const std::byte> data) = 0;
};
}  // namespace Impl

/// Ranks that work together, over MPI between hosts. Made for few, large collective steps and for many small
/// one-sided messages (SymmetricMemory). All calls are the host's, by one thread a rank, the one that
/// initialized MPI. Messages move only inside calls of this class and of SymmetricMemory.
///
/// No call waits without a watchdog: while it waits it yields the processor, delivers what arrives, and
///
///     0.4 T   asks all other ranks whether they are there; whoever is inside a call answers
///     0.9 T   a rank that has not answered and is not inside `Work` has stalled: all ranks throw, naming it.
///             Twice in a row all ranks answer that they wait too, and nothing arrived: a deadlock, all throw
///
/// A rank that throws something of its own tells the others by `fail`, or inside `agree`, which makes all
/// ranks throw the same. A rank that is killed ends the job: mpirun sees to that.
class Communicator {
 public:
  /// Collective over `ranks`, which is duplicated (MPI's own call, without a watchdog).
  explicit Communicator(MPI_Comm ranks = MPI_COMM_WORLD, const CommOptions& options = {});
  /// Waits for nothing. Unless `close` was called it leaves the duplicates to MPI_Finalize.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  /// Collective: waits until all ranks have called it, and frees. No call after it.
  void close();

  int rank() const noexcept;
  int size() const noexcept;
  const CommOptions& options() const noexcept;

  // Messages between two ranks ------------------------------------------------------------------------------

  /// Sends to a rank, itself included, and does not wait. Messages of one tag arrive in order.
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
  /// The next message of a rank with that tag; waits.
  template <class T>
  std::vector<T> receive(int from, int tag) {
    static_assert(std::is_trivially_copyable_v<T>);
    return from_bytes<T>(receive_bytes(from, tag));
  }

  // Collective calls: all ranks, in one order ---------------------------------------------------------------

  /// Returns when all ranks have called it; puts may still be on their way. 2⌈log₂ P⌉ messages one after
  /// another.
  void barrier();
  /// `values` of rank `root` on all ranks, by a binomial tree.
  template <class T>
  void broadcast(std::vector<T>& values, int root = 0) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span<const T>(values));
    auto received = broadcast_bytes({bytes.begin(), bytes.end()}, root);
    if (rank() != root) values = from_bytes<T>(received);
  }
  /// What each rank sends to each other one. @param values [P] for each rank @returns [P] from each rank
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
  /// Values of all ranks on rank `root`, empty on others; of any length each.
  template <class T>
  std::vector<std::vector<T>> gather(const std::vector<T>& values, int root = 0) {
    send(root, tag_gather, values);
    std::vector<std::vector<T>> result;
    if (rank() == root)
      for (int from = 0; from < size(); ++from) result.push_back(receive<T>(from, tag_gather));
    return result;
  }
  /// One value of each rank on all ranks.
  template <class T>
  std::vector<T> all_gather(const T& value) {
    std::vector<T> all;
    for (const std::vector<T>& one : gather(std::vector<T>{value})) all.push_back(one.front());
    broadcast(all);
    return all;
  }
  /// The largest of each element on all ranks. @param values of one length on all ranks
  template <class T>
  void all_max(std::vector<T>& values) {
    for (const std::vector<T>& other : gather(values))
      for (std::size_t e = 0; e < values.size(); ++e) values[e] = values[e] < other[e] ? other[e] : values[e];
    broadcast(values);
  }

  // Faults --------------------------------------------------------------------------------------------------

  /// Collective: runs `task` on each rank. If it throws on any, all ranks throw an exception of the same
  /// class and text, that of the lowest rank that threw, which is named in it where `name_rank`.
  /// @param where what the task does, for messages
  template <class Task>
  void agree(const char* where, const Task& task, bool name_rank = true) {
    std::optional<Failure> mine;
    try {
      task();
    } catch (const RemoteError&) {
      throw;
    } catch (...) {
      mine = describe_exception(where);
    }
    throw_agreed(mine, name_rank);
  }

  /// Inside a catch block: tells all ranks that this one failed, and throws what was caught again. All other
  /// ranks throw RemoteError at their next call. After an error that all agreed on it tells nothing.
  [[noreturn]] void fail(const char* where);
  /// The failure that ended the communicator.
  const std::optional<Failure>& failure() const noexcept;
  /// After a failure: tells the others that this rank leaves, and waits up to two seconds until all others
  /// have.
  /// @returns true where all have, so that MPI_Finalize will not wait for one that has stalled
  bool leave();

  /// While one of these lives this rank works alone and need not answer: others wait for it without a limit.
  class Work {
   public:
    explicit Work(Communicator& comm);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Communicator& m_comm;
  };

  /// Delivers what has arrived; does not wait. @returns true where something has
  /// @throws RemoteError where another rank has failed
  bool progress();

  /// A wait of the caller's own loop, `while (!ready) if (!comm.progress()) waiting.idle();`
  class Waiting {
   public:
    /// @param what the wait is for, for messages
    Waiting(Communicator& comm, const char* what);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    /// Yields the processor and looks at the clock now and then. @throws TimeoutError, see above
    void idle();

   private:
    Communicator& m_comm;
    const char* m_what;
    double m_since;      ///< seconds on the clock since when nothing has arrived
    int m_readings = 0;  ///< since the clock was looked at
    int m_rounds = 0;    ///< in which all ranks said that they wait
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
  MPI_Comm mpi() const noexcept;

 private:
  static constexpr int tag_gather = 32000, tag_all_to_all = 32001, tag_tree = 32002;

  template <class T>
  static std::vector<T> from_bytes(const std::vector<std::byte>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  void send_bytes(int to, int tag, std::span<const std::byte> bytes);
  std::vector<std::byte> receive_bytes(int from, int tag);
  std::vector<std::byte> broadcast_bytes(std::vector<std::byte> bytes, int root);
  Failure describe_exception(const char* where) const;
  void throw_agreed(const std::optional<Failure>& mine, bool name_rank);

  std::unique_ptr<Impl::CommState> m_state;
};

/// MPI from its start to its end, for programs that do not start it themselves.
class MpiSession {
 public:
  /// Starts MPI unless it runs.
  MpiSession(int* argc, char*** argv);
  /// Ends MPI if `finish` was not called, that is after an exception: by MPI_Abort, which waits for nothing.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Ends MPI. Where `comm` has failed: tells the others that this rank leaves and waits for all of them up
  /// to two seconds; if one is missing MPI_Abort ends the job.
  /// @returns `exit_status`
  int finish(int exit_status, Communicator* comm = nullptr);
  /// True in a process that mpirun, mpiexec or srun started among several.
  static bool is_launched();

 private:
  bool m_finished = false;
  bool m_started_here = false;
};

}  // namespace lutra

#endif
