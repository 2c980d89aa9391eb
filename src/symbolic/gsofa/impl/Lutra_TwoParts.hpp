// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TWOPARTS_HPP
#define LUTRA_TWOPARTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// The two parts of the rows in "End-to-End LU …", Algorithm 4: before and from the first row whose search
/// has half of the most frontiers. The paper knows the numbers of frontiers beforehand; here one row of each
/// 64th of the matrix is searched for them.
struct TwoParts {
  static constexpr std::int64_t max_samples = 64;

  /// Rows to search, ascending; the last row is one of them.
  static std::vector<Ordinal> samples(std::int64_t n) {
    const std::int64_t count = std::min(max_samples, n);
    std::vector<Ordinal> rows;
    for (std::int64_t k = 0; k < count; ++k) rows.push_back(static_cast<Ordinal>((k + 1) * n / count - 1));
    return rows;
  }

  /// First row of the second part. @param frontiers frontiers(row) of each sample
  template <class Frontiers>
  static Ordinal split(const std::vector<Ordinal>& samples, const Frontiers& frontiers) {
    Offset most = 0;
    for (const Ordinal row : samples) most = std::max(most, frontiers(row));
    Ordinal begin = 0;
    for (const Ordinal row : samples) {
      if (2 * frontiers(row) >= most) break;
      begin = row + 1;
    }
    return begin;
  }

  /// First position in a list of sources from `split` on. @throws InputError unless they ascend
  template <class List>
  static std::size_t position(const List& list, Ordinal split) {
    const Ordinal *const first = list.data(), *const last = first + list.extent(0);
    if (!std::is_sorted(first, last))
      throw InputError("options: fill2.two_parts needs sources in ascending order");
    return static_cast<std::size_t>(std::lower_bound(first, last, split) - first);
  }
};

}  // namespace lutra::Impl

#endif
