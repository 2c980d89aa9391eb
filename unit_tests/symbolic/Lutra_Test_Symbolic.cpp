// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Rows = std::vector<std::vector<std::size_t>>;

/// Runs the stage on a host matrix and checks that the parts of its result agree.
template <class Types, class MatrixType>
auto run(const MatrixType& matrix, const SymbolicOptions& options = {},
         const MemoryBudget& budget = MemoryBudget()) {
  using Space = typename Types::Space;
  const auto device = to_space<Space>(matrix);
  const auto filled = factorize_symbolic(Space(), device.pattern(), budget, options);
  CHECK(filled.method != SymbolicMethod::automatic);
  if (options.method != SymbolicMethod::automatic) CHECK(filled.method == options.method);
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

TEMPLATE_LIST_TEST_CASE("exact methods on cases worked by hand", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  const double o = nothing;
  const SymbolicOptions method{GENERATE(SymbolicMethod::automatic, SymbolicMethod::fill1,
                                        SymbolicMethod::fill2, SymbolicMethod::ancestors)};
  SECTION("one entry") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1}}), method) == Rows{{0}});
  }
  SECTION("a diagonal that is not in the pattern is in the factors") {
    CHECK(run<TestType>(from_dense<MatrixType>({{o, 1}, {1, o}}), method) == Rows{{0, 1}, {0, 1}});
  }
  SECTION("a tridiagonal matrix fills nothing") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, 1, o, o}, {1, 1, 1, o}, {o, 1, 1, 1}, {o, o, 1, 1}}),
                        method) == Rows{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}});
  }
  SECTION("an arrow that points up fills everything") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, 1, 1, 1}, {1, 1, o, o}, {1, o, 1, o}, {1, o, o, 1}}),
                        method) == Rows{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  }
  SECTION("fill that is reached through fill, in L and U") {
    // Row 3 reaches 2 through 0 and 1 (fill in L), and 4 through 2 (fill in U).
    const auto matrix = from_dense<MatrixType>(
        {{1, 1, o, o, o}, {o, 1, 1, o, o}, {o, o, 1, o, 1}, {1, o, o, 1, o}, {o, o, o, 1, 1}});
    CHECK(run<TestType>(matrix, method) == Rows{{0, 1}, {1, 2}, {2, 4}, {0, 1, 2, 3, 4}, {3, 4}});
  }
  SECTION("a path that must pass a larger vertex fills nothing") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, o, 1}, {1, 1, o}, {o, 1, 1}}), method) ==
          Rows{{0, 2}, {0, 1, 2}, {1, 2}});
  }
}

TEMPLATE_LIST_TEST_CASE("the elimination tree method on cases worked by hand", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  const double o = nothing;
  const SymbolicOptions method{SymbolicMethod::etree};
  SECTION("no entries at all: a forest of roots") {
    CHECK(run<TestType>(from_dense<MatrixType>({{o, o}, {o, o}}), method) == Rows{{0}, {1}});
  }
  SECTION("a tridiagonal matrix: a chain, of which only the last two rows are a supernode") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, 1, o, o}, {1, 1, 1, o}, {o, 1, 1, 1}, {o, o, 1, 1}}),
                        method) == Rows{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}});
  }
  SECTION("an arrow that points up: one supernode") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, 1, 1, 1}, {1, 1, o, o}, {1, o, 1, o}, {1, o, o, 1}}),
                        method) == Rows{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  }
  SECTION("two branches that meet, and a root apart") {
    // 0 and 1 are children of 3, and 3 is a child of 4. Row 4 visits only 3, although 0 is below it. 2 is
    // isolated.
    CHECK(run<TestType>(
              from_dense<MatrixType>(
                  {{1, o, o, 1, o}, {o, 1, o, 1, 1}, {o, o, 1, o, o}, {1, 1, o, 1, o}, {o, 1, o, o, 1}}),
              method) == Rows{{0, 3}, {1, 3, 4}, {2}, {0, 1, 3, 4}, {1, 3, 4}});
  }
  SECTION("a pattern that is not symmetric gives the factors of A + Aᵀ, and says so") {
    const auto device =
        to_space<typename TestType::Space>(from_dense<MatrixType>({{1, o, 1}, {1, 1, o}, {o, 1, 1}}));
    const auto filled =
        factorize_symbolic(typename TestType::Space(), device.pattern(), MemoryBudget(), method);
    CHECK(to_rows(filled) == Rows{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}});
    CHECK_FALSE(filled.exact);
    CHECK(filled.reason.find("superset") != std::string::npos);
  }
}

TEMPLATE_LIST_TEST_CASE("the elimination tree method agrees with plain elimination", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  using Space = typename TestType::Space;
  std::mt19937 random(815);
  for (const int n : {2, 5, 63, 64, 65, 130, 200, 4200}) {
    for (const double mean : {0.3, 1.0, 2.0}) {
      const auto one_sided = random_matrix<MatrixType>(n, mean / n, 0.0, random);
      const auto matrix = n < 1000 ? add_mirror(one_sided) : banded_matrix<MatrixType>(n, {1, 65, 4100});
      INFO("n " << n << ", about " << mean << " entries a row");
      const auto device = to_space<Space>(matrix);
      const auto filled =
          factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::etree});
      REQUIRE(filled.exact);
      const auto expected =
          factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::fill1});
      if (n < 1000) {
        REQUIRE(to_rows(filled) == Reference::lu_pattern(matrix));
      } else {
        REQUIRE(to_rows(filled) == to_rows(expected));
      }
      if (n > 1000) continue;
      const auto other = to_space<Space>(one_sided);
      const auto bound =
          factorize_symbolic(Space(), other.pattern(), MemoryBudget(), {SymbolicMethod::etree});
      REQUIRE(to_rows(bound) == Reference::lu_pattern(add_mirror(one_sided)));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a matrix without rows has a pattern without rows", "[symbolic]", PatternTypes) {
  const auto method = GENERATE(SymbolicMethod::automatic, SymbolicMethod::fill1, SymbolicMethod::fill2,
                               SymbolicMethod::etree, SymbolicMethod::ancestors);
  CHECK(run<TestType>(Matrix<TestType>{0, 0, {0}, {}, {}}, {method}).empty());
}

TEMPLATE_LIST_TEST_CASE("a single unsymmetric entry is detected", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  using Space = typename TestType::Space;
  auto matrix = banded_matrix<MatrixType>(1000, {1, 7});
  REQUIRE(matrix.entries.back() == 999);
  REQUIRE(matrix.entries[matrix.entries.size() - 2] == 998);
  const auto symmetric = to_space<Space>(matrix);
  CHECK(factorize_symbolic(Space(), symmetric.pattern(), MemoryBudget(), {SymbolicMethod::etree}).exact);
  matrix.entries[matrix.entries.size() - 2] = 997;  // (999, 997) for (999, 998)
  const auto device = to_space<Space>(matrix);
  CHECK_FALSE(factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::etree}).exact);
  CHECK(to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget())) ==
        Reference::lu_pattern(matrix));
}

TEMPLATE_LIST_TEST_CASE("exact methods agree with plain elimination", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(4711);
  for (const int n : {2, 5, 17, 63, 64, 65, 128, 200}) {
    for (const double mean : {1.0, 2.5, 6.0}) {
      const auto matrix = random_matrix<MatrixType>(n, mean / n, 0.0, random);
      INFO("n " << n << ", about " << mean << " entries a row");
      for (const SymbolicMethod method : {SymbolicMethod::automatic, SymbolicMethod::fill1,
                                          SymbolicMethod::fill2, SymbolicMethod::ancestors})
        REQUIRE(run<TestType>(matrix, {method}) == Reference::lu_pattern(matrix));
    }
  }
}

TEST_CASE("labels of fill2 survive the overflow of their window numbers", "[symbolic]") {
  // 32-bit labels can number fewer windows than a slot has sources. Any use of stale numbers from earlier
  // sources would show as a missing or an additional entry.
  using Types = Types<double, int, Kokkos::DefaultHostExecutionSpace>;
  const int n = 200000;  // 21,474 windows
  Matrix<Types> matrix;  // fill passes through i - 3, which the previous sources have labelled
  matrix.n_rows = matrix.n_cols = n;
  matrix.row_map.push_back(0);
  for (int i = 0; i < n; ++i) {
    if (i % 30 >= 3) matrix.entries.push_back(i - 3);
    if (i + 1 < n) matrix.entries.push_back(i + 1);
    matrix.row_map.push_back(matrix.nnz());
  }
  matrix.values.assign(matrix.entries.size(), 1.0);
  const auto view = make_view(matrix).pattern();
  const typename Types::Space exec;
  const auto searched = factorize_symbolic(exec, view, MemoryBudget(), {SymbolicMethod::fill2});
  const auto expected = factorize_symbolic(exec, view, MemoryBudget(), {SymbolicMethod::fill1});
  CHECK(to_vector(searched.row_map) == to_vector(expected.row_map));
  CHECK(to_vector(searched.entries) == to_vector(expected.entries));
}

TEMPLATE_LIST_TEST_CASE("the pattern does not depend on the memory budget", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(99);
  const auto matrix = random_matrix<Matrix<TestType>>(300, 0.01, 0.0, random);
  const auto expected = Reference::lu_pattern(matrix);
  const auto device = to_space<Space>(matrix);
  const SymbolicOptions options{GENERATE(SymbolicMethod::automatic, SymbolicMethod::fill1,
                                         SymbolicMethod::fill2, SymbolicMethod::ancestors)};
  std::size_t least = 0;  // the smallest accepted budget
  for (std::size_t limit = 1024; limit < (std::size_t(1) << 24); limit += limit / 8) {
    try {
      const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget(limit), options);
      if (least == 0) least = limit;
      REQUIRE(to_rows(filled) == expected);
    } catch (const OutOfMemoryError&) {
      REQUIRE(least == 0);  // more memory never fails
    }
  }
  CHECK(least > 0);
}

TEMPLATE_LIST_TEST_CASE("symbolic factorization refuses invalid requests", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  using MatrixType = Matrix<TestType>;
  const auto wide = to_space<Space>(from_dense<MatrixType>({{1, 1, 1}, {1, 1, 1}}, 3));
  CHECK_THROWS_AS(factorize_symbolic(Space(), wide.pattern(), MemoryBudget()), InputError);
  const auto square = to_space<Space>(from_dense<MatrixType>({{1, 1}, {1, 1}}));
  const MemoryBudget small(1);
  CHECK_THROWS_AS(factorize_symbolic(Space(), square.pattern(), small), OutOfMemoryError);
  CHECK(small.used_bytes() == 0);  // no charge is left
  CHECK_THROWS_WITH(
      factorize_symbolic(Space(), square.pattern(), MemoryBudget(2000), {SymbolicMethod::fill2}),
      Catch::Matchers::ContainsSubstring("one row in flight"));
}

}  // namespace lutra::Test
