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

/// Each vertex in the place of 1 to `most` of its own, joined where it was; some of their entries are
/// dropped.
template <class MatrixType>
MatrixType blow_up(const MatrixType& matrix, unsigned most, unsigned drop_one_of, std::mt19937& random) {
  std::vector<int> first{0};
  for (int k = 0; k < matrix.n_rows; ++k)
    first.push_back(first.back() + 1 + static_cast<int>(random() % most));
  MatrixType large{};
  large.n_rows = large.n_cols = first.back();
  large.row_map.push_back(0);
  for (std::size_t k = 0; k < static_cast<std::size_t>(matrix.n_rows); ++k) {
    for (int i = first[k]; i < first[k + 1]; ++i) {
      for (auto p = static_cast<std::size_t>(matrix.row_map[k]);
           p < static_cast<std::size_t>(matrix.row_map[k + 1]); ++p) {
        const auto h = static_cast<std::size_t>(matrix.entries[p]);
        for (int j = first[h]; j < first[h + 1]; ++j) {
          if (random() % drop_one_of != 0) large.entries.push_back(j);
        }
      }
      large.row_map.push_back(large.nnz());
    }
  }
  large.values.assign(large.entries.size(), 1.0);
  return large;
}

/// The same matrix, the entries of some rows in any order.
template <class MatrixType>
MatrixType shuffle_rows(MatrixType matrix, unsigned one_of, std::mt19937& random) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.n_rows); ++i) {
    if (random() % one_of == 0) {
      std::shuffle(matrix.entries.begin() + static_cast<std::ptrdiff_t>(matrix.row_map[i]),
                   matrix.entries.begin() + static_cast<std::ptrdiff_t>(matrix.row_map[i + 1]), random);
    }
  }
  return matrix;
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
  CHECK(climbed->method == SymbolicMethod::fill1);
  CHECK(climbed->exact);
  CHECK(budget.used_bytes() == climbed->reservation.bytes());
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

TEMPLATE_LIST_TEST_CASE("rows with the same columns are climbed for once", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(856);
  int climbed = 0;
  for (int turn = 0; turn < 60; ++turn) {
    const int n = turn < 20 ? 12 : 300;
    const unsigned most = turn % 4 == 0 ? 6 : 2;
    const unsigned drop_one_of = turn % 3 == 0 ? ~0u : 4 * static_cast<unsigned>(n);
    const auto quotient = turn % 2 == 0
                              ? add_mirror(random_matrix<MatrixType>(n, std::min(1.0, 0.45 / n), 0.0, random))
                              : add_mirror(dissected_chains<MatrixType>(n / 3, 3, random));
    INFO("turn " << turn);
    climbed += climbs_to_the_pattern(blow_up(quotient, most, drop_one_of, random)) ? 1 : 0;
  }
  CHECK(climbed > 30);
  // alike, but without entries among themselves
  auto apart = blow_up(add_mirror(dissected_chains<MatrixType>(100, 3, random)), 3, ~0u, random);
  REQUIRE(climbs_to_the_pattern(apart));
  climbs_to_the_pattern(drop_entries(apart, [](std::size_t i, std::size_t j) { return i == j; }));
  climbs_to_the_pattern(
      drop_entries(apart, [](std::size_t i, std::size_t j) { return i > j ? i - j < 3 : j - i < 3; }));
}

TEMPLATE_LIST_TEST_CASE("rows that are not sorted are climbed for or not, but right", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(857);
  int climbed = 0;
  for (int turn = 0; turn < 60; ++turn) {
    const auto symmetric =
        turn % 2 == 0 ? add_mirror(random_matrix<MatrixType>(400, 0.45 / 400, 0.0, random))
                      : blow_up(add_mirror(dissected_chains<MatrixType>(60, 3, random)), 3, ~0u, random);
    const auto matrix =
        turn % 3 == 0 ? symmetric : drop_entries(symmetric, [&](std::size_t i, std::size_t j) {
          return i != j && random() % 150 == 0;
        });
    INFO("turn " << turn);
    climbed += climbs_to_the_pattern(shuffle_rows(matrix, turn % 5 == 0 ? 1 : 40, random)) ? 1 : 0;
  }
  CHECK(climbed > 10);
}

TEMPLATE_LIST_TEST_CASE("rows that are not worth climbing for are left to fill1", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(855);
  SECTION("patterns that are not symmetric") {
    CHECK_FALSE(climbs_to_the_pattern(random_matrix<MatrixType>(400, 0.004, 0.0, random)));
  }
  SECTION("much fill, from the first rows on or in the last ones") {
    CHECK_FALSE(climbs_to_the_pattern(banded_matrix<MatrixType>(1000, {1, 40})));
    CHECK_FALSE(climbs_to_the_pattern(add_mirror(random_matrix<MatrixType>(1500, 1.5 / 1500, 0.0, random))));
  }
  SECTION("many rows, or little memory") {
    CHECK_FALSE(climbs_to_the_pattern(banded_matrix<MatrixType>(65536, {1})));
    const auto matrix = banded_matrix<MatrixType>(1000, {1});
    CHECK_FALSE(lutra::Impl::climb_rows(make_view(matrix).pattern(), MemoryBudget(100000)).has_value());
    const auto twins = blow_up(banded_matrix<MatrixType>(1000, {1, 17}), 3, ~0u, random);
    int climbed = 0, given_up = 0;
    for (std::size_t limit = 500000; limit < 30000000; limit += limit / 30) {
      const MemoryBudget budget(limit);
      const bool done = lutra::Impl::climb_rows(make_view(twins).pattern(), budget).has_value();
      ++(done ? climbed : given_up);
      CHECK(budget.used_bytes() == 0);
      CHECK(budget.peak_bytes() <= limit);
    }
    CHECK(climbed > 3);
    CHECK(given_up > 3);
  }
}

}  // namespace lutra::Test
