// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_TestKokkosTools.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

template <class Types>
using Krylov = KrylovSolver<typename Types::Scalar, typename Types::Space>;
template <class Types>
using Block = Kokkos::View<typename Types::Scalar**, Kokkos::LayoutLeft, typename Types::Memory>;

/// A five-point stencil with `wind` against symmetry; positive definite without.
template <class Types>
Matrix<Types> flow_matrix(int side, double wind) {
  std::vector<int> label;
  for (int k = 0; k < side * side; ++k) label.push_back(k);
  auto A = grid_matrix<Matrix<Types>>(side, label);
  for (std::size_t i = 0; i + 1 < A.row_map.size(); ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      const auto j = static_cast<std::size_t>(A.entries[p]);
      A.values[p] = as_scalar<typename Types::Scalar>(i == j ? 4.0 : j < i ? -1 - wind : -1 + wind);
    }
  }
  return A;
}

/// ‖b − op(A)·x‖₂ / ‖b‖₂ in double precision, of a column.
template <class MatrixType, class Scalar>
double residual(const MatrixType& A, Transposition op, const std::vector<Scalar>& x,
                const std::vector<Scalar>& b) {
  using Wide = decltype(Reference::widen(Scalar()));
  std::vector<Wide> r;
  for (const Scalar& value : b) r.push_back(Reference::widen(value));
  long double norm = 0, rest = 0;
  for (const Wide& value : r) norm += std::norm(value);
  for (std::size_t i = 0; i < x.size(); ++i) {
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      const Wide a =
          Reference::widen(op == Transposition::adjoint ? ScalarTraits<Scalar>::conjugate(value) : value);
      if (op == Transposition::none) r[i] -= a * Reference::widen(x[j]);
      if (op != Transposition::none) r[j] -= a * Reference::widen(x[i]);
    });
  }
  for (const Wide& value : r) rest += std::norm(value);
  return static_cast<double>(std::sqrt(rest / norm));
}

/// Right-hand sides of k known solutions, each another multiple, by columns.
template <class Types>
Block<Types> right_sides(const Matrix<Types>& A, std::size_t k) {
  const auto b = known_system(A).b;
  const Block<Types> B("B", b.size(), k);
  const auto host = Kokkos::create_mirror_view(B);
  for (std::size_t i = 0; i < b.size(); ++i)
    for (std::size_t c = 0; c < k; ++c)
      host(i, c) = b[i] * as_scalar<typename Types::Scalar>(static_cast<double>(c % 2 == 0 ? c + 1 : i % 3));
  Kokkos::deep_copy(B, host);
  return B;
}

template <class Types>
double worst_residual(const Matrix<Types>& A, Transposition op, const Block<Types>& X,
                      const Block<Types>& B) {
  double worst = 0;
  for (std::size_t c = 0; c < X.extent(1); ++c)
    worst = std::max(worst, residual(A, op, to_vector(Kokkos::subview(X, Kokkos::ALL, c)),
                                     to_vector(Kokkos::subview(B, Kokkos::ALL, c))));
  return worst;
}

template <class Scalar>
constexpr double tolerance = sizeof(RealOf<Scalar>) == 8 ? 1e-10 : 1e-5;

KrylovSolverOptions options_of(KrylovMethod method, Preconditioning preconditioning) {
  KrylovSolverOptions options;
  options.method = method;
  options.preconditioning = preconditioning;
  return options;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every Krylov method solves with every preconditioner, also transposed", "[solver]",
                        AllTypes) {
  using T = TestType;
  for (const KrylovMethod method : {KrylovMethod::gmres, KrylovMethod::bicgstab, KrylovMethod::cg}) {
    const auto A = flow_matrix<T>(9, method == KrylovMethod::cg ? 0.0 : 0.4);
    for (const Preconditioning kind :
         {Preconditioning::none, Preconditioning::jacobi, Preconditioning::ilu, Preconditioning::lu}) {
      Krylov<T> solver(options_of(method, kind));
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      for (const Transposition op :
           {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
        const auto B = right_sides<T>(A, 3);
        const Block<T> X("X", B.extent(0), 3);
        REQUIRE(solver.solve(B, X, op) == Status::success);
        const Report& report = solver.report();
        CAPTURE(report.choice.method, report.choice.precond, *report.iterations);
        CHECK(worst_residual<T>(A, op, X, B) <= 1.01 * tolerance<typename T::Scalar>);
        CHECK(static_cast<std::int64_t>(report.residual_history.size()) >= *report.iterations);
        CHECK(report.residual_history.back() <= tolerance<typename T::Scalar>);
        CHECK(*report.errors.backward_normwise < 10 * tolerance<typename T::Scalar>);
        if (kind == Preconditioning::lu) CHECK(*report.iterations <= 4);
        if (kind == Preconditioning::ilu) CHECK(*report.iterations < 40);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("preconditioning sides, several blocks of columns, and X in place of B", "[solver]",
                        AllTypes) {
  using T = TestType;
  const auto A = flow_matrix<T>(8, 0.3);
  for (const PreconditionSide side :
       {PreconditionSide::right, PreconditionSide::left, PreconditionSide::split}) {
    KrylovSolverOptions options;
    options.side = side;
    options.restart = 5;
    Krylov<T> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    const auto B = right_sides<T>(A, 19);
    const Block<T> X("X", B.extent(0), 19);
    Kokkos::deep_copy(X, B);
    REQUIRE(solver.solve(X, X) == Status::success);
    CHECK(worst_residual<T>(A, Transposition::none, X, B) <= 1.01 * tolerance<typename T::Scalar>);
  }
}

TEMPLATE_LIST_TEST_CASE("each side with each incomplete method, for A, its transpose and its adjoint",
                        "[solver]", AllTypes) {
  using T = TestType;
  std::mt19937 random(51);
  auto A = flow_matrix<T>(7, 0.3);
  for (std::size_t p = 0; p < A.values.size(); ++p)  // complex where that is possible
    A.values[p] *=
        Kokkos::abs(A.values[p]) < 2 ? random_value<typename T::Scalar>(random, 0) : typename T::Scalar(1);
  for (const KrylovMethod method : {KrylovMethod::gmres, KrylovMethod::bicgstab}) {
    for (const PreconditionSide side :
         {PreconditionSide::right, PreconditionSide::left, PreconditionSide::split}) {
      for (const IluMethod ilu : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
        auto options = options_of(method, Preconditioning::ilu);
        options.side = side;
        options.ilu.method = ilu;
        options.ilu.ordering = ilu == IluMethod::iluk ? Ordering::rcm : Ordering::natural;
        Krylov<T> solver(options);
        succeed(solver.analyze(A));
        succeed(solver.factorize(A));
        for (const Transposition op :
             {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
          const auto B = right_sides<T>(A, 2);
          const Block<T> X("X", B.extent(0), 2);
          CAPTURE(solver.report().choice.method, solver.report().choice.precond);
          REQUIRE(solver.solve(B, X, op) == Status::success);
          CHECK(worst_residual<T>(A, op, X, B) <= 1.01 * tolerance<typename T::Scalar>);
          CHECK(*solver.report().iterations < 40);
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("systems on the host, and running out of memory during their solve", "[solver]",
                        AllTypes) {
  using T = TestType;
  using Scalar = typename T::Scalar;
  const auto A = flow_matrix<T>(8, 0.2);
  const auto system = known_system(A);
  auto B = system.b;
  B.insert(B.end(), system.b.begin(), system.b.end());
  bool was_short = false, was_enough = false;
  KrylovSolverOptions options;
  options.restart = 30;
  for (std::size_t limit = 1 << 14; limit < (1 << 24) && !was_enough; limit += limit / 8) {
    options.memory_limit = limit;
    Krylov<T> solver(options);
    std::vector<Scalar> X(B.size());
    CHECK_THROWS_AS(solver.solve_host(B, X), CallOrderError);
    try {
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
    } catch (const OutOfMemoryError&) {
      continue;
    }
    try {
      const Status status = solver.solve_host(B, X);
      REQUIRE(status == Status::success);
      CHECK(residual(A, Transposition::none, std::vector<Scalar>(X.begin(), X.begin() + 64), system.b) <=
            1.01 * tolerance<Scalar>);
      CHECK(std::vector<Scalar>(X.begin(), X.begin() + 64) == std::vector<Scalar>(X.begin() + 64, X.end()));
      was_enough = true;
    } catch (const OutOfMemoryError&) {
      was_short = true;
      if (lutra::Impl::is_host_space<typename T::Space>)  // else the copies of B and X may not have fitted
        CHECK(solver.report().status == Status::out_of_memory);
    }
  }
  CHECK(was_short);
  CHECK(was_enough);
}

TEMPLATE_LIST_TEST_CASE("an iteration that does not converge reports it and returns its iterate", "[solver]",
                        AllTypes) {
  using T = TestType;
  const auto A = flow_matrix<T>(12, 0.3);
  auto options = options_of(KrylovMethod::gmres, Preconditioning::jacobi);
  options.max_iterations = 3;
  Krylov<T> solver(options);
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  const auto B = right_sides<T>(A, 1);
  const Block<T> X("X", B.extent(0), 1);
  CHECK(solver.solve(B, X) == Status::not_converged);
  CHECK(solver.report().iterations == 3);
  const double rest = worst_residual<T>(A, Transposition::none, X, B);
  CHECK(rest < 0.9);
  CHECK(rest > tolerance<typename T::Scalar>);
  CHECK(std::abs(solver.report().residual_history.back() - rest) < 1e-3 * rest);
  CHECK(describe(solver.report()).find("not converged after 3 iterations") != std::string::npos);
}

TEMPLATE_LIST_TEST_CASE("singular systems never end in a false success", "[solver]", AllTypes) {
  using T = TestType;
  const double o = nothing;
  SECTION("no pivot, no shift") {
    Krylov<T> solver;
    const auto A = from_dense<Matrix<T>>({{1, 2}, {0, 0}});
    succeed(solver.analyze(A));
    CHECK(solver.factorize(A) == Status::breakdown);
    const Block<T> X("X", 2, 1);
    Kokkos::deep_copy(X, as_scalar<typename T::Scalar>(7));
    CHECK(solver.solve(X, X) == Status::breakdown);
    CHECK(to_vector(Kokkos::subview(X, Kokkos::ALL, 0)) ==
          std::vector<typename T::Scalar>(2, as_scalar<typename T::Scalar>(7)));
  }
  SECTION("no entries at all, transposed too") {
    Matrix<T> A;
    A.n_rows = A.n_cols = 2;
    A.row_map = {0, 0, 0};
    for (const Transposition op : {Transposition::none, Transposition::transposed}) {
      Krylov<T> solver(options_of(KrylovMethod::cg, Preconditioning::jacobi));
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      const auto b = to_space<typename T::Space>(std::vector<typename T::Scalar>{
          as_scalar<typename T::Scalar>(1), as_scalar<typename T::Scalar>(2)});
      CHECK(solver.solve(b, b, op) == Status::breakdown);
    }
  }
  SECTION("inconsistent") {
    for (const Preconditioning kind :
         {Preconditioning::none, Preconditioning::jacobi, Preconditioning::ilu}) {
      Krylov<T> solver(options_of(KrylovMethod::gmres, kind));
      const auto A = from_dense<Matrix<T>>({{1, 1, o}, {1, 1, o}, {o, o, 1}});
      succeed(solver.analyze(A));
      succeed(solver.factorize(A));
      const auto b = to_space<typename T::Space>(
          std::vector<typename T::Scalar>{as_scalar<typename T::Scalar>(1), as_scalar<typename T::Scalar>(2),
                                          as_scalar<typename T::Scalar>(3)});
      const auto x = to_space<typename T::Space>(std::vector<typename T::Scalar>(3));
      const Status status = solver.solve(b, x);
      CHECK((status == Status::not_converged || status == Status::breakdown));
    }
  }
  SECTION("structurally, with complete factors") {
    Krylov<T> solver(options_of(KrylovMethod::gmres, Preconditioning::lu));
    const auto A = from_dense<Matrix<T>>({{1, 1, o}, {1, 1, o}, {1, 1, o}});
    CHECK(solver.analyze(A) == Status::structurally_singular);
    CHECK(solver.report().status == Status::structurally_singular);
    CHECK(solver.factorize(A) == Status::structurally_singular);
    const Block<T> X("X", 3, 1);
    Kokkos::deep_copy(X, as_scalar<typename T::Scalar>(7));
    CHECK(solver.solve(X, X) == Status::structurally_singular);
    CHECK(to_vector(Kokkos::subview(X, Kokkos::ALL, 0)) ==
          std::vector<typename T::Scalar>(3, as_scalar<typename T::Scalar>(7)));
  }
  SECTION("an indefinite matrix for CG") {
    auto options = options_of(KrylovMethod::cg, Preconditioning::none);
    Krylov<T> solver(options);
    const auto A = from_dense<Matrix<T>>({{1, 0}, {0, -1}});
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    const auto b = to_space<typename T::Space>(
        std::vector<typename T::Scalar>{as_scalar<typename T::Scalar>(1), as_scalar<typename T::Scalar>(1)});
    const auto x = to_space<typename T::Space>(std::vector<typename T::Scalar>(2));
    CHECK(solver.solve(b, x) == Status::breakdown);
    CHECK(describe(solver.report()).find("broke down") != std::string::npos);
  }
}

TEMPLATE_LIST_TEST_CASE("a time loop: new values on one pattern, with the last X as initial guess",
                        "[solver]", AllTypes) {
  using T = TestType;
  auto A = flow_matrix<T>(10, 0.2);
  KrylovSolverOptions options;
  options.start_from_x = true;
  Krylov<T> solver(options);
  succeed(solver.analyze(A));
  const auto B = right_sides<T>(A, 1);
  const Block<T> X("X", B.extent(0), 1);
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i + 1 < A.row_map.size(); ++i)
      A.values[static_cast<std::size_t>(A.row_map[i])] *= as_scalar<typename T::Scalar>(1.01);
    succeed(solver.factorize(A));
    REQUIRE(solver.solve(B, X) == Status::success);
    CHECK(worst_residual<T>(A, Transposition::none, X, B) <= 1.01 * tolerance<typename T::Scalar>);
    REQUIRE(solver.solve(B, X) == Status::success);
    CHECK(*solver.report().iterations <= 1);  // X was the solution
  }
  CHECK(solver.report().times.refactor.has_value());
}

TEMPLATE_LIST_TEST_CASE("later time steps of a Krylov solver allocate nothing on the device", "[solver]",
                        AllTypes) {
  using T = TestType;
  using Space = typename T::Space;
  const auto host = flow_matrix<T>(20, 0.2);
  const auto A = to_space<Space>(host);
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut}) {
    KrylovSolverOptions options;
    options.ilu.method = method;
    Krylov<T> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    const auto B = right_sides<T>(host, 1);
    const Block<T> X("X", B.extent(0), 1);
    REQUIRE(solver.solve(B, X) == Status::success);
    for (int step = 0; step < 2; ++step) {
      const DeviceEvents<Space> events;
      succeed(solver.factorize(A));
      const Status status = solver.solve(B, X);
      INFO("method " << static_cast<int>(method) << ", step " << step << "\n" << events.describe());
      CHECK(status == Status::success);
      CHECK(events.allocations() == 0);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("under a memory limit a Krylov solver solves fewer columns at once or reports it",
                        "[solver][errors]", AllTypes) {
  using T = TestType;
  const auto A = flow_matrix<T>(10, 0.2);
  const auto B = right_sides<T>(A, 8);
  const Block<T> X("X", B.extent(0), 8);
  KrylovSolverOptions options;
  options.restart = 60;
  const auto peak = [&](std::size_t columns) {
    Krylov<T> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    const auto first = std::pair(std::size_t(0), columns);
    REQUIRE(solver.solve(Kokkos::subview(B, Kokkos::ALL, first), Kokkos::subview(X, Kokkos::ALL, first)) ==
            Status::success);
    return solver.report().memory.device_peak_bytes;
  };
  const auto of_two = peak(2);
  REQUIRE(of_two < peak(8));
  options.memory_limit = static_cast<std::size_t>(of_two);
  Krylov<T> some(options);
  succeed(some.analyze(A));
  succeed(some.factorize(A));
  CHECK(some.solve(B, X) == Status::success);
  CHECK(worst_residual<T>(A, Transposition::none, X, B) <= 1.01 * tolerance<typename T::Scalar>);
  // Below the shortest basis of a column, eight vectors, with what the factors take.
  MemoryBudget budget;
  options.memory_limit = 0;
  Krylov<T> none(options, typename T::Space(), budget);
  succeed(none.analyze(A));
  succeed(none.factorize(A));
  budget.set_limit(budget.used_bytes() + 4 * B.extent(0) * sizeof(typename T::Scalar));
  CHECK_THROWS_AS(none.solve(B, X), OutOfMemoryError);
  CHECK(none.report().status == Status::out_of_memory);
  CHECK_FALSE(none.report().errors.backward_normwise.has_value());
  CHECK_FALSE(none.report().iterations.has_value());
}

TEMPLATE_LIST_TEST_CASE("a Krylov solver accepts a user permutation and unchecked values", "[solver]",
                        AllTypes) {
  using T = TestType;
  const auto A = flow_matrix<T>(7, 0.2);
  const auto B = right_sides<T>(A, 1);
  const Block<T> X("X", B.extent(0), 1);
  KrylovSolverOptions options;
  options.validate_input = false;
  options.ilu.ordering = Ordering::user;
  for (std::int64_t k = 49; k-- > 0;) options.ilu.user_permutation.push_back(k);
  Krylov<T> solver(options);
  succeed(solver.analyze(A));
  CHECK(solver.report().choice.ordering == "user");
  CHECK_THROWS_AS(solver.factorize(flow_matrix<T>(6, 0.2)), InputError);
  auto broken = A;
  broken.values[0] = as_scalar<typename T::Scalar>(std::numeric_limits<double>::quiet_NaN());
  CHECK(solver.factorize(broken) == Status::breakdown);
  CHECK(solver.solve(B, X) == Status::breakdown);
  succeed(solver.factorize(A));
  REQUIRE(solver.solve(B, X) == Status::success);
  CHECK(worst_residual<T>(A, Transposition::none, X, B) <= 1.01 * tolerance<typename T::Scalar>);
  options.ilu.user_permutation.back() = 1;
  CHECK_THROWS_AS(Krylov<T>(options).analyze(A), InputError);
}

TEMPLATE_LIST_TEST_CASE("a Krylov solver with LU follows its options for perturbed pivots", "[solver]",
                        AllTypes) {
  using T = TestType;
  const auto A = flow_matrix<T>(8, 0.2);
  const auto B = right_sides<T>(A, 1);
  const Block<T> X("X", B.extent(0), 1);
  for (const double perturbation : {0.0, 10.0}) {
    auto options = options_of(KrylovMethod::gmres, Preconditioning::lu);
    options.lu.perturbation = perturbation;
    Krylov<T> solver(options);
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
    CHECK((*solver.report().pivots.perturbed > 0) == (perturbation > 0));
    REQUIRE(solver.solve(B, X) == Status::success);
    CHECK(worst_residual<T>(A, Transposition::none, X, B) <= 1.01 * tolerance<typename T::Scalar>);
  }
}

TEMPLATE_LIST_TEST_CASE("a refused call leaves a Krylov solver unchanged", "[solver][errors]", AllTypes) {
  using T = TestType;
  const auto A = flow_matrix<T>(4, 0.1);
  Krylov<T> solver;
  const auto B = right_sides<T>(A, 1);
  const Block<T> X("X", B.extent(0), 1);
  CHECK_THROWS_AS(solver.factorize(A), CallOrderError);
  CHECK_THROWS_AS(solver.solve(B, X), CallOrderError);
  succeed(solver.analyze(A));
  CHECK_THROWS_AS(solver.solve(B, X), CallOrderError);
  succeed(solver.factorize(A));
  REQUIRE(solver.solve(B, X) == Status::success);
  CHECK_THROWS_AS(solver.solve(B, Block<T>("X", B.extent(0), 2)), InputError);
  CHECK_THROWS_AS(solver.factorize(flow_matrix<T>(5, 0.1)), InputError);
  const Block<T> bad("B", B.extent(0), 2);
  Kokkos::deep_copy(Kokkos::subview(bad, 3, 1),
                    as_scalar<typename T::Scalar>(std::numeric_limits<double>::quiet_NaN()));
  const Block<T> untouched("X", B.extent(0), 2);
  CHECK_THROWS_AS(solver.solve(bad, untouched), InputError);
  CHECK(to_vector(Kokkos::subview(untouched, Kokkos::ALL, 0)) ==
        std::vector<typename T::Scalar>(B.extent(0)));
  CHECK(solver.report().status == Status::success);
  KrylovSolverOptions options;
  options.side = PreconditionSide::split;
  options.preconditioning = Preconditioning::lu;
  CHECK_THROWS_AS(Krylov<T>(options), InputError);
  options = {};
  options.method = KrylovMethod::cg;
  options.side = PreconditionSide::left;
  CHECK_THROWS_AS(Krylov<T>(options), InputError);
  options = {};
  options.restart = 0;
  CHECK_THROWS_AS(Krylov<T>(options), InputError);
  options = {};
  options.memory_limit = 300;
  CHECK_THROWS_AS(Krylov<T>(options).analyze(A), OutOfMemoryError);
}

}  // namespace lutra::Test
