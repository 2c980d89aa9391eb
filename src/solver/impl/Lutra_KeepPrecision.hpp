// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KEEPPRECISION_HPP
#define LUTRA_KEEPPRECISION_HPP

#include "Lutra_Factorization.hpp"

namespace lutra::Impl {

/// Raises a new factorization to the working precision of the former one: factors in single precision cannot
/// tell what led there, such as a singular matrix.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
void keep_precision(const ExecutionSpace& exec, const Factorization<Scalar, ExecutionSpace>& former,
                    Factorization<Scalar, ExecutionSpace>& made) {
  if (!former.has_single_precision() && made.has_single_precision()) made.raise_precision(exec);
}

}  // namespace lutra::Impl

#endif
