// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWBLOCKS_HPP
#define LUTRA_ROWBLOCKS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_TrianglePlan.hpp"

namespace lutra::Impl {

inline constexpr int block_search_steps = 128;  ///< steps one thread cuts into blocks

/// What cutting blocks wants to know of each step, side by side so that one thread's walk along them stays in
/// its cache.
template <class Ordinal, class Memory>
struct StepFacts {
  Kokkos::View<Ordinal*, Memory> dependent;  ///< [n] nearest later step that depends on it, where that is
                                             ///< less than a block away; n otherwise
  Kokkos::View<Ordinal*, Memory> nearest;    ///< [n] latest step it depends on; −1: none
  Kokkos::View<Ordinal*, Memory> length;     ///< [n] entries of its row
};

/// Finds them.
template <class ExecutionSpace, class Rows, class Facts>
void find_step_facts(const ExecutionSpace& exec, const Rows& rows, const Facts& facts) {
  using Ordinal = typename Rows::ordinal_type;
  using Offset = typename Rows::offset_type;
  Kokkos::deep_copy(exec, facts.dependent, rows.n);
  Kokkos::parallel_for(
      "lutra::trisolve::step_facts", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal step) {
        const Ordinal row = rows.mirrored(step);
        const Offset length = rows.length(row);
        facts.length(step) = static_cast<Ordinal>(length);
        facts.nearest(step) = length > 0 ? rows.dependency(row, length - 1) : Ordinal(-1);
        for (Offset t = length - 1; t >= 0; --t) {
          const Ordinal dependency = rows.dependency(row, t);
          if (step - dependency >= most_block_rows) break;
          Kokkos::atomic_min(&facts.dependent(dependency), step);
        }
      });
}

/// How far a block that begins at step `first` may reach: the last step such that either all of the block's
/// steps but the last are needed by another step of the block (a subtree of an elimination tree with its
/// root), or all but the first need another one (a path from a root downwards). Nothing outside then waits
/// for more than it would have waited for anyhow: in a factor with the pattern of an elimination tree, what
/// depends on a step of the block depends on its last step too, or the block depends on nothing but ancestors
/// of its first. Rows much shorter than the longest are left out, which bounds the padding.
template <class Facts, class Ordinal>
KOKKOS_FUNCTION Ordinal last_of_block(const Facts& facts, Ordinal first, Ordinal limit) {
  Ordinal best = first, farthest = facts.dependent(first);
  std::int64_t longest = facts.length(first), total = longest;
  bool path = true;
  for (Ordinal step = first + 1; step < limit; ++step) {
    const std::int64_t length = facts.length(step);
    longest = length > longest ? length : longest;
    total += length;
    if ((step - first + 1) * longest > 3 * total + 256) break;
    path = path && facts.nearest(step) >= first;
    if (path || farthest <= step) best = step;
    if (!path && farthest >= limit) break;
    const Ordinal needed_by = facts.dependent(step);
    farthest = needed_by > farthest ? needed_by : farthest;
  }
  return best;
}

/// Entries of each block's longest row that lie outside of the block.
template <class Ordinal, class ExecutionSpace, class Rows, class Blocks>
Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space> find_longest_rows(const ExecutionSpace& exec,
                                                                                const Rows& rows,
                                                                                const Blocks& blocks,
                                                                                Charge& charge) {
  const auto longest = charge.allocate<Kokkos::View<Ordinal*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::trisolve::longest rows", static_cast<std::size_t>(blocks.count));
  Kokkos::deep_copy(exec, longest, Ordinal(0));
  Kokkos::parallel_for(
      "lutra::trisolve::longest_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
      KOKKOS_LAMBDA(const Ordinal step) {
        const Ordinal b = blocks.block(step);
        const auto length = static_cast<Ordinal>(
            rows.length_before(rows.mirrored(step), blocks.first_step(b), most_block_rows));
        if (length > longest(b)) Kokkos::atomic_max(&longest(b), length);
      });
  return longest;
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
  const auto pool = charge.allocate<View>(exec, "lutra::trisolve::row_blocks", 5 * n + 1);
  const auto part = [&](std::size_t from, std::size_t to) {
    return View(Kokkos::subview(pool, Kokkos::make_pair(from, to)));
  };
  const View begin = part(0, n + 1), block_of = part(n + 1, 2 * n + 1);
  // In the memory of block_of stands, until it is needed, what it replaces.
  const View reach = part(4 * n + 1, 5 * n + 1);  // last step of the block that would begin at each step
  const StepFacts<Ordinal, Memory> facts{block_of, part(2 * n + 1, 3 * n + 1), part(3 * n + 1, 4 * n + 1)};
  const auto starts =
      charge.allocate<Kokkos::View<unsigned char*, Memory>>(exec, "lutra::trisolve::starts", n);
  find_step_facts(exec, rows, facts);
  const Ordinal n_steps = rows.n;
  Kokkos::parallel_for(
      "lutra::trisolve::reach", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n_steps),
      KOKKOS_LAMBDA(const Ordinal first) {
        const Ordinal end = (first / block_search_steps + 1) * Ordinal(block_search_steps);
        const Ordinal limit = Kokkos::min(Kokkos::min(n_steps, end), first + Ordinal(most_block_rows));
        reach(first) = last_of_block(facts, first, limit);
      });
  const Ordinal segments = (n_steps + block_search_steps - 1) / block_search_steps;
  Kokkos::parallel_for(
      "lutra::trisolve::cut_blocks", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, segments),
      KOKKOS_LAMBDA(const Ordinal segment) {
        const Ordinal end = Kokkos::min(n_steps, (segment + 1) * Ordinal(block_search_steps));
        for (Ordinal first = segment * block_search_steps; first < end;) {
          const Ordinal last = reach(first);
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
  blocks.longest = find_longest_rows<Ordinal>(exec, rows, blocks, charge);
  return blocks;
}

}  // namespace lutra::Impl

#endif
