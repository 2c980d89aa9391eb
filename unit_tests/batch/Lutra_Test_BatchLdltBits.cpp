// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_SaddleBatch.hpp"

// LDLᵀ and Cholesky by fronts: a system's solution has the same bits for every number of systems and of
// right-hand sides, at every place, beside any neighbours.

namespace lutra::Test {
namespace {

constexpr std::size_t n_variables = 30, n_constraints = 12, n = n_variables + n_constraints;

template <class Types>
struct Solved {
  BatchArray<Types> X;
  BatchReport report;
  Status factorized = Status::not_solved;
  std::size_t bytes_of_factors = 0;  ///< of all systems, without workspaces of solves
};

template <class Types>
Solved<Types> solve(const std::shared_ptr<const Analysis<typename Types::Scalar, typename Types::Space>>& of,
                    const BatchArray<Types>& values, const BatchArray<Types>& B,
                    const DirectOptions& options = {}, std::span<const bool> mask = {}) {
  using Scalar = typename Types::Scalar;
  BatchArray<Types> X(B.extents[0], B.extents[1], B.extents[2], Storage::interleaved);
  std::ranges::fill(X.host, Scalar(-7));
  X.to_device();
  BatchedNumeric<Scalar, typename Types::Space> batch(of, options);
  const Status factorized = batch.factorize(values.matrix(), mask);
  const std::size_t bytes = batch.report().bytes;
  batch.solve(B.view(), X.view());
  CHECK(batch.report().engine == Engine::multifrontal);
  X.to_host();
  return {X, batch.report(), factorized, bytes};
}

template <class Types>
auto analyze_first(const SaddleBatch<Types>& batch, const LdltOptions& options) {
  using Space = typename Types::Space;
  return lutra::analyze<typename Types::Scalar, Space>(Space(), on_device<Types>(batch.pattern), options,
                                                       MemoryBudget());
}

template <class Types>
BatchArray<Types> pick(const BatchArray<Types>& all, const std::vector<std::size_t>& from,
                       std::size_t columns, Storage storage) {
  BatchArray<Types> result(all.extents[0], columns, from.size(), storage);
  for (std::size_t k = 0; k < from.size(); ++k)
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t i = 0; i < all.extents[0]; ++i) result(i, c, k) = all(i, c, from[k]);
  result.to_device();
  return result;
}

template <class Types>
bool has_same_bits(const BatchArray<Types>& X, std::size_t k, const BatchArray<Types>& Y, std::size_t l) {
  for (std::size_t c = 0; c < X.extents[1]; ++c)
    for (std::size_t i = 0; i < X.extents[0]; ++i)
      if (!same_bits(X(i, c, k), Y(i, c, l))) return false;
  return true;
}

template <class Types>
constexpr bool on_host = lutra::Impl::is_host_space<typename Types::Space>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: bits of LDLT by fronts for any number of systems and right-hand sides",
                        "[batch]", AllTypes) {
  const SaddleBatch<TestType> batch(n_variables, n_constraints, 17);
  const auto analysis = analyze_first(batch, batch.options());
  const auto B = random_block<TestType>(n, 17, 17, Storage::one_after_other);
  const auto all = solve<TestType>(analysis, batch.values, B);
  REQUIRE(all.report.status == Status::success);
  CHECK(all.report.alone.empty());
  if (!on_host<TestType>) return;  // devices may take other kernels for another forest
  for (const std::size_t K : {1, 2, 15, 16, 17}) {
    std::vector<std::size_t> from(K);
    for (std::size_t k = 0; k < K; ++k) from[k] = (k * 5 + K) % 17;
    const auto storage = K % 2 == 0 ? Storage::strided : Storage::one_after_other;
    for (const std::size_t columns : {1, 2, 7, 16, 17}) {
      const auto some = solve<TestType>(analysis, pick(batch.values, from, 1, storage),
                                        pick(B, from, columns, Storage::interleaved));
      CHECK(some.report.alone.empty());
      for (std::size_t k = 0; k < K; ++k) REQUIRE(has_same_bits(some.X, k, all.X, from[k]));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("batch: bad systems change no bit of others with LDLT by fronts", "[batch]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 12, n_rhs = 3;
  for (const bool hermitian : {false, true}) {
    if (hermitian && !ScalarTraits<Scalar>::is_complex) continue;
    SaddleBatch<TestType> batch(n_variables, n_constraints, K, {.hermitian = hermitian});
    const auto analysis = analyze_first(batch, batch.options());
    const auto B = random_block<TestType>(n, n_rhs, K, Storage::interleaved);
    DirectOptions options;
    options.validate_input = false;
    const auto good = solve<TestType>(analysis, batch.values, B, options);
    REQUIRE(good.report.status == Status::success);
    const double huge = sizeof(RealOf<Scalar>) == 8 ? 0x1p1000 : 0x1p120;
    const auto set = [&](std::size_t k, const auto& rule) { batch.change(k, rule); };
    set(1, [](std::size_t, std::size_t, Scalar& value) { value = Scalar(0); });
    set(3, [](std::size_t i, std::size_t j, Scalar& value) {  // a constraint without variables
      if (i == n_variables + 2 || j == n_variables + 2) value = Scalar(0);
    });
    set(5, [](std::size_t i, std::size_t j, Scalar& value) {
      if (i == 7 && j == 7) value = Scalar(std::numeric_limits<double>::quiet_NaN());
    });
    set(7, [&](std::size_t, std::size_t, Scalar& value) { value *= as_scalar<Scalar>(huge); });
    set(8, [](std::size_t, std::size_t, Scalar& value) { value *= as_scalar<Scalar>(0x1p-40); });
    set(10, [](std::size_t i, std::size_t j, Scalar& value) {  // H without a diagonal: other pivots
      if (i == j) value = Scalar(0);
    });
    batch.values.to_device();
    const auto bad = solve<TestType>(analysis, batch.values, B, options);
    for (std::size_t k = 0; k < K; ++k) {
      CAPTURE(hermitian, k, bad.report.statuses[k]);
      const bool is_bad = k == 1 || k == 3 || k == 5 || k == 7 || k == 8 || k == 10;
      if (!is_bad) {
        CHECK(bad.report.statuses[k] == Status::success);
        CHECK(has_same_bits(bad.X, k, good.X, k));
      }
      if (k == 1 || k == 3) CHECK(bad.X(0, 0, k) == Scalar(-7));
      if (k == 1 || k == 3 || k == 5) CHECK(bad.report.statuses[k] != Status::success);
      if (bad.report.statuses[k] == Status::success)
        for (std::size_t c = 0; c < n_rhs; ++c)
          CHECK(error_of(batch.system(k), B, bad.X, c, k) <= tolerance_of<Scalar>());
      if (!on_host<TestType>) continue;
      const auto own = solve<TestType>(analysis, pick(batch.values, {k}, 1, Storage::one_after_other),
                                       pick(B, {k}, n_rhs, Storage::one_after_other), options);
      CHECK(own.report.statuses[0] == bad.report.statuses[k]);
      CHECK(has_same_bits(own.X, 0, bad.X, k));
    }
    // The pivots of system 8 are small beside those of others, but not beside its own entries.
    CHECK(bad.report.statuses[8] == Status::success);
    CHECK(std::ranges::find(bad.report.alone, 8) == bad.report.alone.end());
  }
}

TEMPLATE_LIST_TEST_CASE("batch: an indefinite system changes no bit of others with Cholesky by fronts",
                        "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 9;
  SaddleBatch<TestType> batch(n_variables, n_constraints, K, {.hermitian = true});
  for (std::size_t k = 0; k < K; ++k)
    batch.change(k, [](std::size_t i, std::size_t j, Scalar& value) {
      if (i == j && i >= n_variables) value = as_scalar<Scalar>(100.0);
    });
  for (std::size_t p = 0; p < batch.pattern.values.size(); ++p)
    batch.pattern.values[p] = batch.values(p, 0, 0);
  batch.values.to_device();
  LdltOptions options = batch.options();
  options.positive_definite = true;
  options.engine = Engine::multifrontal;
  const auto analysis = analyze_first(batch, options);
  const auto B = random_block<TestType>(n, 2, K, Storage::interleaved);
  const auto good = solve<TestType>(analysis, batch.values, B);
  REQUIRE(good.report.status == Status::success);
  CHECK(good.report.alone.empty());
  for (std::size_t k = 0; k < K; ++k) {
    CHECK(error_of(batch.system(k), B, good.X, 1, k) <= tolerance_of<Scalar>());
    CHECK(good.report.inertia[k].positive == static_cast<std::int64_t>(n));
  }
  batch.change(4, [](std::size_t i, std::size_t j, Scalar& value) {
    if (i == 5 && j == 5) value *= Scalar(-1);
  });
  batch.values.to_device();
  const auto bad = solve<TestType>(analysis, batch.values, B);
  CHECK(bad.report.alone == std::vector<std::int64_t>{4});
  CHECK(bad.report.statuses[4] == Status::not_positive_definite);
  for (std::size_t k = 0; k < K; ++k)
    if (k != 4) CHECK(has_same_bits(bad.X, k, good.X, k));
}

TEMPLATE_LIST_TEST_CASE("batch: masks and chunks of LDLT by fronts", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr std::size_t K = 200, n_rhs = 3;
  SaddleBatch<TestType> batch(n_variables, n_constraints, K);
  const auto analysis = analyze_first(batch, batch.options());
  const auto B = random_block<TestType>(n, n_rhs, K, Storage::interleaved);
  const auto all = solve<TestType>(analysis, batch.values, B);
  REQUIRE(all.report.status == Status::success);
  CHECK(all.report.chunks == 1);

  DirectOptions limited;
  limited.memory_limit = all.bytes_of_factors;  // no room for solves, or for systems that leave
  const auto parts = solve<TestType>(analysis, batch.values, B, limited);
  CHECK(parts.report.chunks > 1);
  CHECK(parts.report.status == Status::success);
  for (std::size_t k = 0; on_host<TestType> && k < K; ++k) REQUIRE(has_same_bits(parts.X, k, all.X, k));

  std::array<bool, K> mask{};
  for (std::size_t k = 0; k < K; ++k) mask[k] = k % 3 != 1;
  batch.values(0, 0, 4) = Scalar(std::numeric_limits<double>::quiet_NaN());  // is not read
  batch.values.to_device();
  const auto some = solve<TestType>(analysis, batch.values, B, {}, mask);
  CHECK(some.factorized == Status::success);
  for (std::size_t k = 0; k < K; ++k) {
    CHECK(some.report.statuses[k] == (mask[k] ? Status::success : Status::not_solved));
    if (mask[k] && on_host<TestType>) CHECK(has_same_bits(some.X, k, all.X, k));
    if (!mask[k]) CHECK(some.X(0, 0, k) == Scalar(-7));
  }
}

}  // namespace lutra::Test
