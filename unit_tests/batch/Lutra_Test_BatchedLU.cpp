// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "Lutra_BatchCases.hpp"

namespace lutra::Test {
namespace {

template <class Scalar>
HostMatrix<Scalar> small_matrix(int n) {
  std::mt19937 random(42);
  return permuted_matrix<HostMatrix<Scalar>>(n, 3.0, random);
}

/// Factorizes and solves K systems, and checks every column of every system.
template <class Types>
void check_batch(const HostMatrix<typename Types::Scalar>& pattern, std::size_t K, std::size_t n_rhs,
                 Storage storage, Transposition op, const LuOptions& options = {}) {
  using Scalar = typename Types::Scalar;
  CAPTURE(K, n_rhs, static_cast<int>(storage), static_cast<int>(op));
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  const auto values = perturbed_values<Types>(pattern, K, storage);
  const auto B = random_block<Types>(n, n_rhs, K, storage);
  BatchArray<Types> X(n, n_rhs, K, storage);
  BatchedLU<Scalar, typename Types::Space> batch(options);
  REQUIRE(batch.analyze(on_device<Types>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  CHECK(batch.report().systems == static_cast<std::int64_t>(K));
  REQUIRE(batch.solve(B.view(), X.view(), op) == Status::success);
  X.to_host();
  for (std::size_t k = 0; k < K; ++k) {
    REQUIRE(batch.report().statuses[k] == Status::success);
    const auto A = with_values(pattern, values, k);
    double worst = 0;
    for (std::size_t c = 0; c < n_rhs; ++c) worst = std::max(worst, error_of(A, B, X, c, k, op));
    REQUIRE(worst <= tolerance_of<Scalar>());
    // The reported error is that of the worst column, up to the rounding of residuals.
    const double slack = 20 * static_cast<double>(epsilon_of<Scalar>);
    REQUIRE(std::abs(batch.report().componentwise[k] - worst) <= slack);
  }
}

/// Options that lead to lanes, and to fronts.
LuOptions either_engine() {
  LuOptions options;
  options.engine = GENERATE(Engine::automatic, Engine::multifrontal);
  return options;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: LU is right for every number of systems and right-hand sides", "[batch]",
                        AllTypes) {
  const auto pattern = small_matrix<typename TestType::Scalar>(23);
  const LuOptions options = either_engine();
  for (const std::size_t K : {7, 8, 9, 31, 32, 33, 100, 1000})
    check_batch<TestType>(pattern, K, 1, Storage::interleaved, Transposition::none, options);
  for (const std::size_t K : {1, 2, 15, 16, 17})
    for (const std::size_t n_rhs : {1, 2, 7, 16, 17, 64})
      check_batch<TestType>(pattern, K, n_rhs, Storage::one_after_other, Transposition::none, options);
}

TEMPLATE_LIST_TEST_CASE("batch: LU solves with A, its transpose and adjoint in every layout", "[batch]",
                        AllTypes) {
  const auto pattern = small_matrix<typename TestType::Scalar>(40);
  const LuOptions options = either_engine();
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint})
    for (const Storage storage : {Storage::interleaved, Storage::one_after_other, Storage::strided})
      check_batch<TestType>(pattern, 11, 3, storage, op, options);
}

TEMPLATE_LIST_TEST_CASE("batch: values may be factorized again, for fewer and for more systems", "[batch]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto pattern = small_matrix<Scalar>(15);
  BatchedLU<Scalar, typename TestType::Space> batch(either_engine());
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  unsigned seed = 5;
  for (const std::size_t K : {9, 3, 20}) {
    const auto values = perturbed_values<TestType>(pattern, K, Storage::one_after_other, seed++);
    auto X = random_block<TestType>(15, 2, K, Storage::interleaved);
    const auto B = X;  // shares no host values; solved in place
    REQUIRE(batch.factorize(values.matrix()) == Status::success);
    REQUIRE(batch.solve(X.view(), X.view()) == Status::success);
    X.to_host();
    for (std::size_t k = 0; k < K; ++k)
      REQUIRE(error_of(with_values(pattern, values, k), B, X, 1, k) <= tolerance_of<Scalar>());
  }
}

TEMPLATE_LIST_TEST_CASE("batch: apply and residual", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto pattern = small_matrix<Scalar>(15);
  const auto values = perturbed_values<TestType>(pattern, 10, Storage::interleaved);
  const auto B = random_block<TestType>(15, 5, 10, Storage::interleaved);
  BatchArray<TestType> X(15, 5, 10, Storage::one_after_other), R(15, 5, 10, Storage::interleaved);
  BatchedLU<Scalar, typename TestType::Space> batch(either_engine());
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  for (const Transposition op : {Transposition::none, Transposition::adjoint}) {
    batch.apply(B.view(), X.view(), op);
    batch.numeric().residual(B.view(), X.view(), R.view(), op);
    X.to_host();
    R.to_host();
    BatchArray<TestType> zero(15, 5, 10, Storage::interleaved);
    for (std::size_t k = 0; k < 10; ++k) {
      const auto A = with_values(pattern, values, k);
      for (std::size_t c = 0; c < 5; ++c) {
        REQUIRE(error_of(A, B, X, c, k, op) <= 100 * tolerance_of<Scalar>());
        // b − A·x − r is rounding
        auto shifted = B;
        for (std::size_t i = 0; i < 15; ++i) shifted(i, c, k) -= R(i, c, k);
        REQUIRE(error_of(A, shifted, X, c, k, op) <= 20 * static_cast<double>(epsilon_of<Scalar>));
      }
    }
  }
  CHECK(batch.report().status == Status::not_solved);
}

}  // namespace lutra::Test
