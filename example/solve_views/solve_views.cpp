// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembles a matrix on the device in Kokkos Views, and factorizes and solves it there. Then the values
// change, and the matrix is factorized again without a new analysis.
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Lutra_SparseLU.hpp"

using Space = Kokkos::DefaultExecutionSpace;
using Solver = lutra::SparseLU<double>;  // on Space
using Matrix = Solver::matrix_type;

// The expected solution of the systems below.
KOKKOS_INLINE_FUNCTION double expected(int i) {
  return 1 + (i % 7) / 4.0;
}

// Convection and diffusion along a line of n points: rows (-1 - wind/2, 2, -1 + wind/2), sorted by column.
Matrix assemble(int n, double wind, const Kokkos::View<double*>& rhs) {
  Kokkos::View<std::int64_t*> row_map("row_map", n + 1);
  Kokkos::View<int*> entries("entries", 3 * n - 2);
  Kokkos::View<double*> values("values", 3 * n - 2);
  Kokkos::parallel_for(
      "assemble", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i) {
        std::int64_t at = i == 0 ? 0 : 3 * std::int64_t(i) - 1;
        row_map(i) = at;
        rhs(i) = 0;
        for (int j = i - 1; j <= i + 1; ++j) {
          if (j < 0 || j >= n) continue;
          entries(at) = j;
          values(at) = j == i ? 2.0 : -1.0 + (j - i) * wind / 2;
          rhs(i) += values(at) * expected(j);
          ++at;
        }
        if (i == n - 1) row_map(n) = at;
      });
  return {n, n, row_map, entries, values};
}

double largest_error(const Kokkos::View<double*>& x) {
  double error = 0;
  Kokkos::parallel_reduce(
      "error", Kokkos::RangePolicy<Space>(0, static_cast<int>(x.extent(0))),
      KOKKOS_LAMBDA(int i, double& worst) {
        const double difference = Kokkos::abs(x(i) - expected(i));
        if (!(difference <= worst)) worst = difference;  // NaN counts as an error
      },
      Kokkos::Max<double>(error));
  return error;
}

bool solve_and_check(Solver& solver, const Matrix& A, const Kokkos::View<double*>& rhs) {
  Kokkos::View<double*> x("x", rhs.extent(0));
  lutra::Status status = solver.factorize(A);
  if (status == lutra::Status::success) status = solver.solve(rhs, x);
  const double error = largest_error(x);
  std::printf("%s; largest error of the solution %.1e\n", lutra::describe(solver.report()).c_str(), error);
  return status == lutra::Status::success && error < 1e-8;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const int n = 1000;
  Kokkos::View<double*> rhs("rhs", n);
  Solver solver;

  const Matrix calm = assemble(n, 0.0, rhs);
  if (solver.analyze(calm) != lutra::Status::success) return EXIT_FAILURE;
  const bool first = solve_and_check(solver, calm, rhs);
  const Matrix windy = assemble(n, 0.5, rhs);  // the same pattern with other values
  const bool second = solve_and_check(solver, windy, rhs);
  return first && second ? EXIT_SUCCESS : EXIT_FAILURE;
}
