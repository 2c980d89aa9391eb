// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCALINGCHOICE_HPP
#define LUTRA_SCALINGCHOICE_HPP

#include <cstdint>
#include <string>

#include "Lutra_Auction.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Matching.hpp"

namespace lutra {

/// Properties that decide how a symmetric matrix is scaled.
struct ScalingProperties {
  std::int64_t rows = 0, entries = 0;  ///< of both triangles
  /// Matched entries are pivots and not only a scale: a diagonal entry is missing or zero, or the ordering
  /// keeps pairs together.
  bool needs_pairs = false;
  bool has_memory_limit = false;  ///< the auction takes memory of the execution space
};

/// A matching by which to scale, never automatic, and the reason; empty: chosen by the user, or the only one.
struct ScalingChoice {
  Matching matching = Matching::exact;
  std::string reason;
};

/// The matching asked for; or the auction, if it is predicted to take less than three quarters of the time of
/// the exact matching and only scales are needed. The prediction assumes more rounds than most auctions take.
ScalingChoice choose_scaling(const ScalingProperties& properties, Matching wanted, const AuctionCosts& costs);

/// Whether an auction scaled well enough to replace an exact matching: at least 63 of 64 rows are matched,
/// and the geometric mean of the matched entries is proven to be at least 0.95 of the greatest one.
/// @param rows of the matrix
bool suffices(const AuctionStatistics& statistics, std::int64_t rows);

}  // namespace lutra

#endif
