// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AMALGAMATE_HPP
#define LUTRA_AMALGAMATE_HPP

#include <cstddef>
#include <vector>

#include "Lutra_Gsofa.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Amalgamates supernodes with the preceding ones, on the host, and returns the zeros added to U.
/// @param joints [n] nonzero where L(s, s − 1) and U(s − 1, s) are entries
/// @param upper  [n] entries of each row of U
/// @param leads  [n] in and out: nonzero where a supernode starts
inline Offset amalgamate(const std::vector<Ordinal>& joints, const std::vector<Ordinal>& upper,
                         const SupernodeOptions& options, std::vector<Ordinal>& leads) {
  const std::size_t n = leads.size();
  Offset all_zeros = 0, zeros = 0, stored = 0;  // of all supernodes; of the growing one
  std::size_t first = 0;
  for (std::size_t s = 0, end = 0; s < n; s = end) {
    end = s + 1;
    while (end < n && leads[end] == 0) ++end;
    const auto before = static_cast<Offset>(s - first);
    Offset own = 0;  // entries of the rows from s on
    for (std::size_t i = s; i < end; ++i) own += upper[i];
    // A row before s grows to the length of row s plus its distance to s.
    const Offset joined = s == 0 ? 0 : before * upper[s] + before * (before + 1) / 2;
    const Offset added = joined - stored;
    const bool joins =
        s > 0 && joints[s] != 0 && end - first <= static_cast<std::size_t>(options.max_size) &&
        static_cast<double>(zeros + added) <= options.relaxation * static_cast<double>(joined + own);
    if (joins) {
      leads[s] = 0;
      zeros += added;
      stored = joined + own;
    } else {
      all_zeros += zeros;
      zeros = 0;
      stored = own;
      first = s;
    }
  }
  return all_zeros + zeros;
}

}  // namespace lutra::Impl

#endif
