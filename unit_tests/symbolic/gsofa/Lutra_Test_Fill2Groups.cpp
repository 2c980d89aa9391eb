// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fill2 by groups of sources, which CUDA has; other spaces take their own kernel.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SymbolicTestPatterns.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

/// fill2 by groups where the space has them.
template <class Space>
Fill2Options by_groups() {
  Fill2Options options;
  if (has_cuda_kernels<Space>()) options.kernel = Fill2Kernel::groups;
  return options;
}

TEMPLATE_LIST_TEST_CASE("fill2 finds the same pattern by groups and by single sources", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  using Space = typename TestType::Space;
  std::mt19937 random(3232);
  const auto check = [&](const MatrixType& matrix, const Rows& expected) {
    const auto device = to_space<Space>(matrix);
    Fill2Statistics statistics;
    for (const bool last_first : {true, false}) {
      auto options = by_groups<Space>();
      options.last_first = last_first;
      const auto filled = lutra::Impl::fill2(Space(), device.pattern(), MemoryBudget(), options, &statistics);
      REQUIRE(to_rows(filled) == expected);
      CHECK((statistics.groups + statistics.groups_left > 0) == has_cuda_kernels<Space>());
      std::int64_t below = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        below += std::lower_bound(expected[i].begin(), expected[i].end(), i) - expected[i].begin();
      CHECK(filled.nnz_l == below);
    }
    return statistics;
  };
  for (const int n : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200, 400}) {
    for (const double mean : {0.5, 1.5, 3.0, 20.0}) {  // also rows longer than those of the table
      INFO("n " << n << ", mean " << mean);
      const auto matrix = random_matrix<MatrixType>(n, std::min(1.0, mean / n), 0.0, random);
      CHECK(check(matrix, Reference::lu_pattern(matrix)).groups_left == 0);
      const auto mirrored = add_mirror(matrix);
      CHECK(check(mirrored, Reference::lu_pattern(mirrored)).groups_left == 0);
    }
  }
  // Groups that fall back to a search from each source: one vertex per level, and a level too long for the
  // memory.
  const int n = 6000;
  MatrixType hub{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    for (int j = i == n - 2 ? 0 : i; j < i; ++j) hub.entries.push_back(j);
    if (i == n - 1) hub.entries.push_back(n - 2);
    hub.entries.push_back(i);
    hub.row_map.push_back(hub.nnz());
  }
  hub.values.assign(hub.entries.size(), 1.0);
  const auto find_rows = [](const MatrixType& matrix) {
    const auto device = to_space<Space>(matrix);
    return to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::fill1}));
  };
  for (const auto& matrix : {hub, banded_matrix<MatrixType>(6000, {1})})
    CHECK((check(matrix, find_rows(matrix)).groups_left > 0) == has_cuda_kernels<Space>());
  // More sources than fit into small groups, and rows longer than those of the table.
  for (const auto& matrix :
       {dissected_chains<MatrixType>(1500, 4, random), one_sided_chain<MatrixType>(5000, random),
        chain_with_twigs<MatrixType>(6000, 5, random),
        random_matrix<MatrixType>(5000, 1.2 / 5000, 0.0, random)}) {
    check(matrix, find_rows(matrix));
  }
}

TEMPLATE_LIST_TEST_CASE("the pattern of fill2 by groups does not depend on the budget", "[symbolic]",
                        PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(41);
  const int n = 600;
  const auto matrix = random_matrix<Matrix<TestType>>(n, 2.0 / n, 0.0, random);
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  auto options = by_groups<Space>();
  std::size_t least = 0;
  for (std::size_t limit = 1024; limit < (std::size_t(1) << 26); limit += limit / 8) {
    try {
      const auto filled = lutra::Impl::fill2(Space(), device.pattern(), MemoryBudget(limit), options);
      if (least == 0) least = limit;
      REQUIRE(to_rows(filled) == expected);
      if (limit % 3 == 0) {
        const auto streamed =
            lutra::Impl::fill2_to_host(Space(), device.pattern(), MemoryBudget(limit), options);
        REQUIRE(to_rows(streamed) == expected);
      }
    } catch (const OutOfMemoryError&) {
      REQUIRE(least == 0);
    }
  }
  CHECK(least > 0);
  if (has_cuda_kernels<Space>()) {  // groups must not need more memory
    options.kernel = Fill2Kernel::warps;
    options.shared_marks = false;
  }
  CHECK_NOTHROW(lutra::Impl::fill2(Space(), device.pattern(), MemoryBudget(least), options));
}

TEMPLATE_LIST_TEST_CASE("fill2 by groups accepts sources in any order and with gaps", "[symbolic]",
                        PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(97);
  const int n = 500;
  const auto matrix = add_mirror(random_matrix<Matrix<TestType>>(n, 1.2 / n, 0.0, random));
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  auto options = by_groups<Space>();
  std::vector<Ordinal> order(n);
  std::iota(order.begin(), order.end(), Ordinal(0));
  for (const bool shuffled : {false, true}) {
    if (shuffled) std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t step : {1u, 3u, 7u}) {
      for (const std::size_t most : {1u, 31u, 32u, 33u, 500u}) {
        for (const bool keep : {true, false}) {
          std::vector<Ordinal> sources;
          for (std::size_t k = 0; k < order.size() && sources.size() < most; k += step)
            sources.push_back(order[k]);
          options.keep_rows = keep;
          const auto found = lutra::Impl::fill2_rows(
              Space(), device.pattern(), list_on_device<TestType>(sources), MemoryBudget(), options);
          const auto rows = rows_of(found, sources);
          for (std::size_t k = 0; k < sources.size(); ++k)
            REQUIRE(rows[k] == expected[static_cast<std::size_t>(sources[k])]);
        }
      }
    }
  }
}

}  // namespace lutra::Test
