// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of L + U found by climbing the elimination forest.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "Lutra_ClimbedRows.hpp"
#include "Lutra_Fill1.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SymbolicTestPatterns.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// The matrix without some of its entries.
template <class MatrixType, class Drop>
MatrixType drop_entries(const MatrixType& matrix, const Drop& drop) {
  MatrixType rest;
  rest.n_rows = rest.n_cols = matrix.n_rows;
  rest.row_map.push_back(0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.n_rows); ++i) {
    for (auto p = static_cast<std::size_t>(matrix.row_map[i]);
         p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p) {
      const auto column = static_cast<std::size_t>(matrix.entries[p]);
      if (!drop(i, column)) rest.entries.push_back(matrix.entries[p]);
    }
    rest.row_map.push_back(rest.nnz());
  }
  rest.values.assign(rest.entries.size(), 1.0);
  return rest;
}

/// Whether the pattern is found by climbing, which must be the one that fill1 and the reference find.
template <class MatrixType>
bool climbs_to_the_pattern(const MatrixType& matrix) {
  const MemoryBudget budget;
  const auto pattern = make_view(matrix).pattern();
  const auto climbed = lutra::Impl::climb_rows(pattern, budget);
  if (!climbed) {
    CHECK(budget.used_bytes() == 0);
    return false;
  }
  const auto expected = lutra::Impl::fill1(pattern, MemoryBudget(), 1);
  REQUIRE(to_rows(*climbed) == Reference::lu_pattern(matrix));
  REQUIRE(to_vector(climbed->row_map) == to_vector(expected.row_map));
  REQUIRE(to_vector(climbed->diagonal) == to_vector(expected.diagonal));
  REQUIRE(to_vector(climbed->entries) == to_vector(expected.entries));
  CHECK(climbed->nnz_l == expected.nnz_l);
  CHECK(climbed->nnz_u == expected.nnz_u);
  CHECK(climbed->road == SymbolicRoad::fill1);
  CHECK(climbed->exact);
  CHECK(budget.used_bytes() == climbed->charge.bytes());
  return true;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows are climbed for where patterns are symmetric", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(853);
  for (const int n : {1, 2, 3, 50, 700, 2500}) {
    for (const double mean : {0.0, 0.2, 0.45}) {
      INFO("n " << n << ", mean " << mean);
      const auto matrix = add_mirror(random_matrix<MatrixType>(n, std::min(1.0, mean / n), 0.0, random));
      REQUIRE(climbs_to_the_pattern(matrix));
      REQUIRE(climbs_to_the_pattern(
          drop_entries(matrix, [](std::size_t i, std::size_t j) { return i == j && i % 3 == 0; })));
    }
  }
  REQUIRE(climbs_to_the_pattern(banded_matrix<MatrixType>(1000, {1, 7})));
  REQUIRE(climbs_to_the_pattern(add_mirror(dissected_chains<MatrixType>(400, 3, random))));
}

TEMPLATE_LIST_TEST_CASE("what entries without a mirror image leave in doubt is found apart", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(854);
  for (const int n : {3, 20, 300, 1500}) {
    int climbed = 0;
    for (int turn = 0; turn < 12; ++turn) {
      const auto symmetric =
          turn % 2 == 0 ? add_mirror(random_matrix<MatrixType>(n, std::min(1.0, 0.45 / n), 0.0, random))
                        : add_mirror(dissected_chains<MatrixType>(n / 3, 3, random));
      const unsigned every = static_cast<unsigned>(n) / (turn < 6 ? 2 : 10) + 1;
      const auto matrix = drop_entries(
          symmetric, [&](std::size_t i, std::size_t j) { return i != j && random() % every == 0; });
      INFO("n " << n << ", turn " << turn);
      climbed += climbs_to_the_pattern(matrix) ? 1 : 0;
    }
    CHECK(climbed > (n < 100 ? 0 : 3));
  }
}

TEMPLATE_LIST_TEST_CASE("rows that are not worth climbing for are left to fill1", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(855);
  SECTION("rows that are not sorted") {
    for (const std::size_t row : {0u, 40u, 99u}) {
      auto matrix = banded_matrix<MatrixType>(100, {1, 5});
      std::reverse(matrix.entries.begin() + matrix.row_map[row],
                   matrix.entries.begin() + matrix.row_map[row + 1]);
      CHECK_FALSE(climbs_to_the_pattern(matrix));
    }
    auto matrix = banded_matrix<MatrixType>(100, {1, 5});  // the two last entries of a row only
    std::swap(matrix.entries[static_cast<std::size_t>(matrix.row_map[51]) - 1],
              matrix.entries[static_cast<std::size_t>(matrix.row_map[51]) - 2]);
    climbs_to_the_pattern(matrix);
  }
  SECTION("patterns that are not symmetric") {
    CHECK_FALSE(climbs_to_the_pattern(random_matrix<MatrixType>(400, 0.004, 0.0, random)));
  }
  SECTION("much fill, from the first rows on or in the last ones") {
    CHECK_FALSE(climbs_to_the_pattern(banded_matrix<MatrixType>(1000, {1, 40})));
    CHECK_FALSE(climbs_to_the_pattern(add_mirror(random_matrix<MatrixType>(1500, 1.5 / 1500, 0.0, random))));
  }
  SECTION("many rows, or little memory") {
    CHECK_FALSE(climbs_to_the_pattern(banded_matrix<MatrixType>(40000, {1})));
    const auto matrix = banded_matrix<MatrixType>(1000, {1});
    CHECK_FALSE(lutra::Impl::climb_rows(make_view(matrix).pattern(), MemoryBudget(100000)).has_value());
  }
}

}  // namespace lutra::Test
