// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_LDLT_HPP
#define LUTRA_REFERENCE_LDLT_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Reference {

/// A dense matrix by rows.
template <class Scalar>
using Square = std::vector<std::vector<Scalar>>;

/// Numbers of eigenvalues above, below and at zero.
struct Inertia {
  std::int64_t positive = 0, negative = 0, zero = 0;
  bool operator==(const Inertia&) const = default;
};

/// Eigenvalues of a real symmetric matrix by Jacobi rotations, row by row until nothing changes.
inline std::vector<double> jacobi_eigenvalues(Square<double> A) {
  const std::size_t n = A.size();
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) (i == j ? all : off) += A[i][j] * A[i][j];
    }
    if (off <= 1e-30 * (all + off)) break;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (A[p][q] == 0) continue;
        const double theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double a = A[p][k], b = A[q][k];
          A[p][k] = c * a - s * b;
          A[q][k] = s * a + c * b;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double a = A[k][p], b = A[k][q];
          A[k][p] = c * a - s * b;
          A[k][q] = s * a + c * b;
        }
      }
    }
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(A[i][i]);
  return values;
}

/// S·A·S with rows whose largest entries are near 1. It has the inertia of A (Sylvester).
inline void equilibrate(Square<double>& A) {
  for (int round = 0; round < 6; ++round) {
    std::vector<double> scale;
    for (const auto& row : A) {
      double largest = 0;
      for (const double value : row) largest = std::max(largest, std::abs(value));
      scale.push_back(largest > 0 ? 1 / std::sqrt(largest) : 1);
    }
    for (std::size_t i = 0; i < A.size(); ++i) {
      for (std::size_t j = 0; j < A.size(); ++j) A[i][j] *= scale[i] * scale[j];
    }
  }
}

/// Inertia of a real symmetric or complex Hermitian matrix. Eigenvalues of the equilibrated matrix up to
/// `zero` times the largest count as zero. The eigenvalues of X + iY are those of [X −Y; Y X] with half the
/// multiplicity.
template <class Scalar>
Inertia inertia_of(const Square<Scalar>& A, double zero) {
  constexpr bool is_complex = ScalarTraits<Scalar>::is_complex;
  const std::size_t n = A.size();
  Square<double> real(is_complex ? 2 * n : n, std::vector<double>(is_complex ? 2 * n : n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if constexpr (is_complex) {
        real[i][j] = real[n + i][n + j] = static_cast<double>(A[i][j].real());
        real[n + i][j] = static_cast<double>(A[i][j].imag());
        real[i][n + j] = -real[n + i][j];
      } else {
        real[i][j] = static_cast<double>(A[i][j]);
      }
    }
  }
  equilibrate(real);
  const auto values = jacobi_eigenvalues(real);
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  Inertia inertia;
  for (const double value : values)
    ++(std::abs(value) <= zero * largest ? inertia.zero : value > 0 ? inertia.positive : inertia.negative);
  const int copies = is_complex ? 2 : 1;
  return {inertia.positive / copies, inertia.negative / copies, inertia.zero / copies};
}

}  // namespace lutra::Reference

#endif
