// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PREDICT_HPP
#define LUTRA_PREDICT_HPP

#include <optional>
#include <string>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedModel.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// What times are predicted for.
struct PredictOptions {
  LuOptions lu;               ///< ordering and matching
  TrisolveDeviceModel costs;  ///< of one device or rank, and of messages between them
  /// Of a solve on fronts by one host, both sweeps; empty: of a device, simulated as on a grid of one.
  std::optional<StageCosts> front_solve;
  NodeLinks nodes;                  ///< where ranks are on several nodes
  int ranks = 1;                    ///< most ranks
  std::optional<ProcessGrid> grid;  ///< this grid alone; without one the best of 1, 2, 4, … and `ranks` ranks
  int n_rhs = 1;
};

/// Seconds of one method.
struct MethodTime {
  std::string what, method;
  double seconds = 0;
};

/// What the models say of a matrix.
struct Prediction {
  Report report;  ///< choices, ranks, and counts of the factors as fronts would store them
  std::vector<MethodTime> one_device;    ///< triangular solves by one device or rank
  std::vector<GridTimes> grids;          ///< solves with complete factors by ranks
  std::vector<CriticalPathTimes> paths;  ///< of the sweep with L on each of these grids
  std::size_t best = 0;                  ///< the fastest of them
  std::vector<std::string> assumptions;
};

/// Predicts triangular solves of a matrix from its order and assembly tree; nothing is factorized. Cost: that
/// of matching, ordering and tree on the host, then simulations (`simulate_solve`).
/// @param A on the host
/// @throws InputError as analyze, and for options out of range; OutOfMemoryError
template <class Scalar>
Prediction predict_solves(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                          const PredictOptions& options);

}  // namespace lutra

#endif
