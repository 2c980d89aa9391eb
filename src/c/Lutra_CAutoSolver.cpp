// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Solver.hpp"
#include "Lutra_TypedSolver.hpp"

namespace lutra::C {

std::unique_ptr<AnySolver> make_auto(int scalar, int index, const std::string& backend) {
  return make_typed<Solver, SolverOptions>(scalar, index, backend);
}

}  // namespace lutra::C
