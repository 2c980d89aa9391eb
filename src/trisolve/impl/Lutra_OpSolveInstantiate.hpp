// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OPSOLVEINSTANTIATE_HPP
#define LUTRA_OPSOLVEINSTANTIATE_HPP

#include "Lutra_Instantiate.hpp"

#define LUTRA_OP_SOLVE(Scalar, Ordinal, Offset, Space) template class OpSolve<Scalar, Ordinal, Offset, Space>;

/// OpSolve of one scalar with both ordinals on every execution space.
#define LUTRA_INSTANTIATE_OP_SOLVE(Scalar)                        \
  LUTRA_FOR_EACH_SPACE(LUTRA_OP_SOLVE, Scalar, int, std::int64_t) \
  LUTRA_FOR_EACH_SPACE(LUTRA_OP_SOLVE, Scalar, std::int64_t, std::int64_t)

#endif
