// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTING_HPP
#define LUTRA_PIVOTING_HPP

#include <string_view>

namespace lutra {

/// Which rows pivots are taken from while the numbers are computed.
enum class Pivoting {
  automatic,     ///< diagonal
  diagonal,      ///< their own: matching and scaling have brought large entries there
  within_fronts  ///< threshold pivoting among the pivots of a front, or of one of its tiles (docs/numeric.md)
};

/// The name the command line uses.
constexpr std::string_view name_of(Pivoting pivoting) {
  return pivoting == Pivoting::automatic ? "auto" : pivoting == Pivoting::diagonal ? "static" : "threshold";
}

}  // namespace lutra

#endif
