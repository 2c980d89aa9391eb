// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRISOLVEMODEL_HPP
#define LUTRA_TRISOLVEMODEL_HPP

#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra {

/// Properties that determine the time of a triangular solve.
struct TriangleProperties {
  double rows = 0;
  double entries = 0;         ///< off the diagonal
  double levels = 0;          ///< of the rows
  double blocks = 0;          ///< of rows; 0: unknown, which excludes the supernodal method
  double block_levels = 0;    ///< of the blocks
  double wide_blocks = 0;     ///< blocks that occupy a whole team
  double critical_steps = 0;  ///< entries gathered by a lane of the longest row, summed over block levels
  double levels_seconds = 0;  ///< time of levels once they have been divided into runs; 0: not yet
  double value_bytes = sizeof(double);
  bool several_columns = false;  ///< true excludes levels, which solves one column at a time on devices
};

/// A method, its reason, and the predicted seconds of a solve with one right-hand side.
struct TrisolveChoice {
  TrisolveMethod method = TrisolveMethod::automatic;
  std::string reason;
  double seconds = 0;  ///< prediction for the method
  double levels_seconds = 0, syncfree_seconds = 0;
  double supernodal_seconds = 0;  ///< 0 if blocks are not considered
};

/// Predicted seconds of a solve with one right-hand side by a method.
///
/// The critical-path model of "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver" (section 5,
/// Algorithm 2) for one device. Levels run in sequence; each costs the latency of a dependency and the work
/// of its longest row. The bytes of the whole triangle divided by the bandwidth are a lower bound.
/// Communication between devices is replaced by that of a value between multiprocessors.
double predict_seconds(const TriangleProperties& properties, TrisolveMethod method,
                       const TrisolveCosts& costs);

/// The method with the least predicted time, unless one is requested. Blocks are considered only if they can
/// save more than a few levels.
TrisolveChoice choose_method(TriangleProperties properties, const TrisolveCosts& costs,
                             TrisolveMethod wanted);

}  // namespace lutra

#endif
