// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEANALYSIS_HPP
#define LUTRA_TRIANGLEANALYSIS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_HostSubstitution.hpp"
#include "Lutra_RowBlocks.hpp"
#include "Lutra_TriangleSchedule.hpp"
#include "Lutra_TrisolveModel.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_BlockLevelsCuda.hpp"
#endif

namespace lutra::Impl {

/// Measures the rows of a triangle. Fences.
template <class ExecutionSpace, class Rows>
RowLengths measure_rows(const ExecutionSpace& exec, const Rows& rows) {
  using Ordinal = typename Rows::ordinal_type;
  RowLengths lengths;
  Kokkos::parallel_reduce(
      "lutra::trisolve::measure_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal row, std::int64_t& sum, std::int64_t& longest) {
        const auto length = static_cast<std::int64_t>(rows.length(row));
        sum += length;
        longest = length > longest ? length : longest;
      },
      Kokkos::Sum<std::int64_t>(lengths.total), Kokkos::Max<std::int64_t>(lengths.longest));
  lengths.mean = static_cast<double>(lengths.total) / static_cast<double>(rows.n);
  return lengths;
}

/// Levels of the blocks, and how many there are. Fences.
template <class Ordinal, class Offset, class ExecutionSpace>
LeveledBlocks<Ordinal, typename ExecutionSpace::memory_space> find_levels(
    const ExecutionSpace& exec,
    const TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space>& rows,
    const StepBlocks<Ordinal, typename ExecutionSpace::memory_space>& blocks,
    [[maybe_unused]] const RowLengths& lengths, bool portable, Charge& charge) {
  using View = Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>;
  const auto count = static_cast<std::size_t>(blocks.count);
  const auto pool = charge.allocate<View>(exec, "lutra::trisolve::level", count + 1);
  const View level = Kokkos::subview(pool, Kokkos::make_pair(std::size_t(0), count));
  const View ticket = Kokkos::subview(pool, Kokkos::make_pair(count, count + 1));
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
    if (!portable) sweep_levels_cuda(exec, rows, blocks, lengths, level, ticket);
  }
  const bool done = std::is_same_v<ExecutionSpace, Kokkos::Cuda> && !portable;
#else
  const bool done = false;
#endif
  static_cast<void>(portable);
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

/// Adds to a shape what the model wants to know of the blocks. Fences.
template <class ExecutionSpace, class Rows, class Blocks>
void describe_blocks(const ExecutionSpace& exec, const Rows& rows, const Blocks& blocked, Charge& charge,
                     TriangleShape& shape) {
  using Ordinal = typename Rows::ordinal_type;
  const auto levels = static_cast<std::size_t>(blocked.levels);
  const auto steps = charge.allocate<Kokkos::View<int*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::critical steps", levels + 1);
  const auto n_wide = Kokkos::subview(steps, levels);
  Kokkos::deep_copy(exec, steps, 0);
  const auto blocks = blocked.blocks;
  const auto level = blocked.level;
  Kokkos::parallel_for(
      "lutra::trisolve::describe_blocks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal b) {
        const std::int64_t longest = longest_row(rows, blocks, b);
        const auto size = static_cast<int>(blocks.first_step(b + 1) - blocks.first_step(b));
        const BlockShape block = shape_for(size, longest);
        const auto lane_steps = static_cast<int>((longest + block.lanes() - 1) / block.lanes());
        if (lane_steps > steps(level(b))) Kokkos::atomic_max(&steps(level(b)), lane_steps);
        if (block.is_wide()) Kokkos::atomic_add(&n_wide(), 1);
      });
  std::int64_t wide = 0, path = 0;
  Kokkos::parallel_reduce(
      "lutra::trisolve::critical_path", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocked.levels),
      KOKKOS_LAMBDA(const Ordinal l, std::int64_t& sum, std::int64_t& other) {
        sum += steps(l);
        if (l == 0) other += n_wide();
      },
      path, wide);
  shape.blocks = static_cast<double>(blocks.count);
  shape.block_levels = static_cast<double>(blocked.levels);
  shape.wide_blocks = static_cast<double>(wide);
  shape.critical_steps = static_cast<double>(path);
}

}  // namespace lutra::Impl

#endif
