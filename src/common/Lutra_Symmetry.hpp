// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRY_HPP
#define LUTRA_SYMMETRY_HPP

namespace lutra {

/// What the other triangle of a matrix is. The same for real scalars.
enum class Symmetry {
  symmetric,  ///< A = Aᵀ
  hermitian   ///< A = Aᴴ
};

}  // namespace lutra

#endif
