// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Nvshmem.hpp"
#include "Lutra_NvshmemChecks.hpp"

using namespace lutra;

namespace {

/// Starts NVSHMEM. @returns why it cannot, alike on all ranks; the communicator is closed then
std::string refusal(Communicator& comm) {
  try {
    use_nvshmem(comm);
  } catch (const InputError& error) {
    comm.close();
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("kernels put by NVSHMEM", "[comm]") {
  Communicator comm;
  if (const std::string why = refusal(comm); !why.empty()) SKIP(why);
  Test::check_nvshmem_puts(comm);
  comm.close();
}

TEST_CASE("a kernel that waits too long for NVSHMEM ends the waits of all ranks", "[comm]") {
  Communicator comm(MPI_COMM_WORLD, {.watchdog_seconds = 2});
  if (const std::string why = refusal(comm); !why.empty()) SKIP(why);
  Test::check_nvshmem_watchdog(comm);
  comm.close();
}

TEST_CASE("memory of NVSHMEM has the largest of the ranks' sizes, and is zero", "[comm]") {
  Communicator comm;
  if (const std::string why = refusal(comm); !why.empty()) SKIP(why);
  const auto rank = static_cast<std::size_t>(comm.rank()), last = static_cast<std::size_t>(comm.size()) - 1;
  for (int round = 0; round < 2; ++round) {  // memory is used again after `close`
    SymmetricMemory memory(comm, 80 * (rank + 1), 10 * rank, CommBackend::nvshmem);
    CHECK(memory.bytes() == 80 * (rank + 1));
    CHECK(Test::count_nvshmem_signals(memory) == 10 * last);
    std::vector<double> found(10 * (last + 1), -1.0);
    cudaMemcpy(found.data(), memory.at<double>(0), found.size() * sizeof(double), cudaMemcpyDeviceToHost);
    CHECK(found == std::vector<double>(found.size(), 0.0));
    cudaMemset(memory.at<double>(0), 1, found.size() * sizeof(double));
    memory.close();
  }
  comm.close();
}

TEST_CASE("too much memory of NVSHMEM is refused on all ranks", "[comm]") {
  Communicator comm;
  if (const std::string why = refusal(comm); !why.empty()) SKIP(why);
  CHECK_THROWS_AS(SymmetricMemory(comm, std::size_t{1} << 50, 1, CommBackend::nvshmem), OutOfMemoryError);
  comm.close();
}
