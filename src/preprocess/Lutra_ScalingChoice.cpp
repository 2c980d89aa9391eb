// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ScalingChoice.hpp"

#include <cmath>

#include "Lutra_Formatted.hpp"

namespace lutra {

ScalingChoice choose_scaling(const ScalingProperties& properties, Matching wanted,
                             const AuctionCosts& costs) {
  if (wanted != Matching::automatic) return {wanted, {}};
  if (!(costs.start_seconds > 0) || properties.needs_pairs || properties.has_memory_limit) return {};
  // Symmetric auctions of 29 matrices took 1 to 431 rounds, 23 of them up to 118
  // (docs/notes/2026-11-23-symmetric-auction.md).
  constexpr double rounds = 128;
  const auto n = static_cast<double>(properties.rows), nnz = static_cast<double>(properties.entries);
  const double exact = n * costs.exact_row_seconds + nnz * costs.exact_entry_seconds;
  const double auction =
      costs.start_seconds + n * costs.row_seconds + nnz * costs.entry_seconds + rounds * costs.round_seconds;
  constexpr double min_gain = 0.75;  // predictions err
  if (!(auction < min_gain * exact)) return {};
  return {
      Matching::auction,
      Impl::formatted("scaling: by auction, predicted to take %.2g s in place of %.2g s", auction, exact)};
}

bool suffices(const AuctionStatistics& statistics, std::int64_t rows) {
  constexpr double min_mean = 0.95;
  constexpr std::int64_t max_left = 64;  // at most one row in so many
  const std::int64_t matched = rows - statistics.left_to_paths;
  if (matched <= 0 || statistics.left_to_paths > rows / max_left) return false;
  return std::exp(-statistics.log_loss_bound / static_cast<double>(matched)) >= min_mean;
}

}  // namespace lutra
