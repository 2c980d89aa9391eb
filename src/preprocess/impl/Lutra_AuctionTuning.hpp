// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AUCTIONTUNING_HPP
#define LUTRA_AUCTIONTUNING_HPP

namespace lutra::Impl {

/// What tests and measurements switch in the auction; not for users. No choice changes a result.
struct AuctionTuning {
  int thin_round = -1;  ///< rounds of up to so many bidders are worked by one team; -1: by execution space
};

}  // namespace lutra::Impl

#endif
