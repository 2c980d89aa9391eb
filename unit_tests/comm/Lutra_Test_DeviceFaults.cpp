// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_ViewChannel.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Host = Kokkos::DefaultHostExecutionSpace;
using Device = Kokkos::DefaultExecutionSpace;
using Clock = std::chrono::steady_clock;

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// What the other ranks see, and after how long, when their work waits for a message that the last rank does
/// not send. That rank runs `task` instead.
struct Seen {
  std::string message;
  double seconds = 0;
};
template <class Space, class Task>
Seen wait_for_last(Communicator& comm, Impl::ViewChannel<Space>& channel, const Task& task) {
  channel.reserve(std::vector<std::size_t>(static_cast<std::size_t>(comm.size()), 4096));
  const auto start = Clock::now();
  Seen seen;
  try {
    if (comm.rank() == comm.size() - 1) {
      task();
    } else {
      const Kokkos::View<double*, typename Space::memory_space> values("values", 100);
      channel.template receive<double>(comm.size() - 1, values);
      channel.wait("a factorization");
    }
  } catch (const RemoteError& error) {
    seen.message = error.what();
  }
  seen.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return seen;
}

template <class Space>
void check_throwing_rank() {
  Communicator comm;
  if (comm.size() == 1) return;
  Impl::ViewChannel<Space> channel(comm);
  const Seen seen = wait_for_last(comm, channel, [&] {
    sleep_for(0.3);
    CHECK_THROWS_AS(
        [&] {
          try {
            throw InputError("no such row");
          } catch (...) {
            comm.fail("a factorization");
          }
        }(),
        InputError);
  });
  if (comm.rank() < comm.size() - 1) {
    CHECK_THAT(seen.message, ContainsSubstring("rank " + std::to_string(comm.size() - 1) + " failed") &&
                                 ContainsSubstring("no such row"));
  }
  CHECK(seen.seconds < 5);
  CHECK(comm.leave());
}

template <class Space>
void check_stalled_rank() {
  Communicator world;
  if (world.size() == 2) {  // takes 3 s
    Communicator comm(MPI_COMM_WORLD, {.watchdog_seconds = 1.2});
    Impl::ViewChannel<Space> channel(comm);
    const Seen seen = wait_for_last(comm, channel, [] { sleep_for(2.4); });
    if (comm.rank() < comm.size() - 1)
      CHECK_THAT(seen.message, ContainsSubstring("rank " + std::to_string(comm.size() - 1) + " ") &&
                                   ContainsSubstring("did not answer"));
    CHECK(seen.seconds < 5);
    world.barrier();
  }
  world.close();
}

}  // namespace

TEST_CASE("a rank that throws is named by ranks whose work waits for it", "[comm][device]") {
  check_throwing_rank<Host>();
  if constexpr (!std::is_same_v<Host, Device>) check_throwing_rank<Device>();
}

TEST_CASE("a stalled rank is named by ranks whose work waits for it", "[comm][device]") {
  check_stalled_rank<Host>();
  if constexpr (!std::is_same_v<Host, Device>) check_stalled_rank<Device>();
}

TEST_CASE("a message that is never sent ends the waits of all devices", "[comm][device]") {
  Communicator comm(MPI_COMM_WORLD, {.watchdog_seconds = 1.5});
  Impl::ViewChannel<Device> channel(comm);
  if (channel.is_direct() && comm.size() > 1) {
    channel.reserve(std::vector<std::size_t>(static_cast<std::size_t>(comm.size()), 4096));
    const Kokkos::View<double*, typename Device::memory_space> values("values", 100);
    if (comm.rank() == 0) channel.receive<double>(1, values);
    std::string message;
    try {
      channel.end_round("a solve");
    } catch (const TimeoutError& error) {
      message = error.what();
    }
    CHECK_THAT(message, ContainsSubstring("rank 0 waited too long for a message"));
    channel.close();
  }
  comm.close();
}

}  // namespace lutra::Test
