// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEANALYSIS_HPP
#define LUTRA_TRIANGLEANALYSIS_HPP

#include <Kokkos_Core.hpp>

#include <vector>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_HostSubstitution.hpp"
#include "Lutra_RowBlocks.hpp"
#include "Lutra_TriangleSchedule.hpp"
#include "Lutra_TrisolveModel.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_BlockLevelsCuda.hpp"
#endif

namespace lutra::Impl {

/// Measures the rows of a triangle, if that has not been done. Fences then.
template <class ExecutionSpace, class Rows>
RowLengths measure_rows(const ExecutionSpace& exec, const Rows& rows) {
  using Ordinal = typename Rows::ordinal_type;
  RowLengths lengths = rows.lengths;
  if (lengths.total >= 0) return lengths;
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

/// Copies a few numbers to the host. Fences.
template <class ExecutionSpace, class View>
std::vector<typename View::non_const_value_type> read_back(const ExecutionSpace& exec, const View& numbers) {
  using Number = typename View::non_const_value_type;
  std::vector<Number> read(numbers.extent(0));
  Kokkos::deep_copy(
      exec, Kokkos::View<Number*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(read.data(), read.size()),
      numbers);
  exec.fence("lutra::trisolve: numbers are needed on the host");
  return read;
}

/// Levels of the blocks. How many there are stands behind them, at level(count + 1), less 1.
template <class Ordinal, class Offset, class ExecutionSpace>
LeveledBlocks<Ordinal, typename ExecutionSpace::memory_space> sweep_levels(
    const ExecutionSpace& exec,
    const TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space>& rows,
    const StepBlocks<Ordinal, typename ExecutionSpace::memory_space>& blocks,
    [[maybe_unused]] const RowLengths& lengths, [[maybe_unused]] bool portable, Charge& charge) {
  using View = Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>;
  const auto count = static_cast<std::size_t>(blocks.count);
  const auto level = charge.allocate<View>(exec, "lutra::trisolve::level", count + 2);
  Kokkos::deep_copy(exec, level, Ordinal(-1));
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    if (!portable) {
      sweep_levels_cuda(exec, rows, blocks, lengths, level);
      return {blocks, level, 0};
    }
  }
#endif
  sweep_levels_portable(exec, rows, blocks, level);
  return {blocks, level, 0};
}

/// Levels of the rows, and how many there are. Fences.
template <class Ordinal, class Offset, class ExecutionSpace>
LeveledBlocks<Ordinal, typename ExecutionSpace::memory_space> find_row_levels(
    const ExecutionSpace& exec,
    const TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space>& rows,
    const RowLengths& lengths, bool portable, Charge& charge) {
  using Memory = typename ExecutionSpace::memory_space;
  StepBlocks<Ordinal, Memory> rows_alone;
  rows_alone.count = rows.n;
  const auto count = static_cast<std::size_t>(rows.n);
  if constexpr (is_host_space<ExecutionSpace>) {
    const auto level = charge.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::trisolve::level", count);
    exec.fence("lutra::trisolve: the host reads the pattern");
    const Ordinal levels = find_levels_in_order(rows, level);
    return {rows_alone, level, levels};
  } else {
    auto leveled = sweep_levels(exec, rows, rows_alone, lengths, portable, charge);
    const auto last = Kokkos::subview(leveled.level, Kokkos::make_pair(count + 1, count + 2));
    leveled.levels = read_back(exec, last)[0] + 1;
    return leveled;
  }
}

/// Finds how many levels the blocks have, and adds to a shape what the model wants to know of them. Fences.
/// @param most_levels no fewer than that: those of the rows
template <class ExecutionSpace, class Rows, class Blocks>
void describe_blocks(const ExecutionSpace& exec, const Rows& rows, Blocks& blocked, std::size_t most_levels,
                     Charge& charge, TriangleShape& shape) {
  using Ordinal = typename Rows::ordinal_type;
  const auto numbers = charge.allocate<Kokkos::View<int*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::critical steps", most_levels + 3);
  const auto steps = Kokkos::subview(numbers, Kokkos::make_pair(std::size_t(3), most_levels + 3));
  const auto totals = Kokkos::subview(numbers, Kokkos::make_pair(0, 3));  // path, wide blocks, last level
  Kokkos::deep_copy(exec, numbers, 0);
  const auto blocks = blocked.blocks;
  const auto level = blocked.level;
  Kokkos::parallel_for(
      "lutra::trisolve::describe_blocks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, blocks.count),
      KOKKOS_LAMBDA(const Ordinal b) {
        const std::int64_t longest = longest_row(rows, blocks, b);
        const auto size = static_cast<int>(blocks.first_step(b + 1) - blocks.first_step(b));
        const BlockShape block = shape_for(size, longest, true);
        const auto lane_steps = static_cast<int>((longest + block.lanes() - 1) / block.lanes());
        if (lane_steps > steps(level(b))) {
          const int before = Kokkos::atomic_fetch_max(&steps(level(b)), lane_steps);
          if (lane_steps > before) Kokkos::atomic_add(&totals(0), lane_steps - before);
        }
        if (block.is_wide()) Kokkos::atomic_add(&totals(1), 1);
        note_level(&totals(2), static_cast<int>(level(b)));
      });
  const std::vector<int> read = read_back(exec, totals);
  blocked.levels = static_cast<Ordinal>(read[2] + 1);
  shape.blocks = static_cast<double>(blocks.count);
  shape.block_levels = static_cast<double>(blocked.levels);
  shape.wide_blocks = read[1];
  shape.critical_steps = read[0];
}

}  // namespace lutra::Impl

#endif
