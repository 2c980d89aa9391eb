// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_Error.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_SolvableTriangle.hpp"
#include "Lutra_TriangleRows.hpp"
#include "Lutra_TriangularTestCases.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

}  // namespace

TEMPLATE_LIST_TEST_CASE("every method solves triangles worked by hand", "[trisolve]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("adjoint solves conjugate and transposed solves do not", "[trisolve]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("new values need no new analysis", "[trisolve]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("values may be in single precision", "[trisolve]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("wrong triangles are refused", "[trisolve][errors]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("calls out of order and wrong extents are refused", "[trisolve][errors]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("too small a budget leaves the solver unchanged", "[trisolve][errors]", AllTypes) {
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

TEMPLATE_LIST_TEST_CASE("the device model of the caller decides, and the built-in model is the default",
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

TEMPLATE_LIST_TEST_CASE("engines over one analysis keep their own values", "[trisolve]", AllTypes) {
  using Space = typename TestType::Space;
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
    lutra::Impl::SolvableTriangle<Scalar, Space> first(exec, rows, options, MemoryBudget(), timeout);
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

}  // namespace lutra::Test
