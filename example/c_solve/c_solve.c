/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Time steps from C: one analysis, a factorization and a solve for each step, and what a mistake looks like.
 * (1/dt + k + L) u_new = u/dt on a square grid, L the five-point Laplacian, dt shrinking from step to step.
 */
#include <lutra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 30, n = side * side, max_entries = 5 * n };

/* Compressed rows, columns ascending. */
static int32_t row_map[n + 1], columns[max_entries];
static double values[max_entries];

static void assemble(double diagonal) {
  int32_t at = 0;
  for (int row = 0; row < n; ++row) {
    const int x = row % side, y = row / side;
    const int neighbours[5] = {y > 0 ? row - side : -1, x > 0 ? row - 1 : -1, row,
                               x + 1 < side ? row + 1 : -1, y + 1 < side ? row + side : -1};
    row_map[row] = at;
    for (int k = 0; k < 5; ++k) {
      if (neighbours[k] < 0) continue;
      columns[at] = neighbours[k];
      values[at++] = neighbours[k] == row ? 4 + diagonal : -1;
    }
  }
  row_map[n] = at;
}

/* max |A x - b| */
static double largest_residual(const double* x, const double* b) {
  double largest = 0;
  for (int row = 0; row < n; ++row) {
    double r = -b[row];
    for (int32_t p = row_map[row]; p < row_map[row + 1]; ++p) r += values[p] * x[columns[p]];
    largest = fmax(largest, fabs(r));
  }
  return largest;
}

static void check(lutra_status status) {
  if (status == LUTRA_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", lutra_status_name(status), lutra_message());
  exit(EXIT_FAILURE);
}

int main(void) {
  static double b[n], u[n];
  lutra_solver* solver = NULL;
  check(lutra_create(&solver, LUTRA_CHOLESKY, LUTRA_F64, LUTRA_INT32, NULL));
  check(lutra_set_option(solver, "ordering", "amd"));

  for (int i = 0; i < n; ++i) u[i] = i % side == 0;
  for (int step = 1; step <= 5; ++step) {
    const double per_dt = 10.0 * step;
    assemble(per_dt);
    const lutra_matrix A = {n, n, row_map[n], row_map, columns, values, LUTRA_INT32};
    for (int i = 0; i < n; ++i) b[i] = per_dt * u[i];
    if (step == 1) check(lutra_analyze(solver, &A));
    check(lutra_factorize(solver, &A));
    check(lutra_solve(solver, LUTRA_NONE, 1, b, n, u, n));

    double error = 1;
    check(lutra_get_number(solver, "errors.backward_componentwise", &error));
    printf("step %d: backward error %.1e, residual %.1e\n", step, error, largest_residual(u, b));
    if (!(error <= 1e-12 && largest_residual(u, b) < 1e-10)) return EXIT_FAILURE;
  }

  /* A mistake is a status and a message with row and column; the solver is as it was. */
  columns[row_map[7]] = n;
  const lutra_matrix wrong = {n, n, row_map[n], row_map, columns, values, LUTRA_INT32};
  const lutra_status status = lutra_analyze(solver, &wrong);
  printf("%s: %s\n", lutra_status_name(status), lutra_message());

  lutra_destroy(solver);
  check(lutra_finalize());
  return status == LUTRA_INPUT_ERROR ? EXIT_SUCCESS : EXIT_FAILURE;
}
