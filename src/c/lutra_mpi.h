/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef LUTRA_MPI_H
#define LUTRA_MPI_H

/* Solvers on several ranks of MPI, for C: LU of a matrix that is distributed by rows. They are handles of
 * lutra.h, whose functions for options, solves and reports take them. docs/c.md has an example.
 *
 *   lutra_solver* solver = NULL;
 *   lutra_rows A = {n, n_rows, nnz, rows, row_map, columns, values, LUTRA_INT32};
 *   lutra_mpi_create(&solver, MPI_COMM_WORLD, LUTRA_F64, LUTRA_INT32, NULL);
 *   if (lutra_mpi_factorize(solver, &A) || lutra_solve(solver, LUTRA_NONE, 1, b, n_rows, x, n_rows))
 *     fprintf(stderr, "%s\n", lutra_message());
 *   lutra_destroy(solver);
 *
 * lutra_mpi_create, lutra_mpi_factorize, lutra_mpi_refactorize, lutra_solve and lutra_destroy are collective:
 * all ranks of the communicator call them, in the same order and with the same options, type, operation and
 * number of right-hand sides. A rank may come as late as it likes. What one rank passes wrongly is an error
 * of the call on all ranks, with one message that names the place; so is a call that is not that of the other
 * ranks. Only a null `solver`, a handle of lutra_create and an invalid communicator are errors of one rank
 * alone. If a rank fails inside a call, all further calls with the solver fail on all ranks.
 *
 * Call between MPI_Init and MPI_Finalize, from the thread that initialized MPI or with MPI_THREAD_SERIALIZED.
 * Arrays are in host memory.
 */

#include <mpi.h>

#include "lutra.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of one rank in compressed form, columns strictly ascending in each row. Each row of the matrix is on
 * one rank; a rank may have any rows, in any order, or none. The arrays are read only during a call. */
typedef struct lutra_rows {
  int64_t n;           /* order of the whole matrix */
  int64_t n_rows, nnz; /* rows and entries of this rank */
  const void* rows;    /* [n_rows] their indices in the whole matrix, from 0; the solver's index type */
  const void* row_map; /* [n_rows + 1] offset of each row in columns and values, from 0; row_map_type */
  const void* columns; /* [nnz] column indices in the whole matrix, from 0; the solver's index type */
  const void* values;  /* [nnz] the solver's scalar type */
  int row_map_type;    /* lutra_index; may differ from the solver's */
} lutra_rows;

/* Creates a solver for one scalar and one index type on the ranks of a communicator, which is duplicated; the
 * index type may differ between ranks. backend: NULL or "auto" for host threads, "serial", "openmp", or
 * "cuda" for the ranks' devices. *solver is NULL after an error. */
lutra_status lutra_mpi_create(lutra_solver** solver, MPI_Comm ranks, int scalar, int index,
                              const char* backend);

/* The same with a communicator of Fortran (mpi or mpif.h). */
lutra_status lutra_mpi_create_f(lutra_solver** solver, MPI_Fint ranks, int scalar, int index,
                                const char* backend);

/* Analyzes and factorizes a matrix; the values are copied. The analysis of a matrix with the same rows and
 * columns is used again. Options set by lutra_set_option take effect; they are those of LUTRA_LU, without
 * "check", "estimate_condition", "factor_precision", "solve_precision", "solve_singular" and "trisolve".
 * After an error that is found once the former factors are freed (a row on two ranks, an unsorted row) there
 * are no factors. */
lutra_status lutra_mpi_factorize(lutra_solver* solver, const lutra_rows* A);

/* Factorizes new values of the matrix of the last lutra_mpi_factorize, without a look at its pattern.
 * values: [nnz] of this rank's entries. */
lutra_status lutra_mpi_refactorize(lutra_solver* solver, int64_t nnz, const void* values);

/* Of lutra.h, these take the solver:
 *
 * lutra_solve: B and X are [n_rows x n_rhs], the elements of this rank's rows in their order, with leading
 * dimensions of at least n_rows.
 * lutra_destroy waits for all ranks, unless a rank has failed or MPI has ended.
 * lutra_set_option, lutra_get_option, lutra_set_permutation, lutra_report_status and the queries of the
 * report wait for no rank. Status and errors are known to all ranks, all else to rank 0 alone.
 *
 * Others return LUTRA_INPUT_ERROR. */

#ifdef __cplusplus
}
#endif

#endif
