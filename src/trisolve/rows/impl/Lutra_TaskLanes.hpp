// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TASKLANES_HPP
#define LUTRA_TASKLANES_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TrianglePlan.hpp"

// Location of the rows and packed entries of a task's lanes.

namespace lutra::Impl {

/// The row of a lane of a task.
struct LanePosition {
  Ordinal position = 0;  ///< position of the row
  Ordinal first = 0;     ///< first position of its block
  int block = 0;         ///< index in the task
  int row = 0;           ///< index in the block
  int lane = 0;          ///< index among the lanes of the row
  bool active = false;   ///< the lane has a row
};

template <class BlockBegin>
KOKKOS_FORCEINLINE_FUNCTION LanePosition position_of_lane(const BlockTask& task,
                                                          const BlockBegin& block_begin, int lane) {
  LanePosition at;
  at.block = lane >> (task.shape.log_rows + task.shape.log_lanes);
  at.row = (lane >> task.shape.log_lanes) & (task.shape.rows() - 1);
  at.lane = lane & (task.shape.lanes() - 1);
  if (at.block >= task.blocks) return at;
  if (task.shape.log_rows == 0) {
    at.first = at.position = task.first_position + at.block;
    at.active = true;
    return at;
  }
  at.first = block_begin[task.first_block + at.block];
  at.position = at.first + at.row;
  at.active = at.position < block_begin[task.first_block + at.block + 1];
  return at;
}

/// The packed entries of one lane of a task: steps first, first + stride, … below `end`.
struct LaneSteps {
  LanePosition at;
  Ordinal row = 0;  ///< 0 if the lane has no row
  int first = 0, stride = 1, end = 0;
  Offset entries = 0;  ///< packed position of step 0
  int lanes = 1;       ///< lanes of the task
  int row_lanes = 1;
  Offset length = 0;  ///< entries outside the block in the row
  Offset absent = 0;  ///< padding before the row's first entry

  KOKKOS_FORCEINLINE_FUNCTION Offset packed(int step) const {
    return entries + static_cast<Offset>(step) * lanes;
  }
  /// Index in the row of a step's entry, in the order of the steps that the entries depend on; negative:
  /// padding.
  KOKKOS_FORCEINLINE_FUNCTION Offset entry(int step) const {
    return static_cast<Offset>(step) * row_lanes + at.lane - absent;
  }
};

/// Calls visit(lane_steps) for all lanes of a task. If the team has more threads than the task has lanes,
/// several threads share the steps of a lane.
template <class Member, class Rows, class Plan, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void for_each_lane(const Member& team, const BlockTask& task, const Rows& rows,
                                               const Plan& plan, int threads, const Visit& visit) {
  const int lanes = task.lanes(), sharing = threads > lanes ? threads / lanes : 1;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, lanes * sharing), [&](const int e) {
    LaneSteps lane_steps;
    const int lane = e & (lanes - 1);  // the number of lanes is a power of two
    lane_steps.at = position_of_lane(task, plan.block_begin, lane);
    lane_steps.row = lane_steps.at.active ? plan.row_of(lane_steps.at.position) : 0;
    lane_steps.first = e / lanes;
    lane_steps.stride = sharing;
    lane_steps.end = task.steps;
    lane_steps.entries = task.entries + lane;
    lane_steps.lanes = lanes;
    lane_steps.row_lanes = task.shape.lanes();
    if (lane_steps.at.active) {
      lane_steps.length =
          task.shape.log_rows == 0
              ? rows.length(lane_steps.row)
              : rows.length_before(lane_steps.row, rows.mirrored(plan.row_of(lane_steps.at.first)),
                                   max_block_rows);
    }
    lane_steps.absent = static_cast<Offset>(task.steps) * lane_steps.row_lanes - lane_steps.length;
    visit(lane_steps);
  });
}

/// Threads of a team that packs a task.
template <class ExecutionSpace>
int packing_threads(const ExecutionSpace&) {
  return team_width<ExecutionSpace>(8 * narrow_lanes);
}

/// One team per task.
template <class ExecutionSpace, class Plan>
Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>> task_teams(const ExecutionSpace& exec,
                                                                               const Plan& plan) {
  const int tasks = static_cast<int>(plan.tasks.extent(0));
  const int lanes = vector_length_for<ExecutionSpace>(narrow_lanes);
  return {exec, tasks, packing_threads(exec) / lanes, lanes};
}

}  // namespace lutra::Impl

#endif
