// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTPATHS_HPP
#define LUTRA_FRONTPATHS_HPP

#include <limits>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// [fronts] 1 for fronts of subtrees in which no front has more than `max_rows` rows or `max_children`
/// children, else 0
inline std::vector<char> find_small_subtrees(const std::vector<Front>& fronts, int max_rows,
                                             Offset max_children = std::numeric_limits<Offset>::max()) {
  std::vector<char> is_small(fronts.size(), 1);
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    if (fronts[f].size() > max_rows || fronts[f].children_end - fronts[f].children > max_children)
      is_small[f] = 0;
    if (is_small[f] == 0 && fronts[f].parent >= 0) at(is_small, fronts[f].parent) = 0;
  }
  return is_small;
}

/// [fronts] cost of the path from each front, itself included, to its root
template <class Cost>
std::vector<double> measure_paths(const std::vector<Front>& fronts, const Cost& cost) {
  std::vector<double> path(fronts.size());
  for (std::size_t f = fronts.size(); f-- > 0;) {
    const double after = fronts[f].parent < 0 ? 0 : at(path, fronts[f].parent);
    path[f] = after + cost(static_cast<Ordinal>(f));
  }
  return path;
}

}  // namespace lutra::Impl

#endif
