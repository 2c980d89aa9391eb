// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <string>

#include "Lutra_BatchGrids.hpp"
#include "Lutra_BatchOperator.hpp"
#include "Lutra_KrylovSolver.hpp"

// Krylov methods over batches against single solves and against residuals in long double.

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

/// Σᵢ xᵢ·yᵢ and Σᵢ xᵢ² of columns that are not skipped.
template <class Scalar>
struct TwoSums {
  using Rows = DenseRows<Scalar, Kokkos::HostSpace>;
  using Sum = lutra::Impl::ColumnSum<Scalar, 2>;
  Rows X, Y, totals;
  int skipped;
  bool skips(int c) const { return c == skipped; }
  void add(std::int64_t i, int c, int, Sum& sum) const {
    sum.values[0] += X(i, c) * Y(i, c);
    sum.values[1] += X(i, c) * X(i, c);
  }
  void finish(int c) const { totals(c, 2) = totals(c, 0) + totals(c, 1); }
};

}  // namespace

// Devices take one lane a thread, hosts several.
TEST_CASE("batched Krylov: sums and products do not depend on the lanes of a thread", "[batch]") {
  using Type = std::tuple_element_t<0, HostTypes>;
  using Scalar = Type::Scalar;
  using Rows = DenseRows<Scalar, Kokkos::HostSpace>;
  constexpr std::size_t columns = 32, rows = 300;
  std::mt19937 random(4);
  const auto fill = [&](const char* label, std::size_t n_rows) {
    const Rows result(std::string(label), n_rows, columns);
    for (std::size_t i = 0; i < n_rows; ++i)
      for (std::size_t c = 0; c < columns; ++c) result(i, c) = random_value<Scalar>(random, 2);
    return result;
  };
  const Rows X = fill("X", rows), Y = fill("Y", rows);
  const Type::Space exec;
  MemoryReservation memory{MemoryBudget()};
  const auto work = lutra::Impl::make_lane_sums<Scalar>(exec, memory, rows, columns, 2);
  Rows totals[2];
  for (Rows& of : totals) {
    of = Rows("totals", columns, 3);
    const TwoSums<Scalar> body{X, Y, of, 5};
    if (&of == totals) {
      lutra::Impl::sum_lanes<Type::Space, TwoSums<Scalar>, decltype(work), 1>(exec, "test", body, work, rows,
                                                                              columns);
    } else {
      lutra::Impl::sum_lanes(exec, "test", body, work, rows, columns);
    }
    exec.fence("test");
  }
  for (std::size_t c = 0; c < columns; ++c) {
    Long dot = 0;
    for (std::size_t i = 0; i < rows; ++i) dot += to_long(X(i, c)) * to_long(Y(i, c));
    if (c != 5) CHECK(std::abs(to_long(totals[0](c, 0)) - dot) <= 1e4L * epsilon_of<Scalar>);
    if (c == 5) CHECK(totals[0](c, 2) == Scalar(0));
    for (std::size_t w = 0; w < 3; ++w) CHECK(same_bits(totals[0](c, w), totals[1](c, w)));
  }

  const auto A = on_device<Type>(grid<Scalar>());
  const Rows values = fill("values", A.values.extent(0)), V = fill("V", n);
  Kokkos::View<char*, Kokkos::HostSpace> running("running", columns);
  Kokkos::deep_copy(running, 1);
  running(9) = 0;
  const lutra::Impl::BatchRows<Scalar, Kokkos::HostSpace> of_A{A.pattern(), {}, values, false, running};
  const Rows W[2] = {Rows("W", n, columns), Rows("W", n, columns)};
  const auto run = [&](const auto& kernel, int lanes) {
    for (std::size_t t = 0; t < n * columns / static_cast<std::size_t>(lanes); ++t)
      kernel(static_cast<std::int64_t>(t));
  };
  run(lutra::Impl::MultiplyLanes<Scalar, Kokkos::HostSpace, 1>{of_A, V, W[0]}, 1);
  run(lutra::Impl::MultiplyLanes<Scalar, Kokkos::HostSpace, 8>{of_A, V, W[1]}, 8);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < columns; ++c) {
      CHECK(same_bits(W[0](i, c), W[1](i, c)));
      CHECK((W[0](i, c) == Scalar(0)) == (c == 9));
    }
}

TEMPLATE_LIST_TEST_CASE("batched Krylov: solutions are those of single solvers", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t K = 11, columns = 2;
  const auto pattern = grid<Scalar>();
  const auto B = random_block<TestType>(n, columns, K, Storage::one_after_other);
  const double tolerance = krylov_tolerance<Scalar>();
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::bicgstab, KrylovMethod::gmres}) {
    const auto values = grid_values<TestType>(pattern, K, method == KrylovMethod::cg ? 0 : 0.4);
    for (const Preconditioning kind :
         {Preconditioning::none, Preconditioning::jacobi, Preconditioning::ilu, Preconditioning::lu}) {
      for (const Transposition op :
           {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
        CAPTURE(method, kind, op);
        const auto options = options_for(method, kind);
        BatchedKrylov<Scalar, Space> batch(options);
        REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
        REQUIRE(batch.factorize(values.matrix()) == Status::success);
        BatchArray<TestType> X(n, columns, K, Storage::strided), Y(n, columns, 1, Storage::one_after_other);
        REQUIRE(batch.solve(B.view(), X.view(), op) == Status::success);
        X.to_host();
        const auto& report = batch.report();
        REQUIRE(report.iterations.size() == K);
        for (std::size_t k = 0; k < K; ++k) {
          CAPTURE(k);
          const auto A = with_values(pattern, values, k);
          double residual = 0;
          for (std::size_t c = 0; c < columns; ++c)
            residual = std::max(residual, residual_of(A, B, X, c, k, op));
          CHECK(residual <= 1.001 * tolerance);
          // the batch computes b - A x in the type of the matrix
          const double rounding = 10 * static_cast<double>(epsilon_of<Scalar>);
          CHECK(std::abs(report.residuals[k] - residual) <= 1e-3 * tolerance + rounding);
          CHECK(report.statuses[k] == Status::success);
          if (k >= 5 || op != Transposition::none) continue;
          KrylovSolver<Scalar, Space> single(options);
          REQUIRE(single.analyze(A) == Status::success);
          REQUIRE(single.factorize(A) == Status::success);
          REQUIRE(single.solve(Kokkos::subview(B.view(), Kokkos::ALL, Kokkos::ALL, k),
                               Kokkos::subview(Y.view(), Kokkos::ALL, Kokkos::ALL, 0)) == Status::success);
          Y.to_host();
          CHECK(std::abs(report.iterations[k] - static_cast<int>(*single.report().iterations)) <= 2);
          for (std::size_t i = 0; i < n; ++i)
            CHECK(static_cast<double>(ScalarTraits<Scalar>::magnitude(X(i, 0, k) - Y(i, 0, 0))) <=
                  1000 * tolerance);
        }
        if (kind == Preconditioning::none) CHECK(report.iterations[0] > 2 * report.iterations[1]);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("batched Krylov: no bit depends on the other systems", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t most = 33;
  const auto pattern = grid<Scalar>();
  const auto B = random_block<TestType>(n, 1, most, Storage::interleaved);
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::bicgstab, KrylovMethod::gmres}) {
    for (const Preconditioning kind : {Preconditioning::none, Preconditioning::ilu}) {
      CAPTURE(method, kind);
      const auto options = options_for(method, kind);
      BatchedKrylov<Scalar, Space> batch(options);
      REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
      const auto solve = [&](BatchArray<TestType>& values, std::size_t first, std::size_t K,
                             Status expected) {
        values.to_device();
        const auto some = std::pair(first, first + K);
        BatchArray<TestType> X(n, 1, K, Storage::interleaved);
        const auto block = Kokkos::subview(B.view(), Kokkos::ALL, Kokkos::ALL, some);
        static_cast<void>(batch.factorize(Kokkos::subview(values.matrix(), Kokkos::ALL, some)));
        CHECK(batch.solve(block, X.view()) == expected);
        X.to_host();
        return X;
      };
      auto values = grid_values<TestType>(pattern, most, method == KrylovMethod::cg ? 0 : 0.4);
      const auto all = solve(values, 0, most, Status::success);
      const auto iterations = batch.report().iterations;
      const auto check = [&](const BatchArray<TestType>& X, std::size_t first, std::size_t K,
                             std::size_t except) {
        for (std::size_t k = 0; k < K; ++k) {
          if (first + k == except) continue;
          CAPTURE(first, k);
          CHECK(batch.report().iterations[k] == iterations[first + k]);
          bool same = true;
          for (std::size_t i = 0; i < n; ++i) same = same && same_bits(X(i, 0, k), all(i, 0, first + k));
          CHECK(same);
        }
      };
      for (const std::size_t K : {1, 7, 8, 9})
        for (const std::size_t first : {0, 13})
          check(solve(values, first, K, Status::success), first, K, most);

      // A singular system, one whose products overflow, and one of entries below the smallest normal number
      const auto largest = static_cast<double>(Kokkos::Experimental::finite_max_v<RealOf<Scalar>>);
      for (const double factor : {0.0, largest / 16, 1e-30 / largest}) {
        CAPTURE(factor);
        auto changed = values;
        changed.memory = Kokkos::View<Scalar*, typename TestType::Memory>("changed", values.host.size());
        for (std::size_t p = 0; p < pattern.values.size(); ++p)
          changed(p, 0, 10) =
              changed(p, 0, 10) * as_scalar<Scalar>(factor) * as_scalar<Scalar>(p % 3 == 0 ? 0.5 : 1);
        changed.to_device();
        static_cast<void>(batch.factorize(changed.matrix()));
        BatchArray<TestType> X(n, 1, most, Storage::interleaved);
        const Status status = batch.solve(B.view(), X.view());
        X.to_host();
        check(X, 0, most, 10);
        if (factor == 0) CHECK(status == batch.report().statuses[10]);
        if (factor == 0) CHECK(status != Status::success);
        if (batch.report().statuses[10] == Status::success)
          CHECK(residual_of(with_values(pattern, changed, 10), B, X, 0, 10) <=
                1.001 * krylov_tolerance<Scalar>());
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("batched Krylov: ends of systems", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t K = 10;
  const auto pattern = grid<Scalar>();
  auto values = grid_values<TestType>(pattern, K, 0);
  for (std::size_t p = 0; p < pattern.values.size(); ++p) values(p, 0, 4) = values(p, 0, 4) * Scalar(-1);
  values.to_device();
  auto B = random_block<TestType>(n, 1, K, Storage::interleaved);
  for (std::size_t i = 0; i < n; ++i) B(i, 0, 7) = Scalar(0);
  B.to_device();
  auto options = options_for(KrylovMethod::cg, Preconditioning::none);
  options.max_iterations = 12;
  BatchedKrylov<Scalar, Space> batch(options);
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  const bool mask[K] = {true, true, true, false, true, true, true, true, true, true};
  auto hidden = values;  // what is masked is not read
  hidden.memory = Kokkos::View<Scalar*, typename TestType::Memory>("hidden", values.host.size());
  for (std::size_t p = 0; p < pattern.values.size(); ++p)
    hidden(p, 0, 3) = Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  hidden.to_device();
  REQUIRE(batch.factorize(hidden.matrix(), mask) == Status::success);
  BatchArray<TestType> X(n, 1, K, Storage::interleaved);
  std::fill(X.host.begin(), X.host.end(), Scalar(3));
  X.to_device();
  CHECK(batch.solve(B.view(), X.view()) == Status::breakdown);
  X.to_host();
  const auto& report = batch.report();
  CHECK(report.statuses[0] == Status::not_converged);  // −Δ takes more
  CHECK(report.iterations[0] == 12);
  CHECK(report.residuals[0] > krylov_tolerance<Scalar>());
  CHECK(report.statuses[1] == Status::success);
  CHECK(report.statuses[3] == Status::not_solved);
  CHECK(std::isnan(report.residuals[3]));
  CHECK(report.statuses[4] == Status::breakdown);  // not positive definite
  CHECK(report.statuses[7] == Status::success);    // b = 0
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(X(i, 0, 3) == Scalar(3));
    CHECK(X(i, 0, 7) == Scalar(0));
  }
  CHECK(residual_of(with_values(pattern, values, 0), B, X, 0, 0) ==
        Catch::Approx(report.residuals[0]).epsilon(1e-3));

  // From where it ended, system 0 comes further; those that are solved take no more iterations.
  options.start_from_x = true;
  BatchedKrylov<Scalar, Space> again(options);
  REQUIRE(again.analyze(on_device<TestType>(pattern)) == Status::success);
  REQUIRE(again.factorize(hidden.matrix(), mask) == Status::success);
  CHECK(again.solve(X.view(), X.view()) != Status::cancelled);  // X may be B
  X.to_device();
  CHECK(again.solve(B.view(), X.view()) == Status::breakdown);
  CHECK(again.report().residuals[0] < 0.1 * report.residuals[0]);
  CHECK(again.report().iterations[1] == 0);

  // A preconditioner that fails
  auto singular = values;
  singular.memory = Kokkos::View<Scalar*, typename TestType::Memory>("singular", values.host.size());
  for (std::size_t p = 0; p < pattern.values.size(); ++p) singular(p, 0, 6) = Scalar(0);
  singular.to_device();
  BatchedKrylov<Scalar, Space> by_lu(options_for(KrylovMethod::gmres, Preconditioning::lu));
  REQUIRE(by_lu.analyze(on_device<TestType>(pattern)) == Status::success);
  CHECK(by_lu.factorize(singular.matrix()) == Status::numerically_singular);
  std::fill(X.host.begin(), X.host.end(), Scalar(3));
  X.to_device();
  CHECK(by_lu.solve(B.view(), X.view()) == Status::numerically_singular);
  X.to_host();
  for (std::size_t k = 0; k < K; ++k) {
    CHECK(by_lu.report().statuses[k] == (k == 6 ? Status::numerically_singular : Status::success));
    if (k == 6) CHECK(X(5, 0, k) == Scalar(3));
  }
}

TEMPLATE_LIST_TEST_CASE("batched Krylov: factors of another batch", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t K = 9;
  const auto pattern = grid<Scalar>();
  const auto former = grid_values<TestType>(pattern, K, 0.4),
             values = grid_values<TestType>(pattern, K, 0.45);
  const auto B = random_block<TestType>(n, 1, K, Storage::interleaved);
  LuOptions direct;
  const auto A = on_device<TestType>(pattern);
  const auto M = std::make_shared<BatchedNumeric<Scalar, Space>>(
      lutra::analyze<Scalar, Space>(Space(), A, lutra::Impl::for_batch(direct), MemoryBudget()), direct);
  const bool mask[K] = {true, true, true, true, false, true, true, true, true};
  REQUIRE(M->factorize(former.matrix(), mask) == Status::success);
  BatchedKrylov<Scalar, Space> batch(options_for(KrylovMethod::gmres, Preconditioning::none));
  REQUIRE(batch.analyze(A) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  BatchArray<TestType> X(n, 1, K, Storage::interleaved);
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  const auto alone = batch.report().iterations;
  batch.set_preconditioner(M);
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  X.to_host();
  for (std::size_t k = 0; k < K; ++k) {
    CHECK(residual_of(with_values(pattern, values, k), B, X, 0, k) <= 1.001 * krylov_tolerance<Scalar>());
    if (k == 4) CHECK(batch.report().iterations[k] == alone[k]);  // no factors
    if (k != 4) CHECK(batch.report().iterations[k] <= 8);
  }
  REQUIRE(M->factorize(Kokkos::subview(former.matrix(), Kokkos::ALL, std::pair(0, 3))) == Status::success);
  CHECK_THROWS_AS(batch.solve(B.view(), X.view()), InputError);
  BatchedKrylov<Scalar, Space> with_own(options_for(KrylovMethod::gmres, Preconditioning::ilu));
  CHECK_THROWS_AS(with_own.set_preconditioner(M), InputError);
}

TEMPLATE_LIST_TEST_CASE("batched Krylov: wrong input changes nothing", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t K = 9;
  const Scalar bad(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  const auto pattern = grid<Scalar>();
  auto values = grid_values<TestType>(pattern, K, 0.4);
  auto B = random_block<TestType>(n, 2, K, Storage::one_after_other);
  KrylovSolverOptions options;
  options.side = PreconditionSide::split;
  CHECK_THROWS_AS((BatchedKrylov<Scalar, Space>(options)), InputError);
  options.side = PreconditionSide::left;
  BatchedKrylov<Scalar, Space> batch(options);
  BatchArray<TestType> X(n, 2, K, Storage::interleaved);
  CHECK_THROWS_AS(static_cast<void>(batch.factorize(values.matrix())), CallOrderError);
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  CHECK_THROWS_AS(batch.solve(B.view(), X.view()), CallOrderError);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  X.to_host();
  const auto before = X.host;

  const auto p = static_cast<std::size_t>(pattern.row_map[5]) + 1;
  const std::string place = "system 7, row 5, column " + std::to_string(pattern.entries[p]);
  values(p, 0, 7) = bad;
  values.to_device();
  CHECK_THROWS_MATCHES(static_cast<void>(batch.factorize(values.matrix())), InputError,
                       MessageMatches(ContainsSubstring(place)));
  const bool short_mask[3] = {true, true, true};
  CHECK_THROWS_MATCHES(static_cast<void>(batch.factorize(values.matrix(), short_mask)), InputError,
                       MessageMatches(ContainsSubstring("mask")));
  CHECK_THROWS_AS(
      static_cast<void>(batch.factorize(Kokkos::subview(values.matrix(), std::pair(0, 5), Kokkos::ALL))),
      InputError);
  CHECK_THROWS_AS(batch.solve(B.view(), Kokkos::subview(X.view(), Kokkos::ALL, std::pair(0, 1), Kokkos::ALL)),
                  InputError);
  CHECK_THROWS_AS(batch.solve(B.view(), X.view(), static_cast<Transposition>(9)), InputError);
  const Scalar kept = B(3, 1, 8);
  B(3, 1, 8) = bad;
  B.to_device();
  CHECK_THROWS_MATCHES(batch.solve(B.view(), X.view()), InputError,
                       MessageMatches(ContainsSubstring("B: system 8, row 3, column 1")));
  B(3, 1, 8) = kept;
  B.to_device();
  CHECK(batch.systems() == static_cast<std::int64_t>(K));
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  X.to_host();
  CHECK(std::memcmp(before.data(), X.host.data(), before.size() * sizeof(Scalar)) == 0);
}

}  // namespace lutra::Test
