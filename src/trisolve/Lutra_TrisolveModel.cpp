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

double predict_levels(const TriangleShape& shape, const TrisolveCosts& costs) {
  if (shape.levels_seconds > 0) return shape.levels_seconds;
  const double bytes = bytes_of(shape);
  const double inside_a_team = std::max(shape.levels * costs.barrier_seconds, bytes / costs.team_bandwidth);
  const double launched = shape.levels * costs.level_launch_seconds + bytes / costs.bandwidth;
  return costs.start_seconds + std::min(inside_a_team, launched);
}

double predict_syncfree(const TriangleShape& shape, const TrisolveCosts& costs) {
  const double step =
      costs.dependency_seconds + costs.dependency_growth_seconds * std::log2(1 + mean_length(shape));
  const double rows_beyond =
      std::max(0.0, shape.rows / std::max(1.0, shape.levels) - costs.contention_free_rows);
  const double crowd =
      costs.contention_start_seconds * std::min(1.0, shape.levels / costs.contention_levels) +
      costs.contention_row_seconds * rows_beyond;
  return costs.start_seconds + crowd + shape.levels * step + bytes_of(shape) / costs.bandwidth;
}

double predict_supernodal(const TriangleShape& shape, const TrisolveCosts& costs) {
  if (shape.blocks == 0) return std::numeric_limits<double>::infinity();
  const double path =
      shape.block_levels * costs.block_dependency_seconds + shape.critical_steps * costs.block_step_seconds;
  const double crowd = shape.wide_blocks * costs.wide_block_seconds / costs.concurrent_wide_blocks;
  return costs.start_seconds + path + crowd + bytes_of(shape) / costs.bandwidth;
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

double predict_seconds(const TriangleShape& shape, TrisolveMethod method, const TrisolveCosts& costs) {
  switch (method) {
    case TrisolveMethod::levels:
      return predict_levels(shape, costs);
    case TrisolveMethod::syncfree:
      return predict_syncfree(shape, costs);
    case TrisolveMethod::supernodal:
      return predict_supernodal(shape, costs);
    default:
      return std::min(
          {predict_levels(shape, costs), predict_syncfree(shape, costs), predict_supernodal(shape, costs)});
  }
}

void choose_method(const TriangleShape& shape, const TrisolveCosts& costs, TrisolveMethod wanted,
                   TriangularReport& report) {
  report.predicted_levels_seconds = predict_levels(shape, costs);
  report.predicted_syncfree_seconds = predict_syncfree(shape, costs);
  report.predicted_supernodal_seconds = shape.blocks == 0 ? 0 : predict_supernodal(shape, costs);
  report.method = wanted;
  report.why = "asked for";
  if (wanted == TrisolveMethod::automatic) {
    const bool blocks_win =
        shape.blocks > 0 && predict_supernodal(shape, costs) <= predict_syncfree(shape, costs);
    report.method = blocks_win ? TrisolveMethod::supernodal : TrisolveMethod::syncfree;
    const double least = predict_seconds(shape, report.method, costs);
    if (!shape.several_columns && report.predicted_levels_seconds <= least)
      report.method = TrisolveMethod::levels;
    report.why = describe_choice(shape, report);
  }
  report.predicted_seconds = predict_seconds(shape, report.method, costs);
}

}  // namespace lutra
