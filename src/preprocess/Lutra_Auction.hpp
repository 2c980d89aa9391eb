// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTION_HPP
#define LUTRA_AUCTION_HPP

#include "Lutra_AuctionTuning.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// How near an auction comes to the greatest product, and when it leaves the rest to path searches.
struct AuctionOptions {
  double epsilon = 0.05;  ///< the matched entries' geometric mean is at least e^−epsilon of the greatest
  int patience = 50;      ///< a phase ends where so many rounds leave the number of bidders as it is
  int max_rounds = 2000;  ///< in a phase
};

/// What an auction did, and what it is worth.
struct AuctionStatistics {
  int phases = 0;                  ///< 1 where no epsilon scaling was needed
  int rounds = 0;                  ///< of all phases
  std::int64_t left_to_paths = 0;  ///< rows that the rounds left unmatched
  double log_loss_bound = 0;       ///< log of the product of the matched magnitudes is at most so much
                                   ///< below the greatest; never above n·epsilon. Perfect matchings only
};

/// A maximum product matching but for a factor, with scaling, in the execution space.
///
/// Bertsekas' auction in Jacobi's form over the same costs as `match_exact`: rows without a column bid for
/// the one they like best, all at once, columns go to the best bids and rise in price. Where a phase stalls
/// with many rows unmatched, epsilon is scaled: a phase each with 16, 4 and 1 times `epsilon` follows. Rows
/// still unmatched are brought in by shortest augmenting paths on the host, starting from matching and
/// prices as they are, so that a perfect matching is found wherever there is one. Ranks and what is
/// unmatched are those of `match_exact`. The scales make every entry at most 1, the matched ones at least
/// e^−epsilon. The result is the same from run to run, for any number of threads.
///
/// Cost: O(entries of the rows that bid) a round; 8 bytes an entry and 68 a row, and on the host as much as
/// `match_exact` where paths are needed.
///
/// @param matrix square, in the execution space's memory, rows sorted or not; values finite
/// @param properties  may be null
/// @param tuning for tests and measurements
/// @throws InputError for a matrix that is not square or has more rows than 32 bits count, an epsilon that is
/// not above zero, patience or rounds below one; OutOfMemoryError
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
MatchingResult<Ordinal> match_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix,
    const MemoryBudget& budget, const AuctionOptions& options = {}, AuctionStatistics* properties = nullptr,
    const Impl::AuctionTuning& tuning = {});

}  // namespace lutra

#endif
