// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "Lutra_FrontLu.hpp"
#include "Lutra_SaddleBatch.hpp"

// LDLᵀ by fronts: saddle-point systems, exact inertia, and columns that do not fit into fronts.

namespace lutra::Test {
namespace {

template <class Types>
using LdltBatch = BatchedLDLT<typename Types::Scalar, typename Types::Space>;

/// Sets the values to those of an integer matrix and returns its inertia. All roots of the characteristic
/// polynomial of a real symmetric matrix are real: by Descartes' rule of signs as many are positive as its
/// coefficients change signs. Faddeev and LeVerrier's method computes these exactly.
Inertia exact_inertia(const std::vector<std::vector<std::int64_t>>& A) {
  const std::size_t n = A.size();
  using Matrix = std::vector<std::vector<std::int64_t>>;
  Matrix M(n, std::vector<std::int64_t>(n, 0));
  std::vector<std::int64_t> coefficients{1};  // of λⁿ, λⁿ⁻¹, …
  for (std::size_t k = 1; k <= n; ++k) {
    for (std::size_t i = 0; i < n; ++i) M[i][i] += coefficients.back();
    Matrix product(n, std::vector<std::int64_t>(n, 0));
    std::int64_t trace = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t l = 0; l < n; ++l) product[i][j] += A[i][l] * M[l][j];
        if (i == j) trace += product[i][j];
      }
    coefficients.push_back(-trace / static_cast<std::int64_t>(k));
    M = product;
  }
  Inertia result{0, 0, 0};
  while (coefficients.size() > 1 && coefficients.back() == 0) {
    coefficients.pop_back();
    ++*result.zero;
  }
  std::int64_t last = 1;
  for (const std::int64_t c : coefficients) {
    if (c == 0) continue;
    if ((c > 0) != (last > 0)) ++*result.positive;
    last = c;
  }
  result.negative = static_cast<std::int64_t>(n) - *result.positive - *result.zero;
  return result;
}

/// An arrow: `wings` variables, each coupled to one of `body` dense ones. With small diagonal entries all
/// wings are delayed to the body, in the natural order.
template <class Types>
struct Arrow {
  using Scalar = typename Types::Scalar;

  Arrow(std::size_t n_wings, std::size_t n_body, std::size_t K)
      : wings(n_wings), body(n_body), values(0, 1, K, Storage::interleaved) {
    const std::size_t n = wings + body;
    std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
    for (std::size_t i = 0; i < n; ++i) picture[i][i] = 3.0;
    for (std::size_t i = 0; i < wings; ++i) picture[i][wings + i % body] = picture[wings + i % body][i] = 1.0;
    for (std::size_t i = wings; i < n; ++i)
      for (std::size_t j = wings; j < i; ++j) picture[i][j] = picture[j][i] = 0.5 / static_cast<double>(body);
    pattern = from_dense<HostMatrix<Scalar>>(picture);
    values = BatchArray<Types>(pattern.values.size(), 1, K, Storage::interleaved);
    for (std::size_t k = 0; k < K; ++k)
      for (std::size_t p = 0; p < pattern.values.size(); ++p)
        values(p, 0, k) = pattern.values[p] * as_scalar<Scalar>(1.0 + 0.01 * static_cast<double>(k));
    values.to_device();
  }
  std::size_t rows() const { return wings + body; }
  /// Makes the diagonal entries of the wings of system k small: entries of L would be 200.
  void clip(std::size_t k) {
    for (std::size_t i = 0; i < wings; ++i)
      for (auto p = pattern.row_map[i]; p < pattern.row_map[i + 1]; ++p)
        if (static_cast<std::size_t>(pattern.entries[static_cast<std::size_t>(p)]) == i)
          values(static_cast<std::size_t>(p), 0, k) = as_scalar<Scalar>(0.005);
    values.to_device();
  }
  static LdltOptions options() {
    LdltOptions result;
    result.engine = Engine::multifrontal;
    result.ordering = Ordering::natural;
    result.matching = Matching::none;
    return result;
  }

  std::size_t wings, body;
  HostMatrix<Scalar> pattern;
  BatchArray<Types> values;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: saddle-point systems stay in the batch", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t K = 11, n_rhs = 2, n_variables = 48, n_constraints = 20;
  for (const bool hermitian : {false, true})
    for (const bool stored_zeros : {false, true}) {
      if (hermitian && !ScalarTraits<Scalar>::is_complex) continue;
      CAPTURE(hermitian, stored_zeros);
      const SaddleBatch<TestType> systems(n_variables, n_constraints, K,
                                          {hermitian, stored_zeros, Storage::one_after_other});
      const std::size_t n = systems.rows();
      const LdltOptions options = systems.options();
      LdltBatch<TestType> batch(options);
      REQUIRE(batch.analyze(on_device<TestType>(systems.pattern)) == Status::success);
      CHECK(batch.report().engine == Engine::multifrontal);
      REQUIRE(batch.factorize(systems.values.matrix()) == Status::success);
      const bool has_inertia = hermitian || !ScalarTraits<Scalar>::is_complex;
      for (const Inertia& inertia : batch.report().inertia) {
        CHECK(inertia.positive.has_value() == has_inertia);
        if (!has_inertia) continue;
        CHECK(inertia.positive == static_cast<std::int64_t>(n_variables));
        CHECK(inertia.negative == static_cast<std::int64_t>(n_constraints));
        CHECK(inertia.zero == 0);
      }
      const auto B = random_block<TestType>(n, n_rhs, K, Storage::interleaved);
      BatchArray<TestType> X(n, n_rhs, K, Storage::strided), Y(n, n_rhs, K, Storage::one_after_other);
      for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
        REQUIRE(batch.solve(B.view(), X.view(), op) == Status::success);
        CHECK(batch.report().alone.empty());
        X.to_host();
        for (std::size_t k = 0; k < K; ++k)
          for (std::size_t c = 0; c < n_rhs; ++c)
            CHECK(error_of(systems.system(k), B, X, c, k, op) <= tolerance_of<Scalar>());
      }
      batch.numeric().residual(B.view(), X.view(), Y.view(), Transposition::adjoint);
      batch.apply(B.view(), X.view());
      X.to_host();
      Y.to_host();
      const double close = 1e5 * static_cast<double>(epsilon_of<Scalar>);
      for (std::size_t k = 0; k < K; ++k) {
        CHECK(error_of(systems.system(k), B, X, 1, k) <= close);
        for (std::size_t i = 0; i < n; ++i)
          CHECK(static_cast<double>(ScalarTraits<Scalar>::magnitude(Y(i, 0, k))) <= close);
      }

      // One system by itself.
      Numeric<Scalar, Space> single(batch.analysis(), options);
      REQUIRE(single.factorize(on_device<TestType>(systems.system(3))) == Status::success);
      REQUIRE(single.solve(Kokkos::subview(B.view(), Kokkos::ALL, Kokkos::ALL, 3),
                           Kokkos::subview(Y.view(), Kokkos::ALL, Kokkos::ALL, 3)) == Status::success);
      REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
      X.to_host();
      Y.to_host();
      double size = 0, apart = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto magnitude = [](const Scalar& value) {
          return static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
        };
        size = std::max(size, magnitude(Y(i, 1, 3)));
        apart = std::max(apart, magnitude(X(i, 1, 3) - Y(i, 1, 3)));
      }
      CHECK(apart <= close * size);
      CHECK(single.report().inertia.positive == batch.report().inertia[3].positive);
      CHECK(single.report().inertia.negative == batch.report().inertia[3].negative);
    }
}

TEMPLATE_LIST_TEST_CASE("batch: exact inertia of integer matrices", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 60, n = 5;
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, 1.0));
  const auto pattern = from_dense<HostMatrix<Scalar>>(picture);
  BatchArray<TestType> values(n * n, 1, K, Storage::interleaved);
  std::vector<Inertia> expected;
  std::mt19937 random(5);
  for (std::size_t k = 0; k < K; ++k) {
    std::vector<std::vector<std::int64_t>> A(n, std::vector<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const bool is_zero = i == j && random() % 2 == 0;
        A[i][j] = A[j][i] = is_zero ? 0 : static_cast<std::int64_t>(random() % 5) - 2;
      }
    if (k % 10 == 9)  // singular: two rows alike
      for (std::size_t j = 0; j < n; ++j) A[4][j] = A[j][4] = j == 4 ? A[2][2] : A[2][j];
    if (k % 10 == 9) A[4][2] = A[2][4] = A[2][2];
    expected.push_back(exact_inertia(A));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        values(i * n + j, 0, k) = as_scalar<Scalar>(static_cast<double>(A[i][j]));
  }
  values.to_device();
  LdltOptions options;
  options.engine = Engine::multifrontal;
  options.symmetry = Symmetry::hermitian;
  options.matching = Matching::none;
  LdltBatch<TestType> batch(options);
  REQUIRE(batch.analyze(on_device<TestType>(with_values(pattern, values, 0))) == Status::success);
  (void)batch.factorize(values.matrix());
  CHECK(batch.report().engine == Engine::multifrontal);
  for (std::size_t k = 0; k < K; ++k) {
    CAPTURE(k, batch.report().statuses[k]);
    const Inertia& found = batch.report().inertia[k];
    if (expected[k].zero > 0) {
      CHECK(batch.report().status != Status::success);
      CHECK((batch.report().statuses[k] == Status::numerically_singular ||
             batch.report().statuses[k] == Status::structurally_singular));
      continue;
    }
    REQUIRE(found.positive.has_value());
    CHECK(found.positive == expected[k].positive);
    CHECK(found.negative == expected[k].negative);
    CHECK(found.zero == expected[k].zero);
  }
  CHECK(batch.report().alone.size() < K / 2);
}

TEMPLATE_LIST_TEST_CASE("batch: columns that a front has no room for", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 7, bad = 4;
  // 24 delayed columns get more room; 200 are more than a front of the batch ever takes.
  for (const bool too_many : {false, true}) {
    CAPTURE(too_many);
    const std::size_t wings = too_many ? 200 : 24;
    Arrow<TestType> arrow(wings, 24, K);
    const auto B = random_block<TestType>(arrow.rows(), 2, K, Storage::interleaved);
    BatchArray<TestType> good(arrow.rows(), 2, K, Storage::interleaved),
        X(arrow.rows(), 2, K, Storage::interleaved);
    LdltBatch<TestType> batch(Arrow<TestType>::options());
    REQUIRE(batch.analyze(on_device<TestType>(arrow.pattern)) == Status::success);
    REQUIRE(batch.factorize(arrow.values.matrix()) == Status::success);
    const std::size_t bytes = batch.report().bytes;
    REQUIRE(batch.solve(B.view(), good.view()) == Status::success);
    CHECK(batch.report().alone.empty());
    arrow.clip(bad);
    BatchedNumeric<Scalar, typename TestType::Space> fresh(batch.analysis());
    const auto check = [&](BatchedNumeric<Scalar, typename TestType::Space>& of) {
      REQUIRE(of.factorize(arrow.values.matrix()) == Status::success);
      REQUIRE(of.solve(B.view(), X.view()) == Status::success);
      CHECK(of.report().alone == (too_many ? std::vector<std::int64_t>{bad} : std::vector<std::int64_t>()));
      good.to_host();
      X.to_host();
      for (std::size_t k = 0; k < K; ++k) {
        CHECK(error_of(with_values(arrow.pattern, arrow.values, k), B, X, 1, k) <= tolerance_of<Scalar>());
        if (k == bad) continue;
        for (std::size_t i = 0; i < arrow.rows(); ++i) REQUIRE(same_bits(X(i, 1, k), good(i, 1, k)));
      }
    };
    CHECK(fresh.factorize(arrow.values.matrix()) == Status::success);
    CHECK((fresh.report().bytes > bytes) == !too_many);
    check(fresh);  // with the room of the call before
    check(batch.numeric());
  }
}

TEMPLATE_LIST_TEST_CASE("batch: more room than memory leaves", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 100;
  Arrow<TestType> arrow(24, 24, K);
  const auto analysis = lutra::analyze<Scalar, typename TestType::Space>(
      typename TestType::Space(), on_device<TestType>(arrow.pattern), Arrow<TestType>::options(),
      MemoryBudget());
  for (std::size_t k = 0; k < K; k += 2) arrow.clip(k);
  const auto B = random_block<TestType>(arrow.rows(), 1, K, Storage::interleaved);
  BatchArray<TestType> X(arrow.rows(), 1, K, Storage::interleaved);
  BatchedNumeric<Scalar, typename TestType::Space> unlimited(analysis);
  REQUIRE(unlimited.factorize(arrow.values.matrix()) == Status::success);
  REQUIRE(unlimited.solve(B.view(), X.view()) == Status::success);
  CHECK(unlimited.report().alone.empty());
  DirectOptions options;
  using Space = typename TestType::Space;
  // Buffers of products, for the group and for systems that left it, and what does not shrink with the room.
  const std::size_t of_threads =
      (std::size_t(4) << 20) + 2 * bytes_of_product_buffers<Scalar, Space>(Space().concurrency() - 1);
  for (const std::size_t share : {1, 2, 3, 4}) {
    options.memory_limit = of_threads + unlimited.report().bytes / 4 * share;
    BatchedNumeric<Scalar, typename TestType::Space> batch(analysis, options);
    REQUIRE(batch.factorize(arrow.values.matrix()) == Status::success);
    REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
    X.to_host();
    for (std::size_t k = 0; k < K; ++k)
      CHECK(error_of(with_values(arrow.pattern, arrow.values, k), B, X, 0, k) <= tolerance_of<Scalar>());
  }
}

TEMPLATE_LIST_TEST_CASE("batch: which symmetric analyses lead to fronts", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const SaddleBatch<TestType> saddle(20, 8, 1), without(20, 8, 1, {.stored_zeros = false});
  const Arrow<TestType> definite(10, 5, 1);
  const bool on_host = lutra::Impl::is_host_space<Space>;
  const auto engine_of = [&](const HostMatrix<Scalar>& pattern, const LdltOptions& options) {
    LdltBatch<TestType> batch(options);
    REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
    return batch.report().engine;
  };
  LdltOptions options;
  CHECK(engine_of(saddle.pattern, options) == Engine::multifrontal);
  CHECK(engine_of(without.pattern, options) == Engine::multifrontal);
  CHECK(engine_of(definite.pattern, options) == Engine::simplicial);
  options.deterministic = true;
  CHECK(engine_of(saddle.pattern, options) == (on_host ? Engine::multifrontal : Engine::simplicial));
  options = {};
  options.engine = Engine::simplicial;
  CHECK(engine_of(saddle.pattern, options) == Engine::simplicial);
  options.engine = Engine::multifrontal;
  CHECK(engine_of(definite.pattern, options) == Engine::multifrontal);
  options.positive_definite = true;
  CHECK(engine_of(definite.pattern, options) == Engine::multifrontal);
  options.engine = Engine::automatic;
  CHECK(engine_of(definite.pattern, options) == Engine::simplicial);
  options = {};
  options.pivoting = Pivoting::threshold;
  CHECK(engine_of(definite.pattern, options) == Engine::multifrontal);
  options.pivoting = Pivoting::none;
  CHECK(engine_of(saddle.pattern, options) == Engine::simplicial);
  options.factor_storage = FactorStorage::streamed;
  options.pivoting = Pivoting::threshold;
  CHECK(engine_of(definite.pattern, options) == Engine::simplicial);
}

}  // namespace lutra::Test
