// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TypedSolver.hpp"

namespace lutra::C {

std::unique_ptr<AnySolver> make_ldlt(int scalar, int index, const std::string& backend) {
  return make_typed<SparseLDLT, LdltOptions>(scalar, index, backend);
}

}  // namespace lutra::C
