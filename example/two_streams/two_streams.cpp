// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves two systems at once with two solvers, each with its own host thread and its own instance of the
// execution space (on CUDA a stream). A solver must be used by one thread at a time. Different solvers share
// no data that is written.
#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"

using Space = Kokkos::DefaultExecutionSpace;

// The results of one thread.
struct Result {
  bool solved = false;
  std::string message;
};

// Solves several matrices of one pattern for a right-hand side of ones, on one instance.
Result run(const Space& instance, const std::string& kind, int size) {
  lutra::HostMatrix<double> A = lutra::generate(kind, size);
  const std::vector<double> b(A.n_rows, 1.0);
  std::vector<double> x(A.n_rows);
  lutra::SparseLU<double> solver({}, instance);
  lutra::Status status = solver.analyze(A);
  double first = 0;
  for (int step = 0; step < 5; ++step) {
    if (status == lutra::Status::success) status = solver.factorize(A);
    if (status == lutra::Status::success) status = solver.solve_host(b, x);
    if (status != lutra::Status::success) return {false, lutra::describe(solver.report())};
    if (step == 0) first = x[0];
    if (!(std::abs(x[0] * std::ldexp(1.0, step) - first) <= 1e-9 * std::abs(first)))
      return {false, "x is wrong"};
    for (double& value : A.values) value *= 2;  // halves x
  }
  return {true, lutra::describe(solver.report())};
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  if (std::string(Space::name()) == "OpenMP" && Space().concurrency() < 2) {
    std::printf("one OpenMP thread cannot be divided; set OMP_NUM_THREADS to 2 or more\n");
    return EXIT_SUCCESS;
  }
  const std::vector<Space> instances = Kokkos::Experimental::partition_space(Space(), 1, 1);
  Result circuit, poisson;
  const auto guarded = [](Result& result, const Space& instance, const std::string& kind, int size) {
    try {
      result = run(instance, kind, size);
    } catch (const std::exception& mistake) {  // an exception must not leave the thread
      result.message = mistake.what();
    }
  };
  std::thread first([&] { guarded(circuit, instances[0], "circuit", 2000); });
  std::thread second([&] { guarded(poisson, instances[1], "poisson2d", 50); });
  first.join();
  second.join();
  std::printf("circuit: %s\npoisson2d: %s\n", circuit.message.c_str(), poisson.message.c_str());
  return circuit.solved && poisson.solved ? EXIT_SUCCESS : EXIT_FAILURE;
}
