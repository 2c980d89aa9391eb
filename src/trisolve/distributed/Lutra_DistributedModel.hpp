// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDMODEL_HPP
#define LUTRA_DISTRIBUTEDMODEL_HPP

#include <cstdint>
#include <vector>

#include "Lutra_BlockTriangle.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra {

// Predicted time of a triangular solve whose blocks are distributed over a grid of ranks: "A Message-Driven,
// Multi-GPU Parallel Sparse Triangular Solver", section 5. Two predictions: the paper's closed form by
// levels, and a simulation block by block. Both work for any number of ranks and run on one.
//
// The task (K, r) is the work of rank r on column K: the owner of the diagonal block solves it, then every
// owner of blocks of the column multiplies them by x(K). x(K) goes down a binary tree of the ranks that own
// blocks of the column: the owner is the root, the others follow in the order of their first block rows. Sums
// of row I go up a binary tree of the ranks that own blocks of the row: the owner, then the others, the
// latest contributor first.

// A device with one team, that is, a rank of a host, sends and receives messages itself. The sender spends
// half of a message's latency, the receiver the other half, and each block takes `dependency_seconds` besides
// the time for its bytes.

/// Links between ranks of different nodes; the costs describe those inside a node.
struct NodeLinks {
  int ranks_per_node = 0;  ///< consecutive ranks on one node; 0: a single node
  double latency_seconds = 0;
  double bandwidth = 1;

  bool cross(int from, int to) const {
    return ranks_per_node > 0 && from / ranks_per_node != to / ranks_per_node;
  }
};

/// Closed-form prediction of one sweep.
struct CriticalPathTimes {
  double seconds = 0;          ///< sum over all levels of the rank with the largest sum
  double compute_seconds = 0;  ///< part of `seconds` spent in tasks
  double message_seconds = 0;  ///< part of `seconds` spent in messages
  double level_seconds = 0;  ///< sum over all levels of each level's slowest rank: ranks wait at every level
  std::int64_t levels = 0;   ///< levels of the graph whose edges are messages
};

/// Algorithm 2 of the paper. Edges inside a device are free: tasks of one level and device run concurrently,
/// at the device's bandwidth, and a block's team has a share of it between two limits. A message costs its
/// latency once per level, and the bytes of log2(fan-out) messages for each column or row. Departures: a
/// level lasts at least as long as its longest path inside the device, which is the whole prediction for one
/// device; each block of a column has a team, as in FrontSolver; latencies of one level overlap, since
/// several ranks send. Cost: O(blocks·log(blocks))
/// @param n_rhs right-hand sides; the triangle is read once per 16
CriticalPathTimes predict_critical_path(const BlockTriangle& triangle, const ProcessGrid& grid,
                                        const DistributedCosts& costs, int n_rhs = 1,
                                        const NodeLinks& nodes = {});

/// Result of a simulated sweep.
struct SimulatedTimes {
  double seconds = 0;
  double busy_seconds = 0;     ///< busy time, summed over all teams
  double message_seconds = 0;  ///< link time, summed over ranks
  std::int64_t jobs = 0;       ///< diagonal blocks solved plus other blocks multiplied
  std::int64_t messages = 0;
  double message_bytes = 0;
};

/// Event-driven simulation of the same sweep. Each rank has teams, and each team takes a ready block of the
/// lowest row (list scheduling; R. L. Graham, SIAM J. Appl. Math. 17, 1969). A rank's messages leave in
/// sequence and arrive one latency later. A team's bandwidth is fixed when it starts a block, from the number
/// of teams then working. Deterministic. Cost: O(blocks·log(blocks)) for any number of ranks.
/// @param run limits in time
/// @throws CancelledError
SimulatedTimes simulate_solve(const BlockTriangle& triangle, const ProcessGrid& grid,
                              const DistributedCosts& costs, int n_rhs = 1, const NodeLinks& nodes = {},
                              const RunControl& run = {});

/// Seconds of a solve besides its sweeps: elements of B and X travel between their ranks and those of the
/// grid, and all ranks synchronize before and after.
double exchange_seconds(std::int64_t rows, int ranks, const DistributedCosts& costs, int n_rhs = 1);

/// A grid and its simulated sweeps.
struct GridTimes {
  ProcessGrid grid;
  SimulatedTimes lower, upper;
  double seconds() const { return lower.seconds + upper.seconds; }
};

/// Simulates the solves with L and with U, which has the pattern of Lᵀ, on grids of this number of ranks;
/// fastest first.
/// @param max_grids most grids to simulate, those that the closed form predicts to be fastest
/// @throws CancelledError
std::vector<GridTimes> compare_grids(const BlockTriangle& lower, int ranks, const DistributedCosts& costs,
                                     int n_rhs = 1, std::size_t max_grids = 4, const NodeLinks& nodes = {},
                                     const RunControl& run = {});

/// The fastest grid for 1, 2, 4, … and `ranks` ranks, in this order: the gain from more ranks.
/// @throws CancelledError
std::vector<GridTimes> scale_grids(const BlockTriangle& lower, int ranks, const DistributedCosts& costs,
                                   int n_rhs = 1, const NodeLinks& nodes = {}, const RunControl& run = {});

}  // namespace lutra

#endif
