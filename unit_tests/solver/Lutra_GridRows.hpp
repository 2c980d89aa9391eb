// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GRIDROWS_HPP
#define LUTRA_GRIDROWS_HPP

#include <cstdint>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Test {

/// Five points on a grid of m × m, unsymmetric, by the rows that rank takes: every `size`-th, backwards.
template <class Scalar>
DistributedRows<Scalar> grid_rows(std::int64_t m, int rank, int size) {
  DistributedRows<Scalar> A;
  A.n = m * m;
  A.row_map.push_back(0);
  for (std::int64_t row = A.n - 1; row >= 0; --row) {
    if (row % size != rank) continue;
    const std::int64_t x = row % m, y = row / m;
    const auto add = [&A](std::int64_t column, double value) {
      A.columns.push_back(column);
      A.values.push_back(Scalar(static_cast<RealOf<Scalar>>(value)));
    };
    if (y > 0) add(row - m, -1.5);
    if (x > 0) add(row - 1, -0.75);
    add(row, 4 + 0.01 * static_cast<double>(row % 13));
    if (x < m - 1) add(row + 1, -1);
    if (y < m - 1) add(row + m, -1);
    A.rows.push_back(row);
    A.row_map.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  return A;
}

/// Right-hand sides for x(row, c) = 1 + row mod 5 + c.
template <class Scalar>
std::vector<Scalar> multiply(const DistributedRows<Scalar>& A, std::size_t k) {
  std::vector<Scalar> b;
  for (std::size_t c = 0; c < k; ++c)
    for (std::size_t i = 0; i < A.rows.size(); ++i) {
      Scalar sum(0);
      for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
           ++e)
        sum += A.values[e] *
               Scalar(static_cast<RealOf<Scalar>>(1 + A.columns[e] % 5 + static_cast<std::int64_t>(c)));
      b.push_back(sum);
    }
  return b;
}

}  // namespace lutra::Test

#endif
