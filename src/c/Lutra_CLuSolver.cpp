// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseLU.hpp"
#include "Lutra_TypedSolver.hpp"

namespace lutra::C {

std::unique_ptr<AnySolver> make_lu(int scalar, int index, const std::string& backend) {
  return make_typed<SparseLU, LuOptions>(scalar, index, backend);
}

}  // namespace lutra::C
