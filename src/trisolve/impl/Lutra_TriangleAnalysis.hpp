// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEANALYSIS_HPP
#define LUTRA_TRIANGLEANALYSIS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_HostSubstitution.hpp"
#include "Lutra_RowBlocks.hpp"
#include "Lutra_TriangleSchedule.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_BlockLevelsCuda.hpp"
#endif

namespace lutra::Impl {

/// A grouping of steps with the levels of its groups.
template <class Ordinal, class Memory>
struct LeveledBlocks {
  StepBlocks<Ordinal, Memory> blocks;
  Kokkos::View<Ordinal*, Memory> level;  ///< [blocks.count]
  Ordinal levels = 0;
};

/// Entries of a triangle outside of its diagonal.
template <class ExecutionSpace, class Rows>
std::int64_t count_entries(const ExecutionSpace& exec, const Rows& rows) {
  using Ordinal = typename Rows::ordinal_type;
  std::int64_t entries = 0;
  Kokkos::parallel_reduce(
      "lutra::trisolve::count", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal row, std::int64_t& sum) {
        sum += static_cast<std::int64_t>(rows.length(row));
      },
      entries);
  return entries;
}

/// Levels of the blocks, and how many there are. Fences.
template <class Ordinal, class Offset, class ExecutionSpace>
LeveledBlocks<Ordinal, typename ExecutionSpace::memory_space> find_levels(
    const ExecutionSpace& exec,
    const TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space>& rows,
    const StepBlocks<Ordinal, typename ExecutionSpace::memory_space>& blocks, double mean_length,
    bool portable, Charge& charge) {
  using View = Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>;
  const auto level =
      charge.allocate<View>(exec, "lutra::trisolve::level", static_cast<std::size_t>(blocks.count));
  const auto ticket = charge.allocate<View>(exec, "lutra::trisolve::ticket", 1);
  if constexpr (is_host_space<ExecutionSpace>) {
    if (blocks.begin.extent(0) == 0) {
      exec.fence("lutra::trisolve: the host reads the pattern");
      const Ordinal levels = find_levels_in_order(rows, level);
      return {blocks, level, levels};
    }
  }
  Kokkos::deep_copy(exec, level, Ordinal(-1));
  Kokkos::deep_copy(exec, ticket, Ordinal(0));
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    if (!portable) sweep_levels_cuda(exec, rows, blocks, mean_length, level, ticket);
  }
  const bool done = std::is_same_v<ExecutionSpace, Kokkos::Cuda> && !portable;
#else
  const bool done = false;
#endif
  static_cast<void>(portable);
  static_cast<void>(mean_length);
  if (!done) sweep_levels_portable(exec, rows, blocks, level, ticket);
  Ordinal last = 0;
  Kokkos::parallel_reduce(
      "lutra::trisolve::last_level", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal b, Ordinal& most) {
        if (level(b) > most) most = level(b);
      },
      Kokkos::Max<Ordinal>(last));
  return {blocks, level, last + 1};
}

}  // namespace lutra::Impl

#endif
