// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <new>
#include <thread>
#include <typeinfo>

#include "Lutra_AllocateTogether.hpp"
#include "Lutra_CommState.hpp"
#include "Lutra_Error.hpp"

namespace lutra {
namespace {

constexpr std::size_t max_message = std::size_t{1} << 30;  // MPI counts are int

std::string describe_failure(const Failure& failure) {
  return "rank " + std::to_string(failure.rank) + " failed" +
         (failure.where.empty() ? "" : " in " + failure.where) + ": " + failure.what;
}

// Throws the same exception on every participating rank.
[[noreturn]] void throw_as(FailureKind kind, const std::string& text) {
  switch (kind) {
    case FailureKind::file: {  // FileError joins the two parts again
      const std::size_t end = std::min(text.find(": "), text.size());
      throw FileError(text.substr(0, end), 0, text.substr(std::min(end + 2, text.size())));
    }
    case FailureKind::input:
      throw InputError(text);
    case FailureKind::call_order:
      throw CallOrderError(text);
    case FailureKind::out_of_memory:
      throw OutOfMemoryError(text, 0);
    case FailureKind::timeout:
      throw TimeoutError(text);
    case FailureKind::cancelled:
      throw CancelledError();
    case FailureKind::other:
      break;
  }
  throw std::runtime_error(text);
}

std::string list_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t k = 0; k < ranks.size(); ++k) text += (k > 0 ? ", " : "") + std::to_string(ranks[k]);
  return text;
}

}  // namespace

RemoteError::RemoteError(Failure failure)
    : std::runtime_error(describe_failure(failure)), m_failure(std::move(failure)) {}

RankGroup all_ranks() {
  return MPI_COMM_WORLD;
}
RankGroup this_rank_alone() {
  return MPI_COMM_SELF;
}

void Impl::throw_together(RankGroup ranks, bool lacks_memory) {
  int here = lacks_memory ? 1 : 0, anywhere = 0;
  check_mpi(MPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_MAX, ranks), "MPI_Allreduce");
  if (anywhere != 0) throw std::bad_alloc();
}

Communicator::Communicator(RankGroup ranks, const CommOptions& options) {
  Impl::allocate_together(ranks, [&] {
    m_state = std::make_unique<Impl::CommState>();
    Impl::CommState& state = *m_state;
    MPI_Comm_rank(ranks, &state.rank);
    MPI_Comm_size(ranks, &state.size);
    state.options = options;
    const auto count = static_cast<std::size_t>(state.size);
    state.works.assign(count, 0);
    state.left.assign(count, 0);
    state.answers.assign(count, Impl::Control::question);
    state.notice.reserve(state.size);
  });
  for (MPI_Comm* const copy : {&m_state->control, &m_state->data}) {
    Impl::check_mpi(MPI_Comm_dup(ranks, copy), "MPI_Comm_dup");
    // Errors of MPI become exceptions, of which the other ranks learn.
    MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN);
  }
}

Communicator::~Communicator() {
  if (!m_state) return;
  m_state->pool.abandon();
  m_state->discarded.abandon();
  m_state->notice.abandon();
}

void Communicator::close() {
  barrier();
  wait_until("messages that have been sent, before ranks part", [this] { return !m_state->has_sends(); });
  MPI_Comm_free(&m_state->control);
  MPI_Comm_free(&m_state->data);
  m_state.reset();
}

int Communicator::rank() const noexcept {
  return m_state->rank;
}
int Communicator::size() const noexcept {
  return m_state->size;
}
const CommOptions& Communicator::options() const noexcept {
  return m_state->options;
}
RankGroup Communicator::mpi() const noexcept {
  return m_state->data;
}
void Communicator::set_nvshmem(Impl::ArenaMaker maker) {
  m_state->nvshmem = std::move(maker);
}
const Impl::ArenaMaker& Communicator::nvshmem() const noexcept {
  return m_state->nvshmem;
}
const std::optional<Failure>& Communicator::failure() const noexcept {
  return m_state->failure;
}

// Sends parts of `max_message` bytes, then the rest, which may be empty.
void Communicator::send_bytes(int to, int tag, std::span<const std::byte> bytes) {
  for (bool more = true; more;) {
    const auto part = bytes.first(std::min(max_message, bytes.size()));
    Impl::Bytes message = m_state->pool.buffer(part.size());
    std::copy(part.begin(), part.end(), message.begin());
    m_state->pool.send(m_state->data, to, tag, std::move(message));
    more = part.size() == max_message;
    bytes = bytes.subspan(part.size());
  }
}

void Communicator::receive_bytes(int from, int tag, Impl::ReceiveTarget& target) {
  Impl::CommState& state = *m_state;
  const std::string what = "a message of rank " + std::to_string(from);
  for (bool more = true; more;) {
    MPI_Status status;
    wait_until(what.c_str(), [&] {
      int there = 0;
      Impl::check_mpi(MPI_Iprobe(from, tag, state.data, &there, &status), "MPI_Iprobe");
      return there != 0;
    });
    int count = 0;
    Impl::check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    std::byte* const to = target.extend(static_cast<std::size_t>(count));
    MPI_Request request;
    Impl::check_mpi(MPI_Irecv(to, count, MPI_BYTE, from, tag, state.data, &request), "MPI_Irecv");
    target.in_flight = true;  // until the request completes, which can be after this call if it throws
    wait_until(what.c_str(), [&] {
      int done = 0;
      Impl::check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test of a message to come");
      return done != 0;
    });
    target.in_flight = false;
    state.last_arrival = Impl::seconds_now();
    more = static_cast<std::size_t>(count) == max_message;
  }
}

void Communicator::barrier() {
  const int P = size(), me = rank();
  for (int bit = 1; bit < P; bit *= 2) {  // up the same tree, then down
    if ((me & bit) != 0) {
      send_bytes(me - bit, tag_tree, {});
      break;
    }
    if (me + bit < P) receive<std::byte>(me + bit, tag_tree);
  }
  std::vector<std::byte> nothing;
  broadcast(nothing);
}

Failure Communicator::describe_exception(const char* where) const {
  Failure failure{rank(), FailureKind::other, "", where};
  try {
    throw;
  } catch (const FileError& error) {
    failure.kind = FailureKind::file;
    failure.what = error.what();
  } catch (const InputError& error) {
    failure.kind = FailureKind::input;
    failure.what = error.what();
  } catch (const CallOrderError& error) {
    failure.kind = FailureKind::call_order;
    failure.what = error.what();
  } catch (const TimeoutError& error) {
    failure.kind = FailureKind::timeout;
    failure.what = error.what();
  } catch (const CancelledError& error) {
    failure.kind = FailureKind::cancelled;
    failure.what = error.what();
  } catch (const OutOfMemoryError& error) {
    failure.kind = FailureKind::out_of_memory;
    failure.what = error.what();
  } catch (const std::bad_alloc&) {
    failure.kind = FailureKind::out_of_memory;
    failure.what = "out of memory";
  } catch (const std::exception& error) {
    failure.what = error.what();
  } catch (...) {
    failure.what = "an exception of unknown type";
  }
  return failure;
}

void Communicator::throw_agreed(const std::optional<Failure>& mine, bool name_rank) {
  std::vector<char> text;
  if (mine) text.assign(mine->what.begin(), mine->what.end());
  const auto kinds = all_gather(mine ? static_cast<std::int32_t>(mine->kind) : -1);
  const auto first = std::find_if(kinds.begin(), kinds.end(), [](std::int32_t kind) { return kind >= 0; });
  if (first == kinds.end()) return;
  const int failed = static_cast<int>(first - kinds.begin());
  broadcast(text, failed);
  std::string what(text.begin(), text.end());
  if (name_rank && size() > 1) what = "rank " + std::to_string(failed) + ": " + what;
  try {
    throw_as(static_cast<FailureKind>(*first), what);
  } catch (const std::exception& error) {  // the bare bad_alloc is this rank's: no memory for the agreed one
    if (typeid(error) != typeid(std::bad_alloc)) m_state->agreed = std::current_exception();
    throw;
  }
}

void Communicator::fail(const char* where) {
  if (!m_state->failure && !has_agreed()) {
    try {
      m_state->note(describe_exception(where));
    } catch (const std::bad_alloc&) {  // no memory for its text
      m_state->note({rank(), FailureKind::out_of_memory, {}, {}});
    }
  }
  throw;
}

bool Communicator::has_agreed() const noexcept {
  return m_state->agreed != nullptr && m_state->agreed == std::current_exception();
}

bool Communicator::progress() {
  const bool data_came = m_state->poll();
  if (m_state->failure) throw RemoteError(*m_state->failure);
  return data_came;
}

Communicator::Work::Work(Communicator& comm) noexcept : m_comm(&comm) {
  if (comm.m_state->own_works++ > 0) return;
  comm.m_state->owes_work = true;
  comm.m_state->announce();
}
Communicator::Work::~Work() {
  if (m_comm == nullptr || --m_comm->m_state->own_works > 0) return;
  m_comm->m_state->owes_work = true;
  m_comm->m_state->announce();
}

Communicator::Waiting::Waiting(Communicator& comm, const char* what)
    : m_comm(comm), m_what(what), m_since(Impl::seconds_now()) {
  ++comm.m_state->waits;
}
Communicator::Waiting::~Waiting() {
  if (m_comm.m_state) --m_comm.m_state->waits;
}

void Communicator::Waiting::idle() {
  // Readings between two looks at the clock. Larger: cheaper waits, later alarms. Where the wait sleeps it is
  // 6.4 ms, far below the watchdog's limit.
  constexpr int readings_a_look = 64;
  constexpr double long_wait = 0.02;  // seconds after which a wait stops using the processor
  Impl::CommState& state = *m_comm.m_state;
  if (m_sleeps)
    state.sleep(std::chrono::microseconds(100));
  else
    state.give_way();
  if (++m_readings < readings_a_look) return;
  m_readings = 0;
  const double limit = state.options.watchdog_seconds, now = Impl::seconds_now();
  m_sleeps = m_sleeps || now - m_since > long_wait;
  if (state.last_arrival > m_since) {
    m_since = state.last_arrival;
    m_asked = false;
    m_rounds = 0;
  }
  if (!m_asked && now - m_since > 0.4 * limit) {
    std::fill(state.answers.begin(), state.answers.end(), Impl::Control::question);
    state.tell_others(Impl::Control::question);
    m_asked = true;
  }
  if (now - m_since <= 0.9 * limit) return;
  std::vector<int> silent;
  bool all_wait = true;
  for (int other = 0; other < state.size; ++other) {
    const auto at = static_cast<std::size_t>(other);
    if (other == state.rank) continue;
    if (state.answers[at] == Impl::Control::question && !state.works[at]) silent.push_back(other);
    all_wait = all_wait && state.answers[at] == Impl::Control::answer_waiting;
  }
  if (!silent.empty())
    state.end({silent.front(), FailureKind::timeout,
               list_ranks(silent) + " of " + std::to_string(state.size) + " did not answer for " +
                   std::to_string(now - m_since) + " s, while rank " + std::to_string(state.rank) +
                   " waited for " + m_what,
               ""});
  m_rounds = all_wait ? m_rounds + 1 : 0;
  if (m_rounds == 2)
    state.end({state.rank, FailureKind::timeout,
               "all ranks wait, and nothing arrives; this one for " + std::string(m_what), ""});
  m_since = now;
  m_asked = false;
}

std::int64_t Communicator::add_target(Impl::PutTarget* target) {
  m_state->targets[m_state->next_target] = target;
  return m_state->next_target++;
}
void Communicator::remove_target(std::int64_t memory) {
  if (m_state) m_state->targets.erase(memory);
}

void Communicator::post_put(int to, const Impl::PutHeader& header, std::span<const std::byte> data) {
  constexpr int tag_put = 1;  // the number in Lutra_CommState.cpp
  if (data.size() > max_message)
    throw InputError("put: " + std::to_string(data.size()) + " bytes; one put takes at most " +
                     std::to_string(max_message));
  Impl::Bytes message = m_state->pool.buffer(sizeof header + data.size());
  Impl::pack_put(header, data, message);
  m_state->pool.send(m_state->control, to, tag_put, std::move(message));
}

MpiSession::MpiSession(int* argc, char*** argv) {
  int running = 0;
  MPI_Initialized(&running);
  if (running) return;
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  m_started_here = true;
}

MpiSession::~MpiSession() {
  if (m_started_here && !m_finished) MPI_Abort(MPI_COMM_WORLD, 1);
}

int MpiSession::finish(int exit_status, Communicator* comm) {
  m_finished = true;
  if (comm != nullptr && comm->failure() && !comm->leave())
    MPI_Abort(MPI_COMM_WORLD, exit_status != 0 ? exit_status : 1);  // a rank is lost
  if (m_started_here) MPI_Finalize();
  return exit_status;
}

bool Communicator::leave() {
  constexpr double patience = 2;  // seconds
  Impl::CommState& state = *m_state;
  state.owes_leave = true;
  state.announce();
  state.left[static_cast<std::size_t>(state.rank)] = 1;
  const double begin = Impl::seconds_now();
  while (Impl::seconds_now() - begin < patience) {
    state.poll();
    state.discard_data();
    if (!state.has_sends() && std::find(state.left.begin(), state.left.end(), 0) == state.left.end())
      return true;
    state.give_way();
  }
  return false;
}

bool MpiSession::is_launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const size = std::getenv(name);
    if (size != nullptr && std::atoi(size) > 1) return true;
  }
  return false;
}

}  // namespace lutra
