// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "Lutra_Error.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {

using Catch::Matchers::ContainsSubstring;

TEMPLATE_LIST_TEST_CASE("malformed matrices are refused with row and column", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using MatrixType = Matrix<TestType>;
  const auto good = from_dense<MatrixType>({{1, 2, 0}, {3, 4, 5}, {0, 6, 7}});
  auto bad = good;
  Solver<TestType> solver;
  const auto refuses = [&](const std::string& message) {
    CHECK_THROWS_AS(solver.analyze(bad), InputError);
    CHECK_THROWS_WITH(solver.analyze(bad), ContainsSubstring(message));
  };
  SECTION("not square") {
    bad = from_dense<MatrixType>({{1, 2, 3}, {4, 5, 6}}, 3);
    refuses("2 rows but 3 columns");
  }
  SECTION("no rows") {
    bad = MatrixType{0, 0, {0}, {}, {}};
    refuses("no rows");
  }
  SECTION("a column out of range") {
    bad.entries[4] = 3;
    refuses("row 1 has column 3");
  }
  SECTION("a negative column") {
    bad.entries[3] = -1;
    refuses("row 1 has column -1");
  }
  SECTION("a column twice") {
    bad.entries[4] = 0;
    refuses("row 1 has column 0 twice");
  }
  SECTION("columns out of order") {
    std::swap(bad.entries[3], bad.entries[5]);
    refuses("row 1 is not sorted");
  }
  SECTION("NaN") {
    bad.values[7] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
    refuses("row 2, column 1 is NaN or infinite");
  }
  SECTION("infinity") {
    bad.values[2] = Scalar(-std::numeric_limits<RealOf<Scalar>>::infinity());
    refuses("row 0, column 2 is NaN or infinite");
  }
  SECTION("row offsets that fall") {
    bad.row_map[1] = 7;
    refuses("row_map falls");
  }
  SECTION("row offsets that do not start at zero") {
    bad.row_map[0] = 1;
    refuses("row_map[0]");
  }
  SECTION("row offsets that end elsewhere") {
    bad.row_map[3] = 8;
    refuses("row_map ends with 8");
  }
  SECTION("too few row offsets") {
    bad.row_map.pop_back();
    CHECK_THROWS_AS(solver.analyze(bad), InputError);
    auto device = to_space<typename TestType::Space>(good);
    device.n_rows = device.n_cols = 4;
    CHECK_THROWS_WITH(solver.analyze(device), ContainsSubstring("row_map has 4 elements"));
  }
  SECTION("too few values") {
    auto device = to_space<typename TestType::Space>(good);
    device.values = Kokkos::subview(device.values, Kokkos::make_pair(0, 3));
    CHECK_THROWS_WITH(solver.analyze(device), ContainsSubstring("9 entries but 3 values"));
  }
}

TEMPLATE_LIST_TEST_CASE("the report says which method the multifrontal engine takes instead", "[solver]",
                        AllTypes) {
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  LuOptions options;
  options.engine = Engine::multifrontal;
  for (const SymbolicMethod method :
       {SymbolicMethod::fill1, SymbolicMethod::fill2, SymbolicMethod::ancestors}) {
    options.symbolic = method;
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    CHECK(solver.report().choice.symbolic == "etree");
    CHECK_THAT(solver.report().choice.why, ContainsSubstring("instead of " + std::string(name_of(method))));
  }
}

TEMPLATE_LIST_TEST_CASE("calls in the wrong order are refused and change nothing", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  std::vector<Scalar> b{Scalar(3), Scalar(4)}, x(2);
  Solver<TestType> solver;
  CHECK_THROWS_AS(solver.factorize(A), CallOrderError);
  CHECK_THROWS_AS(solver.structure(), CallOrderError);
  CHECK_THROWS_AS(solver.solve_host(b, x), CallOrderError);
  succeed(solver.analyze(A));
  CHECK_THROWS_AS(solver.solve_host(b, x), CallOrderError);
  CHECK(solver.report().status == Status::not_solved);
  succeed(solver.factorize(A));
  CHECK_THROWS_WITH(solver.factorize(from_dense<Matrix<TestType>>({{2, 1}, {nothing, 3}})),
                    ContainsSubstring("pattern is not the one"));
  auto bad = A;
  bad.values[0] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  CHECK_THROWS_AS(solver.factorize(bad), InputError);
  CHECK_THROWS_AS(solver.analyze(bad), InputError);
  CHECK(solver.solve_host(b, x) == Status::success);  // with the factors it had
}

TEMPLATE_LIST_TEST_CASE("right-hand sides of wrong size are refused", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using View = Kokkos::View<Scalar**, typename TestType::Memory>;
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  CHECK_THROWS_WITH(solver.solve(View("B", 3, 1), View("X", 3, 1)), ContainsSubstring("B: it has 3 rows"));
  CHECK_THROWS_WITH(solver.solve(View("B", 2, 2), View("X", 2, 1)), ContainsSubstring("X: it is 2 × 1"));
  std::vector<Scalar> b{Scalar(1), Scalar(std::numeric_limits<RealOf<Scalar>>::infinity())}, x(2), three(3);
  CHECK_THROWS_WITH(solver.solve_host(b, x), ContainsSubstring("row 1 holds NaN"));
  CHECK_THROWS_AS(solver.solve_host(three, three), InputError);
  CHECK_THROWS_AS(solver.solve_host(b, three), InputError);
  CHECK(solver.solve(View("B", 2, 0), View("X", 2, 0)) == Status::success);  // nothing to solve is solved
}

TEMPLATE_LIST_TEST_CASE("options out of range are refused", "[solver]", AllTypes) {
  LuOptions options;
  SECTION("tolerance") {
    options.error_tolerance = -1;
  }
  SECTION("perturbation") {
    options.perturbation = -1;
  }
  SECTION("steps") {
    options.max_refinement_steps = -1;
  }
  SECTION("NaN") {
    options.error_tolerance = std::numeric_limits<double>::quiet_NaN();
  }
  SECTION("infinite tolerance") {
    options.error_tolerance = std::numeric_limits<double>::infinity();
  }
  SECTION("infinite perturbation") {
    options.perturbation = std::numeric_limits<double>::infinity();
  }
  SECTION("pivot threshold") {
    options.pivot_threshold = 1.5;
  }
  SECTION("no pivoting at all") {
    options.pivoting = Pivoting::none;
  }
  SECTION("threshold pivoting by columns") {
    options.pivoting = Pivoting::threshold;
    options.engine = Engine::simplicial;
  }
  SECTION("threshold pivoting with solves by triangles") {
    options.pivoting = Pivoting::threshold;
    options.trisolve = TrisolveMethod::levels;
  }
  SECTION("threshold pivoting with solves in single precision") {
    options.pivoting = Pivoting::threshold;
    options.solve_precision = FactorPrecision::single;
  }
  CHECK_THROWS_AS(Solver<TestType>(options), InputError);
}

TEMPLATE_LIST_TEST_CASE("an invalid user permutation is refused with its index", "[solver]", AllTypes) {
  const auto A = from_dense<Matrix<TestType>>({{2, 1}, {1, 3}});
  LuOptions options;
  options.ordering = Ordering::user;
  SECTION("too short") {
    options.user_permutation = {0};
  }
  SECTION("twice") {
    options.user_permutation = {0, 0};
  }
  SECTION("out of range") {
    options.user_permutation = {0, 2};
  }
  Solver<TestType> solver(options);
  CHECK_THROWS_AS(solver.analyze(A), InputError);
}

TEMPLATE_LIST_TEST_CASE("a memory limit is respected or refused", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(19);
  const auto A = permuted_matrix<Matrix<TestType>>(200, 3.0, random);
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  bool refused = false, solved = false;
  for (std::size_t limit = 4096; limit < (std::size_t(1) << 28) && !solved; limit *= 2) {
    LuOptions options;
    options.memory_limit = limit;
    Solver<TestType> solver(options);
    try {
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      solved = solver.solve_host(system.b, x) == Status::success;
      CHECK(solver.report().memory.device_peak_bytes <= limit);
      CHECK(solver.report().memory.limit_bytes == limit);
    } catch (const OutOfMemoryError& error) {
      refused = true;
      CHECK(error.needed_bytes() > 0);
      CHECK_THAT(error.what(), ContainsSubstring("limit"));
    }
  }
  CHECK(refused);
  CHECK(solved);
}

}  // namespace lutra::Test
