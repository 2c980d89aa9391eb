// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Test {
namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using Bytes = Kokkos::View<char*, Exec::memory_space>;

}  // namespace

TEST_CASE("a budget counts what is held and remembers the most", "[common]") {
  const MemoryBudget budget(1 << 20);
  {
    Charge charge(budget);
    const auto view = charge.allocate<Bytes>(Exec(), "a", 1000);
    CHECK(view.extent(0) == 1000);
    CHECK(charge.bytes() >= 1000);
    CHECK(budget.used_bytes() == charge.bytes());
    const Charge copy = charge;  // shares the entry
    charge = Charge();
    CHECK(budget.used_bytes() >= 1000);
  }
  CHECK(budget.used_bytes() == 0);
  CHECK(budget.peak_bytes() >= 1000);
  CHECK(budget.available_bytes() == budget.limit_bytes());
}

TEST_CASE("a budget without limit refuses nothing", "[common]") {
  const MemoryBudget budget;
  CHECK(budget.available_bytes() == std::numeric_limits<std::size_t>::max());
  CHECK_NOTHROW(budget.require("much", std::numeric_limits<std::size_t>::max()));
}

TEST_CASE("what does not fit is refused by name, and nothing is charged", "[common]") {
  const MemoryBudget budget(5000);
  Charge charge(budget);
  charge.allocate<Bytes>(Exec(), "first", 3000);
  const std::size_t used = budget.used_bytes();
  CHECK_THROWS_AS(charge.allocate<Bytes>(Exec(), "second", 3000), OutOfMemoryError);
  CHECK_THROWS_WITH(
      charge.allocate<Bytes>(Exec(), "second", 3000),
      Catch::Matchers::ContainsSubstring("'second'") && Catch::Matchers::ContainsSubstring("5000"));
  CHECK(budget.used_bytes() == used);
}

TEST_CASE("memory the machine does not have is an OutOfMemoryError too", "[common]") {
  Charge charge{MemoryBudget()};
  CHECK_THROWS_AS(charge.allocate<Bytes>(Exec(), "absurd", std::size_t(1) << 60), OutOfMemoryError);
}

}  // namespace lutra::Test
