// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fill2 with optimisations switched off, with lists of sources, and with results in host memory.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SymbolicTestPatterns.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("no optional part of fill2 changes the pattern", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(8);
  const auto matrix = random_matrix<Matrix<TestType>>(400, 0.008, 0.0, random);
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  for (const int off :
       {0, 1, 2, 4, 6, 9, 16, 17, 32, 33, 34, 54, 63, 66, 70}) {  // a bit for each that is switched off
    Fill2Options options;
    options.shared_marks = (off & 2) == 0;
    options.keep_rows = (off & 4) == 0;
    options.window_labels = (off & 8) == 0;
    options.remove_bubbles = (off & 16) == 0;
    options.last_first = (off & 32) == 0;
    if ((off & 64) != 0 && has_cuda_kernels<Space>()) options.kernel = Fill2Kernel::warps;
    if ((off & 1) != 0) options.kernel = Fill2Kernel::portable;
    for (const std::size_t limit : {std::size_t(0), std::size_t(400000)}) {
      INFO("off " << off << ", limit " << limit);
      Fill2Statistics statistics;
      const auto filled =
          lutra::Impl::fill2(Space(), device.pattern(), MemoryBudget(limit), options, &statistics);
      REQUIRE(to_rows(filled) == expected);
      CHECK(statistics.edges > 0);
      CHECK(statistics.slots > 0);
      if (!options.keep_rows) CHECK(statistics.searched_again == 400);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("lists of sources give the rows they name", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(77);
  const int n = 300;
  const auto matrix = random_matrix<Matrix<TestType>>(n, 0.01, 0.0, random);
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  std::vector<Ordinal> order(n);
  std::iota(order.begin(), order.end(), Ordinal(0));
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t limit : {std::size_t(0), std::size_t(100000)}) {
    for (const bool portable : {false, true}) {
      for (const int part : {0, 1, 2}) {  // three parts, as three devices would take
        std::vector<Ordinal> sources;
        for (std::size_t k = static_cast<std::size_t>(part); k < order.size(); k += 3)
          sources.push_back(order[k]);
        const auto found =
            factorize_symbolic_rows(Space(), device.pattern(), list_on_device<TestType>(sources),
                                    MemoryBudget(limit), {SymbolicMethod::fill2, portable});
        const auto rows = rows_of(found, sources);
        for (std::size_t k = 0; k < sources.size(); ++k) {
          REQUIRE(rows[k] == expected[static_cast<std::size_t>(sources[k])]);
        }
      }
    }
  }
  const auto none =
      factorize_symbolic_rows(Space(), device.pattern(), list_on_device<TestType>({}), MemoryBudget());
  CHECK(to_vector(none.row_map).at(0) == 0);
  CHECK(none.entries.extent(0) == 0);
}

TEMPLATE_LIST_TEST_CASE("invalid lists of sources are refused", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  const auto device = to_space<Space>(from_dense<Matrix<TestType>>({{1, 1}, {1, 1}}));
  const auto ask = [&](const std::vector<typename TestType::Ordinal>& list) {
    return factorize_symbolic_rows(Space(), device.pattern(), list_on_device<TestType>(list), MemoryBudget());
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(ask({0, 2}), ContainsSubstring("number 1 is row 2"));
  CHECK_THROWS_WITH(ask({-1}), ContainsSubstring("number 0 is row -1"));
  CHECK_THROWS_WITH(ask({1, 0, 1}), ContainsSubstring("number 2 is row 1, which is there before"));
  const auto wide = to_space<Space>(from_dense<Matrix<TestType>>({{1, 1, 1}, {1, 1, 1}}, 3));
  CHECK_THROWS_AS(
      factorize_symbolic_rows(Space(), wide.pattern(), list_on_device<TestType>({0}), MemoryBudget()),
      InputError);
}

TEMPLATE_LIST_TEST_CASE("patterns larger than the budget are moved to host memory in ranges", "[symbolic]",
                        PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(5);
  const int n = 400;
  const auto matrix = add_mirror(random_matrix<Matrix<TestType>>(n, 2.5 / n, 0.0, random));
  const auto device = to_space<Space>(matrix);
  const auto expected =
      factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::fill1});
  const auto rows = to_rows(expected);
  const std::size_t result_bytes = expected.entries.extent(0) * sizeof(Ordinal);
  std::size_t least = 0;
  bool streamed = false;
  for (std::size_t limit = 1024; limit < (std::size_t(1) << 24); limit += limit / 4) {
    const MemoryBudget budget(limit);
    try {
      const auto filled = factorize_symbolic_to_host(Space(), device.pattern(), budget);
      if (least == 0) least = limit;
      REQUIRE(to_rows(filled) == rows);
      CHECK(filled.nnz_l == expected.nnz_l);
      CHECK(filled.nnz_u == expected.nnz_u);
      if (filled.reason.find("in ranges") != std::string::npos) {
        streamed = true;
        CHECK(budget.used_bytes() == 0);
      }
    } catch (const OutOfMemoryError&) {
      REQUIRE(least == 0);
      CHECK(budget.used_bytes() == 0);
    }
  }
  CHECK(streamed);
  CHECK(least > 0);
  CHECK(least < result_bytes);
  const auto fits = factorize_symbolic_to_host(Space(), device.pattern(), MemoryBudget());
  CHECK(to_rows(fits) == rows);
}

}  // namespace lutra::Test
