// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves -u'' + u³ = f on a line, distributed over all processes, by Newton's method with Lutra as a solver
// of Amesos2: one analysis, and a factorization in each step. mpiexec -n 4 ./trilinos
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "Lutra_Amesos2Solver.hpp"

using Matrix = Tpetra::CrsMatrix<double>;
using Vector = Tpetra::MultiVector<double>;
using Map = Matrix::map_type;
using Global = Map::global_ordinal_type;

// The rows of -u'' on this process, with 3·u² on the diagonal.
void fill(Matrix& J, Global n, const Vector& u, bool first) {
  const auto values_of_u = u.getData(0);
  for (std::size_t i = 0; i < J.getLocalNumRows(); ++i) {
    const Global row = J.getRowMap()->getGlobalElement(static_cast<int>(i));
    Global columns[3];
    double values[3];
    int count = 0;
    if (row > 0) columns[count] = row - 1, values[count++] = -1;
    columns[count] = row,
    values[count++] = 2 + 3 * values_of_u[static_cast<int>(i)] * values_of_u[static_cast<int>(i)];
    if (row < n - 1) columns[count] = row + 1, values[count++] = -1;
    if (first) {
      J.insertGlobalValues(row, count, values, columns);
    } else {
      J.replaceGlobalValues(row, count, values, columns);
    }
  }
}

int main(int argc, char* argv[]) {
  const Tpetra::ScopeGuard tpetra(&argc, &argv);
  const Global n = 200;
  const auto map = Teuchos::rcp(new Map(n, 0, Tpetra::getDefaultComm()));
  const auto u = Teuchos::rcp(new Vector(map, 1)), step = Teuchos::rcp(new Vector(map, 1));
  const auto residual = Teuchos::rcp(new Vector(map, 1));
  const auto laplacian = Teuchos::rcp(new Matrix(map, 3)), J = Teuchos::rcp(new Matrix(map, 3));
  fill(*laplacian, n, *u, true);
  laplacian->fillComplete();
  u->putScalar(1);
  fill(*J, n, *u, true);
  J->fillComplete();

  lutra::Amesos2Solver<Matrix, Vector> solver(J, step, residual);
  const auto parameters = Teuchos::parameterList("Amesos2");
  parameters->sublist("Lutra").set("max_refinement_steps", 3);
  solver.setParameters(parameters);

  double norm = 1;
  int steps = 0;
  for (; norm > 1e-12 && steps < 30; ++steps) {
    laplacian->apply(*u, *residual);
    for (std::size_t i = 0; i < map->getLocalNumElements(); ++i)
      residual->sumIntoLocalValue(static_cast<int>(i), 0,
                                  std::pow(u->getData(0)[static_cast<int>(i)], 3) - 1);
    residual->normInf(Teuchos::ArrayView<double>(&norm, 1));
    J->resumeFill();
    fill(*J, n, *u, false);
    J->fillComplete();
    solver.numericFactorization();
    solver.solve();
    u->update(-1.0, *step, 1.0);
  }
  Teuchos::ParameterList list;
  solver.getTiming(list);
  const Teuchos::ParameterList& report = list.sublist("Lutra");
  if (map->getComm()->getRank() == 0) {
    std::printf("%d steps, %d analyses, last residual %.1e, last backward error %.1e\n", steps,
                solver.getStatus().getNumSymbolicFact(), norm, report.get<double>("backward error"));
  }
  return norm <= 1e-12 && solver.getStatus().getNumSymbolicFact() == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
