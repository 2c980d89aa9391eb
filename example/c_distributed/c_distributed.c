/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A system from C on several ranks of MPI: each rank makes some rows of the matrix and of B, and gets its
 * rows of X. (1/dt + L) u_new = u/dt on a square grid, L the five-point Laplacian, dt shrinking from step to
 * step. Run it with mpirun -n 2 c_distributed. */
#include <lutra_mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 60, n = side * side };

static int rank, size;
static int64_t first, n_rows; /* this rank's rows: first, first + 1, ... */

/* This rank's rows, columns ascending in each. */
static int32_t rows[n], row_map[n + 1], columns[5 * n];
static double values[5 * n];

static void assemble(double per_dt) {
  int32_t at = 0;
  for (int64_t i = 0; i < n_rows; ++i) {
    const int row = (int)(first + i), x = row % side, y = row / side;
    const int neighbours[5] = {y > 0 ? row - side : -1, x > 0 ? row - 1 : -1, row,
                               x + 1 < side ? row + 1 : -1, y + 1 < side ? row + side : -1};
    rows[i] = row;
    row_map[i] = at;
    for (int k = 0; k < 5; ++k) {
      if (neighbours[k] < 0) continue;
      columns[at] = neighbours[k];
      values[at++] = neighbours[k] == row ? 4 + per_dt : -1;
    }
  }
  row_map[n_rows] = at;
}

/* max |A u - b|. All ranks get all of u for it. */
static double largest_residual(const double* u, const double* b) {
  static double mine[n], all[n];
  double largest = 0, over_ranks = 0;
  for (int64_t i = 0; i < n_rows; ++i) mine[first + i] = u[i];
  MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int64_t i = 0; i < n_rows; ++i) {
    double r = -b[i];
    for (int32_t p = row_map[i]; p < row_map[i + 1]; ++p) r += values[p] * all[columns[p]];
    largest = fmax(largest, fabs(r));
  }
  MPI_Allreduce(&largest, &over_ranks, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return over_ranks;
}

/* The status is the same on all ranks, and so is the message. */
static void check(lutra_status status) {
  if (status == LUTRA_SUCCESS) return;
  if (rank == 0) fprintf(stderr, "%s: %s\n", lutra_status_name(status), lutra_message());
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

int main(int argc, char* argv[]) {
  static double b[n], u[n];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  first = (int64_t)n * rank / size;
  n_rows = (int64_t)n * (rank + 1) / size - first;

  lutra_solver* solver = NULL;
  check(lutra_mpi_create(&solver, MPI_COMM_WORLD, LUTRA_F64, LUTRA_INT32, NULL));
  check(lutra_set_option(solver, "ordering", "metis"));

  int failed = 0;
  for (int64_t i = 0; i < n_rows; ++i) u[i] = (first + i) % side == 0;
  for (int step = 1; step <= 3; ++step) {
    const double per_dt = 10.0 * step;
    assemble(per_dt);
    for (int64_t i = 0; i < n_rows; ++i) b[i] = per_dt * u[i];
    const lutra_rows A = {n, n_rows, row_map[n_rows], rows, row_map, columns, values, LUTRA_INT32};
    check(step == 1 ? lutra_mpi_factorize(solver, &A) : lutra_mpi_refactorize(solver, A.nnz, values));
    check(lutra_solve(solver, LUTRA_NONE, 1, b, n_rows, u, n_rows));
    const double residual = largest_residual(u, b);
    if (rank == 0) printf("step %d: residual %.1e\n", step, residual);
    failed = failed || !(residual < 1e-10);
  }

  /* The mistake of one rank is an error on all, with one message. */
  if (rank == size - 1) columns[row_map[7]] = n;
  const lutra_rows wrong = {n, n_rows, row_map[n_rows], rows, row_map, columns, values, LUTRA_INT32};
  const lutra_status status = lutra_mpi_factorize(solver, &wrong);
  if (rank == 0) printf("%s: %s\n", lutra_status_name(status), lutra_message());
  failed = failed || status != LUTRA_INPUT_ERROR;

  lutra_destroy(solver);
  check(lutra_finalize());
  MPI_Finalize();
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
