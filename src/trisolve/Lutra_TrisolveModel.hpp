// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRISOLVEMODEL_HPP
#define LUTRA_TRISOLVEMODEL_HPP

#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// What the time of a triangular solve depends on.
struct TriangleProperties {
  double rows = 0;
  double entries = 0;         ///< off the diagonal
  double levels = 0;          ///< of the rows
  double blocks = 0;          ///< of rows; 0: none are known, and the supernodal method is left out
  double block_levels = 0;    ///< of the blocks
  double wide_blocks = 0;     ///< blocks that occupy a whole team
  double critical_steps = 0;  ///< entries a lane of the longest row gathers, summed over block levels
  double levels_seconds = 0;  ///< of the method levels once its levels have been cut; 0: not yet
  double value_bytes = sizeof(double);
  bool several_columns = false;  ///< levels, which serve one column at a time on devices, are then not chosen
};

/// A method, why it was chosen, and the seconds predicted of a solve with one right-hand side.
struct TrisolveChoice {
  TrisolveMethod method = TrisolveMethod::automatic;
  std::string reason;
  double seconds = 0;  ///< of the method
  double levels_seconds = 0, syncfree_seconds = 0;
  double supernodal_seconds = 0;  ///< 0 where blocks are not considered
};

/// Seconds of a solve with one right-hand side by each method.
///
/// The critical-path model of "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver" (section 5,
/// Algorithm 2) for one device: levels in sequence, each the latency of a dependency and the work of its
/// longest row, or the bytes of the whole over the bandwidth where that is more. Instead of communication
/// between devices it counts the trip of a value between multiprocessors.
double predict_seconds(const TriangleProperties& properties, TrisolveMethod method,
                       const TrisolveCosts& costs);

/// The method with the least predicted time, unless one is wanted. Blocks are considered only where they may
/// save more than a few levels.
TrisolveChoice choose_method(TriangleProperties properties, const TrisolveCosts& costs,
                             TrisolveMethod wanted);

}  // namespace lutra

#endif
