// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRISOLVEMODEL_HPP
#define LUTRA_TRISOLVEMODEL_HPP

#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// What a triangular solve is made of, as far as its time depends on it.
struct TriangleShape {
  double rows = 0;
  double entries = 0;       ///< outside of the diagonal
  double levels = 0;        ///< of the rows
  double blocks = 0;        ///< of rows; 0: no blocks are known, and the supernodal method is left out
  double block_levels = 0;  ///< of the blocks
  double wide_blocks = 0;   ///< blocks a whole team works on
  double critical_steps =
      0;  ///< along the levels of the blocks: entries a lane of the longest row has, summed
  double levels_seconds =
      0;  ///< of the method levels, where its levels have been cut; 0: from the numbers above
  double value_bytes = sizeof(double);
  bool several_columns = false;  ///< levels, which serve one column at a time on devices, are then not chosen
};

/// What a machine takes for the parts of a triangular solve, in seconds and bytes a second.
struct TrisolveMachine {
  double start;              ///< launch, first loads, and the wait for the last store
  double crowd_start;        ///< more of that where rows wait for values all over the device
  double crowd_levels;       ///< from so many levels on; less where they are fewer
  double crowd_rows;         ///< rows a level has without crowding the places they wait for
  double crowd_row;          ///< more for each row beyond: they read the same places over and over
  double dependency;         ///< a value from one multiprocessor to another, with the work on a short row
  double dependency_growth;  ///< more of that for each doubling of the row's length
  double block_dependency;   ///< the same for a block and its inverse
  double block_step;         ///< each entry a lane gathers on the critical path of blocks
  double wide_block;         ///< a wide block, where teams are short
  double wide_teams;         ///< teams that work on wide blocks at the same time
  double barrier;            ///< a level inside one team
  double team_bandwidth;     ///< of one multiprocessor
  double level_launch;       ///< a level of its own
  double bandwidth;          ///< of the device
};

/// Constants measured on an H200.
TrisolveMachine h200_machine();
/// Constants of one core of a server: no waiting, one stream of memory.
TrisolveMachine host_machine();

/// Seconds of a solve with one right-hand side by each method.
///
/// The critical-path model of "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver" (section 5,
/// Algorithm 2) for one device: levels in sequence, each the latency of a dependency and the work of its
/// longest row, or the bytes of the whole over the bandwidth where that is more. Instead of communication
/// between devices it counts the trip of a value between multiprocessors.
double predict_seconds(const TriangleShape& shape, TrisolveMethod method, const TrisolveMachine& machine);

/// The method with the least predicted time, and all of their times, into a report: method, why, predicted
/// seconds.
void choose_method(const TriangleShape& shape, const TrisolveMachine& machine, TrisolveMethod wanted,
                   TriangularReport& report);

}  // namespace lutra

#endif
