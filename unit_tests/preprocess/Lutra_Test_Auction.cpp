// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "Lutra_Auction.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Reference_Matching.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
constexpr double nothing = Test::nothing;

template <class Space, class MatrixType>
auto auction(const MatrixType& a, const AuctionOptions& options = {}) {
  return match_auction(Space(), Test::to_space<Space>(a), MemoryBudget(), options);
}

/// Logarithm of the product of the matched magnitudes.
template <class MatrixType>
double log_product(const MatrixType& a, const std::vector<Ordinal>& row_of_column) {
  double sum = 0;
  for (std::size_t c = 0; c < row_of_column.size(); ++c) {
    const auto r = static_cast<std::size_t>(row_of_column[c]);
    double size = 0;
    for (auto k = static_cast<std::size_t>(a.row_map[r]); k < static_cast<std::size_t>(a.row_map[r + 1]); ++k)
      if (static_cast<std::size_t>(a.entries[k]) == c) size = Reference::size_of(a.values[k]);
    sum += std::log(size);  // -infinity if the entry is missing or zero
  }
  return sum;
}

// Checks that the matching is perfect, the scaling as documented, and the product within the bound of the
// greatest.
template <class MatrixType>
void check_perfect(const MatrixType& a, const AuctionResult& result, double greatest,
                   double epsilon = AuctionOptions().epsilon) {
  const auto& matching = result.matching;
  const auto n = static_cast<std::size_t>(a.n_rows);
  REQUIRE(matching.numeric_rank_bound == a.n_rows);
  REQUIRE(matching.structural_rank == a.n_rows);
  REQUIRE(matching.unmatched_rows.empty());
  REQUIRE(matching.unmatched_columns.empty());
  REQUIRE(std::set<Ordinal>(matching.row_of_column.begin(), matching.row_of_column.end()).size() == n);
  double largest = 0, min_matched = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < n; ++r) {
    for (auto k = static_cast<std::size_t>(a.row_map[r]); k < static_cast<std::size_t>(a.row_map[r + 1]);
         ++k) {
      const auto c = static_cast<std::size_t>(a.entries[k]);
      const double b = matching.row_scale[r] * Reference::size_of(a.values[k]) * matching.col_scale[c];
      largest = std::max(largest, b);
      if (static_cast<std::size_t>(matching.row_of_column[c]) == r) min_matched = std::min(min_matched, b);
    }
  }
  CHECK(largest <= 1 + 1e-12);
  CHECK(min_matched >= std::exp(-epsilon) * (1 - 1e-12));
  const double loss = greatest - log_product(a, matching.row_of_column);
  CHECK(loss <= result.statistics.log_loss_bound + 1e-9);
  CHECK(result.statistics.log_loss_bound <= static_cast<double>(n) * epsilon + 1e-9);
  CHECK(result.statistics.log_loss_bound >= -1e-9);
}

void check_same(const MatchingResult& one, const MatchingResult& other) {
  CHECK(one.row_of_column == other.row_of_column);
  CHECK(one.row_scale == other.row_scale);
  CHECK(one.col_scale == other.col_scale);
  CHECK(one.unmatched_rows == other.unmatched_rows);
  CHECK(one.unmatched_columns == other.unmatched_columns);
  CHECK(one.structural_rank == other.structural_rank);
  CHECK(one.numeric_rank_bound == other.numeric_rank_bound);
}

TEMPLATE_LIST_TEST_CASE("auction: cases worked by hand", "[auction]", Test::AllTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Space = typename TestType::Space;
  using Rows = std::vector<typename TestType::Ordinal>;

  SECTION("one row") {
    const Matrix a = Test::from_dense<Matrix>({{-4.0}});
    const auto result = auction<Space>(a);
    check_perfect(a, result, std::log(4.0));
    CHECK(result.statistics.rounds == 1);
    CHECK(result.statistics.left_to_paths == 0);
    CHECK_THAT(result.matching.row_scale[0] * result.matching.col_scale[0], WithinRel(0.25, 0.06));
  }
  SECTION("the largest entry is given up for a larger product: 9·9 > 10·1") {
    const Matrix a = Test::from_dense<Matrix>({{10, 9}, {9, 1}});
    const auto result = auction<Space>(a);
    check_perfect(a, result, std::log(81.0));
    CHECK(result.matching.row_of_column == Rows{1, 0});
  }
  SECTION("the only perfect matching of a cycle with a tail") {
    const Matrix a = Test::from_dense<Matrix>({{nothing, 1e-3, nothing}, {5, 7, 9}, {nothing, 8, 1e-2}});
    const auto result = auction<Space>(a);
    check_perfect(a, result, std::log(1e-3 * 5 * 1e-2));
    CHECK(result.matching.row_of_column == Rows{1, 0, 2});
  }
  SECTION("a stored zero is no entry") {
    const Matrix a = Test::from_dense<Matrix>({{0, 1}, {1, 0}});
    CHECK(auction<Space>(a).matching.row_of_column == Rows{1, 0});
  }
  SECTION("ties go to the first column and the first row; the loser takes what is left") {
    const Matrix a = Test::from_dense<Matrix>({{2, 2, nothing}, {2, 2, nothing}, {2, nothing, 2}});
    const auto result = auction<Space>(a);
    // All rows bid for column 0, and row 0 gets it. Rows 1 and 2 take their second choices, which are free.
    CHECK(result.matching.row_of_column == Rows{0, 1, 2});
    CHECK(result.statistics.rounds == 2);
    check_perfect(a, result, 3 * std::log(2.0));
  }
  SECTION("all entries alike: any permutation") {
    const Matrix a =
        Test::from_dense<Matrix>(std::vector<std::vector<double>>(5, std::vector<double>(5, -2.0)));
    check_perfect(a, auction<Space>(a), 5 * std::log(2.0));
  }
  SECTION("no rows at all") {
    Matrix a;
    a.row_map.push_back(0);
    const auto result = auction<Space>(a);
    CHECK(result.matching.structural_rank == 0);
    CHECK(result.matching.row_of_column.empty());
    CHECK(result.statistics.rounds == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("auction: singular matrices give the result of the exact matching", "[auction]",
                        Test::AllTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Space = typename TestType::Space;
  Matrix empty;
  empty.n_rows = empty.n_cols = 2;
  empty.row_map = {0, 0, 0};
  const Matrix cases[] = {
      empty,
      Test::from_dense<Matrix>({{1, 2, nothing}, {nothing, nothing, nothing}, {3, 4, nothing}}),
      Test::from_dense<Matrix>({{nothing, 2, 5}, {0, 0, 0}, {nothing, 3, 6}}),
      Test::from_dense<Matrix>(
          {{1, 2, nothing, nothing}, {3, 4, nothing, nothing}, {5, 6, nothing, nothing}, {7, 8, 9, 10}}),
      Test::from_dense<Matrix>({{0}}),
  };
  for (const Matrix& a : cases) {
    const auto result = auction<Space>(a);
    CAPTURE(a.n_rows);
    CHECK(result.matching.numeric_rank_bound < a.n_rows);
    CHECK(result.statistics.left_to_paths > 0);
    check_same(result.matching, match_exact(make_view(a)));
  }
}

TEMPLATE_LIST_TEST_CASE("auction: against all permutations", "[auction]", Test::AllTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Space = typename TestType::Space;
  std::mt19937 random(20240602);
  int perfect = 0, deficient = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 1 + trial % 6;
    const Matrix a = Test::random_matrix<Matrix>(n, 0.25 + 0.25 * (trial % 4), 0.1, random);
    const double greatest = Reference::greatest_log_product(a);
    const auto result = auction<Space>(a);
    CAPTURE(trial, n);
    if (std::isinf(greatest)) {
      ++deficient;
      check_same(result.matching, match_exact(make_view(a)));
    } else {
      ++perfect;
      check_perfect(a, result, greatest);
    }
  }
  CHECK(perfect > 10);
  CHECK(deficient > 5);
}

using SpaceTypes = Test::PatternTypes;

TEMPLATE_LIST_TEST_CASE("auction: larger random matrices", "[auction]", SpaceTypes) {
  using Matrix = Test::Matrix<TestType>;
  std::mt19937 random(8);
  bool paths = false;
  for (const double density : {0.01, 0.015, 0.02, 0.04, 0.1}) {
    for (int trial = 0; trial < 2; ++trial) {
      CAPTURE(density, trial);
      const Matrix a = Test::random_matrix<Matrix>(250, density, 0.02, random);
      const auto exact = match_exact(make_view(a));
      const auto result = auction<typename TestType::Space>(a);
      if (exact.numeric_rank_bound < a.n_rows) {
        check_same(result.matching, exact);
      } else {
        check_perfect(a, result, log_product(a, exact.row_of_column));
        paths = paths || result.statistics.left_to_paths > 0;
      }
    }
  }
  CHECK(paths);  // in some of them rows remained for augmenting paths
}

// The first rows value columns 0 and 1 alike and outbid each other by epsilon, up to the price of their own
// columns, which are worth little to them and much to others. Rows 0 and 1 have no other choice.
TEMPLATE_LIST_TEST_CASE("auction: epsilon scaling ends a price war", "[auction]", SpaceTypes) {
  using Matrix = Test::Matrix<TestType>;
  constexpr std::size_t rivals = 40, n = 2 * rivals - 2;
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < rivals; ++i) picture[i][0] = picture[i][1] = 1;
  for (std::size_t i = 2; i < rivals; ++i) {
    const std::size_t other = rivals + i - 2;
    picture[i][i] = 1e-20;
    picture[other][i] = picture[other][other] = 1;
  }
  const Matrix a = Test::from_dense<Matrix>(picture);
  const auto result = auction<typename TestType::Space>(a);
  check_perfect(a, result, (rivals - 2) * std::log(1e-20));
  CHECK(result.statistics.phases == 4);
  const auto& rows = result.matching.row_of_column;
  CHECK(rows[0] + rows[1] == 1);
  for (std::size_t c = 2; c < n; ++c) CHECK(static_cast<std::size_t>(rows[c]) == c);
}

TEMPLATE_LIST_TEST_CASE("auction: teams of many rounds, of one round, and a limit of one", "[auction]",
                        SpaceTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Space = typename TestType::Space;
  std::mt19937 random(12);
  const Matrix a = Test::random_matrix<Matrix>(300, 0.03, 0.0, random);
  const auto exact = match_exact(make_view(a));
  REQUIRE(exact.numeric_rank_bound == a.n_rows);
  const double greatest = log_product(a, exact.row_of_column);
  const auto result = auction<Space>(a);
  check_perfect(a, result, greatest);
  SECTION("after one round a phase the paths do the rest") {
    const auto hasty = auction<Space>(a, {.max_rounds = 1});
    CHECK(hasty.statistics.left_to_paths > 0);
    CHECK(hasty.statistics.rounds == hasty.statistics.phases);
    check_perfect(a, hasty, greatest);
  }
  SECTION("a small epsilon comes near, a large one is still a bound") {
    for (const double epsilon : {1e-6, 2.0}) {
      check_perfect(a, auction<Space>(a, {.epsilon = epsilon}), greatest, epsilon);
    }
  }
}

// [D Aᵀ; A 0] with a few rows too long for the lanes of a thread.
TEMPLATE_LIST_TEST_CASE("auction: many long rows compete for few columns", "[auction]", SpaceTypes) {
  using Matrix = Test::Matrix<TestType>;
  std::mt19937 random(11);
  constexpr int n = 700, constraints = 4;
  std::vector<std::vector<double>> picture(n + constraints, std::vector<double>(n + constraints, nothing));
  for (std::size_t i = 0; i < n; ++i) {
    picture[i][i] = 1;
    for (std::size_t j = n; j < n + constraints; ++j)
      picture[i][j] = picture[j][i] = 100 * Test::random_value<double>(random, 3);
  }
  const Matrix a = Test::from_dense<Matrix>(picture);
  const auto exact = match_exact(make_view(a));
  check_perfect(a, auction<typename TestType::Space>(a), log_product(a, exact.row_of_column));
}

TEMPLATE_LIST_TEST_CASE("auction: invalid input is refused by name", "[auction]", SpaceTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Space = typename TestType::Space;
  CHECK_THROWS_AS(auction<Space>(Test::from_dense<Matrix>({{1, 2, 3}, {4, 5, 6}}, 3)), InputError);
  const Matrix a = Test::from_dense<Matrix>({{1}});
  CHECK_THROWS_WITH(auction<Space>(a, {.epsilon = 0}), ContainsSubstring("epsilon"));
  CHECK_THROWS_WITH(auction<Space>(a, {.epsilon = std::numeric_limits<double>::quiet_NaN()}),
                    ContainsSubstring("epsilon"));
  CHECK_THROWS_WITH(auction<Space>(a, {.patience = 0}), ContainsSubstring("patience"));
  CHECK_THROWS_WITH(auction<Space>(a, {.max_rounds = 0}), ContainsSubstring("max_rounds"));
  CHECK_THROWS_AS(match_auction(Space(), Test::to_space<Space>(a), MemoryBudget(4)), OutOfMemoryError);
}

}  // namespace
