// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>

#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace lutra::Test {
namespace {

using Dense = std::vector<std::vector<double>>;

Dense dense(const HostMatrix<double>& a) {
  Dense d(static_cast<std::size_t>(a.n_rows), std::vector<double>(static_cast<std::size_t>(a.n_cols), 0));
  for (std::size_t row = 0; row < d.size(); ++row) {
    for (auto k = a.row_map[row]; k < a.row_map[row + 1]; ++k) {
      d[row][static_cast<std::size_t>(a.entries[static_cast<std::size_t>(k)])] =
          a.values[static_cast<std::size_t>(k)];
    }
  }
  return d;
}

bool is_symmetric(const Dense& a) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (a[i][j] != a[j][i]) return false;
    }
  }
  return true;
}

// Smallest |pivot| divided by the largest entry, in elimination with row interchanges: 0 for a singular
// matrix.
double smallest_pivot(Dense a) {
  double smallest = 1e300, largest = 0;
  for (const auto& row : a) {
    for (const double value : row) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t k = 0; k < a.size(); ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < a.size(); ++i) {
      if (std::abs(a[i][k]) > std::abs(a[best][k])) best = i;
    }
    std::swap(a[k], a[best]);
    smallest = std::min(smallest, std::abs(a[k][k]));
    if (a[k][k] == 0) return 0;
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      const double factor = a[i][k] / a[k][k];
      if (factor == 0) continue;
      for (std::size_t j = k; j < a.size(); ++j) a[i][j] -= factor * a[k][j];
    }
  }
  return smallest / largest;
}

// Rows sorted without repetition, columns in range, arrays of the right lengths, values finite.
void check_valid(const HostMatrix<double>& a) {
  REQUIRE(a.row_map.size() == static_cast<std::size_t>(a.n_rows) + 1);
  REQUIRE(a.row_map.front() == 0);
  REQUIRE(a.row_map.back() == a.nnz());
  REQUIRE(a.values.size() == a.entries.size());
  bool good = true;
  for (std::size_t row = 0; row + 1 < a.row_map.size(); ++row) {
    good = good && a.row_map[row] < a.row_map[row + 1];
    for (auto k = static_cast<std::size_t>(a.row_map[row]); k < static_cast<std::size_t>(a.row_map[row + 1]);
         ++k) {
      good = good && a.entries[k] >= 0 && a.entries[k] < a.n_cols && std::isfinite(a.values[k]);
      good = good && (k == static_cast<std::size_t>(a.row_map[row]) || a.entries[k - 1] < a.entries[k]);
    }
  }
  CHECK(good);
}

// FNV-1a over all arrays: matrices with the same hash agree bit by bit.
std::uint64_t fingerprint(const HostMatrix<double>& a) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  for (const auto offset : a.row_map) mix(static_cast<std::uint64_t>(offset));
  for (const auto column : a.entries) mix(static_cast<std::uint64_t>(column));
  for (const double value : a.values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    mix(bits);
  }
  return hash;
}

TEST_CASE("poisson2d by hand", "[io]") {
  CHECK(dense(generate("poisson2d", 2)) ==
        Dense{{4, -1, -1, 0}, {-1, 4, 0, -1}, {-1, 0, 4, -1}, {0, -1, -1, 4}});
  CHECK(dense(generate("poisson2d", 1)) == Dense{{4}});
}

TEST_CASE("poisson3d by hand", "[io]") {
  const auto a = generate("poisson3d", 3);
  CHECK(a.n_rows == 27);
  CHECK(a.nnz() == 27 + 2 * 3 * 18);  // 18 edges along each direction
  const auto d = dense(a);
  CHECK(is_symmetric(d));
  // The middle point, 13, has all six neighbours.
  for (const std::size_t neighbour : {4u, 10u, 12u, 14u, 16u, 22u}) CHECK(d[13][neighbour] == -1);
  CHECK(d[13][13] == 6);
}

TEST_CASE("aniso2d by hand", "[io]") {
  const auto d = dense(generate("aniso2d", 3));
  const std::vector<double> middle = {-0.23976, -0.36064, 0.23976,  -0.64036, 2.002,
                                      -0.64036, 0.23976,  -0.36064, -0.23976};
  CHECK(d[4] == middle);
  CHECK(is_symmetric(d));
}

TEST_CASE("convdiff3d has a symmetric pattern, unsymmetric values and dominant rows", "[io]") {
  const auto d = dense(generate("convdiff3d", 4));
  CHECK_FALSE(is_symmetric(d));
  for (std::size_t i = 0; i < d.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < d.size(); ++j) {
      CHECK((d[i][j] == 0) == (d[j][i] == 0));
      if (i != j) CHECK(d[i][j] <= 0);
      sum += d[i][j];
    }
    CHECK(sum >= -1e-12);
  }
}

TEST_CASE("circuit has the structure of modified nodal analysis", "[io]") {
  constexpr int n = 8000;
  const auto a = generate("circuit", n, 3);
  CHECK(a.n_rows == n);
  const double mean = static_cast<double>(a.nnz()) / n;
  CHECK(mean > 4);
  CHECK(mean < 6);
  std::int64_t longest = 0, unmatched = 0, empty_diagonals = 0;
  for (std::size_t i = 0; i < n; ++i) {
    longest = std::max(longest, a.row_map[i + 1] - a.row_map[i]);
    const auto has = [&a](std::size_t row, int column) {
      return std::binary_search(a.entries.begin() + a.row_map[row], a.entries.begin() + a.row_map[row + 1],
                                column);
    };
    if (!has(i, static_cast<int>(i))) ++empty_diagonals;
    for (auto k = a.row_map[i]; k < a.row_map[i + 1]; ++k) {
      if (!has(static_cast<std::size_t>(a.entries[static_cast<std::size_t>(k)]), static_cast<int>(i)))
        ++unmatched;
    }
  }
  CHECK(longest > n / 64);           // supply rails
  CHECK(empty_diagonals == n / 32);  // voltage sources
  CHECK(unmatched > n / 10);         // controlled sources
}

TEST_CASE("kkt is symmetric with a zero block", "[io]") {
  const auto d = dense(generate("kkt", 60, 5));
  CHECK(is_symmetric(d));
  for (std::size_t i = 40; i < 60; ++i) {
    for (std::size_t j = 40; j < 60; ++j) CHECK(d[i][j] == 0);
  }
}

TEST_CASE("random is unsymmetric with few diagonal entries", "[io]") {
  const auto d = dense(generate("random", 200, 5));
  int diagonals = 0;
  for (std::size_t i = 0; i < d.size(); ++i) diagonals += d[i][i] != 0;
  CHECK(diagonals < 50);
}

TEST_CASE("every kind is valid and regular at every size", "[io]") {
  for (const std::string& kind : generator_kinds()) {
    const bool cube = kind.ends_with("3d"), square = kind.ends_with("2d");
    for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 150}) {
      if ((cube && size > 5) || (square && size > 16)) continue;
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        INFO(kind << " " << size << " seed " << seed);
        const auto a = generate(kind, size, seed);
        CHECK(a.n_rows == (cube ? size * size * size : square ? size * size : size));
        CHECK(a.n_cols == a.n_rows);
        check_valid(a);
        CHECK(smallest_pivot(dense(a)) > 1e-10);
      }
    }
  }
}

TEST_CASE("the seed determines the matrix", "[io]") {
  const std::string kind = GENERATE("circuit", "kkt", "random");
  CHECK(fingerprint(generate(kind, 300, 1)) == fingerprint(generate(kind, 300, 1)));
  CHECK(fingerprint(generate(kind, 300, 1)) != fingerprint(generate(kind, 300, 2)));
  CHECK(fingerprint(generate("poisson2d", 9, 1)) == fingerprint(generate("poisson2d", 9, 2)));
}

TEST_CASE("invalid requests are refused", "[io]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(generate("torus", 5), ContainsSubstring("'torus'") && ContainsSubstring("poisson2d"));
  CHECK_THROWS_AS(generate("random", 0), InputError);
  CHECK_THROWS_AS(generate("poisson2d", -3), InputError);
  CHECK_THROWS_WITH(generate("poisson3d", 1291), ContainsSubstring("too large"));
  CHECK_THROWS_AS(generate("circuit", std::int64_t{1} << 40), InputError);
}

}  // namespace
}  // namespace lutra::Test
