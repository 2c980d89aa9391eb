// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options of fill2: what has no effect is refused, and what has one does not change the pattern.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SymbolicTestPatterns.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Change = std::function<void(Fill2Options&)>;

/// Options of the kernels with labels, each alone, and some together.
std::vector<Change> changes_of_labels() {
  return {[](auto& o) { o.window_labels = false; },
          [](auto& o) { o.remove_bubbles = false; },
          [](auto& o) { o.two_parts = true; },
          [](auto& o) { o.concurrent = 1; },
          [](auto& o) { o.concurrent = 5; },
          [](auto& o) { o.keep_rows = false; },
          [](auto& o) { o.last_first = false; },
          [](auto& o) { o.chunk_bytes = 200000; },
          [](auto& o) { o.two_parts = true, o.chunk_bytes = 200000; },
          [](auto& o) { o.two_parts = true, o.remove_bubbles = o.keep_rows = o.last_first = false; },
          [](auto& o) { o.window_labels = o.remove_bubbles = o.keep_rows = false, o.concurrent = 9; }};
}

/// Options of frontiers alone.
std::vector<Change> changes_of_frontiers() {
  std::vector<Change> list = changes_of_labels();
  const std::vector<Change> more = {
      [](auto& o) { o.fill_first = true; },
      [](auto& o) { o.dynamic = false; },
      [](auto& o) { o.dynamic = o.remove_bubbles = o.window_labels = false; },
      [](auto& o) { o.queue_share = 0.01, o.dynamic = false; },  // sources are left to warps
      [](auto& o) { o.queue_share = 0.01, o.dynamic = o.keep_rows = false; },
      [](auto& o) { o.queue_share = 0.01, o.external = Fill2External::host, o.dynamic = false; },
      [](auto& o) { o.queue_share = 0.3, o.external = Fill2External::host, o.chunk_bytes = 200000; },
      [](auto& o) { o.external = Fill2External::host, o.fill_first = true, o.two_parts = true; },
      [](auto& o) { o.unified = Fill2Unified::plain; },
      [](auto& o) { o.unified = Fill2Unified::advised, o.remove_bubbles = false; },
      [](auto& o) { o.unified = Fill2Unified::prefetched, o.window_labels = false, o.concurrent = 40; },
      [](auto& o) {
        o.unified = Fill2Unified::plain, o.external = Fill2External::host, o.queue_share = 0.02;
      }};
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

/// Rows with a dense one, which leads everywhere, and with empty ones.
template <class MatrixType>
MatrixType hub_matrix(int n) {
  MatrixType hub{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    if (i % 3 != 2)
      for (int j = i == n - 2 ? 0 : std::max(0, i - 1); j < (i == n - 2 ? n : i + 1); ++j)
        hub.entries.push_back(static_cast<typename decltype(hub.entries)::value_type>(j));
    hub.row_map.push_back(static_cast<typename decltype(hub.row_map)::value_type>(hub.entries.size()));
  }
  hub.values.assign(hub.entries.size(), 1.0);
  return hub;
}

template <class Types>
std::vector<Matrix<Types>> patterns(std::mt19937& random) {
  std::vector<Matrix<Types>> list;
  for (const int n : {1, 2, 33, 300}) {
    list.push_back(random_matrix<Matrix<Types>>(n, std::min(1.0, 2.0 / n), 0.0, random));
    list.push_back(add_mirror(list.back()));
  }
  list.push_back(hub_matrix<Matrix<Types>>(500));
  list.push_back(banded_matrix<Matrix<Types>>(400, {1}));
  return list;
}

/// All rows, and lists of them in any order.
template <class Types>
void check_kernel(Fill2Kernel kernel, const std::vector<Change>& changes) {
  using Space = typename Types::Space;
  std::mt19937 random(1201);
  for (const auto& matrix : patterns<Types>(random)) {
    const auto expected = Reference::lu_pattern(matrix);
    const auto device = to_space<Space>(matrix);
    std::vector<Ordinal> order(static_cast<std::size_t>(matrix.n_rows));
    std::iota(order.begin(), order.end(), Ordinal(0));
    std::shuffle(order.begin(), order.end(), random);
    order.resize((order.size() + 1) / 2);
    for (std::size_t k = 0; k <= changes.size(); ++k) {
      INFO("n " << matrix.n_rows << ", nnz " << matrix.nnz() << ", change " << k);
      SymbolicOptions options{SymbolicMethod::fill2};
      options.fill2.kernel = kernel;
      if (k < changes.size()) changes[k](options.fill2);
      const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget(), options);
      REQUIRE(to_rows(filled) == expected);
      REQUIRE(filled.fill2);
      CHECK(filled.fill2->kernel == name_of(kernel));
      if (matrix.n_rows > 2) CHECK(filled.fill2->edges > 0);
      const int least = kernel == Fill2Kernel::groups ? 32 : 1;  // a group
      if (options.fill2.concurrent > 0)
        CHECK(filled.fill2->slots <= static_cast<std::size_t>(std::max(options.fill2.concurrent, least)));
      if (options.fill2.two_parts) CHECK(filled.fill2->parts.size() <= 2);
      const auto streamed =
          lutra::Impl::fill2_to_host(Space(), device.pattern(), MemoryBudget(), options.fill2);
      REQUIRE(to_rows(streamed) == expected);
      std::vector<Ordinal> sources = order;
      if (options.fill2.two_parts) std::sort(sources.begin(), sources.end());
      const auto found = factorize_symbolic_rows(Space(), device.pattern(), list_on_device<Types>(sources),
                                                 MemoryBudget(), options);
      const auto rows = rows_of(found, sources);
      for (std::size_t s = 0; s < sources.size(); ++s)
        REQUIRE(rows[s] == expected[static_cast<std::size_t>(sources[s])]);
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("options of fill2 do not change the pattern: portable", "[symbolic][fill2]",
                        PatternTypes) {
  check_kernel<TestType>(Fill2Kernel::portable, changes_of_labels());
}

TEMPLATE_LIST_TEST_CASE("options of fill2 do not change the pattern: frontiers", "[symbolic][fill2]",
                        PatternTypes) {
  if (has_cuda_kernels<typename TestType::Space>())
    check_kernel<TestType>(Fill2Kernel::frontiers, changes_of_frontiers());
}

TEMPLATE_LIST_TEST_CASE("options of fill2 do not change the pattern: warps and groups", "[symbolic][fill2]",
                        PatternTypes) {
  if (!has_cuda_kernels<typename TestType::Space>()) return;
  check_kernel<TestType>(Fill2Kernel::warps, {[](auto& o) { o.remove_bubbles = o.shared_marks = false; },
                                              [](auto& o) { o.concurrent = 3; }});
  check_kernel<TestType>(Fill2Kernel::groups, {[](auto& o) { o.concurrent = 3; }});
}

TEMPLATE_LIST_TEST_CASE("no combination of fill2's options changes the pattern", "[symbolic][fill2]",
                        PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(46);
  const auto coin = [&] { return random() % 2 == 0; };
  for (int draw = 0; draw < 60; ++draw) {
    const int n = 1 + static_cast<int>(random() % 250);
    auto matrix = random_matrix<Matrix<TestType>>(n, std::min(1.0, 2.5 / n), 0.0, random);
    if (coin()) matrix = add_mirror(matrix);
    const auto device = to_space<Space>(matrix);
    SymbolicOptions options{SymbolicMethod::fill2};
    Fill2Options& fill2 = options.fill2;
    const bool frontiers = has_cuda_kernels<Space>() && draw % 4 != 0;
    fill2.kernel = frontiers ? Fill2Kernel::frontiers : Fill2Kernel::portable;
    fill2.window_labels = coin();
    fill2.remove_bubbles = coin();
    fill2.two_parts = coin();
    fill2.keep_rows = coin();
    fill2.last_first = coin();
    fill2.concurrent = coin() ? 0 : 1 + static_cast<int>(random() % 50);
    fill2.chunk_bytes = coin() ? 0 : 20000 + random() % 100000;
    if (frontiers) {
      fill2.fill_first = coin();
      fill2.dynamic = coin();
      fill2.queue_share = coin() ? 1 : coin() ? 0.1 : 0.001;
      fill2.external = coin() ? Fill2External::host : Fill2External::none;
      fill2.unified = coin() ? Fill2Unified::off : static_cast<Fill2Unified>(random() % 4);
    }
    INFO("draw " << draw << ", n " << n);
    const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget(), options);
    REQUIRE(to_rows(filled) == Reference::lu_pattern(matrix));
    const auto streamed =
        lutra::Impl::fill2_to_host(Space(), device.pattern(), MemoryBudget(), options.fill2);
    REQUIRE(to_rows(streamed) == Reference::lu_pattern(matrix));
  }
}

TEMPLATE_LIST_TEST_CASE("the pattern of frontiers does not depend on the budget", "[symbolic][fill2]",
                        PatternTypes) {
  using Space = typename TestType::Space;
  if (!has_cuda_kernels<Space>()) return;
  std::mt19937 random(43);
  const auto matrix = random_matrix<Matrix<TestType>>(500, 2.0 / 500, 0.0, random);
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  SymbolicOptions options{SymbolicMethod::fill2};
  options.fill2.kernel = Fill2Kernel::frontiers;
  std::size_t least = 0;
  for (std::size_t limit = 1024; limit < (std::size_t(1) << 26); limit += limit / 8) {
    const MemoryBudget budget(limit);
    try {
      const auto filled = factorize_symbolic(Space(), device.pattern(), budget, options);
      if (least == 0) least = limit;
      REQUIRE(to_rows(filled) == expected);
    } catch (const OutOfMemoryError&) {
      REQUIRE(least == 0);
      CHECK(budget.used_bytes() == 0);
    }
  }
  CHECK(least > 0);
}

TEMPLATE_LIST_TEST_CASE("frontiers beyond the queues are counted", "[symbolic][fill2]", PatternTypes) {
  using Space = typename TestType::Space;
  if (!has_cuda_kernels<Space>()) return;
  std::mt19937 random(44);
  const auto matrix = add_mirror(random_matrix<Matrix<TestType>>(600, 2.0 / 600, 0.0, random));
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  SymbolicOptions options{SymbolicMethod::fill2};
  options.fill2.kernel = Fill2Kernel::frontiers;
  options.fill2.dynamic = false;
  const auto run = [&] {
    const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget(), options);
    REQUIRE(to_rows(filled) == expected);
    return *filled.fill2;
  };
  const auto ample = run();
  CHECK(ample.external_frontiers == 0);
  CHECK(ample.sources_left == 0);
  CHECK(ample.levels > 0);
  CHECK(ample.largest_frontier > 0);
  CHECK(ample.frontiers >= ample.largest_frontier);
  CHECK(ample.max_id_bytes > 0);
  CHECK(ample.queue_bytes == ample.tracker_bytes);
  options.fill2.queue_share = 1e-3;
  CHECK(run().sources_left > 0);
  options.fill2.external = Fill2External::host;
  const auto spilled = run();
  CHECK(spilled.sources_left == 0);
  CHECK(spilled.external_frontiers > 0);
  CHECK(spilled.external_bytes > 0);
  CHECK(spilled.queue_bytes < ample.queue_bytes);
  options.fill2.external = Fill2External::peer;
  std::int64_t at_peer = 0;  // CHECK would report the exception as a failure
  try {
    at_peer = static_cast<std::int64_t>(run().external_frontiers);
    CHECK(at_peer > 0);
  } catch (const InputError& error) {  // on one device
    CHECK_THAT(error.what(), ContainsSubstring("needs a second device"));
  }
  options.fill2.external = Fill2External::host;
  options.fill2.unified = Fill2Unified::advised;
  const auto managed = run();
  CHECK(managed.managed_bytes >= managed.max_id_bytes + managed.fill_bytes);
  options.fill2.concurrent = 500;
  const std::size_t too_little = managed.managed_bytes / 4;
  CHECK_THROWS_MATCHES(factorize_symbolic(Space(), device.pattern(), MemoryBudget(too_little), options),
                       OutOfMemoryError, Catch::Matchers::MessageMatches(ContainsSubstring("fill2.unified")));
}

TEMPLATE_LIST_TEST_CASE("Algorithm 4 divides sources into two parts", "[symbolic][fill2]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(45);
  const int n = 600;
  const auto matrix = add_mirror(random_matrix<Matrix<TestType>>(n, 2.0 / n, 0.0, random));
  const auto device = to_space<Space>(matrix);
  for (const Fill2Kernel kernel : {Fill2Kernel::portable, Fill2Kernel::frontiers}) {
    if (kernel == Fill2Kernel::frontiers && !has_cuda_kernels<Space>()) continue;
    SymbolicOptions options{SymbolicMethod::fill2};
    options.fill2.kernel = kernel;
    options.fill2.two_parts = true;
    options.fill2.chunk_bytes = 120000;
    const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget(), options);
    REQUIRE(to_rows(filled) == Reference::lu_pattern(matrix));
    const auto& parts = filled.fill2->parts;
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].sources + parts[1].sources == n);
    CHECK(parts[0].concurrent >= parts[1].concurrent);
    if (has_cuda_kernels<Space>()) CHECK(parts[0].concurrent > parts[1].concurrent);
  }
  SymbolicOptions options{SymbolicMethod::fill2};
  options.fill2.kernel = Fill2Kernel::portable;
  options.fill2.two_parts = true;
  CHECK_THROWS_MATCHES(factorize_symbolic_rows(Space(), device.pattern(), list_on_device<TestType>({5, 3}),
                                               MemoryBudget(), options),
                       InputError, Catch::Matchers::MessageMatches(ContainsSubstring("ascending")));
}

TEMPLATE_LIST_TEST_CASE("options of fill2 without effect are refused", "[symbolic][fill2]", PatternTypes) {
  using Space = typename TestType::Space;
  const auto device = to_space<Space>(from_dense<Matrix<TestType>>({{1, 1}, {1, 1}}));
  const auto refuses = [&](const Change& change, const std::string& text,
                           SymbolicMethod method = SymbolicMethod::fill2) {
    SymbolicOptions options{method};
    change(options.fill2);
    CHECK_THROWS_MATCHES(factorize_symbolic(Space(), device.pattern(), MemoryBudget(), options), InputError,
                         Catch::Matchers::MessageMatches(ContainsSubstring(text)));
  };
  for (const SymbolicMethod method :
       {SymbolicMethod::automatic, SymbolicMethod::fill1, SymbolicMethod::etree})
    refuses([](auto& o) { o.concurrent = 3; }, "need the symbolic method fill2", method);
  for (const Fill2Kernel kernel : {Fill2Kernel::warps, Fill2Kernel::groups, Fill2Kernel::frontiers})
    if (!has_cuda_kernels<Space>())
      refuses([&](auto& o) { o.kernel = kernel; }, std::string(name_of(kernel)) + " needs CUDA");
  const std::vector<std::pair<Change, std::string>> of_frontiers = {
      {[](auto& o) { o.fill_first = true; }, "fill_first"},
      {[](auto& o) { o.dynamic = false; }, "dynamic"},
      {[](auto& o) { o.queue_share = 0.5; }, "queue_share"},
      {[](auto& o) { o.external = Fill2External::host; }, "external"},
      {[](auto& o) { o.unified = Fill2Unified::plain; }, "unified"}};
  for (const auto& [change, name] : of_frontiers)
    refuses(
        [&](auto& o) {
          o.kernel = Fill2Kernel::portable;
          change(o);
        },
        "fill2." + name + " belongs to the kernel frontiers");
  refuses([](auto& o) { o.kernel = Fill2Kernel::portable, o.shared_marks = false; }, "shared_marks");
  refuses([](auto& o) { o.concurrent = -1; }, "negative");
  refuses([](auto& o) { o.queue_share = 0; }, "queue_share");
  refuses([](auto& o) { o.kernel = static_cast<Fill2Kernel>(9); }, "no value 9");
  if (has_cuda_kernels<Space>()) {
    refuses([](auto& o) { o.kernel = Fill2Kernel::warps, o.two_parts = true; }, "two_parts");
    refuses([](auto& o) { o.kernel = Fill2Kernel::groups, o.remove_bubbles = false; }, "remove_bubbles");
    refuses([](auto& o) { o.window_labels = false; }, "window_labels");
  }
  SymbolicOptions portable{SymbolicMethod::fill2, true};
  portable.fill2.kernel = Fill2Kernel::frontiers;
  CHECK_THROWS_AS(factorize_symbolic(Space(), device.pattern(), MemoryBudget(), portable), InputError);
}

}  // namespace lutra::Test
