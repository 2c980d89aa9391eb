// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTOUTCOME_HPP
#define LUTRA_FRONTOUTCOME_HPP

#include <cstdint>

namespace lutra {

/// What the outcomes of multifrontal LU and LDLᵀ share. Kept in memory of the execution space during a
/// factorization.
struct FrontOutcome {
  double largest_entry = 0;  ///< max |entry of the scaled matrix|
  /// LU: max |entry of L\U|; LDLᵀ: max |entry of D|, since L is bounded by 1/u. Infinity where one is not
  /// finite
  double largest_factor = 0;
  std::int64_t perturbed = 0;  ///< pivots raised to the threshold
  int stopped_front = -1;      ///< front at which the watchdog timed out, or −1
};

}  // namespace lutra

#endif
