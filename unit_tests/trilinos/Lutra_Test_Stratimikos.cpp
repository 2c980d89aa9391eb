// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Thyra_LinearOpWithSolveFactoryHelpers.hpp>
#include <Thyra_TpetraThyraWrappers.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Stratimikos.hpp"
#include "Lutra_TestTpetra.hpp"

namespace lutra::Test {
namespace {

using Factory = Teuchos::RCP<Thyra::LinearOpWithSolveFactoryBase<double>>;

/// The factory that Stratimikos makes from a list. `fill` sets the parameters that differ from the defaults.
Factory factory_of(
    const std::string& solver, const std::string& preconditioner,
    const std::function<void(Teuchos::ParameterList&)>& fill = [](auto&) {}) {
  Stratimikos::LinearSolverBuilder<double> builder;
  enable_lutra(builder);
  const auto list = Teuchos::parameterList();
  list->set("Linear Solver Type", solver).set("Preconditioner Type", preconditioner);
  fill(*list);
  builder.setParameterList(list);
  return Thyra::createLinearSolveStrategy(builder);
}

/// A Thyra system that wraps one of Tpetra.
struct System {
  MatrixPtr A;
  VectorPtr exact, B, X;
  Teuchos::RCP<const Thyra::LinearOpBase<double>> op;

  explicit System(const HostMatrix<double>& host)
      : A(distributed(host)),
        exact(some_vectors(A->getDomainMap(), 2)),
        B(product(*A, *exact)),
        X(Teuchos::rcp(new Vector(A->getDomainMap(), 2))),
        op(Thyra::createConstLinearOp<double>(Teuchos::RCP<const Tpetra::Operator<double>>(A))) {}

  Thyra::SolveStatus<double> solve(const Thyra::LinearOpWithSolveBase<double>& solver,
                                   Thyra::EOpTransp mode = Thyra::NOTRANS) const {
    X->putScalar(0);
    const auto b = Thyra::createConstMultiVector<double>(Teuchos::RCP<const Vector>(B));
    const auto x = Thyra::createMultiVector(X);
    return Thyra::solve(solver, mode, *b, x.ptr());
  }
  double error() const { return difference(*X, *exact); }
};

TEST_CASE("Stratimikos: Lutra as linear solver", "[trilinos]") {
  const System system(generate("circuit", 250));
  const Factory factory = factory_of("Lutra", "None", [](auto& list) {
    list.sublist("Linear Solver Types").sublist("Lutra").set("ordering", "amd");
  });
  REQUIRE(factory->isCompatible(*Thyra::defaultLinearOpSource(system.op)));
  const auto solver = factory->createOp();
  Thyra::initializeOp<double>(*factory, system.op, solver.ptr());
  const auto status = system.solve(*solver);
  CHECK(status.solveStatus == Thyra::SOLVE_STATUS_CONVERGED);
  CHECK(status.achievedTol < 1e-12);
  CHECK(system.error() < 1e-11);

  REQUIRE(solver->solveSupports(Thyra::TRANS));
  system.B->assign(*product(*system.A, *system.exact, Teuchos::TRANS));
  system.solve(*solver, Thyra::TRANS);
  CHECK(system.error() < 1e-11);

  // New values: the analysis stays.
  change_values(*system.A, 4.0, 1.0);
  system.B->assign(*product(*system.A, *system.exact));
  Thyra::initializeOp<double>(*factory, system.op, solver.ptr());
  system.solve(*solver);
  CHECK(system.error() < 1e-11);
  const auto& direct = *Teuchos::dyn_cast<StratimikosSolver<double>>(*solver).direct_solver();
  CHECK(direct.getStatus().getNumSymbolicFact() == 1);
  CHECK(direct.getStatus().getNumNumericFact() == 1);
}

TEST_CASE("Stratimikos: an inaccurate solution is not converged", "[trilinos]") {
  const System system(from_dense({{1, 2, 0}, {2, 4, 0}, {0, 0, 1}}));
  const Factory factory = factory_of("Lutra", "None");
  const auto solver = Thyra::linearOpWithSolve<double>(*factory, system.op);
  const auto status = system.solve(*solver);
  CHECK(status.solveStatus == Thyra::SOLVE_STATUS_UNCONVERGED);
  CHECK(status.message.find("singular") != std::string::npos);
}

TEST_CASE("Stratimikos: Lutra as preconditioner for Belos", "[trilinos]") {
  const System system(generate("convdiff3d", 10));
  for (const std::string type : {"ilu", "lu"}) {
    CAPTURE(type);
    const Factory factory = factory_of("Belos", "Lutra", [&](auto& list) {
      auto& gmres = list.sublist("Linear Solver Types").sublist("Belos");
      gmres.sublist("Solver Types").sublist("Pseudo Block GMRES").set("Convergence Tolerance", 1e-10);
      auto& lutra = list.sublist("Preconditioner Types").sublist("Lutra");
      lutra.set("Type", type).set("Overlap", 1);
      lutra.sublist("ILU Settings").set("matching", "none");
    });
    const auto solver = factory->createOp();
    for (int step = 0; step < 2; ++step) {
      system.B->assign(*product(*system.A, *system.exact));
      Thyra::initializeOp<double>(*factory, system.op, solver.ptr());
      CHECK(system.solve(*solver).solveStatus == Thyra::SOLVE_STATUS_CONVERGED);
      CHECK(system.error() < 1e-7);
      change_values(*system.A, 2.0, 1.0);
    }
  }
}

TEST_CASE("Stratimikos: parameters are validated", "[trilinos]") {
  using namespace Teuchos::Exceptions;
  CHECK_THROWS_AS(factory_of("Lutra", "None",
                             [](auto& list) {
                               list.sublist("Linear Solver Types").sublist("Lutra").set("odering", "amd");
                             }),
                  InvalidParameterName);
  CHECK_THROWS_AS(factory_of("Belos", "Lutra",
                             [](auto& list) {
                               list.sublist("Preconditioner Types").sublist("Lutra").set("Type", "cholesky");
                             }),
                  InvalidParameterValue);
  CHECK_THROWS_AS(
      factory_of(
          "Belos", "Lutra",
          [](auto& list) {
            list.sublist("Preconditioner Types").sublist("Lutra").sublist("ILU Settings").set("ordering", 3);
          }),
      InvalidParameterType);
}

}  // namespace
}  // namespace lutra::Test
