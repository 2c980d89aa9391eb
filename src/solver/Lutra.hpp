// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HPP
#define LUTRA_HPP

// Includes what most programs need: the solvers, matrices of Kokkos Kernels, matrix files, and the version.
// The stages of a solver have headers of their own.

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_Solver.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TriangularSolver.hpp"

#endif
