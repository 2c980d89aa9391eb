// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// Small matrices, each of which some rule for singular ones once got wrong: singular matrices without a small
// pivot, and regular ones that a pivot of 1e-13 must not make singular.

namespace lutra::Test {
namespace {

using Matrix = HostMatrix<double, int, std::int64_t>;
using Rows = std::vector<std::vector<double>>;

Matrix sparse(const Rows& rows) {
  Matrix A;
  A.n_rows = A.n_cols = static_cast<int>(rows.size());
  A.row_map = {0};
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      A.entries.push_back(static_cast<int>(j));
      A.values.push_back(row[j]);
    }
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  return A;
}

Rows square(std::size_t n) {
  return Rows(n, std::vector<double>(n, 0.0));
}

/// BᵀB of the n − 1 rows (1, −2): integers, and (1, 1/2, 1/4, …) is their null vector.
Rows graded(std::size_t n) {
  Rows A = square(n);
  for (std::size_t k = 0; k + 1 < n; ++k) {
    A[k][k] += 1;
    A[k + 1][k + 1] += 4;
    A[k][k + 1] = A[k + 1][k] = -2;
  }
  return A;
}

/// The Laplacian of a path.
Rows path(std::size_t n) {
  Rows A = square(n);
  for (std::size_t k = 0; k + 1 < n; ++k) {
    A[k][k] += 1;
    A[k + 1][k + 1] += 1;
    A[k][k + 1] = A[k + 1][k] = -1;
  }
  return A;
}

/// A·x for x = (1, 2, 3, …).
std::vector<double> right_side(const Rows& A) {
  std::vector<double> b;
  for (const auto& row : A) {
    long double sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j) sum += static_cast<long double>(row[j]) * (1.0L + j);
    b.push_back(static_cast<double>(sum));
  }
  return b;
}

/// A sparse matrix of small integers whose last row is the difference of the first two, each of its entries
/// changed by 1e-13 or less of its size.
Rows nearly_dependent(unsigned seed) {
  std::mt19937 random(seed);
  const auto integer = [&](unsigned below) { return static_cast<double>(random() % below); };
  Rows A = square(8 + random() % 8);
  for (std::size_t i = 0; i < A.size(); ++i)
    for (std::size_t j = 0; j < A.size(); ++j)
      if (i == j || random() % 3 == 0) A[i][j] = integer(17) - 8;
  for (std::size_t j = 0; j < A.size(); ++j) {
    A.back()[j] = A[0][j] - A[1][j];
    A.back()[j] += 1e-13 * (integer(201) - 100) / 100 * A[0][j];
  }
  return A;
}

using Lu = SparseLU<double, Kokkos::DefaultHostExecutionSpace>;
using Ldlt = SparseLDLT<double, Kokkos::DefaultHostExecutionSpace>;

template <class Solver>
Status status_of(Solver& solver, const Rows& rows) {
  const Matrix A = sparse(rows);
  const std::vector<double> b = right_side(rows);
  std::vector<double> x(b.size());
  succeed(solver.analyze(A));
  const Status factorized = solver.factorize(A), solved = solver.solve_host(b, x);
  if (factorized != Status::success) CHECK(solved == factorized);
  return solved;
}

void check_singular(const Rows& A) {
  for (const Engine engine : {Engine::automatic, Engine::multifrontal}) {
    for (const Pivoting pivoting : {Pivoting::static_perturbed, Pivoting::threshold}) {
      if (pivoting == Pivoting::threshold && engine != Engine::multifrontal) continue;
      LuOptions options;
      options.engine = engine;
      options.pivoting = pivoting;
      Lu lu(options);
      CHECK(status_of(lu, A) == Status::numerically_singular);
      CHECK_FALSE(lu.report().singular_columns.empty());
    }
  }
  LdltOptions options;
  Ldlt ldlt(options);
  CHECK(status_of(ldlt, A) == Status::numerically_singular);
  CHECK(ldlt.report().inertia.zero == 1);
  CHECK(ldlt.report().inertia.positive == static_cast<std::int64_t>(A.size()) - 1);
  options.positive_definite = true;
  Ldlt cholesky(options);
  const Status status = status_of(cholesky, A);
  CHECK((status == Status::numerically_singular || status == Status::not_positive_definite));
}

void check_regular(const Rows& rows, double max_error) {
  const Matrix A = sparse(rows);
  const std::vector<double> b = right_side(rows);
  for (const Transposition op : {Transposition::none, Transposition::transposed}) {
    if (op == Transposition::transposed && rows[0][1] != rows[1][0]) continue;  // b is of A
    Lu lu;
    succeed(lu.analyze(A));
    succeed(lu.factorize(A));
    std::vector<double> x(b.size());
    CHECK(lu.solve_host(b, x, op) == Status::success);
    for (std::size_t i = 0; i < x.size(); ++i)
      CHECK(std::abs(x[i] - (1.0 + static_cast<double>(i))) <= max_error);
    CHECK(lu.report().errors.forward_bound.value_or(0) < 1);
  }
}

}  // namespace

TEST_CASE("a matrix with a graded null vector is singular", "[solver][singular]") {
  for (const std::size_t n : {6, 12, 25, 40}) {
    INFO(n << " rows");
    check_singular(graded(n));
  }
}

TEST_CASE("scaling does not hide a null vector", "[solver][singular]") {
  for (const double base : {10.0, 0.3}) {
    INFO("scale " << base << "^i");
    Rows A = path(9);
    for (std::size_t i = 0; i < A.size(); ++i)
      for (std::size_t j = 0; j < A.size(); ++j)
        A[i][j] *= std::pow(base, static_cast<double>(i)) * std::pow(base, static_cast<double>(j));
    check_singular(A);
  }
}

TEST_CASE("a pivot of 1e-13 is not a zero pivot", "[solver][singular]") {
  check_regular({{1, 1}, {1, 1 + 1e-13}}, 0.02);
  check_regular({{1, 1}, {1, 1 + 1e-12}}, 0.002);
  check_regular({{3, 7}, {0.3, 0.7 + 1e-13}}, 0.05);
}

TEST_CASE("small pivots are kept for one factorization only", "[solver][singular]") {
  const Rows ill{{1, 1}, {1, 1 + 1e-13}}, worse{{1, 1}, {1, 1 + 4e-14}}, singular{{1, 1}, {1, 1}},
      well{{2, 1}, {1, 2}};
  Lu lu;
  succeed(lu.analyze(sparse(ill)));
  const auto factorize = [&](const Rows& rows) {
    const Status factorized = lu.factorize(sparse(rows));
    const std::vector<double> b = right_side(rows);
    std::vector<double> x(b.size());
    const Status solved = lu.solve_host(b, x);
    if (factorized != Status::success) CHECK(solved == factorized);
    return solved;
  };
  const auto keeps = [&] {
    const auto& all = lu.report().escalations;
    return std::ranges::count(all, "the matrix is ill-conditioned: small pivots are not perturbed");
  };
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(factorize(ill) == Status::success);
    CHECK(keeps() == 1);
    CHECK(factorize(worse) == Status::success);
    CHECK(keeps() == 1);
    CHECK(factorize(singular) == Status::numerically_singular);
    CHECK(factorize(ill) == Status::success);
    CHECK(factorize(well) == Status::success);
    CHECK(lu.report().pivots.perturbed == 0);
  }
}

TEST_CASE("a singular status names rows and columns also where only the bound of the error gave it",
          "[solver][singular]") {
  int refused = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    Lu lu;
    const auto A = sparse(nearly_dependent(seed));
    if (lu.analyze(A) != Status::success || lu.factorize(A) != Status::success) continue;
    const std::vector<double> b = right_side(nearly_dependent(seed));
    std::vector<double> x(b.size());
    if (lu.solve_host(b, x) != Status::numerically_singular) continue;
    ++refused;
    CHECK_FALSE(lu.report().singular_rows.empty());
    CHECK_FALSE(lu.report().singular_columns.empty());
  }
  CHECK(refused > 0);
}

TEST_CASE("the bound of a solution with abandoned factors does not judge the next one",
          "[solver][singular]") {
  const Rows analyzed{
      {9, 1, 0, 0, 0, 0, 0, 0, 0},      {1, 27, -2, 0, 0, 0, 0, 0, 0},  {0, -2, 8, -1, 0, 0, -2, 0, 0},
      {0, 0, -1, 24, -2, 3, -2, 0, -1}, {0, 0, 0, -2, 21, 2, -2, 0, 0}, {0, 0, 0, 3, 2, 22, 3, 0, 0},
      {0, 0, -2, -2, -2, 3, 15, -3, 0}, {0, 0, 0, 0, 0, 0, -3, 18, -1}, {0, 0, 0, -1, 0, 0, 0, -1, 25}};
  const Rows other{
      {20, -1, 0, 0, 0, 0, 0, 0, 0},   {0, 19, 1, 0, 0, 0, 0, 0, 0},  {0, 1, 0, 3, 0, 0, 3, 0, 0},
      {0, 0, -2, 27, -2, 2, -3, 0, 3}, {0, 0, 0, -1, 19, 0, 2, 0, 0}, {0, 0, 0, 3, 0, 18, 3, 0, 0},
      {0, 0, 0, -1, 1, -3, 8, -2, 0},  {0, 0, 0, 0, 0, 0, 0, 0, -1},  {0, 0, 0, 2, 0, 0, 0, -1, 0}};
  const auto pattern = sparse(analyzed);
  auto A = pattern;
  for (std::size_t i = 0; i < other.size(); ++i)
    for (auto p = A.row_map[i]; p < A.row_map[i + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      A.values[at] = other[i][static_cast<std::size_t>(A.entries[at])];
    }
  const std::vector<double> b{0, 10, 10, 35, 88, 112, 142, 0, 36};
  std::vector<double> x(b.size());
  Lu lu;
  succeed(lu.analyze(pattern));
  succeed(lu.factorize(A));  // two zeros on the diagonal: a pivot is perturbed
  CHECK(lu.solve_host(b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, b).componentwise <= 1e-14);
}

TEST_CASE("an eigenvalue of 1e-13 is counted by its sign", "[solver][singular]") {
  Rows A = path(4);
  A[0][0] += 1e-13;
  Ldlt ldlt;
  status_of(ldlt, A);
  CHECK(ldlt.report().inertia.positive == 4);
  A[0][0] -= 2e-13;
  status_of(ldlt, A);
  CHECK(ldlt.report().inertia.positive == 3);
  CHECK(ldlt.report().inertia.negative == 1);
}

}  // namespace lutra::Test
