// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRISOLVEMODEL_HPP
#define LUTRA_TRISOLVEMODEL_HPP

#include "Lutra_DeviceModel.hpp"
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

/// Seconds of a solve with one right-hand side by each method.
///
/// The critical-path model of "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver" (section 5,
/// Algorithm 2) for one device: levels in sequence, each the latency of a dependency and the work of its
/// longest row, or the bytes of the whole over the bandwidth where that is more. Instead of communication
/// between devices it counts the trip of a value between multiprocessors.
double predict_seconds(const TriangleShape& shape, TrisolveMethod method, const TrisolveCosts& costs);

/// The method with the least predicted time, and all of their times, into a report: method, why, predicted
/// seconds.
void choose_method(const TriangleShape& shape, const TrisolveCosts& costs, TrisolveMethod wanted,
                   TriangularReport& report);

}  // namespace lutra

#endif
