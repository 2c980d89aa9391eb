// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Teuchos_CommHelpers.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <string>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestTpetra.hpp"
#include "Lutra_TpetraDistributedLU.hpp"

namespace lutra::Test {
namespace {

using DistributedSolver = TpetraDistributedLU<Matrix>;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

bool is_last() {
  return world()->getRank() == world()->getSize() - 1;
}

/// Error of a solution of op(A)·X = B whose X is known.
double solve_known(DistributedSolver& solver, const Matrix& A, std::size_t k = 1,
                   Teuchos::ETransp mode = Teuchos::NO_TRANS) {
  const VectorPtr exact = some_vectors(A.getRowMap(), k), B = product(A, *exact, mode);
  Vector X(A.getRowMap(), k);
  const auto op = mode == Teuchos::NO_TRANS ? Transposition::none
                  : mode == Teuchos::TRANS  ? Transposition::transposed
                                            : Transposition::adjoint;
  CHECK(solver.solve(X, *B, op) == Status::success);
  CHECK(solver.report().errors.backward_componentwise.value_or(1) <= 1e-12);
  return difference(X, *exact);
}

TEST_CASE("TpetraDistributedLU: columns, transposed systems and new values", "[trilinos]") {
  const MatrixPtr A = distributed(generate("convdiff3d", 8));
  DistributedSolver solver(*world());
  REQUIRE(solver.factorize(*A) == Status::success);
  CHECK(solve_known(solver, *A) < 1e-11);
  CHECK(solve_known(solver, *A, 3) < 1e-11);
  CHECK(solve_known(solver, *A, 2, Teuchos::TRANS) < 1e-11);
  CHECK(solve_known(solver, *A, 2, Teuchos::CONJ_TRANS) < 1e-11);
  change_values(*A, 2.0, 0.5);
  REQUIRE(solver.factorize(*A) == Status::success);
  CHECK(solve_known(solver, *A) < 1e-11);

  Teuchos::ParameterList list;
  list.set("ordering", "amd").set("max_refinement_steps", 3);
  solver.set_parameters(list);
  REQUIRE(solver.factorize(*A) == Status::success);
  CHECK(solve_known(solver, *A) < 1e-11);
  if (world()->getRank() == 0) CHECK(solver.report().choice.ordering == "amd");
  solver.close();
}

TEST_CASE("TpetraDistributedLU: rows by turns, indices from 1, and processes without rows", "[trilinos]") {
  const auto matrix = generate("circuit", 300);
  const Global n = matrix.n_rows, P = world()->getSize();
  std::vector<Global> by_turns;
  for (Global row = world()->getRank(); row < n; row += P) by_turns.push_back(row + 1);
  const auto invalid = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
  const auto turns = Teuchos::rcp(
      new Map(invalid, Teuchos::ArrayView<const Global>(by_turns.data(), static_cast<int>(by_turns.size())),
              1, world()));
  const auto up = [](Global i) { return i + 1; };
  const auto down = [](Global g) { return g - 1; };
  const auto on_last =
      Teuchos::rcp(new Map(invalid, is_last() ? static_cast<std::size_t>(n) : 0, 0, world()));
  DistributedSolver solver(*world());
  for (const MatrixPtr& A : {on_map(matrix, turns, up, down), on_map(matrix, on_last)}) {
    REQUIRE(solver.factorize(*A) == Status::success);
    CHECK(solve_known(solver, *A, 2) < 1e-9);
  }
  solver.close();
}

TEST_CASE("TpetraDistributedLU: a communicator of one process", "[trilinos]") {
  const MatrixPtr A = distributed(generate("poisson2d", 12), self());
  DistributedSolver solver(*self());
  REQUIRE(solver.factorize(*A) == Status::success);
  CHECK(solve_known(solver, *A) < 1e-11);
  solver.close();
}

TEST_CASE("TpetraDistributedLU: what is wrong on one process is an error on all", "[trilinos]") {
  const MatrixPtr A = distributed(generate("poisson2d", 12));
  DistributedSolver solver(*world());
  Vector X(A->getRowMap(), 1), B(A->getRowMap(), 1);
  CHECK_THROWS_MATCHES(solver.solve(X, B), std::logic_error,
                       MessageMatches(ContainsSubstring("there is no factorization")));
  set_entry(*A, 143, 143, std::numeric_limits<double>::quiet_NaN());  // a row of the last process
  CHECK_THROWS_MATCHES(solver.factorize(*A), std::invalid_argument,
                       MessageMatches(ContainsSubstring("row 143, column 143 is not finite")));
  set_entry(*A, 143, 143, 4);
  REQUIRE(solver.factorize(*A) == Status::success);
  if (is_last()) B.replaceGlobalValue(143, 0, std::numeric_limits<double>::infinity());
  CHECK_THROWS_MATCHES(solver.solve(X, B), std::invalid_argument,
                       MessageMatches(ContainsSubstring("B: row 143, column 0 is not finite")));
  Vector two(A->getRowMap(), 2);
  B.putScalar(1);
  CHECK_THROWS_MATCHES(solver.solve(two, B), std::invalid_argument,
                       MessageMatches(ContainsSubstring("X: it has 2 vectors, but B 1")));
  const auto on_last = Teuchos::rcp(new Map(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                                            is_last() ? std::size_t(144) : 0, 0, world()));
  if (world()->getSize() > 1) {
    Vector elsewhere(on_last, 1);
    CHECK_THROWS_MATCHES(solver.solve(X, elsewhere), std::invalid_argument,
                         MessageMatches(ContainsSubstring("B: its map is not the row map")));
    CHECK_THROWS_MATCHES(solver.solve(is_last() ? two : X, is_last() ? two : B), std::invalid_argument,
                         MessageMatches(ContainsSubstring("all ranks have to ask for the same")));
  }
  CHECK(solve_known(solver, *A) < 1e-11);

  const auto unfinished = Teuchos::rcp(new Matrix(A->getRowMap(), 1));
  CHECK_THROWS_MATCHES(solver.factorize(*unfinished), std::invalid_argument,
                       MessageMatches(ContainsSubstring("A: it is not fill complete")));
  const auto up = [](Global i) { return 2 * i; };  // global indices with gaps
  std::vector<Global> even;
  for (const Global row : A->getRowMap()->getLocalElementList()) even.push_back(2 * row);
  const auto gaps = Teuchos::rcp(
      new Map(144, Teuchos::ArrayView<const Global>(even.data(), static_cast<int>(even.size())), 0, world()));
  const MatrixPtr with_gaps = on_map(generate("poisson2d", 12), gaps, up, [](Global g) { return g / 2; });
  CHECK_THROWS_MATCHES(solver.factorize(*with_gaps), std::invalid_argument,
                       MessageMatches(ContainsSubstring("is not in a matrix of 144")));
  solver.close();
}

TEST_CASE("TpetraDistributedLU: parameters of one process", "[trilinos]") {
  Teuchos::ParameterList list;
  if (is_last()) list.set("orderng", "amd");
  CHECK_THROWS_MATCHES(DistributedSolver(*world(), list), std::invalid_argument,
                       MessageMatches(ContainsSubstring("orderng")));
  Teuchos::ParameterList checks;
  checks.set("check", "never");
  CHECK_THROWS_MATCHES(DistributedSolver(*world(), checks), std::invalid_argument,
                       MessageMatches(ContainsSubstring("'check' has no effect on several ranks")));
  if (world()->getSize() == 1) return;
  Teuchos::ParameterList differs;
  differs.set("ordering", is_last() ? "amd" : "natural");
  DistributedSolver solver(*world(), differs);
  CHECK_THROWS_MATCHES(solver.factorize(*distributed(generate("poisson2d", 12))), std::invalid_argument,
                       MessageMatches(ContainsSubstring("'ordering amd'")));
  solver.close();
}

TEST_CASE("TpetraDistributedLU: a singular matrix is a status and leaves X", "[trilinos]") {
  const MatrixPtr A = distributed(generate("poisson2d", 12));
  A->resumeFill();
  A->setAllToScalar(0);
  A->fillComplete();
  DistributedSolver solver(*world());
  const Status status = solver.factorize(*A);
  CHECK((status == Status::structurally_singular || status == Status::numerically_singular));
  Vector X(A->getRowMap(), 1), B(A->getRowMap(), 1), before(A->getRowMap(), 1);
  X.putScalar(3);
  before.putScalar(3);
  B.putScalar(1);
  CHECK(solver.solve(X, B) == status);
  CHECK(difference(X, before) == 0);
  solver.close();
}

}  // namespace
}  // namespace lutra::Test
