// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of all tests that need several ranks: MPI, Kokkos, then the tests, each of them on all ranks.
#include <Kokkos_Core.hpp>
#include <catch2/catch_session.hpp>

#include "Lutra_Communicator.hpp"

int main(int argc, char* argv[]) {
  lutra::MpiSession mpi(&argc, &argv);
  int failures = 0;
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    failures = Catch::Session().run(argc, argv);
  }
  return mpi.finish(failures);
}
