// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ILU(0) on the host, row by row (the IKJ order of Saad, "Iterative Methods for Sparse Linear Systems",
// algorithm 10.4), for triangles with values from such a factorization.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "Lutra_PerfTriangleCases.hpp"

namespace lutra::Perf {
namespace {

constexpr double min_pivot = 1e-8;  // relative to the largest value of the row

/// A matrix whose diagonal is stored.
struct WithDiagonal {
  HostMatrix<double> matrix;
  std::vector<std::int64_t> diagonal;  ///< [n] position of (i, i)
};

/// A copy of A with zeros for missing diagonal entries.
WithDiagonal with_diagonal(const HostMatrix<double>& A) {
  WithDiagonal result{{A.n_rows, A.n_cols, {0}, {}, {}}, {}};
  HostMatrix<double>& M = result.matrix;
  for (int i = 0; i < A.n_rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const auto begin = A.entries.begin() + A.row_map[row], end = A.entries.begin() + A.row_map[row + 1];
    const auto position = std::lower_bound(begin, end, i);
    const auto before = position - begin;
    const auto first_value = A.values.begin() + A.row_map[row];
    M.entries.insert(M.entries.end(), begin, position);
    M.values.insert(M.values.end(), first_value, first_value + before);
    result.diagonal.push_back(M.nnz());
    if (position == end || *position != i) {
      M.entries.push_back(i);
      M.values.push_back(0);
    }
    M.entries.insert(M.entries.end(), position, end);
    M.values.insert(M.values.end(), first_value + before, A.values.begin() + A.row_map[row + 1]);
    M.row_map.push_back(M.nnz());
  }
  return result;
}

/// Eliminates row i with the rows above it. Updates outside the pattern are dropped.
/// @param position [n] −1 everywhere, before and after
void eliminate_row(WithDiagonal& factors, int i, std::vector<std::int64_t>& position) {
  HostMatrix<double>& M = factors.matrix;
  const auto row = static_cast<std::size_t>(i);
  const auto at = [](auto index) { return static_cast<std::size_t>(index); };
  for (auto p = M.row_map[row]; p < M.row_map[row + 1]; ++p) position[at(M.entries[at(p)])] = p;
  for (auto p = M.row_map[row]; p < factors.diagonal[row]; ++p) {
    const std::size_t k = at(M.entries[at(p)]);
    const double factor = M.values[at(p)] /= M.values[at(factors.diagonal[k])];
    for (auto q = factors.diagonal[k] + 1; q < M.row_map[k + 1]; ++q) {
      const std::int64_t target = position[at(M.entries[at(q)])];
      if (target >= 0) M.values[at(target)] -= factor * M.values[at(q)];
    }
  }
  double largest = 0;
  for (auto p = M.row_map[row]; p < M.row_map[row + 1]; ++p) {
    position[at(M.entries[at(p)])] = -1;
    if (!std::isfinite(M.values[at(p)])) throw std::runtime_error("the incomplete factors overflow");
    largest = std::max(largest, std::abs(M.values[at(p)]));
  }
  double& pivot = M.values[at(factors.diagonal[row])];
  if (std::abs(pivot) <= min_pivot * largest) pivot = largest > 0 ? largest : 1.0;
}

}  // namespace

TrianglePair incomplete_factors(const HostMatrix<double>& A) {
  WithDiagonal factors = with_diagonal(A);
  std::vector<std::int64_t> position(static_cast<std::size_t>(A.n_rows), -1);
  for (int i = 0; i < A.n_rows; ++i) eliminate_row(factors, i, position);
  return split_factors(factors.matrix, factors.diagonal);
}

}  // namespace lutra::Perf
