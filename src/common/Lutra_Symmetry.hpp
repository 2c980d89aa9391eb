// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRY_HPP
#define LUTRA_SYMMETRY_HPP

namespace lutra {

/// What the other triangle of a matrix is. The same for real scalars.
enum class Symmetry {
  symmetric,  ///< A = Aᵀ
  hermitian   ///< A = Aᴴ
};

/// Which entries of a symmetric matrix are read.
enum class Triangle {
  lower,  ///< those on and below the diagonal; what is above it is ignored, NaN and infinity included
  upper,  ///< those on and above the diagonal; what is below it is ignored, NaN and infinity included
  both    ///< the lower ones, after a comparison with the upper ones
};

}  // namespace lutra

#endif
