// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTASKWAITS_HPP
#define LUTRA_FRONTTASKWAITS_HPP

#include <compare>
#include <cstddef>
#include <vector>

#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontTask.hpp"

namespace lutra::Impl {

// Which flags a task waits for and which it raises, as the kernels do: the argument against deadlock. Blocks
// take tasks in the order of the list. Each flag a task waits for is raised by tasks before it in the order,
// so that the first incomplete task is always worked by some block and waits for nothing. The sweep down a
// diagonal is the exception: one block makes the steps of a front one after the other, and takes its task
// before those it waits for. What a step waits for comes, in the order, before every task that waits for the
// step's flag, and sweeps with the blocks that pause beside them are at most an eighth of all blocks.
//
//     tile (i, j), left-looking, s = 0, 1, …:        sweep of a front, s = 0, 1, …:
//       wait  tile(i, s) and tile(s, j)                wait  diagonal_link(s)
//       subtract L(i, s)·U(s, j)                       wait  link(s − 1, L) and link(s − 1, U)
//     next to the diagonal: raise link(s, ·)           last product, LU, inverses
//       wait  tile(s, s), multiply by an inverse       raise tile(s, s)
//       raise tile(i, j)
//     on the diagonal of a front that is swept: raise diagonal_link(s), and nothing else
//
// unit_tests/numeric/Lutra_Test_FrontTasks.cpp checks all of this over assembly trees of many shapes.

/// A flag: of a front that is complete, or of a tile.
template <class Ordinal, class Offset>
struct FrontFlag {
  Ordinal front =
      -1;  ///< complete with its contribution, in which all its tiles have a share; −1: a tile flag
  Offset tile = -1;  ///< counted through all fronts

  friend auto operator<=>(const FrontFlag&, const FrontFlag&) = default;
};

/// Calls visit(flag) for each flag a task waits for; not for sweeps.
/// @param children of all fronts
template <class Ordinal, class Offset, class Visit>
void for_each_wait(const FrontTask<Ordinal, Offset>& task, const Front<Ordinal, Offset>& front,
                   const std::vector<Ordinal>& children, const FrontTiles& cut, const Visit& visit) {
  using Task = FrontTask<Ordinal, Offset>;
  if (task.row == Task::clearing || task.row == Task::sweeping) return;
  for (Offset c = front.children; c < front.children_end; ++c)
    visit(FrontFlag<Ordinal, Offset>{children[static_cast<std::size_t>(c)], -1});
  if (task.row == Task::whole) return;
  const TileFlags flags(cut);
  const auto wait = [&](std::int64_t flag) {
    visit(FrontFlag<Ordinal, Offset>{-1, task.flags + static_cast<Offset>(flag)});
  };
  const int steps = task.steps(cut);
  const bool from_links = task.makes_last_product(cut) && steps > 0;
  for (int s = 0; s < (from_links ? steps - 1 : steps); ++s) {
    for (int r = 0; r < task.rows; ++r) wait(flags.tile(task.row + r, s));
    for (int c = 0; c < task.columns; ++c) wait(flags.tile(s, task.column + c));
  }
  if (task.in_contribution(cut) || (task.is_swept && task.is_diagonal(cut))) return;
  if (from_links) {
    wait(flags.link(steps - 1, false));
    wait(flags.link(steps - 1, true));
    wait(flags.tile(steps - 1, steps - 1));
  }
  if (!task.is_diagonal(cut)) wait(flags.tile(steps, steps));  // its inverses
}

/// Calls visit(flag) for each flag that a task raises, or has a share in; not for sweeps.
template <class Ordinal, class Offset, class Visit>
void for_each_raised(const FrontTask<Ordinal, Offset>& task, const FrontTiles& cut, const Visit& visit) {
  using Task = FrontTask<Ordinal, Offset>;
  if (task.row == Task::clearing || task.row == Task::sweeping) return;
  if (task.row == Task::whole || task.in_contribution(cut))
    return visit(FrontFlag<Ordinal, Offset>{task.front, -1});
  const TileFlags flags(cut);
  const auto raise = [&](std::int64_t flag) {
    visit(FrontFlag<Ordinal, Offset>{-1, task.flags + static_cast<Offset>(flag)});
  };
  if (task.is_swept && task.is_diagonal(cut)) return raise(flags.diagonal_link(task.row));
  if (task.hands_off(cut)) raise(flags.link(task.steps(cut), task.in_upper(cut)));
  raise(flags.tile(task.row, task.column));
  if (!task.is_single()) raise(flags.tile(task.row + task.rows - 1, task.column + task.columns - 1));
}

/// Calls visit(flag) for each flag that step s of a sweep waits for.
template <class Ordinal, class Offset, class Visit>
void for_each_sweep_wait(const FrontTask<Ordinal, Offset>& task, const FrontTiles& cut, int s,
                         const Visit& visit) {
  const TileFlags flags(cut);
  const auto wait = [&](std::int64_t flag) {
    visit(FrontFlag<Ordinal, Offset>{-1, task.flags + static_cast<Offset>(flag)});
  };
  wait(flags.diagonal_link(s));
  if (s == 0) return;
  wait(flags.link(s - 1, false));
  wait(flags.link(s - 1, true));
}

/// The flag that step s of a sweep raises.
template <class Ordinal, class Offset>
FrontFlag<Ordinal, Offset> raised_by_sweep(const FrontTask<Ordinal, Offset>& task, const FrontTiles& cut,
                                           int s) {
  return {-1, task.flags + static_cast<Offset>(TileFlags(cut).tile(s, s))};
}

}  // namespace lutra::Impl

#endif
