// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCALEDSYSTEMS_HPP
#define LUTRA_SCALEDSYSTEMS_HPP

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {

template <class Scalar>
std::vector<Scalar> times_power(std::vector<Scalar> values, int e) {
  for (Scalar& value : values) value *= std::ldexp(RealOf<Scalar>(1), e);
  return values;
}
template <class MatrixType>
MatrixType matrix_times_power(MatrixType A, int e) {
  A.values = times_power(A.values, e);
  return A;
}

/// Exponents (p, q) of A·2^p and b·2^q over the range of a type, with entries of A, b and x of exponents
/// within ±10 of those of the powers: all stay normal numbers, and so does x·2^(q − p).
/// @param room exponents left free at both ends of the range, for numbers smaller than these entries
template <class Scalar>
std::vector<std::pair<int, int>> far_powers(int room = 0) {
  const int far = (sizeof(RealOf<Scalar>) == 8 ? 1010 : 100) - room;
  return {{1, 0},   {0, 1},    {1 - far, 1},        {far - 1, far}, {far, 0},
          {0, far}, {0, -far}, {far / 2, -far / 2}, {-far, -far},   {-far / 2, far / 2}};
}

/// Five-point stencils with random values. `hermitian`: positive definite; else without symmetry.
/// @param zero_pivot the second pivot of incomplete elimination in natural order is zero
template <class MatrixType>
MatrixType stencil(int side, bool hermitian, bool zero_pivot, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Traits = ScalarTraits<Scalar>;
  std::vector<int> label;
  for (int k = 0; k < side * side; ++k) label.push_back(k);
  auto A = grid_matrix<MatrixType>(side, label);
  const auto entry = [&](std::size_t i, std::size_t j) -> Scalar& {
    auto p = static_cast<std::size_t>(A.row_map[i]);
    while (static_cast<std::size_t>(A.entries[p]) != j) ++p;
    return A.values[p];
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      const auto j = static_cast<std::size_t>(A.entries[p]);
      if (i == j) A.values[p] = as_scalar<Scalar>(hermitian ? 7.0 : 5.0);
      if (j < i) A.values[p] = random_value<Scalar>(random, 0.4);
      if (j < i) entry(j, i) = hermitian ? Traits::conjugate(A.values[p]) : random_value<Scalar>(random, 0.4);
    }
  }
  if (zero_pivot) entry(0, 0) = entry(1, 1) = entry(0, 1) = entry(1, 0) = Scalar(2);
  return A;
}

/// Room for products of two rounding errors: imaginary parts that would be zero without them, those of pivots
/// of Hermitian matrices and of x.
template <class Scalar>
constexpr int room_for_rounding_errors =
    ScalarTraits<Scalar>::is_complex ? 2 * std::numeric_limits<RealOf<Scalar>>::digits + 4 : 0;

/// Status, refinement, perturbed pivots and escalations of a direct solver in other units; with `bits`, x
/// too.
template <class SolverType, class MatrixType, class Options>
void check_direct_powers(const MatrixType& A, const Options& options, bool bits) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const auto b = known_system(A).b;
  const auto solve = [&](int p, int q) {
    SolverType solver(options);
    const auto scaled = matrix_times_power(A, p);
    succeed(solver.analyze(scaled));
    succeed(solver.factorize(scaled));
    auto x = b;
    solver.solve_host(times_power(b, q), x);
    return std::pair(solver.report(), x);
  };
  const auto [expected, x] = solve(0, 0);
  REQUIRE(expected.status == Status::success);
  for (const auto& [p, q] : far_powers<Scalar>(room_for_rounding_errors<Scalar>)) {
    CAPTURE(p, q);
    const auto [found, y] = solve(p, q);
    CHECK(found.status == expected.status);
    CHECK(found.refinement_steps == expected.refinement_steps);
    CHECK(found.escalations == expected.escalations);
    CHECK(found.pivots.perturbed == expected.pivots.perturbed);
    if (bits) CHECK(y == times_power(x, q - p));
  }
}

}  // namespace lutra::Test

#endif
