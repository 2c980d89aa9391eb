// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTSYMMETRIC_HPP
#define LUTRA_TESTSYMMETRIC_HPP

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {

template <class Types>
using Symmetric = SparseLDLT<typename Types::Scalar, typename Types::Space>;

/// A dense picture of a symmetric matrix whose positions hold an entry with probability `density`; the
/// diagonal holds what `diagonal(i)` says.
template <class Diagonal>
std::vector<std::vector<double>> symmetric_picture(int n, double density, std::mt19937& random,
                                                   const Diagonal& diagonal) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::vector<double>> picture(size, std::vector<double>(size, nothing));
  for (std::size_t i = 0; i < size; ++i) {
    picture[i][i] = diagonal(i);
    for (std::size_t j = 0; j < i; ++j)
      if (unit(random) < density) picture[i][j] = picture[j][i] = random_value<double>(random, 2);
  }
  return picture;
}

/// [H Bᵀ; B −D] with H > 0 and D ≥ 0 diagonally dominant and B of full rank, the rows mixed: n positive and m
/// negative eigenvalues. Every second diagonal entry of D is zero, or not there.
template <class MatrixType>
MatrixType saddle_point(int n, int m, std::mt19937& random) {
  const auto size = static_cast<std::size_t>(n + m);
  auto picture = symmetric_picture(n + m, 3.0 / n, random, [](std::size_t) { return nothing; });
  for (std::size_t i = 0; i < size; ++i) {
    const bool constraint = i >= static_cast<std::size_t>(n);
    double sum = 1;
    for (std::size_t j = 0; j < size; ++j) {
      if (constraint && j >= static_cast<std::size_t>(n)) picture[i][j] = nothing;
      if (j < static_cast<std::size_t>(n) && j != i && picture[i][j] != nothing)
        sum += std::abs(picture[i][j]);
    }
    if (!constraint) picture[i][i] = sum;
    if (constraint && i % 4 == 0) picture[i][i] = -0.5;
    if (constraint && i % 4 == 1) picture[i][i] = 0;
  }
  for (std::size_t i = static_cast<std::size_t>(n); i < size; ++i)  // rows of B are independent
    picture[i][i - static_cast<std::size_t>(n)] = picture[i - static_cast<std::size_t>(n)][i] = 50;
  std::vector<std::size_t> order(size);
  for (std::size_t i = 0; i < size; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  auto mixed = picture;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) mixed[i][j] = picture[order[i]][order[j]];
  return from_dense<MatrixType>(mixed);
}

/// One triangle of a matrix.
template <class MatrixType>
MatrixType triangle_of(const MatrixType& A, bool lower) {
  MatrixType result{A.n_rows, A.n_cols, {0}, {}, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    Reference::for_row(A, i, [&](std::size_t j, const auto& value) {
      if (lower ? j > i : j < i) return;
      result.entries.push_back(static_cast<typename decltype(A.entries)::value_type>(j));
      result.values.push_back(value);
    });
    result.row_map.push_back(result.nnz());
  }
  return result;
}

template <class SolverType, class MatrixType>
void check_solution(SolverType& solver, const MatrixType& A) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    INFO("op " << static_cast<int>(op) << ": " << describe(solver.report()));
    REQUIRE(solver.solve_host(system.b, x, op) == Status::success);
    const auto B = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
    CHECK(Reference::backward_errors(B, x, system.b).componentwise <= tight_bound<Scalar>());
  }
}

inline void check_inertia(const Report& report, std::int64_t positive, std::int64_t negative,
                          std::int64_t zero) {
  CHECK(report.inertia.positive == positive);
  CHECK(report.inertia.negative == negative);
  CHECK(report.inertia.zero == zero);
}

}  // namespace lutra::Test

#endif
