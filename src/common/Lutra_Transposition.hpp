// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRANSPOSITION_HPP
#define LUTRA_TRANSPOSITION_HPP

namespace lutra {

/// System to solve with the factors.
enum class Transposition {
  none,        ///< A·X = B
  transposed,  ///< Aᵀ·X = B
  adjoint      ///< Aᴴ·X = B
};

}  // namespace lutra

#endif
