// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <random>
#include <vector>

#include "Lutra_SinglePrecision.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
Matrix<Types> example() {
  std::mt19937 random(34);
  return dominant_matrix<Matrix<Types>>(60, 0.1, random);
}

LuOptions with_check(SolutionCheck check) {
  LuOptions options;
  options.check = check;
  return options;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("an unchecked solve is the first solution of a checked one, without its errors",
                        "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = example<TestType>();
  const int n_rhs = 19;  // more than one block
  const auto system = known_system(A);
  std::vector<Scalar> b;
  for (int c = 0; c < n_rhs; ++c) b.insert(b.end(), system.b.begin(), system.b.end());
  std::vector<Scalar> x(b.size()), expected(b.size());
  LuOptions unrefined;
  unrefined.max_refinement_steps = 0;
  Solver<TestType> reference(unrefined), solver(with_check(SolutionCheck::never));
  for (auto* one : {&reference, &solver}) {
    succeed(one->analyze(A));
    succeed(one->factorize(A));
  }
  for (const Transposition op : {Transposition::none, Transposition::adjoint}) {
    (void)reference.solve_host(b, expected, op);
    CHECK(solver.solve_host(b, x, op) == Status::unchecked);
    CHECK(x == expected);
    CHECK(solver.report().status == Status::unchecked);
    CHECK_FALSE(solver.report().errors.backward_componentwise.has_value());
    CHECK_FALSE(solver.report().errors.backward_normwise.has_value());
    CHECK(solver.report().times.solve.has_value());
  }
  b[7] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  const auto before = x;
  CHECK_THROWS_AS(solver.solve_host(b, x), InputError);
  CHECK(x == before);
}

TEMPLATE_LIST_TEST_CASE("one right-hand side: the same bits in place, apart and with strides", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using View = Kokkos::View<Scalar*, typename TestType::Memory>;
  const auto A = example<TestType>();
  const auto system = known_system(A);
  for (const SolutionCheck check : {SolutionCheck::always, SolutionCheck::never}) {
    LuOptions options = with_check(check);
    options.solve_precision = FactorPrecision::single;  // refinement corrects X several times
    Solver<TestType> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    const Status expected = check == SolutionCheck::always ? Status::success : Status::unchecked;
    std::vector<Scalar> first;
    for (int round = 0; round < 2; ++round) {  // each finds the workspace as it was
      const auto B = to_space<Space>(system.b), both = to_space<Space>(system.b);
      const View X("X", B.extent(0));
      CHECK(solver.solve(B, X) == expected);
      if (check == SolutionCheck::always && sizeof(RealOf<Scalar>) == 8)
        CHECK(solver.report().refinement_steps > 0);
      if (round == 0) first = to_vector(X);
      CHECK(to_vector(X) == first);
      CHECK(to_vector(B) == system.b);
      CHECK(solver.solve(both, both) == expected);
      CHECK(to_vector(both) == first);
      const Kokkos::View<Scalar**, Kokkos::LayoutRight, typename TestType::Memory> wide("wide", B.extent(0),
                                                                                        2);
      CHECK(solver.solve(B, Kokkos::subview(wide, Kokkos::ALL, 1)) == expected);
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), wide);
      for (std::size_t i = 0; i < first.size(); ++i) {
        REQUIRE(host(i, 0) == Scalar(0));
        REQUIRE(host(i, 1) == first[i]);
      }
      auto bad = system.b;
      bad[7] = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
      CHECK_THROWS_AS(solver.solve(to_space<Space>(bad), X), InputError);
      CHECK(to_vector(X) == first);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the first solve after each factorization is checked", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = example<TestType>();
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  auto options = with_check(SolutionCheck::first);
  options.error_tolerance = 1e-4;  // the solution of these factors needs no refinement
  Solver<TestType> solver(options);
  succeed(solver.analyze(A));
  for (int factorization = 0; factorization < 2; ++factorization) {
    succeed(solver.factorize(A));
    CHECK(solver.solve_host(system.b, x) == Status::success);
    CHECK(solver.report().errors.backward_componentwise.has_value());
    for (int again = 0; again < 2; ++again) {
      CHECK(solver.solve_host(system.b, x) == Status::unchecked);
      CHECK(Reference::backward_errors(A, x, system.b).componentwise <= 1e-4);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("solutions that need refinement are checked again", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  // The second pivot cancels and is perturbed (Lutra_Test_LuStatus.cpp).
  const auto A = from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});
  auto options = with_check(SolutionCheck::first);
  options.ordering = Ordering::natural;
  options.matching = Matching::none;
  Solver<TestType> solver(options);
  const auto system = known_system(A);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  REQUIRE(solver.report().pivots.perturbed == 1);
  std::vector<Scalar> x(3);
  for (int again = 0; again < 3; ++again) {
    x.assign(3, Scalar(0));
    CHECK(solver.solve_host(system.b, x) == Status::success);
    CHECK(solver.report().refinement_steps > 0);
    CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
  }
}

TEMPLATE_LIST_TEST_CASE("singular factors are checked in spite of the option", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = from_dense<Matrix<TestType>>({{1, 2}, {2, 4}});
  auto options = with_check(SolutionCheck::never);
  Solver<TestType> refused(options);
  succeed(refused.analyze(A));
  CHECK(refused.factorize(A) == Status::numerically_singular);
  std::vector<Scalar> b{Scalar(1), Scalar(2)}, x(2, Scalar(5));
  CHECK(refused.solve_host(b, x) == Status::numerically_singular);
  CHECK(x == std::vector<Scalar>(2, Scalar(5)));
  options.solve_singular = true;
  Solver<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK(solver.factorize(A) == Status::numerically_singular);
  CHECK(solver.solve_host(b, x) == Status::numerically_singular);
  CHECK(solver.report().errors.backward_componentwise.has_value());
}

TEMPLATE_LIST_TEST_CASE("solutions of unit vectors, with exact zeros, are found", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  // Pivots cancel and are perturbed. In rows whose unknowns are all zero every correction leaves some error.
  const std::vector<std::vector<double>> pictures[] = {{{1, 1, o, o, 1, o, o, o},
                                                        {1, 1, 1, o, 1, o, 1, 1},
                                                        {o, o, 1, o, o, o, o, 1},
                                                        {o, 1, o, 1, o, o, o, o},
                                                        {o, o, o, 1, 1, 1, 1, o},
                                                        {o, o, o, o, 1, 1, o, o},
                                                        {o, o, o, o, 1, o, 1, o},
                                                        {o, o, o, o, o, o, o, 1}},
                                                       {{1, o, o, o, o, o, o, o, o, o, o},
                                                        {o, 1, o, o, o, o, o, o, 1, o, o},
                                                        {o, o, 1, o, o, 1, o, o, 1, o, o},
                                                        {o, o, o, 1, o, 1, o, o, 1, o, o},
                                                        {o, o, o, o, 1, o, o, o, o, o, o},
                                                        {1, o, o, 1, o, 1, o, o, 1, 1, o},
                                                        {o, 1, o, o, 1, o, 1, o, o, 1, 1},
                                                        {o, 1, o, o, o, o, o, 1, 1, o, o},
                                                        {1, o, 1, o, 1, o, o, o, 1, o, o},
                                                        {o, 1, 1, o, o, o, o, o, 1, 1, o},
                                                        {o, 1, o, o, o, o, o, o, o, o, 1}}};
  for (const auto& picture : pictures) {
    for (const Pivoting pivoting : {Pivoting::static_perturbed, Pivoting::threshold}) {
      const auto A = from_dense<Matrix<TestType>>(picture);
      LuOptions options;
      options.pivoting = pivoting;
      Solver<TestType> solver(options);
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      const std::size_t n = picture.size();
      std::vector<Scalar> I(n * n, Scalar(0)), X(n * n);
      for (std::size_t c = 0; c < n; ++c) I[c * n + c] = Scalar(1);
      CHECK(solver.solve_host(I, X) == Status::success);
      for (std::size_t c = 0; c < n; ++c) {
        const auto column = static_cast<std::ptrdiff_t>(c * n), end = column + static_cast<std::ptrdiff_t>(n);
        const std::vector<Scalar> b(I.begin() + column, I.begin() + end);
        std::vector<Scalar> x(X.begin() + column, X.begin() + end);
        const auto expected = Reference::dense_solve(A, b);
        for (std::size_t i = 0; i < n; ++i)
          CHECK(static_cast<double>(std::abs(Reference::widen(x[i]) - expected[i])) <= tight_bound<Scalar>());
        Solver<TestType> fresh(options);
        succeed(fresh.analyze(A));
        succeed(fresh.factorize(A));
        x.assign(n, Scalar(0));
        CHECK(fresh.solve_host(b, x) == Status::success);
        CHECK(Reference::backward_errors(A, x, b).componentwise <= tight_bound<Scalar>());
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a regular matrix whose inverse has a zero at a perturbed pivot is regular",
                        "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  // In single precision the second pivot cancels and is perturbed. The bilinear form that tells singular
  // matrices vanishes by chance.
  const auto A =
      from_dense<Matrix<TestType>>({{-1, -1, o, 1}, {-1, o, 1, -1}, {-1, -1, 1, 1}, {-1, o, o, 1}});
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  const auto system = known_system(A);
  std::vector<Scalar> x(4);
  CHECK(solver.solve_host(system.b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
}

TEMPLATE_LIST_TEST_CASE("a solved right-hand side does not hold up another one", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  const auto A = from_dense<Matrix<TestType>>({{o, -2, o, o, o, o, o, 1},
                                               {-2, 1, 1, o, o, o, o, o},
                                               {o, 1, o, o, o, o, o, 1},
                                               {o, o, o, o, -1, o, o, o},
                                               {o, o, o, -1, -1, 1, 2, -1},
                                               {o, o, o, o, 1, -1, -1, -2},
                                               {o, o, o, o, 2, -1, 1, o},
                                               {1, o, 1, o, -1, -2, o, -1}});
  std::vector<Scalar> B, X(16);
  for (const double b :
       {3., -1.5, -1.5, 0., 1.5, -1.5, -1.5, -3., 512., 0., 512., -512., -512., 512., 2048., 1024.})
    B.push_back(as_scalar<Scalar>(b));
  Symmetric<TestType> solver;
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  CHECK(solver.solve_host(B, X) == Status::success);
}

TEMPLATE_LIST_TEST_CASE("new values that are singular are found by factors in single precision", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  auto A = from_dense<Matrix<TestType>>({{-3, o, 3, -2, o, o},
                                         {-3, 2, o, o, -2, -3},
                                         {0, -2, 3, o, 2, -3},
                                         {3, o, o, -1, o, o},
                                         {o, o, 1, o, 1, o},
                                         {-1, o, o, o, -1, -2}});
  const auto singular = A.values;
  const auto system = known_system(A);
  LuOptions options;
  if (lutra::Impl::has_single_factors<Scalar>) options.factor_precision = FactorPrecision::single;
  Solver<TestType> solver(options);
  // a regular matrix first: ones, and 2 … 7 on the diagonal where the pattern has it
  for (std::size_t i = 0; i < 6; ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
         ++e) {
      const double size = singular[e] == Scalar(0) ? 0 : 1;
      const bool is_diagonal = static_cast<std::size_t>(A.entries[e]) == i;
      A.values[e] = as_scalar<Scalar>(is_diagonal ? size + static_cast<double>(i) + 1 : size);
    }
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  A.values = singular;
  std::vector<Scalar> x(6);
  CHECK(solver.factorize(A) == Status::numerically_singular);
  CHECK(solver.solve_host(system.b, x) == Status::numerically_singular);
}

TEMPLATE_LIST_TEST_CASE(
    "a singular matrix solved with single triangles takes no pivots that these cannot have", "[solver]",
    AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  const auto A = from_dense<Matrix<TestType>>({{1, 1, o, 1}, {1, o, 1, -1}, {o, 1, -1, 1}, {1, o, 1, -1}});
  LuOptions options;
  options.solve_precision = FactorPrecision::single;
  Solver<TestType> solver(options);
  succeed(solver.analyze(A));
  CHECK(solver.factorize(A) == Status::numerically_singular);
  std::vector<Scalar> b(4, Scalar(1)), x(4);
  CHECK(solver.solve_host(b, x) == Status::numerically_singular);
}

}  // namespace lutra::Test
