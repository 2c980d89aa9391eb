// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGULARSOLVEIMPLINSTANTIATE_HPP
#define LUTRA_TRIANGULARSOLVEIMPLINSTANTIATE_HPP

#include "Lutra_Instantiate.hpp"

#define LUTRA_TRIANGULAR_SOLVE_IMPL(Scalar, Ordinal, Offset, Space) \
  template class TriangularSolveImpl<Scalar, Ordinal, Offset, Space>;

/// TriangularSolveImpl of one scalar with all ordinals on every execution space.
#define LUTRA_INSTANTIATE_TRIANGULAR_SOLVE(Scalar)                                             \
  LUTRA_IF_INT32(LUTRA_FOR_EACH_SPACE(LUTRA_TRIANGULAR_SOLVE_IMPL, Scalar, int, std::int64_t)) \
  LUTRA_IF_INT64(LUTRA_FOR_EACH_SPACE(LUTRA_TRIANGULAR_SOLVE_IMPL, Scalar, std::int64_t, std::int64_t))

#endif
