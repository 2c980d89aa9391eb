// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMMSTATE_HPP
#define LUTRA_COMMSTATE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_OneRank.hpp"

namespace lutra::Impl {

/// Time of the steady clock, in seconds.
double seconds_now();

/// @param code what the call of MPI returned
/// @throws std::runtime_error with the name of the call and MPI's text, unless it succeeded
void check_mpi(int code, const char* call);

/// MPI messages whose buffers live until completion, which is tested but never waited for.
class MessagePool {
 public:
  /// A buffer of that size, reused if possible.
  Bytes buffer(std::size_t bytes);
  void recycle(Bytes&& bytes);
  void send(MPI_Comm comm, int to, int tag, Bytes&& bytes);
  /// Frees the buffers of completed sends.
  void test_sends();
  bool has_sends() const { return !m_sends.empty(); }
  /// Starts to receive the probed message described by `status`; `finished` returns it.
  void receive(MPI_Comm comm, const MPI_Status& status);
  struct Message {
    int from = 0, tag = 0;
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::optional<Message> finished();
  /// After a failure: keeps the buffers of requests that may never complete.
  void abandon();

 private:
  std::deque<Message> m_sends, m_receives;
  std::vector<Bytes> m_spare;
};

/// The message that tells all others that this rank failed. All of its memory is there from the start: a rank
/// that has run out of memory can still send it.
class FailureNotice {
 public:
  /// @param ranks number of ranks
  void reserve(int ranks);
  /// Starts to tell those that have not been told yet. @throws std::runtime_error if MPI refuses
  void send(MPI_Comm comm, int rank, const Failure& failure);
  /// Whether all messages that were sent have left.
  bool has_left();
  /// Keeps the memory of messages that may never leave.
  void abandon();

 private:
  struct Sending {
    MPI_Request request = MPI_REQUEST_NULL;
    bool left = false;
  };
  Bytes m_message;
  std::size_t m_bytes = 0;         ///< of the message; 0: not written yet
  std::vector<Sending> m_sending;  ///< [P]
  std::size_t m_told = 0;          ///< ranks below are told
};

struct CommState {
  MPI_Comm control = MPI_COMM_NULL;  ///< one-sided operations and Control
  MPI_Comm data = MPI_COMM_NULL;     ///< send and receive
  int rank = 0, size = 1;
  CommOptions options;
  ArenaMaker nvshmem;
  MessagePool pool, discarded;
  FailureNotice notice;
  std::map<std::int64_t, PutTarget*> targets;
  std::int64_t next_target = 0;
  std::optional<Failure> failure;
  std::exception_ptr agreed;     ///< what the last `agree` that failed threw on all ranks
  int waits = 0;                 ///< depth of nested Waiting objects
  int own_works = 0;             ///< depth of nested Work objects of this rank
  std::vector<char> works;       ///< [P] whether the rank is inside Work
  std::vector<Control> answers;  ///< [P] answers to the last question; `question`: none yet
  std::vector<char> left;        ///< [P] whether the rank has left after a failure
  double last_arrival = 0;       ///< time of the last data arrival
  int polls = 0;                 ///< calls of `give_way`
  int yields = 0;                ///< since this rank has slept
  /// What the others have not been told of yet: whether this rank works, that it failed, that it leaves.
  bool owes_work = false, owes_failure = false, owes_leave = false;

  void tell(int to, Control what, std::span<const std::byte> text = {});
  void tell_others(Control what, std::span<const std::byte> text = {});
  /// Whether messages of this rank have not left yet.
  bool has_sends() { return pool.has_sends() || !notice.has_left(); }
  /// Tells the others what they have not been told of, failures without memory. Where there is none for other
  /// messages it does nothing, and `poll` tries again: destructors and handlers of exceptions call it.
  void announce() noexcept;
  /// Delivers arrived messages. @returns true if any held data
  bool poll();
  /// Receives and drops what others send by `send`, after a failure: their sends then complete.
  void discard_data();
  void take(const MessagePool::Message& message);
  void hear(int from, Control what, std::span<const std::byte> text);
  /// Records that this rank failed, unless a failure has ended the communicator before, and announces it.
  void note(Failure failed) noexcept;
  /// The same, then throws.
  [[noreturn]] void end(Failure failed);

  void sleep(std::chrono::microseconds time);
  /// Gives the processor to another thread now and then, between two polls.
  void give_way();
};

}  // namespace lutra::Impl

#endif
