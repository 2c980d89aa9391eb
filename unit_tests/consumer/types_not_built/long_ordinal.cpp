// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Lutra.hpp>

lutra::TriangularSolver<double, std::int64_t> solver;
