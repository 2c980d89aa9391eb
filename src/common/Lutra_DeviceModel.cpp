// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DeviceModel.hpp"

namespace lutra {
namespace {

TrisolveDeviceModel h200_trisolve() {
  TrisolveDeviceModel model;
  auto& methods = model.methods;
  methods.start_seconds = 9e-6;
  methods.contention_start_seconds = 6.5e-6;
  methods.contention_levels = 32;
  methods.contention_free_rows = 5e3;
  methods.contention_row_seconds = 0.75e-9;
  methods.dependency_seconds = 0.36e-6;
  methods.dependency_growth_seconds = 0.075e-6;
  methods.block_dependency_seconds = 1.3e-6;
  methods.block_step_seconds = 0.005e-6;
  methods.wide_block_seconds = 3.0e-6;
  methods.concurrent_wide_blocks = 264;
  methods.barrier_seconds = 0.18e-6;
  methods.team_bandwidth = 34e9;
  methods.level_launch_seconds = 1.0e-6;
  methods.bandwidth = 3e12;
  model.level_sets = {0.18e-6, 28e9, 1.0e-6, 2.0e12, 8e-6, 0.3e-6};
  model.portable_level_sets = {2.5e-6, 30e9, 5e-6, 1.5e12, 5e-6, 0.5e-6};
  model.fronts = {2, 0.05, 2.5, 0.4};
  return model;
}

TrisolveDeviceModel host_trisolve() {
  TrisolveDeviceModel model;
  auto& methods = model.methods;
  methods.start_seconds = 1e-6;
  methods.dependency_seconds = 0.1e-6;
  methods.block_dependency_seconds = 0.5e-6;
  methods.block_step_seconds = 0.05e-6;
  methods.wide_block_seconds = 2e-6;
  methods.team_bandwidth = 10e9;
  methods.level_launch_seconds = 5e-6;
  methods.bandwidth = 10e9;
  return model;
}

// By `lutra_perf_symbolic` on circuits, power flow matrices, meshes and collections' matrices in METIS' order
// (docs/notes/2026-11-22-symbolic.md). Costs of fill2 are within a factor of 2.3 of what was measured, but
// for two matrices whose groups of sources are 4 and 6 times as fast.
SymbolicCosts h200_symbolic() {
  SymbolicCosts costs;
  costs.fill1_row_seconds = 1e-7;
  costs.fill1_entry_seconds = 4e-9;
  costs.fill2_row_seconds = 2.5e-7;
  costs.fill2_edge_seconds = 7e-12;
  costs.ancestors_start_seconds = 1.5e-3;
  costs.ancestors_step_seconds = 1e-6;
  costs.ancestors_word_seconds = 1.5e-10;
  costs.max_set_bytes = 16.0 * (1 << 30);
  return costs;
}

}  // namespace

DeviceModel h200_device_model() {
  DeviceModel model;
  model.trisolve = h200_trisolve();
  model.symbolic = h200_symbolic();
  return model;
}

DeviceModel host_device_model() {
  DeviceModel model;
  model.trisolve = host_trisolve();
  model.numeric.min_flops_per_entry = 40;
  return model;
}

}  // namespace lutra
