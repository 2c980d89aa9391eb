/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SUNLINSOL_LUTRA_H
#define SUNLINSOL_LUTRA_H

/* A direct SUNLinearSolver for sparse matrices, for SUNDIALS 6 and 7. docs/plugins.md has an example.
 *
 *   SUNLinearSolver LS = SUNLinSol_Lutra(y, A, sunctx);
 *   CVodeSetLinearSolver(cvode_mem, LS, A);
 */

#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nvector.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lutra_solver;

/* A solver for matrices of the shape of A, an SUNMatrix_Sparse by rows or columns, and vectors like y:
 * serial, OpenMP or Pthreads. NULL if A is not sparse and square, y has another length or type, or memory is
 * exhausted; SUNLinSol_LutraMessage(NULL) has the reason.
 *
 * SUNLinSolSetup analyses the pattern of A when it is new and refactorizes when only values are.
 *
 * Return values of setup and solve, which SUNLinSolLastFlag repeats:
 *   0: success. Of a solve, the backward error was computed and is within the tolerance.
 *   SUNLS_LUFACT_FAIL, > 0 and recoverable: A is singular.
 *   SUNLS_PACKAGE_FAIL_REC, > 0 and recoverable: NaN or infinity in A or b, or x is not accurate.
 *   SUNLS_ILL_INPUT, < 0: A or a vector is of another type or size, or A has an entry twice or outside.
 *   SUNLS_MEM_FAIL, < 0: memory is exhausted, or the memory limit exceeded.
 *   SUNLS_PACKAGE_FAIL_UNREC, < 0: any other failure.
 * SUNDIALS 7 calls the last three SUN_ERR_ARG_CORRUPT, SUN_ERR_MEM_FAIL and SUN_ERR_EXT_FAIL. */
SUNDIALS_EXPORT SUNLinearSolver SUNLinSol_Lutra(N_Vector y, SUNMatrix A, SUNContext sunctx);

/* Sets an option of sparse LU, as lutra_set_option ("ordering", "amd"). It takes effect with the next setup,
 * which analyses anew. Returns 0, or as setup. */
SUNDIALS_EXPORT int SUNLinSol_LutraSetOption(SUNLinearSolver S, const char* name, const char* value);

/* The reason for the last return value other than 0, in a sentence. Valid until the next call with S. With
 * NULL: the reason for the last SUNLinSol_Lutra of this thread that returned NULL. */
SUNDIALS_EXPORT const char* SUNLinSol_LutraMessage(SUNLinearSolver S);

/* The solver of Lutra's C interface, lutra.h, for its report. Owned by S. */
SUNDIALS_EXPORT struct lutra_solver* SUNLinSol_LutraHandle(SUNLinearSolver S);

#ifdef __cplusplus
}
#endif

#endif
