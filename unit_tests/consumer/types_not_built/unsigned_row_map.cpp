// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Lutra.hpp>

using Memory = Kokkos::DefaultExecutionSpace::memory_space;

void analyze(lutra::SparseLU<double>& solver, const lutra::CsrView<double, int, unsigned, Memory>& A) {
  solver.analyze(A);
}
