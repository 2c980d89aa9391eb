// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTIONSTATE_HPP
#define LUTRA_AUCTIONSTATE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_CsrView.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra::Impl {

/// Progress of a phase, double-buffered: a round reads one copy and writes the other.
struct AuctionProgress {
  std::int64_t fewest = 0;  ///< minimum number of bidders over all rounds so far
  int list = 0;             ///< index of the list that holds the bidders
  int idle = 0;             ///< rounds since the number of bidders last decreased
  int rounds = 0;
  int stopped = 0;  ///< nonzero once the phase is over
};

/// Numbers of bidders and both copies of the progress; the host reads it between rounds.
struct AuctionBoard {
  std::int64_t bidders[2] = {0, 0};  ///< length of each list
  AuctionProgress progress[2];
};

/// Termination rule of a phase.
struct AuctionRule {
  int patience = 0;         ///< rounds without a decrease in the number of bidders
  int max_rounds = 0;       ///< per phase
  std::int64_t enough = 0;  ///< after `patience` rounds, a phase also ends with at most this many bidders
  RunControl::Query query{};
};

/// Progress after another round with `bidders` bidders; stopped if the phase ends instead.
KOKKOS_INLINE_FUNCTION AuctionProgress advance(AuctionProgress progress, std::int64_t bidders,
                                               const AuctionRule& rule) {
  if (progress.stopped != 0) return progress;
  const bool fewer = progress.rounds == 0 || bidders < progress.fewest;
  progress.idle = fewer ? 0 : progress.idle + 1;
  progress.fewest = fewer ? bidders : progress.fewest;
  if (bidders == 0 || progress.idle >= rule.patience || progress.rounds >= rule.max_rounds ||
      (bidders <= rule.enough && progress.rounds >= rule.patience)) {
    progress.stopped = 1;
  } else {
    ++progress.rounds;
    progress.list = 1 - progress.list;
  }
  return progress;
}

/// Arrays of an auction.
template <class MemorySpace>
struct AuctionState {
  CsrPattern<Ordinal, Offset, MemorySpace> A;
  Kokkos::View<const double*, MemorySpace> cost;       ///< [nnz] nonnegative; infinity for a zero
  Kokkos::View<double*, MemorySpace> price;            ///< [n] price of each column: minus its dual variable
  Kokkos::View<std::uint64_t*, MemorySpace> best_bid;  ///< [n] best bid for each column in this round; 0:
                                                       ///< none
  Kokkos::View<Ordinal*, MemorySpace> row_of_column;   ///< [n] row matched to each column; −1: none
  Kokkos::View<Offset*, MemorySpace> entry_of_row;  ///< [n] position of each row's matched entry; −1: none
  Kokkos::View<Offset*, MemorySpace> wanted;    ///< [n] position of the entry each row bids for; −1: none
  Kokkos::View<Ordinal*, MemorySpace> list[2];  ///< [n] bidding rows of this round and of the next
  Kokkos::View<AuctionBoard, MemorySpace> board;
  double epsilon = 0;
};

/// Packs a bid into 64 bits, so that an atomic maximum selects the greatest rise, and the first row among
/// equal ones. The rise is rounded down to float: a lower bid keeps the row within epsilon of its cheapest
/// column.
///
///     63 … 32: rise as float (positive floats order as integers)    31 … 0: 2³² − 1 − row
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
