// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LDLᵀ and Cholesky by fronts on all ranks, compared with SparseLDLT on one.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestStatus.hpp"

using namespace lutra;
using lutra::Test::succeed;

namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

template <class Scalar>
Scalar number(double real, double imaginary = 0) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return Scalar(static_cast<RealOf<Scalar>>(real), static_cast<RealOf<Scalar>>(imaginary));
  else
    return static_cast<Scalar>(real);
}

/// Options with which ranks are used whether or not they are predicted to pay.
LdltOptions on_ranks() {
  LdltOptions options;
  options.in_place_first = true;
  return options;
}

/// n × n with lower(i, j) for j ≤ i, 0 where there is no entry; diagonal entries are stored.
template <class Scalar, class Lower>
HostMatrix<Scalar> symmetric_matrix(int n, Symmetry symmetry, const Lower& lower) {
  HostMatrix<Scalar> A{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      Scalar value = lower(std::max(i, j), std::min(i, j));
      if (j > i && symmetry == Symmetry::hermitian) value = ScalarTraits<Scalar>::conjugate(value);
      if (value == Scalar(0) && i != j) continue;
      A.entries.push_back(j);
      A.values.push_back(value);
    }
    A.row_map.push_back(A.nnz());
  }
  return A;
}

/// Five points on a grid of m × m with diagonal(i).
template <class Scalar, class Diagonal>
HostMatrix<Scalar> grid_matrix(int m, Symmetry symmetry, const Diagonal& diagonal) {
  return symmetric_matrix<Scalar>(m * m, symmetry, [&](int i, int j) {
    if (i == j) return number<Scalar>(diagonal(i));
    const bool linked = i - j == m || (i - j == 1 && i % m != 0);
    return linked ? number<Scalar>(-1, 0.25 * (1 + i % 3)) : Scalar(0);
  });
}

template <class Scalar>
struct Solution {
  Status factorized, solved;
  std::vector<Scalar> X;  ///< [n × k] by columns, on rank 0
  Report report;
};

template <class Scalar>
std::vector<Scalar> right_hand_sides(std::int64_t n, std::size_t k) {
  std::vector<Scalar> B;
  for (std::size_t c = 0; c < k; ++c)
    for (std::int64_t i = 0; i < n; ++i)
      B.push_back(number<Scalar>(1 + static_cast<double>(i % 5) - static_cast<double>(c),
                                 0.5 * static_cast<double>(i % 3)));
  return B;
}

/// Solves with the present factors.
template <class Scalar>
void solve_with(Communicator& comm, DistributedLDLT<Scalar>& solver, const DistributedRows<Scalar>& rows,
                std::size_t k, Transposition op, Solution<Scalar>& solution) {
  const auto n = static_cast<std::size_t>(rows.n);
  const std::vector<Scalar> B = right_hand_sides<Scalar>(rows.n, k);
  std::vector<Scalar> mine, x(rows.rows.size() * k, Scalar(7));
  for (std::size_t c = 0; c < k; ++c)
    for (const std::int64_t row : rows.rows) mine.push_back(B[c * n + static_cast<std::size_t>(row)]);
  solution.solved = solver.solve(mine, x, k, op);
  solution.report = solver.report();
  const auto all_rows = comm.gather(rows.rows);
  const auto parts = comm.gather(x);
  solution.X.resize(parts.empty() ? 0 : n * k);
  for (std::size_t r = 0; r < parts.size(); ++r)
    for (std::size_t e = 0; e < parts[r].size(); ++e) {
      const std::size_t count = all_rows[r].size();
      solution.X[e / count * n + static_cast<std::size_t>(all_rows[r][e % count])] = parts[r][e];
    }
}

template <class Scalar>
Solution<Scalar> solve_on_ranks(Communicator& comm, const HostMatrix<Scalar>& A, const LdltOptions& options,
                                std::size_t k = 1, Transposition op = Transposition::none) {
  const auto rows = deal_rows(comm, A);
  DistributedLDLT<Scalar> solver(comm, options);
  Solution<Scalar> solution;
  solution.factorized = solver.factorize(rows);
  solve_with(comm, solver, rows, k, op, solution);
  solver.close();
  return solution;
}

template <class Scalar>
constexpr double bound = sizeof(RealOf<Scalar>) == 4 ? 1e-5 : 1e-12;

/// op(A) as a matrix.
template <class Scalar>
HostMatrix<Scalar> transposed(HostMatrix<Scalar> A, Transposition op, Symmetry symmetry) {
  const bool hermitian = symmetry == Symmetry::hermitian;
  const bool conjugated =
      (op == Transposition::transposed && hermitian) || (op == Transposition::adjoint && !hermitian);
  if (conjugated)
    for (Scalar& value : A.values) value = ScalarTraits<Scalar>::conjugate(value);
  return A;
}

/// Recomputes errors on rank 0.
template <class Scalar>
void check_errors(const HostMatrix<Scalar>& A, const Solution<Scalar>& solution, std::size_t k = 1) {
  REQUIRE(solution.solved == Status::success);
  const auto n = static_cast<std::size_t>(A.n_rows);
  const std::vector<Scalar> B = right_hand_sides<Scalar>(A.n_rows, k);
  for (std::size_t c = 0; c < k && !solution.X.empty(); ++c) {
    const auto column = [&](const std::vector<Scalar>& of) {
      const auto first = of.begin() + static_cast<std::ptrdiff_t>(c * n);
      return std::vector<Scalar>(first, first + static_cast<std::ptrdiff_t>(n));
    };
    CHECK(Reference::backward_errors(A, column(solution.X), column(B)).componentwise <= bound<Scalar>);
  }
}

void check_inertia(const Report& report, std::int64_t positive, std::int64_t negative) {
  CHECK(report.inertia.positive == positive);
  CHECK(report.inertia.negative == negative);
  CHECK(report.inertia.zero == 0);
}

bool worked_alone(const Report& report) {
  return report.choice.why.find("rank 0 factorized alone") != std::string::npos;
}

/// Status, inertia and pivots of order two that one process finds, on rank 0.
template <class Scalar>
Report report_of_one(const HostMatrix<Scalar>& A, const LdltOptions& options) {
  SparseLDLT<Scalar, Host> solver(options);
  succeed(solver.analyze(A));
  const Status status = solver.factorize(A);
  Report report = solver.report();
  report.status = status;
  return report;
}

template <class Scalar>
void check_symmetric(Symmetry symmetry) {
  Communicator comm;
  const int m = 19;
  for (const bool definite : {true, false}) {
    for (const bool cholesky : {false, true}) {
      const bool hermitian = symmetry == Symmetry::hermitian;
      if (cholesky && (!definite || (ScalarTraits<Scalar>::is_complex && !hermitian))) continue;
      const auto A = grid_matrix<Scalar>(
          m, symmetry, [&](int i) { return (definite || i % 3 != 0 ? 1 : -1) * (4.7 + 0.01 * (i % 13)); });
      LdltOptions options = on_ranks();
      options.symmetry = symmetry;
      options.positive_definite = cholesky;
      for (const std::size_t k : {std::size_t{1}, std::size_t{5}})
        for (const Transposition op :
             {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
          const auto solution = solve_on_ranks(comm, A, options, k, op);
          CHECK(solution.factorized == Status::success);
          check_errors(transposed(A, op, symmetry), solution, k);
          CHECK(solution.X == solve_on_ranks(comm, A, options, k, op).X);  // the same bits
          if (comm.rank() == 0) {
            CHECK(!worked_alone(solution.report));
            CHECK(solution.report.choice.method == (cholesky ? "cholesky" : "ldlt"));
            CHECK(solution.report.choice.trisolve == "distributed fronts");
            CHECK(solution.report.pivots.attempt == "diagonal");
          }
          const bool has_inertia = !ScalarTraits<Scalar>::is_complex || hermitian;
          CHECK(solution.report.inertia.positive.has_value() == has_inertia);
          if (has_inertia) check_inertia(solution.report, definite ? 361 : 240, definite ? 0 : 121);
        }
    }
  }
  comm.close();
}

/// Pairs of unknowns coupled by 4, with zeros on the diagonal, on a grid.
template <class Scalar>
HostMatrix<Scalar> paired_matrix(int m, Symmetry symmetry) {
  return symmetric_matrix<Scalar>(2 * m * m, symmetry, [&](int i, int j) {
    const int a = i / 2, b = j / 2;
    if (i == j) return Scalar(0);
    if (a == b) return number<Scalar>(4, 0.5);
    const bool linked = a - b == m || (a - b == 1 && a % m != 0);
    return linked && i % 2 == j % 2 ? number<Scalar>(-0.25, 0.125) : Scalar(0);
  });
}

template <class Scalar>
void check_pairs(Symmetry symmetry) {
  Communicator comm;
  const auto A = paired_matrix<Scalar>(11, symmetry);
  LdltOptions options = on_ranks();
  options.symmetry = symmetry;
  const auto solution = solve_on_ranks(comm, A, options, 3);
  CHECK(solution.factorized == Status::success);
  check_errors(A, solution, 3);
  if (!ScalarTraits<Scalar>::is_complex || symmetry == Symmetry::hermitian)
    check_inertia(solution.report, 121, 121);
  if (comm.rank() == 0) {
    INFO(solution.report.choice.why);
    CHECK(!worked_alone(solution.report));
    CHECK(*solution.report.pivots.two_by_two > 0);
  }
  comm.close();
}

}  // namespace

TEST_CASE("symmetric matrices are factorized and solved on the fronts of the ranks", "[distributed][ldlt]") {
  for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    LUTRA_IF_F32(check_symmetric<float>(symmetry);)
    LUTRA_IF_F64(check_symmetric<double>(symmetry);)
    LUTRA_IF_C64(check_symmetric<Kokkos::complex<float>>(symmetry);)
    LUTRA_IF_C128(check_symmetric<Kokkos::complex<double>>(symmetry);)
  }
}

TEST_CASE("fronts of the ranks take pivots of order two", "[distributed][ldlt]") {
  for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    LUTRA_IF_F32(check_pairs<float>(symmetry);)
    LUTRA_IF_F64(check_pairs<double>(symmetry);)
    LUTRA_IF_C64(check_pairs<Kokkos::complex<float>>(symmetry);)
    LUTRA_IF_C128(check_pairs<Kokkos::complex<double>>(symmetry);)
  }
}

TEST_CASE("ranks find the inertia that one process finds", "[distributed][ldlt]") {
  Communicator comm;
  for (const char* const kind : {"kkt", "poisson3d"}) {
    const HostMatrix<double> A = generate(kind, kind[0] == 'k' ? 700 : 9);
    const auto solution = solve_on_ranks(comm, A, on_ranks());
    check_errors(A, solution);
    if (comm.rank() != 0) continue;
    const Report one = report_of_one(A, LdltOptions());
    check_inertia(solution.report, *one.inertia.positive, *one.inertia.negative);
    CHECK(*one.inertia.zero == 0);
    CHECK(solution.report.factors.nnz_l.value_or(0) > 0);
  }
  comm.close();
}

TEST_CASE("ranks refuse Cholesky of an indefinite matrix", "[distributed][ldlt]") {
  Communicator comm;
  LdltOptions options = on_ranks();
  options.positive_definite = true;
  const auto A = grid_matrix<double>(9, Symmetry::symmetric, [](int i) { return i == 40 ? -3.0 : 5.0; });
  const auto solution = solve_on_ranks(comm, A, options);
  CHECK(solution.factorized == Status::not_positive_definite);
  CHECK(solution.solved == Status::not_positive_definite);
  for (const double x : solution.X) CHECK(x == 7);  // unchanged
  if (comm.rank() == 0) {
    CHECK(solution.report.indefinite_column == report_of_one(A, options).indefinite_column);
    if (comm.size() > 1)
      CHECK(solution.report.choice.why.find("a pivot is not positive") != std::string::npos);
  }
  comm.close();
}

TEST_CASE("ranks find singular symmetric matrices as one process does", "[distributed][ldlt]") {
  Communicator comm;
  const int m = 12;
  const auto degree = [m](int i) {
    return double((i >= m) + (i % m != 0) + (i % m != m - 1) + (i < m * (m - 1)));
  };
  std::vector<HostMatrix<double>> matrices;
  matrices.push_back(grid_matrix<double>(m, Symmetry::symmetric, degree));  // the constants are a null space
  matrices.push_back(symmetric_matrix<double>(5, Symmetry::symmetric, [](int i, int j) {
    return i > 2 && j > 2 ? 0.0 : i == j ? 1.0 + i : j == 0 ? 1.0 : 0.0;
  }));
  for (const auto& A : matrices) {
    const auto solution = solve_on_ranks(comm, A, on_ranks());
    CHECK(solution.factorized == Status::numerically_singular);
    CHECK(solution.solved == solution.factorized);
    if (comm.rank() != 0) continue;
    const Report one = report_of_one(A, LdltOptions());
    CHECK(one.status == solution.factorized);
    CHECK(solution.report.inertia.zero == one.inertia.zero);
    CHECK(solution.report.singular_rows == one.singular_rows);
    if (comm.size() > 1) CHECK(worked_alone(solution.report));
  }
  comm.close();
}

TEST_CASE("ranks factorize new values of a symmetric matrix", "[distributed][ldlt]") {
  Communicator comm;
  const auto matrix = [](int kind) {
    return grid_matrix<double>(13, Symmetry::symmetric, [kind](int i) {
      return kind == 0 ? 5.0 : kind == 1 ? (i % 2 == 0 ? 6.0 : -6.0) : kind == 2 ? 0.3 : 7.0 + i % 3;
    });
  };
  const auto rows = deal_rows(comm, matrix(0));
  DistributedLDLT<double> solver(comm, on_ranks());
  CHECK_THROWS_AS(solver.refactorize(rows.values), CallOrderError);
  succeed(solver.factorize(rows));
  for (const int kind : {1, 2, 3, 0}) {  // 2: small diagonal entries
    const auto A = matrix(kind);
    const auto values = deal_rows(comm, A).values;
    succeed(solver.refactorize(values));
    Solution<double> solution;
    solve_with(comm, solver, rows, 2, Transposition::none, solution);
    check_errors(A, solution, 2);
    if (comm.rank() != 0) continue;
    INFO(kind << ": " << solution.report.pivots.attempt << ", " << solution.report.choice.why);
    const Report one = report_of_one(A, LdltOptions());
    check_inertia(solution.report, *one.inertia.positive, *one.inertia.negative);
    if (kind != 2) CHECK(!worked_alone(solution.report));
  }
  solver.close();
  comm.close();
}

TEST_CASE("the report says why rank 0 factorizes a symmetric matrix alone", "[distributed][ldlt]") {
  Communicator comm;
  const auto why = [&](const HostMatrix<double>& A, const LdltOptions& options) {
    const auto solution = solve_on_ranks(comm, A, options);
    check_errors(A, solution);
    return solution.report.choice.why;
  };
  const auto has = [&](const std::string& text, const std::string& part) {
    INFO(text);
    if (comm.rank() == 0 && comm.size() > 1)
      CHECK(text.find("rank 0 factorized alone: " + part) != std::string::npos);
  };
  const auto A = grid_matrix<double>(8, Symmetry::symmetric, [](int) { return 5.0; });
  LdltOptions options;
  options.pivoting = Pivoting::static_perturbed;
  has(why(A, options), "the pivoting asked for delays or perturbs pivots");
  options = {};
  has(why(symmetric_matrix<double>(2, Symmetry::symmetric, [](int i, int j) { return i == j ? 2.0 : 1.0; }),
          options),
      std::to_string(comm.size()) + " ranks would spare");
  options.in_place_first = false;
  has(why(A, options), "the pivoting asked for delays or perturbs pivots");
  // an arrow whose leaves are zero: each is delayed to the root
  options = on_ranks();
  options.ordering = Ordering::natural;
  options.matching = Matching::none;
  const auto arrow = symmetric_matrix<double>(40, Symmetry::symmetric, [](int i, int j) {
    return i == j                             ? (i < 30 ? 1e-9 : 2.0 + i)
           : i >= 30 && (j < 30 || i - j < 5) ? 1.0 / (1 + (3 * i + j) % 7)
                                              : 0.0;
  });
  has(why(arrow, options), "");
  comm.close();
}

TEST_CASE("ranks refuse unsymmetric matrices, triangles and grids for LDLT", "[distributed][ldlt]") {
  Communicator comm;
  auto A = grid_matrix<double>(6, Symmetry::symmetric, [](int) { return 5.0; });
  A.values[1] += 1e-3;
  DistributedLDLT<double> solver(comm, on_ranks());
  const auto rows = deal_rows(comm, A);
  CHECK_THROWS_AS(solver.factorize(rows), InputError);
  A = grid_matrix<double>(6, Symmetry::symmetric, [](int) { return 5.0; });
  const auto good = deal_rows(comm, A);
  succeed(solver.factorize(good));
  for (std::size_t e = 0; e < A.values.size(); e += 7) {
    auto bad = A;
    bad.values[e] += 1e-3;
    const auto values = deal_rows(comm, bad).values;
    const auto row =
        std::ranges::upper_bound(A.row_map, static_cast<std::int64_t>(e)) - A.row_map.begin() - 1;
    if (A.entries[e] == row) {
      succeed(solver.refactorize(values));
      continue;
    }
    std::string message;
    try {
      static_cast<void>(solver.refactorize(values));
    } catch (const InputError& error) {
      message = error.what();
    }
    INFO(message);
    CHECK(message.find("differs from its mirror image") != std::string::npos);
    CHECK((message.find("row " + std::to_string(row) + ", column " + std::to_string(A.entries[e])) !=
               std::string::npos ||
           message.find("row " + std::to_string(A.entries[e]) + ", column " + std::to_string(row)) !=
               std::string::npos));
    std::vector<double> x(good.rows.size());
    CHECK_THROWS_AS(solver.solve(x, x), CallOrderError);
    succeed(solver.refactorize(good.values));
  }
  solver.close();
  LdltOptions options;
  options.triangle = Triangle::lower;
  CHECK_THROWS_AS(DistributedLDLT<double>(comm, options), InputError);
  options = {};
  options.pivot_threshold = 2;
  CHECK_THROWS_AS(DistributedLDLT<double>(comm, options), InputError);
  DistributedOptions distribution;
  distribution.grid = {comm.size(), 1};
  CHECK_THROWS_AS(DistributedLDLT<double>(comm, LdltOptions(), distribution), InputError);
  comm.close();
}
