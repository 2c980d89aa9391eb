// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTSYSTEMS_HPP
#define LUTRA_TESTSYSTEMS_HPP

#include <algorithm>
#include <random>
#include <vector>

#include "Lutra_Reference_Lu.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

template <class Types>
using Solver = SparseLU<typename Types::Scalar, typename Types::Space>;

/// A sparse nonsingular matrix without a useful diagonal: large entries on a random permutation, about `mean`
/// smaller ones in each row.
template <class MatrixType>
MatrixType permuted_matrix(int n, double mean, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  std::vector<std::size_t> large(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = i;
  std::shuffle(large.begin(), large.end(), random);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<typename decltype(MatrixType::entries)::value_type>(n);
  matrix.row_map.push_back(0);
  for (std::size_t i = 0; i < large.size(); ++i) {
    for (std::size_t j = 0; j < large.size(); ++j) {
      const bool is_large = j == large[i];
      if (!is_large && unit(random) >= mean / n) continue;
      matrix.entries.push_back(static_cast<typename decltype(MatrixType::entries)::value_type>(j));
      matrix.values.push_back(random_value<Scalar>(random, 1) * as_scalar<Scalar>(is_large ? 8.0 : 1.0));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// x*ᵢ = 1 + (i mod 7)/4 and b = A·x* for a host matrix.
template <class MatrixType>
auto known_system(const MatrixType& matrix) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  struct System {
    std::vector<Scalar> x, b;
  } system;
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.n_rows); ++i) {
    system.x.push_back(as_scalar<Scalar>(1.0 + static_cast<double>(i % 7) / 4.0));
  }
  for (std::size_t i = 0; i < system.x.size(); ++i) {
    Scalar sum(0);
    Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) { sum += value * system.x[j]; });
    system.b.push_back(sum);
  }
  return system;
}

/// Bound on the backward error of a solved system, which a refined solve reaches easily.
template <class Scalar>
constexpr double tight_bound() {
  return 100.0 * static_cast<double>(epsilon_of<Scalar>);
}

}  // namespace lutra::Test

#endif
