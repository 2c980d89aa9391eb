// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves A·X = B and Aᵀ·Y = B for many right-hand sides, each in one call, the second in place.
#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"

using Space = Kokkos::DefaultExecutionSpace;
using Vectors = Kokkos::View<double**, Space>;  // any layout works, and subviews

constexpr int n_rhs = 40;

// The expected solution: row i of column c.
double expected(std::int64_t i, std::int64_t c) {
  return 1 + double((i + 3 * c) % 7) / 4;
}

// op(A)·X for the expected X, computed on the host.
Vectors right_hand_sides(const lutra::HostMatrix<double>& A, bool transposed) {
  Vectors B("B", A.n_rows, n_rhs);
  const auto host = Kokkos::create_mirror_view(B);
  for (int i = 0; i < A.n_rows; ++i) {
    for (std::int64_t p = A.row_map[i]; p < A.row_map[i + 1]; ++p) {
      const int j = A.entries[p];
      for (int c = 0; c < n_rhs; ++c) {
        if (transposed)
          host(j, c) += A.values[p] * expected(i, c);
        else
          host(i, c) += A.values[p] * expected(j, c);
      }
    }
  }
  Kokkos::deep_copy(B, host);
  return B;
}

double largest_error(const Vectors& X) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
  double error = 0;
  for (std::size_t c = 0; c < host.extent(1); ++c) {
    for (std::size_t i = 0; i < host.extent(0); ++i) {
      const double difference = std::abs(host(i, c) - expected(i, c));
      if (!(difference <= error)) error = difference;  // NaN is an error
    }
  }
  return error;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const lutra::HostMatrix<double> A = lutra::generate("convdiff3d", 9);
  lutra::SparseLU<double> solver;
  if (solver.analyze(A) != lutra::Status::success || solver.factorize(A) != lutra::Status::success)
    return EXIT_FAILURE;

  const Vectors B = right_hand_sides(A, false);
  Vectors X("X", A.n_rows, n_rhs);
  const lutra::Status plain = solver.solve(B, X);  // all columns; the report has their largest errors
  const double error = largest_error(X);
  std::printf("A·X = B: %s; error of X %.1e\n", lutra::describe(solver.report()).c_str(), error);

  const Vectors Y = right_hand_sides(A, true);
  const lutra::Status transposed = solver.solve(Y, Y, lutra::Transposition::transposed);  // Y = A⁻ᵀ·Y
  const double transposed_error = largest_error(Y);
  std::printf("Aᵀ·Y = B: %s; error of Y %.1e\n", lutra::describe(solver.report()).c_str(), transposed_error);

  const bool solved = plain == lutra::Status::success && transposed == lutra::Status::success;
  return solved && error < 1e-9 && transposed_error < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
