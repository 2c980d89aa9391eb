// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EARLYSUMS_HPP
#define LUTRA_EARLYSUMS_HPP

#include <cstdint>

#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// On CUDA small fronts are factorized, and solved, in a launch before that of the other fronts. A row with
// thousands of columns makes a front with thousands of such children. Their contributions to one entry, its
// sources, are then summed in a launch between the two: early sums, one warp each.

/// Most children of a front that its own threads assemble without early sums.
inline constexpr Offset max_children_without_sums = 64;
/// Longest list of sources that is not cut into early sums, and most sources of an early sum.
inline constexpr std::uint32_t max_listed_sources = 64, max_early_sources = 1024;

inline bool has_many_children(const Front& front) {
  return front.children_end - front.children > max_children_without_sums;
}
/// Number of early sums for a list of so many sources.
inline std::uint32_t count_early_sums(std::uint32_t sources) {
  return (sources + max_early_sources - 1) / max_early_sources;
}

}  // namespace lutra::Impl

#endif
