// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TrisolveModel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "Lutra_Formatted.hpp"

namespace lutra {
namespace {

constexpr double index_bytes = 4;  // columns and rows are 32-bit ordinals

double bytes_of(const TriangleProperties& properties) {
  return properties.entries * (properties.value_bytes + index_bytes) +
         properties.rows * (3 * sizeof(double) + properties.value_bytes + 2 * index_bytes);
}

double mean_length(const TriangleProperties& properties) {
  return properties.entries / std::max(1.0, properties.rows);
}

double predict_levels(const TriangleProperties& properties, const TrisolveCosts& costs) {
  if (properties.levels_seconds > 0) return properties.levels_seconds;
  const double bytes = bytes_of(properties);
  const double inside_a_team =
      std::max(properties.levels * costs.barrier_seconds, bytes / costs.team_bandwidth);
  const double launched = properties.levels * costs.level_launch_seconds + bytes / costs.bandwidth;
  return costs.start_seconds + std::min(inside_a_team, launched);
}

double predict_syncfree(const TriangleProperties& properties, const TrisolveCosts& costs) {
  const double step =
      costs.dependency_seconds + costs.dependency_growth_seconds * std::log2(1 + mean_length(properties));
  const double rows_beyond =
      std::max(0.0, properties.rows / std::max(1.0, properties.levels) - costs.contention_free_rows);
  const double many_blocks_per_level =
      costs.contention_start_seconds * std::min(1.0, properties.levels / costs.contention_levels) +
      costs.contention_row_seconds * rows_beyond;
  return costs.start_seconds + many_blocks_per_level + properties.levels * step +
         bytes_of(properties) / costs.bandwidth;
}

double predict_supernodal(const TriangleProperties& properties, const TrisolveCosts& costs) {
  if (properties.blocks == 0) return std::numeric_limits<double>::infinity();
  const double path = properties.block_levels * costs.block_dependency_seconds +
                      properties.critical_steps * costs.block_step_seconds;
  const double many_blocks_per_level =
      properties.wide_blocks * costs.wide_block_seconds / costs.concurrent_wide_blocks;
  return costs.start_seconds + path + many_blocks_per_level + bytes_of(properties) / costs.bandwidth;
}

std::string describe_choice(const TriangleProperties& properties, const TrisolveChoice& choice) {
  std::string text =
      Impl::formatted("predicted levels %.0f us, syncfree %.0f us for %.0f levels of rows",
                      1e6 * choice.levels_seconds, 1e6 * choice.syncfree_seconds, properties.levels);
  if (properties.blocks > 0)
    text += Impl::formatted(", supernodal %.0f us for %.0f levels of blocks", 1e6 * choice.supernodal_seconds,
                            properties.block_levels);
  return text;
}

}  // namespace

double predict_seconds(const TriangleProperties& properties, TrisolveMethod method,
                       const TrisolveCosts& costs) {
  switch (method) {
    case TrisolveMethod::levels:
      return predict_levels(properties, costs);
    case TrisolveMethod::syncfree:
      return predict_syncfree(properties, costs);
    case TrisolveMethod::supernodal:
      return predict_supernodal(properties, costs);
    default:
      return std::min({predict_levels(properties, costs), predict_syncfree(properties, costs),
                       predict_supernodal(properties, costs)});
  }
}

TrisolveChoice choose_method(TriangleProperties properties, const TrisolveCosts& costs,
                             TrisolveMethod wanted) {
  // Blocks of rows shorten the chain of levels; with few levels it is short already.
  constexpr double few_levels = 16;
  if (wanted != TrisolveMethod::supernodal && properties.levels <= few_levels) properties.blocks = 0;
  TrisolveChoice choice;
  choice.levels_seconds = predict_levels(properties, costs);
  choice.syncfree_seconds = predict_syncfree(properties, costs);
  choice.supernodal_seconds = properties.blocks > 0 ? predict_supernodal(properties, costs) : 0;
  choice.method = wanted;
  choice.reason = "asked for";
  if (wanted == TrisolveMethod::automatic) {
    const bool blocks_win = properties.blocks > 0 && choice.supernodal_seconds <= choice.syncfree_seconds;
    choice.method = blocks_win ? TrisolveMethod::supernodal : TrisolveMethod::syncfree;
    const double least = blocks_win ? choice.supernodal_seconds : choice.syncfree_seconds;
    if (!properties.several_columns && choice.levels_seconds <= least) choice.method = TrisolveMethod::levels;
    choice.reason = describe_choice(properties, choice);
  }
  choice.seconds = predict_seconds(properties, choice.method, costs);
  return choice;
}

}  // namespace lutra
