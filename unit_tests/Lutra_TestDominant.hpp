// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTDOMINANT_HPP
#define LUTRA_TESTDOMINANT_HPP

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "Lutra_Reference_Lu.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {

/// A matrix with a large diagonal, so that rounding errors stay small without pivoting.
template <class MatrixType>
MatrixType dominant_matrix(int n, double density, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  auto matrix = random_matrix<MatrixType>(n, density, 0.0, random);
  MatrixType result;
  result.n_rows = result.n_cols = matrix.n_rows;
  result.row_map.push_back(0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    std::vector<std::pair<std::size_t, Scalar>> row;
    double sum = 1;
    Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) {
      if (j != i) row.push_back({j, value});
      sum += static_cast<double>(Kokkos::abs(value));
    });
    row.push_back({i, as_scalar<Scalar>(sum)});
    std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [j, value] : row) {
      result.entries.push_back(static_cast<typename decltype(result.entries)::value_type>(j));
      result.values.push_back(value);
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

/// A Hermitian matrix whose diagonal exceeds its row sums by `margin`: positive definite if that is above 0.
template <class MatrixType>
MatrixType hermitian_matrix(int n, double density, double margin, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  const auto size = static_cast<std::size_t>(n);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<std::map<std::size_t, Scalar>> rows(size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (unit(random) >= density) continue;
      rows[i][j] = random_value<Scalar>(random, 1);
      rows[j][i] = ScalarTraits<Scalar>::conjugate(rows[i][j]);
    }
  }
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(n);
  matrix.row_map.push_back(0);
  for (std::size_t i = 0; i < size; ++i) {
    double sum = margin;
    for (const auto& [j, value] : rows[i]) sum += static_cast<double>(Kokkos::abs(value));
    rows[i][i] = as_scalar<Scalar>(sum);
    for (const auto& [j, value] : rows[i]) {
      matrix.entries.push_back(static_cast<Ordinal>(j));
      matrix.values.push_back(value);
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// `blocks` dense diagonal blocks of `edge` rows with a common dense border: large fronts with children.
template <class MatrixType>
MatrixType bordered_blocks(int blocks, int edge, int border, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const int n = blocks * edge + border;
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = n;
  matrix.row_map.push_back(0);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const bool in_border = i >= blocks * edge || j >= blocks * edge;
      if (!in_border && i / edge != j / edge) continue;
      matrix.entries.push_back(j);
      matrix.values.push_back(i == j ? as_scalar<Scalar>(8.0 * n) : random_value<Scalar>(random, 1));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// Block tridiagonal matrices side by side: `chains` of `links` dense blocks of `edge` rows each.
template <class MatrixType>
MatrixType chains_of_blocks(int chains, int links, int edge, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(chains * links * edge);
  matrix.row_map.push_back(0);
  for (int i = 0; i < chains * links * edge; ++i) {
    const int block = i / edge, link = block % links;
    const int begin = link > 0 ? block - 1 : block, end = link + 1 < links ? block + 2 : block + 1;
    for (int j = begin * edge; j < end * edge; ++j) {
      matrix.entries.push_back(static_cast<Ordinal>(j));
      matrix.values.push_back(i == j ? as_scalar<Scalar>(24.0 * edge) : random_value<Scalar>(random, 1));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

}  // namespace lutra::Test

#endif
