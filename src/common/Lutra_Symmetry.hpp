// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRY_HPP
#define LUTRA_SYMMETRY_HPP

namespace lutra {

/// Kind of symmetry; no difference for real scalars.
enum class Symmetry {
  symmetric,  ///< A = Aᵀ
  hermitian   ///< A = Aᴴ
};

/// Triangle of a symmetric matrix that is read.
enum class Triangle {
  lower,  ///< entries on and below the diagonal; the rest is ignored, including NaN and infinity
  upper,  ///< entries on and above the diagonal; the rest is ignored, including NaN and infinity
  both    ///< lower entries, after a comparison with the upper ones
};

}  // namespace lutra

#endif
