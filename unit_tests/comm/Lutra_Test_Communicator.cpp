// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Exchange.hpp"

using lutra::Communicator;

namespace {

template <class Exception, class Task>
std::string message_of(const Task& task) {
  try {
    task();
  } catch (const Exception& error) {
    return error.what();
  }
  return "no exception of that class";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("collective calls deliver the values of every rank", "[comm]") {
  Communicator comm;
  const int P = comm.size(), me = comm.rank();
  const std::vector<int> all = comm.all_gather(10 * me);
  REQUIRE(all.size() == static_cast<std::size_t>(P));
  for (int r = 0; r < P; ++r) CHECK(all[static_cast<std::size_t>(r)] == 10 * r);

  for (int root = 0; root < P; ++root) {
    std::vector<double> values;
    if (me == root) values = {1.0 + root, 2.0, 3.0};
    comm.broadcast(values, root);
    CHECK(values == std::vector<double>{1.0 + root, 2.0, 3.0});
    const auto gathered = comm.gather(std::vector<int>(static_cast<std::size_t>(me), me), root);
    CHECK(gathered.size() == (me == root ? static_cast<std::size_t>(P) : 0u));
    for (std::size_t r = 0; r < gathered.size(); ++r)
      CHECK(gathered[r] == std::vector<int>(r, static_cast<int>(r)));
    comm.barrier();
  }

  std::vector<std::vector<int>> to(static_cast<std::size_t>(P));
  for (int r = 0; r < P; ++r)
    to[static_cast<std::size_t>(r)].assign(static_cast<std::size_t>(r + 1), 100 * me + r);
  const auto from = comm.all_to_all(to);
  for (int r = 0; r < P; ++r)
    CHECK(from[static_cast<std::size_t>(r)] ==
          std::vector<int>(static_cast<std::size_t>(me + 1), 100 * r + me));
  comm.close();
}

TEST_CASE("messages with one tag arrive in order and complete", "[comm]") {
  Communicator comm;
  const int P = comm.size(), me = comm.rank(), next = (me + 1) % P, before = (me + P - 1) % P;
  std::vector<double> large(300000);
  for (std::size_t k = 0; k < large.size(); ++k) large[k] = me + 1e-6 * static_cast<double>(k);
  comm.send(next, 5, large);
  for (int k = 0; k < 20; ++k) comm.send(next, 7, std::vector<int>{me, k});
  for (int k = 0; k < 20; ++k) CHECK(comm.receive<int>(before, 7) == std::vector<int>{before, k});
  const auto received = comm.receive<double>(before, 5);
  REQUIRE(received.size() == large.size());
  for (std::size_t k : {std::size_t{0}, std::size_t{777}, large.size() - 1})
    CHECK(received[k] == before + 1e-6 * static_cast<double>(k));
  comm.close();
}

TEST_CASE("an exchange brings elements from their places and back", "[comm]") {
  Communicator comm;
  const auto P = static_cast<std::size_t>(comm.size()), me = static_cast<std::size_t>(comm.rank());
  // Rank r has 10·r + 0, 1, 2 and needs the last element of each rank, the highest rank first, and its own
  // first one.
  std::vector<lutra::Impl::Place> places;
  for (std::size_t r = P; r-- > 0;) places.push_back({static_cast<std::int64_t>(r), 2});
  places.push_back({static_cast<std::int64_t>(me), 0});
  const auto exchange = lutra::Impl::plan_exchange(comm, places);
  const std::size_t k = 2;
  std::vector<double> got(places.size() * k, -1.0), back(3 * k, 0.0);
  exchange.forward<double>(
      comm, k,
      [&](std::size_t i, std::size_t c) {
        return static_cast<double>(10 * me + i) + 0.5 * static_cast<double>(c);
      },
      [&](std::size_t e, std::size_t c, double value) { got[e * k + c] = value; });
  for (std::size_t e = 0; e < P; ++e)
    for (std::size_t c = 0; c < k; ++c)
      CHECK(got[e * k + c] == static_cast<double>(10 * (P - 1 - e) + 2) + 0.5 * static_cast<double>(c));
  CHECK(got[P * k] == static_cast<double>(10 * me));
  exchange.backward<double>(
      comm, k, [&](std::size_t e, std::size_t c) { return got[e * k + c]; },
      [&](std::size_t i, std::size_t c, double value) { back[i * k + c] += value; });
  const double first = static_cast<double>(10 * me), last = static_cast<double>(10 * me + 2);
  const double all = static_cast<double>(P);
  CHECK(back == std::vector<double>{first, first + 0.5, 0, 0, all * last, all * (last + 0.5)});
  comm.close();
}

TEST_CASE("each put sets its signal, and additions from all ranks are counted", "[comm]") {
  Communicator comm;
  const auto P = static_cast<std::size_t>(comm.size()), me = static_cast<std::size_t>(comm.rank());
  constexpr std::size_t length = 37;
  // Slot r is for values that rank r writes. The last signal counts. Rank r has r more signals than it needs.
  lutra::SymmetricMemory memory(comm, P * length * sizeof(double), P + 1 + me);
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
    std::vector<double> values(length, 100.0 * static_cast<double>(epoch) + static_cast<double>(me));
    for (std::size_t to = 0; to < P; ++to) {
      memory.put<double>(static_cast<int>(to), me * length * sizeof(double), values, me, epoch);
      memory.add(static_cast<int>(to), P, 1);
    }
    std::size_t arrived = 0;
    comm.wait_until("the puts of this epoch", [&] {
      while (const auto arrival = memory.next_arrival()) {
        if (arrival->signal == P) continue;
        ++arrived;
        CHECK(arrival->value == epoch);
        for (std::size_t k = 0; k < length; ++k)
          CHECK(memory.at<double>(arrival->signal * length * sizeof(double))[k] ==
                100.0 * static_cast<double>(epoch) + static_cast<double>(arrival->signal));
      }
      return arrived == P;
    });
    memory.wait(P, epoch * P, "the additions");
    CHECK(memory.signal(P) == epoch * P);
    comm.barrier();
  }
  CHECK_THROWS_AS(memory.put<double>(0, P * length * sizeof(double), std::vector<double>(1), 0, 1),
                  lutra::InputError);
  CHECK_THROWS_AS(memory.put<double>(0, 0, std::vector<double>(1), P + 100, 1), lutra::InputError);
  memory.close();
  comm.close();
}

TEST_CASE("all ranks report a missing backend or too little memory alike", "[comm]") {
  Communicator comm;
  if (!lutra::is_built(lutra::CommBackend::peer))
    CHECK(contains(
        message_of<lutra::InputError>([&] { lutra::SymmetricMemory(comm, 8, 1, lutra::CommBackend::peer); }),
        "'peer' is not in this build of Lutra; there is mpi"));
  CHECK(contains(
      message_of<lutra::InputError>([&] { lutra::SymmetricMemory(comm, 8, 1, lutra::CommBackend::nvshmem); }),
      lutra::is_built(lutra::CommBackend::nvshmem)
          ? "'nvshmem' is not started: call use_nvshmem"
          : "'nvshmem' is not in this build of Lutra; there is mpi"));
  CHECK(!lutra::can_use(comm, lutra::CommBackend::nvshmem));
  if (!lutra::is_built(lutra::CommBackend::peer)) CHECK(!lutra::ranks_that_share_a_device(comm));
  const int last = comm.size() - 1;
  const std::size_t bytes = comm.rank() == last ? std::size_t{1} << 63 : 8;  // more than any vector holds
  const std::string refused =
      message_of<lutra::OutOfMemoryError>([&] { lutra::SymmetricMemory(comm, bytes, 1); });
  CHECK(contains(refused, "symmetric memory"));
  if (last > 0) CHECK(contains(refused, "rank " + std::to_string(last)));
  comm.close();
}

TEST_CASE("all ranks agree on an error of one rank", "[comm]") {
  Communicator comm;
  for (int failing = 0; failing < comm.size(); ++failing) {
    const auto task = [&] {
      if (comm.rank() >= failing) throw lutra::InputError("entry " + std::to_string(comm.rank()) + " is bad");
    };
    const std::string text = message_of<lutra::InputError>([&] { comm.agree("a check", task, false); });
    CHECK(text == "entry " + std::to_string(failing) + " is bad");  // of the lowest rank
  }
  const auto read = [&] { throw lutra::FileError("A.mtx", 7, "row 3: not a number"); };
  CHECK(message_of<lutra::FileError>([&] { comm.agree("a file", read, false); }) ==
        "A.mtx:7: row 3: not a number");
  comm.agree("nothing", [] {});
  comm.close();
}

TEST_CASE("an error of one rank is told, after one of all ranks that was handled", "[comm]") {
  Communicator comm;
  const int last = comm.size() - 1;
  const auto task = [&] {
    try {
      comm.agree("a first attempt", [] { throw lutra::OutOfMemoryError("too large", 8); });
    } catch (const lutra::OutOfMemoryError&) {
      CHECK(comm.has_agreed());
    }
    CHECK(!comm.has_agreed());
    if (comm.rank() == last) throw lutra::InputError("alone");
    comm.receive<int>(last, 3);
  };
  if (comm.rank() == last)
    CHECK_THROWS_AS(comm.collectively("a second attempt", task), lutra::InputError);
  else
    CHECK(contains(message_of<lutra::RemoteError>([&] { comm.collectively("a second attempt", task); }),
                   "rank " + std::to_string(last) + " failed in a second attempt: alone"));
  CHECK(comm.failure()->rank == last);
  CHECK(comm.leave());
}

TEST_CASE("all other ranks name the rank that throws", "[comm]") {
  for (const bool memory : {false, true}) {
    Communicator comm;
    const int failing = comm.size() / 2;
    if (comm.rank() == failing) {
      CHECK_THROWS([&] {
        try {
          if (memory) throw std::bad_alloc();
          throw lutra::InputError("no such row");
        } catch (...) {
          comm.fail("a solve");
        }
      }());
    } else {
      const std::string text = message_of<lutra::RemoteError>([&] { comm.receive<int>(failing, 3); });
      CHECK(contains(text, "rank " + std::to_string(failing) + " failed in a solve"));
      CHECK(contains(text, memory ? "out of memory" : "no such row"));
      CHECK_THROWS_AS(comm.barrier(), lutra::RemoteError);  // from then on
    }
    CHECK(comm.failure()->rank == failing);
    CHECK(comm.leave());
  }
}

TEST_CASE("all other ranks name a stalled rank and wait for a busy one", "[comm]") {
  using Clock = std::chrono::steady_clock;
  Communicator world;
  if (world.size() == 3) {  // takes 5 s
    Communicator comm(lutra::all_ranks(), {1.2});
    const int stalled = comm.size() - 1;
    if (comm.rank() == stalled) {
      {
        Communicator::Work work(comm);
        { Communicator::Work nested(comm); }
        std::this_thread::sleep_for(std::chrono::milliseconds(2400));
      }
      comm.barrier();
      std::this_thread::sleep_for(std::chrono::milliseconds(2400));
      CHECK_THROWS_AS(comm.barrier(), lutra::RemoteError);
    } else {
      comm.barrier();
      const auto begin = Clock::now();
      // Rank 1 waits for rank 0, and rank 0 for the stalled rank. Both name the stalled one.
      const std::string text =
          message_of<lutra::RemoteError>([&] { comm.receive<int>(comm.rank() == 0 ? stalled : 0, 3); });
      CHECK(contains(text, "rank " + std::to_string(stalled) + " "));
      CHECK(contains(text, "did not answer"));
      CHECK(comm.failure()->rank == stalled);
      CHECK(std::chrono::duration<double>(Clock::now() - begin).count() < 2.3);
    }
    world.barrier();
  }
  world.close();
}

TEST_CASE("ranks that wait for one another report a deadlock", "[comm]") {
  Communicator comm(lutra::all_ranks(), {1.0});
  if (comm.size() > 2) return;  // takes 2 s
  const std::string text =
      message_of<lutra::RemoteError>([&] { comm.receive<int>((comm.rank() + 1) % comm.size(), 9); });
  CHECK(contains(text, "all ranks wait"));
  CHECK(comm.leave());
}
