// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CommState.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace lutra::Impl {
namespace {

// On the communicator `control`, which carries no tags of callers.
constexpr int tag_put = 1, tag_control = 2;

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + ": " + text);
}

Bytes MessagePool::buffer(std::size_t bytes) {
  Bytes result;
  if (!m_spare.empty()) {
    result.swap(m_spare.back());
    m_spare.pop_back();
  }
  result.resize(bytes);
  return result;
}

void MessagePool::recycle(Bytes&& bytes) {
  // Spare buffers take at most 256 MiB in all; larger: fewer allocations, more memory kept.
  constexpr std::size_t max_spare = 256, max_bytes = 1 << 20;
  if (m_spare.size() < max_spare && bytes.capacity() <= max_bytes) m_spare.push_back(std::move(bytes));
}

void MessagePool::send(MPI_Comm comm, int to, int tag, Bytes&& bytes) {
  m_sends.push_back({to, tag, std::move(bytes), MPI_REQUEST_NULL});
  Message& message = m_sends.back();
  const int code = MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, to, tag,
                             comm, &message.request);
  if (code != MPI_SUCCESS) m_sends.pop_back();
  check_mpi(code, "MPI_Isend");
}

void MessagePool::test_sends() {
  for (int done = 1; done && !m_sends.empty();) {
    check_mpi(MPI_Test(&m_sends.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test of a message sent");
    if (!done) {  // a slow rank at the front must not keep the buffers of all others
      m_sends.push_back(std::move(m_sends.front()));
      m_sends.pop_front();
      return;
    }
    recycle(std::move(m_sends.front().bytes));
    m_sends.pop_front();
  }
}

void MessagePool::receive(MPI_Comm comm, const MPI_Status& status) {
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  m_receives.push_back(
      {status.MPI_SOURCE, status.MPI_TAG, buffer(static_cast<std::size_t>(bytes)), MPI_REQUEST_NULL});
  Message& message = m_receives.back();
  const int code =
      MPI_Irecv(message.bytes.data(), bytes, MPI_BYTE, message.from, message.tag, comm, &message.request);
  if (code != MPI_SUCCESS) m_receives.pop_back();
  check_mpi(code, "MPI_Irecv");
}

std::optional<MessagePool::Message> MessagePool::finished() {
  for (auto message = m_receives.begin(); message != m_receives.end(); ++message) {
    int done = 0;
    check_mpi(MPI_Test(&message->request, &done, MPI_STATUS_IGNORE), "MPI_Test of a message to come");
    if (!done) continue;
    std::optional<Message> result(std::move(*message));
    m_receives.erase(message);
    return result;
  }
  return std::nullopt;
}

void MessagePool::abandon() {
  new std::deque<Message>(std::move(m_sends));  // MPI may still access these
  new std::deque<Message>(std::move(m_receives));
  m_sends.clear();
  m_receives.clear();
}

void FailureNotice::reserve(int ranks) {
  // Bytes of the message. Larger: texts of failures are cut later.
  constexpr std::size_t most = 4096;
  m_message.resize(most);
  m_sending.resize(static_cast<std::size_t>(ranks));
}

void FailureNotice::send(MPI_Comm comm, int rank, const Failure& failure) {
  if (m_bytes == 0) m_bytes = write_failure(failure, m_message);
  for (; m_told < m_sending.size(); ++m_told) {
    const int to = static_cast<int>(m_told);
    if (to == rank) continue;
    const int code = MPI_Isend(m_message.data(), static_cast<int>(m_bytes), MPI_BYTE, to, tag_control, comm,
                               &m_sending[m_told].request);
    check_mpi(code, "MPI_Isend");
  }
}

bool FailureNotice::has_left() {
  bool all = true;
  for (std::size_t to = 0; to < m_told; ++to) {
    Sending& one = m_sending[to];
    int done = 1;
    if (!one.left) check_mpi(MPI_Test(&one.request, &done, MPI_STATUS_IGNORE), "MPI_Test of a message sent");
    one.left = done != 0;
    all = all && one.left;
  }
  return all;
}

void FailureNotice::abandon() {
  if (m_told == 0) return;
  new Bytes(std::move(m_message));  // MPI may still access it
  m_told = 0;
}

void CommState::tell(int to, Control what, std::span<const std::byte> text) {
  pool.send(control, to, tag_control, pack_control(what, text));
}

void CommState::tell_others(Control what, std::span<const std::byte> text) {
  for (int to = 0; to < size; ++to)
    if (to != rank) tell(to, what, text);
}

void CommState::announce() noexcept {
  try {
    if (owes_failure) notice.send(control, rank, *failure);
    owes_failure = false;
    if (owes_work) tell_others(own_works > 0 ? Control::work_begins : Control::work_ends);
    owes_work = false;
    if (owes_leave) tell_others(Control::leaves);
    owes_leave = false;
  } catch (const std::exception&) {  // some may be told twice, which changes nothing
  }
}

bool CommState::poll() {
  bool data_came = false;
  if (owes_work || owes_failure || owes_leave) announce();
  for (int there = 1; there;) {
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control, &there, &status), "MPI_Iprobe");
    if (there) pool.receive(control, status);
    while (auto message = pool.finished()) {
      data_came |= message->tag == tag_put;
      take(*message);
      pool.recycle(std::move(message->bytes));
    }
  }
  pool.test_sends();
  if (data_came) last_arrival = seconds_now();
  return data_came;
}

void CommState::discard_data() {
  for (int there = 1; there;) {
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, data, &there, &status), "MPI_Iprobe");
    if (there) discarded.receive(data, status);
    while (auto message = discarded.finished()) discarded.recycle(std::move(message->bytes));
  }
}

void CommState::take(const MessagePool::Message& message) {
  const std::span<const std::byte> bytes(message.bytes);
  if (message.tag == tag_put) {
    const auto [header, values] = unpack_put(bytes);
    const auto target = targets.find(header.memory);
    if (target != targets.end()) target->second->deliver(header, values);
    return;
  }
  const auto [what, text] = unpack_control(bytes);
  hear(message.from, what, text);
}

void CommState::hear(int from, Control what, std::span<const std::byte> text) {
  const auto at = static_cast<std::size_t>(from);
  switch (what) {
    case Control::question:
      tell(from, waits > 0 ? Control::answer_waiting : Control::answer_busy);
      return;
    case Control::answer_waiting:
    case Control::answer_busy:
      answers[at] = what;
      return;
    case Control::work_begins:
    case Control::work_ends:
      works[at] = what == Control::work_begins;
      return;
    case Control::failure:
      if (!failure) failure = unpack_failure(text, size);
      return;
    case Control::leaves:
      left[at] = 1;
      return;
  }
}

void CommState::sleep(std::chrono::microseconds time) {
  std::this_thread::sleep_for(time);
  yields = 0;
}

void CommState::give_way() {
  // Linux puts a thread that yields behind others by a time slice each time, even if there are none yet:
  // after thousands of yields a rank of a host that has become busy would not run for seconds. Sleeping ends
  // that.
  constexpr int polls_a_yield = 8, most_yields = 64;
  if (++polls % polls_a_yield != 0) return;
  if (++yields < most_yields)
    std::this_thread::yield();
  else
    sleep(std::chrono::microseconds(1));
}

void CommState::note(Failure failed) noexcept {
  if (failure) return;
  failure = std::move(failed);
  owes_failure = true;
  announce();
}

void CommState::end(Failure failed) {
  note(std::move(failed));
  throw RemoteError(*failure);
}

}  // namespace lutra::Impl
