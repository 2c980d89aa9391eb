// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseILU.hpp"
#include "Lutra_TypedSolver.hpp"

namespace lutra::C {

std::unique_ptr<AnySolver> make_ilu(int scalar, int index, const std::string& backend) {
  return make_typed<SparseILU, SparseIluOptions>(scalar, index, backend);
}

}  // namespace lutra::C
