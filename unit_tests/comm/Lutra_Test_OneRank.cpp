// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Communicators of a Lutra without MPI, in a program that has an MPI of its own.
#include <mpi.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"

using lutra::Communicator;

static_assert(!lutra::has_mpi);

TEST_CASE("without MPI, one rank sends messages to itself", "[comm]") {
  Communicator comm, other(lutra::this_rank_alone());
  CHECK(comm.size() == 1);
  CHECK(comm.rank() == 0);
  comm.send(0, 7, std::vector<int>{1, 2});
  comm.send(0, 8, std::vector<int>{3});
  comm.send(0, 7, std::vector<int>{});
  other.send(0, 7, std::vector<int>{4});
  CHECK(comm.receive<int>(0, 8) == std::vector<int>{3});
  CHECK(comm.receive<int>(0, 7) == std::vector<int>{1, 2});
  CHECK(comm.receive<int>(0, 7).empty());
  CHECK(other.receive<int>(0, 7) == std::vector<int>{4});
  other.close();
  comm.close();
}

TEST_CASE("without MPI, a session of several ranks is refused", "[comm]") {
  CHECK_THROWS_MATCHES(
      lutra::MpiSession(nullptr, nullptr), lutra::InputError,
      Catch::Matchers::Message("several ranks: this Lutra was built without MPI (Lutra_ENABLE_MPI)"));
}
