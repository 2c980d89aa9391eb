// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <memory>

#include "Lutra_BatchGrids.hpp"

// Krylov methods over batches that are stopped, or hostile.

namespace lutra::Test {
namespace {

/// Bound of the rounding errors of a residual relative to ‖b‖₂, for rows of up to five entries.
template <class Types>
double rounding_of(const HostMatrix<typename Types::Scalar>& A, const BatchArray<Types>& B,
                   const BatchArray<Types>& X, std::size_t k) {
  long double size = 0, sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    long double row = std::abs(to_long(B(i, 0, k)));
    size += row * row;
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]); ++p)
      row +=
          std::abs(to_long(A.values[p])) * std::abs(to_long(X(static_cast<std::size_t>(A.entries[p]), 0, k)));
    sum += row * row;
  }
  return 8 * static_cast<double>(epsilon_of<typename Types::Scalar>) *
         static_cast<double>(std::sqrt(sum / size));
}

class CountingFlag : public StopFlag {
 public:
  bool is_raised() const noexcept override { return ++queries >= first; }
  void start(long from) {
    queries = 0;
    first = from;
  }
  mutable std::atomic<long> queries = 0;
  std::atomic<long> first = std::numeric_limits<long>::max();
};

}  // namespace

TEST_CASE("batched Krylov: a memory limit divides the batch and changes no bit", "[batch]") {
  using Type = std::tuple_element_t<0, HostTypes>;
  using Scalar = Type::Scalar;
  constexpr std::size_t K = 43, columns = 2;
  const auto pattern = grid<Scalar>();
  const auto values = grid_values<Type>(pattern, K, 0.4);
  const auto B = random_block<Type>(n, columns, K, Storage::interleaved);
  for (const KrylovMethod method : {KrylovMethod::bicgstab, KrylovMethod::gmres})
    for (const Preconditioning kind :
         {Preconditioning::none, Preconditioning::jacobi, Preconditioning::ilu}) {
      CAPTURE(method, kind);
      std::vector<Scalar> whole;
      std::vector<int> iterations;
      std::size_t most = 0;
      int divided = 0;
      for (std::size_t limit = 0;; limit = limit == 0 ? 8 * most : limit / 10 * 9) {
        CAPTURE(limit);
        auto options = options_for(method, kind);
        options.memory_limit = limit;
        BatchedKrylov<Scalar, Type::Space> batch(options);
        BatchArray<Type> X(n, columns, K, Storage::interleaved);
        try {
          const Status analyzed = batch.analyze(on_device<Type>(pattern));
          const Status factorized = batch.factorize(values.matrix());
          const Status solved = batch.solve(B.view(), X.view());  // not in a macro, which takes exceptions
          REQUIRE(analyzed == Status::success);
          REQUIRE(factorized == Status::success);
          REQUIRE(solved == Status::success);
        } catch (const OutOfMemoryError&) {
          break;
        }
        X.to_host();
        if (limit == 0) {
          whole = X.host;
          iterations = batch.report().iterations;
          most = batch.report().bytes;
          continue;
        }
        if (iterations != batch.report().iterations) break;  // GMRES had to shorten its restart
        if (batch.report().bytes != most) ++divided;
        CHECK(std::memcmp(whole.data(), X.host.data(), whole.size() * sizeof(Scalar)) == 0);
      }
      CHECK(divided >= 2);
    }
}

TEST_CASE("batched Krylov: solves can be stopped", "[batch]") {
  using Type = std::tuple_element_t<0, HostTypes>;
  using Scalar = Type::Scalar;
  constexpr std::size_t K = 17;
  const auto pattern = grid<Scalar>();
  const auto values = grid_values<Type>(pattern, K, 0.4);
  const auto B = random_block<Type>(n, 1, K, Storage::interleaved);
  const auto flag = std::make_shared<CountingFlag>();
  auto options = options_for(KrylovMethod::gmres, Preconditioning::ilu);
  options.stop = flag;
  BatchedKrylov<Scalar, Type::Space> batch(options);
  REQUIRE(batch.analyze(on_device<Type>(pattern)) == Status::success);
  REQUIRE(batch.factorize(values.matrix()) == Status::success);
  BatchArray<Type> X(n, 1, K, Storage::interleaved);
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  const auto solved = X.host;
  flag->start(std::numeric_limits<long>::max());
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
  const long queries = flag->queries;
  REQUIRE(queries > 10);
  for (long at = 1; at <= queries; at += 3) {
    flag->start(at);
    CHECK(batch.solve(B.view(), X.view()) == Status::cancelled);
  }
  flag->start(1);
  CHECK(batch.factorize(values.matrix()) == Status::cancelled);
  flag->start(std::numeric_limits<long>::max());
  REQUIRE(batch.solve(B.view(), X.view()) == Status::success);
}

TEST_CASE("batched Krylov: hostile systems have no false success", "[batch]") {
  using Type = std::tuple_element_t<0, HostTypes>;
  using Scalar = Type::Scalar;
  constexpr std::size_t K = 19;
  const auto pattern = grid<Scalar>();
  const auto B = random_block<Type>(n, 1, K, Storage::interleaved);
  int solved = 0, failed = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> exponent(-8, 8);
    auto values = perturbed_values<Type>(pattern, K, Storage::interleaved, seed);
    for (std::size_t k = 0; k < K; ++k) {
      if (k % 3 == 0) continue;
      for (std::size_t i = 0; i < n; ++i) {
        const double scale = random() % 4 == 0 ? std::pow(10, exponent(random)) : 1;
        for (auto p = static_cast<std::size_t>(pattern.row_map[i]);
             p < static_cast<std::size_t>(pattern.row_map[i + 1]); ++p)
          values(p, 0, k) *= as_scalar<Scalar>(k % 3 == 1 ? scale : random() % 9 == 0 ? -scale : 1);
      }
    }
    values.to_device();
    auto options = options_for(static_cast<KrylovMethod>(seed % 3), static_cast<Preconditioning>(seed % 4));
    if (options.method != KrylovMethod::cg && seed % 2 == 0) options.side = PreconditionSide::left;
    options.max_iterations = 200;
    BatchedKrylov<Scalar, Type::Space> batch(options);
    REQUIRE(batch.analyze(on_device<Type>(pattern)) == Status::success);
    static_cast<void>(batch.factorize(values.matrix()));
    BatchArray<Type> X(n, 1, K, Storage::interleaved);
    static_cast<void>(batch.solve(B.view(), X.view()));
    X.to_host();
    for (std::size_t k = 0; k < K; ++k) {
      CAPTURE(seed, k);
      const bool success = batch.report().statuses[k] == Status::success;
      ++(success ? solved : failed);
      if (!success) continue;
      const auto A = with_values(pattern, values, k);
      CHECK(residual_of(A, B, X, 0, k) <= 1.001 * krylov_tolerance<Scalar>() + rounding_of(A, B, X, k));
    }
  }
  CHECK(solved > 50);
  CHECK(failed > 20);
}

}  // namespace lutra::Test
