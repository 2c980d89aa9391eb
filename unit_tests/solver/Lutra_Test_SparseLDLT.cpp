// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {

using Catch::Matchers::ContainsSubstring;

TEMPLATE_LIST_TEST_CASE("symmetric systems by hand", "[ldlt]", AllTypes) {
  const double o = nothing;
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  Symmetric<TestType> solver(options);
  SECTION("a pivot of two rows") {
    const auto A = from_dense<Matrix<TestType>>({{o, 2}, {2, o}});
    succeed(solver.analyze(A));
    CHECK(solver.report().choice.method == "ldlt");
    CHECK(solver.report().status == Status::not_solved);
    succeed(solver.factorize(A));
    check_inertia(solver.report(), 1, 1, 0);
    CHECK(solver.report().pivots.two_by_two == 1);
    CHECK(solver.report().factors.nnz_u == 0);
    check_solution(solver, A);
  }
  SECTION("four eigenvalues") {
    // Eigenvalues of the blocks: 3 and −1; 5; −2.
    const auto A = from_dense<Matrix<TestType>>({{1, o, 2, o}, {o, 5, o, o}, {2, o, 1, o}, {o, o, o, -2}});
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    check_inertia(solver.report(), 2, 2, 0);
    CHECK(solver.report().pivots.zero == 0);
    check_solution(solver, A);
  }
  SECTION("one row") {
    const auto A = from_dense<Matrix<TestType>>({{-3}});
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    check_inertia(solver.report(), 0, 1, 0);
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("the inertia of saddle points", "[ldlt]", AllTypes) {
  std::mt19937 random(101);
  for (const int n : {3, 20, 90, 200}) {
    const int m = n / 3;
    const auto A = saddle_point<Matrix<TestType>>(n, m, random);
    for (const Ordering ordering : {Ordering::automatic, Ordering::natural}) {
      for (const Matching matching : {Matching::automatic, Matching::none, Matching::auction}) {
        for (const bool pairs : {false, true}) {
          if (pairs && matching == Matching::none) continue;
          LdltOptions options;
          options.symmetry = Symmetry::hermitian;
          options.ordering = ordering;
          options.matching = matching;
          options.pair_ordering = pairs;
          Symmetric<TestType> solver(options);
          succeed(solver.analyze(A));
          succeed(solver.factorize(A));
          CAPTURE(n, m, pairs, solver.report().choice.ordering, solver.report().choice.matching);
          check_inertia(solver.report(), n, m, 0);
          check_solution(solver, A);
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("one triangle or both give the same solution", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(102);
  const auto A = saddle_point<Matrix<TestType>>(40, 15, random);
  const auto system = known_system(A);
  std::vector<Scalar> first(system.b.size());
  for (const Triangle triangle : {Triangle::both, Triangle::lower, Triangle::upper}) {
    LdltOptions options;
    options.triangle = triangle;
    for (const bool whole : {true, false}) {
      const auto given = whole ? A : triangle_of(A, triangle != Triangle::upper);
      if (triangle == Triangle::both && !whole) continue;
      Symmetric<TestType> solver(options);
      succeed(solver.analyze(given));
      succeed(solver.factorize(given));
      auto x = first;
      REQUIRE(solver.solve_host(system.b, x) == Status::success);
      if (triangle == Triangle::both) first = x;
      CHECK(x == first);  // bit by bit
    }
  }
  Symmetric<TestType> solver;
  CHECK_THROWS_WITH(solver.analyze(triangle_of(A, true)), ContainsSubstring("not symmetric"));
}

TEMPLATE_LIST_TEST_CASE("unsymmetric matrices are refused", "[ldlt]", AllTypes) {
  auto A = from_dense<Matrix<TestType>>({{4, 1, 2}, {1, 5, 3}, {2, 3, 6}});
  Symmetric<TestType> solver;
  CHECK_THROWS_AS(solver.factorize(A), CallOrderError);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  const auto good = A;
  A.values[5] *= as_scalar<typename TestType::Scalar>(1.5);
  CHECK_THROWS_AS(solver.factorize(A), InputError);
  CHECK_THROWS_WITH(solver.factorize(A), ContainsSubstring("row 1, column 2"));
  check_solution(solver, good);  // nothing has changed
  const auto other = from_dense<Matrix<TestType>>({{4, 1, nothing}, {1, 5, 3}, {nothing, 3, 6}});
  CHECK_THROWS_WITH(solver.factorize(other), ContainsSubstring("pattern"));
  const Kokkos::View<RealOf<typename TestType::Scalar>*, typename TestType::Memory> shift("shift", 2);
  CHECK_THROWS_WITH(solver.factorize(to_space<typename TestType::Space>(good), shift),
                    ContainsSubstring("shift"));
  check_solution(solver, good);
}

TEMPLATE_LIST_TEST_CASE("NaN in the triangle that is not read does no harm", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto nan = as_scalar<Scalar>(std::numeric_limits<double>::quiet_NaN());
  std::mt19937 random(112);
  const auto A = saddle_point<Matrix<TestType>>(40, 15, random);
  const auto system = known_system(A);
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    auto spoilt = A;
    for (std::size_t i = 0; i < 55; ++i)
      for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
           ++p) {
        const auto j = static_cast<std::size_t>(A.entries[p]);
        if (triangle == Triangle::lower ? j > i : j < i) spoilt.values[p] = nan;
      }
    LdltOptions options;
    options.triangle = triangle;
    Symmetric<TestType> solver(options);
    for (int round = 0; round < 2; ++round) {  // the second analysis shares the order of the first
      succeed(solver.analyze(spoilt));
      succeed(solver.factorize(spoilt));
      std::vector<Scalar> x(system.b.size());
      REQUIRE(solver.solve_host(system.b, x) == Status::success);
      CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
    }
    CHECK_FALSE(solver.report().times.ordering.has_value());
    spoilt.values[0] = nan;
    const std::string where = "row 0, column " + std::to_string(A.entries[0]) + " is NaN";
    if (triangle == Triangle::upper ? A.entries[0] >= 0 : A.entries[0] <= 0) {
      CHECK_THROWS_WITH(solver.factorize(spoilt), ContainsSubstring(where));
      CHECK_THROWS_WITH(solver.analyze(spoilt), ContainsSubstring(where));
    }
    options.triangle = Triangle::both;
    CHECK_THROWS_WITH(Symmetric<TestType>(options).analyze(spoilt), ContainsSubstring("is NaN"));
  }
}

TEMPLATE_LIST_TEST_CASE("entries outside the triangle that is read are refused", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  LdltOptions options;
  options.triangle = Triangle::upper;
  Symmetric<TestType> solver(options);
  CHECK_THROWS_WITH(solver.analyze(from_dense<Matrix<TestType>>({{4, nothing}, {1, 3}})),
                    ContainsSubstring("row 1, column 0") && ContainsSubstring("set triangle to lower"));
  CHECK_THROWS_AS(solver.factorize(from_dense<Matrix<TestType>>({{4, 1}, {1, 3}})), CallOrderError);
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    auto A = from_dense<Matrix<TestType>>({{4, 1}, {1, 3}});
    for (const bool definite : {true, false}) {
      options.symmetry = Symmetry::hermitian;
      options.positive_definite = definite;
      Symmetric<TestType> hermitian(options);
      A.values[3] = Scalar(3);
      succeed(hermitian.analyze(A));
      succeed(hermitian.factorize(A));
      A.values[3] = Scalar(3, 1);
      const auto message = ContainsSubstring("not Hermitian: the diagonal entry of row 1");
      CHECK_THROWS_WITH(hermitian.factorize(A), message);
      CHECK_THROWS_WITH(hermitian.analyze(A), message);
      A.values[3] = Scalar(3);
      check_solution(hermitian, A);  // nothing has changed
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a non-finite shift is refused with its row", "[ldlt]", AllTypes) {
  using Real = RealOf<typename TestType::Scalar>;
  using Space = typename TestType::Space;
  const auto A = from_dense<Matrix<TestType>>({{4, 1, nothing}, {1, 5, 3}, {nothing, 3, 6}});
  Symmetric<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity(),
                         -std::numeric_limits<Real>::infinity()}) {
    const auto shift = to_space<Space>(std::vector<Real>{0, 1, bad});
    CHECK_THROWS_AS(solver.factorize(to_space<Space>(A), shift), InputError);
    CHECK_THROWS_WITH(solver.factorize(to_space<Space>(A), shift), "shift: row 2 holds NaN or infinity");
    check_solution(solver, A);  // nothing has changed
  }
}

TEMPLATE_LIST_TEST_CASE("complex symmetric and Hermitian systems", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    std::mt19937 random(103);
    for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
      auto A = saddle_point<Matrix<TestType>>(60, 25, random);
      // D·A·Dᵀ or D·A·Dᴴ with random numbers of magnitude 1: the inertia of the latter stays
      std::vector<Scalar> factor;
      for (int i = 0; i < 85; ++i) {
        const Scalar value = random_value<Scalar>(random, 0);
        factor.push_back(value / Kokkos::abs(value));
      }
      for (std::size_t i = 0; i < 85; ++i) {
        for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
             ++p) {
          const auto j = static_cast<std::size_t>(A.entries[p]);
          const Scalar right = symmetry == Symmetry::hermitian ? Kokkos::conj(factor[j]) : factor[j];
          A.values[p] = factor[i] * A.values[p] * right;
        }
      }
      LdltOptions options;
      options.symmetry = symmetry;
      options.triangle = Triangle::lower;
      Symmetric<TestType> solver(options);
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      CAPTURE(static_cast<int>(symmetry));
      if (symmetry == Symmetry::hermitian) {
        check_inertia(solver.report(), 60, 25, 0);
      } else {
        CHECK_FALSE(solver.report().inertia.positive.has_value());
      }
      check_solution(solver, A);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("Cholesky", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(104);
  for (const int n : {1, 5, 80, 250}) {
    auto picture = symmetric_picture(n, 2.0 / n, random, [](std::size_t) { return 0.0; });
    for (std::size_t i = 0; i < picture.size(); ++i) {
      double sum = 1;
      for (const double value : picture[i]) sum += value == nothing ? 0 : std::abs(value);
      picture[i][i] = sum;
    }
    LdltOptions options;
    options.positive_definite = true;
    Symmetric<TestType> solver(options);
    auto A = from_dense<Matrix<TestType>>(picture);
    succeed(solver.analyze(A));
    CHECK(solver.report().choice.method == "cholesky");
    CHECK(solver.report().choice.pivot == "none");
    succeed(solver.factorize(A));
    check_inertia(solver.report(), n, 0, 0);
    CHECK(solver.report().pivots.two_by_two == 0);
    CHECK(solver.report().pivots.delayed == 0);
    check_solution(solver, A);
    // With one row negative the matrix is indefinite, and positive again afterwards.
    const auto row = static_cast<std::size_t>(n / 2);
    auto indefinite = A;
    for (auto p = static_cast<std::size_t>(A.row_map[row]); p < static_cast<std::size_t>(A.row_map[row + 1]);
         ++p)
      if (static_cast<std::size_t>(A.entries[p]) == row) indefinite.values[p] = Scalar(-1000);
    CHECK(solver.factorize(indefinite) == Status::not_positive_definite);
    CHECK(solver.report().status == Status::not_positive_definite);
    CHECK(solver.report().indefinite_column == n / 2);
    CHECK_FALSE(solver.report().inertia.positive.has_value());
    CHECK_THAT(describe(solver.report(), 1), ContainsSubstring("column " + std::to_string(n / 2 + 1)));
    std::vector<Scalar> b(static_cast<std::size_t>(n), Scalar(1)), x(b.size(), Scalar(7));
    CHECK(solver.solve_host(b, x) == Status::not_positive_definite);
    CHECK(x == std::vector<Scalar>(b.size(), Scalar(7)));
    succeed(solver.factorize(A));
    CHECK_FALSE(solver.report().indefinite_column.has_value());
    check_solution(solver, A);
  }
}

TEMPLATE_LIST_TEST_CASE("a shifted diagonal needs no new analysis", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(106);
  const int n = 60, m = 20;
  const auto A = saddle_point<Matrix<TestType>>(n, m, random);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  std::int64_t before = 0;
  for (const double delta : {0.0, 1.0, 100.0, 1e4}) {
    const Kokkos::View<RealOf<Scalar>*, typename TestType::Memory> shift("shift", n + m);
    Kokkos::deep_copy(shift, static_cast<RealOf<Scalar>>(delta));
    succeed(solver.factorize(to_space<typename TestType::Space>(A), shift));
    REQUIRE(solver.report().inertia.positive.has_value());
    CHECK(*solver.report().inertia.positive >= before);  // Weyl
    before = *solver.report().inertia.positive;
  }
  CHECK(before == n + m);
}

TEMPLATE_LIST_TEST_CASE("stored zeros and scaling by powers of two change nothing", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(107);
  const auto A = saddle_point<Matrix<TestType>>(50, 20, random);
  Matrix<TestType> padded{70, 70, {0}, {}, {}};  // with zeros, which need no mirror images
  for (std::size_t i = 0; i < 70; ++i) {
    std::vector<Scalar> row(70, Scalar(0));
    std::vector<char> stored(70, 0);
    for (int k = 0; k < 3; ++k) stored[random() % 70] = 1;
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      row[j] = value;
      stored[j] = 1;
    });
    for (std::size_t j = 0; j < 70; ++j) {
      if (!stored[j]) continue;
      padded.entries.push_back(static_cast<typename TestType::Ordinal>(j));
      padded.values.push_back(row[j]);
    }
    padded.row_map.push_back(padded.nnz());
  }
  auto scaled = A;
  for (std::size_t i = 0; i < 70; ++i)
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]); ++p)
      scaled.values[p] *= as_scalar<Scalar>(std::ldexp(
          1.0,
          static_cast<int>(i % 11) + static_cast<int>(static_cast<std::size_t>(A.entries[p]) % 11) - 10));
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  for (const auto& variant : {A, padded, scaled}) {
    Symmetric<TestType> solver(options);
    succeed(solver.analyze(variant));
    succeed(solver.factorize(variant));
    check_inertia(solver.report(), 50, 20, 0);
    check_solution(solver, variant);
  }
}

TEMPLATE_LIST_TEST_CASE("new values and shared analyses of symmetric matrices", "[ldlt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Numeric = lutra::Numeric<Scalar, Space>;
  std::mt19937 random(110);
  auto A = saddle_point<Matrix<TestType>>(50, 15, random);
  Symmetric<TestType> solver;
  succeed(solver.analyze(A));
  CHECK(solver.structure().row_order == solver.structure().col_order);
  CHECK(solver.structure().row_order.size() == 65);
  Numeric other(solver.analysis());
  std::size_t bytes = 0;
  for (int step = 0; step < 4; ++step) {
    for (Scalar& value : A.values) value *= as_scalar<Scalar>(1.5);
    succeed(solver.factorize(A));
    check_solution(solver, A);
    CHECK(solver.report().times.refactor.has_value() == (step > 0));
    if (step > 1) CHECK(solver.report().memory.device_peak_bytes == bytes);  // nothing more is allocated
    bytes = solver.report().memory.device_peak_bytes;
  }
  auto B = A;
  for (Scalar& value : B.values) value *= as_scalar<Scalar>(-2);
  succeed(other.factorize(to_space<Space>(B)));
  const auto system = known_system(B);
  const auto b = to_space<Space>(system.b);
  REQUIRE(other.solve(b, b) == Status::success);
  CHECK(Reference::backward_errors(B, to_vector(b), system.b).componentwise <= tight_bound<Scalar>());
  check_solution(solver, A);
  succeed(solver.analyze(B));  // anew
  succeed(solver.factorize(B));
  check_solution(solver, B);
}

TEMPLATE_LIST_TEST_CASE("invalid options of SparseLDLT are refused", "[ldlt]", AllTypes) {
  LdltOptions options;
  SECTION("threshold of 0") {
    options.pivot_threshold = 0;
  }
  SECTION("threshold above 1/2") {
    options.pivot_threshold = 0.6;
  }
  SECTION("NaN") {
    options.error_tolerance = std::numeric_limits<double>::quiet_NaN();
  }
  SECTION("perturbation without static pivoting") {
    options.perturbation = 1e-8;
  }
  SECTION("pairs without matching") {
    options.matching = Matching::none;
    options.pair_ordering = true;
  }
  SECTION("Cholesky with pivoting") {
    options.positive_definite = true;
    options.pivoting = Pivoting::threshold;
  }
  SECTION("Cholesky with pairs") {
    options.positive_definite = true;
    options.pair_ordering = true;
  }
  CHECK_THROWS_AS(Symmetric<TestType>(options), InputError);
}

TEMPLATE_LIST_TEST_CASE("a memory limit that symmetric factors exceed is reported", "[ldlt]", AllTypes) {
  std::mt19937 random(111);
  const auto A = saddle_point<Matrix<TestType>>(100, 40, random);
  LdltOptions options;
  Symmetric<TestType> unlimited(options);
  succeed(unlimited.analyze(A));
  const std::size_t analysis = unlimited.report().memory.device_peak_bytes;
  succeed(unlimited.factorize(A));
  const std::size_t all = unlimited.report().memory.device_peak_bytes;
  REQUIRE(all > analysis);
  options.memory_limit = (all + analysis) / 2;
  Symmetric<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK_THROWS_AS(solver.factorize(A), OutOfMemoryError);
  CHECK(solver.report().status == Status::out_of_memory);
}

}  // namespace lutra::Test
