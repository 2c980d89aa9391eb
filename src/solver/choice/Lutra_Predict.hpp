// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PREDICT_HPP
#define LUTRA_PREDICT_HPP

#include <optional>
#include <string>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedModel.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// Options of a prediction.
struct PredictOptions {
  LuOptions lu;               ///< options of ordering and matching; deadline and stop
  TrisolveDeviceModel costs;  ///< costs of one device or rank, and of messages between ranks
  /// Costs of a solve on fronts by one host, both sweeps. Empty: a device, simulated as a grid with one rank.
  std::optional<StageCosts> front_solve;
  NodeLinks nodes;  ///< links between nodes, if ranks are on several nodes
  int ranks = 1;    ///< largest number of ranks
  /// The only grid to consider; empty: the best for 1, 2, 4, … and `ranks` ranks.
  std::optional<ProcessGrid> grid;
  int n_rhs = 1;
};

/// Predicted seconds of one method.
struct MethodTime {
  std::string what, method;
  double seconds = 0;
};

/// Predictions of the models for a matrix.
struct Prediction {
  Report report;                         ///< choices, ranks, and counts of the factors as fronts store them
  std::vector<MethodTime> one_device;    ///< triangular solves by one device or rank
  std::vector<GridTimes> grids;          ///< solves with complete factors on several ranks
  std::vector<CriticalPathTimes> paths;  ///< critical path of the sweep with L on each of `grids`
  std::size_t best = 0;                  ///< index of the fastest grid
  std::vector<std::string> assumptions;
};

/// Predicts triangular solves of a matrix from its order and assembly tree, without factorizing it. Costs
/// matching, ordering and assembly tree on the host, and the simulations (`simulate_solve`). After a deadline
/// or a stop the report has the status cancelled, and there are no times.
/// @param A matrix on the host
/// @throws InputError as analyze, and if an option is out of range; OutOfMemoryError
template <class Scalar>
Prediction predict_solves(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                          const PredictOptions& options);

}  // namespace lutra

#endif
