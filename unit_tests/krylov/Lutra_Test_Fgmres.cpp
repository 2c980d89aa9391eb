// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <limits>

#include "Lutra_DiagonalPreconditioner.hpp"
#include "Lutra_Fgmres.hpp"
#include "Lutra_KrylovTestSystems.hpp"
#include "Lutra_TestKokkosTools.hpp"

namespace lutra::Test {
namespace {

/// A solve with its operator, vectors and workspace.
template <class Types>
struct FgmresRun {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;

  FgmresRun(const Matrix<Types>& matrix, std::vector<Scalar> right_side, int restart = 30)
      : A(matrix),
        b(std::move(right_side)),
        B(to_device<Types>({b})),
        X("X", b.size(), 1),
        R("R", b.size(), 1),
        work(Fgmres<Scalar, Space>(Space(), b.size(), restart, MemoryBudget())) {
    options.residual_tolerance = 50 * static_cast<double>(epsilon_of<Scalar>);
    options.max_iterations = 200;
  }

  template <class M>
  KrylovOutcome solve(M& preconditioner, Transposition op = Transposition::none) {
    return work.solve(Space(), A.A, preconditioner, op, B, X, R, options);
  }
  KrylovOutcome solve() {
    NoPreconditioner<Types> none;
    return solve(none);
  }

  DeviceOperator<Types> A;
  std::vector<Scalar> b;
  Rows<Types> B, X, R;
  Fgmres<Scalar, Space> work;
  KrylovOptions options;
};

/// The first of each `period` calls solves with the upper triangle of A; the others scale by their number.
template <class Types>
class ChangingPreconditioner final : public Preconditioner<typename Types::Scalar, typename Types::Space> {
 public:
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;

  ChangingPreconditioner(Matrix<Types> A, int period) : m_triangle(upper(std::move(A))), m_period(period) {}
  void apply(const Space& exec, Transposition op, const Rows<Types>& B, const Rows<Types>& X) override {
    const int phase = calls++ % m_period;
    if (phase == 0) return m_triangle.apply(exec, op, B, X);
    Kokkos::parallel_for(
        Kokkos::RangePolicy<Space>(exec, 0, X.extent(0)),
        KOKKOS_LAMBDA(const std::size_t i) { X(i, 0) = B(i, 0) * RealOf<Scalar>(phase); });
  }

  int calls = 0;

 private:
  static Matrix<Types> upper(Matrix<Types> A) {
    for (std::size_t i = 0, n = static_cast<std::size_t>(A.n_rows); i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) A.values[i * n + j] = Scalar(0);
    return A;
  }

  DenseFactorization<Types> m_triangle;
  int m_period;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("FGMRES agrees with a dense solve", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(11);
  for (const int n : {1, 2, 7, 40}) {
    const auto A = dense_matrix<Matrix<TestType>>(n, random);
    FgmresRun<TestType> run(A, random_vector<Scalar>(static_cast<std::size_t>(n), random));
    const auto outcome = run.solve();
    CAPTURE(n, outcome.iterations);
    CHECK(outcome.stop == KrylovStop::converged);
    CHECK(outcome.iterations <= n);
    CHECK(outcome.history.size() == static_cast<std::size_t>(outcome.iterations) + 1);
    const auto x = to_host(run.X);
    const auto exact = Reference::dense_solve(A, run.b);
    for (std::size_t i = 0; i < x.size(); ++i)
      CHECK(std::abs(Reference::widen(x[i]) - exact[i]) <= 1e4L * epsilon_of<Scalar>);
  }
}

TEMPLATE_LIST_TEST_CASE("residual norms of a cycle never grow and are those of X", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(12);
  const auto A = dense_matrix<Matrix<TestType>>(50, random);
  for (const int iterations : {1, 2, 4}) {
    FgmresRun<TestType> run(A, random_vector<Scalar>(50, random));
    run.options.max_iterations = iterations;
    const auto outcome = run.solve();
    CHECK(outcome.stop == KrylovStop::max_iterations);
    CHECK(outcome.iterations == iterations);
    for (std::size_t j = 0; j + 1 < outcome.history.size(); ++j)
      CHECK(outcome.history[j + 1] <= outcome.history[j]);
    const double expected = outcome.history.back() / outcome.history.front();
    CHECK(std::abs(relative_residual(A, to_host(run.X), run.b) - expected) <=
          100 * double(epsilon_of<Scalar>));
  }
}

TEMPLATE_LIST_TEST_CASE("an exact preconditioner takes one iteration, transposed and adjoint too", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(13);
  const auto A = dense_matrix<Matrix<TestType>>(20, random);
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    const auto op_A = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
    FgmresRun<TestType> run(op_A, random_vector<Scalar>(20, random));
    DenseFactorization<TestType> exact(A);
    const auto outcome = run.solve(exact, op);
    CHECK(outcome.stop == KrylovStop::converged);
    CHECK(outcome.iterations == 1);  // a happy breakdown
    CHECK(relative_residual(op_A, to_host(run.X), run.b) <= run.options.residual_tolerance);
  }
}

TEMPLATE_LIST_TEST_CASE("k distinct eigenvalues take k iterations: a happy breakdown", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::vector<std::vector<double>> picture(30, std::vector<double>(30, nothing));
  for (std::size_t i = 0; i < 30; ++i) picture[i][i] = static_cast<double>(1 + i % 3);
  const auto A = from_dense<Matrix<TestType>>(picture);
  FgmresRun<TestType> run(A, std::vector<Scalar>(30, Scalar(1)));
  const auto outcome = run.solve();
  CHECK(outcome.stop == KrylovStop::converged);
  CHECK(outcome.iterations == 3);
  const auto x = to_host(run.X);
  for (std::size_t i = 0; i < 30; ++i)
    CHECK(std::abs(Reference::widen(x[i]) - 1.0L / static_cast<long double>(1 + i % 3)) <=
          50 * epsilon_of<Scalar>);
}

TEMPLATE_LIST_TEST_CASE("restarts reach the same solution in more iterations", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(14);
  const auto A = dense_matrix<Matrix<TestType>>(60, random);
  const auto b = random_vector<Scalar>(60, random);
  FgmresRun<TestType> whole(A, b, 60), restarted(A, b, 2);
  const auto once = whole.solve(), often = restarted.solve();
  CHECK(once.stop == KrylovStop::converged);
  CHECK(often.stop == KrylovStop::converged);
  CHECK(often.iterations > restarted.work.restart());
  CHECK(often.iterations >= once.iterations);
  CHECK(relative_residual(A, to_host(restarted.X), b) <= 2 * restarted.options.residual_tolerance);
}

TEMPLATE_LIST_TEST_CASE("a zero right-hand side has a zero solution", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(15);
  FgmresRun<TestType> run(dense_matrix<Matrix<TestType>>(5, random), std::vector<Scalar>(5, Scalar(0)));
  Kokkos::deep_copy(run.X, Scalar(3));
  const auto outcome = run.solve();
  CHECK(outcome.stop == KrylovStop::converged);
  CHECK(outcome.iterations == 0);
  CHECK(to_host(run.X) == std::vector<Scalar>(5, Scalar(0)));
}

TEMPLATE_LIST_TEST_CASE("an initial guess that solves the system is not changed", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  FgmresRun<TestType> run(from_dense<Matrix<TestType>>({{2, nothing}, {nothing, 4}}), {Scalar(2), Scalar(8)});
  Kokkos::deep_copy(run.X, to_device<TestType>({{Scalar(1), Scalar(2)}}));
  const auto outcome = run.solve();
  CHECK(outcome.stop == KrylovStop::converged);
  CHECK(outcome.iterations == 0);
  CHECK(to_host(run.X) == std::vector<Scalar>{Scalar(1), Scalar(2)});
}

TEMPLATE_LIST_TEST_CASE("a cyclic shift stagnates for n - 1 iterations", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const std::size_t n = 6;
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) picture[i][(i + 1) % n] = 1;
  const auto A = from_dense<Matrix<TestType>>(picture);
  std::vector<Scalar> b(n, Scalar(0));
  b[0] = Scalar(1);
  FgmresRun<TestType> short_cycles(A, b, static_cast<int>(n) - 1);
  const auto outcome = short_cycles.solve();
  CHECK(outcome.stop == KrylovStop::stagnated);
  CHECK(outcome.iterations == static_cast<int>(n) - 1);
  for (const double norm : outcome.history) CHECK(norm == 1);
  CHECK(to_host(short_cycles.X) == std::vector<Scalar>(n, Scalar(0)));
  FgmresRun<TestType> long_cycle(A, b, static_cast<int>(n));
  CHECK(long_cycle.solve().stop == KrylovStop::converged);
  CHECK(to_host(long_cycle.X)[1] == Scalar(1));
}

TEMPLATE_LIST_TEST_CASE("an inconsistent singular system ends with the least residual", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = from_dense<Matrix<TestType>>({{1, nothing}, {nothing, 0}});
  FgmresRun<TestType> run(A, {Scalar(3), Scalar(4)});
  const auto outcome = run.solve();
  CHECK(outcome.stop == KrylovStop::stagnated);
  CHECK(std::abs(relative_residual(A, to_host(run.X), run.b) - 0.8) <= 1e-5);
}

TEMPLATE_LIST_TEST_CASE("NaN ends an iteration and does not reach X", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(16);
  const auto A = dense_matrix<Matrix<TestType>>(20, random);
  for (const int calls : {0, 1, 2, 3}) {  // one product for the first residual, then one for each iteration
    FgmresRun<TestType> run(A, random_vector<Scalar>(20, random));
    const FailingOperator<TestType> failing(run.A.A, calls);
    NoPreconditioner<TestType> none;
    const auto outcome =
        run.work.solve(Space(), failing, none, Transposition::none, run.B, run.X, run.R, run.options);
    CHECK(outcome.stop == KrylovStop::not_finite);
    CHECK(outcome.iterations == std::max(0, calls - 1));
    for (const Scalar& x : to_host(run.X)) CHECK(ScalarTraits<Scalar>::is_finite(x));
  }
  FgmresRun<TestType> run(A,
                          std::vector<Scalar>(20, Scalar(std::numeric_limits<RealOf<Scalar>>::infinity())));
  CHECK(run.solve().stop == KrylovStop::not_finite);
  CHECK(to_host(run.X) == std::vector<Scalar>(20, Scalar(0)));
}

TEMPLATE_LIST_TEST_CASE("a cycle synchronizes once per iteration and allocates nothing", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(17);
  FgmresRun<TestType> run(dense_matrix<Matrix<TestType>>(40, random), random_vector<Scalar>(40, random));
  NoPreconditioner<TestType> none;
  KrylovOutcome outcome;
  const Space exec;
  const DeviceEvents<Space> events;
  run.work.cycle(exec, run.A.A, none, Transposition::none, run.B, run.R, 0.0, 5, outcome);
  INFO(events.describe());
  CHECK(outcome.iterations == 5);
  CHECK(events.waits() == 6);
  CHECK(events.allocations() == 0);
}

TEMPLATE_LIST_TEST_CASE("scaling A and B by powers of two changes only exponents in FGMRES",
                        "[krylov][scale]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(19);
  const auto A = dense_matrix<Matrix<TestType>>(40, random);
  const auto b = random_vector<Scalar>(40, random);
  NoPreconditioner<TestType> none;
  const int far = sizeof(RealOf<Scalar>) == 8 ? 900 : 90;
  const auto times = [](auto values, int e) {
    for (Scalar& value : values) value *= std::ldexp(RealOf<Scalar>(1), e);
    return values;
  };
  FgmresRun<TestType> plain(A, b, 4);
  const auto expected = plain.solve(none);
  for (const auto& [p, q] :
       std::vector<std::pair<int, int>>{{far, 0}, {-far, 0}, {far, far}, {-far, -far}, {0, far}, {0, -far}}) {
    CAPTURE(p, q);
    auto scaled = A;
    scaled.values = times(A.values, p);
    FgmresRun<TestType> run(scaled, times(b, q), 4);
    const auto outcome = run.solve(none);
    CHECK(outcome.stop == expected.stop);
    CHECK(outcome.history == expected.history);
    CHECK(to_host(run.X) == times(to_host(plain.X), q - p));
  }
}

TEMPLATE_LIST_TEST_CASE("FGMRES refuses a preconditioner of another order", "[krylov][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(20);
  FgmresRun<TestType> run(dense_matrix<Matrix<TestType>>(5, random), random_vector<Scalar>(5, random));
  DiagonalPreconditioner<Scalar, Space> other(Space(), 6, MemoryBudget());
  CHECK_THROWS_WITH(run.solve(other),
                    "preconditioner: it is for a matrix of order 6, and the matrix has the order 5");
}

TEMPLATE_LIST_TEST_CASE("the workspace shrinks to fit the budget", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const std::size_t n = 1000, vector = n * sizeof(Scalar);
  const PeakBytes peak;
  const auto small = Fgmres<Scalar, Space>(Space(), n, 60, MemoryBudget(62 * vector));
  CHECK(peak.bytes() <= 62 * vector);
  CHECK(small.restart() == 30);
  CHECK_THROWS_AS((Fgmres<Scalar, Space>(Space(), n, 60, MemoryBudget(8 * vector))), OutOfMemoryError);
}

TEMPLATE_LIST_TEST_CASE("a preconditioner may change from call to call and across restarts", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(18);
  const auto A = dense_matrix<Matrix<TestType>>(40, random);
  for (const int period : {2, 3, 5}) {  // 4 iterations a cycle: restarts come within a period and at its end
    FgmresRun<TestType> run(A, random_vector<Scalar>(40, random), 4);
    ChangingPreconditioner<TestType> changing(A, period);
    const auto outcome = run.solve(changing);
    CAPTURE(period, outcome.iterations);
    CHECK(outcome.stop == KrylovStop::converged);
    CHECK(changing.calls == outcome.iterations);  // directions are kept: no call for the sum
    CHECK(outcome.restarts == (outcome.iterations - 1) / 4);
    CHECK(outcome.restarts > 0);
    const double residual = relative_residual(A, to_host(run.X), run.b);
    CHECK(residual <= run.options.residual_tolerance);
    CHECK(std::abs(residual - outcome.residual) <= 20 * double(epsilon_of<Scalar>));
  }
}

}  // namespace lutra::Test
