// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factorizes several matrices of one pattern over one analysis and keeps all factors: K + s·I for several
// shifts s, as in rational approximations and frequency sweeps.
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "Lutra_Numeric.hpp"
#include "Lutra_SparseLU.hpp"

using Space = Kokkos::DefaultExecutionSpace;
using Solver = lutra::SparseLU<double>;
using Matrix = Solver::matrix_type;
using Vector = Kokkos::View<double*, Space>;

// The expected solution.
KOKKOS_INLINE_FUNCTION double expected(int i) {
  return 1 + (i % 7) / 4.0;
}

// K + s·I with K = tridiag(-1, 2, -1), and the right-hand side of the expected solution.
Matrix shifted_matrix(int n, double s, const Vector& rhs) {
  Kokkos::View<std::int64_t*, Space> row_map("row_map", n + 1);
  Kokkos::View<int*, Space> entries("entries", 3 * n - 2);
  Kokkos::View<double*, Space> values("values", 3 * n - 2);
  Kokkos::parallel_for(
      "assemble", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i) {
        std::int64_t position = i == 0 ? 0 : 3 * std::int64_t(i) - 1;
        row_map(i) = position;
        rhs(i) = 0;
        for (int j = i - 1; j <= i + 1; ++j) {
          if (j < 0 || j >= n) continue;
          entries(position) = j;
          values(position) = j == i ? 2 + s : -1;
          rhs(i) += values(position) * expected(j);
          ++position;
        }
        if (i == n - 1) row_map(n) = position;
      });
  return {n, n, row_map, entries, values};
}

double largest_error(const Vector& x) {
  double error = 0;
  Kokkos::parallel_reduce(
      "error", Kokkos::RangePolicy<Space>(0, static_cast<int>(x.extent(0))),
      KOKKOS_LAMBDA(int i, double& maximum) {
        const double difference = Kokkos::abs(x(i) - expected(i));
        if (!(difference <= maximum)) maximum = difference;  // NaN is an error
      },
      Kokkos::Max<double>(error));
  return error;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const int n = 2000;
  const std::vector<double> shifts{0.01, 1, 100};
  std::vector<Vector> right_hand_sides;
  std::vector<lutra::Numeric<double>> factors;

  Solver solver;
  for (const double s : shifts) {
    right_hand_sides.emplace_back("rhs", n);
    const Matrix A = shifted_matrix(n, s, right_hand_sides.back());
    if (factors.empty() && solver.analyze(A) != lutra::Status::success) return EXIT_FAILURE;
    factors.emplace_back(solver.analysis());  // shares the analysis and has its own values and factors
    if (factors.back().factorize(A) != lutra::Status::success) return EXIT_FAILURE;
  }

  bool solved = true;
  Vector x("x", n);
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    const lutra::Status status = factors[k].solve(right_hand_sides[k], x);
    const double error = largest_error(x);
    std::printf("shift %g: %s; error of the solution %.1e\n", shifts[k],
                lutra::describe(factors[k].report()).c_str(), error);
    solved = solved && status == lutra::Status::success && error < 1e-9;
  }
  return solved ? EXIT_SUCCESS : EXIT_FAILURE;
}
