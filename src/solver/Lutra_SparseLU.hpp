// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSELU_HPP
#define LUTRA_SPARSELU_HPP

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_DirectSolver.hpp"

namespace lutra {

/// Direct solver for square sparse systems by LU factorization, with static pivoting or with threshold
/// pivoting within fronts.
///
/// Call analyze once per pattern, factorize once per set of values, and solve as often as needed. The library
/// contains instantiations for float, double and their complex types, for int and int64_t ordinals, int64_t
/// offsets, and each enabled Kokkos execution space. Numerical failures set `report().status`; usage errors
/// throw exceptions. To factorize several matrices of one pattern at the same time, see `analysis()`.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseLU : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                 public DirectSolver<Scalar, ExecutionSpace, LuOptions> {
 public:
  using DirectSolver<Scalar, ExecutionSpace, LuOptions>::DirectSolver;
};

}  // namespace lutra

#endif
