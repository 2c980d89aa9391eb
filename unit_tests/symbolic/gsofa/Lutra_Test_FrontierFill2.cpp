// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

// Tests the search by frontiers, which is for CUDA, with warps emulated on hosts.
#ifndef KOKKOS_ENABLE_CUDA
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SymbolicTestPatterns.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestWarps.hpp"

// The names of CUDA that Lutra_TestWarps.hpp has not.
struct uint2 {
  unsigned x, y;
};
using std::max;
template <class T>
T atomicMin(T* at, T value) {
  const T before = *at;
  *at = std::min(before, value);
  return before;
}
template <class T>
T atomicOr(T* at, T value) {
  const T before = *at;
  *at |= value;
  return before;
}
template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at += value;
  return before;
}

#include "Lutra_FrontierPlan.hpp"
#include "Lutra_FrontierSearchCuda.hpp"

namespace lutra::Test {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Host = Kokkos::HostSpace;
using Kernel = lutra::Impl::FrontierFill2<Space>;
using lutra::Impl::Frontier;
using lutra::Impl::FrontierBatch;
using lutra::Impl::FrontierCounters;
using lutra::Impl::FrontierPlan;
using lutra::Impl::FrontierSizes;
using lutra::Impl::LabelWindows;
using TestMatrix = HostMatrix<double>;

struct Setting {
  bool window = true, bubbles = true, fill_first = false, dynamic = true;
  double queue_share = 1;
  std::size_t external_capacity = 0, concurrent = 20, chunk_slots = 9;
  std::uint32_t first_window = 0;
};

struct Barrier {
  void sync() const { Warps::active->block_barrier(); }
};

/// Finds rows of L + U as FrontierFill2Runs does.
struct Emulation {
  const TestMatrix& matrix;
  std::vector<Ordinal> sources;  ///< empty: all
  Setting setting;
  std::mt19937& random;
  FrontierCounters counters{};
  std::uint64_t resets = 0;

  /// Rows by source; those left are empty.
  Rows search() {
    const auto n = static_cast<std::size_t>(matrix.n_rows);
    const std::size_t count = sources.empty() ? n : sources.size();
    const auto device = to_space<Space>(matrix);
    std::vector<uint2> rows(n);
    for (std::size_t i = 0; i < n; ++i)
      rows[i] = {static_cast<unsigned>(matrix.row_map[i]),
                 static_cast<unsigned>(matrix.row_map[i + 1] - matrix.row_map[i])};
    Kernel kernel{};
    auto& common = kernel.common;
    common.pattern = device.pattern();
    common.sources = Kokkos::View<const Ordinal*, Host>(sources.data(), sources.size());
    common.counts = Kokkos::View<Offset*, Host>("counts", n);
    common.lower_counts = Kokkos::View<Offset*, Host>("lower", n);
    common.kept.begin = Kokkos::View<Offset*, Host>("kept", n);
    Kokkos::deep_copy(common.kept.begin, Offset(-1));
    common.kept.end = Kokkos::View<Offset, Host>("end");
    common.kept.entries = Kokkos::View<Ordinal*, Host>("entries", n * n);
    kernel.rows = rows.data();
    kernel.counters = &counters;
    kernel.fill_first = setting.fill_first;
    const auto fill_words = static_cast<std::size_t>(Kernel::fill_words_for(matrix.n_rows));
    const auto line_words = static_cast<std::size_t>(Kernel::line_words_for(matrix.n_rows));
    const FrontierSizes sizes{(fill_words + line_words) * 4, setting.queue_share, false};
    const auto labels_of = [&](std::size_t k) {
      return !setting.bubbles ? n : sources.empty() ? k : static_cast<std::size_t>(sources[k]);
    };
    const std::size_t bytes = sizes.slot_bytes(n) * setting.chunk_slots + 64;
    auto plan = FrontierPlan::make(sizes, setting.dynamic, 0, count, labels_of, n, setting.concurrent, bytes);
    if (random() % 2 == 0) std::reverse(plan.batches.begin(), plan.batches.end());
    std::vector<std::uint32_t> fill(fill_words * plan.slots), lines(line_words * plan.slots);
    std::vector<std::uint64_t> chunk(bytes / 8 + 8, 0x0123456701234567u);  // labels and queues
    std::vector<Frontier> external(2 * setting.external_capacity + 1);
    std::vector<int> left(plan.slots);
    kernel.fill = fill.data();
    kernel.lines = lines.data();
    kernel.left = left.data();
    kernel.max_id = reinterpret_cast<unsigned*>(chunk.data());
    LabelWindows windows{static_cast<std::uint32_t>(n), setting.window, setting.first_window};
    for (const FrontierBatch& batch : plan.batches) {
      REQUIRE(batch.end - batch.begin <= plan.slots);
      const std::size_t own = (setting.dynamic ? batch.labels : plan.region_labels) * 4;
      const std::size_t taken = (own + 7) / 8 * 8;
      REQUIRE(taken + 16 * batch.capacity + plan.slots * sizes.fixed_bytes() <= bytes + 24);
      std::vector<long long> label_begin;
      long long labels = 0;
      for (std::size_t k = batch.begin; k < batch.end; ++k) {
        label_begin.push_back(labels);
        labels += static_cast<long long>(labels_of(k));
      }
      const auto [from, to] = windows.open(batch.labels);
      std::fill(kernel.max_id + from, kernel.max_id + to, ~0u);
      if (setting.dynamic) windows.overwritten_from(taken / 4);
      std::fill(left.begin(), left.end(), 0);
      std::fill(counters.lengths, counters.lengths + 3, 0ull);
      kernel.label_begin = label_begin.data();
      kernel.queues[0] = reinterpret_cast<Frontier*>(chunk.data() + taken / 8);
      kernel.queues[1] = kernel.queues[0] + batch.capacity;
      kernel.external[0] = external.data();
      kernel.external[1] = external.data() + setting.external_capacity;
      kernel.capacity = static_cast<long long>(batch.capacity);
      kernel.external_capacity = static_cast<long long>(setting.external_capacity);
      kernel.base = windows.base();
      kernel.first_position = static_cast<int>(batch.begin);
      kernel.slots = static_cast<int>(batch.end - batch.begin);
      constexpr int warps = 2;
      std::vector<Frontier> buffers(warps * Kernel::buffer_length);
      const bool ended = Warps().run(
          warps, random,
          [&] {
            const int warp = Warps::active->thread() / Warps::lanes;
            kernel.run(Barrier(), warp, warps, buffers.data() + warp * Kernel::buffer_length);
          },
          warps);
      REQUIRE(ended);
      REQUIRE(std::all_of(fill.begin(), fill.end(), [](auto word) { return word == 0; }));
      REQUIRE(std::all_of(lines.begin(), lines.end(), [](auto word) { return word == 0; }));
    }
    resets = windows.resets;
    Rows result(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (common.kept.begin(i) < 0) continue;
      const auto* const begin = common.kept.entries.data() + common.kept.begin(i);
      result[i].assign(begin, begin + common.counts(i));
      const auto diagonal = std::lower_bound(result[i].begin(), result[i].end(), i);
      REQUIRE(common.lower_counts(i) == diagonal - result[i].begin());
    }
    return result;
  }
};

TestMatrix hub_matrix(int n) {
  TestMatrix hub{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    if (i % 3 != 2)  // others have an empty row
      for (int j = i == n - 2 ? 0 : std::max(0, i - 1); j < (i == n - 2 ? n : i + 1); ++j)
        hub.entries.push_back(j);
    hub.row_map.push_back(static_cast<std::int64_t>(hub.entries.size()));
  }
  hub.values.assign(hub.entries.size(), 1.0);
  return hub;
}

std::vector<TestMatrix> patterns(std::mt19937& random) {
  std::vector<TestMatrix> list;
  for (const int n : {1, 2, 45}) {
    list.push_back(random_matrix<TestMatrix>(n, std::min(1.0, 1.8 / n), 0.0, random));
    list.push_back(add_mirror(list.back()));
  }
  list.push_back(hub_matrix(48));
  list.push_back(banded_matrix<TestMatrix>(40, {1}));
  return list;
}

TEST_CASE("frontiers find the pattern with each of their options", "[symbolic]") {
  std::mt19937 random(606);
  std::vector<Setting> settings(1);
  const auto add = [&](auto change) {
    settings.emplace_back();
    change(settings.back());
  };
  add([](Setting& s) { s.window = false; });
  add([](Setting& s) { s.bubbles = false; });
  add([](Setting& s) { s.fill_first = true; });
  add([](Setting& s) { s.dynamic = false; });
  add([](Setting& s) { s.dynamic = s.bubbles = false; });
  add([](Setting& s) { s.dynamic = s.bubbles = s.window = false; });
  add([](Setting& s) { s.concurrent = 5, s.chunk_slots = 3; });
  add([](Setting& s) { s.concurrent = s.chunk_slots = 1; });
  add([](Setting& s) { s.queue_share = 0.01, s.external_capacity = 1 << 14; });
  add([](Setting& s) { s.queue_share = 0.01, s.external_capacity = 1 << 14, s.dynamic = false; });
  for (const TestMatrix& matrix : patterns(random)) {
    const auto expected = Reference::lu_pattern(matrix);
    for (std::size_t k = 0; k < settings.size(); ++k) {
      if (k > 1 && matrix.n_rows < 45) continue;  // emulation takes long
      INFO("n " << matrix.n_rows << ", setting " << k);
      Setting setting = settings[k];
      setting.external_capacity =
          std::max<std::size_t>(setting.external_capacity, 1 << 14);  // nothing is left
      Emulation emulation{matrix, {}, setting, random};
      REQUIRE(emulation.search() == expected);
      CHECK(emulation.counters.left == 0);
      CHECK(emulation.counters.edges >= static_cast<unsigned long long>(matrix.nnz()));
      if (!setting.window && matrix.n_rows > 30) CHECK(emulation.resets > 0);
    }
  }
}

TEST_CASE("frontiers find lists of sources in any order", "[symbolic]") {
  std::mt19937 random(31);
  const auto matrix = add_mirror(random_matrix<TestMatrix>(90, 0.02, 0.0, random));
  const auto expected = Reference::lu_pattern(matrix);
  std::vector<Ordinal> order(90);
  std::iota(order.begin(), order.end(), Ordinal(0));
  for (const bool bubbles : {true, false}) {
    std::shuffle(order.begin(), order.end(), random);
    Setting setting;
    setting.bubbles = bubbles;
    setting.external_capacity = 1 << 14;
    const std::vector<Ordinal> sources(order.begin(), order.begin() + 40);
    const Rows found = Emulation{matrix, sources, setting, random}.search();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool listed = std::find(sources.begin(), sources.end(), static_cast<Ordinal>(i)) != sources.end();
      CHECK(found[i] == (listed ? expected[i] : std::vector<std::size_t>()));
    }
  }
}

TEST_CASE("frontiers that fit nowhere leave their sources, and only these", "[symbolic]") {
  std::mt19937 random(77);
  const auto matrix = add_mirror(random_matrix<TestMatrix>(120, 0.017, 0.0, random));
  const auto expected = Reference::lu_pattern(matrix);
  for (const std::size_t external : {0u, 3u, 20u}) {
    Setting setting;
    setting.queue_share = 0.02;
    setting.dynamic = false;
    setting.external_capacity = external;
    Emulation emulation{matrix, {}, setting, random};
    const Rows found = emulation.search();
    std::size_t left = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (found[i].empty()) ++left;
      if (!found[i].empty()) CHECK(found[i] == expected[i]);
    }
    CHECK(left == emulation.counters.left);
    CHECK(left > 0);
    CHECK(left < expected.size());
    CHECK((emulation.counters.external > 0) == (external > 0));
  }
}

TEST_CASE("labels are reset if their windows are exhausted", "[symbolic]") {
  std::mt19937 random(5);
  const auto matrix = add_mirror(random_matrix<TestMatrix>(100, 0.02, 0.0, random));
  Setting setting;
  setting.external_capacity = 1 << 14;
  setting.first_window = ~0u / 100 - 4;
  Emulation emulation{matrix, {}, setting, random};
  CHECK(emulation.search() == Reference::lu_pattern(matrix));
  CHECK(emulation.resets == 1);
}

TEST_CASE("batches of sources stay within their memory", "[symbolic]") {
  const FrontierSizes sizes{16, 0.5, false};
  for (const bool dynamic : {true, false})
    for (const std::size_t slots : {1u, 2u, 5u, 50u}) {
      const std::size_t n = 1000, bytes = sizes.slot_bytes(n) * slots;
      const auto own = [](std::size_t k) { return k; };
      const auto plan = FrontierPlan::make(sizes, dynamic, 0, n, own, n, 64, bytes);
      std::size_t next = 0;
      for (const FrontierBatch& batch : plan.batches) {
        CHECK(batch.begin == next);
        CHECK(batch.end > batch.begin);
        CHECK(batch.end - batch.begin <= 64);
        CHECK(batch.capacity >= (batch.labels + 1) / 2 * (dynamic ? 1 : 0));
        const std::size_t labels = dynamic ? batch.labels : plan.region_labels;
        CHECK(batch.labels <= labels);
        CHECK(plan.slots * sizes.fixed_bytes() + 4 * labels + 16 * batch.capacity <= bytes);
        next = batch.end;
      }
      CHECK(next == n);
      // Rows with few labels, more at a time
      if (slots == 5)
        CHECK(plan.batches.front().end - plan.batches.front().begin >
              plan.batches.back().end - plan.batches.back().begin);
    }
}

}  // namespace
}  // namespace lutra::Test
#endif
