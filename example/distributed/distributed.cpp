// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix distributed by rows from the start: each rank makes its rows and its part of the right-hand side,
// and gets its part of the solution. Run it with mpirun -n 4 distributed.
#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_Distributed.hpp"

namespace {

// The five-point Laplacian on a grid of m × m points, the rows of one rank.
lutra::DistributedRows<double> make_rows(std::int64_t m, int rank, int size) {
  lutra::DistributedRows<double> A;
  A.n = m * m;
  A.row_map.push_back(0);
  for (std::int64_t row = A.n * rank / size; row < A.n * (rank + 1) / size; ++row) {
    const std::int64_t x = row % m, y = row / m;
    const auto add = [&A](std::int64_t column, double value) {
      A.columns.push_back(column);
      A.values.push_back(value);
    };
    if (y > 0) add(row - m, -1);
    if (x > 0) add(row - 1, -1);
    add(row, 4);
    if (x < m - 1) add(row + 1, -1);
    if (y < m - 1) add(row + m, -1);
    A.rows.push_back(row);
    A.row_map.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  return A;
}

bool solve(lutra::Communicator& ranks) {
  const auto A = make_rows(100, ranks.rank(), ranks.size());
  lutra::DistributedLU<double> solver(ranks);
  lutra::Status status = solver.factorize(A);

  // b = A·x* with x* = 1: the row sums.
  std::vector<double> b(A.rows.size()), x(A.rows.size());
  for (std::size_t i = 0; i < b.size(); ++i)
    for (std::int64_t e = A.row_map[i]; e < A.row_map[i + 1]; ++e)
      b[i] += A.values[static_cast<std::size_t>(e)];
  if (status == lutra::Status::success) status = solver.solve(b, x);

  std::vector<double> error{0.0};
  for (const double value : x) error[0] = std::fmax(error[0], std::fabs(value - 1));
  ranks.all_max(error);
  const auto statistics = solver.statistics();  // on rank 0
  for (std::size_t r = 0; r < statistics.size(); ++r)
    std::printf("rank %zu: %lld rows, %lld entries of L and U, %lld messages\n", r,
                static_cast<long long>(statistics[r].rows), static_cast<long long>(statistics[r].entries),
                static_cast<long long>(statistics[r].messages));
  solver.close();
  return status == lutra::Status::success && error[0] < 1e-10;
}

}  // namespace

int main(int argc, char* argv[]) {
  lutra::MpiSession mpi(&argc, &argv);
  lutra::Communicator ranks;
  int status = 1;
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    try {
      status = solve(ranks) ? 0 : 1;
    } catch (const std::exception& error) {
      if (ranks.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    }
  }
  return mpi.finish(status, &ranks);
}
