// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICEMODEL_HPP
#define LUTRA_DEVICEMODEL_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"

namespace lutra {

/// Costs of a triangular solve with one right-hand side, by method (`Lutra_TrisolveModel.hpp`). A block is a
/// block of rows; a team is the group of threads that works on one.
struct TrisolveCosts {
  double start_seconds = 0;             ///< launch, first loads, and wait for the last store
  double contention_start_seconds = 0;  ///< extra start cost if rows poll for values all over the device
  double contention_levels = 1;  ///< levels at which the extra start cost is paid in full; proportional below
  double contention_free_rows = 0;    ///< rows per level without contention for polled values
  double contention_row_seconds = 0;  ///< extra cost per further row of a level, on average
  double dependency_seconds = 0;  ///< latency between two multiprocessors, including the work on a short row
  double dependency_growth_seconds = 0;  ///< extra latency for each doubling of the mean row length
  double block_dependency_seconds = 0;   ///< dependency between blocks, including the product with an inverse
  double block_step_seconds = 0;      ///< cost of each entry a lane gathers along the critical path of blocks
  double wide_block_seconds = 0;      ///< cost of a block that occupies a whole team
  double concurrent_wide_blocks = 1;  ///< number of such blocks processed concurrently
  double barrier_seconds = 0;         ///< cost of a level inside one team
  double team_bandwidth = 1;          ///< bytes per second of one multiprocessor
  double level_launch_seconds = 0;    ///< cost of a level with its own launch
  double bandwidth = 1;               ///< bytes per second of the device
  bool operator==(const TrisolveCosts&) const = default;
};

/// Costs of the levels of a level-set solve, used to partition levels into launches (`Lutra_LevelRuns.hpp`).
/// A small level costs a barrier, or its bytes at the bandwidth of one multiprocessor. A large level, and the
/// first of a run of small ones, costs a launch, or its bytes at the bandwidth of the device.
struct LevelSetCosts {
  double barrier_seconds = 0;  ///< cost of a small level with few bytes
  double team_bandwidth = 1;   ///< bytes per second of one multiprocessor
  double launch_seconds = 0;   ///< cost of a launch that waits for its predecessor
  double bandwidth = 1;        ///< bytes per second of the device
  double start_seconds = 0;    ///< start cost of a solve, independent of its levels
  double step_seconds = 0;  ///< cost of each dependent step of a level's longest task beyond those in flight
  bool operator==(const LevelSetCosts&) const = default;
};

/// Costs of the steps of a multifrontal solve, in microseconds. Their ratios determine task priorities, by
/// remaining path length.
struct FrontSolveCosts {
  double start = 0;       ///< per front
  double pivot = 0;       ///< per pivot of a front solved by one warp
  double pivot_tile = 0;  ///< per tile of pivots of a larger front
  double tile = 0;        ///< per additional tile a block reads
  bool operator==(const FrontSolveCosts&) const = default;
};

/// Costs of a block triangular solve distributed over devices or host ranks (`Lutra_DistributedModel.hpp`).
struct DistributedCosts {
  double start_seconds = 0;        ///< start cost of a sweep, independent of its blocks
  double dependency_seconds = 0;   ///< dependency between two blocks of one device
  double bandwidth = 1;            ///< bytes per second of one device
  double min_block_bandwidth = 1;  ///< bytes per second of one block's team when as many teams as possible
                                   ///< are active
  double max_block_bandwidth = 1;  ///< bytes per second of one block's team when few teams are active
  double latency_seconds = 0;      ///< latency of a message between devices, without its bytes
  double link_bandwidth = 1;       ///< bytes per second of the messages one device sends
  double row_seconds = 0;          ///< a row of a right-hand side from its host to a device, and x back
  bool operator==(const DistributedCosts&) const = default;
};

/// Parameters that predict the cost of triangular solves, for the choice of method and task order.
struct TrisolveDeviceModel {
  TrisolveCosts methods;
  DistributedCosts distributed;
  LevelSetCosts level_sets;           ///< with kernels specialised for the space
  LevelSetCosts portable_level_sets;  ///< with portable kernels
  FrontSolveCosts fronts;
  bool operator==(const TrisolveDeviceModel&) const = default;
};

/// Seconds of a stage, as a linear function of: n rows; edges of the graph of A + Aᵀ, each counted twice;
/// entries of L below the diagonal; flops of an LU factorization; steps, the sequential vertices on the
/// longest path of the elimination tree; and the largest number of supernodes on a path.
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

/// Costs of the stages after ordering, for one engine.
struct EngineCosts {
  StageCosts analysis;  ///< elimination tree, pattern of L + U, plans
  StageCosts factorization;
  StageCosts solve;  ///< one right-hand side, including its residual
  bool operator==(const EngineCosts&) const = default;
};

/// Costs that decide between fill-reducing orderings and between host and device
/// (`Lutra_ChooseOrdering.hpp`).
struct OrderingCosts {
  StageCosts amd;  ///< including graph reduction and fill prediction, excluding visits of list entries
  double amd_visit_seconds = 0;  ///< per list entry that minimum degree visits (`TwoOrders`)
  StageCosts dissection;  ///< nested dissection of the n rows left by the reduction, times log₂ n, with one
                          ///< host thread
  double dissection_serial_share = 1;     ///< serial share of nested dissection on the host
  double factorization_serial_share = 1;  ///< serial share of factorizations; 1 on devices
  EngineCosts multifrontal;
  EngineCosts simplicial;  ///< zero analysis cost disables the engine
  double saved_share = 0;  ///< share of AMD's flops that nested dissection is expected to save, for each
                           ///< factor of ten by which AMD's flops exceed `saved_from_flops_per_row`
  double saved_from_flops_per_row = 1;
  double max_saved_share = 0;     ///< upper limit of that share
  double saved_height_share = 0;  ///< share of the height of AMD's tree that nested dissection is expected to
                                  ///< save
  double device_start_seconds = 0;  ///< time until the first kernels of a device have run, in a cold process
  bool operator==(const OrderingCosts&) const = default;
};

/// Costs that determine the order of a front's tasks on devices (`Lutra_FrontTaskList.hpp`), in microseconds;
/// only their ratios matter.
struct FrontTaskModel {
  double start = 6;          ///< start cost of an untiled front, or of a contribution block
  double pivot = 0.25;       ///< per pivot of an untiled front
  double child = 0.3;        ///< per child of an untiled front
  double step = 18;          ///< pivot tile and its successors on the critical path
  double product = 1.2;      ///< product of two tiles
  int steps_together = 2;    ///< pivot tiles whose rows and columns are processed together, in large fronts
  int min_linked_tiles = 4;  ///< min. pivot tiles for diagonal tiles to compute their last product themselves
  int min_swept_tiles = 12;  ///< min. pivot tiles for one block to process all diagonal tiles (a sweep)
  int blocks_a_sweep = 16;   ///< at most one block in this many sweeps, so that the blocks a sweep waits for
                             ///< can run
  int min_paired_tiles = 24;         ///< min. tiles along an edge for two-tile tasks
  int min_paired_root_tiles = 44;    ///< the minimum for roots, which have no concurrent fronts
  int single_edge = 12;              ///< last rows and columns of a root's tiles that get single-tile tasks
  int single_contribution_rows = 2;  ///< last rows of a root's contribution block that get single-tile tasks
  int cleared_entries = 1 << 15;     ///< panel entries cleared by one task
  bool operator==(const FrontTaskModel&) const = default;
};

/// Parameters that partition numeric factorization and choose its engine.
struct NumericDeviceModel {
  FrontTaskModel tasks;
  double min_flops_per_entry = 0;  ///< multifrontal flops per stored entry below which the row-based engine
                                   ///< is faster
  bool operator==(const NumericDeviceModel&) const = default;
};

/// Costs of the symbolic factorization methods on a device and on its host (`Lutra_SymbolicChoice.hpp`).
struct SymbolicCosts {
  double fill1_row_seconds = 0;    ///< per row with one host thread, including copies from and to the device
  double fill1_entry_seconds = 0;  ///< per entry of L + U, likewise
  double fill2_row_seconds = 0;    ///< per row on the device
  double fill2_edge_seconds = 0;   ///< per edge that a search visits
  double ancestors_start_seconds = 0;  ///< launches and allocations
  double ancestors_step_seconds = 0;   ///< per vertex of the longest path of the elimination tree
  double ancestors_word_seconds = 0;   ///< per 64 bits of the sets of U
  double max_set_bytes = 0;            ///< limit for ancestor bit sets if there is no memory limit
  bool operator==(const SymbolicCosts&) const = default;
};

/// Time of a refactorization and a solve by symmetric methods relative to LU, as measured geometric means
/// (`Lutra_ChooseMethod.hpp`). 0: not measured; LU is chosen.
struct SymmetricCosts {
  double cholesky = 0;
  double ldlt = 0;                 ///< matrices without zero diagonal entries
  double ldlt_zero_diagonals = 0;  ///< matrices with zero diagonal entries, for which LU's matching makes the
                                   ///< pattern unsymmetric
  bool operator==(const SymmetricCosts&) const = default;
};

/// Costs of the exact matching on the host and of the auction in the execution space, by which symmetric
/// matrices are scaled (`Lutra_ScalingChoice.hpp`).
struct AuctionCosts {
  double exact_row_seconds = 0;    ///< exact matching, per row
  double exact_entry_seconds = 0;  ///< exact matching, per entry
  double start_seconds = 0;  ///< auction, independent of the matrix; 0: not measured, the matching is exact
  double row_seconds = 0;    ///< auction, per row, including its scale on the way to the host
  double entry_seconds = 0;  ///< auction, per entry
  double round_seconds = 0;  ///< auction, per round
  bool operator==(const AuctionCosts&) const = default;
};

/// Costs that determine the schedule of an incomplete factorization and the method that applies its factors
/// (`Lutra_IluChoice.hpp`).
struct IluCosts {
  double level_seconds = 0;           ///< devices: a level with a launch that waits for its predecessor
  double syncfree_start_seconds = 0;  ///< devices: clearing of values, launch, loads of the first rows
  double dependency_seconds = 0;      ///< devices: a level of rows that poll for values
  double min_level_rows = 256;    ///< hosts: rows per thread and level, about 10 us of work, from which on
                                  ///< waiting for values from other threads' caches pays off
  double max_jacobi_share = 0.5;  ///< share of the exact solves' time above which Jacobi sweeps are not
                                  ///< considered
  double max_jacobi_difference = 0.3;  ///< largest relative difference from the exact solution; costs GMRES
                                       ///< few iterations
  bool operator==(const IluCosts&) const = default;
};

/// All parameters fitted to one device, grouped by use. Choices are functions of a matrix's properties and of
/// this struct, which is passed as a parameter or in an options struct.
struct DeviceModel {
  std::string name;  ///< name of the machine, for the report
  TrisolveDeviceModel trisolve;
  OrderingCosts ordering;
  NumericDeviceModel numeric;
  SymmetricCosts symmetric;
  SymbolicCosts symbolic;
  IluCosts ilu;
  AuctionCosts auction;
  bool operator==(const DeviceModel&) const = default;
};

/// Model of one NVIDIA H200 with CUDA 13.0, fitted by `lutra_perf_trisolve` to 34 triangles of ILU(0) and
/// complete factors, in double precision (docs/trisolve.md).
DeviceModel h200_device_model();
/// Model of one NVIDIA H100 with HBM3: that of the H200, which has the same multiprocessors, with memory 0.70
/// times as fast.
DeviceModel h100_device_model();
/// Estimates for one core of a server: no waits, one memory stream. The serial shares of its stages give the
/// times of several threads.
DeviceModel host_device_model();

/// What identifies a device.
struct DeviceProperties {
  std::string name;         ///< as the driver gives it
  int multiprocessors = 0;  ///< a part of a device has fewer
};

/// The built-in model of a device; empty for other devices than the H100 and the H200.
std::optional<DeviceModel> built_in_device_model(const DeviceProperties& properties);

/// Speeds that determine the costs of a device model. 0: not measured.
struct DeviceSpeeds {
  double launch_seconds = 0;  ///< one of many empty kernels in a row
  double read_seconds = 0;    ///< a read that depends on the last one, from the cache of all multiprocessors
  double bandwidth = 0;       ///< bytes read and written per second by a copy
  double flops_per_second = 0;  ///< fused multiply-adds in double precision, two flops each
};
/// Speeds of an H100 with HBM3.
DeviceSpeeds h100_device_speeds();

/// Model of a device without a built-in one: the H100's, its costs scaled by the ratios of speeds. Launches
/// follow `launch_seconds`, dependencies and what one multiprocessor reads `read_seconds`, bytes `bandwidth`,
/// flops `flops_per_second`. Costs on the host and ratios between methods stay.
DeviceModel scaled_device_model(const DeviceSpeeds& speeds, const DeviceProperties& properties);

/// Default model of an execution space: on hosts `host_device_model`; on a device its built-in model, or one
/// scaled by its speeds, which the first call in a process measures in some milliseconds with 128 MiB outside
/// any budget. Kokkos must be initialised. Thread-safe.
template <class ExecutionSpace>
DeviceModel default_device_model();
template <Impl::HostExecution ExecutionSpace>
DeviceModel default_device_model() {
  return host_device_model();
}

/// Default model that does not depend on measurements, for deterministic choices: on a device without a
/// built-in model that of the H100.
template <class ExecutionSpace>
DeviceModel unmeasured_device_model();
template <Impl::HostExecution ExecutionSpace>
DeviceModel unmeasured_device_model() {
  return host_device_model();
}

/// A parameter of a device model, for programs that read and write models.
struct DeviceModelField {
  std::string name;  ///< path of its sections and field: "ordering.amd.row_seconds"
  std::variant<double*, int*> number;
};

/// The parameters of a model, in a fixed order. `m` must outlive them.
std::vector<DeviceModelField> fields_of(DeviceModel& m);

/// Calls visit(name, number) for each parameter of a model, a double or an int.
template <class Visit>
void visit_numbers(DeviceModel& m, const Visit& visit) {
  for (const auto& field : fields_of(m))
    std::visit([&](auto* number) { visit(field.name, *number); }, field.number);
}

}  // namespace lutra

#endif
