// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FUZZPATTERN_HPP
#define LUTRA_FUZZPATTERN_HPP

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Fuzz.hpp"

namespace lutra::Fuzz {

using Matrix = HostMatrix<double, Ordinal, Offset>;
using Columns = std::vector<std::set<Ordinal>>;  ///< [n] columns of each row

/// Any pattern of up to 24 rows: first byte n, then a byte per eight columns of each row.
inline Columns take_any_pattern(Input& input) {
  const Ordinal n = input.take_byte() % 25;
  Columns rows(static_cast<std::size_t>(n));
  for (auto& row : rows) {
    for (Ordinal first = 0; first < n; first += 8) {
      const unsigned bits = input.take_byte();
      for (Ordinal j = first; j < std::min(n, first + 8); ++j)
        if ((bits >> (j - first) & 1) != 0) row.insert(j);
    }
  }
  return rows;
}

/// A large pattern from few bytes: two bytes n, then triples (a, b, s) add the entries (i, a·i + b mod n) of
/// every (1 + s mod 8)-th row. At most six triples.
inline Columns take_large_pattern(Input& input, Ordinal most) {
  const Ordinal high = input.take_byte();
  const Ordinal n = 1 + (256 * high + input.take_byte()) % most;
  Columns rows(static_cast<std::size_t>(n));
  for (int triple = 0; triple < 6 && !input.empty(); ++triple) {
    const Ordinal a = input.take_byte(), b = input.take_byte(), step = 1 + input.take_byte() % 8;
    for (Ordinal i = 0; i < n; i += step) rows[static_cast<std::size_t>(i)].insert((a * i + b) % n);
  }
  return rows;
}

inline void add_diagonal(Columns& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].insert(static_cast<Ordinal>(i));
}

inline void mirror(Columns& rows) {
  const Columns copy = rows;
  for (std::size_t i = 0; i < copy.size(); ++i)
    for (const Ordinal j : copy[i]) rows[static_cast<std::size_t>(j)].insert(static_cast<Ordinal>(i));
}

/// Matrix with that pattern; each value from a byte, −8 … 7.9375, or after the end of the input from its
/// place.
inline Matrix with_values(const Columns& rows, Input& input) {
  const auto n = static_cast<Ordinal>(rows.size());
  Matrix matrix{n, n, {0}, {}, {}};
  for (const auto& row : rows) {
    for (const Ordinal j : row) {
      const auto place = static_cast<std::int64_t>(matrix.entries.size());
      const auto made = static_cast<double>(1 + (place * 7 + j * 3) % 16);
      matrix.entries.push_back(j);
      matrix.values.push_back(input.empty() ? made : (input.take_byte() - 128) / 16.0);
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// Checks that `order` has each of 0 … n − 1 once.
template <class Index>
void require_permutation(const std::vector<Index>& order, std::size_t n, const std::string& what) {
  require(order.size() == n, what + " has n elements");
  std::vector<bool> seen(n, false);
  for (const Index element : order) {
    const auto k = static_cast<std::size_t>(element);
    require(element >= 0 && k < n && !seen[k], what + " is a permutation");
    seen[k] = true;
  }
}

}  // namespace lutra::Fuzz

#endif
