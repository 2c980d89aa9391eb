// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CAMPAIGNTRANSFORMS_HPP
#define LUTRA_CAMPAIGNTRANSFORMS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "Lutra_CampaignGenerator.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_ScalarTraits.hpp"

// Matrices made from others. Nothing here rounds, except where values leave the range of normal numbers.

namespace lutra::Campaign {

/// An entry of a matrix under construction.
template <class Scalar>
struct Entry {
  std::size_t row, column;
  Scalar value;
};

template <class Scalar>
std::vector<Entry<Scalar>> entries_of(const HostMatrix<Scalar>& A) {
  std::vector<Entry<Scalar>> entries;
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i)
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) { entries.push_back({i, j, value}); });
  return entries;
}

/// A matrix of n rows from entries in any order, without duplicates.
template <class Scalar>
HostMatrix<Scalar> from_entries(std::size_t n, std::vector<Entry<Scalar>> entries) {
  std::ranges::sort(entries, [](const auto& a, const auto& b) {
    return std::tie(a.row, a.column) < std::tie(b.row, b.column);
  });
  HostMatrix<Scalar> A;
  A.n_rows = A.n_cols = static_cast<int>(n);
  A.row_map.assign(n + 1, 0);
  for (const auto& entry : entries) {
    ++A.row_map[entry.row + 1];
    A.entries.push_back(static_cast<int>(entry.column));
    A.values.push_back(entry.value);
  }
  for (std::size_t i = 0; i < n; ++i) A.row_map[i + 1] += A.row_map[i];
  return A;
}

template <class Scalar>
Scalar times_power(const Scalar& value, int exponent) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return std::ldexp(value, exponent);
  } else {
    return {std::ldexp(value.real(), exponent), std::ldexp(value.imag(), exponent)};
  }
}

/// A with entry (i, j) times 2^(rows[i] + columns[j]).
template <class Scalar>
HostMatrix<Scalar> scaled(HostMatrix<Scalar> A, const std::vector<int>& rows,
                          const std::vector<int>& columns) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]); ++p)
      A.values[p] = times_power(A.values[p], rows[i] + columns[static_cast<std::size_t>(A.entries[p])]);
  }
  return A;
}

/// b with entry i times 2^exponents[i].
template <class Scalar>
std::vector<Scalar> scaled(std::vector<Scalar> b, const std::vector<int>& exponents) {
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = times_power(b[i], exponents[i]);
  return b;
}

/// The matrix with entry (i, j) of A at (rows[i], columns[j]).
template <class Scalar>
HostMatrix<Scalar> permuted(const HostMatrix<Scalar>& A, const std::vector<std::size_t>& rows,
                            const std::vector<std::size_t>& columns) {
  auto entries = entries_of(A);
  for (auto& entry : entries) entry = {rows[entry.row], columns[entry.column], entry.value};
  return from_entries(rows.size(), std::move(entries));
}

template <class Scalar>
std::vector<Scalar> permuted(const std::vector<Scalar>& b, const std::vector<std::size_t>& order) {
  std::vector<Scalar> result(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) result[order[i]] = b[i];
  return result;
}

/// A ⊗ I₂: two copies of A, whose rows alternate.
template <class Scalar>
HostMatrix<Scalar> doubled(const HostMatrix<Scalar>& A) {
  std::vector<Entry<Scalar>> entries;
  for (const auto& [i, j, value] : entries_of(A))
    for (const std::size_t copy : {0, 1}) entries.push_back({2 * i + copy, 2 * j + copy, value});
  return from_entries(2 * static_cast<std::size_t>(A.n_rows), std::move(entries));
}

template <class Scalar>
std::vector<Scalar> doubled(const std::vector<Scalar>& b) {
  std::vector<Scalar> result;
  for (const Scalar& value : b) result.insert(result.end(), 2, value);
  return result;
}

/// A with about `count` stored zeros at random positions that had no entry; in both triangles if `symmetric`.
template <class Scalar>
HostMatrix<Scalar> with_zeros(const HostMatrix<Scalar>& A, std::size_t count, bool symmetric,
                              Random& random) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  auto entries = entries_of(A);
  for (; n > 0 && count > 0; --count) {
    const std::size_t i = random.next() % n, j = random.next() % n;
    entries.push_back({i, j, Scalar(0)});
    if (symmetric && i != j) entries.push_back({j, i, Scalar(0)});
  }
  const auto place = [](const auto& a, const auto& b) {
    return std::tie(a.row, a.column) < std::tie(b.row, b.column);
  };
  std::ranges::stable_sort(entries, place);  // entries of A come before zeros at their places
  const auto repeated = std::ranges::unique(
      entries, [](const auto& a, const auto& b) { return a.row == b.row && a.column == b.column; });
  entries.erase(repeated.begin(), repeated.end());
  return from_entries(n, std::move(entries));
}

/// A without stored zeros.
template <class Scalar>
HostMatrix<Scalar> without_zeros(const HostMatrix<Scalar>& A) {
  auto entries = entries_of(A);
  std::erase_if(entries, [](const auto& entry) { return entry.value == Scalar(0); });
  return from_entries(static_cast<std::size_t>(A.n_rows), std::move(entries));
}

/// A with the rows of `negative` times −1.
template <class Scalar>
HostMatrix<Scalar> negated(HostMatrix<Scalar> A, const std::vector<bool>& negative) {
  for (std::size_t i = 0; i < negative.size(); ++i)
    for (auto p = A.row_map[i]; p < A.row_map[i + 1]; ++p)
      if (negative[i]) A.values[static_cast<std::size_t>(p)] *= Scalar(-1);
  return A;
}

template <class Scalar>
std::vector<Scalar> negated(std::vector<Scalar> b, const std::vector<bool>& negative) {
  for (std::size_t i = 0; i < negative.size(); ++i)
    if (negative[i]) b[i] *= Scalar(-1);
  return b;
}

/// Text of a Matrix Market file whose entries are split into two or three parts each, in random order. The
/// parts are v/2 and v/2, or v/2, v/4 and v/4, so that sums in any order are exact.
template <class Scalar>
std::string split_text(const HostMatrix<Scalar>& A, Random& random) {
  constexpr bool is_real = std::is_floating_point_v<Scalar>;
  std::vector<Entry<Scalar>> parts;
  for (const auto& [i, j, value] : entries_of(A)) {
    const bool three = random.chance(0.5);
    parts.push_back({i, j, times_power(value, -1)});
    parts.push_back({i, j, times_power(value, three ? -2 : -1)});
    if (three) parts.push_back({i, j, times_power(value, -2)});
  }
  const auto order = random.permutation(parts.size());
  std::string text = std::string("%%MatrixMarket matrix coordinate ") + (is_real ? "real" : "complex") +
                     " general\n" + std::to_string(A.n_rows) + " " + std::to_string(A.n_cols) + " " +
                     std::to_string(parts.size()) + "\n";
  char line[128];
  for (const std::size_t k : order) {
    const auto& [i, j, value] = parts[k];
    if constexpr (is_real) {
      std::snprintf(line, sizeof line, "%zu %zu %.17g\n", i + 1, j + 1, value);
    } else {
      std::snprintf(line, sizeof line, "%zu %zu %.17g %.17g\n", i + 1, j + 1, value.real(), value.imag());
    }
    text += line;
  }
  return text;
}

/// Whether A and Aᵀ hold the same values, where entries that are not stored count as zeros.
template <class Scalar>
bool is_symmetric(const HostMatrix<Scalar>& A) {
  const auto ours = without_zeros(A), mirrored = Reference::transpose(ours);
  return ours.row_map == mirrored.row_map && ours.entries == mirrored.entries &&
         ours.values == mirrored.values;
}

/// Whether A and Aᴴ hold the same values.
template <class Scalar>
bool is_hermitian(const HostMatrix<Scalar>& A) {
  const auto ours = without_zeros(A), mirrored = Reference::transpose(ours, true);
  return ours.row_map == mirrored.row_map && ours.entries == mirrored.entries &&
         ours.values == mirrored.values;
}

/// Exponents of the smallest and the largest nonzero magnitude of values; both 0 if there is none.
template <class Scalar>
std::pair<int, int> exponent_range(const std::vector<Scalar>& values) {
  int low = 2000, high = -2000;
  for (const Scalar& value : values) {
    using std::abs;
    const double size = static_cast<double>(abs(value));
    if (!(size > 0) || std::isinf(size)) continue;
    low = std::min(low, std::ilogb(size));
    high = std::max(high, std::ilogb(size));
  }
  return low > high ? std::pair(0, 0) : std::pair(low, high);
}

}  // namespace lutra::Campaign

#endif
