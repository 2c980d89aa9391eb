// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOURCEGROUPS_HPP
#define LUTRA_SOURCEGROUPS_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace lutra::Impl {

/// Division of a list of sources into groups that are searched at once, 32 sources each. The last groups take
/// longest, so that the last ones, one per multiprocessor of a large device, have 16.
struct SourceGroups {
  static constexpr int size = 32, late_size = 16;
  /// 132 multiprocessors of an H100 or H200. Without late groups fill2 took 15 to 21 % longer on cont-300 and
  /// poisson2d:1200, and 3 to 5 % less on poisson3d; twice as many were slower on all of these.
  static constexpr std::int64_t late_sources = 132 * late_size;

  std::int64_t sources;

  KOKKOS_FUNCTION std::int64_t early_sources() const {
    return sources > late_sources ? sources - late_sources : 0;
  }
  KOKKOS_FUNCTION std::int64_t early_groups() const { return (early_sources() + size - 1) / size; }
  KOKKOS_FUNCTION std::int64_t count() const {
    return early_groups() + (sources - early_sources() + late_size - 1) / late_size;
  }
  /// The first source of a group; for any index out of range, the end.
  KOKKOS_FUNCTION std::int64_t begin(std::int64_t group) const {
    if (group < 0 || group >= count()) return sources;
    const std::int64_t late = group - early_groups();
    return late < 0 ? group * size : early_sources() + late * late_size;
  }
};

}  // namespace lutra::Impl

#endif
