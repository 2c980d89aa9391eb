// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <numeric>

#include "Lutra_Error.hpp"
#include "Lutra_OrderGraph.hpp"
#include "Lutra_Reference_Fill.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Ordinal0 = std::tuple_element_t<0, Test::Ordinals>;
using DoubleMatrix = HostMatrix<double, Ordinal0>;
constexpr double nothing = Test::nothing;

using PatternMatrix = HostMatrix<double, Ordinal>;

void check_is_permutation(const std::vector<Ordinal>& permutation, Ordinal n) {
  REQUIRE_NOTHROW(check_permutation({permutation.begin(), permutation.end()}, n));
}

template <class MatrixType>
std::size_t fill(const MatrixType& a, const std::vector<Ordinal>& permutation) {
  std::size_t entries = 0;
  for (const auto& column : Reference::eliminate(a, permutation)) entries += column.size();
  return entries;
}

std::vector<int> shuffled(int n, unsigned seed) {
  std::vector<int> label(static_cast<std::size_t>(n));
  std::iota(label.begin(), label.end(), 0);
  std::mt19937 random(seed);
  std::shuffle(label.begin(), label.end(), random);
  return label;
}

TEMPLATE_LIST_TEST_CASE("ordering: every kind gives a reproducible permutation", "[ordering]",
                        Test::Ordinals) {
  using Matrix = PatternMatrix;
  const Ordering kind =
      GENERATE(Ordering::metis, Ordering::nd, Ordering::amd, Ordering::rcm, Ordering::natural);
  const auto check = [&](const Matrix& a) {
    const auto permutation = order(make_view(a).pattern(), kind);
    check_is_permutation(permutation, a.n_rows);
    CHECK(order(make_view(a).pattern(), kind) == permutation);
    const auto of_graph = order(symmetric_graph<std::int64_t>(make_view(a).pattern()), kind);
    CHECK(of_graph.size() == permutation.size());
  };
  SECTION("grid") {
    check(Test::grid_matrix<Matrix>(30, shuffled(900, 1)));
  }
  SECTION("one row") {
    check(Test::from_dense<Matrix>({{1}}));
  }
  SECTION("two rows, one edge") {
    check(Test::from_dense<Matrix>({{1, 1}, {nothing, 1}}));
  }
  SECTION("a diagonal: no edges") {
    check(Test::from_dense<Matrix>({{1, nothing}, {nothing, 1}}));
  }
  SECTION("no entries") {
    Matrix a;
    a.n_rows = a.n_cols = 3;
    a.row_map = {0, 0, 0, 0};
    check(a);
  }
  SECTION("no rows") {
    Matrix a;
    a.row_map = {0};
    check(a);
  }
  SECTION("unsymmetric and disconnected") {
    std::mt19937 random(4);
    check(Test::random_matrix<Matrix>(700, 0.6 / 700, 0.0, random));
    check(Test::random_matrix<Matrix>(700, 3.0 / 700, 0.0, random));
  }
  SECTION("a row and a column that hold everything") {
    std::mt19937 random(9);
    Matrix a = Test::random_matrix<Matrix>(600, 2.0 / 600, 0.0, random);
    Matrix b;
    b.n_rows = b.n_cols = 600;
    b.row_map = {0};
    for (std::size_t r = 0; r < 600; ++r) {
      if (r == 300) {
        for (TestType c = 0; c < 600; ++c) b.entries.push_back(c);
      } else {
        b.entries.insert(b.entries.end(), a.entries.begin() + a.row_map[r],
                         a.entries.begin() + a.row_map[r + 1]);
      }
      b.row_map.push_back(static_cast<std::int64_t>(b.entries.size()));
    }
    b.values.assign(b.entries.size(), 1.0);
    check(b);
  }
  SECTION("dense") {
    check(Test::from_dense<Matrix>(std::vector<std::vector<double>>(60, std::vector<double>(60, 1.0))));
  }
}

TEMPLATE_LIST_TEST_CASE("ordering: fill on a grid is far below that of the natural order", "[ordering]",
                        Test::Ordinals) {
  using Matrix = PatternMatrix;
  std::vector<int> by_rows(900);
  std::iota(by_rows.begin(), by_rows.end(), 0);
  const Matrix a = Test::grid_matrix<Matrix>(30, by_rows);
  const std::size_t natural = fill(a, order(make_view(a).pattern(), Ordering::natural));
  CHECK(2 * fill(a, order(make_view(a).pattern(), Ordering::amd)) < natural);
  CHECK(2 * fill(a, order(make_view(a).pattern(), Ordering::metis)) < natural);
  CHECK(2 * fill(a, order(make_view(a).pattern(), Ordering::nd)) < natural);
}

TEST_CASE("ordering: entry k is the k-th row eliminated, not the position of row k", "[ordering]") {
  const Ordering kind = GENERATE(Ordering::metis, Ordering::nd, Ordering::amd);
  const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(30, shuffled(900, 2));
  const std::vector<Ordinal0> permutation = order(make_view(a).pattern(), kind);
  std::vector<int> position(900);
  for (std::size_t k = 0; k < 900; ++k)
    position[static_cast<std::size_t>(permutation[k])] = static_cast<int>(k);
  CHECK(5 * fill(a, permutation) < fill(a, position));
}

TEST_CASE("ordering: the hub of a star is eliminated last", "[ordering]") {
  const Ordering kind = GENERATE(Ordering::metis, Ordering::nd, Ordering::amd);
  const int n = 50;
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t j = 0; j < n; ++j) picture[7][j] = 1;
  const DoubleMatrix a = Test::from_dense<DoubleMatrix>(picture);
  CHECK(fill(a, order(make_view(a).pattern(), kind)) == 49);
}

/// The bandwidth: the largest distance of an entry from the diagonal.
template <class MatrixType>
int bandwidth(const MatrixType& a, const std::vector<Ordinal>& permutation) {
  std::vector<int> position(permutation.size());
  for (std::size_t k = 0; k < position.size(); ++k)
    position[static_cast<std::size_t>(permutation[k])] = static_cast<int>(k);
  int most = 0;
  for (std::size_t r = 0; r < position.size(); ++r) {
    for (auto p = a.row_map[r]; p < a.row_map[r + 1]; ++p) {
      const auto c = static_cast<std::size_t>(a.entries[static_cast<std::size_t>(p)]);
      most = std::max(most, std::abs(position[r] - position[c]));
    }
  }
  return most;
}

TEST_CASE("ordering: reverse Cuthill-McKee has a narrow band", "[ordering]") {
  const auto by_rcm = [](const DoubleMatrix& a) { return order(make_view(a).pattern(), Ordering::rcm); };
  SECTION("paths, from an end to the other, one after the other") {
    // 2 - 0 - 3 and 4 - 1
    const DoubleMatrix a = Test::from_dense<DoubleMatrix>({{1, nothing, 1, 1, nothing},
                                                           {nothing, 1, nothing, nothing, 1},
                                                           {1, nothing, 1, nothing, nothing},
                                                           {1, nothing, nothing, 1, nothing},
                                                           {nothing, 1, nothing, nothing, 1}});
    const auto found = by_rcm(a);
    CHECK((found == std::vector<Ordinal0>{1, 4, 2, 0, 3} || found == std::vector<Ordinal0>{4, 1, 2, 0, 3} ||
           found == std::vector<Ordinal0>{1, 4, 3, 0, 2} || found == std::vector<Ordinal0>{4, 1, 3, 0, 2}));
  }
  SECTION("a grid of 30 by 30, whose band is at least 30 wide") {
    const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(30, shuffled(900, 3));
    CHECK(bandwidth(a, by_rcm(a)) <= 32);
  }
}

TEST_CASE("ordering: invalid input is refused", "[ordering]") {
  const DoubleMatrix wide = Test::from_dense<DoubleMatrix>({{1, 2, 3}, {4, 5, 6}}, 3);
  CHECK_THROWS_MATCHES(order(make_view(wide).pattern(), Ordering::amd), InputError,
                       MessageMatches(ContainsSubstring("2 rows") && ContainsSubstring("3 columns")));
  const DoubleMatrix square = Test::from_dense<DoubleMatrix>({{1}});
  CHECK_THROWS_AS(order(make_view(square).pattern(), Ordering::user), InputError);
  CHECK_THROWS_AS(order(make_view(square).pattern(), Ordering::automatic), InputError);
}

TEST_CASE("permutation: the first error is named", "[ordering]") {
  CHECK_NOTHROW(check_permutation({}, 0));
  CHECK_NOTHROW(check_permutation({2, 0, 1}, 3));
  CHECK_THROWS_MATCHES(check_permutation({0, 1}, 3), InputError,
                       MessageMatches(ContainsSubstring("2 entries for 3 rows")));
  CHECK_THROWS_MATCHES(check_permutation({0, 3, -1}, 3), InputError,
                       MessageMatches(ContainsSubstring("entry 1 is 3, outside 0 to 2")));
  CHECK_THROWS_MATCHES(check_permutation({0, -1, 1}, 3), InputError,
                       MessageMatches(ContainsSubstring("entry 1 is -1")));
  CHECK_THROWS_MATCHES(check_permutation({1, 2, 1}, 3), InputError,
                       MessageMatches(ContainsSubstring("entries 0 and 2 are both 1")));
}

}  // namespace
