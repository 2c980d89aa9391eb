// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FailingMessages.hpp"

#include <mpi.h>

#include <stdexcept>

namespace {

long made = -1;  // messages since the start; below 0: not counted
long to_fail = 0;
bool counts_receives = false;
std::string error_text;

bool is_to_fail() {
  return made >= 0 && ++made == to_fail;
}
long stop() {
  const long count = made;
  made = -1;
  to_fail = 0;
  return count;
}
void start(lutra::Test::MessageFault fault, long message) {
  counts_receives = fault == lutra::Test::MessageFault::refused;
  to_fail = message;
  made = 0;
}

}  // namespace

extern "C" {
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (!is_to_fail()) return PMPI_Isend(data, count, type, to, tag, comm, request);
  *request = MPI_REQUEST_NULL;
  return counts_receives ? MPI_ERR_OTHER : MPI_SUCCESS;
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (!counts_receives || !is_to_fail()) return PMPI_Irecv(data, count, type, from, tag, comm, request);
  *request = MPI_REQUEST_NULL;
  return MPI_ERR_OTHER;
}
}

namespace lutra::Test {

long FailingMessages::count(const std::function<void()>& call) const {
  start(m_fault, 0);
  call();
  return stop();
}

Injected FailingMessages::fail(long message, const std::function<void()>& call) const {
  start(m_fault, message);
  try {
    call();
  } catch (const std::runtime_error& error) {
    const bool is_met = stop() >= message;
    const std::string text = error.what();
    if (!is_met || (!text.starts_with("MPI_Isend: ") && !text.starts_with("MPI_Irecv: "))) throw;
    error_text = text;
    return Injected::thrown;
  } catch (...) {
    stop();
    throw;
  }
  return stop() >= message ? Injected::survived : Injected::not_met;
}

const std::string& FailingMessages::last_error() {
  return error_text;
}

}  // namespace lutra::Test
