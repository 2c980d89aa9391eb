// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWBLOCKS_HPP
#define LUTRA_ROWBLOCKS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_TrianglePlan.hpp"

namespace lutra::Impl {

inline constexpr int block_search_steps = 128;  ///< steps one thread cuts into blocks

/// The nearest later step that depends on each step, where it is less than a block away; n otherwise.
template <class ExecutionSpace, class Rows, class View>
void find_nearest_dependents(const ExecutionSpace& exec, const Rows& rows, const View& dependent) {
  using Ordinal = typename Rows::ordinal_type;
  using Offset = typename Rows::offset_type;
  Kokkos::deep_copy(exec, dependent, rows.n);
  Kokkos::parallel_for(
      "lutra::trisolve::dependents", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal step) {
        const Ordinal row = rows.mirrored(step);
        for (Offset t = rows.length(row) - 1; t >= 0; --t) {
          const Ordinal dependency = rows.dependency(row, t);
          if (step - dependency >= most_block_rows) break;
          Kokkos::atomic_min(&dependent(dependency), step);
        }
      });
}

/// How far a block that begins at step `first` may reach: the last step such that either all of the block's
/// steps but the last are needed by another step of the block (a subtree of an elimination tree with its
/// root), or all but the first need another one (a path from a root downwards). Nothing outside then waits
/// for more than it would have waited for anyhow: in a factor with the pattern of an elimination tree, what
/// depends on a step of the block depends on its last step too, or the block depends on nothing but ancestors
/// of its first. Rows much shorter than the longest are left out, which bounds the padding.
template <class Rows, class View>
KOKKOS_FUNCTION typename Rows::ordinal_type last_of_block(const Rows& rows, const View& dependent,
                                                          typename Rows::ordinal_type first,
                                                          typename Rows::ordinal_type limit) {
  using Ordinal = typename Rows::ordinal_type;
  using Offset = typename Rows::offset_type;
  Ordinal best = first, farthest = dependent(first);
  Offset longest = rows.length(rows.mirrored(first)), total = longest;
  bool path = true;
  for (Ordinal step = first + 1; step < limit; ++step) {
    const Ordinal row = rows.mirrored(step);
    const Offset length = rows.length(row);
    longest = length > longest ? length : longest;
    total += length;
    if (static_cast<Offset>(step - first + 1) * longest > 3 * total + 256) break;
    path = path && length > 0 && rows.dependency(row, length - 1) >= first;
    if (path || farthest <= step) best = step;
    if (!path && farthest >= limit) break;
    const Ordinal needed_by = dependent(step);
    farthest = needed_by > farthest ? needed_by : farthest;
  }
  return best;
}

/// Cuts the steps into blocks of up to most_block_rows. Work near linear in n; entries are looked at only
/// where they are less than a block from the diagonal.
template <class Ordinal, class Offset, class ExecutionSpace>
StepBlocks<Ordinal, typename ExecutionSpace::memory_space> find_row_blocks(
    const ExecutionSpace& exec,
    const TriangleRows<Ordinal, Offset, typename ExecutionSpace::memory_space>& rows, Charge& charge) {
  using Memory = typename ExecutionSpace::memory_space;
  using View = Kokkos::View<Ordinal*, Memory>;
  const auto n = static_cast<std::size_t>(rows.n);
  const auto begin = charge.allocate<View>(exec, "lutra::trisolve::block_begin", n + 1);
  const auto block_of = charge.allocate<View>(exec, "lutra::trisolve::block_of", n);
  const View dependent = block_of;  // the same memory: replaced step by step below
  const auto starts =
      charge.allocate<Kokkos::View<unsigned char*, Memory>>(exec, "lutra::trisolve::starts", n);
  find_nearest_dependents(exec, rows, dependent);
  const Ordinal segments = (rows.n + block_search_steps - 1) / block_search_steps;
  Kokkos::parallel_for(
      "lutra::trisolve::cut_blocks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, segments),
      KOKKOS_LAMBDA(const Ordinal segment) {
        const Ordinal end = Kokkos::min(rows.n, (segment + 1) * Ordinal(block_search_steps));
        for (Ordinal first = segment * block_search_steps; first < end;) {
          const Ordinal limit = Kokkos::min(end, first + Ordinal(most_block_rows));
          const Ordinal last = last_of_block(rows, dependent, first, limit);
          for (Ordinal step = first; step <= last; ++step) starts(step) = step == first ? 1 : 0;
          first = last + 1;
        }
      });
  StepBlocks<Ordinal, Memory> blocks;
  Kokkos::parallel_scan(
      "lutra::trisolve::number_blocks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal step, Ordinal& count, const bool final) {
        count += starts(step);
        if (!final) return;
        block_of(step) = count - 1;
        if (starts(step)) begin(count - 1) = step;
        if (step == rows.n - 1) begin(count) = rows.n;
      },
      blocks.count);
  blocks.begin = begin;
  blocks.block_of = block_of;
  return blocks;
}

}  // namespace lutra::Impl

#endif
