// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <limits>
#include <string>

#include "Lutra_Amesos2Solver.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestTpetra.hpp"

namespace lutra::Test {
namespace {

using Solver = Amesos2Solver<Matrix, Vector>;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
constexpr double accuracy = 1e-11;

/// The system from the tutorial of Amesos2.
const HostMatrix<double> small = from_dense({{7, 0, -3, 0, -1, 0},
                                             {2, 8, 0, 0, 0, 0},
                                             {0, 0, 1, 0, 0, 0},
                                             {-3, 0, 0, 5, 0, 0},
                                             {0, -1, 0, 0, 4, 0},
                                             {0, 0, 0, -2, 0, 6}});

/// Solver of A·X = B with k columns whose solution is X_exact.
struct System {
  MatrixPtr A;
  VectorPtr exact, B, X;
  Teuchos::RCP<Solver> solver;

  explicit System(const MatrixPtr& matrix, std::size_t k = 1)
      : A(matrix),
        exact(some_vectors(A->getDomainMap(), k)),
        B(product(*A, *exact)),
        X(Teuchos::rcp(new Vector(A->getDomainMap(), k))),
        solver(Teuchos::rcp(new Solver(A, X, B))) {}

  double error() const { return difference(*X, *exact); }
  void set(const std::function<void(Teuchos::ParameterList&)>& fill) const {
    const auto list = Teuchos::parameterList("Amesos2");
    fill(list->sublist("Lutra"));
    solver->setParameters(list);
  }
};

TEST_CASE("Amesos2: each phase and its status", "[trilinos]") {
  const System system(distributed(small));
  system.solver->preOrdering().symbolicFactorization().numericFactorization();
  system.solver->solve();
  CHECK(system.error() < accuracy);

  const Amesos2::Status& status = system.solver->getStatus();
  CHECK(status.getNumPreOrder() == 1);
  CHECK(status.getNumSymbolicFact() == 1);
  CHECK(status.getNumNumericFact() == 1);
  CHECK(status.getNumSolve() == 1);
  if (world()->getRank() == 0) CHECK(status.getNnzLU() >= 12);
  Teuchos::ParameterList timing;
  system.solver->getTiming(timing);
  const Teuchos::ParameterList& report = timing.sublist("Lutra");
  CHECK(report.get<std::string>("status") == "success");
  CHECK(report.get<double>("backward error") < 1e-14);
  CHECK(report.get<double>("normwise backward error") < 1e-14);
  CHECK(static_cast<Amesos2::Solver<Matrix, Vector>&>(*system.solver).name() == "Lutra");
}

TEST_CASE("Amesos2: solve alone runs all phases for many right-hand sides", "[trilinos]") {
  const System system(distributed(generate("convdiff3d", 8)), 5);
  system.solver->solve();
  CHECK(system.error() < accuracy);
}

TEST_CASE("Amesos2: unevenly spaced columns are copied", "[trilinos]") {
  System system(distributed(small), 4);
  const std::vector<std::size_t> columns = {0, 1, 3};
  const auto X = system.X->subViewNonConst(columns);
  const Teuchos::RCP<const Vector> B = system.B->subView(columns);
  system.solver->solve(X.ptr(), B.ptr());
  CHECK(difference(*X, *system.exact->subView(columns)) < accuracy);
}

TEST_CASE("Amesos2: transposed systems", "[trilinos]") {
  const System system(distributed(generate("circuit", 300)), 2);
  const VectorPtr B = product(*system.A, *system.exact, Teuchos::TRANS);
  const Teuchos::Ptr<const Vector> b = B.ptr();

  system.solver->solve(system.X.ptr(), b, Transposition::transposed);
  CHECK(system.error() < accuracy);
  system.solver->solve();
  CHECK(system.error() < accuracy);

  const auto list = Teuchos::parameterList("Amesos2");
  list->set("Transpose", true).sublist("Lutra");
  system.solver->setParameters(list);
  system.solver->solve(system.X.ptr(), b);
  CHECK(system.error() < accuracy);
  system.set([](auto& p) { p.set("Trans", "CONJ"); });
  system.solver->solve(system.X.ptr(), b);
  CHECK(system.error() < accuracy);
  CHECK(system.solver->getStatus().getNumNumericFact() == 1);
}

TEST_CASE("Amesos2: on one process Views are read in place", "[trilinos]") {
  using Types = Impl::TpetraTypes<Matrix>;
  const System system(distributed(small, self()), 3);
  CHECK(Types::has_local_indices(*system.A));
  const auto view = Impl::GatheredSystem<Types>().matrix(true, *system.A);
  CHECK(view.values.data() == system.A->getLocalMatrixDevice().values.data());
  CHECK(view.entries.data() == system.A->getLocalMatrixDevice().graph.entries.data());

  const auto X = Amesos2::createMultiVecAdapter<Vector>(system.X);
  const auto B = Amesos2::createMultiVecAdapter<Vector>(system.B);
  bool called = false;
  CHECK(Impl::with_local_views<Types>(*system.A, *X, *B, [&](const auto& b, const auto& x) {
    called = true;
    CHECK(b.data() == system.B->getLocalViewDevice(Tpetra::Access::ReadOnly).data());
    CHECK(x.data() == system.X->getLocalViewDevice(Tpetra::Access::ReadOnly).data());
    CHECK(x.extent(1) == 3);
  }));
  CHECK(called);
}

TEST_CASE("Amesos2: maps with rows in another order", "[trilinos]") {
  const HostMatrix<double> A = generate("circuit", 200);
  const Teuchos::RCP<const Map> contiguous = Teuchos::rcp(new Map(A.n_rows, 0, world()));
  std::vector<Global> mine;
  for (const Global g : contiguous->getLocalElementList()) mine.insert(mine.begin(), A.n_rows - 1 - g);
  std::reverse(mine.begin(), mine.end());
  const Teuchos::RCP<const Map> reversed =
      Teuchos::rcp(new Map(A.n_rows, Teuchos::ArrayView<const Global>(mine), 0, world()));
  const System same(on_map(A, reversed));
  same.solver->solve();
  CHECK(same.error() < accuracy);

  // Rows reversed, vectors not.
  const auto mixed = Teuchos::rcp(new Matrix(reversed, longest_row(A)));
  for (const Global g : reversed->getLocalElementList()) {
    for (auto k = A.row_map[std::size_t(g)]; k < A.row_map[std::size_t(g) + 1]; ++k) {
      const Global column = A.entries[std::size_t(k)];
      mixed->insertGlobalValues(g, 1, &A.values[std::size_t(k)], &column);
    }
  }
  mixed->fillComplete(contiguous, contiguous);
  const System system(mixed, 2);
  system.solver->solve();
  CHECK(system.error() < accuracy);
}

TEST_CASE("Amesos2: global indices with gaps", "[trilinos]") {
  const HostMatrix<double> A = generate("poisson2d", 9);
  const Map contiguous(A.n_rows, 0, world());
  std::vector<Global> mine;
  for (const Global g : contiguous.getLocalElementList()) mine.push_back(3 * g);
  const Teuchos::RCP<const Map> map =
      Teuchos::rcp(new Map(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                           Teuchos::ArrayView<const Global>(mine), 0, world()));
  const System system(on_map(
      A, map, [](Global i) { return 3 * i; }, [](Global g) { return g / 3; }));
  system.set([](auto& p) { p.set("IsContiguous", false); });
  system.solver->solve();
  CHECK(system.error() < accuracy);
}

TEST_CASE("Amesos2: Newton's method refactorizes on one analysis", "[trilinos]") {
  // A·u + u³ = f; J = A + 3·diag(u²)
  const HostMatrix<double> laplacian = generate("poisson2d", 12);
  const MatrixPtr A = distributed(laplacian), J = distributed(laplacian);
  const VectorPtr exact = some_vectors(A->getDomainMap()), f = product(*A, *exact);
  const int n = static_cast<int>(A->getLocalNumRows());
  for (int i = 0; i < n; ++i) f->sumIntoLocalValue(i, 0, std::pow(exact->getData(0)[i], 3));

  const VectorPtr u = Teuchos::rcp(new Vector(A->getDomainMap(), 1)),
                  step = Teuchos::rcp(new Vector(*u, Teuchos::Copy));
  Solver solver(J, step, f);
  solver.symbolicFactorization();
  double error = 1;
  int steps = 0;
  for (; error > 1e-12 && steps < 40; ++steps) {
    const VectorPtr residual = product(*A, *u);
    J->resumeFill();
    for (int i = 0; i < n; ++i) {
      const double value = u->getData(0)[i];
      residual->sumIntoLocalValue(i, 0, value * value * value);
      const Global g = A->getRowMap()->getGlobalElement(i);
      const auto& row = static_cast<std::size_t>(g);
      std::vector<Global> columns(laplacian.entries.begin() + laplacian.row_map[row],
                                  laplacian.entries.begin() + laplacian.row_map[row + 1]);
      std::vector<double> values(laplacian.values.begin() + laplacian.row_map[row],
                                 laplacian.values.begin() + laplacian.row_map[row + 1]);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        if (columns[k] == g) values[k] += 3 * value * value;
      }
      J->replaceGlobalValues(g, Teuchos::ArrayView<const Global>(columns),
                             Teuchos::ArrayView<const double>(values));
    }
    J->fillComplete();
    residual->update(1.0, *f, -1.0);
    solver.numericFactorization();
    solver.solve(step.ptr(), Teuchos::Ptr<const Vector>(residual.ptr()));
    u->update(1.0, *step, 1.0);
    error = difference(*u, *exact);
  }
  CHECK(error < 1e-12);
  CHECK(steps < 30);
  CHECK(solver.getStatus().getNumSymbolicFact() == 1);
  CHECK(solver.getStatus().getNumNumericFact() == steps);
}

TEST_CASE("Amesos2: another matrix on the same pattern, and on another one", "[trilinos]") {
  System system(distributed(generate("random", 150)));
  system.solver->solve();
  const MatrixPtr next = distributed(generate("random", 150));
  change_values(*next, 2.0, 5.0);
  system.solver->setA(next, Amesos2::SYMBFACT);
  const VectorPtr B = product(*next, *system.exact);
  system.solver->solve(system.X.ptr(), Teuchos::Ptr<const Vector>(B.ptr()));
  CHECK(system.error() < accuracy);
  CHECK(system.solver->getStatus().getNumSymbolicFact() == 1);

  const System other(distributed(generate("poisson2d", 7)));
  system.solver->setA(other.A);
  system.solver->solve(other.X.ptr(), Teuchos::Ptr<const Vector>(other.B.ptr()));
  CHECK(other.error() < accuracy);
}

TEST_CASE("Amesos2: values that are zero at the analysis", "[trilinos]") {
  const MatrixPtr A = distributed(small);
  const MatrixPtr zero = distributed(small);
  zero->resumeFill();
  zero->setAllToScalar(0);
  zero->fillComplete();
  System system(A);
  Solver solver(zero, system.X, system.B);
  solver.symbolicFactorization();
  solver.setA(A, Amesos2::SYMBFACT);
  solver.solve();
  CHECK(system.error() < accuracy);
}

TEST_CASE("Amesos2: options by name", "[trilinos]") {
  const System system(distributed(generate("poisson2d", 12)));
  system.set([](auto& p) {
    p.set("ordering", "natural").set("engine", "simplicial").set("max_refinement_steps", 3);
    p.set("tolerance", 1e-10).set("solve_singular", true).set("memory_limit", "100000000");
  });
  system.solver->solve();
  CHECK(system.error() < 1e-8);
  if (world()->getRank() == 0) {
    CHECK(system.solver->report().choice.ordering == "natural");
    CHECK(system.solver->report().choice.engine == "simplicial");
  }
  // After the factorization, like Stratimikos: the next solve has new factors.
  system.set([](auto& p) { p.set("ordering", "amd"); });
  system.solver->solve();
  CHECK(system.error() < accuracy);
  if (world()->getRank() == 0) CHECK(system.solver->report().choice.ordering == "amd");
}

TEST_CASE("Amesos2: a solution above the tolerance is a status, not an exception", "[trilinos]") {
  const System system(distributed(generate("circuit", 100)));
  system.set([](auto& p) { p.set("tolerance", 1e-30); });
  system.solver->solve();
  CHECK(system.error() < accuracy);
  Teuchos::ParameterList timing;
  system.solver->getTiming(timing);
  CHECK(timing.sublist("Lutra").get<std::string>("status") == "error_above_tolerance");
}

TEST_CASE("Amesos2: invalid parameters are refused", "[trilinos]") {
  const System system(distributed(small));
  using namespace Teuchos::Exceptions;
  CHECK_THROWS_AS(system.set([](auto& p) { p.set("odering", "amd"); }), InvalidParameterName);
  CHECK_THROWS_AS(system.set([](auto& p) { p.set("ordering", "alphabetic"); }), InvalidParameterValue);
  CHECK_THROWS_AS(system.set([](auto& p) { p.set("solve_singular", 1.5); }), InvalidParameterType);
  CHECK_THROWS_MATCHES(system.set([](auto& p) { p.set("tolerance", -1.0); }), std::invalid_argument,
                       MessageMatches(ContainsSubstring("tolerance")));
  system.solver->solve();
  CHECK(system.error() < accuracy);
}

TEST_CASE("Amesos2: invalid matrices throw exceptions of Trilinos on every process", "[trilinos]") {
  SECTION("not a number") {
    const System system(distributed(small));
    set_entry(*system.A, 3, 0, std::numeric_limits<double>::quiet_NaN());
    CHECK_THROWS_MATCHES(system.solver->numericFactorization(), std::invalid_argument,
                         MessageMatches(ContainsSubstring("row 3") && ContainsSubstring("column 0")));
    // With the value corrected the same solver works.
    set_entry(*system.A, 3, 0, -3.0);
    system.solver->solve();
    CHECK(system.error() < accuracy);
  }
  SECTION("no full set of pivots") {
    HostMatrix<double> A = from_dense({{1, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 1}});
    const System system(distributed(A));
    CHECK_THROWS_MATCHES(system.solver->numericFactorization(), std::runtime_error,
                         MessageMatches(ContainsSubstring("singular")));
    system.set([](auto& p) { p.set("throw", false); });
    system.solver->solve();
    CHECK(system.solver->report().status == Status::structurally_singular);
  }
  SECTION("numerically singular") {
    const HostMatrix<double> A = from_dense({{1, 2, 0}, {2, 4, 0}, {0, 0, 1}});
    const System system(distributed(A));
    CHECK_THROWS_MATCHES(system.solver->solve(), std::runtime_error,
                         MessageMatches(ContainsSubstring("singular")));
  }
  SECTION("not square") {
    const Teuchos::RCP<const Map> rows = Teuchos::rcp(new Map(4, 0, world())),
                                  columns = Teuchos::rcp(new Map(3, 0, world()));
    const MatrixPtr A = Teuchos::rcp(new Matrix(rows, 3));
    for (const Global g : rows->getLocalElementList()) {
      const Global column = g % 3;
      const double one = 1;
      A->insertGlobalValues(g, 1, &one, &column);
    }
    A->fillComplete(columns, rows);
    CHECK_THROWS_AS(Solver(A, Teuchos::null, Teuchos::null), std::invalid_argument);
  }
  SECTION("a limit on memory") {
    const System system(distributed(generate("poisson2d", 20)));
    system.set([](auto& p) { p.set("memory_limit", 1000); });
    CHECK_THROWS_MATCHES(system.solver->numericFactorization(), std::runtime_error,
                         MessageMatches(ContainsSubstring("memory")));
  }
}

TEST_CASE("Amesos2: matrices from the tests of Amesos2", "[trilinos]") {
  const char* folder = std::getenv("LUTRA_MATRICES");
  if (folder == nullptr) SKIP("LUTRA_MATRICES names no folder");
  for (const std::string name : {"arc130", "494_bus", "bcsstk14"}) {
    CAPTURE(name);
    const auto read = read_matrix_market(std::string(folder) + "/" + name + ".mtx.xz");
    const System system(distributed(std::get<HostMatrix<double>>(read.matrix)), 2);
    system.solver->solve();
    CHECK(system.solver->report().errors.backward_componentwise.value_or(1) < 1e-12);
  }
}

}  // namespace
}  // namespace lutra::Test
