// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTS_HPP
#define LUTRA_PIVOTS_HPP

#include <vector>

#include "Lutra_FactorizationPlan.hpp"

namespace lutra::Impl {

/// Pivots in elimination order, on the host. Fences.
/// @param perturbed    [n] 1 where the pivot was perturbed
/// @param row_of_pivot [n] position in F of each pivot's row; empty: no rows were interchanged
template <class Ordinal, class Offset, class ExecutionSpace>
std::vector<Pivot> list_pivots(
    const ExecutionSpace& exec,
    const PermutedPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& F,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
    const Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>& row_of_pivot = {}) {
  exec.fence("lutra::driver: pivots are known");
  const Kokkos::HostSpace host;
  const auto rows = Kokkos::create_mirror_view_and_copy(host, F.row_order);
  const auto columns = Kokkos::create_mirror_view_and_copy(host, F.col_order);
  const auto flags = Kokkos::create_mirror_view_and_copy(host, perturbed);
  const auto interchanged = Kokkos::create_mirror_view_and_copy(host, row_of_pivot);
  std::vector<Pivot> pivots;
  pivots.reserve(columns.extent(0));
  for (std::size_t k = 0; k < columns.extent(0); ++k) {
    const auto row = interchanged.extent(0) == 0 ? k : static_cast<std::size_t>(interchanged(k));
    pivots.push_back(
        {static_cast<std::int64_t>(rows(row)), static_cast<std::int64_t>(columns(k)), flags(k) != 0});
  }
  return pivots;
}

}  // namespace lutra::Impl

#endif
