// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTING_HPP
#define LUTRA_PIVOTING_HPP

#include <string_view>

namespace lutra {

/// Numerical pivoting strategies.
enum class Pivoting {
  automatic,         ///< LU: static_perturbed; LDLᵀ: threshold
  none,              ///< LDLᵀ only: the diagonal in order, without a test
  static_perturbed,  ///< the diagonal of the matched and scaled matrix; small pivots are perturbed
  threshold  ///< LU: threshold partial pivoting within fronts, or within a tile of a front (docs/numeric.md);
             ///< LDLᵀ: 1 × 1 and 2 × 2 pivots, delayed to the parent if none passes the test
};

/// Name on the command line.
constexpr std::string_view name_of(Pivoting pivoting) {
  return pivoting == Pivoting::automatic          ? "auto"
         : pivoting == Pivoting::none             ? "none"
         : pivoting == Pivoting::static_perturbed ? "static"
                                                  : "threshold";
}

}  // namespace lutra

#endif
