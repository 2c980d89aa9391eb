// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGULARTESTCASES_HPP
#define LUTRA_TRIANGULARTESTCASES_HPP

#include <vector>

#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra::Test {

template <class Types>
using Solver = TriangularSolver<typename Types::Scalar, typename Types::Space>;
template <class Types>
using Host = HostMatrix<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset>;

inline constexpr TrisolveMethod methods[] = {TrisolveMethod::automatic, TrisolveMethod::levels,
                                             TrisolveMethod::syncfree, TrisolveMethod::supernodal};

/// A matrix by dense rows; zeros are left out, but for those on the diagonal where asked.
template <class Types>
Host<Types> matrix_of(const std::vector<std::vector<typename Types::Scalar>>& rows,
                      bool keep_zero_diagonal = false) {
  using Scalar = typename Types::Scalar;
  Host<Types> result;
  result.n_rows = result.n_cols = static_cast<typename Types::Ordinal>(rows.size());
  result.row_map = {0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (rows[i][j] == Scalar(0) && !(keep_zero_diagonal && i == j)) continue;
      result.entries.push_back(static_cast<typename Types::Ordinal>(j));
      result.values.push_back(rows[i][j]);
    }
    result.row_map.push_back(static_cast<typename Types::Offset>(result.entries.size()));
  }
  return result;
}

/// Solves for one right-hand side.
template <class Types>
std::vector<typename Types::Scalar> solve(const Host<Types>& host, TriangleSide side, DiagonalKind diagonal,
                                          TriangularOptions options, Transposition op,
                                          const std::vector<typename Types::Scalar>& b) {
  using Space = typename Types::Space;
  const auto matrix = to_space<Space>(host);
  Solver<Types> solver(options);
  solver.analyze(matrix, side, diagonal);
  const auto x = to_space<Space>(b);
  solver.solve(x, x, op);
  solver.wait();
  return to_vector(x);
}

/// Chains of `n` rows: every row but the first of a chain needs the one before.
template <class Types>
Host<Types> chain(std::size_t n, std::size_t chains = 1) {
  using Scalar = typename Types::Scalar;
  Host<Types> result;
  result.n_rows = result.n_cols = static_cast<typename Types::Ordinal>(n * chains);
  result.row_map = {0};
  for (std::size_t i = 0; i < n * chains; ++i) {
    if (i % n > 0) {
      result.entries.push_back(static_cast<typename Types::Ordinal>(i - 1));
      result.values.push_back(Scalar(1));
    }
    result.entries.push_back(static_cast<typename Types::Ordinal>(i));
    result.values.push_back(Scalar(2));
    result.row_map.push_back(static_cast<typename Types::Offset>(result.entries.size()));
  }
  return result;
}

}  // namespace lutra::Test

#endif
