// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves a Tpetra system whose rows stay on their processes: all of them factorize and solve. (1/dt + L)
// u_new = u/dt on a square grid, L the five-point Laplacian, dt shrinking. mpiexec -n 2
// ./trilinos_distributed
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <cstdio>

#include "Lutra_TpetraDistributedLU.hpp"

using Matrix = Tpetra::CrsMatrix<double>;
using Vector = Tpetra::MultiVector<double>;
using Map = Matrix::map_type;
using Global = Map::global_ordinal_type;

// The rows of 1/dt + L on this process.
Teuchos::RCP<Matrix> make_matrix(const Teuchos::RCP<const Map>& map, Global side, double per_dt) {
  const auto A = Teuchos::rcp(new Matrix(map, 5));
  for (const Global row : map->getLocalElementList()) {
    const Global x = row % side, y = row / side;
    const auto insert = [&](bool inside, Global column, double value) {
      if (inside) A->insertGlobalValues(row, 1, &value, &column);
    };
    insert(y > 0, row - side, -1);
    insert(x > 0, row - 1, -1);
    insert(true, row, 4 + per_dt);
    insert(x + 1 < side, row + 1, -1);
    insert(y + 1 < side, row + side, -1);
  }
  A->fillComplete();
  return A;
}

int main(int argc, char* argv[]) {
  const Tpetra::ScopeGuard tpetra(&argc, &argv);  // starts MPI and Kokkos
  const Global side = 60;
  const auto map = Teuchos::rcp(new Map(side * side, 0, Tpetra::getDefaultComm()));
  Vector u(map, 1), b(map, 1), residual(map, 1);
  u.randomize();

  Teuchos::ParameterList options;
  options.set("ordering", "metis");
  lutra::TpetraDistributedLU<Matrix> solver(*map->getComm(), options);
  bool solved = true;
  for (int step = 1; step <= 3; ++step) {
    const double per_dt = 10.0 * step;
    const auto A = make_matrix(map, side, per_dt);
    b.update(per_dt, u, 0.0);
    // the second and third matrix have the pattern of the first, and its analysis
    const lutra::Status status = solver.factorize(*A);
    solved = status == lutra::Status::success && solver.solve(u, b) == status && solved;

    A->apply(u, residual);
    residual.update(1.0, b, -1.0);
    const double norm = residual.getVector(0)->normInf();
    solved = solved && norm < 1e-10;
    if (map->getComm()->getRank() == 0) std::printf("step %d: residual %.1e\n", step, norm);
  }
  solver.close();
  return solved ? 0 : 1;
}
