// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factors of LDLᵀ repeat bit by bit, and ways of pivoting within fronts give sound ones.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {
namespace {

template <class T>
bool has_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class Scalar>
void check_same(const FactorValues<Scalar>& a, const FactorValues<Scalar>& b) {
  CHECK(a.row_order == b.row_order);
  CHECK(a.rows == b.rows);
  CHECK(a.columns == b.columns);
  CHECK(has_same_bits(a.values, b.values));
  CHECK(has_same_bits(a.diagonal, b.diagonal));
  CHECK(has_same_bits(a.off_diagonal, b.off_diagonal));
}

/// Matrices whose factorizations take each kind of pivots: the diagonal, pairs, delayed ones; with small
/// fronts, and with one that many threads share.
template <class MatrixType>
std::vector<std::pair<std::string, MatrixType>> matrices_to_repeat() {
  std::mt19937 random(118);
  const auto quasi_definite =
      symmetric_picture(150, 0.05, random, [](std::size_t i) { return i % 3 == 0 ? -40.0 : 40.0; });
  auto pairs = symmetric_picture(260, 0.2, random, [](std::size_t) { return 0.0; });
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) pairs[i][i + 1] = pairs[i + 1][i] = 30;
  const auto dense =
      symmetric_picture(300, 1.0, random, [](std::size_t i) { return i % 5 == 0 ? 0.0 : 1.0; });
  return {{"quasi-definite", from_dense<MatrixType>(quasi_definite)},
          {"zero diagonal", from_dense<MatrixType>(pairs)},
          {"dense", from_dense<MatrixType>(dense)},
          {"saddle point", saddle_point<MatrixType>(240, 80, random)}};
}

/// The largest magnitudes of entries of L, and of those of L(:, k)·D(k, k)·L(:, k)ᴴ for all pivots k.
struct FactorSizes {
  double factor = 0, term = 0;
};

template <class Scalar>
FactorSizes sizes_of(const FactorValues<Scalar>& factors) {
  const std::size_t n = factors.row_order.size();
  std::vector<std::vector<Scalar>> columns(n, std::vector<Scalar>(n));  // of L
  FactorSizes sizes;
  for (std::size_t e = 0; e < factors.rows.size(); ++e) {
    columns[static_cast<std::size_t>(factors.columns[e])][static_cast<std::size_t>(factors.rows[e])] =
        factors.values[e];
    sizes.factor = std::max(sizes.factor, static_cast<double>(Kokkos::abs(factors.values[e])));
  }
  const auto note = [&](const Scalar& term) {
    sizes.term = std::max(sizes.term, static_cast<double>(Kokkos::abs(term)));
  };
  const auto& D = factors.diagonal;
  const auto& off = factors.off_diagonal;
  for (std::size_t k = 0; k < n; ++k) {
    if (k > 0 && off[k - 1] != Scalar(0)) continue;  // the second of a pair
    const auto& l = columns[k];
    if (off[k] == Scalar(0)) {
      for (std::size_t i = k + 1; i < n; ++i) note(l[i] * D[k] * ScalarTraits<Scalar>::conjugate(l[i]));
      continue;
    }
    const auto& next = columns[k + 1];
    for (std::size_t i = k + 2; i < n; ++i) {
      const Scalar x = l[i] * D[k] + next[i] * off[k];
      const Scalar y = l[i] * ScalarTraits<Scalar>::conjugate(off[k]) + next[i] * D[k + 1];
      for (std::size_t j = k + 2; j < n; ++j)
        note(x * ScalarTraits<Scalar>::conjugate(l[j]) + y * ScalarTraits<Scalar>::conjugate(next[j]));
    }
  }
  return sizes;
}

/// The largest magnitude of an entry of the scaled matrix.
template <class MatrixType, class Scalar>
double largest_scaled(const MatrixType& A, const FactorValues<Scalar>& factors) {
  double largest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i)
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      const Scalar scaled = value * factors.row_scale[i] * factors.col_scale[j];
      largest = std::max(largest, static_cast<double>(Kokkos::abs(scaled)));
    });
  return largest;
}

/// Checks what the threshold u promises: no entry of L above 1/u; or, of pivots in place, no product of
/// L·D·Lᴴ above 1/u² times the largest entry of the scaled matrix, to which pivots that small may lead.
template <class SolverType, class MatrixType>
void check_bounds(const SolverType& solver, const MatrixType& A, double threshold) {
  const auto factors = solver.factors();
  const FactorSizes sizes = sizes_of(factors);
  const double bound = (1 + 1e-5) / threshold;
  INFO("pivots by " << solver.report().pivots.attempt << ", largest product " << sizes.term);
  if (solver.report().pivots.attempt == "delays" || sizes.term > bound * bound * largest_scaled(A, factors))
    CHECK(sizes.factor <= bound);
}

/// The same pattern with other values.
template <class MatrixType>
MatrixType with_other_values(MatrixType A) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  for (auto& value : A.values) value *= as_scalar<Scalar>(0.75);
  return A;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("factors of L·D·Lᵀ repeat bit by bit", "[ldlt][repeats]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  for (const auto& [name, A] : matrices_to_repeat<Matrix<TestType>>()) {
    for (const auto in_place_first : {std::optional<bool>(), std::optional(false), std::optional(true)}) {
      LdltOptions options;
      options.symmetry = Symmetry::hermitian;
      options.in_place_first = in_place_first;
      INFO(name << ", pivots in place " << (in_place_first ? std::to_string(*in_place_first) : "by default"));
      Symmetric<TestType> solver(options);
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      succeed(solver.factorize(A));  // with what the first one has learnt
      const FactorValues<Scalar> first = solver.factors();
      const std::string attempt = solver.report().pivots.attempt;
      const auto other = with_other_values(A);
      for (int repeat = 0; repeat < 4; ++repeat) {
        if (repeat == 2) succeed(solver.factorize(other));
        succeed(solver.factorize(A));
        CHECK(solver.report().pivots.attempt == attempt);
        check_same(solver.factors(), first);
      }
      for (int object = 0; object < 2; ++object) {
        Symmetric<TestType> fresh(options);
        succeed(fresh.analyze(A));
        succeed(fresh.factorize(A));
        succeed(fresh.factorize(A));
        check_same(fresh.factors(), first);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("pivots in place and delayed ones are as large as the threshold asks", "[ldlt]",
                        AllTypes) {
  for (const auto& [name, A] : matrices_to_repeat<Matrix<TestType>>()) {
    for (const bool in_place_first : {false, true}) {
      for (const Matching matching : {Matching::automatic, Matching::none}) {
        INFO(name << ", pivots in place first: " << in_place_first << ", matching "
                  << static_cast<int>(matching));
        LdltOptions options;
        options.symmetry = Symmetry::hermitian;
        options.in_place_first = in_place_first;
        options.matching = matching;
        Symmetric<TestType> solver(options);
        succeed(solver.analyze(A));
        succeed(solver.factorize(A));
        if (!in_place_first) CHECK(solver.report().pivots.attempt == "delays");
        check_bounds(solver, A, options.pivot_threshold);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("hosts pivot by columns or by blocks in every front", "[ldlt]", AllTypes) {
  constexpr bool is_host = lutra::Impl::is_host_space<typename TestType::Space>;
  for (const auto& [name, A] : matrices_to_repeat<Matrix<TestType>>()) {
    std::optional<Inertia> inertia;
    for (const auto way : {FrontPivoting::automatic, FrontPivoting::columns, FrontPivoting::blocks}) {
      INFO(name << ", way " << static_cast<int>(way));
      LdltOptions options;
      options.symmetry = Symmetry::hermitian;
      options.front_pivoting = way;
      Symmetric<TestType> solver(options);
      if (!is_host && way != FrontPivoting::automatic) {
        CHECK_THROWS_AS(solver.analyze(A), InputError);
        continue;
      }
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      if (!inertia) inertia = solver.report().inertia;
      check_inertia(solver.report(), *inertia->positive, *inertia->negative, *inertia->zero);
      check_solution(solver, A);
      check_bounds(solver, A, options.pivot_threshold);
    }
  }
  LdltOptions options;
  options.front_pivoting = FrontPivoting::blocks;
  options.pivoting = Pivoting::static_perturbed;
  CHECK_THROWS_AS(check_options(options), InputError);
}

}  // namespace lutra::Test
