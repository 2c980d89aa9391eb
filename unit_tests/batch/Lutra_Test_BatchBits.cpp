// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <memory>

#include "Lutra_BatchCases.hpp"

// A system's solution has the same bits for every number of systems, at every place, beside any neighbours,
// by lanes (Engine::simplicial) and by fronts.

namespace lutra::Test {
namespace {

constexpr std::size_t n = 30, n_rhs = 5;

template <class Types>
struct Fixture {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;

  Fixture() {
    LuOptions options;
    options.engine = engine = GENERATE(Engine::simplicial, Engine::multifrontal);
    std::mt19937 random(3);
    pattern = permuted_matrix<HostMatrix<Scalar>>(n, 3.0, random);
    analysis = lutra::analyze<Scalar, Space>(Space(), on_device<Types>(pattern), options, MemoryBudget());
  }
  /// Devices may factorize a forest of fronts by other kernels than another one.
  bool depends_on_number() const {
    return engine == Engine::multifrontal && !lutra::Impl::is_host_space<Space>;
  }
  /// Solves for all systems. @returns X; `report` receives the report
  BatchArray<Types> solve(const BatchArray<Types>& values, const BatchArray<Types>& B,
                          std::span<const bool> mask = {}, std::size_t memory_limit = 0) {
    const std::size_t K = values.extents[2];
    BatchArray<Types> X(n, B.extents[1], K, Storage::interleaved);
    std::ranges::fill(X.host, Scalar(-7));
    X.to_device();
    DirectOptions options;
    options.memory_limit = memory_limit;
    BatchedNumeric<Scalar, Space> batch(analysis, options);
    factorized = batch.factorize(values.matrix(), mask);
    bytes_of_factors = batch.report().bytes;
    batch.solve(B.view(), X.view());
    report = batch.report();
    CHECK(report.engine == engine);
    X.to_host();
    return X;
  }

  Engine engine = Engine::simplicial;
  HostMatrix<Scalar> pattern;
  std::shared_ptr<const Analysis<Scalar, Space>> analysis;
  BatchReport report;
  Status factorized = Status::not_solved;
  std::size_t bytes_of_factors = 0;  ///< of all groups, without workspaces of solves
};

/// A batch with the systems `from` of another one.
template <class Types>
BatchArray<Types> pick(const BatchArray<Types>& all, const std::vector<std::size_t>& from, Storage storage) {
  BatchArray<Types> result(all.extents[0], all.extents[1], from.size(), storage);
  for (std::size_t k = 0; k < from.size(); ++k)
    for (std::size_t c = 0; c < all.extents[1]; ++c)
      for (std::size_t i = 0; i < all.extents[0]; ++i) result(i, c, k) = all(i, c, from[k]);
  result.to_device();
  return result;
}

/// Whether system k of one batch has the bits of system l of another.
template <class Types>
bool has_same_bits(const BatchArray<Types>& X, std::size_t k, const BatchArray<Types>& Y, std::size_t l) {
  for (std::size_t c = 0; c < X.extents[1]; ++c)
    for (std::size_t i = 0; i < X.extents[0]; ++i)
      if (!same_bits(X(i, c, k), Y(i, c, l))) return false;
  return true;
}

template <class Types>
void spoil(const HostMatrix<typename Types::Scalar>& pattern, BatchArray<Types>& values) {
  using Scalar = typename Types::Scalar;
  const auto row = [&](std::size_t i, std::size_t k, auto change) {
    for (auto p = static_cast<std::size_t>(pattern.row_map[i]);
         p < static_cast<std::size_t>(pattern.row_map[i + 1]); ++p)
      values(p, 0, k) = change(values(p, 0, k));
  };
  row(4, 5, [](Scalar) { return Scalar(0); });  // system 5: singular
  for (std::size_t p = 0; p < pattern.values.size(); ++p) values(p, 0, 9) = Scalar(0);
  for (std::size_t i = 0; i < n; ++i)  // system 13: nothing of the analyzed matching remains
    row(i, 13, [](Scalar value) {
      return ScalarTraits<Scalar>::magnitude(value) > 4 ? value * as_scalar<Scalar>(1e-9) : value;
    });
  row(7, 17, [](Scalar value) { return value * as_scalar<Scalar>(0x1p60); });  // outgrown scales
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: bits do not depend on the number, the place or the layout", "[batch]",
                        AllTypes) {
  Fixture<TestType> fixture;
  const auto values = perturbed_values<TestType>(fixture.pattern, 100, Storage::interleaved);
  const auto B = random_block<TestType>(n, n_rhs, 100, Storage::one_after_other);
  const auto X = fixture.solve(values, B);
  REQUIRE(fixture.report.status == Status::success);
  if (fixture.depends_on_number()) return;
  for (const std::size_t K : {1, 2, 7, 8, 9, 31, 32, 33}) {
    std::vector<std::size_t> from(K);
    for (std::size_t k = 0; k < K; ++k) from[k] = (k * 37 + K) % 100;
    const auto storage = K % 2 == 0 ? Storage::strided : Storage::one_after_other;
    const auto some = fixture.solve(pick(values, from, storage), pick(B, from, Storage::interleaved));
    for (std::size_t k = 0; k < K; ++k) REQUIRE(has_same_bits(some, k, X, from[k]));
  }
}

TEMPLATE_LIST_TEST_CASE("batch: bits of a right-hand side do not depend on how many there are", "[batch]",
                        AllTypes) {
  Fixture<TestType> fixture;
  const auto values = perturbed_values<TestType>(fixture.pattern, 9, Storage::interleaved);
  const auto B = random_block<TestType>(n, 17, 9, Storage::one_after_other);
  const auto X = fixture.solve(values, B);
  if (fixture.depends_on_number()) return;
  for (const std::size_t columns : {1, 4, 7}) {
    BatchArray<TestType> first(n, columns, 9, Storage::interleaved);
    for (std::size_t k = 0; k < 9; ++k)
      for (std::size_t c = 0; c < columns; ++c)
        for (std::size_t i = 0; i < n; ++i) first(i, c, k) = B(i, c, k);
    first.to_device();
    const auto Y = fixture.solve(values, first);
    for (std::size_t k = 0; k < 9; ++k) REQUIRE(has_same_bits(Y, k, X, k));
  }
}

TEMPLATE_LIST_TEST_CASE("batch: bad systems change no bit of others", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  Fixture<TestType> fixture;
  auto values = perturbed_values<TestType>(fixture.pattern, 20, Storage::interleaved);
  const auto B = random_block<TestType>(n, n_rhs, 20, Storage::interleaved);
  const auto good = fixture.solve(values, B);
  spoil<TestType>(fixture.pattern, values);
  values.to_device();
  const auto X = fixture.solve(values, B);
  CHECK(fixture.factorized != Status::success);
  const auto& statuses = fixture.report.statuses;
  const auto is_singular = [](Status status) {
    return status == Status::numerically_singular || status == Status::structurally_singular;
  };
  for (std::size_t k = 0; k < 20; ++k) {
    CAPTURE(k);
    if (k == 5 || k == 9) {
      CHECK(is_singular(statuses[k]));
      for (std::size_t c = 0; c < n_rhs; ++c) CHECK(X(3, c, k) == Scalar(-7));  // left unchanged
      CHECK(std::ranges::find(fixture.report.alone, k) != fixture.report.alone.end());
      CHECK(std::isnan(fixture.report.componentwise[k]));
      continue;
    }
    CHECK(statuses[k] == Status::success);
    if (k != 13 && k != 17) CHECK(has_same_bits(X, k, good, k));
    for (std::size_t c = 0; c < n_rhs; ++c)
      CHECK(error_of(with_values(fixture.pattern, values, k), B, X, c, k) <= tolerance_of<Scalar>());
  }
  CHECK(std::ranges::find(fixture.report.alone, 13) != fixture.report.alone.end());
  CHECK(is_singular(fixture.report.status));

  // Bad systems have the same statuses and bits by themselves. On devices the simplicial engine, which
  // factorizes those that leave lanes, adds with atomics.
  for (const std::size_t k : {5, 9, 13, 17}) {
    const auto own =
        fixture.solve(pick(values, {k}, Storage::one_after_other), pick(B, {k}, Storage::one_after_other));
    CHECK(fixture.report.statuses[0] == statuses[k]);
    if (lutra::Impl::is_host_space<typename TestType::Space>) CHECK(has_same_bits(own, 0, X, k));
  }
}

TEMPLATE_LIST_TEST_CASE("batch: a mask skips systems", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  Fixture<TestType> fixture;
  auto values = perturbed_values<TestType>(fixture.pattern, 20, Storage::one_after_other);
  auto B = random_block<TestType>(n, n_rhs, 20, Storage::interleaved);
  const auto all = fixture.solve(values, B);
  std::array<bool, 20> mask{};
  for (std::size_t k = 0; k < 20; ++k) mask[k] = k % 3 != 1;
  // What is masked is not read.
  values(2, 0, 4) = Scalar(std::numeric_limits<double>::quiet_NaN());
  B(1, 1, 7) = Scalar(std::numeric_limits<double>::infinity());
  values.to_device();
  B.to_device();
  const auto X = fixture.solve(values, B, mask);
  CHECK(fixture.factorized == Status::success);
  CHECK(fixture.report.status == Status::success);
  for (std::size_t k = 0; k < 20; ++k) {
    CHECK(fixture.report.statuses[k] == (mask[k] ? Status::success : Status::not_solved));
    if (mask[k] && !fixture.depends_on_number()) CHECK(has_same_bits(X, k, all, k));
    if (!mask[k]) CHECK(X(0, 0, k) == Scalar(-7));
  }
  const std::array<bool, 20> none{};
  fixture.solve(values, B, none);
  CHECK(fixture.factorized == Status::success);
  CHECK(fixture.report.status == Status::not_solved);
}

TEMPLATE_LIST_TEST_CASE("batch: chunks under a memory limit give the same bits", "[batch]", AllTypes) {
  constexpr std::size_t K = 600;  // some groups of devices, too
  Fixture<TestType> fixture;
  auto values = perturbed_values<TestType>(fixture.pattern, K, Storage::interleaved);
  spoil<TestType>(fixture.pattern, values);
  values.to_device();
  const auto B = random_block<TestType>(n, n_rhs, K, Storage::interleaved);
  const auto X = fixture.solve(values, B);
  CHECK(fixture.report.chunks == 1);
  const auto statuses = fixture.report.statuses;
  // No room for workspaces of solves, which belong to groups on devices, or for systems that leave.
  const auto Y = fixture.solve(values, B, {}, fixture.bytes_of_factors);
  CHECK(fixture.report.chunks > 1);
  for (std::size_t k = 0; k < K; ++k) {
    // A system that left may lack memory for what several threads need, or what comes last.
    const bool may_lack = typename TestType::Space().concurrency() > 1 &&
                          std::ranges::binary_search(fixture.report.alone, static_cast<std::int64_t>(k));
    const Status status = fixture.report.statuses[k];
    if (may_lack) {
      CHECK((status == statuses[k] || status == Status::out_of_memory));
      continue;
    }
    CHECK(status == statuses[k]);
    if (!fixture.depends_on_number()) REQUIRE(has_same_bits(Y, k, X, k));
  }
}

}  // namespace lutra::Test
