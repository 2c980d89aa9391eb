// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTPLUGIN_HPP
#define LUTRA_TESTPLUGIN_HPP

#include "lutra.h"

/// The plug-ins of these tests: a solver for the tridiagonal matrix with the diagonal d, and -1 beside it.
extern "C" {

/// Makes a solver and analyses the matrix of n rows. Null if that fails.
lutra_solver* test_plugin_open(int n);
/// Factorizes, solves for b = 1, 2, …, n and recomputes the componentwise backward error.
int test_plugin_solve(lutra_solver* solver, int n, double diagonal, double* backward_error);
void test_plugin_close(lutra_solver* solver);
const char* test_plugin_message();
int test_plugin_finalize();
}

#endif
