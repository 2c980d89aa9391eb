// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TriangleAnalysis.hpp"

namespace lutra::Impl {

LUTRA_INSTANTIATE_TRIANGULAR_SOLVE(float)

}  // namespace lutra::Impl
