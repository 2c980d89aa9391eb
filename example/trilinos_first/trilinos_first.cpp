// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves one Tpetra system with Lutra through Amesos2 and through Stratimikos. mpiexec -n 4 ./trilinos_first
#include <Thyra_LinearOpWithSolveFactoryHelpers.hpp>
#include <Thyra_TpetraThyraWrappers.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include "Lutra_Amesos2Solver.hpp"
#include "Lutra_Stratimikos.hpp"

using Matrix = Tpetra::CrsMatrix<double>;    // indices and node are Trilinos' defaults
using Vector = Tpetra::MultiVector<double>;  // of the same types as the matrix
using Teuchos::rcp;

bool solve_by_stratimikos(const Teuchos::RCP<Matrix>& A, const Teuchos::RCP<Vector>& x,
                          const Teuchos::RCP<const Vector>& b) {
  const auto list = Teuchos::parameterList();
  list->set("Linear Solver Type", "Lutra").set("Preconditioner Type", "None");
  list->sublist("Linear Solver Types").sublist("Lutra").set("ordering", "amd").set("tolerance", 1e-12);

  Stratimikos::LinearSolverBuilder<double> builder;
  lutra::enable_lutra(builder);  // before the list
  builder.setParameterList(list);
  const auto op = Thyra::createConstLinearOp<double>(Teuchos::RCP<const Tpetra::Operator<double>>(A));
  const auto solver = Thyra::linearOpWithSolve<double>(*Thyra::createLinearSolveStrategy(builder), op);
  const auto status = Thyra::solve<double>(*solver, Thyra::NOTRANS, *Thyra::createConstMultiVector<double>(b),
                                           Thyra::createMultiVector(x).ptr());
  return status.solveStatus == Thyra::SOLVE_STATUS_CONVERGED;
}

int main(int argc, char* argv[]) {
  const Tpetra::ScopeGuard tpetra(&argc, &argv);  // starts MPI and Kokkos
  const auto map = rcp(new Matrix::map_type(1000, 0, Tpetra::getDefaultComm()));
  const auto A = rcp(new Matrix(map, 2));
  for (const auto row : map->getLocalElementList()) {  // 3 on the diagonal, −1 beside it
    const Matrix::global_ordinal_type columns[] = {row, row - 1};
    const double values[] = {3, -1};
    A->insertGlobalValues(row, row > 0 ? 2 : 1, values, columns);
  }
  A->fillComplete();
  const auto x = rcp(new Vector(map, 1)), b = rcp(new Vector(map, 1));
  b->putScalar(1);

  lutra::Amesos2Solver<Matrix, Vector> solver(A, x, b);
  solver.symbolicFactorization().numericFactorization().solve();
  Teuchos::ParameterList report;
  solver.getTiming(report);
  const bool solved = report.sublist("Lutra").get<std::string>("status") == "success";
  return solved && solve_by_stratimikos(A, x, b) ? 0 : 1;
}
