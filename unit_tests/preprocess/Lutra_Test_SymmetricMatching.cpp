// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <set>

#include "Lutra_Reference_Matching.hpp"
#include "Lutra_SequentialAuction.hpp"
#include "Lutra_SymmetricAuctionRounds.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using DoubleMatrix = HostMatrix<double, std::tuple_element_t<0, Ordinals>>;
using Ordinal0 = std::tuple_element_t<0, Ordinals>;
using Rows = std::vector<Ordinal0>;

/// Random values on a symmetric pattern; the diagonal has entries with half the probability of others.
template <class MatrixType>
MatrixType random_symmetric(int n, double density, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::vector<double>> picture(size, std::vector<double>(size, nothing));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (unit(random) < (i == j ? density / 2 : density))
        picture[i][j] = picture[j][i] = random_value<double>(random, 8);
    }
  }
  return from_dense<MatrixType>(picture);
}

/// Checks that no scaled entry between matched rows exceeds 1. @returns the geometric mean of matched entries
template <class MatrixType>
double check_scales(const MatrixType& A, const SymmetricMatching& matching) {
  const double rounding = 1e-4;  // of values in float
  double sum = 0, count = 1e-300;
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    REQUIRE(std::isnormal(matching.scale[i]));
    REQUIRE(matching.scale[i] > 0);
    if (matching.row_of_column[i] < 0) continue;
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      const auto j = static_cast<std::size_t>(A.entries[p]);
      if (matching.row_of_column[j] < 0) continue;
      const double scaled = matching.scale[i] * Reference::size_of(A.values[p]) * matching.scale[j];
      CHECK(scaled <= 1 + rounding);
      if (static_cast<std::size_t>(matching.row_of_column[j]) != i) continue;
      sum += std::log(scaled);
      count += 1;
    }
  }
  return std::exp(sum / count);
}

/// Checks that no two columns share a row, that every matched entry exists and is nonzero, and that no scaled
/// entry exceeds 1, in matched and unmatched rows.
template <class MatrixType>
void check_partial(const MatrixType& A, const SymmetricAuction& auction) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  const auto& [row_of_column, scale, rank] = auction.matching;
  REQUIRE(row_of_column.size() == n);
  REQUIRE(scale.size() == n);
  std::set<Ordinal> rows;
  for (const Ordinal row : row_of_column) {
    if (row >= 0) REQUIRE(rows.insert(row).second);
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      const auto j = static_cast<std::size_t>(A.entries[p]);
      const double size = Reference::size_of(A.values[p]);
      CHECK(scale[i] * size * scale[j] <= 1 + 1e-4);
      if (size > 0 && row_of_column[j] == static_cast<Ordinal>(i)) ++found;
    }
  }
  CHECK(found == rows.size());
  CHECK(n - found == static_cast<std::size_t>(auction.statistics.left_to_paths));
}

/// A saddle point matrix with a zero block of `constraints` rows, each with three entries ±1.
DoubleMatrix saddle_matrix(int unknowns, int constraints, std::mt19937& random) {
  const auto n = static_cast<std::size_t>(unknowns + constraints);
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < static_cast<std::size_t>(unknowns); ++i) {
    const std::size_t j = random() % static_cast<std::size_t>(unknowns);
    picture[i][j] = picture[j][i] = 1;
  }
  for (std::size_t i = static_cast<std::size_t>(unknowns); i < n; ++i) {
    for (int times = 0; times < 3; ++times) {
      const std::size_t j = random() % static_cast<std::size_t>(unknowns);
      picture[i][j] = picture[j][i] = times == 1 ? -1 : 1;
    }
  }
  return from_dense<DoubleMatrix>(picture);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("symmetric matching: rows and columns have one scaling", "[symmetric]", HostTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(77);
  const Kokkos::DefaultHostExecutionSpace exec;
  int perfect = 0, deficient = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 2 + trial % 12;
    const auto A = random_symmetric<MatrixType>(n, 0.3 + 0.1 * (trial % 4), random);
    const auto exact = symmetrize(make_view(A), match_exact(make_view(A)));
    CAPTURE(trial, n);
    const auto rank = Reference::structural_rank(A, false);
    REQUIRE(static_cast<std::size_t>(exact.structural_rank) == rank);
    const auto matched = std::ranges::count_if(exact.row_of_column, [](auto row) { return row >= 0; });
    REQUIRE(static_cast<std::size_t>(matched) == rank);
    for (std::size_t j = 0; j < exact.row_of_column.size(); ++j) {  // the same rows and columns are matched
      const auto row = exact.row_of_column[j];
      if (row >= 0) REQUIRE(exact.row_of_column[static_cast<std::size_t>(row)] >= 0);
    }
    CHECK(check_scales(A, exact) >= 1 - 1e-4);
    const MemoryBudget budget;
    const auto auction = match_symmetric_auction(exec, make_view(A), make_view(A), budget);
    REQUIRE(static_cast<std::size_t>(auction.matching.structural_rank) == rank);
    const auto rounds = lutra::Impl::symmetric_auction_by_rounds(exec, make_view(A), budget, 0.05);
    check_partial(A, rounds);
    for (const auto* const result : {&auction, &rounds}) {
      if (result == &auction && rank < static_cast<std::size_t>(n))
        continue;  // the exact matching computes this case
      const double mean = check_scales(A, result->matching);
      if (result->statistics.left_to_paths == 0) CHECK(mean >= std::exp(-0.05) - 1e-4);
    }
    (rank == static_cast<std::size_t>(n) ? perfect : deficient) += 1;
  }
  CHECK(perfect > 10);
  CHECK(deficient > 10);
}

TEST_CASE("symmetric auction: rows may stay unmatched", "[symmetric]") {
  std::mt19937 random(3);
  const Kokkos::DefaultHostExecutionSpace exec;
  std::int64_t left_over = 0, phases = 0;
  for (int trial = 0; trial < 8; ++trial) {
    const auto A = saddle_matrix(300, 100 + 20 * trial, random);
    const auto one_by_one = lutra::Impl::SequentialAuction(make_view(A)).run(0.05, RunControl());
    const auto by_rounds = lutra::Impl::symmetric_auction_by_rounds(exec, make_view(A), MemoryBudget(), 0.05);
    for (const SymmetricAuction& auction : {one_by_one, by_rounds}) {
      check_partial(A, auction);
      const auto matched = A.n_rows - auction.statistics.left_to_paths;
      CHECK(auction.statistics.log_loss_bound <= 0.05 * static_cast<double>(matched) + 1e-4);
      left_over += auction.statistics.left_to_paths;
      phases += auction.statistics.phases;
      // Pairs from cycles and chains are entries of the matrix.
      const auto partner = pair_candidates(make_view(A), auction.matching);
      for (std::size_t i = 0; i < partner.size(); ++i) {
        const auto j = static_cast<std::size_t>(partner[i]);
        CHECK(static_cast<std::size_t>(partner[j]) == i);
        const auto begin = A.entries.begin() + A.row_map[i], end = A.entries.begin() + A.row_map[i + 1];
        if (i != j) CHECK(std::find(begin, end, partner[i]) != end);
      }
    }
    using Device = Kokkos::DefaultExecutionSpace;
    const auto result = match_symmetric_auction(Device(), to_space<Device>(A), make_view(A), MemoryBudget());
    if (result.matching.structural_rank == A.n_rows) check_partial(A, result);
    CHECK(static_cast<std::size_t>(result.matching.structural_rank) == Reference::structural_rank(A, false));
  }
  CHECK(left_over > 0);
  CHECK(phases > 16);  // some needed more than one
}

TEST_CASE("symmetric auction: logarithms", "[symmetric]") {
  for (double x = 0x1p-1022; x < 0x1p1022; x *= 1.0009) {
    CAPTURE(x);
    REQUIRE(std::abs(static_cast<double>(lutra::Impl::approximate_log2(x)) - std::log2(x)) <
            2e-5 + 1e-7 * std::abs(std::log2(x)));
  }
}

TEST_CASE("symmetric matching: an unmatched row", "[symmetric]") {
  const double o = nothing;
  // Rows 1 and 2 share a single column.
  const auto A = from_dense<DoubleMatrix>({{o, 4, 16}, {4, o, o}, {16, o, o}});
  const auto matching = symmetrize(make_view(A), match_exact(make_view(A)));
  CHECK(matching.structural_rank == 2);
  for (std::size_t i = 1; i < 3; ++i) {  // matched or not, its single entry is scaled to 1
    const double entry = i == 1 ? 4 : 16;
    CHECK(std::abs(matching.scale[0] * entry * matching.scale[i] - 1) < 1e-12);
  }
}

TEST_CASE("symmetric matching: scales of a matrix of zeros, and powers of two", "[symmetric]") {
  const auto zeros = from_dense<DoubleMatrix>({{0, 0}, {0, 0}});
  const auto matching = symmetrize(make_view(zeros), match_exact(make_view(zeros)));
  CHECK(matching.scale == std::vector<double>{1, 1});
  CHECK(matching.row_of_column == Rows{-1, -1});
  CHECK(matching.structural_rank == 0);
  CHECK(equilibrate(make_view(zeros)) == std::vector<double>{1, 1});
  std::vector<double> scale{1, 3, 0.3, 1e300, 1e-300};
  round_to_powers_of_two(scale, 60);
  CHECK(scale == std::vector<double>{1, 4, 0.25, 0x1p60, 0x1p-60});
}

TEST_CASE("symmetric matching: equilibration", "[symmetric]") {
  std::mt19937 random(5);
  const auto A = random_symmetric<DoubleMatrix>(40, 0.2, random);
  const auto scale = equilibrate(make_view(A));
  for (std::size_t i = 0; i < 40; ++i) {
    double largest = 0;
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]); ++p)
      largest =
          std::max(largest, scale[i] * std::abs(A.values[p]) * scale[static_cast<std::size_t>(A.entries[p])]);
    CHECK(std::abs(largest - 1) < 0.05);
  }
}

TEST_CASE("symmetric matching: pairs of cycles", "[symmetric]") {
  const double o = nothing;
  const auto pairs = [](const DoubleMatrix& A) {
    return pair_candidates(make_view(A), symmetrize(make_view(A), match_exact(make_view(A))));
  };
  // Zero diagonal blocks: 0 with 2, 1 with 3.
  CHECK(pairs(from_dense<DoubleMatrix>({{o, o, 1, o}, {o, o, o, 1}, {1, o, o, o}, {o, 1, o, o}})) ==
        Rows{2, 3, 0, 1});
  // A large diagonal is matched with itself.
  CHECK(pairs(from_dense<DoubleMatrix>({{9, 1}, {1, 9}})) == Rows{0, 1});
  // A cycle of three rows, one with a diagonal entry.
  CHECK(pairs(from_dense<DoubleMatrix>({{o, 4, 4}, {4, 0.5, 4}, {4, 4, o}})) == Rows{2, 1, 0});
  // A cycle of four in the matching, in which 0-1 and 2-3 have the most similar patterns.
  const auto A = from_dense<DoubleMatrix>({{o, 8, o, 8, 1, o},
                                           {8, o, 8, o, 1, o},
                                           {o, 8, o, 8, o, 1},
                                           {8, o, 8, o, o, 1},
                                           {1, 1, o, o, 9, o},
                                           {o, o, 1, 1, o, 9}});
  SymmetricMatching matching;
  matching.scale.assign(6, 1.0);
  matching.row_of_column = {1, 2, 3, 0, 4, 5};
  CHECK(pair_candidates(make_view(A), matching) == Rows{1, 0, 3, 2, 4, 5});
  matching.row_of_column = {3, 0, 1, 2, 4, 5};
  CHECK(pair_candidates(make_view(A), matching) == Rows{1, 0, 3, 2, 4, 5});
  matching.row_of_column = {1, 2, 3, 0, -1, 5};
  CHECK(pair_candidates(make_view(A), matching) == Rows{1, 0, 3, 2, 4, 5});
}

TEST_CASE("symmetric matching: pairs are neighbours in every order", "[symmetric]") {
  std::mt19937 random(9);
  const int n = 300;
  const auto A = random_symmetric<DoubleMatrix>(n, 0.02, random);
  const auto matching = symmetrize(make_view(A), match_exact(make_view(A)));
  const auto partners = pair_candidates(make_view(A), matching);
  CHECK(std::ranges::count_if(partners, [&](auto& p) { return p != &p - partners.data(); }) > n / 4);
  const auto graph = symmetric_graph<int>(make_view(A).pattern());
  for (const Ordering kind : {Ordering::amd, Ordering::metis, Ordering::natural, Ordering::rcm}) {
    const auto permutation = order_pairs(graph, partners, kind);
    REQUIRE_NOTHROW(check_permutation({permutation.begin(), permutation.end()}, n));
    for (std::size_t k = 0; k < permutation.size(); ++k) {
      const int v = permutation[k], other = partners[static_cast<std::size_t>(v)];
      if (other > v) REQUIRE(permutation[k + 1] == other);
    }
  }
}

}  // namespace lutra::Test
