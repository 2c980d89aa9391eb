// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FOREST_HPP
#define LUTRA_FOREST_HPP

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Levels of a forest on the host whose parents have larger indices than their children: one pass raises each
/// parent above its children, and a counting sort orders the nodes.
/// @param order    [n] out: nodes level by level, ascending within a level
/// @param level_of [n] out
/// @returns [levels + 1] start of each level in `order`
inline std::vector<Ordinal> levelize_in_order(std::span<const Ordinal> parent, std::span<Ordinal> order,
                                              std::span<Ordinal> level_of) {
  const auto at = [](auto& array, Ordinal i) -> auto& {
    return array[static_cast<std::size_t>(i)];
  };
  const auto n = static_cast<Ordinal>(parent.size());
  Ordinal levels = 0;
  std::fill(level_of.begin(), level_of.end(), Ordinal(0));
  for (Ordinal v = 0; v < n; ++v) {
    const auto above = static_cast<Ordinal>(at(level_of, v) + 1);
    levels = std::max(levels, above);
    if (at(parent, v) >= 0) at(level_of, at(parent, v)) = std::max(at(level_of, at(parent, v)), above);
  }
  std::vector<Ordinal> level_map(static_cast<std::size_t>(levels) + 1, 0);
  for (const Ordinal level : level_of) ++at(level_map, level + 1);
  std::partial_sum(level_map.begin(), level_map.end(), level_map.begin());
  std::vector<Ordinal> next(level_map.begin(), level_map.end() - 1);
  for (Ordinal v = 0; v < n; ++v) at(order, at(next, at(level_of, v))++) = v;
  return level_map;
}

}  // namespace lutra::Impl

#endif
