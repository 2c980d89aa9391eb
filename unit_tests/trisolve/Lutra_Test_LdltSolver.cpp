// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with L·D·Lᵀ in fronts against dense products of factors that are made up, with columns delayed
// everywhere.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_FrontLdlt.hpp"
#include "Lutra_LdltSolves.hpp"
#include "Lutra_RandomLdlt.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
constexpr LdltParts only_lower{true, false, false}, only_diagonal{false, true, false},
    only_upper{false, false, true};

}  // namespace

TEMPLATE_LIST_TEST_CASE("solves with L·D·Lᵀ with delayed columns", "[trisolve]", AllTypes) {
  std::mt19937 random(31);
  for (const auto symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    for (const int n : {1, 2, 30, 150}) {
      for (const double mean : {1.5, 4.0, 12.0}) {
        INFO("n " << n << ", about " << mean << " entries a row");
        const auto pattern =
            add_mirror(dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random));
        RandomLdlt<TestType> ldlt(pattern, {symmetry}, random);
        CHECK((n < 150 || ldlt.delayed > 0));
        auto solves = solves_with<TestType>(ldlt);
        const auto F = ldlt.product();
        for (const int columns : {1, 6, 1}) solves.check_all(F, random, columns, columns == 6);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("solves with L·D·Lᵀ in fronts of every size", "[trisolve]", AllTypes) {
  std::mt19937 random(32);
  for (const int edge : {3, 15, 16, 17, 33, 70}) {
    INFO("blocks of " << edge);
    const auto pattern = bordered_blocks<Matrix<TestType>>(3, edge, edge == 70 ? 1 : 65, random);
    RandomLdlt<TestType> ldlt(pattern, {Symmetry::symmetric, edge == 33 ? 1.0 : 0.2}, random, no_zeros);
    solves_with<TestType>(ldlt).check_all(ldlt.product(), random, edge % 2 + 1);
  }
  // a front may delay all its columns, a chain of fronts to its end
  RandomLdlt<TestType> chain(banded_matrix<Matrix<TestType>>(120, {1}), {Symmetry::hermitian, 1.0}, random,
                             no_zeros);
  CHECK(chain.delayed > 500);
  solves_with<TestType>(chain).check_all(chain.product(), random, 2);
}

TEMPLATE_LIST_TEST_CASE("solves with L, D and Lᵀ in turn equal one solve with L·D·Lᵀ", "[trisolve]",
                        AllTypes) {
  std::mt19937 random(33);
  for (const auto symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    RandomLdlt<TestType> ldlt(bordered_blocks<Matrix<TestType>>(4, 20, 25, random), {symmetry}, random);
    auto solves = solves_with<TestType>(ldlt);
    for (const int columns : {1, 3}) {
      for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
        const auto B = solves.random_columns(columns, random);
        const auto X = solves.solve(B, op);
        const auto Y = solves.solve(B, op, only_lower);
        const auto Z = solves.solve(Y, op, only_diagonal, true);
        CHECK(solves.solve(Z, op, only_upper) == X);
        CHECK(solves.solve(B, op, {true, true, false}, true) == Z);
        CHECK(solves.solve(Y, op, {false, true, true}) == X);
        if (op != Transposition::none) continue;
        // the value of a step stands at the row of what it eliminates
        auto L = ldlt.product(), D = L;
        for (std::size_t i = 0; i < ldlt.eliminated.size(); ++i) {
          for (std::size_t j = 0; j < ldlt.eliminated.size(); ++j) {
            L[ldlt.eliminated[i]][ldlt.eliminated[j]] = ldlt.L[i][j];
            D[ldlt.eliminated[i]][ldlt.eliminated[j]] = ldlt.D[i][j];
          }
        }
        solves.check(L, B.front(), Y.front(), true, false);
        solves.check(D, Y.front(), Z.front(), false, false);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("solutions at zero pivots of D are zero", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(34);
  RandomLdlt<TestType> ldlt(bordered_blocks<Matrix<TestType>>(4, 20, 25, random),
                            {Symmetry::symmetric, 0.3, 0.3, 0.5}, random);
  auto solves = solves_with<TestType>(ldlt);
  const auto Y = solves.random_columns(1, random);
  const auto Z = solves.solve(Y, Transposition::none, only_diagonal).front();
  int zeros = 0;
  for (std::size_t k = 0; k < ldlt.eliminated.size(); ++k) {
    Reference::Wide<Scalar> sum(0);
    const auto user = [&](std::size_t step) {
      return static_cast<std::size_t>(ldlt.tree.order[ldlt.eliminated[step]]);
    };
    bool is_zero = true;
    for (std::size_t j = 0; j < ldlt.eliminated.size(); ++j) {
      sum += ldlt.D[k][j] * Reference::widen(Z[user(j)]);
      is_zero = is_zero && ldlt.D[k][j] == Reference::Wide<Scalar>(0);
    }
    zeros += is_zero ? 1 : 0;
    if (is_zero) {
      CHECK(Z[user(k)] == Scalar(0));
    } else {
      CHECK(std::abs(sum - Reference::widen(Y.front()[user(k)])) <= 100 * epsilon_of<Scalar>);
    }
  }
  CHECK(zeros > 10);
}

TEMPLATE_LIST_TEST_CASE("the determinant is computed from factors", "[trisolve]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Real = RealOf<Scalar>;
  std::mt19937 random(35);
  for (const auto symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    RandomLdlt<TestType> ldlt(bordered_blocks<Matrix<TestType>>(4, 20, 25, random), {symmetry}, random);
    Reference::Wide<Scalar> sign(1);
    long double log_magnitude = 0;
    const auto multiply = [&](const Reference::Wide<Scalar>& factor) {
      sign *= factor / std::abs(factor);
      log_magnitude += std::log(std::abs(factor));
    };
    const auto scale = ldlt_scale<Real>(ldlt.eliminated.size());
    for (std::size_t k = 0; k < ldlt.eliminated.size(); ++k) {
      log_magnitude -= 2 * std::log(static_cast<long double>(scale[k]));
      if (k > 0 && ldlt.D[k][k - 1] != Reference::Wide<Scalar>(0)) continue;
      if (k + 1 < ldlt.eliminated.size() && ldlt.D[k + 1][k] != Reference::Wide<Scalar>(0)) {
        multiply(ldlt.D[k][k] * ldlt.D[k + 1][k + 1] - ldlt.D[k + 1][k] * ldlt.D[k][k + 1]);
      } else {
        multiply(ldlt.D[k][k]);
      }
    }
    const auto got =
        determinant<Scalar>(ldlt.exec, ldlt.plan, ldlt.factors, to_space<typename TestType::Space>(scale));
    const auto n = static_cast<double>(scale.size());
    CHECK(std::abs(got.log_magnitude - static_cast<double>(log_magnitude)) <= 10 * n * epsilon_of<Scalar>);
    CHECK(std::abs(Reference::widen(got.sign) - sign) <= 10 * n * epsilon_of<Scalar>);
  }
  // a pivot of zero, and 2 x 2 pivots whose products overflow
  RandomLdlt<TestType> singular(bordered_blocks<Matrix<TestType>>(4, 20, 25, random),
                                {Symmetry::symmetric, 0.3, 0.3, 0.5}, random);
  const auto zero = determinant<Scalar>(singular.exec, singular.plan, singular.factors, {});
  CHECK(zero.sign == Scalar(0));
  CHECK(zero.log_magnitude == -std::numeric_limits<double>::infinity());
  RandomLdlt<TestType> large(from_dense<Matrix<TestType>>({{1, 1}, {1, 1}}), {Symmetry::symmetric, 0, 0},
                             random);
  const Real huge = std::numeric_limits<Real>::max() / 4;
  large.factors.kind =
      to_space<typename TestType::Space>(std::vector{PivotKind::first_of_two, PivotKind::second_of_two});
  large.factors.diagonal = to_space<typename TestType::Space>(std::vector{Scalar(huge), Scalar(-huge)});
  large.factors.off_diagonal = to_space<typename TestType::Space>(std::vector{Scalar(huge), Scalar(0)});
  const auto product = determinant<Scalar>(large.exec, large.plan, large.factors, {});
  CHECK(product.sign == Scalar(-1));
  CHECK(std::abs(product.log_magnitude - (2 * std::log(static_cast<double>(huge)) + std::log(2.0))) <= 1e-4);
}

TEMPLATE_LIST_TEST_CASE("LDLT: too many right-hand sides for the memory leave the solver usable",
                        "[trisolve][errors]", AllTypes) {
  std::mt19937 random(38);
  RandomLdlt<TestType> ldlt(bordered_blocks<Matrix<TestType>>(4, 20, 25, random), {Symmetry::symmetric},
                            random);
  auto solves = solves_with<TestType>(ldlt);
  const auto make = [&](const MemoryBudget& budget) {
    return decltype(solves.solver)(ldlt.exec, ldlt.plan, budget);
  };
  const auto one = solves.random_columns(1, random), six = solves.random_columns(6, random);
  const MemoryBudget unlimited;
  solves.solver = make(unlimited);
  const auto x = solves.solve(one, Transposition::none);
  const std::size_t narrow = unlimited.used_bytes();
  const auto X = solves.solve(six, Transposition::none);
  const std::size_t wide = unlimited.used_bytes();
  REQUIRE(narrow < wide);
  CHECK(unlimited.peak_bytes() == wide);  // never the vectors of both
  const MemoryBudget limited(wide - 1);
  solves.solver = make(limited);
  for (int again = 0; again < 2; ++again) {
    CHECK(solves.solve(one, Transposition::none) == x);
    CHECK(limited.used_bytes() == narrow);
    CHECK_THROWS_AS(solves.solve(six, Transposition::none), OutOfMemoryError);
    CHECK(limited.used_bytes() <= narrow);
  }
  CHECK(solves.solve(one, Transposition::none) == x);
  CHECK(limited.used_bytes() == narrow);
  CHECK(limited.peak_bytes() < wide);
  const MemoryBudget enough(wide);
  solves.solver = make(enough);
  solves.solve(one, Transposition::none);
  CHECK(solves.solve(six, Transposition::none) == X);
  solves.solver = make(MemoryBudget());
  CHECK(enough.used_bytes() == 0);
}

#ifdef KOKKOS_ENABLE_CUDA
// No tree makes a front wait for itself: its parent is changed in the plan by hand.
TEST_CASE(
    "the watchdog ends a solve with L·D·Lᵀ in which a front waits for itself, and the next solve succeeds",
    "[trisolve]") {
  using Type = Types<double, int, Kokkos::Cuda>;
  std::mt19937 random(39);
  for (const int edge : {5, 150}) {  // by warps, by blocks
    RandomLdlt<Type> ldlt(bordered_blocks<Matrix<Type>>(3, edge, 2, random), {Symmetry::symmetric}, random,
                          no_zeros);
    auto solves = solves_with<Type>(ldlt);
    solves.solver = decltype(solves.solver)(ldlt.exec, ldlt.plan, MemoryBudget(), {false, 0.05});
    const auto F = ldlt.product();
    const auto B = solves.random_columns(6, random);
    const auto good = ldlt.plan.base.fronts;
    auto fronts = ldlt.plan.base.layout.fronts;
    const auto first_pivot = fronts[1].first_pivot;
    fronts[1].parent = 1;
    ldlt.plan.base.fronts = to_space<Kokkos::Cuda>(fronts);
    const auto is_nan = [](double value) { return std::isnan(value); };
    for (const auto& x : solves.solve(B, Transposition::none)) CHECK(std::ranges::any_of(x, is_nan));
    ldlt.plan.base.fronts = good;
    for (const auto& x : solves.solve(B, Transposition::none)) CHECK(std::ranges::all_of(x, is_nan));
    CHECK(solves.solver.consume_timeout(ldlt.exec, ldlt.plan) == first_pivot);
    CHECK(solves.solver.consume_timeout(ldlt.exec, ldlt.plan) == -1);
    for (const int columns : {1, 6}) solves.check_all(F, random, columns);
  }
}
#endif

}  // namespace lutra::Test
