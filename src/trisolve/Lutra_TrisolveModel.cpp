// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TrisolveModel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lutra {
namespace {

constexpr double index_bytes = 4;

double bytes_of(const TriangleShape& shape) {
  return shape.entries * (shape.value_bytes + index_bytes) +
         shape.rows * (3 * sizeof(double) + shape.value_bytes + 2 * index_bytes);
}

double mean_length(const TriangleShape& shape) {
  return shape.entries / std::max(1.0, shape.rows);
}

double predict_levels(const TriangleShape& shape, const TrisolveMachine& machine) {
  if (shape.levels_seconds > 0) return shape.levels_seconds;
  const double bytes = bytes_of(shape);
  const double inside_a_team = std::max(shape.levels * machine.barrier, bytes / machine.team_bandwidth);
  const double launched = shape.levels * machine.level_launch + bytes / machine.bandwidth;
  return machine.start + std::min(inside_a_team, launched);
}

double predict_syncfree(const TriangleShape& shape, const TrisolveMachine& machine) {
  const double step = machine.dependency + machine.dependency_growth * std::log2(1 + mean_length(shape));
  const double rows_beyond = std::max(0.0, shape.rows / std::max(1.0, shape.levels) - machine.crowd_rows);
  const double crowd = machine.crowd_start * std::min(1.0, shape.levels / machine.crowd_levels) +
                       machine.crowd_row * rows_beyond;
  return machine.start + crowd + shape.levels * step + bytes_of(shape) / machine.bandwidth;
}

double predict_supernodal(const TriangleShape& shape, const TrisolveMachine& machine) {
  if (shape.blocks == 0) return std::numeric_limits<double>::infinity();
  const double path =
      shape.block_levels * machine.block_dependency + shape.critical_steps * machine.block_step;
  const double crowd = shape.wide_blocks * machine.wide_block / machine.wide_teams;
  return machine.start + path + crowd + bytes_of(shape) / machine.bandwidth;
}

std::string describe_choice(const TriangleShape& shape, const TriangularReport& report) {
  char text[200];
  std::snprintf(text, sizeof text, "predicted levels %.0f us, syncfree %.0f us for %.0f levels of rows",
                1e6 * report.predicted_levels_seconds, 1e6 * report.predicted_syncfree_seconds, shape.levels);
  std::string result = text;
  if (shape.blocks > 0) {
    std::snprintf(text, sizeof text, ", supernodal %.0f us for %.0f levels of blocks",
                  1e6 * report.predicted_supernodal_seconds, shape.block_levels);
    result += text;
  }
  return result;
}

}  // namespace

TrisolveMachine h200_machine() {
  TrisolveMachine machine{};
  machine.start = 9e-6;
  machine.crowd_start = 6.5e-6;
  machine.crowd_levels = 32;
  machine.crowd_rows = 5e3;
  machine.crowd_row = 0.75e-9;
  machine.dependency = 0.36e-6;
  machine.dependency_growth = 0.075e-6;
  machine.block_dependency = 1.3e-6;
  machine.block_step = 0.005e-6;
  machine.wide_block = 3.0e-6;
  machine.wide_teams = 264;
  machine.barrier = 0.18e-6;
  machine.team_bandwidth = 34e9;
  machine.level_launch = 1.0e-6;
  machine.bandwidth = 3e12;
  return machine;
}

TrisolveMachine host_machine() {
  TrisolveMachine machine{};
  machine.start = 1e-6;
  machine.crowd_levels = 1;
  machine.dependency = 0.1e-6;
  machine.block_dependency = 0.5e-6;
  machine.block_step = 0.05e-6;
  machine.wide_block = 2e-6;
  machine.wide_teams = 1;
  machine.barrier = 0;
  machine.team_bandwidth = 10e9;
  machine.level_launch = 5e-6;
  machine.bandwidth = 10e9;
  return machine;
}

double predict_seconds(const TriangleShape& shape, TrisolveMethod method, const TrisolveMachine& machine) {
  switch (method) {
    case TrisolveMethod::levels:
      return predict_levels(shape, machine);
    case TrisolveMethod::syncfree:
      return predict_syncfree(shape, machine);
    case TrisolveMethod::supernodal:
      return predict_supernodal(shape, machine);
    default:
      return std::min({predict_levels(shape, machine), predict_syncfree(shape, machine),
                       predict_supernodal(shape, machine)});
  }
}

void choose_method(const TriangleShape& shape, const TrisolveMachine& machine, TrisolveMethod wanted,
                   TriangularReport& report) {
  report.predicted_levels_seconds = predict_levels(shape, machine);
  report.predicted_syncfree_seconds = predict_syncfree(shape, machine);
  report.predicted_supernodal_seconds = shape.blocks == 0 ? 0 : predict_supernodal(shape, machine);
  report.method = wanted;
  report.why = "asked for";
  if (wanted == TrisolveMethod::automatic) {
    const bool blocks_win =
        shape.blocks > 0 && predict_supernodal(shape, machine) <= predict_syncfree(shape, machine);
    report.method = blocks_win ? TrisolveMethod::supernodal : TrisolveMethod::syncfree;
    const double least = predict_seconds(shape, report.method, machine);
    if (!shape.several_columns && report.predicted_levels_seconds <= least)
      report.method = TrisolveMethod::levels;
    report.why = describe_choice(shape, report);
  }
  report.predicted_seconds = predict_seconds(shape, report.method, machine);
}

}  // namespace lutra
