// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTING_HPP
#define LUTRA_PIVOTING_HPP

#include <string_view>

namespace lutra {

/// Which rows pivots are taken from while values are computed.
enum class Pivoting {
  automatic,         ///< LU: static_perturbed; LDLᵀ: threshold
  none,              ///< LDLᵀ alone: the diagonal in its order, whatever its size
  static_perturbed,  ///< the diagonal of the matched and scaled matrix; pivots that are too small are
                     ///< perturbed
  threshold  ///< LU: threshold partial pivoting within fronts, or within a tile of a front (docs/numeric.md);
             ///< LDLᵀ: pivots of one or two rows, delayed to the parent where none passes the test
};

/// The name the command line uses.
constexpr std::string_view name_of(Pivoting pivoting) {
  return pivoting == Pivoting::automatic          ? "auto"
         : pivoting == Pivoting::none             ? "none"
         : pivoting == Pivoting::static_perturbed ? "static"
                                                  : "threshold";
}

}  // namespace lutra

#endif
