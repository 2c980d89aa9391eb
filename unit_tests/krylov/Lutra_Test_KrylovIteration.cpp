// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <limits>

#include "Lutra_DiagonalPreconditioner.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_KrylovTestSystems.hpp"
#include "Lutra_TestKokkosTools.hpp"

namespace lutra::Test {
namespace {

constexpr KrylovMethod all_methods[] = {KrylovMethod::cg, KrylovMethod::bicgstab, KrylovMethod::gmres};

/// A system with several right-hand sides, and a method for it.
template <class Types>
struct KrylovRun {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;

  KrylovRun(const Matrix<Types>& matrix, std::vector<std::vector<Scalar>> right_sides, KrylovMethod which,
            int restart = 30)
      : A(matrix),
        b(std::move(right_sides)),
        B(to_device<Types>(b)),
        X("X", b.front().size(), b.size()),
        method(make_krylov_iteration<Scalar>(Space(), which, b.front().size(), b.size(), restart,
                                             MemoryBudget())) {
    options.residual_tolerance = 50 * static_cast<double>(epsilon_of<Scalar>);
    options.max_iterations = 400;
  }
  std::vector<KrylovOutcome> solve(Preconditioner<Scalar, Space>* M = nullptr,
                                   Transposition op = Transposition::none) {
    return method->solve(Space(), A.A, M, op, B, X, options);
  }

  DeviceOperator<Types> A;
  std::vector<std::vector<Scalar>> b;
  Rows<Types> B, X;
  std::unique_ptr<KrylovIteration<Scalar, Space>> method;
  KrylovOptions options;
};

/// A Hermitian matrix, positive definite with condition about 10 by its diagonal, if `shift` is n.
template <class MatrixType>
MatrixType hermitian_matrix(int n, double shift, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  auto matrix = dense_matrix<MatrixType>(n, random);
  const auto at = [&](int i, int j) -> Scalar& { return matrix.values[static_cast<std::size_t>(i * n + j)]; };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) at(i, j) = ScalarTraits<Scalar>::conjugate(at(j, i));
    at(i, i) = as_scalar<Scalar>(shift * (1 + 0.05 * i));
  }
  return matrix;
}

/// Stops, histories and residuals of all columns, recomputed.
template <class Types>
void check_converged(const Matrix<Types>& A, const KrylovRun<Types>& run,
                     const std::vector<KrylovOutcome>& outcomes) {
  using Scalar = typename Types::Scalar;
  REQUIRE(outcomes.size() == run.b.size());
  for (std::size_t c = 0; c < outcomes.size(); ++c) {
    const KrylovOutcome& outcome = outcomes[c];
    CAPTURE(c, outcome.iterations, outcome.residual, outcome.restarts);
    CHECK(outcome.stop == KrylovStop::converged);
    CHECK(outcome.residual <= run.options.residual_tolerance);
    CHECK(outcome.history.size() == static_cast<std::size_t>(outcome.iterations) + 1);
    const double residual = relative_residual(A, to_host(run.X, c), run.b[c]);
    CHECK(std::abs(residual - outcome.residual) <= 20 * double(epsilon_of<Scalar>));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("each Krylov method solves each column to the tolerance", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  for (const KrylovMethod method : all_methods) {
    for (const int n : {1, 2, 40, 700}) {
      for (const std::size_t columns : {1, 3}) {
        std::mt19937 random(21);
        CAPTURE(static_cast<int>(method), n, columns);
        auto A = n <= 40 ? hermitian_matrix<Matrix<TestType>>(n, 2.0 * n, random)
                         : banded_matrix<Matrix<TestType>>(n, {1, 7});
        if (n > 40) {
          for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
            for (auto p = A.row_map[i]; p < A.row_map[i + 1]; ++p)
              A.values[std::size_t(p)] =
                  as_scalar<Scalar>(std::size_t(A.entries[std::size_t(p)]) == i ? 5.0 : -1.0);
        }
        KrylovRun<TestType> run(A, random_vectors<Scalar>(std::size_t(n), columns, random), method);
        check_converged(A, run, run.solve());
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("columns of one solve converge independently", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const std::size_t n = 30;
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) picture[i][i] = static_cast<double>(1 + i % 5);
  const auto A = from_dense<Matrix<TestType>>(picture);
  // k eigenvalues in the right-hand side take k iterations; column 1 is zero, column 3 already solved
  std::vector<std::vector<Scalar>> b(4, std::vector<Scalar>(n, Scalar(0)));
  for (std::size_t i = 0; i < n; ++i) {
    b[0][i] = Scalar(1);
    b[2][i] = i % 5 < 2 ? as_scalar<Scalar>(1e-8) : Scalar(0);
    b[3][i] = as_scalar<Scalar>(picture[i][i]);
  }
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::gmres}) {
    KrylovRun<TestType> run(A, b, method);
    auto start = std::vector<std::vector<Scalar>>(4, std::vector<Scalar>(n, Scalar(0)));
    start[1].assign(n, Scalar(7));
    start[3].assign(n, Scalar(1));
    Kokkos::deep_copy(run.X, to_device<TestType>(start));
    const auto outcomes = run.solve();
    for (const KrylovOutcome& outcome : outcomes) CHECK(outcome.stop == KrylovStop::converged);
    CHECK(outcomes[0].iterations == 5);
    CHECK(outcomes[1].iterations == 0);
    CHECK(outcomes[2].iterations == 2);
    CHECK(outcomes[3].iterations == 0);
    CHECK(to_host(run.X, 1) == std::vector<Scalar>(n, Scalar(0)));
    CHECK(to_host(run.X, 3) == std::vector<Scalar>(n, Scalar(1)));
    CHECK(relative_residual(A, to_host(run.X, 2), b[2]) <= run.options.residual_tolerance);
  }
}

TEMPLATE_LIST_TEST_CASE("sides of a preconditioner, transposed and adjoint too", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(23);
  const int n = 30;
  const auto A = dense_matrix<Matrix<TestType>>(n, random);
  auto L = dense_matrix<Matrix<TestType>>(n, random);  // A ≈ L·U for U = (1/2)·diag(A)·L⁻¹ nearly
  auto U = A;
  for (std::size_t i = 0; i < std::size_t(n); ++i) {
    for (std::size_t j = 0; j < std::size_t(n); ++j) {
      auto &l = L.values[i * n + j], &u = U.values[i * n + j];
      l = i == j ? as_scalar<Scalar>(2)
                 : (j < i ? A.values[i * n + j] / Scalar(RealOf<Scalar>(n)) : Scalar(0));
      u = i == j ? as_scalar<Scalar>(n) : (j > i ? A.values[i * n + j] / Scalar(2) : Scalar(0));
    }
  }
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    const auto op_A = op == Transposition::none ? A : Reference::transpose(A, op == Transposition::adjoint);
    for (const auto side : {PreconditionSide::right, PreconditionSide::left, PreconditionSide::split}) {
      for (const KrylovMethod method : {KrylovMethod::bicgstab, KrylovMethod::gmres}) {
        CAPTURE(static_cast<int>(op), static_cast<int>(side), static_cast<int>(method));
        KrylovRun<TestType> run(op_A, random_vectors<Scalar>(std::size_t(n), 2, random), method);
        DenseSplit<TestType> M(L, U);
        run.options.side = side;
        const auto outcomes = run.solve(&M, op);
        check_converged(op_A, run, outcomes);
        CHECK(outcomes[0].iterations <= 24);
        DenseFactorization<TestType> exact(A);
        Kokkos::deep_copy(run.X, Scalar(0));
        if (side == PreconditionSide::split) {
          CHECK_THROWS_AS(run.solve(&exact, op), InputError);
          continue;
        }
        for (const KrylovOutcome& outcome : run.solve(&exact, op)) {
          CHECK(outcome.stop == KrylovStop::converged);
          CHECK(outcome.iterations == 1);
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("preconditioned CG solves and recognizes indefinite matrices", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(24);
  const auto A = hermitian_matrix<Matrix<TestType>>(40, 80, random);
  KrylovRun<TestType> run(A, random_vectors<Scalar>(40, 2, random), KrylovMethod::cg);
  DenseFactorization<TestType> exact(A);
  const auto outcomes = run.solve(&exact);
  check_converged(A, run, outcomes);
  CHECK(outcomes[0].iterations == 1);

  const auto indefinite = from_dense<Matrix<TestType>>({{1, nothing}, {nothing, -1}});
  KrylovRun<TestType> other(indefinite, {{Scalar(1), Scalar(2)}, {Scalar(3), Scalar(0)}}, KrylovMethod::cg);
  const auto two = other.solve();
  CHECK(two[0].stop == KrylovStop::breakdown);
  CHECK(two[0].residual == 1);
  CHECK(to_host(other.X, 0) == std::vector<Scalar>(2, Scalar(0)));
  CHECK(two[1].stop == KrylovStop::converged);  // within the positive part
  DenseFactorization<TestType> negative(from_dense<Matrix<TestType>>({{-1, nothing}, {nothing, -1}}));
  KrylovRun<TestType> third(from_dense<Matrix<TestType>>({{1, nothing}, {nothing, 2}}),
                            {{Scalar(1), Scalar(2)}}, KrylovMethod::cg);
  CHECK(third.solve(&negative)[0].stop == KrylovStop::breakdown);
}

TEMPLATE_LIST_TEST_CASE("BiCGStab reports a breakdown", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  // rᴴ·A·r = 0 for all r: alpha has no value
  const auto skew = from_dense<Matrix<TestType>>({{nothing, 1}, {-1, nothing}});
  KrylovRun<TestType> run(skew, {{Scalar(1), Scalar(0)}}, KrylovMethod::bicgstab);
  const auto outcome = run.solve()[0];
  CHECK(outcome.stop == KrylovStop::breakdown);
  CHECK(outcome.residual == 1);
  CHECK(to_host(run.X) == std::vector<Scalar>(2, Scalar(0)));

  // r̃ᴴ·r = 0 after one step, which has made progress: restarted
  const auto once = from_dense<Matrix<TestType>>({{2, 1, 1}, {1, 3, nothing}, {-1, nothing, 4}});
  KrylovRun<TestType> other(once, {{Scalar(1), Scalar(0), Scalar(0)}}, KrylovMethod::bicgstab);
  const auto restarted = other.solve();
  check_converged(once, other, restarted);
  CHECK(restarted[0].restarts == 1);
  CHECK(std::abs(restarted[0].history[2] - 0.1) <= 1e-6);
}

TEMPLATE_LIST_TEST_CASE("a cycle that increases the residual is undone", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = from_dense<Matrix<TestType>>({{0.01, 1}, {-1, 0.01}});
  KrylovRun<TestType> run(A, {{Scalar(1), Scalar(0)}}, KrylovMethod::bicgstab);
  run.options.max_iterations = 1;  // x = 100·b
  const auto outcome = run.solve()[0];
  CHECK(outcome.stop == KrylovStop::max_iterations);
  CHECK(outcome.residual == 1);
  CHECK(outcome.history == std::vector<double>{1, 1});  // of the X that is kept, not 100 as for the other
  CHECK(to_host(run.X) == std::vector<Scalar>(2, Scalar(0)));
}

TEMPLATE_LIST_TEST_CASE("convergence is judged by the true residual, not by a low estimate", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(33);
  const std::size_t n = 30;
  const auto A = dense_matrix<Matrix<TestType>>(static_cast<int>(n), random);
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) picture[i][i] = i % 2 == 0 ? 1e3 : 1;  // hides half of the residual
  DenseFactorization<TestType> M(from_dense<Matrix<TestType>>(picture));
  for (const KrylovMethod method : {KrylovMethod::bicgstab, KrylovMethod::gmres}) {
    CAPTURE(static_cast<int>(method));
    KrylovRun<TestType> run(A, random_vectors<Scalar>(n, 1, random), method);
    for (std::size_t i = 1; i < n; i += 2) run.b[0][i] *= RealOf<Scalar>(10);
    Kokkos::deep_copy(run.B, to_device<TestType>(run.b));
    run.options.side = PreconditionSide::left;
    run.options.residual_tolerance = 1e-4;
    const auto outcomes = run.solve(&M);
    check_converged(A, run, outcomes);
    CHECK(outcomes[0].restarts >= 1);
  }
}

TEMPLATE_LIST_TEST_CASE("inconsistent singular systems never count as converged", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto A = from_dense<Matrix<TestType>>({{1, nothing}, {nothing, 0}});
  for (const KrylovMethod method : all_methods) {
    CAPTURE(static_cast<int>(method));
    KrylovRun<TestType> run(A, {{Scalar(3), Scalar(4)}}, method);
    const auto outcome = run.solve()[0];
    CHECK(to_status(outcome.stop) != Status::success);
    CHECK(outcome.residual >= 0.79);
    CHECK(std::abs(relative_residual(A, to_host(run.X), run.b[0]) - outcome.residual) <= 1e-5);
  }
}

TEMPLATE_LIST_TEST_CASE("an unreachable tolerance ends in stagnation at the least residual", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(25);
  const auto A = hermitian_matrix<Matrix<TestType>>(40, 80, random);
  for (const KrylovMethod method : all_methods) {
    CAPTURE(static_cast<int>(method));
    KrylovRun<TestType> run(A, random_vectors<Scalar>(40, 1, random), method);
    run.options.residual_tolerance = 1e-30;
    const auto outcome = run.solve()[0];
    CHECK(outcome.stop != KrylovStop::converged);
    CHECK(outcome.iterations < run.options.max_iterations);
    CHECK(outcome.residual <= 50 * double(epsilon_of<Scalar>));
  }
}

TEMPLATE_LIST_TEST_CASE("iterations end at their limit", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(26);
  const auto A = hermitian_matrix<Matrix<TestType>>(60, 40, random);
  for (const KrylovMethod method : all_methods) {
    for (const int iterations : {0, 1, 2, 3}) {
      CAPTURE(static_cast<int>(method), iterations);
      KrylovRun<TestType> run(A, random_vectors<Scalar>(60, 1, random), method);
      run.options.max_iterations = iterations;
      const auto outcome = run.solve()[0];
      CHECK(outcome.stop == KrylovStop::max_iterations);
      CHECK(outcome.iterations == iterations);
      CHECK(outcome.history.size() == static_cast<std::size_t>(iterations) + 1);
      CHECK(outcome.history.back() >= outcome.residual);
      CHECK(outcome.residual <= 1);
      CHECK(std::abs(relative_residual(A, to_host(run.X), run.b[0]) - outcome.residual) <=
            100 * double(epsilon_of<Scalar>));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("NaN from the operator ends an iteration and does not reach X", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(27);
  const auto A = hermitian_matrix<Matrix<TestType>>(20, 40, random);
  for (const KrylovMethod method : all_methods) {
    for (const int calls : {0, 1, 2, 3}) {
      CAPTURE(static_cast<int>(method), calls);
      KrylovRun<TestType> run(A, random_vectors<Scalar>(20, 1, random), method);
      const FailingOperator<TestType> failing(run.A.A, calls);
      const auto outcome =
          run.method->solve(Space(), failing, nullptr, Transposition::none, run.B, run.X, run.options)[0];
      CHECK(outcome.stop == KrylovStop::not_finite);
      CHECK(outcome.iterations == std::max(0, calls - 1));
      for (const Scalar& x : to_host(run.X)) CHECK(ScalarTraits<Scalar>::is_finite(x));
    }
    const auto infinity = Scalar(std::numeric_limits<RealOf<Scalar>>::infinity());
    KrylovRun<TestType> run(A, {std::vector<Scalar>(20, infinity), std::vector<Scalar>(20, Scalar(1))},
                            method);
    const auto outcomes = run.solve();
    CHECK(outcomes[0].stop == KrylovStop::not_finite);
    CHECK(to_host(run.X, 0) == std::vector<Scalar>(20, Scalar(0)));
    CHECK(outcomes[1].stop == KrylovStop::converged);

    // no product reads x₀, so none shows it
    KrylovRun<TestType> unseen(from_dense<Matrix<TestType>>({{nothing, 1}, {nothing, 1}}),
                               {{Scalar(1), Scalar(1)}}, method);
    Kokkos::deep_copy(unseen.X, to_device<TestType>({{infinity, Scalar(1)}}));
    CHECK(unseen.solve()[0].stop == KrylovStop::not_finite);
  }
}

TEMPLATE_LIST_TEST_CASE("squared norms neither overflow nor underflow", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Real = RealOf<Scalar>;
  std::mt19937 random(28);
  const auto A = hermitian_matrix<Matrix<TestType>>(20, 40, random);
  auto b = random_vectors<Scalar>(20, 2, random);
  for (Scalar& entry : b[0]) entry *= std::sqrt(std::numeric_limits<Real>::max());
  for (Scalar& entry : b[1]) entry *= std::sqrt(std::numeric_limits<Real>::min()) / 100;
  for (const KrylovMethod method : all_methods) {
    KrylovRun<TestType> run(A, b, method);
    check_converged(A, run, run.solve());
  }
}

TEMPLATE_LIST_TEST_CASE("GMRES estimates match X and never grow; cycles are as long as memory allows",
                        "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(29);
  const auto A = dense_matrix<Matrix<TestType>>(60, random);
  KrylovRun<TestType> whole(A, random_vectors<Scalar>(60, 1, random), KrylovMethod::gmres, 60);
  KrylovRun<TestType> restarted(A, whole.b, KrylovMethod::gmres, 2);
  const auto once = whole.solve(), often = restarted.solve();
  check_converged(A, whole, once);
  check_converged(A, restarted, often);
  CHECK(once[0].restarts == 0);
  CHECK(often[0].restarts == (often[0].iterations - 1) / 2);
  for (std::size_t j = 0; j + 1 < once[0].history.size(); ++j)
    CHECK(once[0].history[j + 1] <= once[0].history[j]);
  const std::size_t n = 1000, vector = n * sizeof(Scalar);
  const auto make = [&](std::size_t bytes) {
    return make_krylov_iteration<Scalar>(Space(), KrylovMethod::gmres, n, 1, 60, MemoryBudget(bytes));
  };
  const PeakBytes peak;
  const auto small = make(60 * vector);
  CHECK(peak.bytes() <= 60 * vector);  // failed attempts free their memory before the next
  CHECK(small->max_steps() == 30);
  CHECK(small->bytes() <= 60 * vector);
  CHECK_THROWS_AS(make(8 * vector), OutOfMemoryError);
}

TEMPLATE_LIST_TEST_CASE("iterations allocate nothing and synchronize only at checks by the host", "[krylov]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(30);
  for (const KrylovMethod method : all_methods) {
    KrylovRun<TestType> run(hermitian_matrix<Matrix<TestType>>(40, 40, random),
                            random_vectors<Scalar>(40, 2, random), method);
    run.solve();
    Kokkos::deep_copy(run.X, Scalar(0));
    const Space exec;
    const DeviceEvents<Space> events;
    const auto outcomes =
        run.method->solve(exec, run.A.A, nullptr, Transposition::none, run.B, run.X, run.options);
    INFO(events.describe());
    const auto most = static_cast<std::size_t>(std::max(outcomes[0].iterations, outcomes[1].iterations));
    const auto restarts = static_cast<std::size_t>(std::max(outcomes[0].restarts, outcomes[1].restarts));
    CHECK(events.waits() <= most + restarts + 2);
    CHECK(events.allocations() == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("Jacobi divides by the diagonal, or by the largest entry of a row without one",
                        "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  auto A = from_dense<Matrix<TestType>>({{2, 5, nothing}, {1, nothing, -4}, {nothing, 8, 0}});
  if constexpr (ScalarTraits<Scalar>::is_complex) A.values[0] = Scalar(0, 2);
  DiagonalPreconditioner<Scalar, Space> M(Space(), 3, MemoryBudget());
  M.set_values(Space(), to_space<Space>(A));
  for (const Transposition op : {Transposition::none, Transposition::adjoint}) {
    const auto B =
        to_device<TestType>({{Scalar(4), Scalar(5), Scalar(6)}, {Scalar(2), Scalar(0), Scalar(1)}});
    M.apply(Space(), op, B, B);
    const Scalar d = op == Transposition::none ? A.values[0] : ScalarTraits<Scalar>::conjugate(A.values[0]);
    CHECK(to_host(B, 0) == std::vector<Scalar>{Scalar(4) / d, Scalar(1.25), Scalar(0.75)});
    CHECK(to_host(B, 1) == std::vector<Scalar>{Scalar(2) / d, Scalar(0), Scalar(0.125)});
  }
  // scaled by 10^(i mod 7) on both sides, plain CG needs more iterations than with the diagonal
  std::mt19937 random(32);
  auto scaled = hermitian_matrix<Matrix<TestType>>(40, 80, random);
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 40; ++j)
      scaled.values[i * 40 + j] *= RealOf<Scalar>(std::pow(2.0, double(i % 7 + j % 7) / 2));
  KrylovRun<TestType> plain(scaled, random_vectors<Scalar>(40, 1, random), KrylovMethod::cg);
  KrylovRun<TestType> jacobi(scaled, plain.b, KrylovMethod::cg);
  DiagonalPreconditioner<Scalar, Space> diagonal(Space(), 40, MemoryBudget());
  diagonal.set_values(Space(), to_space<Space>(scaled));
  const auto fast = jacobi.solve(&diagonal);
  check_converged(scaled, jacobi, fast);
  CHECK(fast[0].iterations < plain.solve()[0].iterations);
}

TEMPLATE_LIST_TEST_CASE("scaling A and B by powers of two changes only exponents in Krylov methods",
                        "[krylov][scale]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(34);
  const auto A = hermitian_matrix<Matrix<TestType>>(30, 60, random);
  const auto b = random_vectors<Scalar>(30, 2, random);
  const int far = sizeof(RealOf<Scalar>) == 8 ? 900 : 90;
  for (const KrylovMethod method : all_methods) {
    KrylovRun<TestType> plain(A, b, method);
    plain.options.max_iterations = 10;
    const auto expected = plain.solve();
    for (const auto& [p, q] : std::vector<std::pair<int, int>>{
             {far, 0}, {-far, 0}, {far, far}, {-far, -far}, {0, far}, {far / 2, -far / 2}}) {
      CAPTURE(static_cast<int>(method), p, q);
      auto scaled = A;
      for (Scalar& value : scaled.values) value *= std::ldexp(RealOf<Scalar>(1), p);
      auto right = b;
      for (auto& column : right)
        for (Scalar& value : column) value *= std::ldexp(RealOf<Scalar>(1), q);
      KrylovRun<TestType> run(scaled, right, method);
      run.options = plain.options;
      const auto outcomes = run.solve();
      for (std::size_t c = 0; c < 2; ++c) {
        CHECK(outcomes[c].stop == expected[c].stop);
        CHECK(outcomes[c].history == expected[c].history);
        auto x = to_host(plain.X, c);
        for (Scalar& value : x) value *= std::ldexp(RealOf<Scalar>(1), q - p);
        CHECK(to_host(run.X, c) == x);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("invalid calls of a Krylov method are refused", "[krylov]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(31);
  const auto A = dense_matrix<Matrix<TestType>>(5, random);
  KrylovRun<TestType> run(A, random_vectors<Scalar>(5, 1, random), KrylovMethod::gmres);
  const Rows<TestType> wide("wide", 5, 2), tall("tall", 6, 1);
  const auto call = [&](const Rows<TestType>& B, const Rows<TestType>& X) {
    return run.method->solve(Space(), run.A.A, nullptr, Transposition::none, B, X, run.options);
  };
  CHECK_THROWS_AS(call(wide, run.X), InputError);
  CHECK_THROWS_AS(call(wide, wide), InputError);
  CHECK_THROWS_AS(call(tall, tall), InputError);
  CHECK(call(Rows<TestType>("none", 5, 0), Rows<TestType>("none", 5, 0)).empty());
  DiagonalPreconditioner<Scalar, Space> other(Space(), 6, MemoryBudget());
  CHECK_THROWS_WITH(run.solve(&other),
                    "preconditioner: it is for a matrix of order 6, and the matrix has the order 5");
  CHECK(to_host(run.X) == std::vector<Scalar>(5, Scalar(0)));
  run.options.residual_tolerance = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(run.solve(), InputError);
  CHECK_THROWS_AS(make_krylov_iteration<Scalar>(Space(), KrylovMethod::gmres, 5, 1, 0, MemoryBudget()),
                  InputError);
}

}  // namespace lutra::Test
