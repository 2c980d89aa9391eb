// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_BatchCases.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

template <class Call>
void refuses(const Call& call, const std::string& text) {
  CHECK_THROWS_MATCHES(call(), InputError, MessageMatches(ContainsSubstring(text)));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: wrong shapes are named, and nothing changes", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t n = 12, K = 10;
  std::mt19937 random(1);
  const auto pattern = permuted_matrix<HostMatrix<Scalar>>(n, 2.0, random);
  BatchedLU<Scalar, typename TestType::Space> batch;
  auto values = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  auto B = random_block<TestType>(n, 2, K, Storage::interleaved);
  BatchArray<TestType> X(n, 2, K, Storage::interleaved);
  CHECK_THROWS_AS(batch.factorize(values.matrix()), CallOrderError);
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  CHECK_THROWS_AS(batch.solve(B.view(), X.view()), CallOrderError);
  CHECK_THROWS_AS(batch.apply(B.view(), X.view()), CallOrderError);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);

  refuses([&] { (void)batch.factorize(BatchArray<TestType>(3, 1, K, Storage::interleaved).matrix()); },
          "values: they have 3 rows");
  const std::array<bool, 3> mask{true, true, true};
  refuses([&] { (void)batch.factorize(values.matrix(), mask); }, "mask: it has 3 elements");
  refuses([&] { batch.solve(BatchArray<TestType>(n + 1, 2, K, Storage::interleaved).view(), X.view()); },
          "B is 13 × 2 × 10");
  refuses([&] { batch.solve(BatchArray<TestType>(n, 2, K - 1, Storage::interleaved).view(), X.view()); },
          "B is 12 × 2 × 9");
  refuses([&] { batch.solve(B.view(), BatchArray<TestType>(n, 3, K, Storage::interleaved).view()); },
          "X is 12 × 3 × 10");

  const auto good = values;
  const auto p = static_cast<std::size_t>(pattern.row_map[3]);  // first entry of row 3
  auto bad = perturbed_values<TestType>(pattern, K, Storage::one_after_other);
  bad(p, 0, 7) = Scalar(std::numeric_limits<double>::quiet_NaN());
  bad.to_device();
  refuses([&] { (void)batch.factorize(bad.matrix()); },
          "system 7, row 3, column " + std::to_string(pattern.entries[p]) + " holds NaN");
  auto bad_B = random_block<TestType>(n, 2, K, Storage::one_after_other);
  bad_B(5, 1, 8) = Scalar(std::numeric_limits<double>::infinity());
  bad_B.to_device();
  refuses([&] { batch.solve(bad_B.view(), X.view()); }, "B: system 8, row 5, column 1 holds NaN");

  // The factors are as they were.
  CHECK(batch.solve(B.view(), X.view()) == Status::success);
  X.to_host();
  CHECK(error_of(with_values(pattern, values, 7), B, X, 1, 7) <= tolerance_of<Scalar>());
  // No right-hand sides, and an empty batch.
  BatchArray<TestType> none(n, 0, K, Storage::one_after_other);
  batch.solve(none.view(), none.view());
  BatchArray<TestType> empty(values.extents[0], 1, 0, Storage::one_after_other);
  CHECK(batch.factorize(empty.matrix()) == Status::success);
  CHECK(batch.report().systems == 0);
}

TEMPLATE_LIST_TEST_CASE("batch: a structurally singular pattern", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto pattern = from_dense<HostMatrix<Scalar>>({{1, 2, nothing}, {3, 4, nothing}, {5, 6, nothing}});
  BatchedLU<Scalar, typename TestType::Space> batch;
  CHECK(batch.analyze(on_device<TestType>(pattern)) == Status::structurally_singular);
  const auto values = perturbed_values<TestType>(pattern, 3, Storage::interleaved);
  CHECK(batch.factorize(values.matrix()) == Status::structurally_singular);
  const auto B = random_block<TestType>(3, 1, 3, Storage::interleaved);
  BatchArray<TestType> X(3, 1, 3, Storage::interleaved);
  CHECK(batch.solve(B.view(), X.view()) == Status::structurally_singular);
  CHECK(batch.report().alone.size() == 3);
}

TEMPLATE_LIST_TEST_CASE("batch: right-hand sides that overlap with X are copied", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t n = 12, K = 20;
  std::mt19937 random(1);
  const auto pattern = permuted_matrix<HostMatrix<Scalar>>(n, 2.0, random);
  const auto values = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  const auto given = random_block<TestType>(n, 1, K + 1, Storage::one_after_other);
  LuOptions options;
  options.engine = GENERATE(Engine::simplicial, Engine::multifrontal);
  BatchedLU<Scalar, typename TestType::Space> batch(options);
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  auto both = given;  // X of a system is where B of the next one is
  both.memory = decltype(both.memory)("both", both.host.size());
  both.to_device();
  const auto part = [&](std::size_t first) {
    return Kokkos::subview(both.view(), Kokkos::ALL, Kokkos::ALL, std::pair(first, first + K));
  };
  REQUIRE(batch.solve(part(0), part(1)) == Status::success);
  both.to_host();
  BatchArray<TestType> X(n, 1, K, Storage::interleaved);
  for (std::size_t k = 0; k < K; ++k)
    for (std::size_t i = 0; i < n; ++i) X(i, 0, k) = both(i, 0, k + 1);
  for (std::size_t k = 0; k < K; ++k)
    CHECK(error_of(with_values(pattern, values, k), given, X, 0, k) <= tolerance_of<Scalar>());
  const typename BatchArray<TestType>::View same(both.memory.data(), Kokkos::LayoutStride(n, 1, 1, n, K, 0));
  refuses([&] { static_cast<void>(batch.solve(X.view(), same)); }, "solve: systems of X share their memory");
}

TEMPLATE_LIST_TEST_CASE("batch: solutions without checks", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(1);
  const auto pattern = permuted_matrix<HostMatrix<Scalar>>(12, 2.0, random);
  const auto values = perturbed_values<TestType>(pattern, 9, Storage::interleaved);
  const auto B = random_block<TestType>(12, 2, 9, Storage::interleaved);
  BatchArray<TestType> X(12, 2, 9, Storage::interleaved);
  LuOptions options;
  options.check = SolutionCheck::never;
  BatchedLU<Scalar, typename TestType::Space> batch(options);
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  CHECK(batch.solve(B.view(), X.view()) == Status::unchecked);
  CHECK(batch.report().statuses[8] == Status::unchecked);
  CHECK(std::isnan(batch.report().componentwise[8]));
  X.to_host();
  CHECK(error_of(with_values(pattern, values, 8), B, X, 1, 8) <= 100 * tolerance_of<Scalar>());
}

}  // namespace lutra::Test
