// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TestKokkosTools.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <tuple>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

template <class Space>
int sum_to_host(const Space& exec) {
  int sum = 0;
  Kokkos::parallel_reduce(
      "sum", Kokkos::RangePolicy<Space>(exec, 0, 10),
      KOKKOS_LAMBDA(const std::int64_t i, int& part) { part += static_cast<int>(i); }, sum);
  return sum;
}

template <class Space>
void sum_to_device(const Space& exec, const Kokkos::View<int, typename Space::memory_space>& sum) {
  Kokkos::parallel_reduce(
      "sum", Kokkos::RangePolicy<Space>(exec, 0, 10),
      KOKKOS_LAMBDA(const std::int64_t i, int& part) { part += static_cast<int>(i); }, sum);
}

template <class Space>
void set_to_zero(const Space& exec, const Kokkos::View<int, typename Space::memory_space>& sum) {
  Kokkos::parallel_for(
      "zero", Kokkos::RangePolicy<Space>(exec, 0, 1), KOKKOS_LAMBDA(const std::int64_t) { sum() = 0; });
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("waits and allocations are counted as they happen", "[common]", Spaces) {
  using Memory = typename TestType::memory_space;
  const TestType exec;
  const Kokkos::View<int, Memory> sum("sum");
  sum_to_device(exec, sum);  // Kokkos allocates its scratch memory
  exec.fence();
  const DeviceEvents<TestType> events;
  INFO(events.describe());
  SECTION("kernels alone do not wait") {
    sum_to_device(exec, sum);
    set_to_zero(exec, sum);
    CHECK(events.waits() == 0);
    CHECK(events.allocations() == 0);
  }
  SECTION("a fence") {
    exec.fence("named");
    CHECK(events.waits() == 1);
    CHECK(events.describe() == "wait: named\n");
  }
  SECTION("a reduction to the host") {
    CHECK(sum_to_host(exec) == 45);
    CHECK(events.waits() >= 1);
    if (lutra::Impl::is_host_space<TestType>) CHECK(events.waits() == 1);
  }
  SECTION("a deep copy without an instance fences twice and counts once") {
    int host = 0;
    Kokkos::deep_copy(host, sum);
    CHECK(host == 45);
    CHECK(events.waits() == 1);
    exec.fence();
    CHECK(events.waits() == 2);
  }
  SECTION("an allocation") {
    const Kokkos::View<char*, Memory> view(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "block"),
                                           100);
    CHECK(events.allocations() == 1);
    CHECK(events.describe().find("allocation: block\n") != std::string::npos);
  }
}

TEST_CASE("nothing is recorded after the recorder is destroyed", "[common]") {
  { const DeviceEvents<Kokkos::DefaultExecutionSpace> events; }
  Kokkos::DefaultExecutionSpace().fence();
  CHECK_FALSE(Kokkos::Tools::profileLibraryLoaded());
}

}  // namespace lutra::Test
