// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include "Lutra_BlockTriangularForm.hpp"
#include "Lutra_EntryCosts.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_MinimumDegree.hpp"
#include "Lutra_Reference_Matching.hpp"
#include "Lutra_SymmetricGraph.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using DoubleMatrix = HostMatrix<double>;
constexpr double nothing = Test::nothing;

// Checks that the matching is perfect and optimal: |B| ≤ 1 everywhere and |B| = 1 at the matched entries. For
// a perfect matching this proves that no permutation has a greater product.
template <class MatrixType>
void check_perfect(const MatrixType& a, const MatchingResult& result) {
  const auto n = static_cast<std::size_t>(a.n_rows);
  REQUIRE(result.numeric_rank_bound == a.n_rows);
  REQUIRE(result.structural_rank == a.n_rows);
  REQUIRE(result.row_of_column.size() == n);
  REQUIRE(result.row_scale.size() == n);
  REQUIRE(result.col_scale.size() == n);
  REQUIRE(result.unmatched_rows.empty());
  REQUIRE(result.unmatched_columns.empty());
  REQUIRE(std::set<Ordinal>(result.row_of_column.begin(), result.row_of_column.end()).size() == n);
  std::size_t matched = 0;
  double largest = 0, worst_matched = 0;
  for (std::size_t r = 0; r < n; ++r) {
    for (auto k = static_cast<std::size_t>(a.row_map[r]); k < static_cast<std::size_t>(a.row_map[r + 1]);
         ++k) {
      const auto c = static_cast<std::size_t>(a.entries[k]);
      const double b = result.row_scale[r] * Reference::size_of(a.values[k]) * result.col_scale[c];
      REQUIRE(std::isfinite(b));
      largest = std::max(largest, b);
      if (static_cast<std::size_t>(result.row_of_column[c]) != r) continue;
      ++matched;
      worst_matched = std::max(worst_matched, std::abs(b - 1));
    }
  }
  CHECK(matched == n);
  CHECK(largest <= 1 + 1e-12);
  CHECK(worst_matched <= 1e-12);
}

// Checks a maximum matching and the list of unmatched rows and columns.
template <class MatrixType>
void check_deficient(const MatrixType& a, const MatchingResult& result) {
  const auto n = static_cast<std::size_t>(a.n_rows);
  const std::size_t rank = Reference::structural_rank(a, true);
  REQUIRE(rank < n);
  REQUIRE(static_cast<std::size_t>(result.numeric_rank_bound) == rank);
  REQUIRE(static_cast<std::size_t>(result.structural_rank) == Reference::structural_rank(a, false));
  REQUIRE(result.row_scale == std::vector<double>(n, 1.0));
  REQUIRE(result.col_scale == std::vector<double>(n, 1.0));
  REQUIRE(result.row_of_column.size() == n);
  std::set<Ordinal> rows(result.unmatched_rows.begin(), result.unmatched_rows.end());
  REQUIRE(result.unmatched_rows.size() == n - rank);
  REQUIRE(result.unmatched_columns.size() == n - rank);
  for (std::size_t c = 0; c < n; ++c) {
    const Ordinal r = result.row_of_column[c];
    const bool left_over =
        std::count(result.unmatched_columns.begin(), result.unmatched_columns.end(), c) > 0;
    REQUIRE(left_over == (r < 0));
    if (r < 0) continue;
    REQUIRE(rows.insert(r).second);  // neither matched twice nor listed as unmatched
    bool nonzero = false;
    for (auto k = static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(r)]);
         k < static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(r) + 1]); ++k) {
      if (static_cast<std::size_t>(a.entries[k]) == c) nonzero = Reference::size_of(a.values[k]) > 0;
    }
    REQUIRE(nonzero);
  }
  REQUIRE(rows.size() == n);
}

TEMPLATE_LIST_TEST_CASE("matching: cases worked by hand", "[matching]", Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Rows = std::vector<typename TestType::Ordinal>;

  SECTION("one row") {
    const Matrix a = Test::from_dense<Matrix>({{-4.0}});
    const auto result = match_exact(make_view(a));
    check_perfect(a, result);
    CHECK(result.row_of_column == Rows{0});
    CHECK_THAT(result.row_scale[0] * result.col_scale[0], WithinRel(0.25, 1e-14));
  }
  SECTION("the largest entry is given up for a larger product: 9·9 > 10·1") {
    const Matrix a = Test::from_dense<Matrix>({{10, 9}, {9, 1}});
    const auto result = match_exact(make_view(a));
    check_perfect(a, result);
    CHECK(result.row_of_column == Rows{1, 0});
  }
  SECTION("the only perfect matching of a cycle with a tail") {
    const Matrix a = Test::from_dense<Matrix>({{nothing, 1e-3, nothing}, {5, 7, 9}, {nothing, 8, 1e-2}});
    const auto result = match_exact(make_view(a));
    check_perfect(a, result);
    CHECK(result.row_of_column == Rows{1, 0, 2});
  }
  SECTION("a stored zero is no entry") {
    const Matrix a = Test::from_dense<Matrix>({{0, 1}, {1, 0}});
    const auto result = match_exact(make_view(a));
    check_perfect(a, result);
    CHECK(result.row_of_column == Rows{1, 0});
  }
  SECTION("an identity needs no scaling") {
    const Matrix a = Test::from_dense<Matrix>({{1, nothing}, {nothing, 1}});
    const auto result = match_exact(make_view(a));
    CHECK(result.row_of_column == Rows{0, 1});
    CHECK(result.row_scale == std::vector<double>{1, 1});
    CHECK(result.col_scale == std::vector<double>{1, 1});
  }
  SECTION("all entries alike: any permutation, and scales that make them 1") {
    const Matrix a =
        Test::from_dense<Matrix>(std::vector<std::vector<double>>(5, std::vector<double>(5, -2.0)));
    check_perfect(a, match_exact(make_view(a)));
  }
  SECTION("no rows at all") {
    Matrix a;
    a.row_map.push_back(0);
    const auto result = match_exact(make_view(a));
    CHECK(result.structural_rank == 0);
    CHECK(result.row_of_column.empty());
    CHECK(result.row_scale.empty());
  }
}

TEMPLATE_LIST_TEST_CASE("matching: unmatched rows and columns of singular matrices are named", "[matching]",
                        Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Rows = std::vector<typename TestType::Ordinal>;

  SECTION("an empty row and an empty column") {
    const Matrix a =
        Test::from_dense<Matrix>({{1, 2, nothing}, {nothing, nothing, nothing}, {3, 4, nothing}});
    const auto result = match_exact(make_view(a));
    check_deficient(a, result);
    CHECK(result.structural_rank == 2);
    CHECK(result.unmatched_rows == Rows{1});
    CHECK(result.unmatched_columns == Rows{2});
  }
  SECTION("a row of zeros is in the pattern, not in the numbers") {
    const Matrix a = Test::from_dense<Matrix>({{nothing, 2, 5}, {0, 0, 0}, {nothing, 3, 6}});
    const auto result = match_exact(make_view(a));
    check_deficient(a, result);
    CHECK(result.structural_rank == 3);
    CHECK(result.numeric_rank_bound == 2);
    CHECK(result.unmatched_rows == Rows{1});
    CHECK(result.unmatched_columns == Rows{0});
  }
  SECTION("three rows in two columns: one of the three") {
    const Matrix a = Test::from_dense<Matrix>(
        {{1, 2, nothing, nothing}, {3, 4, nothing, nothing}, {5, 6, nothing, nothing}, {7, 8, 9, 10}});
    const auto result = match_exact(make_view(a));
    check_deficient(a, result);
    REQUIRE(result.unmatched_rows.size() == 1);
    CHECK(result.unmatched_rows[0] < 3);
    CHECK(result.unmatched_columns[0] >= 2);
  }
  SECTION("nothing at all") {
    Matrix a;
    a.n_rows = a.n_cols = 2;
    a.row_map = {0, 0, 0};
    const auto result = match_exact(make_view(a));
    check_deficient(a, result);
    CHECK(result.unmatched_rows == Rows{0, 1});
    CHECK(result.unmatched_columns == Rows{0, 1});
  }
}

TEMPLATE_LIST_TEST_CASE("matching: against all permutations", "[matching]", Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  std::mt19937 random(20240601);
  int perfect = 0, deficient = 0;
  for (int trial = 0; trial < 120; ++trial) {
    const int n = 1 + trial % 7;
    const double density = 0.25 + 0.25 * (trial % 4);
    const Matrix a = Test::random_matrix<Matrix>(n, density, 0.1, random);
    const double best = Reference::greatest_log_product(a);
    const auto result = match_exact(make_view(a));
    CAPTURE(trial, n, density);
    if (std::isinf(best)) {
      ++deficient;
      check_deficient(a, result);
      continue;
    }
    ++perfect;
    check_perfect(a, result);
    double product = 0;
    for (std::size_t c = 0; c < result.row_of_column.size(); ++c) {
      const auto r = static_cast<std::size_t>(result.row_of_column[c]);
      for (auto k = static_cast<std::size_t>(a.row_map[r]); k < static_cast<std::size_t>(a.row_map[r + 1]);
           ++k) {
        if (static_cast<std::size_t>(a.entries[k]) == c) product += std::log(Reference::size_of(a.values[k]));
      }
    }
    CHECK_THAT(product, WithinAbs(best, 1e-11));
  }
  CHECK(perfect > 30);
  CHECK(deficient > 10);
}

TEMPLATE_LIST_TEST_CASE("matching: larger random matrices", "[matching]", Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  std::mt19937 random(7);
  int perfect = 0;
  for (const double density : {0.01, 0.02, 0.04, 0.1}) {
    for (int trial = 0; trial < 4; ++trial) {
      const Matrix a = Test::random_matrix<Matrix>(150, density, 0.02, random);
      const auto result = match_exact(make_view(a));
      CAPTURE(density, trial);
      if (Reference::structural_rank(a, true) == 150) {
        ++perfect;
        check_perfect(a, result);
      } else {
        check_deficient(a, result);
      }
    }
  }
  CHECK(perfect >= 4);
}

TEMPLATE_LIST_TEST_CASE("matching: lazily evaluated costs change no result", "[matching]", Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  using Costs = Kokkos::View<double*, Kokkos::HostSpace>;
  std::mt19937 random(23);
  int put_off = 0, completed = 0;
  for (int trial = 0; trial < 24; ++trial) {
    Matrix a = Test::random_matrix<Matrix>(60, 0.15, 0.02, random);
    for (std::size_t r = 0; r < 60 && trial % 2 == 0; ++r) {  // dominated by the diagonal if it exists
      for (auto k = static_cast<std::size_t>(a.row_map[r]); k < static_cast<std::size_t>(a.row_map[r + 1]);
           ++k)
        if (static_cast<std::size_t>(a.entries[k]) == r) a.values[k] = typename TestType::Scalar(1e6);
    }
    const auto view = make_view(a);
    const Costs cost("cost", a.entries.size()), origin("origin", 60);
    Impl::find_costs(Kokkos::DefaultHostExecutionSpace(), view, cost, origin);
    const std::vector<double> costs(cost.data(), cost.data() + cost.size());
    auto assignment = Impl::assign(view.pattern(), costs);
    Impl::HostCosts some(view);
    put_off += static_cast<int>(std::ranges::count(some.of_entry, some.pending));
    const auto lazily = Impl::assign(view.pattern(), some.of_entry, {}, [&](Ordinal r) {
      some.complete(r);
      ++completed;
    });
    for (std::size_t k = 0; k < costs.size(); ++k)
      CHECK((some.of_entry[k] == costs[k] || some.of_entry[k] == some.pending));
    CHECK(lazily.perfect == assignment.perfect);
    if (!assignment.perfect) continue;
    CHECK(lazily.row_of_column == assignment.row_of_column);
    CHECK(lazily.row_dual == assignment.row_dual);
    CHECK(lazily.col_dual == assignment.col_dual);
  }
  CHECK(put_off > 1000);
  CHECK(completed > 20);
  CHECK(completed < 24 * 60);
}

// [D Aᵀ; A 0] with a few long rows of large entries: every row of D prefers one of the few columns of Aᵀ.
DoubleMatrix saddle_point(int n, int constraints, std::mt19937& random) {
  const auto size = static_cast<std::size_t>(n + constraints);
  std::vector<std::vector<double>> picture(size, std::vector<double>(size, nothing));
  for (int i = 0; i < n; ++i) {
    picture[static_cast<std::size_t>(i)][static_cast<std::size_t>(i)] = 1;
    for (int j = n; j < n + constraints; ++j) {
      const double value = 100 * Test::random_value<double>(random, 3);
      picture[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = value;
      picture[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)] = value;
    }
  }
  return Test::from_dense<DoubleMatrix>(picture);
}

TEST_CASE("matching: many rows compete for few columns", "[matching]") {
  std::mt19937 random(11);
  const DoubleMatrix a = saddle_point(400, 6, random);
  check_perfect(a, match_exact(make_view(a)));
}

// KKT matrix of CVXQP (CUTE, with 3n/4 constraints): its values are small integers and sums of them, so that
// many columns cost a row the same, and path searches are long enough for auctions.
DoubleMatrix kkt_of_few_values(int n) {
  const int constraints = 3 * n / 4;
  std::vector<std::map<int, double>> rows(static_cast<std::size_t>(n + constraints));
  const auto add = [&](int i, int j, double value) { rows[static_cast<std::size_t>(i)][j] += value; };
  for (int i = 1; i <= n; ++i) {
    const std::set<int> variables{i - 1, (2 * i - 1) % n, (3 * i - 1) % n};
    for (const int a : variables)
      for (const int b : variables) add(a, b, i);
  }
  for (int i = 1; i <= constraints; ++i) {
    double coefficient = 1;
    for (const int j : {i - 1, (4 * i - 1) % n, (5 * i - 1) % n}) {
      add(n + i - 1, j, coefficient);
      add(j, n + i - 1, coefficient);
      coefficient += 1;
    }
  }
  DoubleMatrix a;
  a.n_rows = a.n_cols = n + constraints;
  a.row_map = {0};
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      a.entries.push_back(column);
      a.values.push_back(value);
    }
    a.row_map.push_back(static_cast<std::int64_t>(a.entries.size()));
  }
  return a;
}

TEST_CASE("matching: many equal costs", "[matching]") {
  const DoubleMatrix a = kkt_of_few_values(2000);
  check_perfect(a, match_exact(make_view(a)));
}

TEST_CASE("matching: a diagonal of largest entries stays", "[matching]") {
  const double tiny = std::numeric_limits<double>::min() / 4;
  for (const double size : {1.0, 0.3, 1e300, 1e-300, tiny}) {
    CAPTURE(size);
    const DoubleMatrix a = Test::from_dense<DoubleMatrix>(
        {{-size, size, nothing}, {size / 2, size, -size}, {nothing, size / 4, size / 2}});
    const auto result = match_exact(make_view(a));
    CHECK(result.row_of_column == std::vector<Ordinal>{0, 1, 2});
    if (size != tiny) check_perfect(a, result);
  }
  const DoubleMatrix empty_row = Test::from_dense<DoubleMatrix>({{1, nothing}, {nothing, nothing}});
  check_deficient(empty_row, match_exact(make_view(empty_row)));
}

// README, Limitations: "The paths of the exact matching and minimum degree take one host thread"
TEST_CASE("matching: kernels compute costs and scales only, and minimum degree launches none", "[matching]") {
  namespace Tools = Kokkos::Tools::Experimental;
  static int kernels = 0;
  const auto count = [](const char*, std::uint32_t, std::uint64_t*) { ++kernels; };
  const auto kernels_of = [&](const auto& work) {
    const auto before = Tools::get_callbacks();
    Tools::set_begin_parallel_for_callback(count);
    Tools::set_begin_parallel_reduce_callback(count);
    Tools::set_begin_parallel_scan_callback(count);
    kernels = 0;
    work();
    Tools::set_callbacks(before);
    return kernels;
  };
  std::mt19937 random(3);
  const DoubleMatrix small = saddle_point(40, 3, random), large = saddle_point(400, 6, random);
  const int of_small = kernels_of([&] { match_exact(make_view(small)); });
  CHECK(of_small > 0);
  CHECK(kernels_of([&] { match_exact(make_view(large)); }) == of_small);
  const auto graph = symmetric_graph<int>(make_view(large).pattern());
  CHECK(kernels_of([&] { minimum_degree(graph); }) == 0);
}

TEST_CASE("matching: rows need not be sorted", "[matching]") {
  std::mt19937 random(5);
  const DoubleMatrix sorted = Test::random_matrix<DoubleMatrix>(40, 0.3, 0.0, random);
  DoubleMatrix a = sorted;
  for (std::size_t r = 0; r < 40; ++r) {
    std::reverse(a.entries.begin() + a.row_map[r], a.entries.begin() + a.row_map[r + 1]);
    std::reverse(a.values.begin() + a.row_map[r], a.values.begin() + a.row_map[r + 1]);
  }
  const auto result = match_exact(make_view(a));
  check_perfect(a, result);
  check_perfect(sorted, result);
}

TEST_CASE("matching: entries near the limits of double", "[matching]") {
  SECTION("very large and very small entries side by side") {
    const DoubleMatrix a = Test::from_dense<DoubleMatrix>({{1e300, 1e-300}, {2e-300, 1e-300}});
    check_perfect(a, match_exact(make_view(a)));
  }
  SECTION("one matched entry of each kind") {
    const DoubleMatrix a = Test::from_dense<DoubleMatrix>({{1e300, nothing}, {nothing, 1e-300}});
    check_perfect(a, match_exact(make_view(a)));
  }
  SECTION("scales between 1e-200 and 1e400 are moved into the range") {
    const DoubleMatrix a = Test::from_dense<DoubleMatrix>({{1e-200, nothing}, {1e200, 1}});
    check_perfect(a, match_exact(make_view(a)));
  }
  SECTION("where no scales do, they are still finite and not zero") {
    const DoubleMatrix a = Test::from_dense<DoubleMatrix>(
        {{1e-300, nothing, nothing}, {1e300, 1e-300, nothing}, {nothing, 1e300, 1e-300}});
    const auto result = match_exact(make_view(a));
    CHECK(result.row_of_column == std::vector<int>{0, 1, 2});
    for (const std::vector<double>& scales : {result.row_scale, result.col_scale}) {
      for (const double scale : scales) {
        CHECK(std::isnormal(scale));
        CHECK(scale > 0);
      }
    }
  }
}

TEST_CASE("matching: a rectangular matrix is refused", "[matching]") {
  const DoubleMatrix a = Test::from_dense<DoubleMatrix>({{1, 2, 3}, {4, 5, 6}}, 3);
  CHECK_THROWS_AS(match_exact(make_view(a)), InputError);
}

TEMPLATE_LIST_TEST_CASE("transversal: compared with one augmenting path per row", "[matching]",
                        Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  std::mt19937 random(31);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 5 + 3 * trial;
    Matrix a = Test::random_matrix<Matrix>(n, 2.2 / n, 0.0, random);
    a.n_cols += trial % 3;  // with empty columns at the end
    const auto [rank, row_of_column] = maximum_transversal(make_view(a).pattern());
    CAPTURE(trial);
    REQUIRE(static_cast<std::size_t>(rank) == Reference::structural_rank(a, false));
    REQUIRE(row_of_column.size() == static_cast<std::size_t>(a.n_cols));
    std::set<Ordinal> rows;
    for (std::size_t c = 0; c < row_of_column.size(); ++c) {
      if (row_of_column[c] < 0) continue;
      const auto r = static_cast<std::size_t>(row_of_column[c]);
      REQUIRE(rows.insert(row_of_column[c]).second);
      REQUIRE(std::count(a.entries.begin() + a.row_map[r], a.entries.begin() + a.row_map[r + 1], c) == 1);
    }
    REQUIRE(rows.size() == static_cast<std::size_t>(rank));
    auto start = row_of_column;  // with every other entry
    for (std::size_t c = 0; c < start.size(); c += 2) start[c] = -1;
    REQUIRE(maximum_transversal(make_view(a).pattern(), {}, start).rank == rank);
  }
}

TEMPLATE_LIST_TEST_CASE("block triangular form: upper triangular with irreducible blocks", "[matching]",
                        Test::HostTypes) {
  using Matrix = Test::Matrix<TestType>;
  std::mt19937 random(17);
  for (int trial = 0; trial < 40; ++trial) {
    const int n = 1 + trial;
    const Matrix a = Test::random_matrix<Matrix>(n, 1.5 / n, 0.0, random);
    const auto row_of_column = maximum_transversal(make_view(a).pattern()).row_of_column;
    if (std::ranges::count(row_of_column, -1) > 0) continue;
    const auto form = block_triangular_form(make_view(a).pattern(), row_of_column);
    // reaches[i][j]: a path through entries of matched rows leads from column i to column j
    std::vector<std::vector<bool>> reaches(static_cast<std::size_t>(n),
                                           std::vector<bool>(static_cast<std::size_t>(n)));
    for (std::size_t j = 0; j < reaches.size(); ++j) {
      const auto r = static_cast<std::size_t>(row_of_column[j]);
      for (auto k = a.row_map[r]; k < a.row_map[r + 1]; ++k)
        reaches[j][static_cast<std::size_t>(a.entries[static_cast<std::size_t>(k)])] = true;
    }
    for (std::size_t k = 0; k < reaches.size(); ++k)
      for (auto& row : reaches)
        for (std::size_t j = 0; row[k] && j < row.size(); ++j) row[j] = row[j] || reaches[k][j];
    std::vector<int> size(static_cast<std::size_t>(form.count));
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      const auto block = form.block_of_column[i];
      ++size.at(static_cast<std::size_t>(block));
      for (std::size_t j = 0; j < reaches.size(); ++j) {
        CHECK((block == form.block_of_column[j]) == (i == j || (reaches[i][j] && reaches[j][i])));
        if (reaches[i][j]) CHECK(block <= form.block_of_column[j]);
      }
    }
    CHECK(std::ranges::max(size) == form.largest);
    CHECK(std::ranges::min(size) > 0);
  }
}

TEST_CASE("transversal: a long augmenting path does not recurse", "[matching]") {
  // Row r has columns r and r + 1, the last row only column 0, so all rows must shift by one.
  const int n = 200000;
  DoubleMatrix a;
  a.n_rows = a.n_cols = n;
  a.row_map.push_back(0);
  for (int r = 0; r + 1 < n; ++r) {
    a.entries.insert(a.entries.end(), {r, r + 1});
    a.row_map.push_back(a.nnz());
  }
  a.entries.push_back(0);
  a.row_map.push_back(a.nnz());
  a.values.assign(a.entries.size(), 1.0);
  CHECK(maximum_transversal(make_view(a).pattern()).rank == n);
  check_perfect(a, match_exact(make_view(a)));
  CHECK(block_triangular_form(make_view(a).pattern(), {}).count == 1);  // a cycle
}

}  // namespace
