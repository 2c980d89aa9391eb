// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTION_HPP
#define LUTRA_AUCTION_HPP

#include "Lutra_Index.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Accuracy of an auction, and limits after which path searches match the remaining rows.
struct AuctionOptions {
  double epsilon = 0.05;  ///< the geometric mean of the matched magnitudes is at least e^−epsilon times the
                          ///< maximum
  int patience = 50;      ///< a phase ends after this many rounds without a decrease in the number of bidders
  int max_rounds = 2000;  ///< per phase
};

/// Statistics and accuracy of an auction.
struct AuctionStatistics {
  int phases = 0;                  ///< 1 without epsilon scaling
  int rounds = 0;                  ///< total over all phases
  std::int64_t left_to_paths = 0;  ///< rows left unmatched by the rounds
  double log_loss_bound = 0;       ///< upper bound on the gap of log(product of matched magnitudes) to the
                                   ///< maximum; at most n·epsilon. Perfect matchings only
};

/// Matching found by auction.
struct AuctionResult {
  MatchingResult matching;
  AuctionStatistics statistics;
};

/// Maximum product matching up to a factor, with scaling, in the execution space.
///
/// Bertsekas' auction algorithm in Jacobi form for the costs of `match_exact`: all unmatched rows bid
/// concurrently for their cheapest columns; columns go to the highest bids, and their prices rise. If a phase
/// leaves many rows unmatched, phases with 16, 4 and 1 times `epsilon` follow (epsilon scaling). Shortest
/// augmenting paths on the host match the remaining rows, starting from the current matching and prices, so
/// that a perfect matching is found if one exists. Ranks and unmatched rows equal those of `match_exact`.
/// Scaled magnitudes are at most 1, at matched entries at least e^−epsilon. The result is independent of the
/// number of threads and of timing.
///
/// Cost: O(entries of the bidding rows) per round; 8 bytes per entry and 68 per row, charged to the budget,
/// and the host memory of `match_exact` if paths are needed. Waits for the result.
///
/// @param matrix square, in the execution space's memory; rows need not be sorted; values finite
/// @throws InputError for a matrix that is not square or has too many rows for 32 bits, an epsilon that is
/// not positive, patience or rounds below one; OutOfMemoryError
template <class Scalar, class ExecutionSpace>
AuctionResult match_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix,
    const MemoryBudget& budget, const AuctionOptions& options = {});

}  // namespace lutra

#endif
