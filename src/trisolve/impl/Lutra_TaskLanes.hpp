// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TASKLANES_HPP
#define LUTRA_TASKLANES_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_TrianglePlan.hpp"

// Where the lanes of a plan's tasks find their rows and packed entries.

namespace lutra::Impl {

/// Where a lane of a task works.
template <class Ordinal>
struct LanePosition {
  Ordinal place = 0;    ///< of its row
  Ordinal first = 0;    ///< first place of its block
  int block = 0;        ///< in the task
  int row = 0;          ///< in the block
  int lane = 0;         ///< among the lanes of the row
  bool active = false;  ///< there is such a row
};

template <class Ordinal, class Offset, class BlockBegin>
KOKKOS_FORCEINLINE_FUNCTION LanePosition<Ordinal> position_of_lane(const BlockTask<Ordinal, Offset>& task,
                                                                   const BlockBegin& block_begin, int lane) {
  LanePosition<Ordinal> at;
  at.block = lane >> (task.shape.log_rows + task.shape.log_lanes);
  at.row = (lane >> task.shape.log_lanes) & (task.shape.rows() - 1);
  at.lane = lane & (task.shape.lanes() - 1);
  if (at.block >= task.blocks) return at;
  if (task.shape.log_rows == 0) {
    at.first = at.place = task.first_place + at.block;
    at.active = true;
    return at;
  }
  at.first = block_begin[task.first_block + at.block];
  at.place = at.first + at.row;
  at.active = at.place < block_begin[task.first_block + at.block + 1];
  return at;
}

/// The packed entries one lane of a task walks along: steps first, first + stride, … below `end`.
template <class Ordinal, class Offset>
struct LaneWalk {
  LanePosition<Ordinal> at;
  Ordinal row = 0;  ///< 0 where no row is
  int first = 0, stride = 1, end = 0;
  Offset entries = 0;  ///< packed position of step 0
  int lanes = 1;       ///< of the task
  int row_lanes = 1;
  Offset length = 0;  ///< entries of the row that lie outside of its block
  Offset absent = 0;  ///< padding before the row's first entry

  KOKKOS_FORCEINLINE_FUNCTION Offset packed(int step) const {
    return entries + static_cast<Offset>(step) * lanes;
  }
  /// Number of a step's entry in the row, in the order of the steps they belong to; below 0: padding.
  KOKKOS_FORCEINLINE_FUNCTION Offset entry(int step) const {
    return static_cast<Offset>(step) * row_lanes + at.lane - absent;
  }
};

/// Calls visit(walk) for all lanes of a task. Where the team has more threads than the task lanes, several
/// share a lane's steps.
template <class Ordinal, class Offset, class Member, class Rows, class Plan, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void walk_lanes(const Member& team, const BlockTask<Ordinal, Offset>& task,
                                            const Rows& rows, const Plan& plan, int threads,
                                            const Visit& visit) {
  const int lanes = task.lanes(), sharing = threads > lanes ? threads / lanes : 1;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, lanes * sharing), [&](const int e) {
    LaneWalk<Ordinal, Offset> walk;
    const int lane = e & (lanes - 1);  // lanes are a power of two
    walk.at = position_of_lane<Ordinal>(task, plan.block_begin, lane);
    walk.row = walk.at.active ? plan.row_of(walk.at.place) : 0;
    walk.first = e / lanes;
    walk.stride = sharing;
    walk.end = task.steps;
    walk.entries = task.entries + lane;
    walk.lanes = lanes;
    walk.row_lanes = task.shape.lanes();
    if (walk.at.active) {
      walk.length =
          task.shape.log_rows == 0
              ? rows.length(walk.row)
              : rows.length_before(walk.row, rows.mirrored(plan.row_of(walk.at.first)), max_block_rows);
    }
    walk.absent = static_cast<Offset>(task.steps) * walk.row_lanes - walk.length;
    visit(walk);
  });
}

/// Threads of a team that works on the packed entries of a task.
template <class ExecutionSpace>
constexpr int packing_threads(const ExecutionSpace&) {
  return is_host_space<ExecutionSpace> ? 1 : 8 * narrow_lanes;
}

/// Teams for tasks, one each.
template <class ExecutionSpace, class Plan>
Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>> task_teams(const ExecutionSpace& exec,
                                                                               const Plan& plan) {
  const int tasks = static_cast<int>(plan.tasks.extent(0));
  if (is_host_space<ExecutionSpace>) return {exec, tasks, 1, 1};
  return {exec, tasks, packing_threads(exec) / narrow_lanes, narrow_lanes};
}

}  // namespace lutra::Impl

#endif
