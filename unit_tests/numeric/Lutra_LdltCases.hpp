// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTCASES_HPP
#define LUTRA_LDLTCASES_HPP

#include "Lutra_LdltRun.hpp"

namespace lutra::Test {

template <class Scalar>
std::vector<Symmetry> symmetries_of() {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {Symmetry::hermitian, Symmetry::symmetric};
  } else {
    return {Symmetry::symmetric};
  }
}

/// Whether eigenvalues give the inertia: of real and of Hermitian matrices.
template <class Scalar>
bool has_inertia(Symmetry symmetry) {
  return !ScalarTraits<Scalar>::is_complex || symmetry == Symmetry::hermitian;
}

/// One of SSIDS' cases (its tests/ssids/kernels/ldlt_app.cxx says which): 7 of 10 have large rows and entries
/// that make pivots fail, 2 are singular, 1 has a singular diagonal block.
template <class Scalar>
Dense<Scalar> recipe(int number, int n, int& rank, Symmetry symmetry, std::mt19937& random) {
  auto A = random_symmetric<Scalar>(n, symmetry, random);
  const auto size = static_cast<std::size_t>(n);
  const auto any = [&](std::size_t below) { return static_cast<std::size_t>(random()) % below; };
  const auto copy = [&](std::size_t from, std::size_t to) {
    for (std::size_t j = 0; j < size; ++j)
      if (j != to) set(A, to, j, A[from][j], symmetry);
    A[to][to] = A[from][from];
    set(A, to, from, A[from][from], symmetry);
  };
  rank = n;
  if (number % 10 < 7) {
    for (std::size_t k = 0; k < size / 8; ++k) {
      const std::size_t row = any(size);
      for (std::size_t j = 0; j < size; ++j) set(A, row, j, A[row][j] * as_scalar<Scalar>(1000), symmetry);
      const std::size_t i = any(size), j = any(i + 1);
      set(A, i, j, A[i][j] * as_scalar<Scalar>(1000), symmetry);
      if (i == j) A[i][i] = Scalar(lutra::Impl::real_part(A[i][i]));
    }
  } else if (number % 10 < 9) {
    copy(0, size / 2);
    copy(1, size - 1);
    rank = n - 2;
  } else {
    for (std::size_t i = 0; i < size / 4; ++i) {
      for (std::size_t j = 0; j < size / 4; ++j) A[i][j] = Scalar(0);
    }
  }
  return A;
}

/// H with a large positive diagonal below, B of full rank: inertia (rows of H, rows of B, 0).
template <class Scalar>
Dense<Scalar> saddle_point(int constraints, int variables, Symmetry symmetry, std::mt19937& random) {
  auto A = random_symmetric<Scalar>(constraints + variables, symmetry, random);
  const auto m = static_cast<std::size_t>(constraints);
  for (std::size_t i = 0; i < A.size(); ++i) {
    if (i >= m) A[i][i] = as_scalar<Scalar>(20.0 * variables);
    for (std::size_t j = 0; i < m && j < m; ++j) A[i][j] = Scalar(0);
    if (i < m) set(A, m + i, i, as_scalar<Scalar>(10.0 * variables), symmetry);
  }
  return A;
}

/// Factors are those of A, and pass the threshold test.
template <class Types>
void check_factors(const LdltResult<Types>& result, const LdltSetup& setup, double bound = 40) {
  REQUIRE(result.outcome.succeeded());
  CHECK(result.largest_l() <= 1.0 / setup.rule.threshold * (1 + 1e-5));
  CHECK(backward_error(result, setup.rule.symmetry) <= bound);
}

}  // namespace lutra::Test

#endif
