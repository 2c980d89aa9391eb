/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The header in C99 without extensions, warnings being errors, and a system solved by it. */
#include "lutra.h"
#include "lutra.h" /* guarded? */

int solve_in_c99(double x[2]);

/* [2 1; 0 4] x = (4, 8) */
int solve_in_c99(double x[2]) {
  const int32_t row_map[] = {0, 2, 3}, columns[] = {0, 1, 1};
  const double values[] = {2, 1, 4}, b[] = {4, 8};
  const lutra_matrix A = {2, 2, 3, row_map, columns, values, LUTRA_INT32};
  lutra_solver* solver = NULL;
  int failed = lutra_create(&solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, NULL) != LUTRA_SUCCESS ||
               lutra_analyze(solver, &A) != LUTRA_SUCCESS || lutra_factorize(solver, &A) != LUTRA_SUCCESS ||
               lutra_solve(solver, LUTRA_NONE, 1, b, 2, x, 2) != LUTRA_SUCCESS;
  lutra_destroy(solver);
  return failed;
}
