// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMMSTATE_HPP
#define LUTRA_COMMSTATE_HPP

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"

namespace lutra::Impl {

using Bytes = std::vector<std::byte>;

/// Seconds on the steady clock.
double seconds_now();

/// Messages of MPI whose buffers live until they are done, which is asked for but never waited for.
class MessagePool {
 public:
  /// A buffer of that size, a used one where there is one.
  Bytes buffer(std::size_t bytes);
  void recycle(Bytes&& bytes);
  void send(MPI_Comm comm, int to, int tag, Bytes&& bytes);
  /// Frees the buffers of sends that are done.
  void test_sends();
  bool has_sends() const { return !m_sends.empty(); }
  /// Receives the message that `status` of a probe describes; `finished` hands it out.
  void receive(MPI_Comm comm, const MPI_Status& status);
  struct Message {
    int from = 0, tag = 0;
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::optional<Message> finished();
  /// After a failure: requests that may never end keep their buffers.
  void abandon();

 private:
  std::deque<Message> m_sends, m_receives;
  std::vector<Bytes> m_spare;
};

/// What ranks tell each other beside data.
enum class Control : std::int32_t {
  question,
  answer_waiting,
  answer_busy,
  work_begins,
  work_ends,
  failure,
  leaves
};

struct CommState {
  MPI_Comm control = MPI_COMM_NULL;  ///< one-sided operations and Control
  MPI_Comm data = MPI_COMM_NULL;     ///< send and receive
  int rank = 0, size = 1;
  CommOptions options;
  MessagePool pool;
  std::map<std::int64_t, PutTarget*> targets;
  std::int64_t next_target = 0;
  std::optional<Failure> failure;
  bool agreed = false;           ///< the last `agree` threw on all ranks
  int waits = 0;                 ///< nested Waiting objects
  int own_works = 0;             ///< nested Work objects of this rank
  std::vector<char> works;       ///< [P] the rank is inside Work
  std::vector<Control> answers;  ///< [P] to the last question; `question`: none yet
  std::vector<char> left;        ///< [P] the rank has left after a failure
  double last_arrival = 0;       ///< when data last came

  void tell(int to, Control what, std::span<const std::byte> text = {});
  void tell_others(Control what, std::span<const std::byte> text = {});
  /// Delivers what has arrived. @returns true where there were data
  bool poll();
  void take(const MessagePool::Message& message);
  void hear(int from, Control what, std::span<const std::byte> text);
  [[noreturn]] void end(Failure failed);
};

}  // namespace lutra::Impl

#endif
