// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Implicit Euler for u' = K(t)·u + f. The values of the matrix change in every step, its pattern does not.
// The pattern is analyzed once, and each step factorizes and solves on the device.
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Lutra_SparseLU.hpp"

using Space = Kokkos::DefaultExecutionSpace;
using Vector = Kokkos::View<double*, Space>;
using Solver = lutra::SparseLU<double>;
using Matrix = Solver::matrix_type;

// A grid of m × m points; row i holds its neighbours below, left, itself, right and above, columns sorted.
struct Grid {
  int m;
  KOKKOS_FUNCTION int size() const { return m * m; }
  KOKKOS_FUNCTION int column(int i, int k) const {  // the k-th of five neighbours, or -1
    const int x = i % m, y = i / m;
    if (k == 0) return y > 0 ? i - m : -1;
    if (k == 1) return x > 0 ? i - 1 : -1;
    if (k == 2) return i;
    if (k == 3) return x < m - 1 ? i + 1 : -1;
    return y < m - 1 ? i + m : -1;
  }
};

// The exact solution of the discrete equations below, at point i and time t.
KOKKOS_INLINE_FUNCTION double exact(int i, double t) {
  return (1 + t) * (1 + (i % 11) / 5.0);
}

// Row map and columns. `fill` computes the values.
Matrix make_pattern(const Grid& grid, const Kokkos::View<double*, Space>& values) {
  const int n = grid.size();
  Kokkos::View<std::int64_t*, Space> row_map("row_map", n + 1);
  Kokkos::parallel_scan(
      "row_map", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i, std::int64_t& sum, bool last) {
        for (int k = 0; k < 5; ++k) sum += grid.column(i, k) >= 0;
        if (last) row_map(i + 1) = sum;
      });
  Kokkos::View<int*, Space> entries("entries", values.extent(0));
  Kokkos::parallel_for(
      "entries", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i) {
        std::int64_t position = row_map(i);
        for (int k = 0; k < 5; ++k) {
          if (grid.column(i, k) >= 0) entries(position++) = grid.column(i, k);
        }
      });
  return {n, n, row_map, entries, values};
}

// The matrix I - dt·K(t): diffusion, and a wind along x that grows with time.
void fill(const Grid& grid, const Matrix& A, const Kokkos::View<double*, Space>& values, double dt,
          double t) {
  Kokkos::parallel_for(
      "values", Kokkos::RangePolicy<Space>(0, grid.size()), KOKKOS_LAMBDA(int i) {
        const double scale = dt * (grid.m + 1) * (grid.m + 1), wind = 0.5 * t;
        const double stencil[5] = {-scale, -scale * (1 + wind), 1 + scale * (4 + wind), -scale, -scale};
        std::int64_t position = A.row_map(i);
        for (int k = 0; k < 5; ++k) {
          if (grid.column(i, k) >= 0) values(position++) = stencil[k];
        }
      });
}

// u + dt·f for the f that makes `exact` the solution at time t of the step from u: u - exact(t - dt) +
// A·exact(t).
void right_hand_side(const Matrix& A, const Vector& u, const Vector& b, double dt, double t) {
  Kokkos::parallel_for(
      "rhs", Kokkos::RangePolicy<Space>(0, A.n_rows), KOKKOS_LAMBDA(int i) {
        double sum = u(i) - exact(i, t - dt);
        for (std::int64_t p = A.row_map(i); p < A.row_map(i + 1); ++p)
          sum += A.values(p) * exact(A.entries(p), t);
        b(i) = sum;
      });
}

double largest_error(const Vector& u, double t) {
  double error = 0;
  Kokkos::parallel_reduce(
      "error", Kokkos::RangePolicy<Space>(0, static_cast<int>(u.extent(0))),
      KOKKOS_LAMBDA(int i, double& maximum) {
        const double difference = Kokkos::abs(u(i) - exact(i, t));
        if (!(difference <= maximum)) maximum = difference;  // NaN is an error
      },
      Kokkos::Max<double>(error));
  return error;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const Grid grid{40};
  const int n = grid.size(), steps = 10;
  const double dt = 0.01;
  Vector u("u", n), b("b", n);
  Kokkos::View<double*, Space> values("values", 5 * n - 4 * grid.m);
  const Matrix A = make_pattern(grid, values);
  Kokkos::parallel_for(
      "start", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i) { u(i) = exact(i, 0); });

  Solver solver;
  fill(grid, A, values, dt, dt);
  if (solver.analyze(A) != lutra::Status::success) return EXIT_FAILURE;  // reads the first step's values
  for (int step = 1; step <= steps; ++step) {
    const double t = step * dt;
    fill(grid, A, values, dt, t);
    right_hand_side(A, u, b, dt, t);
    if (solver.factorize(A) != lutra::Status::success || solver.solve(b, u) != lutra::Status::success) {
      std::printf("step %d: %s\n", step, lutra::describe(solver.report()).c_str());
      return EXIT_FAILURE;
    }
  }
  const double error = largest_error(u, steps * dt);
  std::printf("%d steps; %s; error of the solution %.1e\n", steps, lutra::describe(solver.report()).c_str(),
              error);
  return error < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
