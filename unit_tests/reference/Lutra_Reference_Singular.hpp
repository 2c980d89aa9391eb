// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_SINGULAR_HPP
#define LUTRA_REFERENCE_SINGULAR_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Reference {

/// Numbers modulo the prime p = 2⁶¹ − 1.
struct Residues {
  static constexpr std::uint64_t p = (1ULL << 61) - 1;
  using Number = std::uint64_t;
  __extension__ using Wide = unsigned __int128;

  static Number times(Number a, Number b) {
    const Wide product = static_cast<Wide>(a) * b;
    const Number sum = static_cast<Number>(product & p) + static_cast<Number>(product >> 61);
    return sum >= p ? sum - p : sum;
  }
  static Number power(Number base, Number exponent) {
    Number result = 1;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1U) result = times(result, base);
      base = times(base, base);
    }
    return result;
  }
  /// value modulo p. 2⁶¹ = 1, so that powers of two, also negative ones, are those of exponents modulo 61.
  static Number of(double value) {
    int exponent = 0;
    const double fraction = std::frexp(std::abs(value), &exponent);
    const auto mantissa = static_cast<Number>(std::ldexp(fraction, 53));
    const int shift = ((exponent - 53) % 61 + 61) % 61;
    const Number size = times(mantissa % p, 1ULL << shift);
    return value < 0 && size > 0 ? p - size : size;
  }
  /// One step of Gaussian elimination. @returns false if column k holds no pivot
  static bool eliminate(std::vector<std::vector<Number>>& rows, std::size_t k) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(),
                                    [&](const auto& row) { return row[k] != 0; });
    if (pivot == rows.end()) return false;
    std::iter_swap(rows.begin() + static_cast<std::ptrdiff_t>(k), pivot);
    const Number inverse = power(rows[k][k], p - 2);
    for (std::size_t i = k + 1; i < rows.size(); ++i) {
      if (rows[i][k] == 0) continue;
      const Number factor = p - times(rows[i][k], inverse);
      for (std::size_t j = k; j < rows.size(); ++j) {
        if (rows[k][j] == 0) continue;
        const Number sum = rows[i][j] + times(factor, rows[k][j]);
        rows[i][j] = sum >= p ? sum - p : sum;
      }
    }
    return true;
  }
};

/// Whether a real matrix is singular to the last bit. Its entries are dyadic rationals; it is eliminated
/// modulo 2⁶¹ − 1. A regular matrix is found singular with a probability of about n·2⁻⁵⁰.
template <class Real>
bool is_exactly_singular(const HostMatrix<Real>& A) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<std::vector<Residues::Number>> rows(n, std::vector<Residues::Number>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (auto at = A.row_map[i]; at < A.row_map[i + 1]; ++at) {
      const auto entry = static_cast<std::size_t>(at);
      rows[i][static_cast<std::size_t>(A.entries[entry])] =
          Residues::of(static_cast<double>(A.values[entry]));
    }
  for (std::size_t k = 0; k < n; ++k)
    if (!Residues::eliminate(rows, k)) return true;
  return false;
}

}  // namespace lutra::Reference

#endif
