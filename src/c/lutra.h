/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef LUTRA_H
#define LUTRA_H

/* Lutra from C, and from every language that can call C. docs/c.md explains it with examples.
 *
 *   lutra_solver* solver = NULL;
 *   lutra_matrix A = {n, n, nnz, row_map, columns, values, LUTRA_INT32};
 *   lutra_create(&solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, NULL);
 *   if (lutra_analyze(solver, &A) || lutra_factorize(solver, &A) ||
 *       lutra_solve(solver, LUTRA_NONE, 1, b, n, x, n))
 *     fprintf(stderr, "%s\n", lutra_message());
 *   lutra_destroy(solver);
 *
 * Functions return a lutra_status: zero for success, a positive number where the call was carried out and the
 * numbers went wrong, a negative one where it was not carried out and, unless said otherwise, nothing has
 * changed. lutra_message() then says why; rows and columns in it count from 0. No function ends the process,
 * prints, or lets a C++ exception out.
 *
 * A solver belongs to one thread at a time. Different solvers may be used by different threads.
 *
 * Pointers to arrays are trusted: an array that is shorter than is said here is undefined behaviour, as in
 * all of C. Their contents are not: a matrix is checked before it is used.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call has come to. New values may be added. */
typedef enum lutra_status {
  LUTRA_SUCCESS = 0,

  /* The call was carried out. */
  LUTRA_NOT_SOLVED = 1,            /* of lutra_report_status: no solve since the last factorization */
  LUTRA_STRUCTURALLY_SINGULAR = 2, /* the pattern has no perfect matching of rows and columns */
  LUTRA_NUMERICALLY_SINGULAR = 3,  /* singular to working precision */
  LUTRA_NOT_POSITIVE_DEFINITE = 4, /* Cholesky met a pivot that is not positive */
  LUTRA_ERROR_ABOVE_TOLERANCE = 5, /* X is there, its backward error is above the tolerance */
  LUTRA_BREAKDOWN = 6,             /* factors or X hold NaN or infinity, or a Krylov method cannot go on */
  LUTRA_NOT_CONVERGED = 7,         /* X is the last iterate of a Krylov method */
  LUTRA_NO_VALUE = 8,              /* the report has no value of this name at present */

  /* The call was not carried out. */
  LUTRA_INPUT_ERROR = -1,      /* an argument is wrong: the message names it, with row and column */
  LUTRA_CALL_ORDER_ERROR = -2, /* as lutra_solve before lutra_factorize */
  LUTRA_OUT_OF_MEMORY = -3, /* or above the limit set. Of factorize and solve: no factors, X is undefined */
  LUTRA_TIMEOUT = -4,       /* work on a device was given up: no factors, X is undefined */
  LUTRA_NOT_BUILT = -5,     /* this library was built without the type or backend */
  LUTRA_INTERNAL_ERROR = -6 /* a defect of Lutra or of the machine */
} lutra_status;

/* What a solver does. Options of each have the names of the C++ fields: */
typedef enum lutra_method {
  LUTRA_LU = 0,       /* sparse LU: lutra::LuOptions */
  LUTRA_LDLT = 1,     /* symmetric and Hermitian matrices: lutra::LdltOptions */
  LUTRA_CHOLESKY = 2, /* LUTRA_LDLT with positive_definite, complex matrices Hermitian */
  LUTRA_ILU = 3,      /* incomplete LU, to be applied by lutra_apply: lutra::SparseIluOptions */
  LUTRA_KRYLOV = 4    /* GMRES, BiCGStab, CG, preconditioned: lutra::KrylovSolverOptions */
} lutra_method;

/* Values: float, double, and complex of both (real part first: float _Complex, double _Complex). */
typedef enum lutra_scalar { LUTRA_F32 = 0, LUTRA_F64 = 1, LUTRA_C64 = 2, LUTRA_C128 = 3 } lutra_scalar;

/* Integers: int32_t and int64_t. A size_t of 64 bits counts as the latter. */
typedef enum lutra_index { LUTRA_INT32 = 0, LUTRA_INT64 = 1 } lutra_index;

/* Which system is solved: A x = b, A^T x = b, A^H x = b. */
typedef enum lutra_operation { LUTRA_NONE = 0, LUTRA_TRANSPOSED = 1, LUTRA_ADJOINT = 2 } lutra_operation;

/* Factors of L D L^T, to be added up. */
typedef enum lutra_parts { LUTRA_LOWER = 1, LUTRA_DIAGONAL = 2, LUTRA_UPPER = 4 } lutra_parts;

/* Where arrays are: in host memory, or in memory the solver's backend reaches (with CUDA or HIP that of the
 * device, pinned and managed memory; with host backends the same as LUTRA_HOST). */
typedef enum lutra_memory { LUTRA_HOST = 0, LUTRA_DEVICE = 1 } lutra_memory;

/* A matrix by compressed rows: columns ascending in each row, none twice. It is read during a call only. A
 * matrix by compressed columns is the transposed one: solve with LUTRA_TRANSPOSED for LUTRA_NONE. */
typedef struct lutra_matrix {
  int64_t n_rows, n_cols, nnz;
  const void* row_map; /* [n_rows + 1] where each row starts in columns and values, from 0; of row_map_type */
  const void* columns; /* [nnz] from 0; of the solver's index type */
  const void* values;  /* [nnz] of the solver's scalar type */
  int row_map_type;    /* a lutra_index, need not be the solver's */
} lutra_matrix;

typedef struct lutra_solver lutra_solver;

/* Where a function takes one of these enumerations, its parameter is an int: any number may come, and is
 * checked. */

/* ---- the library ---- */

/* Starts Kokkos with a number of host threads (0: as many as Kokkos takes by default or KOKKOS_NUM_THREADS
 * says) on a device (negative: Kokkos' choice). Does nothing where Kokkos is running, in this program started
 * by Lutra or by others. lutra_create calls lutra_initialize(0, -1) where Kokkos is not running.
 * LUTRA_CALL_ORDER_ERROR after lutra_finalize: Kokkos starts once in a process. */
lutra_status lutra_initialize(int num_threads, int device);

/* Ends Kokkos where Lutra has started it; to be called after the last lutra_destroy, before MPI_Finalize and
 * the end of main. LUTRA_CALL_ORDER_ERROR while there are solvers. */
lutra_status lutra_finalize(void);

/* "0.1.0" of the library that is linked. NULL without memory for the text. */
const char* lutra_version(void);

/* JSON: version, commit, Kokkos, and the backends, scalars and ordinals that were built. Valid until the
 * program ends; NULL without memory for it. */
const char* lutra_version_json(void);

/* Why the last call of this thread that did not return LUTRA_SUCCESS did not, in a sentence. Never NULL; the
 * text changes with the next such call. */
const char* lutra_message(void);

/* "success", "input_error", ...; "unknown" for other numbers. */
const char* lutra_status_name(int status);

/* ---- a solver ---- */

/* A solver for one scalar and one index type. backend: "serial", "openmp", "cuda", "hip"; NULL or "auto" for
 * the default one of Kokkos. *solver is NULL after an error. */
lutra_status lutra_create(lutra_solver** solver, int method, int scalar, int index, const char* backend);

/* Frees a solver and all it holds. NULL is allowed. */
void lutra_destroy(lutra_solver* solver);

/* Sets an option from its text: a word ("metis"), "true" or "false", or a number ("1e-8"). Errors list the
 * names or values there are. A Krylov solver has its preconditioners' as "ilu.fill_level", "lu.ordering", ...
 * Options take effect with the next lutra_analyze, which refuses combinations that make no sense. */
lutra_status lutra_set_option(lutra_solver* solver, const char* name, const char* value);

/* The value an option has, as lutra_set_option takes it. Valid until the next call with this solver. */
lutra_status lutra_get_option(lutra_solver* solver, const char* name, const char** value);

/* An elimination order: columns (of a symmetric matrix rows), from 0; [n] in host memory, copied. Takes
 * effect with the next lutra_analyze; n = 0 goes back to an ordering of the library's. */
lutra_status lutra_set_permutation(lutra_solver* solver, int64_t n, const int64_t* permutation);

/* Where the arrays of the calls that follow are. LUTRA_HOST until this is called. */
lutra_status lutra_set_memory(lutra_solver* solver, int memory);

/* The stream (cudaStream_t, hipStream_t) that work goes to; takes effect with the next lutra_analyze. NULL:
 * Kokkos' own. The stream must live as long as the solver. Host backends have none. */
lutra_status lutra_set_stream(lutra_solver* solver, void* stream);

/* Ordering, pattern of the factors and what else depends on the pattern; matching and scaling look at the
 * values. A former analysis and its factors go when the new one is complete. Returns
 * LUTRA_STRUCTURALLY_SINGULAR where no factorization is possible. */
lutra_status lutra_analyze(lutra_solver* solver, const lutra_matrix* A);

/* Factors of a matrix with the pattern of the analysis and any values; of a Krylov solver its preconditioner.
 * The values are copied. */
lutra_status lutra_factorize(lutra_solver* solver, const lutra_matrix* A);

/* The same for A + diag(shift): LUTRA_LDLT and LUTRA_CHOLESKY alone. shift: [n] real numbers of the scalar's
 * precision, where A is. With a device the arrays have to be there (lutra_set_memory). */
lutra_status lutra_factorize_shifted(lutra_solver* solver, const lutra_matrix* A, const void* shift);

/* Solves op(A) X = B for n_rhs right-hand sides, refines, and computes how good X is.
 * B, X: n_rhs columns of n values of the solver's scalar type, the first ones ldb and ldx (at least n) values
 * apart. X may be B. X is complete when the call returns. LUTRA_SUCCESS: the componentwise backward error, of
 * a Krylov method the relative residual, was computed and is within the tolerance. */
lutra_status lutra_solve(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx);

/* X = op(L U)^-1 B with the factors of LUTRA_ILU, otherwise as lutra_solve. With LUTRA_DEVICE the result is
 * complete when the stream has come to it. */
lutra_status lutra_apply(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx);

/* Solves with some of the factors of LUTRA_LDLT or LUTRA_CHOLESKY: parts is a sum of lutra_parts; one after
 * another LUTRA_LOWER, LUTRA_DIAGONAL and LUTRA_UPPER solve op(A) X = B (lutra::LdltNumeric::solve_parts).
 * Nothing is refined or checked. Otherwise as lutra_solve; with a device the arrays have to be there. */
lutra_status lutra_solve_parts(lutra_solver* solver, int parts, int op, int64_t n_rhs, const void* B,
                               int64_t ldb, void* X, int64_t ldx);

/* The determinant of the matrix last factorized by LUTRA_LDLT or LUTRA_CHOLESKY: *sign, of the solver's
 * scalar type, of magnitude 1 or 0 for a singular matrix, and the natural logarithm of its magnitude. */
lutra_status lutra_determinant(lutra_solver* solver, void* sign, double* log_magnitude);

/* Raises the pivot threshold u of LUTRA_LDLT to u^0.75, at most to 1/2, for factorizations from here on: more
 * accurate factors, more delayed pivots. *raised is 0 where there is nothing to raise. */
lutra_status lutra_increase_quality(lutra_solver* solver, int* raised);

/* ---- the report ---- */

/* The status after the last analyze, factorize and solve. LUTRA_NOT_SOLVED before all of them. */
lutra_status lutra_report_status(const lutra_solver* solver);

/* Numbers and texts of the report by the keys of its JSON (docs/json.md), with dots between:
 * "inertia.negative", "pivots.perturbed", "iterations", "errors.backward_componentwise", "choice.engine".
 * LUTRA_NO_VALUE where it is null at present; *value is as before then. */
lutra_status lutra_get_integer(lutra_solver* solver, const char* key, int64_t* value);
lutra_status lutra_get_number(lutra_solver* solver, const char* key, double* value);
lutra_status lutra_get_text(lutra_solver* solver, const char* key, const char** value);

/* "singular_rows", "singular_columns" (from 0), and "indefinite_column" of Cholesky as a list of one. *values
 * and all other pointers of this section are valid until the next call with this solver but for these. */
lutra_status lutra_get_integers(lutra_solver* solver, const char* key, const int64_t** values, size_t* count);

/* "residual_history" */
lutra_status lutra_get_numbers(lutra_solver* solver, const char* key, const double** values, size_t* count);

/* The whole report as JSON. */
lutra_status lutra_report_json(lutra_solver* solver, const char** json);

#ifdef __cplusplus
}
#endif

#endif
