// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNOPTIONS_HPP
#define LUTRA_COLUMNOPTIONS_HPP

namespace lutra {

/// Whether the right-looking factorization works by supernodes of type T3 (Lutra_SupernodalLu.hpp).
enum class ColumnSupernodes {
  off,
  on,        ///< on every execution space, hosts included
  automatic  ///< on, if the factorization performs enough flops per entry of L + U for blocks to pay
};

/// Options of the right-looking factorization.
struct ColumnOptions {
  ColumnSupernodes supernodes = ColumnSupernodes::off;
  int supernode_size = 32;  ///< maximum number of columns of a supernode
  /// maximum fraction of zeros in what a supernode stores
  double supernode_zeros = 0.25;

  bool operator==(const ColumnOptions&) const = default;
};

}  // namespace lutra

#endif
