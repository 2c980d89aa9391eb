// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <BelosPseudoBlockGmresSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Ifpack2_AdditiveSchwarz.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_Ifpack2Preconditioner.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestTpetra.hpp"

namespace lutra::Test {
namespace {

using ILU = Ifpack2ILU<RowMatrix>;
using LU = Ifpack2LU<RowMatrix>;
using Operator = Tpetra::Operator<double>;
using Schwarz = Ifpack2::AdditiveSchwarz<RowMatrix>;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

const HostMatrix<double> tridiagonal =
    from_dense({{2, -1, 0, 0}, {-1, 3, -1, 0}, {0, -1, 4, -1}, {0, 0, -1, 5}});

/// GMRES from zero; X is the solution. @returns the iterations, or −1 without convergence
int gmres(const MatrixPtr& A, const VectorPtr& X, const VectorPtr& B, const Teuchos::RCP<const Operator>& M) {
  X->putScalar(0);
  const auto problem = Teuchos::rcp(new Belos::LinearProblem<double, Vector, Operator>(A, X, B));
  if (!M.is_null()) problem->setRightPrec(M);
  problem->setProblem();
  const auto list = Teuchos::parameterList();
  list->set("Convergence Tolerance", 1e-10).set("Maximum Iterations", 400).set("Num Blocks", 100);
  Belos::PseudoBlockGmresSolMgr<double, Vector, Operator> gmres_manager(problem, list);
  return gmres_manager.solve() == Belos::Converged ? gmres_manager.getNumIters() : -1;
}

double residual(const Matrix& A, const Vector& X, const Vector& B) {
  return difference(*product(A, X), B);
}

Teuchos::RCP<Schwarz> schwarz(const MatrixPtr& A, int overlap,
                              const Teuchos::RCP<Ifpack2::Preconditioner<double>>& inner) {
  const auto preconditioner = Teuchos::rcp(new Schwarz(A));
  Teuchos::ParameterList list;
  list.set("schwarz: overlap level", overlap).set("inner preconditioner name", "CUSTOM");
  list.set("schwarz: combine mode", "ZERO");
  preconditioner->setParameters(list);
  preconditioner->setInnerPreconditioner(inner);
  preconditioner->initialize();
  preconditioner->compute();
  return preconditioner;
}

TEST_CASE("Ifpack2: exact factors of a tridiagonal matrix", "[trilinos]") {
  // ILU(0) drops no entries of this matrix, so apply solves exactly.
  const MatrixPtr A = distributed(tridiagonal, self());
  ILU ilu(A);
  ilu.initialize();
  CHECK(ilu.isInitialized());
  CHECK_FALSE(ilu.isComputed());
  ilu.compute();
  CHECK(ilu.isComputed());
  const VectorPtr exact = some_vectors(A->getDomainMap(), 3), B = product(*A, *exact);
  Vector X(A->getDomainMap(), 3);
  ilu.apply(*B, X);
  CHECK(difference(X, *exact) < 1e-14);

  // Y = 2·Y − 3·M⁻ᵀ·B
  const VectorPtr Bt = product(*A, *exact, Teuchos::TRANS);
  X.putScalar(1);
  ilu.apply(*Bt, X, Teuchos::TRANS, -3.0, 2.0);
  Vector expected(*exact, Teuchos::Copy);
  Vector ones(A->getDomainMap(), 3);
  ones.putScalar(1);
  expected.update(2.0, ones, -3.0);
  CHECK(difference(X, expected) < 1e-14);
  CHECK(ilu.getNumInitialize() == 1);
  CHECK(ilu.getNumCompute() == 1);
  CHECK(ilu.getNumApply() == 2);
  CHECK(ilu.getReport().get<std::string>("status") == "not_solved");
}

TEST_CASE("Ifpack2: new values, new matrices", "[trilinos]") {
  const MatrixPtr A = distributed(tridiagonal, self());
  LU lu(A);
  lu.compute();
  const VectorPtr exact = some_vectors(A->getDomainMap());
  Vector X(A->getDomainMap(), 1);
  change_values(*A, 3.0, 1.0);
  lu.compute();
  lu.apply(*product(*A, *exact), X);
  CHECK(difference(X, *exact) < 1e-14);
  CHECK(lu.getNumInitialize() == 1);

  const MatrixPtr other = distributed(generate("circuit", 100), self());
  const VectorPtr other_exact = some_vectors(other->getDomainMap());
  lu.setMatrix(other);
  CHECK_FALSE(lu.isInitialized());
  lu.compute();
  Vector Y(other->getDomainMap(), 1);
  lu.apply(*product(*other, *other_exact), Y);
  CHECK(difference(Y, *other_exact) < 1e-11);
  CHECK(lu.getReport().get<std::string>("status") == "success");
}

TEST_CASE("Ifpack2: Belos GMRES with Schwarz over ILU and LU", "[trilinos]") {
  const MatrixPtr A = distributed(generate("convdiff3d", 12));
  const VectorPtr exact = some_vectors(A->getDomainMap()), B = product(*A, *exact);
  const VectorPtr X = Teuchos::rcp(new Vector(A->getDomainMap(), 1));
  const int plain = gmres(A, X, B, Teuchos::null);
  REQUIRE(plain > 0);

  int last_ilu = plain, last_lu = plain;
  for (const int overlap : {0, 2}) {
    CAPTURE(overlap);
    const int with_ilu = gmres(A, X, B, schwarz(A, overlap, Teuchos::rcp(new ILU())));
    REQUIRE(with_ilu > 0);
    CHECK(residual(*A, *X, *B) < 1e-9);
    CHECK(with_ilu <= last_ilu);
    CHECK(2 * with_ilu < plain);
    const int with_lu = gmres(A, X, B, schwarz(A, overlap, Teuchos::rcp(new LU())));
    REQUIRE(with_lu > 0);
    CHECK(residual(*A, *X, *B) < 1e-9);
    CHECK(with_lu <= with_ilu);
    CHECK(with_lu <= last_lu);
    if (world()->getSize() == 1) CHECK(with_lu == 1);
    last_ilu = with_ilu;
    last_lu = with_lu;
  }
}

TEST_CASE("Ifpack2: Schwarz follows new values", "[trilinos]") {
  const MatrixPtr A = distributed(generate("poisson2d", 16));
  const auto inner = Teuchos::rcp(new ILU());
  const auto M = schwarz(A, 1, inner);
  const VectorPtr exact = some_vectors(A->getDomainMap());
  const VectorPtr X = Teuchos::rcp(new Vector(A->getDomainMap(), 1));
  int first = 0;
  for (int step = 0; step < 3; ++step) {
    const VectorPtr B = product(*A, *exact);
    const int iterations = gmres(A, X, B, M);
    REQUIRE(iterations > 0);
    CHECK(difference(*X, *exact) < 1e-7);
    if (step == 0) first = iterations;
    CHECK(iterations <= first);
    change_values(*A, 100.0, 10.0);
    M->compute();
  }
  CHECK(inner->getNumInitialize() == 1);
  CHECK(inner->getNumCompute() == 4);
}

TEST_CASE("Ifpack2: options by name, given through Schwarz", "[trilinos]") {
  const MatrixPtr A = distributed(generate("poisson2d", 12));
  const auto inner = Teuchos::rcp(new ILU());
  const auto M = Teuchos::rcp(new Schwarz(A));
  Teuchos::ParameterList list;
  list.set("inner preconditioner name", "CUSTOM");
  const std::string fill =
      inner->getValidParameters()->isParameter("fill_level") ? "fill_level" : "ilu.fill_level";
  list.sublist("inner preconditioner parameters").set(fill, 2);
  M->setInnerPreconditioner(inner);
  M->setParameters(list);
  M->compute();
  CHECK(inner->getReport().get<std::string>("method") == "iluk");
  CHECK_THROWS_AS(inner->setParameters(Teuchos::ParameterList().set("fill", 2)),
                  Teuchos::Exceptions::InvalidParameterName);
}

TEST_CASE("Ifpack2: invalid calls throw exceptions of Trilinos", "[trilinos]") {
  ILU ilu;
  CHECK_THROWS_AS(ilu.initialize(), std::logic_error);
  CHECK_THROWS_AS(ilu.getDomainMap(), std::logic_error);
  const MatrixPtr A = distributed(tridiagonal, self());
  Vector X(A->getDomainMap(), 2), Y(A->getDomainMap(), 1);
  ilu.setMatrix(A);
  CHECK_THROWS_AS(ilu.apply(X, X), std::logic_error);
  ilu.compute();
  CHECK_THROWS_MATCHES(ilu.apply(X, Y), std::invalid_argument,
                       MessageMatches(ContainsSubstring("B is 4 × 2")));
  set_entry(*A, 2, 2, std::numeric_limits<double>::infinity());
  CHECK_THROWS_MATCHES(ilu.compute(), std::invalid_argument,
                       MessageMatches(ContainsSubstring("row 2") && ContainsSubstring("column 2")));
  CHECK_FALSE(ilu.isComputed());

  if (world()->getSize() > 1) {
    ilu.setMatrix(distributed(generate("poisson2d", 8)));
    CHECK_THROWS_MATCHES(ilu.initialize(), std::invalid_argument,
                         MessageMatches(ContainsSubstring("AdditiveSchwarz")));
  }
  LU lu(distributed(from_dense({{1, 0, 0}, {1, 0, 0}, {0, 1, 1}}), self()));
  CHECK_THROWS_MATCHES(lu.compute(), std::runtime_error, MessageMatches(ContainsSubstring("singular")));
}

}  // namespace
}  // namespace lutra::Test
