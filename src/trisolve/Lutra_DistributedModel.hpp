// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDMODEL_HPP
#define LUTRA_DISTRIBUTEDMODEL_HPP

#include <cstdint>
#include <vector>

#include "Lutra_BlockTriangle.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_ProcessGrid.hpp"

namespace lutra {

// How long a triangular solve takes whose blocks are distributed over a grid of ranks: "A Message-Driven,
// Multi-GPU Parallel Sparse Triangular Solver", section 5. Once as the paper has it, by levels in closed
// form; and once by simulating the solve block by block, for any number of ranks, without one of them.
//
// The task (K, r) is what rank r does with column K: the owner of the diagonal block solves it, and every
// owner of blocks of the column multiplies them by x(K) then. x(K) goes down a binary tree of the ranks that
// own blocks of the column, the owner at its root, then in the order of their first block rows. Sums of row I
// go up a binary tree of the ranks that own blocks of the row: the owner, then those that contribute last
// first.

// Where a device has one team, a rank of a host, it sends and takes messages itself: half of a message's
// latency is the work of its sender, half that of its receiver, and each block takes `dependency_seconds`
// besides its bytes.

/// Links between ranks of different nodes; those inside a node are the costs' own.
struct NodeLinks {
  int ranks_per_node = 0;  ///< ranks of a node follow one another; 0: there is one node
  double latency_seconds = 0;
  double bandwidth = 1;

  bool cross(int from, int to) const {
    return ranks_per_node > 0 && from / ranks_per_node != to / ranks_per_node;
  }
};

/// What the closed form predicts of one sweep.
struct CriticalPathTimes {
  double seconds = 0;          ///< sum over all levels of the rank whose sum is largest
  double compute_seconds = 0;  ///< of it, tasks …
  double message_seconds = 0;  ///< … and messages
  double level_seconds = 0;    ///< sum over all levels of the slowest rank of each: ranks wait at every level
  std::int64_t levels = 0;     ///< of the graph whose edges are messages
};

/// Algorithm 2 of the paper. Edges inside a device count for nothing: tasks of one level and device run at
/// the same time, at the device's bandwidth, of which a block's team has a share between two limits. A
/// message costs its latency once a level, and the bytes of log2(fan-out) messages for each column or row.
/// Departures: a level lasts at least as long as its longest path inside the device, which on one device is
/// all there is; each block of a column has a team, as in FrontSolver; latencies of one level overlap, since
/// several send. O(blocks·log(blocks)) @param n_rhs right-hand sides; the triangle is read once for each 16
CriticalPathTimes predict_critical_path(const BlockTriangle& triangle, const ProcessGrid& grid,
                                        const DistributedCosts& costs, int n_rhs = 1,
                                        const NodeLinks& nodes = {});

/// What happens in a simulated sweep.
struct SimulatedTimes {
  double seconds = 0;
  double busy_seconds = 0;     ///< of teams, summed over all
  double message_seconds = 0;  ///< links are in use, summed over ranks
  std::int64_t jobs = 0;       ///< diagonal blocks solved, and other blocks multiplied
  std::int64_t messages = 0;
  double message_bytes = 0;
};

/// The same sweep event by event: each rank has teams, and each team takes a block that is ready, of the
/// lowest row first (list scheduling; R. L. Graham, SIAM J. Appl. Math. 17, 1969). A rank's messages leave
/// one after the other and arrive a latency later; a team's bandwidth is set when it begins a block, from the
/// teams that work then. Deterministic. O(blocks·log(blocks)) for any number of ranks.
SimulatedTimes simulate_solve(const BlockTriangle& triangle, const ProcessGrid& grid,
                              const DistributedCosts& costs, int n_rhs = 1, const NodeLinks& nodes = {});

/// Of a solve on so many ranks, besides its sweeps: elements of B and X travel between the ranks that have
/// them and those of the grid, and all ranks meet before and after.
double exchange_seconds(std::int64_t rows, int ranks, const DistributedCosts& costs, int n_rhs = 1);

/// A grid, and both sweeps on it as simulated.
struct GridTimes {
  ProcessGrid grid;
  SimulatedTimes lower, upper;
  double seconds() const { return lower.seconds + upper.seconds; }
};

/// Simulates the solves with L and with U = the pattern of Lᵀ on grids of so many ranks; fastest first.
/// @param max_grids where there are more grids, those of which the closed form predicts least
std::vector<GridTimes> compare_grids(const BlockTriangle& lower, int ranks, const DistributedCosts& costs,
                                     int n_rhs = 1, std::size_t max_grids = 4, const NodeLinks& nodes = {});

/// The fastest grid of 1, 2, 4, … and of `ranks` ranks, in this order: what more ranks would bring.
std::vector<GridTimes> scale_grids(const BlockTriangle& lower, int ranks, const DistributedCosts& costs,
                                   int n_rhs = 1, const NodeLinks& nodes = {});

}  // namespace lutra

#endif
