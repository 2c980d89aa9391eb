// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_Reference_Triangle.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TriangularTestCases.hpp"

namespace lutra::Test {
namespace {

/// n rows with the solution 1 for a right-hand side of ones: each `every`-th waits for the `length` rows
/// before it, each tenth for none, the others for the one before.
template <class Types>
Host<Types> chain_with_long_rows(std::size_t n, std::size_t every, std::size_t length) {
  std::vector<std::vector<typename Types::Scalar>> rows(n, std::vector<typename Types::Scalar>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t before = i % every == 0 ? std::min(i, length)
                               : i % 10 == 0  ? 0
                                              : std::min(i, std::size_t(1));
    for (std::size_t j = i - before; j < i; ++j) rows[i][j] = as_scalar<typename Types::Scalar>(-1.0);
    rows[i][i] = as_scalar<typename Types::Scalar>(static_cast<double>(before) + 1.0);
  }
  return matrix_of<Types>(rows);
}

/// How many levels a lower triangle's rows have.
template <class Types>
std::int64_t count_levels(const Host<Types>& T) {
  std::vector<std::int64_t> level(static_cast<std::size_t>(T.n_rows));
  for (std::size_t i = 0; i < level.size(); ++i) {
    for (auto p = T.row_map[i]; p + 1 < T.row_map[i + 1]; ++p) {
      const auto j = static_cast<std::size_t>(T.entries[static_cast<std::size_t>(p)]);
      level[i] = std::max(level[i], level[j] + 1);
    }
  }
  return *std::ranges::max_element(level) + 1;
}

/// Full lower triangles of `size` rows one behind another, ones on their diagonals and each with one number
/// below. The inverse of one with −c grows like (1 + c)^size.
template <class Types>
Host<Types> full_blocks(std::size_t size, const std::vector<double>& below) {
  const std::size_t n = size * below.size();
  std::vector<std::vector<typename Types::Scalar>> rows(n, std::vector<typename Types::Scalar>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i / size * size; j < i; ++j) {
      rows[i][j] = as_scalar<typename Types::Scalar>(below[i / size]);
    }
    rows[i][i] = as_scalar<typename Types::Scalar>(1.0);
  }
  return matrix_of<Types>(rows);
}

/// Rows of 2 on the diagonal; those behind the first 32 each wait for eight of these, with entries of 1/8.
template <class Types>
Host<Types> two_wide_levels(std::size_t n) {
  using Scalar = typename Types::Scalar;
  Host<Types> result;
  result.n_rows = result.n_cols = static_cast<typename Types::Ordinal>(n);
  result.row_map = {0};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t e = 0; e < 8 && i >= 32; ++e) {
      result.entries.push_back(static_cast<typename Types::Ordinal>(4 * e + i % 4));
      result.values.push_back(as_scalar<Scalar>(0.125));
    }
    result.entries.push_back(static_cast<typename Types::Ordinal>(i));
    result.values.push_back(as_scalar<Scalar>(2));
    result.row_map.push_back(static_cast<typename Types::Offset>(result.entries.size()));
  }
  return result;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("chains longer than blocks, teams and windows", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  // Of many chains side by side, each block is a warp's on devices.
  const std::pair<std::size_t, std::size_t> sizes[] = {{31, 1}, {33, 1}, {1000, 1}, {64, 100}};
  for (const auto& [n, chains] : sizes) {
    std::vector<Scalar> b(n * chains, Scalar(3));  // so that x is all ones
    for (std::size_t c = 0; c < chains; ++c) b[c * n] = Scalar(2);
    for (const TrisolveMethod method : methods) {
      TriangularOptions options;
      options.method = method;
      const auto x = solve<TestType>(chain<TestType>(n, chains), TriangleSide::lower, DiagonalKind::stored,
                                     options, Transposition::none, b);
      for (const Scalar& value : x) {
        REQUIRE(static_cast<double>(Kokkos::abs(value - Scalar(1))) <=
                64 * static_cast<double>(epsilon_of<Scalar>));
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("long rows among short ones get levels of their own", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  // Long rows next to each other in a warp, and rows so many that warps wait for each other.
  for (const std::size_t every : {std::size_t(3), std::size_t(37), std::size_t(150)}) {
    const auto T = chain_with_long_rows<TestType>(700, every, 90);
    for (const auto method :
         {TrisolveMethod::automatic, TrisolveMethod::syncfree, TrisolveMethod::supernodal}) {
      TriangularOptions options;
      options.method = method;
      Solver<TestType> solver(options);
      solver.analyze(to_space<Space>(T), TriangleSide::lower, DiagonalKind::stored);
      CHECK(solver.report().levels == count_levels<TestType>(T));
      const auto b = to_space<Space>(std::vector<Scalar>(700, as_scalar<Scalar>(1.0)));
      const Kokkos::View<Scalar*, typename TestType::Memory> x("test", 700);
      solver.solve(b, x);
      solver.wait();
      for (const Scalar& value : to_vector(x)) {
        REQUIRE(static_cast<double>(Kokkos::abs(value - Scalar(1))) <=
                1000 * static_cast<double>(epsilon_of<Scalar>));
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the report counts the blocks of the latest values", "[trisolve]", AllTypes) {
  using Space = typename TestType::Space;
  const auto good = full_blocks<TestType>(32, {-0.05, -0.05});
  const auto bad = full_blocks<TestType>(32, {-0.05, -1.0});
  TriangularOptions options;
  options.method = TrisolveMethod::supernodal;
  Solver<TestType> solver(options);
  const auto matrix = to_space<Space>(good);
  solver.analyze(matrix, TriangleSide::lower, DiagonalKind::stored);
  CHECK(solver.report().inverted_blocks == 2);
  solver.set_values(to_space<Space>(bad.values));
  CHECK(solver.report().inverted_blocks == 1);
  solver.set_values(matrix.values);
  CHECK(solver.report().inverted_blocks == 2);
}

TEMPLATE_LIST_TEST_CASE("a block is inverted only if its inverse is accurate enough", "[trisolve]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  // ‖|T||V|‖ of the blocks of 32 rows is about 9, 2e3 and 4e9: the inverse as it is, with a step of
  // refinement, and not at all. Where blocks are many, a warp takes each on devices, otherwise a team.
  struct Size {
    std::size_t rows, copies;
    double worst;
  };
  for (const Size& size : {Size{32, 1, -1.0}, Size{32, 11, -1.0}, Size{16, 11, -4.0}}) {
    std::vector<double> below;
    for (std::size_t c = 0; c < size.copies; ++c) below.insert(below.end(), {-0.05, -0.25, size.worst});
    const auto T = full_blocks<TestType>(size.rows, below);
    const std::size_t n = size.rows * below.size();
    const std::vector<Scalar> b(n, as_scalar<Scalar>(1.0));
    for (const bool portable : {false, true}) {
      TriangularOptions options;
      options.method = TrisolveMethod::supernodal;
      options.portable = portable;
      Solver<TestType> solver(options);
      solver.analyze(to_space<Space>(T), TriangleSide::lower, DiagonalKind::stored);
      REQUIRE(solver.report().blocks == static_cast<std::int64_t>(3 * size.copies));
      CHECK(solver.report().inverted_blocks == static_cast<std::int64_t>(2 * size.copies));
      for (const std::size_t columns : {std::size_t(1), std::size_t(3), std::size_t(16)}) {
        std::vector<Scalar> all;
        for (std::size_t c = 0; c < columns; ++c) all.insert(all.end(), b.begin(), b.end());
        const Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename TestType::Memory> X("test", n, columns);
        const Kokkos::View<Scalar*, typename TestType::Memory> flat(X.data(), all.size());
        Kokkos::deep_copy(flat, to_space<Space>(all));
        solver.solve(X, X);
        solver.wait();
        const auto x = to_vector(flat);
        for (std::size_t c = 0; c < columns; ++c) {
          const auto begin = x.begin() + static_cast<std::ptrdiff_t>(n * c);
          const std::vector<Scalar> column(begin, begin + static_cast<std::ptrdiff_t>(n));
          CHECK(Reference::triangle_error(T, {}, Transposition::none, column, b) <=
                64 * static_cast<double>(epsilon_of<Scalar>));
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("levels of their own with new vectors in each solve", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename TestType::Memory>;
  constexpr std::size_t n = 3000;
  const auto T = two_wide_levels<TestType>(n);
  for (const bool portable : {false, true}) {
    TriangularOptions options;
    options.method = TrisolveMethod::levels;
    options.portable = portable;
    Solver<TestType> solver(options);
    solver.analyze(to_space<Space>(T), TriangleSide::lower, DiagonalKind::stored);
    REQUIRE(solver.report().levels == 2);
    for (const std::size_t columns : {std::size_t(1), std::size_t(3), std::size_t(1), std::size_t(16)}) {
      // Column c has the solution c + 1 throughout.
      const Columns B("test", n, columns), X("test", n, columns);
      const auto host = Kokkos::create_mirror_view(B);
      for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t i = 0; i < n; ++i)
          host(i, c) = as_scalar<Scalar>(static_cast<double>(c + 1) * (i < 32 ? 2 : 3));
      }
      Kokkos::deep_copy(B, host);
      solver.solve(B, X);
      solver.solve(B, B);
      solver.wait();
      for (const Columns& solved : {X, B}) {
        Kokkos::deep_copy(host, solved);
        std::size_t right = 0;
        for (std::size_t c = 0; c < columns; ++c) {
          for (std::size_t i = 0; i < n; ++i)
            right += host(i, c) == as_scalar<Scalar>(static_cast<double>(c + 1)) ? 1 : 0;
        }
        CHECK(right == n * columns);
      }
    }
  }
}

}  // namespace lutra::Test
