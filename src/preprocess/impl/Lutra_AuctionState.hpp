// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTIONSTATE_HPP
#define LUTRA_AUCTIONSTATE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_CsrView.hpp"

namespace lutra::Impl {

/// Where an auction stands. Rounds read one copy and write the other.
struct AuctionProgress {
  std::int64_t fewest = 0;  ///< bidders there were in the best round so far
  int list = 0;             ///< which of the two lists holds the bidders
  int idle = 0;             ///< rounds since the number of bidders fell
  int rounds = 0;
  int stopped = 0;  ///< whether the phase is over
};

/// Rows that bid, and both copies of the progress: what the host looks at between rounds.
struct AuctionBoard {
  std::int64_t bidders[2] = {0, 0};  ///< in each list
  AuctionProgress progress[2];
};

/// When a phase ends.
struct AuctionRule {
  int patience = 0;    ///< rounds without fewer bidders
  int max_rounds = 0;  ///< in a phase
};

/// The progress after a round with so many bidders; stopped: there is to be no such round.
KOKKOS_INLINE_FUNCTION AuctionProgress advance(AuctionProgress progress, std::int64_t bidders,
                                               const AuctionRule& rule) {
  if (progress.stopped != 0) return progress;
  const bool fewer = progress.rounds == 0 || bidders < progress.fewest;
  progress.idle = fewer ? 0 : progress.idle + 1;
  progress.fewest = fewer ? bidders : progress.fewest;
  if (bidders == 0 || progress.idle >= rule.patience || progress.rounds >= rule.max_rounds) {
    progress.stopped = 1;
  } else {
    ++progress.rounds;
    progress.list = 1 - progress.list;
  }
  return progress;
}

/// What rounds of an auction read and write.
template <class Ordinal, class Offset, class MemorySpace>
struct AuctionState {
  CsrPattern<Ordinal, Offset, MemorySpace> A;
  Kokkos::View<const double*, MemorySpace> cost;       ///< [nnz] at least 0; infinity for a zero
  Kokkos::View<double*, MemorySpace> price;            ///< [n] of each column: minus its dual
  Kokkos::View<std::uint64_t*, MemorySpace> best_bid;  ///< [n] for each column in this round; 0: none
  Kokkos::View<Ordinal*, MemorySpace> row_of_column;   ///< [n] -1: none
  Kokkos::View<Offset*, MemorySpace> entry_of_row;     ///< [n] position of its matched entry; -1: none
  Kokkos::View<Offset*, MemorySpace> wanted;           ///< [n] position of the entry a row bids for; -1: none
  Kokkos::View<Ordinal*, MemorySpace> list[2];         ///< [n] rows that bid
  Kokkos::View<AuctionBoard, MemorySpace> board;
  double epsilon = 0;
  bool may_be_long = true;  ///< whether there are rows that take a whole team
};

/// A bid in 64 bits, such that the greatest is that of the greatest rise, among equal ones that of the first
/// row. The rise is rounded down to float: a lower bid leaves the row as near to its best choice.
KOKKOS_INLINE_FUNCTION std::uint64_t pack_bid(double rise, std::uint32_t row) {
  float rounded = static_cast<float>(rise);
  std::uint32_t bits = Kokkos::bit_cast<std::uint32_t>(rounded);
  if (static_cast<double>(rounded) > rise) --bits;
  return (static_cast<std::uint64_t>(bits) << 32) | (0xffffffffU - row);
}

KOKKOS_INLINE_FUNCTION double rise_of(std::uint64_t bid) {
  return static_cast<double>(Kokkos::bit_cast<float>(static_cast<std::uint32_t>(bid >> 32)));
}

KOKKOS_INLINE_FUNCTION std::uint32_t row_of(std::uint64_t bid) {
  return 0xffffffffU - static_cast<std::uint32_t>(bid & 0xffffffffU);
}

}  // namespace lutra::Impl

#endif
