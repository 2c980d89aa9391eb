// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DeviceModel.hpp"

#include <algorithm>

namespace lutra {
namespace {

constexpr int hopper_multiprocessors = 132;  // of an H100 and an H200

/// Measured on one core of a server: 37 graphs with AMD and nested dissection; speedup by threads from two
/// dissections and several factorizations (docs/notes/2026-11-26-ordering-threads.md).
OrderingCosts orderings_by_a_core() {
  OrderingCosts costs;
  costs.amd = {.start_seconds = 2e-6, .row_seconds = 1.0e-7, .edge_seconds = 7.6e-9};
  costs.amd_visit_seconds = 2.8e-9;
  costs.dissection = {.row_seconds = 6.0e-8, .edge_seconds = 2.35e-8};
  costs.dissection_serial_share = 0.15;
  costs.saved_share = 0.2;
  costs.saved_from_flops_per_row = 1000;
  costs.max_saved_share = 0.5;
  costs.saved_height_share = 0.35;
  return costs;
}

/// Ratios of a device's speeds to those of the device whose model is scaled.
struct SpeedRatios {
  double launch, read, byte, flop;  ///< of seconds
};

void scale(double& seconds, double ratio) {
  seconds *= ratio;
}
/// Bytes per second; 1 means that the model does not use them.
void scale_rate(double& rate, double ratio) {
  if (rate > 1) rate /= ratio;
}

void scale(TrisolveCosts& costs, const SpeedRatios& by) {
  for (double* const cost : {&costs.start_seconds, &costs.level_launch_seconds}) scale(*cost, by.launch);
  for (double* const cost :
       {&costs.contention_start_seconds, &costs.contention_row_seconds, &costs.dependency_seconds,
        &costs.dependency_growth_seconds, &costs.block_dependency_seconds, &costs.block_step_seconds,
        &costs.wide_block_seconds, &costs.barrier_seconds})
    scale(*cost, by.read);
  scale_rate(costs.team_bandwidth, by.read);
  scale_rate(costs.bandwidth, by.byte);
}

void scale(LevelSetCosts& costs, const SpeedRatios& by) {
  for (double* const cost : {&costs.start_seconds, &costs.launch_seconds}) scale(*cost, by.launch);
  for (double* const cost : {&costs.barrier_seconds, &costs.step_seconds}) scale(*cost, by.read);
  scale_rate(costs.team_bandwidth, by.read);
  scale_rate(costs.bandwidth, by.byte);
}

void scale(DistributedCosts& costs, const SpeedRatios& by) {
  scale(costs.start_seconds, by.launch);
  scale(costs.dependency_seconds, by.read);
  scale_rate(costs.max_block_bandwidth, by.read);
  scale_rate(costs.bandwidth, by.byte);
  scale_rate(costs.min_block_bandwidth, by.byte);
}

void scale(StageCosts& costs, const SpeedRatios& by) {
  scale(costs.start_seconds, by.launch);
  for (double* const cost : {&costs.row_seconds, &costs.edge_seconds, &costs.entry_seconds})
    scale(*cost, by.byte);
  scale(costs.flop_seconds, by.flop);
  for (double* const cost : {&costs.step_seconds, &costs.supernode_seconds}) scale(*cost, by.read);
}

void scale(SymbolicCosts& costs, const SpeedRatios& by) {
  for (double* const cost :
       {&costs.fill2_row_seconds, &costs.fill2_edge_seconds, &costs.ancestors_word_seconds})
    scale(*cost, by.byte);
  scale(costs.ancestors_start_seconds, by.launch);
  scale(costs.ancestors_step_seconds, by.read);
}

void scale(IluCosts& costs, const SpeedRatios& by) {
  for (double* const cost : {&costs.level_seconds, &costs.syncfree_start_seconds}) scale(*cost, by.launch);
  scale(costs.dependency_seconds, by.read);
}

}  // namespace

DeviceModel h200_device_model() {
  DeviceModel model;
  model.name = "H200, built in";
  model.trisolve.methods = {.start_seconds = 9e-6,
                            .contention_start_seconds = 6.5e-6,
                            .contention_levels = 32,
                            .contention_free_rows = 5e3,
                            .contention_row_seconds = 0.75e-9,
                            .dependency_seconds = 0.36e-6,
                            .dependency_growth_seconds = 0.075e-6,
                            .block_dependency_seconds = 1.3e-6,
                            .block_step_seconds = 0.005e-6,
                            .wide_block_seconds = 3.0e-6,
                            .concurrent_wide_blocks = 264,
                            .barrier_seconds = 0.18e-6,
                            .team_bandwidth = 34e9,
                            .level_launch_seconds = 1.0e-6,
                            .bandwidth = 3e12};
  // One device: simulated times of both sweeps are 6 to 34 % below the measured ones, 17 % in the median, for
  // the five matrices in docs/trisolve.md without matching. Messages: between two H200s of one host by peer
  // memory. A team's bandwidth ranges from an eighth of a multiprocessor's share, as in the paper's Algorithm
  // 2, to the most one multiprocessor can read.
  model.trisolve.distributed = {.start_seconds = 9e-6,
                                .dependency_seconds = 1.6e-6,
                                .bandwidth = 3e12,
                                .min_block_bandwidth = 3e12 / (8 * hopper_multiprocessors),
                                .max_block_bandwidth = 34e9,
                                .latency_seconds = 1.35e-6,
                                .link_bandwidth = 370e9};
  model.trisolve.level_sets = {0.18e-6, 28e9, 1.0e-6, 2.0e12, 8e-6, 0.3e-6};
  model.trisolve.portable_level_sets = {2.5e-6, 30e9, 5e-6, 1.5e12, 5e-6, 0.5e-6};
  model.trisolve.fronts = {2, 0.05, 2.5, 0.4};
  // Measured by `lutra_perf_symbolic` on circuits, power flow matrices, meshes and matrices of collections,
  // in METIS order (docs/notes/2026-11-22-symbolic.md). Costs of fill2 are within a factor of 2.3 of the
  // measurements, except for two matrices whose groups of sources are 4 and 6 times as fast.
  model.symbolic = {.fill1_row_seconds = 1e-7,
                    .fill1_entry_seconds = 4e-9,
                    .fill2_row_seconds = 2.5e-7,
                    .fill2_edge_seconds = 7e-12,
                    .ancestors_start_seconds = 1.5e-3,
                    .ancestors_step_seconds = 1e-6,
                    .ancestors_word_seconds = 1.5e-10,
                    .max_set_bytes = 16.0 * (1 << 30)};
  // Orderings run on the host: eight of its threads dissect 1.1 to 4 times as fast as the device
  // (docs/nested-dissection.md). Refactorizations and solves of 18 matrices in AMD and nested dissection
  // order, on an H100 (docs/notes/2026-11-26-ordering-threads.md); analysis and start from times to the first
  // solution, in cold processes (docs/notes/2026-11-23-ordering-choice.md).
  model.ordering = orderings_by_a_core();
  model.ordering.multifrontal = {.analysis = {.start_seconds = 5e-3, .row_seconds = 4.2e-7},
                                 .factorization = {.start_seconds = 2.3e-4,
                                                   .entry_seconds = 1.6e-10,
                                                   .flop_seconds = 2.1e-14,
                                                   .step_seconds = 2.2e-7,
                                                   .supernode_seconds = 1.4e-6},
                                 .solve = {.start_seconds = 1.5e-4,
                                           .row_seconds = 1.0e-9,
                                           .entry_seconds = 1.0e-11,
                                           .step_seconds = 3.0e-8,
                                           .supernode_seconds = 6.0e-7}};
  model.ordering.device_start_seconds = 0.045;
  // Measured by `lutra_perf_ilu`: ILU(0) of four grids in natural order, 118 to 2,000 levels (docs/ilu.md).
  model.ilu = {.level_seconds = 18e-6, .syncfree_start_seconds = 30e-6, .dependency_seconds = 1e-6};
  // Measured by `lutra_perf_preprocess`: the exact matching on 16 threads, the least of six matrices; the
  // auction on the device, the most of them (docs/preprocess.md). Rows include a maximum transversal on the
  // host, which follows if some are left.
  model.auction = {.exact_row_seconds = 4e-8,
                   .exact_entry_seconds = 7e-9,
                   .start_seconds = 4.5e-4,
                   .row_seconds = 6e-8,
                   .entry_seconds = 5e-10,
                   .round_seconds = 1e-5};
  // Measured on an H100: three matrices without zeros on the diagonal, 14 with them
  // (docs/notes/2026-11-28-pivots-in-place.md).
  model.symmetric = {.cholesky = 0.9, .ldlt = 0.8, .ldlt_zero_diagonals = 1.2};
  return model;
}

DeviceModel h100_device_model() {
  DeviceModel model = h200_device_model();
  model.name = "H100, built in";
  constexpr double memory = 3.35 / 4.8;  // of data sheets, TB/s
  const SpeedRatios by{1, 1, 1 / memory, 1};
  scale(model.trisolve.methods, by);
  scale(model.trisolve.distributed, by);
  scale(model.trisolve.level_sets, by);
  scale(model.trisolve.portable_level_sets, by);
  return model;
}

std::optional<DeviceModel> built_in_device_model(const DeviceProperties& properties) {
  if (properties.multiprocessors != hopper_multiprocessors) return std::nullopt;
  if (properties.name == "NVIDIA H200") return h200_device_model();
  if (properties.name == "NVIDIA H100 80GB HBM3") return h100_device_model();
  return std::nullopt;
}

DeviceSpeeds h100_device_speeds() {
  return {.launch_seconds = 3e-6, .read_seconds = 1.6e-7, .bandwidth = 2.7e12, .flops_per_second = 3.0e13};
}

DeviceModel scaled_device_model(const DeviceSpeeds& speeds, const DeviceProperties& properties) {
  // A larger ratio is a disturbed measurement rather than a device.
  const auto ratio = [](double seconds, double h100) {
    constexpr double largest = 30;
    return seconds > 0 ? std::clamp(seconds / h100, 1 / largest, largest) : 1.0;
  };
  const auto inverse = [](double rate) { return rate > 0 ? 1 / rate : 0.0; };
  const DeviceSpeeds h100 = h100_device_speeds();
  const SpeedRatios by{ratio(speeds.launch_seconds, h100.launch_seconds),
                       ratio(speeds.read_seconds, h100.read_seconds),
                       ratio(inverse(speeds.bandwidth), inverse(h100.bandwidth)),
                       ratio(inverse(speeds.flops_per_second), inverse(h100.flops_per_second))};
  DeviceModel model = h100_device_model();
  model.name = properties.name + ": H100's model scaled by measured speeds";
  scale(model.trisolve.methods, by);
  scale(model.trisolve.distributed, by);
  scale(model.trisolve.level_sets, by);
  scale(model.trisolve.portable_level_sets, by);
  scale(model.ordering.multifrontal.factorization, by);
  scale(model.ordering.multifrontal.solve, by);
  scale(model.symbolic, by);
  scale(model.ilu, by);
  const double share = static_cast<double>(properties.multiprocessors) / hopper_multiprocessors;
  model.trisolve.methods.concurrent_wide_blocks *= share;
  model.trisolve.distributed.min_block_bandwidth /= share;
  return model;
}

DeviceModel host_device_model() {
  DeviceModel model;
  model.name = "one core of a host, built in";
  model.trisolve.methods = {.start_seconds = 1e-6,
                            .dependency_seconds = 0.1e-6,
                            .block_dependency_seconds = 0.5e-6,
                            .block_step_seconds = 0.05e-6,
                            .wide_block_seconds = 2e-6,
                            .team_bandwidth = 10e9,
                            .level_launch_seconds = 5e-6,
                            .bandwidth = 10e9};
  // One rank, which processes its blocks sequentially and receives messages in between: one put of 8 bytes to
  // 2 KiB and its arrival between two cores of an H200's host, and blocks as in solves of six matrices on 1
  // to 4 ranks there (docs/prediction.md).
  model.trisolve.distributed = {.start_seconds = 1e-6,
                                .dependency_seconds = 0.09e-6,
                                .bandwidth = 10e9,
                                .min_block_bandwidth = 10e9,
                                .max_block_bandwidth = 10e9,
                                .latency_seconds = 1.3e-6,
                                .link_bandwidth = 2e9};
  model.numeric.min_flops_per_entry = 40;
  model.ordering = orderings_by_a_core();
  model.ordering.factorization_serial_share = 0.13;
  model.ordering.multifrontal = {
      .analysis = {.row_seconds = 2e-8, .edge_seconds = 3.5e-8, .entry_seconds = 2.7e-8},
      .factorization = {.start_seconds = 2.1e-5,
                        .row_seconds = 4.3e-8,
                        .entry_seconds = 1.6e-8,
                        .flop_seconds = 3.3e-11},
      .solve = {.row_seconds = 8.4e-8, .edge_seconds = 2.4e-10, .entry_seconds = 2.5e-9}};
  model.ordering.simplicial = {
      .analysis = {.start_seconds = 1.1e-4,
                   .row_seconds = 2.3e-7,
                   .edge_seconds = 1.1e-8,
                   .entry_seconds = 3.1e-8},
      .factorization = {.start_seconds = 2.9e-6,
                        .row_seconds = 3.1e-8,
                        .entry_seconds = 5.4e-9,
                        .flop_seconds = 1.8e-10},
      .solve = {
          .start_seconds = 3.3e-6, .row_seconds = 2.1e-8, .edge_seconds = 1.3e-9, .entry_seconds = 1.7e-9}};
  // 31 matrices with one thread (docs/notes/2026-11-23-ldlt.md).
  model.symmetric = {.cholesky = 0.65, .ldlt = 0.66, .ldlt_zero_diagonals = 0.44};
  return model;
}

}  // namespace lutra
