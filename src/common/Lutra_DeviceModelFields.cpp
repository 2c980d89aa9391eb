// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DeviceModelFields.hpp"

namespace lutra {
namespace {

/// Adds a field to a list.
struct Visit {
  std::vector<DeviceModelField>& fields;
  template <class Number>
  void operator()(std::string name, Number& number) const {
    fields.push_back({std::move(name), &number});
  }
};

void visit_section(const std::string& at, TrisolveCosts& m, const Visit& visit) {
  visit(at + "start_seconds", m.start_seconds);
  visit(at + "contention_start_seconds", m.contention_start_seconds);
  visit(at + "contention_levels", m.contention_levels);
  visit(at + "contention_free_rows", m.contention_free_rows);
  visit(at + "contention_row_seconds", m.contention_row_seconds);
  visit(at + "dependency_seconds", m.dependency_seconds);
  visit(at + "dependency_growth_seconds", m.dependency_growth_seconds);
  visit(at + "block_dependency_seconds", m.block_dependency_seconds);
  visit(at + "block_step_seconds", m.block_step_seconds);
  visit(at + "wide_block_seconds", m.wide_block_seconds);
  visit(at + "concurrent_wide_blocks", m.concurrent_wide_blocks);
  visit(at + "barrier_seconds", m.barrier_seconds);
  visit(at + "team_bandwidth", m.team_bandwidth);
  visit(at + "level_launch_seconds", m.level_launch_seconds);
  visit(at + "bandwidth", m.bandwidth);
}

void visit_section(const std::string& at, LevelSetCosts& m, const Visit& visit) {
  visit(at + "barrier_seconds", m.barrier_seconds);
  visit(at + "team_bandwidth", m.team_bandwidth);
  visit(at + "launch_seconds", m.launch_seconds);
  visit(at + "bandwidth", m.bandwidth);
  visit(at + "start_seconds", m.start_seconds);
  visit(at + "step_seconds", m.step_seconds);
}

void visit_section(const std::string& at, FrontSolveCosts& m, const Visit& visit) {
  visit(at + "start", m.start);
  visit(at + "pivot", m.pivot);
  visit(at + "pivot_tile", m.pivot_tile);
  visit(at + "tile", m.tile);
}

void visit_section(const std::string& at, DistributedCosts& m, const Visit& visit) {
  visit(at + "start_seconds", m.start_seconds);
  visit(at + "dependency_seconds", m.dependency_seconds);
  visit(at + "bandwidth", m.bandwidth);
  visit(at + "min_block_bandwidth", m.min_block_bandwidth);
  visit(at + "max_block_bandwidth", m.max_block_bandwidth);
  visit(at + "latency_seconds", m.latency_seconds);
  visit(at + "link_bandwidth", m.link_bandwidth);
}

void visit_section(const std::string& at, TrisolveDeviceModel& m, const Visit& visit) {
  visit_section(at + "methods.", m.methods, visit);
  visit_section(at + "level_sets.", m.level_sets, visit);
  visit_section(at + "portable_level_sets.", m.portable_level_sets, visit);
  visit_section(at + "fronts.", m.fronts, visit);
  visit_section(at + "distributed.", m.distributed, visit);
}

void visit_section(const std::string& at, StageCosts& m, const Visit& visit) {
  visit(at + "start_seconds", m.start_seconds);
  visit(at + "row_seconds", m.row_seconds);
  visit(at + "edge_seconds", m.edge_seconds);
  visit(at + "entry_seconds", m.entry_seconds);
  visit(at + "flop_seconds", m.flop_seconds);
  visit(at + "step_seconds", m.step_seconds);
  visit(at + "supernode_seconds", m.supernode_seconds);
}

void visit_section(const std::string& at, EngineCosts& m, const Visit& visit) {
  visit_section(at + "analysis.", m.analysis, visit);
  visit_section(at + "factorization.", m.factorization, visit);
  visit_section(at + "solve.", m.solve, visit);
}

void visit_section(const std::string& at, OrderingCosts& m, const Visit& visit) {
  visit_section(at + "amd.", m.amd, visit);
  visit(at + "amd_visit_seconds", m.amd_visit_seconds);
  visit_section(at + "dissection.", m.dissection, visit);
  visit(at + "dissection_serial_share", m.dissection_serial_share);
  visit(at + "factorization_serial_share", m.factorization_serial_share);
  visit_section(at + "device_dissection.", m.device_dissection, visit);
  visit_section(at + "multifrontal.", m.multifrontal, visit);
  visit_section(at + "simplicial.", m.simplicial, visit);
  visit(at + "saved_share", m.saved_share);
  visit(at + "saved_from_flops_per_row", m.saved_from_flops_per_row);
  visit(at + "max_saved_share", m.max_saved_share);
  visit(at + "saved_height_share", m.saved_height_share);
  visit(at + "device_start_seconds", m.device_start_seconds);
}

void visit_section(const std::string& at, FrontTaskModel& m, const Visit& visit) {
  visit(at + "start", m.start);
  visit(at + "pivot", m.pivot);
  visit(at + "child", m.child);
  visit(at + "step", m.step);
  visit(at + "product", m.product);
  visit(at + "steps_together", m.steps_together);
  visit(at + "min_linked_tiles", m.min_linked_tiles);
  visit(at + "min_swept_tiles", m.min_swept_tiles);
  visit(at + "blocks_a_sweep", m.blocks_a_sweep);
  visit(at + "min_paired_tiles", m.min_paired_tiles);
  visit(at + "min_paired_root_tiles", m.min_paired_root_tiles);
  visit(at + "single_edge", m.single_edge);
  visit(at + "single_contribution_rows", m.single_contribution_rows);
  visit(at + "cleared_entries", m.cleared_entries);
}

void visit_section(const std::string& at, NumericDeviceModel& m, const Visit& visit) {
  visit_section(at + "tasks.", m.tasks, visit);
  visit(at + "min_flops_per_entry", m.min_flops_per_entry);
}

void visit_section(const std::string& at, SymbolicCosts& m, const Visit& visit) {
  visit(at + "fill1_row_seconds", m.fill1_row_seconds);
  visit(at + "fill1_entry_seconds", m.fill1_entry_seconds);
  visit(at + "fill2_row_seconds", m.fill2_row_seconds);
  visit(at + "fill2_edge_seconds", m.fill2_edge_seconds);
  visit(at + "ancestors_start_seconds", m.ancestors_start_seconds);
  visit(at + "ancestors_step_seconds", m.ancestors_step_seconds);
  visit(at + "ancestors_word_seconds", m.ancestors_word_seconds);
  visit(at + "max_set_bytes", m.max_set_bytes);
}

void visit_section(const std::string& at, SymmetricCosts& m, const Visit& visit) {
  visit(at + "cholesky", m.cholesky);
  visit(at + "ldlt", m.ldlt);
  visit(at + "ldlt_zero_diagonals", m.ldlt_zero_diagonals);
}

void visit_section(const std::string& at, IluCosts& m, const Visit& visit) {
  visit(at + "level_seconds", m.level_seconds);
  visit(at + "syncfree_start_seconds", m.syncfree_start_seconds);
  visit(at + "dependency_seconds", m.dependency_seconds);
  visit(at + "min_level_rows", m.min_level_rows);
  visit(at + "max_jacobi_share", m.max_jacobi_share);
  visit(at + "max_jacobi_difference", m.max_jacobi_difference);
}

}  // namespace

std::vector<DeviceModelField> fields_of(DeviceModel& m) {
  std::vector<DeviceModelField> fields;
  const Visit visit{fields};
  visit_section("trisolve.", m.trisolve, visit);
  visit_section("ordering.", m.ordering, visit);
  visit_section("numeric.", m.numeric, visit);
  visit_section("symmetric.", m.symmetric, visit);
  visit_section("symbolic.", m.symbolic, visit);
  visit_section("ilu.", m.ilu, visit);
  return fields;
}

}  // namespace lutra
