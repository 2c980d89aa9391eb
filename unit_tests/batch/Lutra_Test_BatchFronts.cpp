// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "Lutra_BatchCases.hpp"
#include "Lutra_BatchChoice.hpp"

// LU of all systems as a forest of fronts. What lanes and fronts promise alike is tested with both, in the
// other files.

namespace lutra::Test {
namespace {

LuOptions by_fronts(Pivoting pivoting = Pivoting::automatic) {
  LuOptions options;
  options.engine = Engine::multifrontal;
  options.pivoting = pivoting;
  return options;
}

/// The five-point pattern of a grid, unsymmetric in its values.
template <class Scalar>
HostMatrix<Scalar> grid_of(Ordinal width) {
  HostMatrix<Scalar> A;
  A.n_rows = A.n_cols = width * width;
  A.row_map = {0};
  for (Ordinal x = 0; x < width; ++x)
    for (Ordinal y = 0; y < width; ++y) {
      const auto add = [&](Ordinal u, Ordinal v, double value) {
        if (u < 0 || v < 0 || u >= width || v >= width) return;
        A.entries.push_back(u * width + v);
        A.values.push_back(as_scalar<Scalar>(value));
      };
      add(x - 1, y, -1.25);
      add(x, y - 1, -1.0);
      add(x, y, 4.5);
      add(x, y + 1, -0.75);
      add(x + 1, y, -1.0);
      A.row_map.push_back(static_cast<Offset>(A.entries.size()));
    }
  return A;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: solutions of a forest of fronts are those of single systems", "[batch]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t K = 5, n_rhs = 2;
  const auto pattern = grid_of<Scalar>(27);
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  const auto values = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  const auto B = random_block<TestType>(n, n_rhs, K, Storage::interleaved);
  BatchArray<TestType> X(n, n_rhs, K, Storage::interleaved), Y(n, n_rhs, K, Storage::one_after_other);
  const LuOptions options = by_fronts(GENERATE(Pivoting::automatic, Pivoting::threshold));
  BatchedLU<Scalar, Space> batch(options);
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  CHECK(batch.report().engine == Engine::multifrontal);
  CHECK(batch.report().group_size == 1);
  CHECK(batch.report().alone.empty());
  const std::size_t bytes = batch.report().bytes;
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  CHECK(batch.report().bytes == bytes);  // workspaces are used again
  X.to_host();
  for (std::size_t k = 0; k < K; ++k) {
    const auto A = with_values(pattern, values, k);
    Numeric<Scalar, Space> single(batch.analysis(), options);
    REQUIRE(single.factorize(on_device<TestType>(A)) == Status::success);
    REQUIRE(single.solve(Kokkos::subview(B.view(), Kokkos::ALL, Kokkos::ALL, k),
                         Kokkos::subview(Y.view(), Kokkos::ALL, Kokkos::ALL, k)) == Status::success);
    Y.to_host();
    const double close = 1e3 * static_cast<double>(epsilon_of<Scalar>);  // condition numbers are below 100
    for (std::size_t c = 0; c < n_rhs; ++c) {
      CHECK(error_of(A, B, X, c, k) <= tolerance_of<Scalar>());
      double size = 0;
      for (std::size_t i = 0; i < n; ++i)
        size = std::max(size, static_cast<double>(ScalarTraits<Scalar>::magnitude(Y(i, c, k))));
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(static_cast<double>(ScalarTraits<Scalar>::magnitude(X(i, c, k) - Y(i, c, k))) <=
                close * size);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("batch: systems of a forest have their own interchanges", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 6, n = 12;
  // A dense front, in which system k > 0 has a small entry in place of its first k diagonal ones.
  std::vector<std::vector<double>> picture(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      picture[i][j] = i == j ? 4.0 : 1.0 / static_cast<double>(1 + i + 2 * j);
  const auto pattern = from_dense<HostMatrix<Scalar>>(picture);
  auto values = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  for (std::size_t k = 0; k < K; ++k)
    for (std::size_t i = 0; i < k; ++i) values(i * n + i, 0, k) = as_scalar<Scalar>(1e-4);
  values.to_device();
  const auto B = random_block<TestType>(n, 1, K, Storage::interleaved);
  for (const bool interchanges : {true, false}) {
    CAPTURE(interchanges);
    BatchArray<TestType> X(n, 1, K, Storage::interleaved);
    BatchedLU<Scalar, typename TestType::Space> batch(
        by_fronts(interchanges ? Pivoting::threshold : Pivoting::static_perturbed));
    REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
    REQUIRE(batch.factorize(values.matrix()) == Status::success);
    REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
    X.to_host();
    for (std::size_t k = 0; k < K; ++k)
      CHECK(error_of(with_values(pattern, values, k), B, X, 0, k) <= tolerance_of<Scalar>());
    if (interchanges) {
      CHECK(batch.report().alone.empty());
      CHECK(std::ranges::count(batch.report().refinement_steps, 0) >= 5);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("batch: a pivot is small by the entries of its own system", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 3;
  // The scales are those of the analyzed matrix: entries of system 2 are 2⁴⁰ times those of system 1. One
  // threshold for all would find the pivots of system 1 small.
  const auto pattern = grid_of<Scalar>(5);
  auto values = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  const auto plain = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  for (std::size_t p = 0; p < pattern.values.size(); ++p) values(p, 0, 2) *= as_scalar<Scalar>(0x1p40);
  values.to_device();
  BatchedLU<Scalar, typename TestType::Space> batch(by_fronts());
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  CHECK(batch.report().alone.empty());
  CHECK(batch.report().perturbed_pivots == std::vector<int>(K, 0));
  const auto B = random_block<TestType>(25, 1, K, Storage::interleaved);
  BatchArray<TestType> X(25, 1, K, Storage::interleaved), Y(25, 1, K, Storage::interleaved);
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  REQUIRE(batch.factorize(plain.matrix()) == Status::success);
  REQUIRE(batch.solve(B.view(), Y.view()) == Status::success);
  X.to_host();
  Y.to_host();
  for (std::size_t i = 0; i < 25; ++i) {
    CHECK(same_bits(X(i, 0, 0), Y(i, 0, 0)));
    CHECK(same_bits(X(i, 0, 1), Y(i, 0, 1)));
    CHECK(same_bits(X(i, 0, 2) * as_scalar<Scalar>(0x1p40), Y(i, 0, 2)));  // powers of two are exact
  }
}

TEMPLATE_LIST_TEST_CASE("batch: scaled entries that overflow stay within their system", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 4, n = 25;
  auto pattern = grid_of<Scalar>(5);
  const double tiny = sizeof(RealOf<Scalar>) == 8 ? 0x1p-900 : 0x1p-100;
  for (auto p = pattern.row_map[7]; p < pattern.row_map[8]; ++p)
    pattern.values[static_cast<std::size_t>(p)] *= as_scalar<Scalar>(tiny);  // its scale is large
  auto values = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  BatchedLU<Scalar, typename TestType::Space> batch(by_fronts());
  REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  const auto B = random_block<TestType>(n, 2, K, Storage::interleaved);
  BatchArray<TestType> X(n, 2, K, Storage::interleaved), good(n, 2, K, Storage::interleaved);
  (void)batch.solve(B.view(), good.view());
  const auto statuses = batch.report().statuses;
  good.to_host();
  for (auto p = pattern.row_map[7]; p < pattern.row_map[8]; ++p) {
    values(static_cast<std::size_t>(p), 0, 1) *= as_scalar<Scalar>(1 / tiny);
    values(static_cast<std::size_t>(p), 0, 1) *= as_scalar<Scalar>(0x1p90);
  }
  values.to_device();
  (void)batch.factorize(values.matrix());
  CHECK(std::ranges::find(batch.report().alone, 1) != batch.report().alone.end());
  (void)batch.solve(B.view(), X.view());
  X.to_host();
  for (const std::size_t k : {0, 2, 3}) {
    CHECK(batch.report().statuses[k] == statuses[k]);
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = 0; i < n; ++i) REQUIRE(same_bits(X(i, c, k), good(i, c, k)));
  }
}

TEMPLATE_LIST_TEST_CASE("batch: a memory limit below one system", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto pattern = grid_of<Scalar>(9);
  const auto analysis = lutra::analyze<Scalar, typename TestType::Space>(
      typename TestType::Space(), on_device<TestType>(pattern), by_fronts(), MemoryBudget());
  const auto values = perturbed_values<TestType>(pattern, 3, Storage::interleaved);
  DirectOptions options;
  options.memory_limit = 30000;
  BatchedNumeric<Scalar, typename TestType::Space> batch(analysis, options);
  CHECK_THROWS_AS(batch.factorize(values.matrix()), OutOfMemoryError);
  CHECK(batch.systems() == 0);
  const auto B = random_block<TestType>(81, 1, 3, Storage::interleaved);
  BatchArray<TestType> X(81, 1, 3, Storage::interleaved);
  CHECK_THROWS_AS(batch.solve(B.view(), X.view()), CallOrderError);
}

TEST_CASE("batch: fronts need flops per entry of the factors", "[batch]") {
  using lutra::Impl::fronts_are_faster;
  CHECK(fronts_are_faster(2500, 2.95e6, 9.86e4));    // a grid of 50 × 50 points
  CHECK(fronts_are_faster(2000, 1.35e6, 5.99e4));    // a circuit
  CHECK(!fronts_are_faster(27258, 7.69e6, 4.68e5));  // a power grid, case13659pegase
  CHECK(!fronts_are_faster(17758, 2.36e6, 1.84e5));  // memplus
  CHECK(fronts_are_faster(100, 2.7e4, 2.1e3));       // a small circuit
}

TEMPLATE_LIST_TEST_CASE("batch: which analyses lead to fronts", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const auto pattern = grid_of<Scalar>(50);  // devices prefer fronts
  const auto engine_of = [&](const LuOptions& options) {
    BatchedLU<Scalar, Space> batch(options);
    REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
    return batch.report().engine;
  };
  LuOptions options;
  const bool on_host = lutra::Impl::is_host_space<Space>;
  CHECK(engine_of(options) == (on_host ? Engine::simplicial : Engine::multifrontal));
  options.engine = Engine::simplicial;
  CHECK(engine_of(options) == Engine::simplicial);
  CHECK(engine_of(by_fronts()) == Engine::multifrontal);
  options.engine = Engine::automatic;
  options.pivoting = Pivoting::threshold;
  CHECK(engine_of(options) == Engine::multifrontal);
  options = {};
  options.deterministic = true;
  CHECK(engine_of(options) == Engine::simplicial);
  options = by_fronts();
  options.factor_storage = FactorStorage::streamed;
  CHECK(engine_of(options) == Engine::simplicial);
}

}  // namespace lutra::Test
