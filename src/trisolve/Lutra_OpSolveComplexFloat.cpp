// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_OpSolveDefinitions.hpp"
#include "Lutra_OpSolveInstantiate.hpp"

namespace lutra::Impl {

LUTRA_INSTANTIATE_OP_SOLVE(Kokkos::complex<float>)

}  // namespace lutra::Impl
