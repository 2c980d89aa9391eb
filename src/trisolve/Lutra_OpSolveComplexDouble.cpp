// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Instantiate.hpp"
#include "Lutra_OpSolveDefinitions.hpp"

namespace lutra::Impl {

#define LUTRA_OP_SOLVE(Scalar, Ordinal, Offset, Space) template class OpSolve<Scalar, Ordinal, Offset, Space>;
LUTRA_FOR_EACH_SPACE(LUTRA_OP_SOLVE, Kokkos::complex<double>, int, std::int64_t)
LUTRA_FOR_EACH_SPACE(LUTRA_OP_SOLVE, Kokkos::complex<double>, std::int64_t, std::int64_t)

}  // namespace lutra::Impl
