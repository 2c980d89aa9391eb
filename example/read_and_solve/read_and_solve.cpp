// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a real or complex Matrix Market file, solves for a right-hand side of ones and prints the outcome.
#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <variant>
#include <vector>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"

template <class Scalar>
lutra::Report solve_for_ones(const lutra::HostMatrix<Scalar>& A) {
  const std::vector<Scalar> rhs(static_cast<std::size_t>(A.n_rows), Scalar(1));
  std::vector<Scalar> x(rhs.size());
  lutra::SparseLU<Scalar> solver;
  if (solver.analyze(A) == lutra::Status::success && solver.factorize(A) == lutra::Status::success)
    solver.solve_host(std::span<const Scalar>(rhs), std::span<Scalar>(x));
  return solver.report();
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: read_and_solve A.mtx\n");
    return EXIT_FAILURE;
  }
  try {
    const lutra::MatrixMarketMatrix file = lutra::read_matrix_market(argv[1]);
    const lutra::Report report = std::visit([](const auto& A) { return solve_for_ones(A); }, file.matrix);
    std::printf("%s\n", lutra::describe(report, 1).c_str());
    return report.status == lutra::Status::success ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& mistake) {
    std::fprintf(stderr, "read_and_solve: %s\n", mistake.what());
    return EXIT_FAILURE;
  }
}
