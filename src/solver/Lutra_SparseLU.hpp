// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSELU_HPP
#define LUTRA_SPARSELU_HPP

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_DirectSolver.hpp"

namespace lutra {

/// Direct solver for square sparse systems by LU, with static pivoting or threshold pivoting within fronts.
///
/// analyze once per pattern, factorize once per set of values, solve as often as wanted. Compiled into the
/// library for float, double and complex of both, int and int64_t ordinals, int64_t offsets, and each
/// execution space of Kokkos. Numerical events end in `report().status`, mistakes of the caller in
/// exceptions. Several matrices of one pattern at a time: see `analysis()`.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseLU : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                 public DirectSolver<Scalar, ExecutionSpace, LuOptions> {
 public:
  using DirectSolver<Scalar, ExecutionSpace, LuOptions>::DirectSolver;
};

}  // namespace lutra

#endif
