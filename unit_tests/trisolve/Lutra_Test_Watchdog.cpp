// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The watchdog of the data-flow kernels, on a plan in which a row waits for itself: no pattern leads to one,
// so it is made by hand from the stage's own parts. Offsets are int here, unlike in the library.
#include <atomic>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "Lutra_BlockSolve.hpp"
#include "Lutra_LuTriangles.hpp"
#include "Lutra_SolutionArrays.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_TriangleSchedule.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_BlockSolveCuda.hpp"
#endif

namespace lutra::Test {
namespace {

/// Two rows, the second of which needs the first, with ones everywhere.
template <class Types>
struct Chain {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;

  Space exec;
  MemoryBudget budget;
  lutra::Impl::TrianglePlan<Memory> plan;
  Kokkos::View<double*, Memory> entries, inverses, b = to_space<Space>(std::vector<double>{1, 3});
  Kokkos::View<double*, Memory> x = to_space<Space>(std::vector<double>{0, 0});
  Kokkos::View<lutra::Impl::BlockUse*, Memory> use = to_space<Space>(std::vector<lutra::Impl::BlockUse>(2));
  lutra::Impl::SolutionArrays<double, Space> arrays;
  std::atomic<double*> waited_for = nullptr;  ///< of the second row, in the last solve
#ifdef KOKKOS_ENABLE_CUDA
  lutra::Impl::KernelGraphs graphs;
#endif

  Chain() {
    lutra::Impl::TriangleRows<Memory> rows;
    rows.n = 2;
    rows.entries = to_space<Space>(std::vector<Ordinal>{0});
    rows.begin = to_space<Space>(std::vector<Offset>{0, 0});
    rows.end = to_space<Space>(std::vector<Offset>{0, 1});
    lutra::Impl::StepBlocks<Memory> blocks;
    blocks.count = 2;
    const auto level = to_space<Space>(std::vector<Ordinal>{0, 1});
    MemoryReservation scratch(budget);
    plan = lutra::Impl::make_plan(exec, rows.access(), blocks, level, Ordinal(2), scratch, budget);
    entries = to_space<Space>(std::vector<double>(plan.columns.extent(0), 1.0));
    inverses = to_space<Space>(std::vector<double>(static_cast<std::size_t>(plan.inverse_entries), 1.0));
    arrays = lutra::Impl::SolutionArrays<double, Space>(exec, 2, budget, lutra::Impl::TimeoutFlag("timeout"));
    arrays.reserve(exec, 1);
  }

  /// Lets the second row wait for its own solution.
  void make_it_wait_for_itself() {
    auto columns = to_vector(plan.columns);
    for (auto& column : columns) column = column < 0 ? column : 1;
    Kokkos::deep_copy(plan.columns, to_space<Space>(columns));
  }

  /// @param for_blocks by the CUDA kernel for plans that have blocks of several rows
  void solve(bool portable, bool for_blocks, double watchdog_seconds = 0.05) {
    lutra::Impl::BlockSolveData<double, double> data;
    data.tasks = plan.tasks.data();
    data.by_level = plan.by_level.data();
    data.block_begin = plan.block_begin.data();
    data.columns = plan.columns.data();
    data.entries = entries.data();
    data.inverses = inverses.data();
    data.use = use.data();
    data.in_row = data.out_row = plan.row_of.data();
    data.in = {b.data(), 1, 2, nullptr};
    data.out = {x.data(), 1, 2, nullptr};
    data.n_columns = 1;
    data.n_tasks = plan.n_tasks();
    data.narrow_tasks = plan.narrow_tasks;
    data.watchdog.limit = lutra::Impl::watchdog_ticks<Space>(watchdog_seconds);
    arrays.prepare(data, 1);
    waited_for = data.current + 1;
#ifdef KOKKOS_ENABLE_CUDA
    if constexpr (std::is_same_v<Space, Kokkos::Cuda>) {
      if (!portable && for_blocks) return lutra::Impl::solve_blocks_cuda<true>(exec, data, 2, graphs);
      if (!portable) return lutra::Impl::solve_blocks_cuda<false>(exec, data, 2, graphs);
    }
#endif
    static_cast<void>(portable);
    static_cast<void>(for_blocks);
    lutra::Impl::solve_blocks_portable<1>(exec, data);
  }
};

/// A clock that shows what a test sets.
struct FakeClock {
  static inline std::uint64_t now = 0;
  static std::uint64_t ticks() { return now; }
};

}  // namespace

TEST_CASE("a wait is timed from its first poll", "[trisolve]") {
  lutra::Impl::WaitTimer<FakeClock> timer;
  FakeClock::now = 1000000;
  for (int readings = 0; readings < 100; ++readings) CHECK_FALSE(timer.exceeds(50));
  FakeClock::now += 50;
  CHECK_FALSE(timer.exceeds(50));
  FakeClock::now += 1;
  CHECK(timer.exceeds(50));
  using Space = Kokkos::DefaultHostExecutionSpace;
  CHECK(lutra::Impl::watchdog_ticks<Space>(0.5) == 500000000u);
  CHECK(lutra::Impl::watchdog_ticks<Space>(1e300) == std::numeric_limits<std::uint64_t>::max());
}

TEMPLATE_LIST_TEST_CASE("a value that arrives late but in time is accepted", "[trisolve][threads]",
                        PatternTypes) {
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    Chain<TestType> chain;
    chain.make_it_wait_for_itself();
    std::thread producer([&] {
      while (chain.waited_for == nullptr) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      lutra::Impl::write_through(chain.waited_for.load(), 5.0);
    });
    chain.solve(true, false, 10);  // half a second: some hundred million readings
    chain.exec.fence();
    producer.join();
    CHECK(chain.arrays.timed_out_position() == -1);
    CHECK(to_vector(chain.x) == std::vector<double>{1, -2});
  }
}

TEMPLATE_LIST_TEST_CASE("the watchdog allows a wait its full time", "[trisolve]", PatternTypes) {
  Chain<TestType> chain;
  chain.make_it_wait_for_itself();
  const auto begun = std::chrono::steady_clock::now();
  chain.solve(true, false, 0.2);
  chain.exec.fence();
  CHECK(chain.arrays.timed_out_position() == 1);
  CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(200));
}

// Rows whose tickets have been taken, and which no team works on: those behind wait for them.
TEMPLATE_LIST_TEST_CASE("a search for levels that waits too long ends with its row", "[trisolve]",
                        PatternTypes) {
  using Space = typename TestType::Space;
  using Memory = typename TestType::Memory;
  constexpr int n = 70, taken = 32;
  std::vector<Ordinal> entries(n);
  std::vector<std::int64_t> begin(n), end(n);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    entries[at] = i - 1;  // row i needs row i − 1
    begin[at] = i == 0 ? 1 : i;
    end[at] = i + 1;
  }
  const Space exec;
  lutra::Impl::TriangleRows<Memory> rows;
  rows.n = n;
  rows.entries = to_space<Space>(entries);
  rows.begin = to_space<Space>(begin);
  rows.end = to_space<Space>(end);
  const Kokkos::View<std::int64_t*, Memory> word("last level, stopped", 2);
  for (const Ordinal ticket : {Ordinal(-1), Ordinal(0)}) {
    lutra::Impl::LeveledBlocks<Memory> leveled;
    leveled.blocks.count = n;
    leveled.level = to_space<Space>(std::vector<Ordinal>(n, -1));
    leveled.ticket = to_space<Space>(std::vector<Ordinal>{ticket});
    lutra::Impl::sweep_levels_portable(exec, rows.access(), leveled, word.data(),
                                       {word.data() + 1, lutra::Impl::watchdog_ticks<Space>(0.05)});
    exec.fence();
    const auto words = to_vector(word);
    if (ticket < 0) {
      CHECK(words == std::vector<std::int64_t>{n - 1, 0});
      CHECK(to_vector(leveled.level).back() == n - 1);
    } else {
      // every row behind those waits: whichever team gives up first is named
      CHECK(words[1] > taken);
      CHECK(words[1] <= n);
      if constexpr (lutra::Impl::is_serial_space<Space>) CHECK(words[1] == taken + 1);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a row that waits for itself is reported", "[trisolve]", PatternTypes) {
  using Ways = std::pair<bool, bool>;
  for (const auto& [portable, for_blocks] : {Ways(false, false), Ways(false, true), Ways(true, false)}) {
    Chain<TestType> chain;
    chain.solve(portable, for_blocks);
    chain.exec.fence();
    CHECK(chain.arrays.timed_out_position() == -1);
    CHECK(to_vector(chain.x) == std::vector<double>{1, 2});

    const auto good = to_vector(chain.plan.columns);
    chain.make_it_wait_for_itself();
    chain.solve(portable, for_blocks);
    chain.exec.fence();
    CHECK(chain.arrays.timed_out_position() == 1);
    const auto x = to_vector(chain.x);
    CHECK(x[0] == 1);
    CHECK(x[1] != x[1]);

    chain.arrays.recover(chain.exec);
    CHECK_FALSE(chain.arrays.was_stopped(chain.exec));
    Kokkos::deep_copy(chain.plan.columns, to_space<typename TestType::Space>(good));
    for (int again = 0; again < 3; ++again) {
      chain.solve(portable, for_blocks);
      chain.exec.fence();
      CHECK(to_vector(chain.x) == std::vector<double>{1, 2});
    }
  }
}

namespace {

/// An engine that the watchdog has ended.
struct StoppedEngine final : lutra::Impl::TriangleEngine<double, Kokkos::DefaultHostExecutionSpace> {
  using Space = Kokkos::DefaultHostExecutionSpace;
  lutra::Impl::TimeoutFlag record;
  std::int64_t row;
  TriangularReport made;

  StoppedEngine(const lutra::Impl::TimeoutFlag& timeout, std::int64_t stopped_row)
      : record(timeout), row(stopped_row) {
    record(0).position_plus_one = row + 1;
  }
  std::unique_ptr<TriangleEngine> with_own_values(const Space&, const MemoryBudget&,
                                                  const lutra::Impl::TimeoutFlag&) const override {
    return {};
  }
  void set_values(const Space&, const Source&) override {}
  void solve(const Space&, lutra::Impl::MappedColumns<const double>, lutra::Impl::MappedColumns<double>, int,
             bool) override {}
  std::int64_t consume_timeout(const Space&) override {
    return record(0).position_plus_one == 0 ? -1 : std::exchange(row, -1);
  }
  std::int64_t count_inverted_blocks(const Space&) const override { return 0; }
  const TriangularReport& report() const override { return made; }
  std::size_t bytes() const override { return 0; }
  std::size_t predict_bytes(int) const override { return 0; }
};

}  // namespace

TEST_CASE("both triangles are usable after a solve that timed out", "[trisolve]") {
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Solves = lutra::Impl::LuTriangles<double, Space>;
  const auto offsets = [](std::vector<Offset> values) { return to_space<Space>(values); };
  LuPattern<Kokkos::HostSpace> lu;
  lu.n = 2;
  lu.row_map = offsets({0, 1, 3});
  lu.entries = to_space<Space>(std::vector<Ordinal>{0, 0, 1});
  lu.diagonal = offsets({0, 2});
  std::int64_t row = 0;
  Solves solves(Space(), lu, {}, {}, {}, MemoryBudget(),
                [&](const Space&, const auto&, const MemoryBudget&, const lutra::Impl::TimeoutFlag& timeout) {
                  return std::make_unique<StoppedEngine>(timeout, row++);
                });
  CHECK(solves.consume_timeout({}) == 0);  // of L; U was stopped as well
  CHECK(solves.consume_timeout({}) == -1);
}

}  // namespace lutra::Test
