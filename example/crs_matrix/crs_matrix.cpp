// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with a matrix of Kokkos Kernels, whose default size type is size_t, without explicit copies or
// conversions.
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>

#include "Lutra_CsrView.hpp"
#include "Lutra_SparseLU.hpp"

using Space = Kokkos::DefaultExecutionSpace;
using Matrix = KokkosSparse::CrsMatrix<double, int, Space>;  // row map of size_t
using Vector = Kokkos::View<double*, Space>;

// The five-point stencil of -Δu + 2·∂u/∂x on a grid of m × m interior points, upwind, columns sorted in each
// row.
Matrix convection_diffusion(int m) {
  const int n = m * m;
  const double h = 1.0 / (m + 1);
  Kokkos::View<std::size_t*, Space> row_map("row_map", n + 1);
  std::size_t nnz = 0;
  Kokkos::parallel_scan(
      "count", Kokkos::RangePolicy<Space>(0, n),
      KOKKOS_LAMBDA(int i, std::size_t& sum, bool last) {
        const int x = i % m, y = i / m;
        sum += 1 + (y > 0) + (x > 0) + (x < m - 1) + (y < m - 1);
        if (last) row_map(i + 1) = sum;
      },
      nnz);
  Kokkos::View<int*, Space> entries("entries", nnz);
  Kokkos::View<double*, Space> values("values", nnz);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i) {
        const int x = i % m, y = i / m;
        std::size_t position = row_map(i);
        const auto add = [&](bool inside, int column, double value) {
          if (!inside) return;
          entries(position) = column;
          values(position++) = value;
        };
        add(y > 0, i - m, -1);
        add(x > 0, i - 1, -1 - 2 * h);
        add(true, i, 4 + 2 * h);
        add(x < m - 1, i + 1, -1);
        add(y < m - 1, i + m, -1);
      });
  return Matrix("A", n, n, nnz, values, row_map, entries);
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const Matrix A = convection_diffusion(30);
  Vector expected("expected", A.numRows()), b("b", A.numRows()), x("x", A.numRows());
  Kokkos::deep_copy(expected, 1.0);
  KokkosSparse::spmv("N", 1.0, A, expected, 0.0, b);

  lutra::SparseLU<double> solver;
  lutra::Status status = solver.analyze(lutra::make_view(A));
  if (status == lutra::Status::success) status = solver.factorize(lutra::make_view(A));
  if (status == lutra::Status::success) status = solver.solve(b, x);

  double error = 0;
  Kokkos::parallel_reduce(
      "error", Kokkos::RangePolicy<Space>(0, A.numRows()),
      KOKKOS_LAMBDA(int i, double& maximum) {
        const double difference = Kokkos::abs(x(i) - expected(i));
        if (!(difference <= maximum)) maximum = difference;  // NaN is an error
      },
      Kokkos::Max<double>(error));
  std::printf("%s; error of the solution %.1e\n", lutra::describe(solver.report()).c_str(), error);
  return status == lutra::Status::success && error < 1e-10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
