// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGULARSOLVEIMPLINSTANTIATE_HPP
#define LUTRA_TRIANGULARSOLVEIMPLINSTANTIATE_HPP

#include "Lutra_Instantiate.hpp"

#define LUTRA_ANALYSE_TRIANGLE(Scalar, Ordinal, Offset, Space)    \
  template std::unique_ptr<TriangleEngine<Scalar, Offset, Space>> \
  analyse_triangle<Scalar, Ordinal, Offset, Space>(               \
      const Space&, const TriangleInput<Ordinal, Offset, Space>&, const MemoryBudget&, const TimeoutFlag&);

/// analyse_triangle of one scalar with all ordinals on every execution space.
#define LUTRA_INSTANTIATE_TRIANGULAR_SOLVE(Scalar)                                        \
  LUTRA_IF_INT32(LUTRA_FOR_EACH_SPACE(LUTRA_ANALYSE_TRIANGLE, Scalar, int, std::int64_t)) \
  LUTRA_IF_INT64(LUTRA_FOR_EACH_SPACE(LUTRA_ANALYSE_TRIANGLE, Scalar, std::int64_t, std::int64_t))

#endif
