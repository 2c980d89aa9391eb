// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_Communicator.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_PeerWindow.hpp"
#include "Lutra_WindowKernels.hpp"

namespace {

const auto window_of = [](const lutra::SymmetricMemory& memory) { return memory.peer_window(); };

}  // namespace
#endif

TEST_CASE("kernels write into the memory of other ranks' devices", "[comm]") {
#ifdef KOKKOS_ENABLE_CUDA
  lutra::Communicator comm;
  lutra::Test::check_puts(comm, lutra::CommBackend::peer, window_of);
  comm.close();
#else
  SUCCEED("this build has no CUDA");
#endif
}

TEST_CASE("a kernel that waits too long ends the waits of all ranks", "[comm]") {
#ifdef KOKKOS_ENABLE_CUDA
  lutra::Communicator comm(MPI_COMM_WORLD, {.watchdog_seconds = 2});
  lutra::Test::check_watchdog(comm, lutra::CommBackend::peer, window_of);
  comm.close();
#else
  SUCCEED("this build has no CUDA");
#endif
}
