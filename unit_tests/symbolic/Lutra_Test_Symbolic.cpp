// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Rows = std::vector<std::vector<std::size_t>>;

/// Runs the stage on a host matrix and checks the parts of its result against each other.
template <class Types, class MatrixType>
auto run(const MatrixType& matrix, const MemoryBudget& budget = MemoryBudget()) {
  using Space = typename Types::Space;
  const auto device = to_space<Space>(matrix);
  const auto filled = factorize_symbolic(Space(), device.pattern(), budget);
  const auto rows = to_rows(filled);
  const auto row_map = to_vector(filled.row_map);
  const auto diagonal = to_vector(filled.diagonal);
  const auto entries = to_vector(filled.entries);
  std::int64_t below = 0;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    REQUIRE(static_cast<std::size_t>(entries[static_cast<std::size_t>(diagonal[i])]) == i);
    below += diagonal[i] - row_map[i];
  }
  CHECK(filled.nnz_l == below);
  CHECK(filled.nnz_l + filled.nnz_u == static_cast<std::int64_t>(entries.size()));
  return rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("fill2 on cases worked by hand", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  const double o = nothing;
  SECTION("one entry") { CHECK(run<TestType>(from_dense<MatrixType>({{1}})) == Rows{{0}}); }
  SECTION("a diagonal that is not in the pattern is in the factors") {
    CHECK(run<TestType>(from_dense<MatrixType>({{o, 1}, {1, o}})) == Rows{{0, 1}, {0, 1}});
  }
  SECTION("a tridiagonal matrix fills nothing") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, 1, o, o}, {1, 1, 1, o}, {o, 1, 1, 1}, {o, o, 1, 1}})) ==
          Rows{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}});
  }
  SECTION("an arrow that points up fills everything") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, 1, 1, 1}, {1, 1, o, o}, {1, o, 1, o}, {1, o, o, 1}})) ==
          Rows{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  }
  SECTION("fill that is reached through fill, in L and U") {
    // Row 3 reaches 2 through 0 and 1 (fill in L), and through 2 it reaches 4 (fill in U).
    const auto matrix = from_dense<MatrixType>(
        {{1, 1, o, o, o}, {o, 1, 1, o, o}, {o, o, 1, o, 1}, {1, o, o, 1, o}, {o, o, o, 1, 1}});
    CHECK(run<TestType>(matrix) == Rows{{0, 1}, {1, 2}, {2, 4}, {0, 1, 2, 3, 4}, {3, 4}});
  }
  SECTION("a path that must pass a larger vertex fills nothing") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, o, 1}, {1, 1, o}, {o, 1, 1}})) ==
          Rows{{0, 2}, {0, 1, 2}, {1, 2}});
  }
}

TEMPLATE_LIST_TEST_CASE("fill2 agrees with plain elimination", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(4711);
  for (const int n : {2, 5, 17, 63, 64, 65, 128, 200}) {
    for (const double mean : {1.0, 2.5, 6.0}) {
      const auto matrix = random_matrix<MatrixType>(n, mean / n, 0.0, random);
      INFO("n " << n << ", about " << mean << " entries a row");
      REQUIRE(run<TestType>(matrix) == Reference::lu_pattern(matrix));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("fill2 gives the same pattern whatever the budget", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(99);
  const auto matrix = random_matrix<Matrix<TestType>>(300, 0.01, 0.0, random);
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  std::size_t least = 0;  // the least budget that is accepted
  for (std::size_t limit = 1024; limit < (std::size_t(1) << 24); limit += limit / 8) {
    try {
      const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget(limit));
      if (least == 0) least = limit;
      REQUIRE(to_rows(filled) == expected);
    } catch (const OutOfMemoryError&) {
      REQUIRE(least == 0);  // more memory never does worse
    }
  }
  CHECK(least > 0);
}

TEMPLATE_LIST_TEST_CASE("symbolic factorization refuses what it cannot do", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  using MatrixType = Matrix<TestType>;
  const auto wide = to_space<Space>(from_dense<MatrixType>({{1, 1, 1}, {1, 1, 1}}, 3));
  CHECK_THROWS_AS(factorize_symbolic(Space(), wide.pattern(), MemoryBudget()), InputError);
  const auto square = to_space<Space>(from_dense<MatrixType>({{1, 1}, {1, 1}}));
  const MemoryBudget small(1);
  CHECK_THROWS_AS(factorize_symbolic(Space(), square.pattern(), small), OutOfMemoryError);
  CHECK(small.used_bytes() == 0);  // nothing stays charged
  CHECK_THROWS_WITH(factorize_symbolic(Space(), square.pattern(), MemoryBudget(2000)),
                    Catch::Matchers::ContainsSubstring("one row in flight"));
}

}  // namespace lutra::Test
