// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_TestDominant.hpp"
#include "Lutra_TestKokkosTools.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {

namespace {

/// Factorizes and solves in a loop, as a program that steps through time does.
template <class Types>
void check_time_steps(const Matrix<Types>& A, Engine engine) {
  using Space = typename Types::Space;
  const auto device_A = to_space<Space>(A);
  const auto system = known_system(A);
  const auto b = to_space<Space>(system.b);
  const auto x = to_space<Space>(system.b);
  LuOptions options;
  options.engine = engine;
  Solver<Types> solver(options);
  succeed(solver.analyze(device_A));
  succeed(solver.factorize(device_A));  // the first factorization and solve allocate
  REQUIRE(solver.solve(b, x) == Status::success);
  for (int step = 0; step < 2; ++step) {
    const DeviceEvents<Space> events;
    succeed(solver.factorize(device_A));
    const Status status = solver.solve(b, x);
    INFO("engine " << name_of(engine) << ", order " << A.n_rows << ", step " << step << "\n"
                   << events.describe());
    CHECK(status == Status::success);
    CHECK(events.waits() <= 3);
    CHECK(events.allocations() == 0);
    CHECK(solver.report().escalations.empty());
  }
  CHECK(Reference::backward_errors(A, to_vector(x), system.b).componentwise <=
        tight_bound<typename Types::Scalar>());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a time step synchronizes at most three times and allocates nothing", "[solver]",
                        AllTypes) {
  std::mt19937 random(31);
  const auto small = dominant_matrix<Matrix<TestType>>(400, 0.01, random);
  // Kokkos copies arrays of more than 80 kB by kernels of their own on hosts.
  const auto large = chains_of_blocks<Matrix<TestType>>(16, 8, 16, random);
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    check_time_steps<TestType>(small, engine);
    check_time_steps<TestType>(large, engine);
  }
}

}  // namespace lutra::Test
