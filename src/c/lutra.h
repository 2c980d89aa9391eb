/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef LUTRA_H
#define LUTRA_H

/* C interface of Lutra, for C and for every language that can call C. docs/c.md explains it with examples.
 *
 *   lutra_solver* solver = NULL;
 *   lutra_matrix A = {n, n, nnz, row_map, columns, values, LUTRA_INT32};
 *   lutra_create(&solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, NULL);
 *   if (lutra_analyze(solver, &A) || lutra_factorize(solver, &A) ||
 *       lutra_solve(solver, LUTRA_NONE, 1, b, n, x, n))
 *     fprintf(stderr, "%s\n", lutra_message());
 *   lutra_destroy(solver);
 *
 * Functions return a lutra_status. Zero is success. A positive status reports a numerical event in a call
 * that completed. A negative status reports an error: the call failed and, unless stated otherwise, changed
 * nothing. lutra_message() gives the reason; its rows and columns count from 0. No function ends the process,
 * prints, or throws a C++ exception.
 *
 * One thread at a time may use a solver. Different threads may use different solvers concurrently.
 *
 * The length of an array is trusted: an array shorter than documented here is undefined behaviour. The
 * contents of a matrix are not trusted: they are checked before use.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Outcome of a call. Later versions may add values. */
typedef enum lutra_status {
  LUTRA_SUCCESS = 0,

  /* The call completed. */
  LUTRA_NOT_SOLVED = 1,            /* from lutra_report_status: no solve since the last factorization */
  LUTRA_STRUCTURALLY_SINGULAR = 2, /* the pattern has no perfect matching of rows and columns */
  LUTRA_NUMERICALLY_SINGULAR = 3,  /* singular to working precision */
  LUTRA_NOT_POSITIVE_DEFINITE = 4, /* Cholesky found a pivot that is not positive */
  LUTRA_ERROR_ABOVE_TOLERANCE = 5, /* X was computed; its backward error is above the tolerance */
  LUTRA_BREAKDOWN = 6,             /* NaN or infinity in factors or X, or a Krylov method broke down */
  LUTRA_NOT_CONVERGED = 7,         /* X is the last iterate of a Krylov method */
  LUTRA_NO_VALUE = 8,              /* the report holds no value for this key at present */
  LUTRA_UNCHECKED = 9,             /* X was computed; the option `check` asks for no check */

  /* The call failed. */
  LUTRA_INPUT_ERROR = -1,      /* invalid argument: the message names it, with row and column */
  LUTRA_CALL_ORDER_ERROR = -2, /* for example lutra_solve before lutra_factorize */
  LUTRA_OUT_OF_MEMORY = -3, /* or memory limit exceeded; after factorize and solve: no factors, X undefined */
  LUTRA_TIMEOUT = -4,       /* device work was aborted: no factors, X undefined */
  LUTRA_NOT_BUILT = -5,     /* library built without the type or backend */
  LUTRA_INTERNAL_ERROR = -6, /* defect of Lutra or of the machine */
  LUTRA_CANCELLED =
      -7 /* deadline, stop flag or observer: after factorize and solve no factors, X undefined */
} lutra_status;

/* Methods, each with the C++ struct whose field names are its option names. */
typedef enum lutra_method {
  LUTRA_LU = 0,       /* sparse LU: lutra::LuOptions */
  LUTRA_LDLT = 1,     /* symmetric and Hermitian matrices: lutra::LdltOptions */
  LUTRA_CHOLESKY = 2, /* LUTRA_LDLT with positive_definite, complex matrices Hermitian */
  LUTRA_ILU = 3,      /* incomplete LU, to be applied by lutra_apply: lutra::SparseIluOptions */
  LUTRA_KRYLOV = 4,   /* GMRES, BiCGStab, CG, preconditioned: lutra::KrylovSolverOptions */
  LUTRA_AUTO = 5      /* LU, LDLT or Cholesky, by properties of the matrix: lutra::SolverOptions, such as
                         "tolerance", "lu.engine", "ldlt.triangle"; the report has the method */
} lutra_method;

/* Scalar types: float, double, float _Complex, double _Complex (real part first). */
typedef enum lutra_scalar { LUTRA_F32 = 0, LUTRA_F64 = 1, LUTRA_C64 = 2, LUTRA_C128 = 3 } lutra_scalar;

/* Index types: int32_t and int64_t. Pass LUTRA_INT64 for a 64-bit size_t. */
typedef enum lutra_index { LUTRA_INT32 = 0, LUTRA_INT64 = 1 } lutra_index;

/* op(A) in op(A) x = b: A, A^T, A^H. */
typedef enum lutra_operation { LUTRA_NONE = 0, LUTRA_TRANSPOSED = 1, LUTRA_ADJOINT = 2 } lutra_operation;

/* Factors of L D L^T; add the constants to combine them. */
typedef enum lutra_parts { LUTRA_LOWER = 1, LUTRA_DIAGONAL = 2, LUTRA_UPPER = 4 } lutra_parts;

/* Memory space of arrays: host memory, or memory accessible to the solver's backend. The latter is device,
 * pinned or managed memory with CUDA or HIP, and the same as LUTRA_HOST with host backends. */
typedef enum lutra_memory { LUTRA_HOST = 0, LUTRA_DEVICE = 1 } lutra_memory;

/* Matrix in compressed sparse row format, columns strictly ascending in each row. The arrays are read only
 * during a call. Compressed sparse columns describe the transpose: to solve A x = b with them, use
 * LUTRA_TRANSPOSED. */
typedef struct lutra_matrix {
  int64_t n_rows, n_cols, nnz;
  const void* row_map; /* [n_rows + 1] offset of each row in columns and values, from 0; row_map_type */
  const void* columns; /* [nnz] column indices from 0; the solver's index type */
  const void* values;  /* [nnz] the solver's scalar type */
  int row_map_type;    /* lutra_index; may differ from the solver's */
} lutra_matrix;

typedef struct lutra_solver lutra_solver;

/* Kinds of events of a log. Later versions may add values. */
typedef enum lutra_event_kind {
  LUTRA_CALL_BEGINS = 0,  /* analyze, factorize, solve, ... */
  LUTRA_CALL_ENDS = 1,    /* also by an error */
  LUTRA_STAGE_BEGINS = 2, /* stages may contain stages */
  LUTRA_STAGE_ENDS = 3,   /* also by an error */
  LUTRA_CHOICE = 4,       /* a value that the library or the options have chosen, or a reason for one */
  LUTRA_ESCALATION = 5    /* a step beyond the plain solve: new pivots, another method, GMRES, less memory */
} lutra_event_kind;

/* One event of a running call. Begins and ends are balanced, and the intervals between them nested. */
typedef struct lutra_event {
  int kind;         /* lutra_event_kind */
  const char* name; /* of a call or a stage; what is chosen, or "why" for a reason; "" for an escalation */
  const char* text; /* the value chosen, the reason, or the escalation; otherwise "" */
  double seconds;   /* ends: since the begin; otherwise since the begin of the call */
  int64_t bytes, peak_bytes; /* of stages: held by the solver now, and the most so far; otherwise 0 */
} lutra_event;

/* Called for every event, on the thread that called the solver. It must not call the solver; texts are valid
 * until it returns, and cut off after 500 bytes. */
typedef void (*lutra_log)(void* user, const lutra_event* event);

/* Functions take these enumerations as int and check the value. */

/* ---- the library ---- */

/* Initializes Kokkos with a number of host threads (0: KOKKOS_NUM_THREADS or Kokkos' default) on a device
 * (negative: Kokkos' choice). Does nothing if Kokkos is already running, whoever initialized it. lutra_create
 * calls lutra_initialize(0, -1) if Kokkos is not running. Returns LUTRA_CALL_ORDER_ERROR after
 * lutra_finalize: Kokkos starts only once in a process. */
lutra_status lutra_initialize(int num_threads, int device);

/* Finalizes Kokkos if Lutra initialized it. Call it after the last lutra_destroy, before MPI_Finalize and the
 * end of main. Returns LUTRA_CALL_ORDER_ERROR while solvers exist. */
lutra_status lutra_finalize(void);

/* Version of the linked library, such as "0.2.0". NULL if memory for the text is exhausted. */
const char* lutra_version(void);

/* JSON: version, commit, Kokkos, and the backends, scalars and ordinals built into the library. Valid until
 * the program ends; NULL if memory is exhausted. */
const char* lutra_version_json(void);

/* Reason, in a sentence, for the last status other than LUTRA_SUCCESS in this thread. Never NULL; the next
 * such status overwrites the text. */
const char* lutra_message(void);

/* "success", "input_error", ...; "unknown" for any other number. */
const char* lutra_status_name(int status);

/* ---- a solver ---- */

/* Creates a solver for one scalar and one index type. backend: "serial", "openmp", "cuda", "hip"; NULL or
 * "auto" for Kokkos' default. *solver is NULL after an error. */
lutra_status lutra_create(lutra_solver** solver, int method, int scalar, int index, const char* backend);

/* Frees a solver and everything it owns. NULL is allowed. Does nothing once Kokkos was ended, by whomever:
 * its memory then stays until the process ends. */
void lutra_destroy(lutra_solver* solver);

/* Sets an option from text: a word ("metis"), "true" or "false", or a number ("1e-8"). Error messages list
 * the valid names, values or range. Preconditioner options of a Krylov solver are "ilu.fill_level",
 * "lu.ordering",
 * ... Options take effect with the next lutra_analyze, which rejects inconsistent combinations. */
lutra_status lutra_set_option(lutra_solver* solver, const char* name, const char* value);

/* Current value of an option, in the form lutra_set_option accepts. Valid until the next call with this
 * solver. */
lutra_status lutra_get_option(lutra_solver* solver, const char* name, const char** value);

/* Sets a user permutation: [n] columns (rows of a symmetric matrix) from 0 in elimination order, in host
 * memory; copied. Takes effect with the next lutra_analyze. n = 0 restores the library's ordering. */
lutra_status lutra_set_permutation(lutra_solver* solver, int64_t n, const int64_t* permutation);

/* Sets the memory space (lutra_memory) of the arrays in subsequent calls. Default: LUTRA_HOST. */
lutra_status lutra_set_memory(lutra_solver* solver, int memory);

/* Sets the stream (cudaStream_t, hipStream_t) for device work, from the next lutra_analyze on. NULL: Kokkos'
 * default stream. The stream must outlive the solver. Host backends have no streams. */
lutra_status lutra_set_stream(lutra_solver* solver, void* stream);

/* Sets the function that is told of every event of a call, with the pointer `user`; NULL: none. It changes
 * neither choices nor results. Takes effect with the next lutra_analyze. Solvers of lutra_mpi.h have no log.
 */
lutra_status lutra_set_log(lutra_solver* solver, lutra_log log, void* user);

/* Ends the call that runs with this solver, and all later ones, with LUTRA_CANCELLED until lutra_resume. May
 * be called from any thread and from signal handlers. A call answers within about 0.1 s. The solver then has
 * what it had before; after lutra_factorize it may have no factors, and after lutra_solve X is undefined. The
 * option "deadline" limits the seconds of each call in the same way, from the next call on. */
void lutra_stop(lutra_solver* solver);
void lutra_resume(lutra_solver* solver);

/* Told of the progress of a call at most 20 times a second, on the thread that made it: stage, share of the
 * stage that is done in [0, 1], seconds since the call began. A value other than 0 ends the call as
 * lutra_stop does. Must not call functions of this interface with the same solver. */
typedef int (*lutra_progress)(void* data, const char* stage, double share, double seconds);
/* Sets that function, or none if NULL, from the next lutra_analyze on. */
lutra_status lutra_set_progress(lutra_solver* solver, lutra_progress progress, void* data);

/* Symbolic analysis: ordering, pattern of the factors and all else that depends only on the pattern. Matching
 * and scaling read the values. The previous analysis and its factors are freed once the new one is complete.
 * Returns LUTRA_STRUCTURALLY_SINGULAR if no factorization is possible. */
lutra_status lutra_analyze(lutra_solver* solver, const lutra_matrix* A);

/* Factorizes a matrix with the analysed pattern and any values. A Krylov solver builds its preconditioner.
 * The values are copied. */
lutra_status lutra_factorize(lutra_solver* solver, const lutra_matrix* A);

/* Factorizes A + diag(shift); LUTRA_LDLT and LUTRA_CHOLESKY only. shift: [n] real numbers of the scalar's
 * precision, in the same memory as A. Device backends require device arrays (lutra_set_memory). */
lutra_status lutra_factorize_shifted(lutra_solver* solver, const lutra_matrix* A, const void* shift);

/* Solves op(A) X = B for n_rhs right-hand sides, refines X and computes its error.
 * B, X: [n x n_rhs] by columns, of the solver's scalar type, with leading dimensions ldb and ldx (at least
 * n). X may be B. X is complete when the call returns. LUTRA_SUCCESS: the componentwise backward error (the
 * relative residual of a Krylov method) was computed and is within the tolerance. */
lutra_status lutra_solve(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx);

/* X = op(L U)^-1 B with the factors of LUTRA_ILU. Parameters as in lutra_solve. With LUTRA_DEVICE the call is
 * asynchronous: X is complete once the stream reaches it. */
lutra_status lutra_apply(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx);

/* Solves with some of the factors of LUTRA_LDLT or LUTRA_CHOLESKY. parts is a sum of lutra_parts; successive
 * solves with LUTRA_LOWER, LUTRA_DIAGONAL and LUTRA_UPPER solve op(A) X = B (lutra::Numeric::solve_parts).
 * X is neither refined nor checked. Other parameters as in lutra_solve. Device backends require device
 * arrays. */
lutra_status lutra_solve_parts(lutra_solver* solver, int parts, int op, int64_t n_rhs, const void* B,
                               int64_t ldb, void* X, int64_t ldx);

/* Determinant of the matrix last factorized by LUTRA_LDLT or LUTRA_CHOLESKY. *sign has the solver's scalar
 * type and magnitude 1, or 0 for a singular matrix; *log_magnitude is the natural logarithm of the magnitude.
 */
lutra_status lutra_determinant(lutra_solver* solver, void* sign, double* log_magnitude);

/* Raises the pivot threshold u of LUTRA_LDLT to min(u^0.75, 1/2) for subsequent factorizations: more accurate
 * factors, more delayed pivots. *raised is 0 if the threshold cannot be raised. */
lutra_status lutra_increase_quality(lutra_solver* solver, int* raised);

/* Bytes that a factorization and a solve will hold, known after lutra_analyze; the analysis is included.
 * "Device" is the memory of the backend, on hosts too; "host" the host memory beside it, where factors are
 * streamed. */
typedef struct lutra_memory_forecast {
  uint64_t factors_device, factors_host;             /* values of the factors */
  uint64_t factorization_device, factorization_host; /* peak of the first factorization */
  uint64_t solve_device, solve_host;                 /* peak of a solve after it */
} lutra_memory_forecast;

/* Forecast for solves of n_rhs columns, at least one. Returns LUTRA_NO_VALUE and leaves *forecast unchanged
 * for incomplete factors, Krylov methods, structurally singular matrices and solvers on several ranks. */
lutra_status lutra_forecast(lutra_solver* solver, int64_t n_rhs, lutra_memory_forecast* forecast);

/* ---- batches: many systems of one pattern (docs/batch.md, docs/batched-krylov.md) ---- */

/* Creates a solver for K systems with one pattern. Methods: LUTRA_LU, LUTRA_LDLT, LUTRA_CHOLESKY, LUTRA_ILU,
 * LUTRA_KRYLOV, with their options. Other parameters as in lutra_create. Of the functions above,
 * lutra_analyze takes one matrix that represents the systems, options, memory, stream, log, progress and stop
 * work as for one system (a new "deadline" with the next lutra_analyze), and the others that compute return
 * LUTRA_INPUT_ERROR. */
lutra_status lutra_batch_create(lutra_solver** solver, int method, int scalar, int index,
                                const char* backend);

/* Factorizes n_systems matrices with the analysed pattern; a Krylov solver builds its preconditioners.
 * values: entry p of system k is at p * entry_stride + k * system_stride, in elements: (n_systems, 1) for
 * interleaved systems, (1, nnz) for one system after the other. mask: [n_systems] in host memory, 0: the
 * system is skipped, and its values are not read; NULL: none is.
 * Values are copied. If memory divides the batch into chunks (lutra_get_integers, "chunks"), solves read them
 * again, and they must remain as they are.
 * Returns the worst status of a system. A message that names an entry names system, row and column. */
lutra_status lutra_batch_factorize(lutra_solver* solver, int64_t n_systems, const void* values,
                                   int64_t entry_stride, int64_t system_stride, const unsigned char* mask);

/* Elements between neighbours in a block of vectors: row i of right-hand side c of system k is at
 * i * row + c * column + k * system. All are at least 1. */
typedef struct lutra_strides {
  int64_t row, column, system;
} lutra_strides;

/* Solves op(A) X = B for n_rhs right-hand sides of every system that is not masked. B and X are
 * [n x n_rhs x n_systems] with strides; no two elements of X may be in one place; X may be B. Systems that
 * are masked or without factors keep their X. Returns the worst status of all systems; LUTRA_SUCCESS: each
 * has met its tolerance by its own error. The error of each system follows by lutra_get_numbers. */
lutra_status lutra_batch_solve(lutra_solver* solver, int op, int64_t n_rhs, const void* B,
                               const lutra_strides* B_strides, void* X, const lutra_strides* X_strides);

/* X = op(L U)^-1 B with the factors of LUTRA_ILU. Parameters as in lutra_batch_solve. */
lutra_status lutra_batch_apply(lutra_solver* solver, int op, int64_t n_rhs, const void* B,
                               const lutra_strides* B_strides, void* X, const lutra_strides* X_strides);

/* ---- the report ---- */

/* Status after the last analyze, factorize or solve; LUTRA_NOT_SOLVED before the first. */
lutra_status lutra_report_status(const lutra_solver* solver);

/* Numbers and texts of the report by the dotted path of their JSON keys (docs/json.md):
 * "inertia.negative", "pivots.perturbed", "iterations", "errors.backward_componentwise", "choice.engine".
 * Returns LUTRA_NO_VALUE and leaves *value unchanged if the JSON value is null at present.
 * Batches other than those of Krylov methods, from the analysis on: "choice.method", "choice.ordering",
 * "choice.matching", and "choice.engine", which is "simplicial" for lanes and "multifrontal" for fronts. */
lutra_status lutra_get_integer(lutra_solver* solver, const char* key, int64_t* value);
lutra_status lutra_get_number(lutra_solver* solver, const char* key, double* value);
lutra_status lutra_get_text(lutra_solver* solver, const char* key, const char** value);

/* Integer lists: "singular_rows", "singular_columns" (from 0), and Cholesky's "indefinite_column" as a list
 * of one. *values and the other pointers of this section stay valid until the next call with this solver
 * outside this section.
 * Batches, one number for each system: "statuses" (lutra_status); of Krylov methods "iterations" and
 * "restarts"; of others "refinement_steps", "perturbed_pivots", and of LUTRA_LDLT and LUTRA_CHOLESKY
 * "inertia.positive", "inertia.negative", "inertia.zero" (-1: unknown). Besides, "alone", the systems that
 * were factorized by themselves, and "chunks", a list of one. */
lutra_status lutra_get_integers(lutra_solver* solver, const char* key, const int64_t** values, size_t* count);

/* Number lists: "residual_history". Batches, one for each system, the worst right-hand side, NaN without a
 * solution: "errors.backward_componentwise", "errors.backward_normwise"; of Krylov methods "residuals". */
lutra_status lutra_get_numbers(lutra_solver* solver, const char* key, const double** values, size_t* count);

/* The whole report as JSON. */
lutra_status lutra_report_json(lutra_solver* solver, const char** json);

#ifdef __cplusplus
}
#endif

#endif
