// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_Error.hpp"
#include "Lutra_Reference_Triangle.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_TriangleRows.hpp"
#include "Lutra_TriangularSolveImpl.hpp"
#include "Lutra_TriangularSolver.hpp"
#include "Lutra_TrisolveModel.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

template <class Types>
using Solver = TriangularSolver<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset,
                                typename Types::Space>;
template <class Types>
using Host = HostMatrix<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset>;

inline constexpr TrisolveMethod methods[] = {TrisolveMethod::automatic, TrisolveMethod::levels,
                                             TrisolveMethod::syncfree, TrisolveMethod::supernodal};

/// A matrix by dense rows; zeros are left out, but for those on the diagonal where asked.
template <class Types>
Host<Types> matrix_of(const std::vector<std::vector<typename Types::Scalar>>& rows,
                      bool keep_zero_diagonal = false) {
  using Scalar = typename Types::Scalar;
  Host<Types> result;
  result.n_rows = result.n_cols = static_cast<typename Types::Ordinal>(rows.size());
  result.row_map = {0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (rows[i][j] == Scalar(0) && !(keep_zero_diagonal && i == j)) continue;
      result.entries.push_back(static_cast<typename Types::Ordinal>(j));
      result.values.push_back(rows[i][j]);
    }
    result.row_map.push_back(static_cast<typename Types::Offset>(result.entries.size()));
  }
  return result;
}

/// Solves for one right-hand side.
template <class Types>
std::vector<typename Types::Scalar> solve(const Host<Types>& host, TriangleSide side, DiagonalKind diagonal,
                                          TriangularOptions options, Transposition op,
                                          const std::vector<typename Types::Scalar>& b) {
  using Space = typename Types::Space;
  const auto matrix = to_space<Space>(host);
  Solver<Types> solver(options);
  solver.analyze(matrix, side, diagonal);
  const auto x = to_space<Space>(b);
  solver.solve(x, x, op);
  solver.wait();
  return to_vector(x);
}

/// Chains of `n` rows: every row but the first of a chain needs the one before.
template <class Types>
Host<Types> chain(std::size_t n, std::size_t chains = 1) {
  using Scalar = typename Types::Scalar;
  Host<Types> result;
  result.n_rows = result.n_cols = static_cast<typename Types::Ordinal>(n * chains);
  result.row_map = {0};
  for (std::size_t i = 0; i < n * chains; ++i) {
    if (i % n > 0) {
      result.entries.push_back(static_cast<typename Types::Ordinal>(i - 1));
      result.values.push_back(Scalar(1));
    }
    result.entries.push_back(static_cast<typename Types::Ordinal>(i));
    result.values.push_back(Scalar(2));
    result.row_map.push_back(static_cast<typename Types::Offset>(result.entries.size()));
  }
  return result;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("triangles worked by hand, by every method", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto s = [](double value) { return as_scalar<Scalar>(value); };
  // One matrix holds both triangles; entries on the other side are passed over.
  const auto both = matrix_of<TestType>({{s(2), s(2), s(0)}, {s(1), s(4), s(3)}, {s(0), s(3), s(1)}});
  for (const TrisolveMethod method : methods) {
    for (const bool portable : {false, true}) {
      TriangularOptions options;
      options.method = method;
      options.portable = portable;
      using Vector = std::vector<Scalar>;
      const auto lower = TriangleSide::lower, upper = TriangleSide::upper;
      const auto stored = DiagonalKind::stored, unit = DiagonalKind::unit;
      CHECK(solve<TestType>(both, lower, stored, options, Transposition::none, {s(2), s(5), s(4)}) ==
            Vector{s(1), s(1), s(1)});
      CHECK(solve<TestType>(both, upper, unit, options, Transposition::none, {s(3), s(4), s(1)}) ==
            Vector{s(1), s(1), s(1)});
      CHECK(solve<TestType>(both, lower, stored, options, Transposition::transposed, {s(3), s(7), s(1)}) ==
            Vector{s(1), s(1), s(1)});
      CHECK(solve<TestType>(both, upper, stored, options, Transposition::adjoint, {s(2), s(6), s(4)}) ==
            Vector{s(1), s(1), s(1)});
    }
  }
}

TEMPLATE_LIST_TEST_CASE("adjoint solves conjugate, transposed ones do not", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const auto T = matrix_of<TestType>({{Scalar(0, 2), Scalar(0)}, {Scalar(1, 1), Scalar(1)}});
    for (const TrisolveMethod method : methods) {
      TriangularOptions options;
      options.method = method;
      const auto adjoint = solve<TestType>(T, TriangleSide::lower, DiagonalKind::stored, options,
                                           Transposition::adjoint, {Scalar(0), Scalar(2)});
      CHECK(adjoint == std::vector<Scalar>{Scalar(-1, -1), Scalar(2)});
      const auto transposed = solve<TestType>(T, TriangleSide::lower, DiagonalKind::stored, options,
                                              Transposition::transposed, {Scalar(0), Scalar(2)});
      CHECK(transposed == std::vector<Scalar>{Scalar(-1, 1), Scalar(2)});
    }
  }
}

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

TEMPLATE_LIST_TEST_CASE("reports count levels and blocks", "[trisolve]", AllTypes) {
  using Space = typename TestType::Space;
  const auto matrix = to_space<Space>(chain<TestType>(100));
  TriangularOptions options;
  options.method = TrisolveMethod::supernodal;
  Solver<TestType> solver(options);
  solver.analyze(matrix, TriangleSide::lower, DiagonalKind::stored);
  const TriangularReport& report = solver.report();
  CHECK(report.method == TrisolveMethod::supernodal);
  CHECK(report.n == 100);
  CHECK(report.nnz == 199);
  CHECK(report.levels == 100);
  CHECK(report.blocks == 4);  // 32 + 32 + 32 + 4 rows
  CHECK(report.block_levels == 4);
  CHECK(report.inverted_blocks == 4);
  CHECK(report.predicted_seconds > 0);
  CHECK(report.bytes >= 100 * sizeof(typename TestType::Scalar));
  CHECK(solver.report(Transposition::transposed).n == 0);
}

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

TEMPLATE_LIST_TEST_CASE("long rows amid short ones have their levels", "[trisolve]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("a report counts the blocks of the last values", "[trisolve]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("a block is used by its inverse only as far as that is accurate", "[trisolve]",
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

TEMPLATE_LIST_TEST_CASE("levels of their own, in other vectors each time", "[trisolve]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("new values without a new analysis", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto s = [](double value) { return as_scalar<Scalar>(value); };
  const auto host = matrix_of<TestType>({{s(2), s(0)}, {s(1), s(4)}});
  const auto matrix = to_space<Space>(host);
  for (const TrisolveMethod method : methods) {
    TriangularOptions options;
    options.method = method;
    Solver<TestType> solver(options);
    solver.analyze(matrix, TriangleSide::lower, DiagonalKind::stored);
    const auto b = to_space<Space>(std::vector<Scalar>{s(4), s(4)});
    const auto x = to_space<Space>(std::vector<Scalar>{s(0), s(0)});
    solver.solve(b, x, Transposition::transposed);
    solver.set_values(to_space<Space>(std::vector<Scalar>{s(4), s(3), s(1)}));
    solver.solve(b, x);
    solver.wait();
    CHECK(to_vector(x) == std::vector<Scalar>{s(1), s(1)});
    solver.solve(b, x, Transposition::transposed);  // the transpose has the new values too
    solver.wait();
    CHECK(to_vector(x) == std::vector<Scalar>{s(-2), s(4)});
  }
}

TEMPLATE_LIST_TEST_CASE("values in single precision", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  for (const TrisolveMethod method : methods) {
    TriangularOptions options;
    options.method = method;
    options.precision = FactorPrecision::single;
    const auto s = [](double value) { return as_scalar<Scalar>(value); };
    const auto T = matrix_of<TestType>({{s(3), s(0)}, {s(0.1), s(1)}});
    const auto x = solve<TestType>(T, TriangleSide::lower, DiagonalKind::stored, options, Transposition::none,
                                   {s(3), s(1)});
    CHECK(static_cast<double>(Kokkos::abs(x[1] - s(0.9))) < 1e-6);
    if constexpr (sizeof(RealOf<Scalar>) == 8) {
      CHECK(static_cast<double>(Kokkos::abs(x[1] - s(0.9))) > 1e-12);  // 0.1 was rounded to float
    }
  }
}

TEMPLATE_LIST_TEST_CASE("triangles that are refused", "[trisolve][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto s = [](double value) { return as_scalar<Scalar>(value); };
  Solver<TestType> solver;
  const auto refused = [&](const Host<TestType>& host, const char* message) {
    const auto matrix = to_space<Space>(host);
    CHECK_THROWS_MATCHES(solver.analyze(matrix, TriangleSide::lower, DiagonalKind::stored), InputError,
                         MessageMatches(ContainsSubstring(message)));
  };
  refused(matrix_of<TestType>({{s(1), s(0)}, {s(1), s(0)}}), "row 1 has no diagonal entry");
  refused(matrix_of<TestType>({{s(1), s(0)}, {s(1), s(0)}}, true), "row 1 has a zero on its diagonal");
  auto unsorted = matrix_of<TestType>({{s(1), s(0)}, {s(1), s(1)}});
  std::swap(unsorted.entries[1], unsorted.entries[2]);
  refused(unsorted, "row 1 has columns out of range, repeated or not ascending");
  auto infinite = matrix_of<TestType>({{s(1), s(0)}, {s(1), s(1)}});
  infinite.values[1] = Scalar(std::numeric_limits<RealOf<Scalar>>::infinity());
  refused(infinite, "row 1 holds NaN or infinity");
  auto rectangular = matrix_of<TestType>({{s(1), s(0)}, {s(1), s(1)}});
  rectangular.n_cols = 3;
  refused(rectangular, "it is 2 × 3");
}

TEMPLATE_LIST_TEST_CASE("calls out of order and wrong extents", "[trisolve][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  Solver<TestType> solver;
  const auto two = to_space<Space>(std::vector<Scalar>(2, Scalar(1)));
  const auto three = to_space<Space>(std::vector<Scalar>(3, Scalar(1)));
  CHECK_THROWS_AS(solver.set_values(two), CallOrderError);
  CHECK_THROWS_AS(solver.solve(two, two), CallOrderError);
  const auto matrix = to_space<Space>(matrix_of<TestType>({{Scalar(1), Scalar(0)}, {Scalar(0), Scalar(1)}}));
  solver.analyze(matrix.pattern(), TriangleSide::lower, DiagonalKind::stored);
  CHECK_THROWS_AS(solver.solve(two, two), CallOrderError);
  CHECK_THROWS_AS(solver.set_values(three), InputError);
  solver.set_values(two);
  CHECK_THROWS_AS(solver.solve(three, three), InputError);
  CHECK_THROWS_AS(solver.solve(two, three), InputError);
  TriangularOptions impatient;
  impatient.watchdog_seconds = 0;
  CHECK_THROWS_AS(Solver<TestType>(impatient), InputError);
}

TEMPLATE_LIST_TEST_CASE("a budget too small leaves the solver as it was", "[trisolve][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  TriangularOptions options;
  options.memory_limit = 20000;
  options.method = TrisolveMethod::syncfree;
  Solver<TestType> solver(options);
  const auto small = to_space<Space>(chain<TestType>(3));
  solver.analyze(small, TriangleSide::lower, DiagonalKind::stored);
  const auto large = to_space<Space>(chain<TestType>(5000));
  CHECK_THROWS_AS(solver.analyze(large, TriangleSide::lower, DiagonalKind::stored), OutOfMemoryError);
  const auto b = to_space<Space>(std::vector<Scalar>{Scalar(2), Scalar(3), Scalar(3)});
  solver.solve(b, b);
  solver.wait();
  CHECK(to_vector(b) == std::vector<Scalar>(3, Scalar(1)));
}

TEMPLATE_LIST_TEST_CASE("the caller's device model decides, and the built-in one is the default",
                        "[trisolve]", AllTypes) {
  using Space = typename TestType::Space;
  const auto L = to_space<Space>(chain<TestType>(50));
  const auto choose = [&](const std::optional<DeviceModel>& model) {
    TriangularOptions options;
    options.device_model = model;
    Solver<TestType> solver(options);
    solver.analyze(L, TriangleSide::lower, DiagonalKind::stored);
    return solver.report();
  };
  const auto chosen = choose({}), again = choose(default_device_model<Space>());
  CHECK(chosen.method == again.method);
  CHECK(chosen.predicted_syncfree_seconds == again.predicted_syncfree_seconds);
  auto model = default_device_model<Space>();
  model.trisolve.methods.team_bandwidth = model.trisolve.methods.level_launch_seconds = 1;
  model.trisolve.methods.block_dependency_seconds = 1;
  CHECK(choose(model).method == TrisolveMethod::syncfree);
}

TEMPLATE_LIST_TEST_CASE("engines over one analysis have values of their own", "[trisolve]", AllTypes) {
  using Space = typename TestType::Space;
  using Ordinal = typename TestType::Ordinal;
  using Offset = typename TestType::Offset;
  using Scalar = typename TestType::Scalar;
  const Space exec;
  const auto L = to_space<Space>(chain<TestType>(100));
  auto twice = to_vector(L.values);
  for (auto& value : twice) value *= Scalar(2);
  const auto larger = to_space<Space>(twice);
  std::vector<Scalar> right(100, Scalar(3));
  right[0] = Scalar(2);
  const auto b = to_space<Space>(right);
  for (const TrisolveMethod method :
       {TrisolveMethod::levels, TrisolveMethod::syncfree, TrisolveMethod::supernodal}) {
    TriangularOptions options;
    options.method = method;
    MemoryReservation reservation{MemoryBudget()};
    const auto rows = lutra::Impl::split_triangle(exec, L.pattern(), TriangleSide::lower,
                                                  DiagonalKind::stored, reservation);
    const lutra::Impl::TimeoutFlag timeout("timeout");
    lutra::Impl::TriangularSolveImpl<Scalar, Ordinal, Offset, Space> first(exec, rows, options,
                                                                           MemoryBudget(), timeout);
    auto second = first.with_own_values(exec, MemoryBudget(), timeout);
    CHECK_FALSE(second.has_values());
    CHECK(second.report().method == first.report().method);
    first.set_values(exec, {L.values, {}});
    second.set_values(exec, {larger, {}});
    const auto x = to_space<Space>(std::vector<Scalar>(100)), y = to_space<Space>(std::vector<Scalar>(100));
    for (int again = 0; again < 3; ++again) {
      first.solve(exec, {b.data(), 1, 100, nullptr}, {x.data(), 1, 100, nullptr}, 1, false);
      second.solve(exec, {b.data(), 1, 100, nullptr}, {y.data(), 1, 100, nullptr}, 1, false);
      exec.fence();
      CHECK(to_vector(x) == std::vector<Scalar>(100, Scalar(1)));
      CHECK(to_vector(y) == std::vector<Scalar>(100, Scalar(0.5)));
    }
  }
}

TEST_CASE("the model weighs latency against bytes", "[trisolve]") {
  const TrisolveCosts costs = h200_device_model().trisolve.methods;
  TriangleProperties properties;
  properties.rows = 50000;
  properties.entries = 200000;
  properties.levels = 600;
  const double levels = predict_seconds(properties, TrisolveMethod::levels, costs);
  const double syncfree = predict_seconds(properties, TrisolveMethod::syncfree, costs);
  CHECK(levels < syncfree);  // thin levels belong inside a team
  CHECK(predict_seconds(properties, TrisolveMethod::automatic, costs) == levels);
  properties.blocks = 2000;
  properties.block_levels = 30;
  auto choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::supernodal);
  CHECK(choice.seconds < levels);
  CHECK_THAT(choice.reason, ContainsSubstring("30 levels of blocks"));
  properties.blocks = 0;
  properties.several_columns = true;  // levels would win for one
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::syncfree);
  properties.several_columns = false;
  properties.levels = 3;  // a launch each
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::levels);
  CHECK(choice.supernodal_seconds == 0);
  properties.rows = 2e5;  // two wide levels, rows of which would wait for the same places
  properties.entries = 1.4e6;
  properties.levels = 2;
  properties.levels_seconds = 34e-6;
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::levels);
  properties.levels_seconds = 0;
  properties.rows = 1e6;  // too wide for a team, too many for launches
  properties.entries = 3e6;
  properties.levels = 100;
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::syncfree);
}

}  // namespace lutra::Test
