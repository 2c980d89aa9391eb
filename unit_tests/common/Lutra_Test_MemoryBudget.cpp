// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Test {
namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using Bytes = Kokkos::View<char*, Exec::memory_space>;

}  // namespace

TEST_CASE("a budget counts held bytes and keeps their peak", "[common]") {
  const MemoryBudget budget(1 << 20);
  {
    MemoryReservation reservation(budget);
    const auto view = reservation.allocate<Bytes>(Exec(), "a", 1000);
    CHECK(view.extent(0) == 1000);
    CHECK(reservation.bytes() >= 1000);
    CHECK(budget.used_bytes() == reservation.bytes());
    const MemoryReservation copy = reservation;  // shares the entry
    reservation = MemoryReservation();
    CHECK(budget.used_bytes() >= 1000);
  }
  CHECK(budget.used_bytes() == 0);
  CHECK(budget.peak_bytes() >= 1000);
  CHECK(budget.available_bytes() == budget.limit_bytes());
}

TEST_CASE("a budget without limit refuses nothing", "[common]") {
  const MemoryBudget budget;
  CHECK(budget.available_bytes() == std::numeric_limits<std::size_t>::max());
  CHECK_NOTHROW(budget.require("much", std::numeric_limits<std::size_t>::max()));
}

TEST_CASE("an allocation over the limit is refused by name and not charged", "[common]") {
  const MemoryBudget budget(5000);
  MemoryReservation reservation(budget);
  reservation.allocate<Bytes>(Exec(), "first", 3000);
  const std::size_t used = budget.used_bytes();
  CHECK_THROWS_AS(reservation.allocate<Bytes>(Exec(), "second", 3000), OutOfMemoryError);
  CHECK_THROWS_WITH(
      reservation.allocate<Bytes>(Exec(), "second", 3000),
      Catch::Matchers::ContainsSubstring("'second'") && Catch::Matchers::ContainsSubstring("5000"));
  CHECK(budget.used_bytes() == used);
}

TEST_CASE("allocating more than the machine has throws OutOfMemoryError", "[common]") {
  MemoryReservation reservation{MemoryBudget()};
  CHECK_THROWS_AS(reservation.allocate<Bytes>(Exec(), "absurd", std::size_t(1) << 60), OutOfMemoryError);
}

TEST_CASE("parts of a reserved block do not overlap, and its unused rest blocks no request", "[common]") {
  const MemoryBudget budget(1 << 20);
  MemoryReservation reservation(budget);
  reservation.reserve<Exec::memory_space>(Exec(), "block", 1024);
  const std::size_t used = budget.used_bytes();
  const auto first = reservation.allocate<Bytes>(Exec(), "first", 300);
  const auto second = reservation.allocate<Kokkos::View<double*, Exec::memory_space>>(Exec(), "second", 30);
  CHECK(budget.used_bytes() == used);
  CHECK(reinterpret_cast<char*>(second.data()) >= first.data() + 300);
  CHECK(reinterpret_cast<std::uintptr_t>(second.data()) % 64 ==
        reinterpret_cast<std::uintptr_t>(first.data()) % 64);
  const auto third = reservation.allocate<Bytes>(Exec(), "third", 2000);  // does not fit any more
  CHECK(budget.used_bytes() > used);
  third(1999) = first(299) = 1;
  second(29) = 1;
}

TEST_CASE("a block larger than the budget is not reserved", "[common]") {
  const MemoryBudget budget(1000);
  MemoryReservation reservation(budget);
  reservation.reserve<Exec::memory_space>(Exec(), "block", 1024);
  CHECK(budget.used_bytes() == 0);
  CHECK(reservation.allocate<Bytes>(Exec(), "small", 100).extent(0) == 100);
}

TEST_CASE("a pool reuses blocks for requests of similar size", "[common]") {
  const auto pool = std::make_shared<MemoryPool>();
  const MemoryBudget budget(0, pool);
  const auto address = [&](std::size_t bytes) {
    MemoryReservation reservation(budget);
    return reservation.allocate<Bytes>(Exec(), "a", bytes).data();
  };
  const auto* const first = address(100000);
  CHECK(budget.used_bytes() == 0);
  CHECK(address(90000) == first);
  CHECK(address(10000) != first);
  {
    MemoryReservation held(budget), other(budget);
    CHECK(held.allocate<Bytes>(Exec(), "held", 100000).data() == first);
    CHECK(other.allocate<Bytes>(Exec(), "other", 100000).data() != first);
    CHECK(budget.used_bytes() == held.bytes() + other.bytes());
  }
  CHECK(pool->take("nowhere", 100000).begin == nullptr);
}

TEST_CASE("a failed allocation leaves no charge", "[common]") {
  MemoryBudget budget(1000);
  budget.charge("first", 600);
  CHECK_THROWS_AS(budget.charge("second", 600), OutOfMemoryError);
  budget.charge("third", 400);
  budget.cancel(400);
  CHECK(budget.used_bytes() == 600);
  CHECK(budget.peak_bytes() == 600);
  budget.release(600);
  CHECK(budget.used_bytes() == 0);
  CHECK(budget.peak_bytes() == 600);
}

TEST_CASE("threads that share a budget never exceed its limit", "[common][threads]") {
  constexpr int n_threads = 4, n_rounds = 5000;
  constexpr std::size_t share = 300;  // three fit, not four
  MemoryBudget budget(1000);
  std::atomic<std::size_t> held = 0, most = 0;
  std::atomic<int> refused = 0;
  const auto work = [&] {
    MemoryBudget mine = budget;
    for (int round = 0; round < n_rounds; ++round) {
      try {
        mine.charge("share", share);
      } catch (const OutOfMemoryError&) {
        ++refused;
        continue;
      }
      const std::size_t now = held += share;
      std::size_t before = most;
      while (before < now && !most.compare_exchange_weak(before, now)) {
      }
      std::this_thread::yield();
      held -= share;
      mine.release(share);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < n_threads; ++t) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  CHECK(most <= 1000);
  CHECK(budget.peak_bytes() <= 1000);
  CHECK(budget.peak_bytes() >= share);
  CHECK(budget.used_bytes() == 0);
  CHECK(refused < n_threads * n_rounds);
}

TEST_CASE("threads that share a pool never get the same block", "[common][threads]") {
  constexpr int n_threads = 4, n_rounds = 2000;
  const MemoryBudget budget(0, std::make_shared<MemoryPool>());
  std::atomic<int> disturbed = 0;
  const auto work = [&](char mark) {
    for (int round = 0; round < n_rounds; ++round) {
      MemoryReservation reservation(budget);
      const auto view = reservation.allocate<Bytes>(Exec(), "shared", 5000 + 1000 * (round % 3));
      view(0) = view(4999) = mark;
      std::this_thread::yield();
      if (view(0) != mark || view(4999) != mark) ++disturbed;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < n_threads; ++t) threads.emplace_back(work, static_cast<char>(t + 1));
  for (auto& thread : threads) thread.join();
  CHECK(disturbed == 0);
  CHECK(budget.used_bytes() == 0);
}

}  // namespace lutra::Test
