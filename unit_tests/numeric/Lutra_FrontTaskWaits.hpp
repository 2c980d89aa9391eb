// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTTASKWAITS_HPP
#define LUTRA_FRONTTASKWAITS_HPP

#include <compare>
#include <cstddef>
#include <vector>

#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontTask.hpp"

namespace lutra::Test {

// Which flags a task waits for and which it raises, as the kernels do (impl/cuda/Lutra_TileWorkCuda.hpp,
// Lutra_BlockFrontsCuda.hpp, Lutra_DiagonalSweepCuda.hpp). The argument against deadlock stands in
// Lutra_FrontTask.hpp.

using lutra::Impl::FrontTask;
using lutra::Impl::FrontTiles;
using lutra::Impl::TileFlags;

/// A flag: of a front that is complete, or of a tile.
struct FrontFlag {
  Ordinal front =
      -1;  ///< complete with its contribution, in which all its tiles have a share; −1: a tile flag
  Offset tile = -1;  ///< counted through all fronts

  friend auto operator<=>(const FrontFlag&, const FrontFlag&) = default;
};

/// Calls visit(flag) for each flag a task waits for; not for sweeps.
/// @param children of all fronts
template <class Visit>
void for_each_wait(const FrontTask& task, const Front& front, const std::vector<Ordinal>& children,
                   const FrontTiles& cut, const Visit& visit) {
  using Task = FrontTask;
  if (task.row == Task::clearing || task.row == Task::sweeping) return;
  for (Offset c = front.children; c < front.children_end; ++c)
    visit(FrontFlag{children[static_cast<std::size_t>(c)], -1});
  if (task.row == Task::whole) return;
  const TileFlags flags(cut);
  const auto wait = [&](std::int64_t flag) { visit(FrontFlag{-1, task.flags + static_cast<Offset>(flag)}); };
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
/// @param symmetric whether tasks of tiles below the diagonal stand for those above it
template <class Visit>
void for_each_raised(const FrontTask& task, const FrontTiles& cut, bool symmetric, const Visit& visit) {
  using Task = FrontTask;
  if (task.row == Task::clearing || task.row == Task::sweeping) return;
  if (task.row == Task::whole || task.in_contribution(cut)) return visit(FrontFlag{task.front, -1});
  const TileFlags flags(cut);
  const auto raise = [&](std::int64_t flag) { visit(FrontFlag{-1, task.flags + static_cast<Offset>(flag)}); };
  if (task.is_swept && task.is_diagonal(cut)) return raise(flags.diagonal_link(task.row));
  if (task.hands_off(cut)) raise(flags.link(task.steps(cut), task.in_upper(cut)));
  if (symmetric && task.row > task.column) {
    if (task.hands_off(cut)) raise(flags.link(task.steps(cut), true));
    for (int r = 0; r < task.rows; ++r) raise(flags.tile(task.column, task.row + r));
  }
  raise(flags.tile(task.row, task.column));
  if (!task.is_single()) raise(flags.tile(task.row + task.rows - 1, task.column + task.columns - 1));
}

/// Calls visit(flag) for each flag that step s of a sweep waits for.
template <class Visit>
void for_each_sweep_wait(const FrontTask& task, const FrontTiles& cut, int s, const Visit& visit) {
  const TileFlags flags(cut);
  const auto wait = [&](std::int64_t flag) { visit(FrontFlag{-1, task.flags + static_cast<Offset>(flag)}); };
  wait(flags.diagonal_link(s));
  if (s == 0) return;
  wait(flags.link(s - 1, false));
  wait(flags.link(s - 1, true));
}

/// The flag that step s of a sweep raises.
inline FrontFlag raised_by_sweep(const FrontTask& task, const FrontTiles& cut, int s) {
  return {-1, task.flags + static_cast<Offset>(TileFlags(cut).tile(s, s))};
}

}  // namespace lutra::Test

#endif
