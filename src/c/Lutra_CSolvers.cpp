// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Instantiate.hpp"
#include "Lutra_TypedSolver.hpp"

namespace lutra::C {

std::unique_ptr<AnySolver> make_solver(const std::string& method, int scalar, int index,
                                       const std::string& backend) {
  const Impl::MethodOptions options(method);
#define LUTRA_TRY_TYPES(Scalar, Space)                                                \
  if (scalar == scalar_of<Scalar> && backend == backend_name<Space>()) {              \
    if (options.is_incomplete())                                                      \
      return std::make_unique<TypedSolver<SparseILU, Scalar, Space>>(options, index); \
    return std::make_unique<TypedSolver<Solver, Scalar, Space>>(options, index);      \
  }
  LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_TRY_TYPES)
#undef LUTRA_TRY_TYPES
  throw NotBuiltError(
      "this Lutra was built without the scalar type or backend asked for (CMake options Lutra_SCALARS, "
      "Lutra_BACKENDS)");
}

}  // namespace lutra::C
