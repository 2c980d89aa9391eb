// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTMATRICES_HPP
#define LUTRA_TESTMATRICES_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <set>
#include <type_traits>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Test {

template <class Types>
using Matrix = HostMatrix<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset>;

/// Marks a position without an entry in the dense picture of a sparse matrix. Zero is a stored zero.
constexpr double nothing = -12345.0;

/// A real number as `Scalar`, rounded if that is narrower.
template <class Scalar>
Scalar as_scalar(double value) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return static_cast<Scalar>(value);
  } else {
    return Scalar(static_cast<typename Scalar::value_type>(value));
  }
}

/// A matrix from its dense picture.
template <class MatrixType>
MatrixType from_dense(const std::vector<std::vector<double>>& picture, std::size_t n_cols) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  MatrixType matrix;
  matrix.n_rows = static_cast<Ordinal>(picture.size());
  matrix.n_cols = static_cast<Ordinal>(n_cols);
  matrix.row_map.push_back(0);
  for (const std::vector<double>& row : picture) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (row[c] == nothing) continue;
      matrix.entries.push_back(static_cast<Ordinal>(c));
      matrix.values.push_back(as_scalar<Scalar>(row[c]));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

template <class MatrixType>
MatrixType from_dense(const std::vector<std::vector<double>>& picture) {
  return from_dense<MatrixType>(picture, picture.size());
}

/// A value of random sign or phase whose magnitude varies over `decades` powers of ten.
template <class Scalar>
Scalar random_value(std::mt19937& random, double decades) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const double size = std::pow(10.0, decades * (unit(random) - 0.5));
  const double angle = 6.283185307179586 * unit(random);
  if constexpr (std::is_floating_point_v<Scalar>) {
    return static_cast<Scalar>(angle < 3.0 ? size : -size);
  } else {
    using Real = typename Scalar::value_type;
    return Scalar(static_cast<Real>(size * std::cos(angle)), static_cast<Real>(size * std::sin(angle)));
  }
}

/// A square matrix in which each position holds an entry with probability `density`. An entry is a stored
/// zero with probability `zeros`.
template <class MatrixType>
MatrixType random_matrix(int n, double density, double zeros, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(n);
  matrix.row_map.push_back(0);
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      if (unit(random) >= density) continue;
      matrix.entries.push_back(static_cast<Ordinal>(c));
      matrix.values.push_back(unit(random) < zeros ? Scalar(0) : random_value<Scalar>(random, 6));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// The pattern of A + Aᵀ with every value 1.
template <class MatrixType>
MatrixType add_mirror(const MatrixType& matrix) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  std::vector<std::set<Ordinal>> rows(n);
  for (std::size_t r = 0; r < n; ++r) {
    for (auto k = static_cast<std::size_t>(matrix.row_map[r]);
         k < static_cast<std::size_t>(matrix.row_map[r + 1]); ++k) {
      rows[r].insert(matrix.entries[k]);
      rows[static_cast<std::size_t>(matrix.entries[k])].insert(static_cast<Ordinal>(r));
    }
  }
  MatrixType sum;
  sum.n_rows = sum.n_cols = matrix.n_rows;
  sum.row_map.push_back(0);
  for (const std::set<Ordinal>& row : rows) {
    sum.entries.insert(sum.entries.end(), row.begin(), row.end());
    sum.row_map.push_back(
        static_cast<typename decltype(MatrixType::row_map)::value_type>(sum.entries.size()));
  }
  sum.values.assign(sum.entries.size(), Scalar(1));
  return sum;
}

/// A symmetric matrix with entries on the diagonal and on the bands `distances` away from it, rows sorted.
template <class MatrixType>
MatrixType banded_matrix(int n, const std::vector<int>& distances) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  MatrixType upper;
  upper.n_rows = upper.n_cols = static_cast<Ordinal>(n);
  upper.row_map.push_back(0);
  for (int r = 0; r < n; ++r) {
    upper.entries.push_back(static_cast<Ordinal>(r));
    for (const int distance : distances) {
      if (r + distance < n) upper.entries.push_back(static_cast<Ordinal>(r + distance));
    }
    upper.row_map.push_back(upper.nnz());
  }
  upper.values.assign(upper.entries.size(), Scalar(1));
  return add_mirror(upper);
}

/// The five-point stencil on a side × side grid whose vertices are numbered by `label`.
template <class MatrixType>
MatrixType grid_matrix(int side, const std::vector<int>& label) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  const auto n = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  std::vector<std::vector<Ordinal>> rows(n);
  const auto vertex = [&](int x, int y) { return label[static_cast<std::size_t>(x * side + y)]; };
  const auto connect = [&](int a, int b) {
    rows[static_cast<std::size_t>(a)].push_back(static_cast<Ordinal>(b));
    rows[static_cast<std::size_t>(b)].push_back(static_cast<Ordinal>(a));
  };
  for (int x = 0; x < side; ++x) {
    for (int y = 0; y < side; ++y) {
      rows[static_cast<std::size_t>(vertex(x, y))].push_back(static_cast<Ordinal>(vertex(x, y)));
      if (x + 1 < side) connect(vertex(x, y), vertex(x + 1, y));
      if (y + 1 < side) connect(vertex(x, y), vertex(x, y + 1));
    }
  }
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(n);
  matrix.row_map.push_back(0);
  for (std::vector<Ordinal>& row : rows) {
    std::sort(row.begin(), row.end());
    matrix.entries.insert(matrix.entries.end(), row.begin(), row.end());
    matrix.row_map.push_back(matrix.nnz());
  }
  matrix.values.assign(matrix.entries.size(), Scalar(1));
  return matrix;
}

}  // namespace lutra::Test

#endif
