// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ONERANK_HPP
#define LUTRA_ONERANK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_RankGroup.hpp"
#ifndef LUTRA_HAS_MPI

/// What the sources of this folder call of MPI, for one rank that sends messages to itself: for a Lutra
/// without MPI, in the manner of PETSc's mpiuni. In a namespace, for programs that have an MPI of their own;
/// no header that they include reads this one.
namespace lutra {
namespace Impl {
struct OneRankMessages {
  struct Message {
    int tag = 0;
    std::vector<std::byte> bytes;
  };
  std::deque<Message> sent;  ///< and not yet received, oldest first
};
}  // namespace Impl

using MPI_Comm = RankGroup;
enum MPI_Datatype { MPI_BYTE, MPI_INT };
enum MPI_Op { MPI_MAX };
struct MPI_Request {};
struct MPI_Status {
  int MPI_SOURCE = 0, MPI_TAG = 0;
  int bytes = 0;
};

inline const MPI_Comm MPI_COMM_NULL{}, MPI_COMM_SELF{}, MPI_COMM_WORLD{};
inline constexpr MPI_Request MPI_REQUEST_NULL{};
inline constexpr MPI_Status* MPI_STATUS_IGNORE = nullptr;
inline constexpr int MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_THREAD_FUNNELED = 1;
inline constexpr int MPI_SUCCESS = 0, MPI_ERRORS_RETURN = 0, MPI_MAX_ERROR_STRING = 1;

inline void MPI_Error_string(int, char*, int*) {}
inline void MPI_Comm_set_errhandler(const MPI_Comm&, int) {}
inline int MPI_Comm_dup(const MPI_Comm&, MPI_Comm* copy) {
  copy->messages = std::make_shared<Impl::OneRankMessages>();
  return MPI_SUCCESS;
}
inline void MPI_Comm_free(MPI_Comm* comm) {
  comm->messages.reset();
}
inline void MPI_Comm_rank(const MPI_Comm&, int* rank) {
  *rank = 0;
}
inline void MPI_Comm_size(const MPI_Comm&, int* size) {
  *size = 1;
}

inline int MPI_Allreduce(const int* from, int* to, int count, MPI_Datatype, MPI_Op, const MPI_Comm&) {
  std::copy_n(from, count, to);
  return MPI_SUCCESS;
}

inline int MPI_Isend(const std::byte* bytes, int count, MPI_Datatype, int /*to*/, int tag,
                     const MPI_Comm& comm, MPI_Request*) {
  comm.messages->sent.push_back({tag, {bytes, bytes + count}});
  return MPI_SUCCESS;
}

inline auto first_sent(int tag, const MPI_Comm& comm) {
  return std::ranges::find_if(
      comm.messages->sent, [tag](const auto& message) { return tag == MPI_ANY_TAG || message.tag == tag; });
}

inline int MPI_Iprobe(int /*from*/, int tag, const MPI_Comm& comm, int* is_there, MPI_Status* status) {
  const auto message = first_sent(tag, comm);
  *is_there = message != comm.messages->sent.end() ? 1 : 0;
  if (*is_there != 0) *status = {0, message->tag, static_cast<int>(message->bytes.size())};
  return MPI_SUCCESS;
}

/// Receives at once what MPI_Iprobe has found.
inline int MPI_Irecv(std::byte* bytes, int count, MPI_Datatype, int /*from*/, int tag, const MPI_Comm& comm,
                     MPI_Request*) {
  const auto message = first_sent(tag, comm);
  if (message == comm.messages->sent.end()) throw CallOrderError("receive: no message was probed");
  std::copy_n(message->bytes.begin(), std::min<std::size_t>(count, message->bytes.size()), bytes);
  comm.messages->sent.erase(message);
  return MPI_SUCCESS;
}

inline int MPI_Get_count(const MPI_Status* status, MPI_Datatype, int* count) {
  *count = status->bytes;
  return MPI_SUCCESS;
}
inline int MPI_Test(MPI_Request*, int* is_done, MPI_Status*) {
  *is_done = 1;
  return MPI_SUCCESS;
}

inline void MPI_Initialized(int* is_running) {
  *is_running = 0;
}
inline void MPI_Init_thread(int*, char***, int, int*) {
  throw InputError("several ranks: this Lutra was built without MPI (Lutra_ENABLE_MPI)");
}
inline void MPI_Finalize() {}
[[noreturn]] inline void MPI_Abort(const MPI_Comm&, int exit_status) {
  std::_Exit(exit_status);
}

}  // namespace lutra

#endif  // LUTRA_HAS_MPI

#endif
