// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICEMODEL_HPP
#define LUTRA_DEVICEMODEL_HPP

#include <cstdint>
#include <string>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra {

/// Costs of a triangular solve by each method, for one right-hand side (`Lutra_TrisolveModel.hpp`). A block
/// is a block of rows, a team the threads that work on one.
struct TrisolveCosts {
  double start_seconds = 0;             ///< launch, first loads, and the wait for the last store
  double contention_start_seconds = 0;  ///< added where rows poll for values all over the device
  double contention_levels = 1;         ///< levels from which on that is paid in full; in proportion below
  double contention_free_rows = 0;      ///< rows a level may have before they contend for what they poll
  double contention_row_seconds = 0;    ///< added for each further row of a level, on average
  double dependency_seconds = 0;        ///< a value between two multiprocessors, with the work on a short row
  double dependency_growth_seconds = 0;  ///< added for each doubling of the mean row length
  double block_dependency_seconds = 0;   ///< a dependency between blocks, with the product by an inverse
  double block_step_seconds = 0;         ///< each entry a lane gathers along the critical path of blocks
  double wide_block_seconds = 0;         ///< work on a block that occupies a whole team
  double concurrent_wide_blocks = 1;     ///< such blocks in progress at the same time
  double barrier_seconds = 0;            ///< a level inside one team
  double team_bandwidth = 1;             ///< bytes a second of one multiprocessor
  double level_launch_seconds = 0;       ///< a level by a launch of its own
  double bandwidth = 1;                  ///< bytes a second of the device
  bool operator==(const TrisolveCosts&) const = default;
};

/// Costs of the levels of a level-set solve, from which they are divided among launches
/// (`Lutra_LevelRuns.hpp`). A small level costs a barrier, or its bytes through one multiprocessor; a large
/// one, and the first of a run of small ones, a launch, or its bytes through the device.
struct LevelSetCosts {
  double barrier_seconds = 0;  ///< a small level of few bytes
  double team_bandwidth = 1;   ///< bytes a second of one multiprocessor
  double launch_seconds = 0;   ///< a launch that waits for the one before
  double bandwidth = 1;        ///< bytes a second of the device
  double start_seconds = 0;    ///< of a solve, whatever its levels
  double step_seconds = 0;     ///< each dependent step of a level's longest task beyond those in flight
  bool operator==(const LevelSetCosts&) const = default;
};

/// Microseconds that steps of a solve on fronts take; their ratios order its tasks by the path that remains.
struct FrontSolveCosts {
  double start = 0;       ///< of a front
  double pivot = 0;       ///< each pivot of a front that one warp solves
  double pivot_tile = 0;  ///< each tile of pivots of a larger front
  double tile = 0;        ///< each tile a block reads besides
  bool operator==(const FrontSolveCosts&) const = default;
};

/// Costs of a triangular solve by several devices or host ranks, block by block
/// (`Lutra_DistributedModel.hpp`).
struct DistributedCosts {
  double start_seconds = 0;        ///< of a sweep, whatever its blocks
  double dependency_seconds = 0;   ///< from one block to another of the same device
  double bandwidth = 1;            ///< bytes a second of one device
  double min_block_bandwidth = 1;  ///< bytes a second of one block's team where so many work as can
  double max_block_bandwidth = 1;  ///< the same where few work
  double latency_seconds = 0;      ///< of a message from one device to another, without its bytes
  double link_bandwidth = 1;       ///< bytes a second of the messages one device sends
  bool operator==(const DistributedCosts&) const = default;
};

/// What the choice and the order of triangular solves are predicted from.
struct TrisolveDeviceModel {
  TrisolveCosts methods;
  DistributedCosts distributed;
  LevelSetCosts level_sets;           ///< with the kernels specialised for the space
  LevelSetCosts portable_level_sets;  ///< with the portable ones
  FrontSolveCosts fronts;
  bool operator==(const TrisolveDeviceModel&) const = default;
};

/// Seconds of a stage, a sum over what it works on: n rows, the edges of the graph of A + Aᵀ (each counted
/// twice), entries of L below the diagonal, flops of an LU factorization, and steps, the vertices on the
/// longest path of the elimination tree, which follow one another, and the most supernodes on a path.
struct StageCosts {
  double start_seconds = 0;
  double row_seconds = 0;
  double edge_seconds = 0;
  double entry_seconds = 0;
  double flop_seconds = 0;
  double step_seconds = 0;
  double supernode_seconds = 0;
  bool operator==(const StageCosts&) const = default;
};

/// Costs of what follows an ordering, with one engine.
struct EngineCosts {
  StageCosts analysis;  ///< trees, pattern of L + U, plans
  StageCosts factorization;
  StageCosts solve;  ///< of one right-hand side, with its residual
  bool operator==(const EngineCosts&) const = default;
};

/// From which costs a fill-reducing ordering, and host or device, are chosen (`Lutra_ChooseOrdering.hpp`).
struct OrderingCosts {
  StageCosts amd;                ///< with reduction of the graph and forecast of fill, without its visits
  double amd_visit_seconds = 0;  ///< a list entry that minimum degree visits (`DegreeWork`)
  StageCosts dissection;  ///< nested dissection of what the reduction leaves, n rows, times log₂ n, by one
                          ///< thread of a host
  double dissection_serial_share = 1;     ///< of that time: what more threads do not shorten
  double factorization_serial_share = 1;  ///< the same of factorizations; 1 on devices
  StageCosts device_dissection;           ///< the same on the device; nothing: it does not come into question
  EngineCosts multifrontal;
  EngineCosts simplicial;  ///< without an analysis: the engine does not come into question
  double saved_share = 0;  ///< of AMD's flops that nested dissection is expected to spare, for each factor of
                           ///< ten by which AMD's order exceeds `saved_from_flops_per_row`
  double saved_from_flops_per_row = 1;
  double max_saved_share = 0;       ///< however high AMD's flops are
  double saved_height_share = 0;    ///< of the height of AMD's tree
  double device_start_seconds = 0;  ///< until a device has run its first kernels, in a cold process
  bool operator==(const OrderingCosts&) const = default;
};

/// From what the order of a front's tasks on devices follows (`Lutra_FrontTaskList.hpp`). Times are in
/// microseconds; only their ratios matter.
struct FrontTaskModel {
  double start = 6;          ///< of a front as a whole, and of a contribution
  double pivot = 0.25;       ///< of a front as a whole
  double child = 0.3;        ///< of a front as a whole
  double step = 18;          ///< a pivot tile and what follows it on the critical path
  double product = 1.2;      ///< of two tiles
  int steps_together = 2;    ///< pivot tiles whose rows and columns are taken together, in large fronts
  int min_linked_tiles = 4;  ///< pivot tiles from which on diagonal tiles make their last product themselves
  int min_swept_tiles = 12;  ///< pivot tiles from which on one block works all diagonal tiles
  int blocks_a_sweep = 16;  ///< one block in so many may sweep: there are always blocks for what it waits for
  int min_paired_tiles = 24;         ///< tiles along an edge from which on a front has tasks of two tiles
  int min_paired_root_tiles = 44;    ///< the same of a root, beside which there is no other front to work
  int single_edge = 12;              ///< last rows and columns of a root's tiles whose tasks have one tile
  int single_contribution_rows = 2;  ///< the same of a root's contribution
  int cleared_entries = 1 << 15;     ///< of panels, cleared by one task
  bool operator==(const FrontTaskModel&) const = default;
};

/// What numeric factorization is divided and the engine is chosen by.
struct NumericDeviceModel {
  FrontTaskModel tasks;
  double min_flops_per_entry = 0;  ///< fronts that perform fewer flops per stored entry lose to rows
  bool operator==(const NumericDeviceModel&) const = default;
};

/// Costs of the methods of symbolic factorization on a device, and of the one on its host
/// (`Lutra_SymbolicChoice.hpp`).
struct SymbolicCosts {
  double fill1_row_seconds = 0;        ///< a row by one host thread, with copies from and to the device
  double fill1_entry_seconds = 0;      ///< an entry of L + U, likewise
  double fill2_row_seconds = 0;        ///< a row on the device
  double fill2_edge_seconds = 0;       ///< an edge that a search visits
  double ancestors_start_seconds = 0;  ///< launches and allocations
  double ancestors_step_seconds = 0;   ///< a vertex of the longest path of the elimination tree
  double ancestors_word_seconds = 0;   ///< 64 bits of the sets of U
  double max_set_bytes = 0;            ///< of ancestor bit sets where there is no memory limit
  bool operator==(const SymbolicCosts&) const = default;
};

/// Times of a refactorization and a solve by symmetric methods, over those by LU: geometric means of what was
/// measured (`Lutra_ChooseMethod.hpp`). 0: not measured, LU is taken.
struct SymmetricCosts {
  double cholesky = 0;
  double ldlt = 0;                 ///< where the diagonal has no zeros
  double ldlt_zero_diagonals = 0;  ///< where it has: LU's matching then makes an unsymmetric pattern
  bool operator==(const SymmetricCosts&) const = default;
};

/// From what the schedule of an incomplete elimination and the way to apply its factors are chosen
/// (`Lutra_IluChoice.hpp`).
struct IluCosts {
  double level_seconds = 0;           ///< devices: a level by a launch that waits for the one before
  double syncfree_start_seconds = 0;  ///< devices: to clear values, launch, and load the first rows
  double dependency_seconds = 0;      ///< devices: a level of rows that poll for values
  double min_level_rows = 256;  ///< hosts: of a thread in a level, some 10 us, from which on it pays to wait
                                ///< for values from other threads' caches
  double max_jacobi_share = 0.5;       ///< of the exact solves' time, from which on sweeps are not considered
  double max_jacobi_difference = 0.3;  ///< of their solutions, relative, which costs GMRES few iterations
  bool operator==(const IluCosts&) const = default;
};

/// All numbers that were fitted to one device, a section for each use. Choices are functions of a matrix's
/// properties and of this struct; whoever chooses is handed one, by parameter or in an options struct.
struct DeviceModel {
  std::string name;  ///< of the machine, for the report
  TrisolveDeviceModel trisolve;
  OrderingCosts ordering;
  NumericDeviceModel numeric;
  SymmetricCosts symmetric;
  SymbolicCosts symbolic;
  IluCosts ilu;
  bool operator==(const DeviceModel&) const = default;
};

/// Fitted to one NVIDIA H200 with CUDA 13.0 by `lutra_perf_trisolve` over 34 triangles of ILU(0) and complete
/// factors, in double precision (docs/trisolve.md).
DeviceModel h200_device_model();
/// Estimates for one core of a server: nothing waits, and there is one stream of memory.
DeviceModel host_device_model();

/// The model of an execution space where the caller hands over none: of a host, or of the one device that has
/// been measured.
template <class ExecutionSpace>
DeviceModel default_device_model() {
  return Impl::is_host_space<ExecutionSpace> ? host_device_model() : h200_device_model();
}

}  // namespace lutra

#endif
