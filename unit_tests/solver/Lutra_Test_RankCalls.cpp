// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "Lutra_Error.hpp"
#include "Lutra_RankCalls.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Message;
using Catch::Matchers::MessageMatches;
using Impl::RankCalls;

constexpr auto nothing = [] {};

auto text(const char* request) {
  return [request] { return std::string(request); };
}

bool is_last(RankCalls& calls) {
  return calls.communicator().rank() == calls.communicator().size() - 1;
}

TEST_CASE("Rank calls: each rank checks its arguments, and all throw what the lowest finds", "[ranks]") {
  RankCalls calls(MPI_COMM_WORLD);
  const int rank = calls.communicator().rank(), P = calls.communicator().size();
  int ran = 0;
  const auto run = [&](int first_wrong) {
    calls.run(
        "factorize", text("3 columns"),
        [&] {
          if (rank >= first_wrong) throw InputError("b is wrong");
        },
        [&] { ++ran; });
  };
  for (int first_wrong = 0; first_wrong < P; ++first_wrong) {
    const std::string where = P > 1 ? "rank " + std::to_string(first_wrong) + ": " : "";
    CHECK_THROWS_MATCHES(run(first_wrong), InputError, Message(where + "b is wrong"));
  }
  CHECK(ran == 0);
  run(P);
  CHECK(ran == 1);
  calls.close();
  CHECK_THROWS_MATCHES(run(P), CallOrderError, Message("factorize: the solver is closed"));
  calls.close();  // once more does nothing
}

TEST_CASE("Rank calls: requests that differ are errors on all ranks", "[ranks]") {
  RankCalls calls(MPI_COMM_WORLD);
  const int P = calls.communicator().size();
  if (P == 1) return;
  const std::string last = "rank " + std::to_string(P - 1);
  struct Request {
    const char *name, *rest;
  };
  const auto run = [&](const Request& usual, const Request& of_last) {
    const Request mine = is_last(calls) ? of_last : usual;
    calls.run(mine.name, text(mine.rest), nothing, [] { FAIL("the action ran"); });
  };
  CHECK_THROWS_MATCHES(
      run({"solve", "1 column"}, {"factorize", ""}), InputError,
      MessageMatches(ContainsSubstring("rank 0: it asks for 'solve', " + last + " for 'factorize'")));
  CHECK_THROWS_MATCHES(run({"solve", "1 column\nA"}, {"solve", "2 columns\nA"}), InputError,
                       MessageMatches(ContainsSubstring("'1 column', " + last + " for '2 columns'")));
  CHECK_THROWS_MATCHES(run({"solve", ""}, {"solve", "A"}), InputError,
                       MessageMatches(ContainsSubstring("asks for '', " + last + " for 'A'")));
  calls.close();
}

TEST_CASE("Rank calls: a request that one rank cannot make is an error on all", "[ranks]") {
  RankCalls calls(MPI_COMM_WORLD);
  const auto request = [&] {
    if (is_last(calls)) throw std::bad_alloc();
    return std::string("1 column");
  };
  CHECK_THROWS_AS(calls.run("solve", request, nothing, [] { FAIL("the action ran"); }), OutOfMemoryError);
  CHECK_NOTHROW(calls.run("solve", nothing, nothing));
  calls.close();
}

TEST_CASE("Rank calls: a rank may come later than the watchdog waits inside a call", "[ranks]") {
  RankCalls calls(MPI_COMM_WORLD, 1.5);
  if (is_last(calls)) std::this_thread::sleep_for(std::chrono::milliseconds(1700));
  CHECK_NOTHROW(calls.run("solve", nothing, nothing));
  calls.close();
}

TEST_CASE("Rank calls: a rank that fails inside a call ends it, and those after it, on all", "[ranks]") {
  RankCalls calls(MPI_COMM_WORLD);
  if (calls.communicator().size() == 1) return;
  const auto run = [&] {
    calls.run("solve", nothing, [&] {
      if (is_last(calls)) throw std::runtime_error("no more paper");
      calls.communicator().barrier();
    });
  };
  CHECK_THROWS_MATCHES(run(), std::runtime_error, MessageMatches(ContainsSubstring("no more paper")));
  CHECK_THROWS_MATCHES(run(), RemoteError, MessageMatches(ContainsSubstring("no more paper")));
  calls.close();  // waits for no rank
}

TEST_CASE("Rank calls: a rank that gives up between calls ends those of the others", "[ranks]") {
  for (const bool after_an_error : {false, true}) {
    RankCalls calls(MPI_COMM_WORLD);
    if (calls.communicator().size() == 1) return;
    if (after_an_error)
      CHECK_THROWS_AS(calls.run(
                          "solve", [] { throw InputError("on all ranks"); }, nothing),
                      InputError);
    MPI_Barrier(MPI_COMM_WORLD);  // no rank is still in that call, which would end for the reason below
    if (is_last(calls)) {
      calls.abandon("the caller is tired");
    } else {
      CHECK_THROWS_MATCHES(calls.run("solve", nothing, [&] { calls.communicator().barrier(); }), RemoteError,
                           MessageMatches(ContainsSubstring("the caller is tired")));
    }
  }
}

TEST_CASE("Rank calls: communicators that are none are refused", "[ranks]") {
  CHECK_THROWS_MATCHES(RankCalls(MPI_COMM_NULL), InputError, Message("communicator: it is null"));
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) return;
  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 7, &between);
  CHECK_THROWS_MATCHES(RankCalls(between), InputError,
                       Message("communicator: it is between two groups of processes"));
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TEST_CASE("Rank calls: options without effect on several ranks are refused", "[ranks]") {
  LuOptions options;
  for (const NamedOption& option : named_options(options)) {
    const bool refused = option.name == "check" || option.name == "estimate_condition" ||
                         option.name == "factor_precision" || option.name == "solve_precision" ||
                         option.name == "solve_singular" || option.name == "trisolve";
    if (refused)
      CHECK_THROWS_AS(Impl::set_rank_option(options, option.name, option.value), InputError);
    else
      CHECK_NOTHROW(Impl::set_rank_option(options, option.name, option.value));
  }
  CHECK(options == LuOptions());
  LuOptions ordered;
  ordered.ordering = Ordering::user;
  ordered.user_permutation = {1, 0};
  LuOptions other = ordered;
  other.user_permutation = {0, 1};
  CHECK(Impl::text_of(ordered) != Impl::text_of(other));
}

}  // namespace
}  // namespace lutra::Test
