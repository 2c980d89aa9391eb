// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Tpetra_Core.hpp>
#include <catch2/catch_session.hpp>

int main(int argc, char* argv[]) {
  Tpetra::ScopeGuard tpetra(&argc, &argv);  // MPI and Kokkos
  return Catch::Session().run(argc, argv);
}
