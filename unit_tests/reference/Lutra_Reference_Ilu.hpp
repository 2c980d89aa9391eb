// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_ILU_HPP
#define LUTRA_REFERENCE_ILU_HPP

#include <algorithm>
#include <map>
#include <vector>

#include "Lutra_Reference_Lu.hpp"

namespace lutra::Reference {

/// The pattern of ILU(k) by its definition, row by row, with all levels up to k.
template <class MatrixType>
Rows iluk_pattern(const MatrixType& a, std::size_t k) {
  using Level = std::map<std::size_t, std::size_t>;  // level of each column
  std::vector<Level> levels;
  Rows rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.n_rows); ++i) {
    Level row{{i, 0}};
    for_row(a, i, [&](std::size_t c, const auto&) { row[c] = 0; });
    for (auto m = row.begin(); m->first < i; ++m) {
      for (const auto& [j, level] : levels[m->first]) {
        if (j <= m->first || m->second + level + 1 > k) continue;
        const auto at = row.emplace(j, m->second + level + 1).first;
        at->second = std::min(at->second, m->second + level + 1);
      }
    }
    rows.emplace_back();
    for (const auto& [j, level] : row) rows.back().push_back(j);
    levels.push_back(std::move(row));
  }
  return rows;
}

/// L\U on a pattern, eliminated row by row. Updates outside the pattern are dropped; l = 0 for a zero pivot.
template <class Scalar>
std::vector<std::vector<Scalar>> incomplete_lu(const HostMatrix<Scalar, Ordinal, Offset>& a,
                                               const Rows& pattern) {
  const std::size_t n = pattern.size();
  std::vector<std::vector<Scalar>> values(n);
  std::vector<std::map<std::size_t, Scalar>> upper(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::map<std::size_t, Scalar> row;
    for (const std::size_t j : pattern[i]) row[j] = Scalar(0);
    for_row(a, i, [&](std::size_t c, const Scalar& value) {
      if (row.count(c) > 0) row[c] = value;
    });
    for (auto k = row.begin(); k->first < i; ++k) {
      const auto& u = upper[k->first];
      const Scalar pivot = u.at(k->first);
      k->second = pivot == Scalar(0) ? Scalar(0) : k->second / pivot;
      for (const auto& [j, value] : u) {
        if (j > k->first && row.count(j) > 0) row[j] -= k->second * value;
      }
    }
    for (const auto& [j, value] : row) {
      values[i].push_back(value);
      if (j >= i) upper[i][j] = value;
    }
  }
  return values;
}

/// max |(A − L·U)(i, j)| over a pattern, in the scalar of the matrix.
template <class Scalar>
double pattern_residual(const HostMatrix<Scalar, Ordinal, Offset>& a, const Rows& pattern,
                        const std::vector<std::vector<Scalar>>& values) {
  using std::abs;
  const std::size_t n = pattern.size();
  std::vector<std::map<std::size_t, Scalar>> lu(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t t = 0; t < pattern[i].size(); ++t) lu[i][pattern[i][t]] = values[i][t];
  }
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::map<std::size_t, Scalar> residual;
    for_row(a, i, [&](std::size_t c, const Scalar& value) { residual[c] = value; });
    for (const auto& [k, l] : lu[i]) {
      for (const auto& [j, u] : lu[k]) {
        if (k < i && j >= k) residual[j] -= l * u;
      }
      if (k >= i) residual[k] -= l;
    }
    for (const std::size_t j : pattern[i]) largest = std::max(largest, static_cast<double>(abs(residual[j])));
  }
  return largest;
}

}  // namespace lutra::Reference

#endif
