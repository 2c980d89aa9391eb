// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <memory>

#include "Lutra_BatchCases.hpp"

// A stop is asked for at each query of a call in turn: the status is `cancelled`, no system claims success,
// and the batch works on.

namespace lutra::Test {
namespace {

using Type = std::tuple_element_t<0, HostTypes>;
using Scalar = Type::Scalar;

class CountingFlag : public StopFlag {
 public:
  bool is_raised() const noexcept override { return ++queries >= first; }
  void start(long from = std::numeric_limits<long>::max()) {
    queries = 0;
    first = from;
  }
  mutable std::atomic<long> queries = 0;
  std::atomic<long> first = std::numeric_limits<long>::max();
};

}  // namespace

TEST_CASE("batch: calls can be stopped", "[batch]") {
  std::mt19937 random(1);
  const auto pattern = permuted_matrix<HostMatrix<Scalar>>(20, 2.0, random);
  auto values = perturbed_values<Type>(pattern, 40, Storage::interleaved);
  for (auto p = static_cast<std::size_t>(pattern.row_map[2]);
       p < static_cast<std::size_t>(pattern.row_map[3]); ++p)
    values(p, 0, 11) = Scalar(0);  // a singular system, which leaves the batch
  values.to_device();
  const auto B = random_block<Type>(20, 5, 40, Storage::interleaved);
  BatchArray<Type> X(20, 5, 40, Storage::interleaved);
  const auto flag = std::make_shared<CountingFlag>();
  LuOptions options;
  options.stop = flag;
  options.engine = GENERATE(Engine::automatic, Engine::multifrontal);
  BatchedLU<Scalar, Type::Space> batch(options);
  REQUIRE(batch.analyze(on_device<Type>(pattern)) == Status::success);
  // The first calls allocate, which asks, too.
  REQUIRE(batch.factorize(values.matrix()) != Status::success);
  REQUIRE(batch.solve(B.view(), X.view()) != Status::success);
  flag->start();
  REQUIRE(batch.factorize(values.matrix()) != Status::success);
  const long of_factorize = flag->queries;
  REQUIRE(batch.solve(B.view(), X.view()) != Status::success);  // its Numeric is new and allocates
  flag->start();
  REQUIRE(batch.solve(B.view(), X.view()) != Status::success);
  const long of_solve = flag->queries;
  REQUIRE(of_factorize > 5);
  REQUIRE(of_solve > 5);
  for (long at = 1; at <= of_solve; ++at) {
    flag->start(at);
    CHECK(batch.solve(B.view(), X.view()) == Status::cancelled);
    const bool changed = batch.report().status == Status::cancelled;
    const auto solved = std::ranges::count(batch.report().statuses, Status::success);
    if (changed) CHECK(solved < 39);
  }
  for (long at = 1; at <= of_factorize; ++at) {
    flag->start();
    (void)batch.factorize(values.matrix());
    flag->start(at);
    CHECK(batch.factorize(values.matrix()) == Status::cancelled);
    flag->start();
    // Stopped while the values were checked, the batch is as it was.
    if (batch.report().status == Status::cancelled)
      CHECK_THROWS_AS(batch.solve(B.view(), X.view()), CallOrderError);
  }
  flag->start();
  CHECK(batch.factorize(values.matrix()) != Status::success);
  CHECK(batch.solve(B.view(), X.view()) != Status::success);
  CHECK(std::ranges::count(batch.report().statuses, Status::success) == 39);
}

}  // namespace lutra::Test
