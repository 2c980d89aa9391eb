// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Main program of all tests that need several ranks: starts MPI and Kokkos, then runs each test on all ranks.
#include <Kokkos_Core.hpp>
#include <catch2/catch_session.hpp>
#include <chrono>
#include <thread>

#include "Lutra_Communicator.hpp"

int main(int argc, char* argv[]) {
  lutra::MpiSession mpi(&argc, &argv);
  int failures = 0;
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    failures = Catch::Session().run(argc, argv);
  }
  if (failures != 0) {  // MPI_Finalize would wait for a stalled rank; the others may still report
    std::this_thread::sleep_for(std::chrono::seconds(1));
    MPI_Abort(MPI_COMM_WORLD, failures);
  }
  return mpi.finish(failures);
}
