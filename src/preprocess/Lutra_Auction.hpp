// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTION_HPP
#define LUTRA_AUCTION_HPP

#include "Lutra_Index.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Accuracy of an auction, and when it leaves the remaining rows to path searches.
struct AuctionOptions {
  double epsilon = 0.05;  ///< the matched magnitudes' geometric mean is at least e^−epsilon of the maximum
  int patience = 50;      ///< a phase ends after so many rounds in which the number of bidders does not fall
  int max_rounds = 2000;  ///< in a phase
};

/// What an auction did, and how near it came.
struct AuctionStatistics {
  int phases = 0;                  ///< 1 where no epsilon scaling was needed
  int rounds = 0;                  ///< of all phases
  std::int64_t left_to_paths = 0;  ///< rows that were unmatched after the rounds
  double log_loss_bound = 0;       ///< log of the product of matched magnitudes: at most so much below the
                                   ///< maximum, and at most n·epsilon. Perfect matchings only
};

/// A matching found by auction.
struct AuctionResult {
  MatchingResult matching;
  AuctionStatistics statistics;
};

/// A matching whose product is within a factor of the maximum, with scaling, in the execution space.
///
/// The auction algorithm of Bertsekas in Jacobi form over the costs of `match_exact`: all unmatched rows bid
/// at once for their cheapest columns; columns go to the highest bids and their prices rise. Where a phase
/// leaves many rows unmatched, phases with 16, 4 and 1 times `epsilon` follow (epsilon scaling). The
/// remaining rows are matched by shortest augmenting paths on the host, from the matching and prices reached,
/// so that a perfect matching is found wherever there is one. Ranks and unmatched rows are those of
/// `match_exact`. Scaled magnitudes are at most 1, those of matched entries at least e^−epsilon. The result
/// depends neither on the number of threads nor on timing.
///
/// Cost: O(entries of the bidding rows) per round; 8 bytes per entry and 68 per row of the budget, and the
/// host memory of `match_exact` where paths are needed. Waits for the result.
///
/// @param matrix square, in the execution space's memory, rows sorted or not; values finite
/// @throws InputError for a matrix that is not square or has more rows than 32 bits count, an epsilon that is
/// not above zero, patience or rounds below one; OutOfMemoryError
template <class Scalar, class ExecutionSpace>
AuctionResult match_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix,
    const MemoryBudget& budget, const AuctionOptions& options = {});

}  // namespace lutra

#endif
